//! Services at a daemon that runs: snapshots that come and go by themselves beside those of others,
//! scrubs, programs that misbehave, kills, clocks that leap, and who may ask what.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::daemon::{Daemon, Ran, Scratch, program, text};
use crate::https::Site;
use crate::suspended::{until, zinject};

pub fn svc(daemon: &Daemon, words: &[&str]) -> Ran {
    daemon.run(&[&["svc"], words].concat())
}

pub fn shown(daemon: &Daemon, name: &str) -> Value {
    serde_json::from_str(&svc(daemon, &["show", name, "--json"]).done()).expect("JSON")
}

fn log(daemon: &Daemon, name: &str) -> Vec<Value> {
    serde_json::from_str(&svc(daemon, &["log", name, "--json"]).done()).expect("JSON")
}

pub fn state(daemon: &Daemon, name: &str) -> String {
    shown(daemon, name)["state"].as_str().expect("a state").to_owned()
}

/// The snapshots of a dataset and all below: their names, whose they are, and their groups.
fn snapshots(daemon: &Daemon, dataset: &str) -> Vec<(String, String, u64)> {
    let listed = daemon.run(&[
        "zfs",
        "list",
        "-H",
        "-p",
        "-t",
        "snapshot",
        "-o",
        "name,org.cistern:service,createtxg",
        "-r",
        dataset,
    ]);
    let line = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        (fields[0].to_owned(), fields[1].to_owned(), fields[2].parse().expect("a number"))
    };
    listed.done().lines().map(line).collect()
}

/// Those of a service.
fn own(daemon: &Daemon, dataset: &str, service: &str) -> Vec<(String, String, u64)> {
    let mut all = snapshots(daemon, dataset);
    all.retain(|(_, stamp, _)| stamp.split(' ').next() == Some(service));
    all
}

fn pool(scratch: &Scratch, daemon: &Daemon) {
    let image = scratch.image("a", 256);
    daemon.zpool(&format!("create -m none tank {image}")).done();
}

