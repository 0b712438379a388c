//! Drill-downs: loads by clients that others wrote, and what they come to by file, client and what
//! served them, beside what the loads count themselves.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use load::{Blocks, Crowd, Work};
use serde_json::{Value, json};

use crate::daemon::{Daemon, PATIENCE, Scratch, say, text};
use crate::libnfs::Client;
use crate::metrics::{number, served};
use crate::trace::Trace;

pub fn begin(daemon: &Daemon, request: &Value) -> u64 {
    let (status, told) = daemon.ask("POST", "/v1/analytics", Some(&request.to_string()));
    assert_eq!(status, 200, "{told}");
    told["id"].as_u64().expect("a number")
}

pub fn found(daemon: &Daemon, id: u64) -> Value {
    let (status, found) = daemon.ask("GET", &format!("/v1/analytics/{id}"), None);
    assert_eq!(status, 200, "{found}");
    found
}

/// All keys and the others are the total, and all rows are.
fn adds_up(found: &Value) {
    for part in ["operations", "bytes", "time"] {
        let keys = found["keys"].as_array().expect("keys").iter().map(|key| number(&key["sum"][part]));
        let total = number(&found["total"][part]);
        assert_eq!(keys.sum::<u64>() + number(&found["others"][part]), total, "{part}");
        let rows = found["rows"].as_array().expect("rows").iter().map(|row| number(&row["total"][part]));
        assert_eq!(rows.sum::<u64>(), total, "{part} of rows");
    }
    let latencies = found["rows"].as_array().expect("rows").iter().flat_map(|row| {
        let pairs = row["latencies"].as_array().expect("pairs");
        pairs.iter().map(|pair| number(&pair[1])).collect::<Vec<_>>()
    });
    assert_eq!(latencies.sum::<u64>(), number(&found["total"]["operations"]));
}

