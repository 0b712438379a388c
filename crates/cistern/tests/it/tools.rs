//! The command lines of two programs that replicate and provision with OpenZFS, word for word as
//! their sources have them, and what they read out of the answers: zrepl (internal/zfs) and
//! democratic-csi (src/utils/zfs.js, src/driver/controller-zfs). Neither is run here; who reads an
//! answer with a pattern is given what the pattern wants.

use std::fs::{self, File};
use std::process::Stdio;

use crate::daemon::{Daemon, Ran, Scratch};
use crate::libnfs::Client;
use crate::zdb::stop_and_check;

/// Refused in these words.
#[track_caller]
fn refused(ran: &Ran, why: &str) {
    assert!(ran.status != 0 && ran.err.contains(why), "{ran:?}");
}

/// `zfs send … > file`
fn send(daemon: &Daemon, scratch: &Scratch, line: &str, file: &str) {
    let to = File::create(scratch.path(file)).expect("a file");
    let words: Vec<&str> = ["zfs", "send"].into_iter().chain(line.split_whitespace()).collect();
    let child = daemon.command(&words).stdout(to).stderr(Stdio::piped()).spawn().expect("runs");
    let output = child.wait_with_output().expect("ends");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

/// `zfs COMMAND … < file`
fn receive(daemon: &Daemon, scratch: &Scratch, line: &str, file: &str) -> Ran {
    let words: Vec<&str> = ["zfs"].into_iter().chain(line.split_whitespace()).collect();
    Ran::of(daemon.command(&words).stdin(File::open(scratch.path(file)).expect("sent before")))
}

/// A file system with some megabytes, mounted by a client.
fn filled(daemon: &Daemon, scratch: &Scratch, dataset: &str) -> Client {
    let at = scratch.text(&dataset.replace('/', "-"));
    daemon.zfs(&format!("create -o mountpoint={at} -o sharenfs=rw,no_root_squash,insecure {dataset}")).done();
    let client = Client::mount(daemon, &at).expect("mounted");
    let bytes: Vec<u8> = (0..2 << 20).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    client.write_file("/data", 0o644, &bytes).expect("written");
    client
}

#[test]
fn what_zrepl_asks() {
    let scratch = Scratch::new("zrepl");
    let mut daemon = Daemon::start(&scratch);
    let (a, b) = (scratch.image_in("one", "a", 192), scratch.image_in("two", "b", 192));
    daemon.zpool(&format!("create -f -m none tank {a}")).done();
    daemon.zpool(&format!("create -f -m none backup {b}")).done();
    let client = filled(&daemon, &scratch, "tank/fs");

    // What there is, it looks up in usage texts.
    for (line, has) in [
        ("send", &["receive_resume_token"][..]),
        ("receive", &["-A <filesystem|volume>"]),
        ("destroy", &["<filesystem|volume>@<snap>[%<snap>][,...]"]),
        ("load-key", &["load-key", "keylocation"]),
    ] {
        let ran = daemon.zfs(line);
        assert!(ran.status != 0 && has.iter().all(|has| ran.err.contains(has)), "{ran:?}");
    }
    let feature = daemon.zpool("get -H -p -o value feature@extensible_dataset backup").done();
    assert!(["active\n", "enabled\n"].contains(&feature.as_str()), "{feature}");
    assert_eq!(
        daemon.zfs("get -Hp -o name,property,value,source encryption tank/fs").done(),
        "tank/fs\tencryption\toff\tdefault\n"
    );

    // Snapshots, holds, bookmarks: each may be asked for twice.
    assert_eq!(daemon.zfs("list -H -p -o name -r -t filesystem,volume").done(), "backup\ntank\ntank/fs\n");
    for snapshot in ["zrepl_1", "zrepl_2"] {
        daemon.zfs(&format!("snapshot tank/fs@{snapshot}")).done();
        client.write_file(&format!("/{snapshot}"), 0o644, b"later").expect("written");
    }
    daemon.zfs("hold zrepl_STEP_J_push tank/fs@zrepl_1").done();
    refused(&daemon.zfs("hold zrepl_STEP_J_push tank/fs@zrepl_1"), "tag already exists on this dataset");
    let holds = daemon.zfs("holds -H tank/fs@zrepl_1").done();
    assert!(holds.starts_with("tank/fs@zrepl_1\tzrepl_STEP_J_push\t") && holds.lines().count() == 1);
    daemon.zfs("bookmark tank/fs@zrepl_1 tank/fs#zrepl_CURSOR_G_1_J_push").done();
    let ran = daemon.zfs("bookmark tank/fs@zrepl_2 tank/fs#zrepl_CURSOR_G_1_J_push");
    refused(&ran, "cannot create bookmark 'tank/fs#zrepl_CURSOR_G_1_J_push': bookmark exists");
    let versions = daemon
        .zfs("list -H -p -o name,guid,createtxg,creation,userrefs -r -d 1 -t bookmark,snapshot -s createtxg tank/fs")
        .done();
    let rows: Vec<Vec<&str>> = versions.lines().map(|line| line.split('\t').collect()).collect();
    let refs: Vec<(&str, &str)> = rows.iter().map(|row| (row[0], row[4])).collect();
    let both = [("tank/fs@zrepl_1", "1"), ("tank/fs#zrepl_CURSOR_G_1_J_push", "-")];
    assert!(both.iter().all(|row| refs[..2].contains(row)), "{versions}");
    assert_eq!(refs[2], ("tank/fs@zrepl_2", "0"));
    assert!(rows.iter().all(|row| row[1..4].iter().all(|cell| cell.parse::<u64>().is_ok())), "{versions}");
    assert!(rows[0][1..4] == rows[1][1..4] && rows[0][1] != rows[2][1], "{versions}");
    for version in ["@zrepl_1", "#zrepl_CURSOR_G_1_J_push"] {
        let line = format!(
            "get -Hp -o name,property,value,source createtxg,guid,creation,userrefs tank/fs{version}"
        );
        let got = daemon.zfs(&line).done();
        let row = rows.iter().find(|row| row[0].ends_with(version)).expect("listed");
        let wanted = [("createtxg", row[2]), ("guid", row[1]), ("creation", row[3]), ("userrefs", row[4])];
        let wanted: String =
            wanted.iter().map(|(name, value)| format!("tank/fs{version}\t{name}\t{value}\t-\n")).collect();
        assert_eq!(got, wanted);
    }
    for line in [
        "list -H -p -o name -r -d 1 -t snapshot tank/none",
        "get -Hp -o name,property,value,source guid tank/none",
    ] {
        let ran = daemon.zfs(line);
        assert_eq!((ran.status, ran.err.trim_end()), (1, "cannot open 'tank/none': dataset does not exist"));
    }

    zrepl_replicates(&daemon, &scratch);
    zrepl_destroys(&daemon);
    drop(client);
    stop_and_check(&mut daemon, &scratch.path("two"), "backup");
}

fn zrepl_replicates(daemon: &Daemon, scratch: &Scratch) {
    // Places for what comes, which are told from what came.
    daemon.zfs("create -o zrepl:placeholder=on -o mountpoint=none backup/sink").done();
    daemon.zfs("create -o zrepl:placeholder=on -o mountpoint=none -o encryption=off backup/sink/host").done();
    let placeholders = daemon
        .zfs("get -Hp -o name,property,value,source -r -t filesystem,volume zrepl:placeholder backup")
        .done();
    assert_eq!(
        placeholders,
        "backup\tzrepl:placeholder\t-\t-\nbackup/sink\tzrepl:placeholder\ton\tlocal\n\
         backup/sink/host\tzrepl:placeholder\ton\tlocal\n"
    );
    daemon.zfs("set zrepl:placeholder=off backup/sink/host").done();

    let sized = |flags: &str| {
        let said = daemon.zfs(&format!("send -n -v -P {flags}")).done();
        let line = said.lines().next().expect("a line").to_owned();
        assert!(line.rsplit('\t').next().is_some_and(|size| size.parse::<u64>().is_ok()), "{said}");
        line[..line.rfind('\t').expect("a tab")].to_owned()
    };
    assert_eq!(sized("tank/fs@zrepl_1"), "full\ttank/fs@zrepl_1");
    assert_eq!(sized("-w -p tank/fs@zrepl_1"), "full\ttank/fs@zrepl_1");
    let both = "incremental\ttank/fs@zrepl_1\ttank/fs@zrepl_2";
    assert_eq!(sized("-L -c -e -i tank/fs@zrepl_1 tank/fs@zrepl_2"), both);

    // The line breaks; the receiver reads its token by having it sent, dry, though it has not what
    // is to be sent.
    send(daemon, scratch, "-L -c -e tank/fs@zrepl_1", "full");
    let whole = fs::read(scratch.path("full")).expect("sent");
    fs::write(scratch.path("part"), &whole[..whole.len() / 2]).expect("written");
    let ran =
        receive(daemon, scratch, "recv -s -x mountpoint -o canmount=off backup/sink/fs@zrepl_1", "part");
    refused(&ran, "A resuming stream can be generated on the sending system by running:\n    zfs send -t 1-");
    let token = daemon.zfs("get -Hp -o value receive_resume_token backup/sink/fs").done();
    daemon.zpool("export tank").done();
    let ran = daemon.zfs(&format!("send -nvt {token}"));
    let none = "cannot resume send: 'tank/fs@zrepl_1' used in the initial send no longer exists";
    refused_so(&ran, none);
    assert!(ran.out.starts_with("resume token contents:\nnvlist version: 0\n\t"), "{ran:?}");
    for has in ["\ttoguid = 0x", "\ttoname = tank/fs@zrepl_1\n", "\tembedok = 1\n", "\tcompressok = 1\n"] {
        assert!(ran.out.contains(has), "{ran:?}");
    }
    daemon.zpool(&format!("import -d {} tank", scratch.text("one"))).done();
    daemon.zfs("recv -A backup/sink/fs").done();
    refused(&daemon.zfs("recv -A backup/sink"), "does not have any resumable receive state to abort");

    // What an interrupted receive has left goes on to somebody else.
    receive(daemon, scratch, "recv -s backup/sink/fs@zrepl_1", "part");
    send(daemon, scratch, "-S backup/sink/fs", "saved");
    receive(daemon, scratch, "recv -s backup/sink/fs2@zrepl_1", "saved");
    for dataset in ["backup/sink/fs", "backup/sink/fs2"] {
        let token = daemon.zfs(&format!("get -Hp -o value receive_resume_token {dataset}")).done();
        send(daemon, scratch, &format!("-t {token}"), "rest");
        receive(daemon, scratch, &format!("recv -s -x mountpoint {dataset}@zrepl_1"), "rest").done();
    }
    send(daemon, scratch, "-L -c -e -i tank/fs#zrepl_CURSOR_G_1_J_push tank/fs@zrepl_2", "next");
    for dataset in ["backup/sink/fs", "backup/sink/fs2"] {
        receive(daemon, scratch, &format!("recv -s {dataset}@zrepl_2"), "next").done();
        let guids = |of: &str| daemon.zfs(&format!("get -Hp -r -t snapshot -o value guid {of}")).done();
        assert_eq!(guids(dataset), guids("tank/fs"));
    }
    // A full receive in place of what is there: back to the first snapshot, which goes, too.
    daemon.zfs("rollback -r backup/sink/fs2@zrepl_1").done();
    daemon.zfs("destroy backup/sink/fs2@zrepl_1").done();
    send(daemon, scratch, "-p tank/fs@zrepl_2", "again");
    receive(daemon, scratch, "recv -F -s -x mountpoint -x sharenfs backup/sink/fs2@zrepl_2", "again").done();
}

#[track_caller]
fn refused_so(ran: &Ran, why: &str) {
    assert!(ran.status == 255 && ran.err.trim_end() == why, "{ran:?}");
}

fn zrepl_destroys(daemon: &Daemon) {
    for name in ["a", "b", "c"] {
        daemon.zfs(&format!("snapshot tank/fs@{name}")).done();
    }
    daemon.zfs("hold zrepl_last tank/fs@b").done();
    // A batch that cannot go, and what of it can.
    let ran = daemon.zfs("destroy tank/fs@a,b,c");
    assert!(ran.status == 1, "{ran:?}");
    let held = "it's being held. Run 'zfs holds -r tank/fs@b' to see holders.";
    assert_eq!(ran.err, format!("cannot destroy snapshot tank/fs@b: {held}\n"));
    daemon.zfs("destroy tank/fs@c").done();
    daemon.zfs("release zrepl_last tank/fs@b").done();
    refused(&daemon.zfs("release zrepl_last tank/fs@b"), "no such tag on this dataset");
    let ran = daemon.zfs("destroy tank/fs@c");
    refused(&ran, "could not find any snapshots to destroy; check snapshot names.");
    refused(&daemon.zfs("destroy tank/fs#none"), "bookmark 'tank/fs#none' does not exist");
    daemon.zfs("destroy tank/fs#zrepl_CURSOR_G_1_J_push").done();
}

#[test]
fn what_democratic_csi_asks() {
    let scratch = Scratch::new("csi");
    let mut daemon = Daemon::start(&scratch);
    let a = scratch.image("a", 256);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    let list = daemon.zpool("list -Hp -o name,size,allocated,free,cap,health,altroot tank").done();
    let cells: Vec<&str> = list.trim_end().split('\t').collect();
    assert!(cells.len() == 7 && cells[0] == "tank" && cells[5..] == ["ONLINE", "-"], "{list}");

    daemon.zfs("create -p tank/k8s/vols").done();
    daemon
        .zfs("create -p -o refquota=64M -o democratic-csi:csi_volume_name=pvc-1 tank/k8s/vols/pvc-1")
        .done();
    let ran = daemon.zfs("create -p -o refquota=64M tank/k8s/vols/pvc-1");
    assert!(ran.status == 0 || ran.err.contains("dataset already exists"), "{ran:?}");
    daemon.zfs("create -p -b 16K -o refreservation=none -V 33554432 tank/k8s/vols/pvc-2").done();
    daemon
        .zfs("set democratic-csi:provision_success=true democratic-csi:volume_context_provisioner_driver=zfs tank/k8s/vols/pvc-1")
        .done();
    let get = "get -Hp -o name,property,value,received,source";
    assert_eq!(
        daemon
            .zfs(&format!("{get} volsize,refquota,democratic-csi:provision_success tank/k8s/vols/pvc-1"))
            .done(),
        "tank/k8s/vols/pvc-1\tvolsize\t-\t-\t-\n\
         tank/k8s/vols/pvc-1\trefquota\t67108864\t-\tlocal\n\
         tank/k8s/vols/pvc-1\tdemocratic-csi:provision_success\ttrue\t-\tlocal\n"
    );
    assert_eq!(
        daemon.zfs("get -Hp -o property,value volblocksize,refreservation tank/k8s/vols/pvc-2").done(),
        "volblocksize\t16384\nrefreservation\t0\n"
    );
    let avail = daemon.zfs(&format!("{get} avail tank/k8s/vols")).done();
    assert!(avail.starts_with("tank/k8s/vols\tavailable\t") && avail.ends_with("\t-\t-\n"), "{avail}");
    let all = daemon.zfs(&format!("{get} all tank/k8s/vols/pvc-1")).done();
    assert!(all.lines().count() > 50 && all.lines().all(|line| line.split('\t').count() == 5), "{all}");
    refused(&daemon.zfs(&format!("{get} all tank/none")), "dataset does not exist");
    daemon.zfs("set volsize=50331648 tank/k8s/vols/pvc-2").done();

    // Snapshots with what is known of them; clones, and copies that depend on nothing.
    daemon
        .zfs("snapshot -o democratic-csi:csi_snapshot_name=s1 -o democratic-csi:csi_snapshot_source_volume_id=pvc-1 tank/k8s/vols/pvc-1@s1")
        .done();
    refused(&daemon.zfs("snapshot tank/k8s/vols/pvc-1@s1"), "dataset already exists");
    refused(&daemon.zfs("snapshot tank/k8s/vols/none@s1"), "dataset does not exist");
    assert_eq!(
        daemon
            .zfs("list -r -Hp -t snapshot,filesystem,volume -o name,democratic-csi:csi_snapshot_name,volsize tank/k8s/vols")
            .done(),
        "tank/k8s/vols\t-\t-\ntank/k8s/vols/pvc-1\t-\t-\ntank/k8s/vols/pvc-1@s1\ts1\t-\n\
         tank/k8s/vols/pvc-2\t-\t50331648\n"
    );
    let referenced = daemon.zfs(&format!("{get} referenced,used,creation tank/k8s/vols/pvc-1@s1")).done();
    assert_eq!(referenced.lines().count(), 3, "{referenced}");
    daemon
        .zfs("clone -o democratic-csi:csi_volume_name=pvc-3 tank/k8s/vols/pvc-1@s1 tank/k8s/vols/pvc-3")
        .done();
    refused(&daemon.zfs("destroy -r -f tank/k8s/vols/pvc-1@s1"), "snapshot has dependent clones");
    refused(&daemon.zfs("destroy -r -f tank/k8s/vols/pvc-1"), "filesystem has dependent clones");
    send(&daemon, &scratch, "tank/k8s/vols/pvc-1@s1", "copy");
    receive(&daemon, &scratch, "receive tank/k8s/vols/pvc-4", "copy").done();
    let ran = receive(&daemon, &scratch, "receive tank/k8s/vols/pvc-4", "copy");
    assert!(ran.err.contains("destination") && ran.err.contains("exists"), "{ran:?}");
    daemon.zfs("destroy -f tank/k8s/vols/pvc-4@%").done();
    assert_eq!(daemon.zfs("list -H -o name -t snapshot -r tank/k8s/vols/pvc-4").done(), "");

    // All of it goes: a snapshot that has a clone when the clone does.
    daemon.zfs("destroy -r -f -d tank/k8s/vols/pvc-1@s1").done();
    let left = daemon.zfs("get -Hp -o value defer_destroy tank/k8s/vols/pvc-1@s1").done();
    assert_eq!(left, "on\n");
    daemon.zfs("destroy -r -f tank/k8s/vols/pvc-3").done();
    refused(&daemon.zfs("get all tank/k8s/vols/pvc-1@s1"), "dataset does not exist");
    refused(&daemon.zfs("destroy tank/k8s/vols"), "filesystem has children");
    for volume in ["pvc-1", "pvc-2", "pvc-4"] {
        daemon.zfs(&format!("destroy -r -f tank/k8s/vols/{volume}")).done();
    }
    refused(&daemon.zfs("destroy -r -f tank/k8s/vols/pvc-1"), "dataset does not exist");
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