#[test]
fn snapshots_come_and_go_beside_those_of_others() {
    let scratch = Scratch::new("services-snap");
    let mut daemon = Daemon::start(&scratch);
    pool(&scratch, &daemon);
    for name in ["home", "home/a", "home/b", "home/tmp", "other"] {
        daemon.zfs(&format!("create tank/{name}")).done();
    }
    // What sanoid and zfs-auto-snapshot make, by name.
    let foreign = ["autosnap_2026-11-28_05:00:01_hourly", "zfs-auto-snap_hourly-2026-11-28-0517", "mine"];
    for name in foreign {
        daemon.zfs(&format!("snapshot tank/home@{name}")).done();
    }
    let create = [
        "create",
        "auto-snap",
        "home",
        "--target",
        "tank/home",
        "--recursive",
        "--exclude",
        "tank/home/tmp",
        "--level",
        "often:* * * * *=1",
        "--level",
        "daily=3",
        "--budget",
        "50%",
    ];
    svc(&daemon, &create).done();
    until("the first snapshots", || own(&daemon, "tank", "home").len() == 6);
    let first = own(&daemon, "tank", "home");
    let datasets: Vec<&str> = first.iter().filter_map(|(name, ..)| name.split('@').next()).collect();
    assert_eq!(
        datasets,
        ["tank/home", "tank/home", "tank/home/a", "tank/home/a", "tank/home/b", "tank/home/b"]
    );
    for level in ["often", "daily"] {
        let groups: Vec<u64> =
            first.iter().filter(|(_, stamp, _)| stamp.contains(level)).map(|(.., txg)| *txg).collect();
        assert!(groups.len() == 3 && groups.iter().all(|txg| *txg == groups[0]), "{first:?}");
    }
    let history = daemon.zpool("history tank").done();
    assert!(history.contains("cistern svc run home"), "{history}");
    let ran = || daemon.run(&["audit", "--user", "service home", "-H"]).done();
    until("a record of the run", || ran().lines().count() == 1);
    assert!(ran().contains("RUN") && ran().contains("6 done, 0 destroyed, 0 failed"), "{}", ran());
    // One that somebody holds stays, and so does one with a clone.
    let often = |dataset: &str| {
        let is_it = |(name, stamp, _): &&(String, String, u64)| {
            stamp.contains("often") && name.starts_with(&format!("{dataset}@"))
        };
        first.iter().find(is_it).map(|(name, ..)| name.clone()).expect("there is one")
    };
    let (held, cloned, goes) = (often("tank/home"), often("tank/home/a"), often("tank/home/b"));
    daemon.zfs(&format!("hold keep {held}")).done();
    daemon.zfs(&format!("clone {cloned} tank/clone")).done();
    svc(&daemon, &["create", "auto-scrub", "scrub", "--schedule", "* * * * *"]).done();
    let planned = svc(&daemon, &["plan", "home", "--days", "1"]).done();
    assert!(
        planned.contains("  make     tank/home/b@auto-often-") && planned.contains("  destroy  "),
        "{planned}"
    );
    until("another minute", || own(&daemon, "tank/home/b", "home").iter().all(|(name, ..)| *name != goes));
    let now = snapshots(&daemon, "tank");
    let is_there = |name: &str| now.iter().any(|(one, ..)| one == name);
    assert!(is_there(&held) && is_there(&cloned) && !is_there(&goes), "{now:?}");
    assert!(foreign.iter().all(|name| is_there(&format!("tank/home@{name}"))), "{now:?}");
    assert!(
        now.iter().all(|(name, ..)| !name.starts_with("tank/other@") && !name.starts_with("tank/home/tmp@"))
    );
    let kept = svc(&daemon, &["plan", "home"]).done();
    assert!(kept.contains(&format!("keep     {held}  it has 1 hold")), "{kept}");
    assert!(kept.contains(&format!("keep     {cloned}  it has 1 clone")), "{kept}");
    until("a scrub", || shown(&daemon, "scrub")["last"]["done"] == 1);
    let scrubbed = daemon.zpool("status tank").done();
    assert!(scrubbed.contains("scrub"), "{scrubbed}");
    // A name moves with what it names, and what is gone is told.
    daemon.zfs("rename tank/home tank/house").done();
    svc(&daemon, &["run", "home"]).done();
    let target = || shown(&daemon, "home")["spec"]["targets"][0]["dataset"].clone();
    std::thread::sleep(Duration::from_millis(100));
    until("the new name", || {
        // Names are read again at most once a minute, unless a service is set.
        svc(&daemon, &["set", "home", "--snapshots", "500"]).done();
        target() == "tank/house"
    });
    svc(&daemon, &["disable", "home"]).done();
    svc(&daemon, &["remove", "home"]).done();
    assert!(!own(&daemon, "tank", "home").is_empty(), "its snapshots stay");
    assert!(svc(&daemon, &["show", "home"]).err.contains("no such service"));
    svc(&daemon, &["disable", "scrub"]).done();
    daemon.stop();
}

#[test]
fn a_kill_makes_no_snapshot_twice_and_loses_no_service() {
    let scratch = Scratch::new("services-kill");
    let mut daemon = Daemon::start(&scratch);
    pool(&scratch, &daemon);
    for turn in 0..6 {
        daemon.zfs(&format!("create tank/d{turn}")).done();
        let (id, target) = (format!("s{turn}"), format!("tank/d{turn}"));
        let create =
            ["create", "auto-snap", &id, "--target", &target, "--level", "yearly=3", "--level", "monthly=2"];
        svc(&daemon, &create).done();
        // Somewhere in the middle of what follows.
        std::thread::sleep(Duration::from_millis(20 * turn));
        daemon.kill();
        daemon.begin();
        until("both levels", || own(&daemon, &target, &id).len() == 2);
        std::thread::sleep(Duration::from_millis(300));
        let made = own(&daemon, &target, &id);
        assert_eq!(made.len(), 2, "{made:?}");
        assert_eq!(state(&daemon, &id), "online");
    }
    let listed = svc(&daemon, &["list", "-H"]).done();
    assert_eq!(listed.lines().count(), 6, "{listed}");
    daemon.stop();
}