#[test]
fn loads_are_told_apart_exactly_and_each_key_leads_further_down() {
    let scratch = Scratch::new("drill-down");
    let mut daemon = Daemon::start(&scratch);
    let share = served(&daemon, &scratch, 512);
    let blocks = Blocks { block: 4096, size: 4 << 20, is_random: true };
    let crowd = Crowd::new(4, Duration::from_secs(2)).over(2);
    let fill = Work::Write { blocks: Blocks { is_random: false, ..blocks }, is_sync: false };
    share.run(fill, &crowd).expect("filled");
    let by_file = begin(&daemon, &json!({"by": ["file", "operation"], "seconds": 600}));
    let by_client =
        begin(&daemon, &json!({"by": ["client"], "filter": {"operation": "read", "protocol": "nfs"}}));
    let by_size =
        begin(&daemon, &json!({"by": ["size", "latency", "served"], "filter": {"dataset": "tank/a"}}));
    let read = share.run(Work::Read { blocks }, &crowd).expect("read");
    let write = share.run(Work::Write { blocks, is_sync: true }, &crowd).expect("written");

    let clients = found(&daemon, by_client);
    adds_up(&clients);
    assert_eq!(clients["keys"].as_array().map(Vec::len), Some(1));
    assert_eq!(clients["keys"][0]["values"], json!(["127.0.0.1"]));
    let counted = number(&clients["total"]["operations"]);
    assert!(counted.abs_diff(read.operations) * 50 <= read.operations, "{counted} of {}", read.operations);
    let files = found(&daemon, by_file);
    adds_up(&files);
    let writes: Vec<&Value> =
        files["keys"].as_array().expect("keys").iter().filter(|key| key["values"][1] == "WRITE").collect();
    let written: u64 = writes.iter().map(|key| number(&key["sum"]["operations"])).sum();
    assert!(written.abs_diff(write.operations) * 50 <= write.operations, "{written} of {}", write.operations);
    assert!(
        writes.iter().all(|key| key["values"][0].as_str().is_some_and(|file| file.starts_with("tank/a:/")))
    );
    let sizes = found(&daemon, by_size);
    adds_up(&sizes);
    let of_4k = sizes["keys"].as_array().expect("keys").iter().find(|key| key["values"][0] == "4K");
    let begins = &of_4k.unwrap_or_else(|| panic!("{sizes}"))["begins"];
    assert!(begins[0] == 4096 && begins[1].is_u64() && begins[2].is_null(), "{begins}");
    assert!(
        sizes["keys"].as_array().expect("keys").iter().any(|key| key["values"][2] == "log"),
        "sync writes"
    );

    // All files are of one dataset, which has them and no more.
    let datasets = files["datasets"].as_array().expect("datasets");
    let [dataset] = &datasets[..] else { panic!("{datasets:?}") };
    assert_eq!(
        (&dataset["name"], &dataset["sum"], &dataset["missing"]),
        (&json!("tank/a"), &files["total"], &json!(0))
    );
    assert_eq!((&dataset["others"], &dataset["filter"]), (&files["others"], &json!({"dataset": "tank/a"})));
    assert_eq!(dataset["keys"].as_array().map(Vec::len), files["keys"].as_array().map(Vec::len));
    assert!(clients["datasets"].is_null(), "files are not told apart there");
    let shown = daemon.run(&["analytics", "show", &by_file.to_string(), "-r", "-n", "1"]).done();
    let names: Vec<&str> = shown.lines().skip(1).filter_map(|line| line.split("  ").last()).collect();
    assert!(shown.contains("  tank/a\n") && shown.contains("(other files)"), "{shown}");
    assert_eq!(names.len(), 5, "{shown}");

    // What a key says takes it alone is that.
    let filter = &writes[0]["filter"];
    assert_eq!((&filter["operation"], &filter["dataset"]), (&json!("WRITE"), &json!("tank/a")));
    let deeper = begin(&daemon, &json!({"by": ["offset"], "filter": filter, "seconds": 2}));
    let client = Client::mount(&daemon, "/srv/a").expect("mounted");
    client.write_file("/other", 0o644, &[1; 4096]).expect("written");
    let named = filter["file"].as_str().expect("a path").to_owned();
    let open = client.open(&named, libc::O_RDWR).expect("opened");
    open.write(17 << 20, &[7; 512]).expect("written");
    let deeper = found(&daemon, deeper);
    assert_eq!((number(&deeper["total"]["operations"]), &deeper["keys"][0]["values"]), (1, &json!(["16M"])));
    assert_eq!(deeper["keys"][0]["begins"], json!([16 << 20]));

    // It ends by itself, is kept, and takes nothing more; others that were begun go on.
    let begun = Instant::now();
    let id = number(&deeper["drill_down"]["id"]);
    while found(&daemon, id)["drill_down"]["running"] == true {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(100));
    }
    open.write(17 << 20, &[7; 512]).expect("written");
    assert_eq!(found(&daemon, id)["total"], deeper["total"]);
    assert!(number(&found(&daemon, by_file)["total"]["operations"]) > number(&files["total"]["operations"]));
    let ended = daemon.ask("POST", &format!("/v1/analytics/{by_file}/end"), None);
    assert_eq!((ended.0, &ended.1["running"]), (200, &json!(false)));

    // All are shown while they are there, with who asked and what they cost.
    let (_, list) = daemon.ask("GET", "/v1/analytics", None);
    let list = list.as_array().expect("a list");
    assert_eq!(list.len(), 4);
    assert!(list.iter().all(|one| one["owner"].as_str().is_some_and(|owner| owner.starts_with("user "))));
    assert!(number(&list[0]["cost"]["requests"]) > 0 && number(&list[0]["cost"]["bytes"]) > 0);
    let shown = daemon.run(&["analytics", "list"]).done();
    assert!(shown.contains("file,operation") && shown.contains("ended"), "{shown}");
    let shown = daemon.run(&["analytics", "show", &by_client.to_string(), "-H"]).done();
    assert!(shown.contains(&format!("{counted}\t")) && shown.contains("\t127.0.0.1"), "{shown}");
    assert_eq!(daemon.run(&["analytics", "client", "-t", "1s", "--json"]).status, 0);

    // What makes no sense is refused, and there are no more than so many; one that has ended makes
    // room.
    for wrong in [
        json!({"by": []}),
        json!({"by": ["file", "file"]}),
        json!({"by": ["file", "client", "user", "size"]}),
        json!({"by": ["file"], "filter": {"file": "/x"}}),
        json!({"by": ["file"], "filter": {"what": "ever"}}),
    ] {
        assert_eq!(daemon.ask("POST", "/v1/analytics", Some(&wrong.to_string())).0, 400, "{wrong}");
    }
    let status = || daemon.ask("POST", "/v1/analytics", Some(r#"{"by":["client"]}"#)).0;
    let made = (0..40).take_while(|_| status() == 200).count();
    assert_eq!((made, daemon.ask("GET", "/v1/analytics", None).1.as_array().map(Vec::len)), (14, Some(16)));
    assert_eq!(daemon.ask("POST", &format!("/v1/analytics/{by_size}/remove"), None).0, 200);
    assert_eq!((status(), daemon.ask("GET", &format!("/v1/analytics/{by_size}"), None).0), (200, 404));
    daemon.stop();
}

/// By turns, with nobody who looks, a trace that wants nothing of it, and a drill-down of all: each
/// beside what came right before. What it took is told, and judged by nobody: other programs run
/// here, too.
#[test]
fn who_looks_comes_and_goes_beside_readers() {
    const ROUNDS: usize = 3;
    let scratch = Scratch::new("drill-cost");
    let mut daemon = Daemon::start(&scratch);
    let share = served(&daemon, &scratch, 256);
    let blocks = Blocks { block: 4096, size: 8 << 20, is_random: true };
    let crowd = Crowd::new(8, Duration::from_secs(2)).over(2);
    let fill = Work::Write { blocks: Blocks { is_random: false, ..blocks }, is_sync: false };
    share.run(fill, &crowd).expect("filled");
    let reads = || share.run(Work::Read { blocks }, &crowd).expect("read").operations as f64;
    let (mut traced, mut drilled) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let off = reads();
        let mut trace = daemon.command(&["trace", "-o", "write", "-t", "1m", "--json"]);
        let mut trace = trace.stdout(std::process::Stdio::null()).spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(300));
        traced.push(reads() / off);
        trace.kill().expect("it runs");
        trace.wait().expect("it ends");
        let off = reads();
        let id = begin(&daemon, &json!({"by": ["client", "file", "operation"]}));
        drilled.push(reads() / off);
        assert_eq!(daemon.ask("POST", &format!("/v1/analytics/{id}/remove"), None).0, 200);
    }
    for (what, ratios) in [("a trace", &mut traced), ("a drill-down", &mut drilled)] {
        ratios.sort_by(f64::total_cmp);
        say(&format!(
            "with {what}: {:.3} of the reads, {:.3} to {:.3}",
            ratios[ROUNDS / 2],
            ratios[0],
            ratios[ROUNDS - 1]
        ));
        assert!(ratios.iter().all(|ratio| *ratio > 0.0), "{what}: nothing was read: {ratios:?}");
    }
    daemon.stop();
}