#[test]
fn programs_are_bounded_and_told_of() {
    let scratch = Scratch::new("services-script");
    let daemon = Daemon::start(&scratch);
    let script = scratch.path("script");
    fs::write(
        &script,
        "#!/bin/sh\necho \"hello $1\"\ncase $1 in hang) sleep 1000 ;; fail) exit 7 ;; flood) yes ;; esac\n",
    )
    .expect("written");
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("set");
    let path = text(&script);
    for what in ["well", "hang", "fail", "flood"] {
        let create = [
            "create",
            "script",
            what,
            "--schedule",
            "yearly",
            "--seconds",
            "1",
            "--output",
            "4K",
            "--",
            &path,
            what,
        ];
        svc(&daemon, &create).done();
        svc(&daemon, &["run", what]).done();
    }
    let ended = |name: &str| {
        let line =
            log(&daemon, name).into_iter().find(|line| line["entry"].get("kind") == Some(&json!("program")));
        line.map(|line| line["entry"].clone())
    };
    for (name, kind) in
        [("well", "exited"), ("hang", "timed-out"), ("fail", "exited"), ("flood", "timed-out")]
    {
        until(name, || ended(name).is_some());
        let entry = ended(name).expect("it has ended");
        assert_eq!(entry["end"]["kind"], kind, "{entry}");
        let output = entry["output"].as_str().expect("text");
        assert!(output.len() <= 4096, "{output}");
        assert!(name == "flood" || output == format!("hello {name}\n"), "{entry}");
    }
    until("states", || state(&daemon, "well") == "online" && state(&daemon, "fail") == "degraded");
    let failed = svc(&daemon, &["show", "fail"]).done();
    assert!(failed.contains("ended with status 7"), "{failed}");
    // It is tried again after a while, and not before.
    let retry = shown(&daemon, "fail")["next"].clone();
    assert_eq!(retry["reason"]["kind"], "retry", "{retry}");
    let nothing = ["create", "script", "none", "--schedule", "yearly", "--", "/nowhere"];
    svc(&daemon, &nothing).done();
    svc(&daemon, &["run", "none"]).done();
    until("maintenance", || state(&daemon, "none") == "maintenance");
    let refused = svc(&daemon, &["run", "none"]);
    assert!(refused.status == 1 && refused.err.contains("in maintenance: clear it first"), "{refused:?}");
    svc(&daemon, &["clear", "none"]).done();
    assert_eq!(state(&daemon, "none"), "online");
    // The daemon's end does not wait for a program.
    let create = ["create", "script", "long", "--schedule", "yearly", "--", &path, "hang"];
    svc(&daemon, &create).done();
    svc(&daemon, &["run", "long"]).done();
    until("it runs", || state(&daemon, "long") == "running");
    svc(&daemon, &["disable", "long"]).done();
    until("it has stopped", || ended("long").is_some_and(|entry| entry["end"]["kind"] == "stopped"));
    assert_eq!(state(&daemon, "long"), "disabled");
}

#[test]
fn a_clock_that_leaps_destroys_nothing() {
    let scratch = Scratch::new("services-clock");
    let mut daemon = Daemon::start(&scratch);
    pool(&scratch, &daemon);
    daemon.zfs("create tank/d").done();
    let create =
        ["create", "auto-snap", "s", "--target", "tank/d", "--level", "hourly=1h", "--level", "daily=2"];
    svc(&daemon, &create).done();
    until("the first ones", || own(&daemon, "tank/d", "s").len() == 2);
    let before = own(&daemon, "tank/d", "s");
    let library = program("sh", 10)
        .args(["-c", "find /usr/lib -name libfaketime.so.1 | head -1"])
        .output()
        .expect("runs");
    let library = String::from_utf8_lossy(&library.stdout).trim().to_owned();
    assert!(!library.is_empty(), "faketime is needed for this test: run scripts/setup test");
    for then in ["2099-06-01 00:00:00", "1970-01-02 00:00:00"] {
        daemon.stop();
        daemon.surround(&[
            ("LD_PRELOAD", &library),
            ("FAKETIME", &format!("@{then}")),
            ("DONT_FAKE_MONOTONIC", "1"),
        ]);
        daemon.begin();
        svc(&daemon, &["run", "s"]).done();
        until("it has looked", || shown(&daemon, "s")["last"]["reason"]["kind"] == "asked");
        assert_eq!(own(&daemon, "tank/d", "s"), before, "{then}");
        let told = svc(&daemon, &["list"]);
        assert!(told.err.contains("is not believed until an administrator says"), "{told:?}");
        assert!(shown(&daemon, "s")["clock"]["wall"].is_number());
    }
    daemon.stop();
    daemon.surround(&[]);
    daemon.begin();
    let told = svc(&daemon, &["clock"]).done();
    assert!(told.starts_with("services go by the machine's clock: "), "{told}");
    assert_eq!(own(&daemon, "tank/d", "s"), before);
    daemon.stop();
}

#[test]
fn a_pool_that_is_full_suspended_or_read_only_holds_nothing_up() {
    let scratch = Scratch::new("services-pools");
    let mut daemon = Daemon::start(&scratch);
    pool(&scratch, &daemon);
    let other = scratch.image("b", 256);
    daemon.zpool(&format!("create -m none safe {other}")).done();
    daemon.zfs("create tank/d").done();
    daemon.zfs("create safe/d").done();
    zinject(&daemon, &format!("-q -d {} -e nxio tank", scratch.text("disks/a.img"))).done();
    let mut write = daemon.command(&["zfs", "snapshot", "tank@write"]).spawn().expect("it runs");
    until("it is suspended", || daemon.zpool("list -H -o health tank").done().trim() == "SUSPENDED");
    let create =
        ["create", "auto-snap", "s", "--target", "tank/d", "--target", "safe/d", "--level", "yearly=2"];
    svc(&daemon, &create).done();
    until("the other pool's", || own(&daemon, "safe/d", "s").len() == 1);
    zinject(&daemon, "-c all").done();
    daemon.zpool("clear tank").done();
    drop(write.wait());
    until("it is back", || daemon.zpool("list -H -o health tank").done().trim() == "ONLINE");
    svc(&daemon, &["set", "s", "--snapshots", "100"]).done();
    until("its own", || own(&daemon, "tank/d", "s").len() == 1);
    daemon.zpool("export safe").done();
    daemon.zpool(&format!("import -d {} -o readonly=on safe", scratch.text("disks"))).done();
    let create = ["create", "auto-snap", "r", "--target", "safe/d", "--level", "yearly=2"];
    svc(&daemon, &create).done();
    until("why not", || svc(&daemon, &["show", "r"]).done().contains("the pool cannot be written to"));
    // The machine keeps it until the pool takes it, as it does what programs of before had made.
    assert_eq!(shown(&daemon, "r")["home"], Value::Null);
    daemon.zpool("export safe").done();
    daemon.zpool(&format!("import -d {} safe", scratch.text("disks"))).done();
    until("it has moved in", || shown(&daemon, "r")["home"] == "safe/d");
    assert!(kept(&daemon, "safe/d").contains("\"r\":"), "{}", kept(&daemon, "safe/d"));
    svc(&daemon, &["create", "auto-snap", "late", "--target", "tank/late", "--level", "yearly=2"]).done();
    assert_eq!(shown(&daemon, "late")["home"], Value::Null);
    daemon.zfs("create tank/late").done();
    until("it has moved in, too", || shown(&daemon, "late")["home"] == "tank/late");
    until("its first", || own(&daemon, "tank/late", "late").len() == 1);
    daemon.stop();
}

fn listed(daemon: &Daemon) -> String {
    svc(daemon, &["list", "-H"]).done()
}

/// What a dataset keeps of services.
fn kept(daemon: &Daemon, dataset: &str) -> String {
    daemon.zfs(&format!("get -H -o value cistern:services {dataset}")).done().trim().to_owned()
}

const SNAP: [&str; 9] =
    ["create", "auto-snap", "s", "--target", "tank/d", "--level", "yearly=3", "--level", "monthly=2"];