#[test]
fn what_programs_ask_of_a_local_mount_is_told_by_user_file_and_device() {
    let scratch = Scratch::new("looked-local");
    let mut daemon = Daemon::start(&scratch);
    let (image, at) = (scratch.image("a", 256), scratch.folder("mnt"));
    daemon.zpool(&format!("create -m {} -O compression=off tank {image}", text(&at))).done();
    daemon.zfs("mount tank").done();
    fs::set_permissions(&at, fs::Permissions::from_mode(0o755)).expect("for everybody");
    let by_user = begin(&daemon, &json!({"by": ["user", "operation"], "filter": {"protocol": "local"}}));
    let all = Trace::begin(&daemon, &["-p", "local", "-c", "local", "-t", "6s"]);
    let noise: Vec<u8> = (0..1_u32 << 18).flat_map(|n| n.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
    let path = at.join("file");
    let mut file = File::create(&path).expect("made");
    file.write_all(&noise).expect("written");
    file.sync_all().expect("synced");
    drop(file);
    // Neither the kernel nor the daemon has anything of it any more.
    daemon.zfs("unmount tank").done();
    daemon.zfs("mount tank").done();
    daemon.zpool("sync tank").done();
    daemon.ask("POST", "/v1/cache/drop", Some("null"));
    let read = Command::new("cat").arg(&path).uid(65_534).output().expect("it runs");
    assert!(read.status.success() && read.stdout == noise, "{:?}", read.stderr);
    assert_eq!(fs::metadata(at.join("none")).map_err(|error| error.kind()).err(), Some(ErrorKind::NotFound));

    let (requests, _) = all.rest();
    let of = |operation: &'static str, user: &'static str| {
        requests.iter().filter(move |one| one["operation"] == operation && one["user"] == user)
    };
    let bytes = |operation, user| of(operation, user).map(|one| number(&one["bytes"])).sum::<u64>();
    assert_eq!(bytes("WRITE", "0"), 1 << 20, "{requests:?}");
    assert!(bytes("READ", "65534") >= 1 << 20 && bytes("WRITE", "65534") == 0, "{requests:?}");
    assert!(of("READ", "65534").all(|one| one["dataset"] == "tank" && one["file"] == "/file"));
    let device = format!("tank:{image}");
    assert!(of("READ", "65534").any(|one| one["served"] == "disk" && one["device"] == device.as_str()));
    let synced = of("FSYNC", "0").next().unwrap_or_else(|| panic!("{requests:?}"));
    assert!(number(&synced["stages"]["log"]) + number(&synced["stages"]["group"]) > 0, "{synced}");
    assert!(of("LOOKUP", "0").any(|one| one["name"] == "none"));
    for request in &requests {
        let stages = request["stages"].as_object().expect("stages");
        assert_eq!(stages.values().map(number).sum::<u64>(), number(&request["took"]), "{request}");
    }
    let users = found(&daemon, by_user);
    adds_up(&users);
    let keys = users["keys"].as_array().expect("keys");
    let read = keys.iter().find(|key| key["values"] == json!(["65534", "READ"])).expect("reads");
    assert_eq!(read["filter"], json!({"protocol": "local", "user": "65534", "operation": "READ"}));
    daemon.stop();
}