#[test]
fn a_service_moves_with_its_pool_and_follows_its_names() {
    let scratch = Scratch::new("services-moves");
    let (mut one, mut other) =
        (Daemon::start_with(&scratch, "one", &[]), Daemon::start_with(&scratch, "other", &[]));
    pool(&scratch, &one);
    one.zfs("create tank/d").done();
    svc(&one, &SNAP).done();
    svc(&one, &["create", "auto-scrub", "scrub", "--pool", "tank", "--schedule", "yearly", "--disabled"])
        .done();
    svc(&one, &["create", "script", "mine", "--schedule", "yearly", "--", "/bin/true"]).done();
    svc(&one, &["create", "auto-trim", "all", "--schedule", "yearly"]).done();
    assert_eq!(shown(&one, "s")["home"], "tank/d");
    assert_eq!(shown(&one, "scrub")["home"], "tank");
    // Programs, and what is about no one pool, belong to the machine.
    for name in ["mine", "all"] {
        assert_eq!(shown(&one, name)["home"], Value::Null, "{name}");
    }
    until("snapshots", || own(&one, "tank/d", "s").len() == 2);
    one.zpool("export tank").done();
    until("it is away", || shown(&one, "s")["away"] == true);
    assert_eq!(state(&one, "mine"), "online");

    other.zpool(&format!("import -d {} tank cistern", scratch.text("disks"))).done();
    other.zfs("rename cistern/d cistern/e").done();
    until("it is at work", || svc(&other, &["show", "s", "--json"]).status == 0);
    until("its new name", || shown(&other, "s")["spec"]["targets"][0]["dataset"] == "cistern/e");
    assert_eq!(shown(&other, "scrub")["spec"]["pools"], json!(["cistern"]));
    assert_eq!((state(&other, "scrub"), state(&other, "s")), ("disabled".into(), "online".into()));
    let listed = svc(&other, &["list", "-H"]).done();
    assert_eq!(listed.lines().count(), 2, "{listed}");
    // It goes on with what it has made, and makes nothing twice.
    svc(&other, &["run", "s"]).done();
    until("it has looked", || shown(&other, "s")["last"]["reason"]["kind"] == "asked");
    assert_eq!(own(&other, "cistern/e", "s").len(), 2);
    svc(&other, &["set", "s", "--snapshots", "77"]).done();
    svc(&other, &["enable", "scrub"]).done();
    svc(&other, &["remove", "scrub"]).done();
    assert_eq!(kept(&other, "cistern"), "-");
    other.zpool("export cistern").done();

    one.zpool(&format!("import -d {} cistern tank", scratch.text("disks"))).done();
    until("it is back", || shown(&one, "s")["away"] == false);
    assert_eq!(shown(&one, "s")["spec"]["budget"]["snapshots"], 77);
    until("what is gone", || svc(&one, &["show", "scrub"]).status == 1);
    assert_eq!(svc(&one, &["list", "-H"]).done().lines().count(), 3);
    // A dataset that goes takes its service along.
    one.zfs("destroy -r tank/e").done();
    until("it is gone", || svc(&one, &["show", "s"]).status == 1);
    one.stop();
    other.stop();
}

#[test]
fn a_replica_sleeps_until_somebody_says_that_it_is_none() {
    let scratch = Scratch::new("services-replica");
    let (mut one, mut other) =
        (Daemon::start_with(&scratch, "one", &[]), Daemon::start_with(&scratch, "other", &[]));
    pool(&scratch, &one);
    let image = scratch.image("b", 256);
    other.zpool(&format!("create -m none back {image}")).done();
    one.zfs("create tank/d").done();
    one.zfs("create tank/d/below").done();
    svc(&one, &[&SNAP[..], &["--recursive"]].concat()).done();
    until("snapshots", || own(&one, "tank/d", "s").len() == 4);
    one.zfs("snapshot -r tank/d@now").done();
    let file = scratch.path("stream");
    let sent = fs::File::create(&file).expect("a file");
    assert!(one.command(&["zfs", "send", "-R", "tank/d@now"]).stdout(sent).status().expect("runs").success());
    let stream = fs::File::open(&file).expect("a file");
    let received = other.command(&["zfs", "receive", "-u", "back/d"]).stdin(stream).status();
    assert!(received.expect("it runs").success());
    until("it sleeps", || listed(&other).contains("s@back/d\tauto-snap\tasleep"));
    assert_eq!(listed(&other).lines().count(), 1, "{}", listed(&other));
    assert_eq!(svc(&other, &["show", "s"]).status, 1);
    let before = snapshots(&other, "back");

    // On the machine of the original it sleeps beside it.
    let stream = fs::File::open(&file).expect("a file");
    assert!(
        one.command(&["zfs", "receive", "-u", "tank/copy"]).stdin(stream).status().expect("runs").success()
    );
    svc(&one, &["set", "s", "--snapshots", "90"]).done();
    until("it sleeps, too", || svc(&one, &["list", "-H"]).done().contains("s@tank/copy\tauto-snap\tasleep"));
    let refused = svc(&one, &["wake", "s@tank/copy"]);
    assert!(refused.status == 1 && refused.err.contains("there is a service 's'"), "{refused:?}");

    assert_eq!(snapshots(&other, "back"), before, "nothing was made or destroyed");
    let refused = svc(&other, &["wake", "t@back/d"]);
    assert!(refused.status == 1 && refused.err.contains("no stream brought"), "{refused:?}");
    other.kill();
    other.begin();
    until("it sleeps still", || listed(&other).contains("s@back/d\tauto-snap\tasleep"));
    svc(&other, &["wake", "s@back/d"]).done();
    // What came along is not its own: it makes what its levels want.
    until("it is at work", || own(&other, "back/d", "s").len() == 8);
    assert_eq!(listed(&other).lines().count(), 1, "{}", listed(&other));
    assert_eq!(shown(&other, "s")["home"], "back/d");
    assert_eq!(shown(&other, "s")["covers"], 2);
    other.stop();
    one.stop();
}

#[test]
fn what_makes_no_sense_in_a_pool_is_shown_and_does_nothing() {
    let scratch = Scratch::new("services-malformed");
    let mut daemon = Daemon::start(&scratch);
    pool(&scratch, &daemon);
    for name in ["d", "e", "f"] {
        daemon.zfs(&format!("create tank/{name}")).done();
    }
    svc(&daemon, &SNAP).done();
    until("snapshots", || own(&daemon, "tank/d", "s").len() == 2);
    let value = kept(&daemon, "tank/d");
    let set = |value: &str, dataset: &str| {
        daemon.run(&["zfs", "set", &format!("cistern:services={value}"), dataset])
    };
    let refused = set("daily", "tank/e");
    assert!(refused.status != 0 && refused.err.contains("'cistern svc' sets services"), "{refused:?}");
    let program = r#"{"version":1,"services":{"x":{"spec":{"kind":"script","program":"/bin/sh","schedule":{"when":{"every":"minute","step":1}}}}}}"#;
    let refused = set(program, "tank/e");
    assert!(refused.status != 0 && refused.err.contains("no dataset keeps programs"), "{refused:?}");
    // The same name twice: who is at work stays, and the other one is told.
    set(&value, "tank/e").done();
    // A schedule that this program refuses, from a program that did not.
    set(&value.replace("\"s\":", "\"t\":").replace("\"day\":1", "\"day\":77"), "tank/f").done();
    svc(&daemon, &["set", "s", "--snapshots", "90"]).done();
    until("both", || listed(&daemon).lines().count() == 3);
    let told = listed(&daemon);
    assert!(told.contains("s@tank/e\tauto-snap\tasleep\t-\t-\tanother service has this name"), "{told}");
    assert!(
        told.contains("t@tank/f\tauto-snap\tmaintenance") && told.contains("day 77 is not from"),
        "{told}"
    );
    assert!(own(&daemon, "tank/e", "s").is_empty() && own(&daemon, "tank/f", "t").is_empty());
    daemon.kill();
    daemon.begin();
    until("the same", || listed(&daemon).lines().count() == 3 && shown(&daemon, "s")["away"] == false);
    assert_eq!(shown(&daemon, "s")["home"], "tank/d");
    daemon.zfs("inherit cistern:services tank/d").done();
    svc(&daemon, &["create", "script", "other", "--schedule", "yearly", "--", "/bin/true"]).done();
    until("the other one", || shown(&daemon, "s")["home"] == "tank/e");
    daemon.stop();
}

#[test]
fn a_kill_while_a_service_is_set_leaves_one_of_both() {
    let scratch = Scratch::new("services-set");
    let mut daemon = Daemon::start(&scratch);
    pool(&scratch, &daemon);
    daemon.zfs("create tank/d").done();
    svc(&daemon, &SNAP).done();
    until("snapshots", || own(&daemon, "tank/d", "s").len() == 2);
    let mut last = 1_000;
    for turn in 0..8_u64 {
        let next = 100 + turn;
        let mut set = daemon.command(&["svc", "set", "s", "--snapshots", &next.to_string()]);
        let mut set = set.stderr(std::process::Stdio::null()).spawn().expect("it runs");
        std::thread::sleep(Duration::from_millis(15 * turn));
        daemon.kill();
        let done = set.wait().expect("it ends").success();
        daemon.begin();
        until("it is at work", || shown(&daemon, "s")["away"] == false);
        let found = shown(&daemon, "s")["spec"]["budget"]["snapshots"].as_u64().expect("a number");
        assert!(found == next || (found == last && !done), "{turn}: {found} of {last} and {next}, {done}");
        assert!(kept(&daemon, "tank/d").contains(&format!("\"snapshots\":{found}")));
        assert_eq!(svc(&daemon, &["list", "-H"]).done().lines().count(), 1);
        last = found;
    }
    assert_eq!(own(&daemon, "tank/d", "s").len(), 2);
    daemon.stop();
}

#[test]
fn who_may_ask_what_of_services() {
    let scratch = Scratch::new("services-rights");
    let site = Site::start(&scratch);
    site.pool(&scratch);
    let (reader, operator) = (site.user("rea", "read-only", None), site.user("olga", "operator", None));
    let held = site.user("held", "administrator", Some("tank"));
    let spec = json!({
        "kind": "auto-snap",
        "targets": [{"dataset": "tank"}],
        "levels": [{"name": "daily", "schedule": {"when": {"every": "day"}}, "keep": {"count": 3}}],
    });
    let new = json!({"id": "daily", "spec": spec, "enabled": false});
    let script = json!({"id": "x", "spec": {"kind": "script", "program": "/bin/true", "schedule": {"when": {"every": "day"}}}});
    let wake = json!({"dataset": "tank", "id": "x"});
    for who in [&reader, &operator, &held] {
        site.post("/v1/service-policies/wake", &[who], &wake).is(403);
    }
    site.post("/v1/service-policies/wake", &[&site.bearer()], &wake).is(404);
    assert_eq!(site.get("/v1/service-policies", &[&reader]).is(200).json(), json!([]));
    for who in [&reader, &operator, &held] {
        for body in [&new, &script] {
            assert_eq!(site.post("/v1/services", &[who], body).is(403).problem(), "/problems/denied");
        }
    }
    site.post("/v1/services", &[&site.bearer()], &new).is(200);
    let again = site.post("/v1/services", &[&site.bearer()], &new).is(409);
    assert_eq!(again.problem(), "/problems/exists");
    assert_eq!(site.get("/v1/services", &[&reader]).is(200).json()[0]["state"], "disabled");
    let ask = |who: &str, command: &str| {
        site.post("/v1/services/daily/command", &[who], &json!({"command": command}))
    };
    ask(&reader, "enable").is(403);
    ask(&held, "enable").is(403);
    ask(&operator, "enable").is(200);
    site.post("/v1/services/daily/spec", &[&operator], &json!({"spec": spec})).is(403);
    // What somebody else has set meanwhile is not overwritten.
    until("its target is known", || {
        site.get("/v1/services/daily/spec", &[&reader]).is(200).json()["targets"][0]["guid"].is_number()
    });
    let tag =
        site.get("/v1/services/daily/spec", &[&reader]).is(200).header("etag").expect("a tag").to_owned();
    let matching = format!("If-Match: {tag}");
    site.post("/v1/services/daily/spec", &[&site.bearer(), &matching], &json!({"spec": spec})).is(200);
    let mut other = spec.clone();
    other["skip_unchanged"] = json!(true);
    site.post("/v1/services/daily/spec", &[&site.bearer()], &json!({"spec": other})).is(200);
    site.post("/v1/services/daily/spec", &[&site.bearer(), &matching], &json!({"spec": spec})).is(412);
    let bad = json!({"id": "bad", "spec": {"kind": "auto-snap", "targets": [], "levels": []}});
    let refused = site.post("/v1/services", &[&site.bearer()], &bad).is(422);
    assert_eq!(refused.json()["detail"], "there is no level\nthere is no target", "{}", refused.body);
    let fault = json!({"kind": "snap", "faults": [{"kind": "no-levels"}, {"kind": "no-targets"}]});
    assert_eq!(refused.json()["service_fault"], fault, "{}", refused.body);
    site.post("/v1/services/daily/remove", &[&operator], &json!({})).is(403);
    site.post("/v1/services/daily/remove", &[&site.bearer()], &json!({})).is(200);
    site.get("/v1/services/daily", &[&reader]).is(404);
}
