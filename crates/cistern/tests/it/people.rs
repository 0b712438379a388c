//! What people meet: what is said and what is not, signals, logs, versions.

use std::process::Command;
use std::time::Duration;

use crate::daemon::{Daemon, PROGRAM, Ran, Scratch, program};
use crate::suspended::until;

#[test]
fn commands_say_what_openzfs_says_and_no_more() {
    let scratch = Scratch::new("words");
    let daemon = Daemon::start(&scratch);
    let (a, b) = (scratch.image("a", 128), scratch.image("b", 128));
    let made = daemon.zpool(&format!("create -m none tank mirror {a} {b}"));
    assert_eq!(made, Ran { status: 0, out: String::new(), err: String::new() });
    let removed = daemon.zpool("remove tank mirror-0");
    let why = "cannot remove mirror-0: removing data vdevs is not supported by this version of Cistern yet\n";
    assert_eq!((removed.status, &*removed.err), (1, why));
    // A file where a folder would have to be made.
    let taken = scratch.text("taken");
    std::fs::write(&taken, "x").expect("written");
    daemon.zfs(&format!("create -o mountpoint={taken}/below tank/fs")).done();
    let refused = daemon.zfs("mount tank/fs");
    let why = format!("cannot mount 'tank/fs': {taken}/below: Not a directory\n");
    assert_eq!((refused.status, &*refused.err), (1, &*why));
}

#[test]
fn a_version_is_told() {
    let version = Ran::of(program(PROGRAM, 20).arg("--version")).done();
    let number = version.trim_end().strip_prefix("cistern ").expect("a name");
    assert_eq!(number, env!("CARGO_PKG_VERSION"));
    assert_ne!(number, "0.0.0");
    let scratch = Scratch::new("version");
    let daemon = Daemon::start(&scratch);
    let told = format!("zfs-2.3.0-cistern-{number}\ncistern-daemon-{number}\n");
    assert_eq!((daemon.zpool("version").done(), daemon.zfs("--version").done()), (told.clone(), told));
}

#[test]
fn a_groups_of_its_own_and_events_come_when_asked_for() {
    let scratch = Scratch::new("sync-clear");
    let daemon = Daemon::start(&scratch);
    let a = scratch.image("a", 128);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zpool("sync tank").done();
    let group = || {
        let listing = daemon.zpool("status -j tank").done();
        let (_, rest) = listing.split_once("\"txg\":\"").expect("a group");
        rest.split('"').next().and_then(|number| number.parse::<u64>().ok()).expect("a number")
    };
    // Until nothing of the making is left.
    until("quiet", || {
        let before = group();
        std::thread::sleep(Duration::from_millis(300));
        group() == before
    });
    let before = group();
    daemon.zpool("sync tank").done();
    assert_eq!(group(), before);
    daemon.zpool("sync -f tank").done();
    assert!(group() > before);

    // Each clear is an event, whether there was something to clear or not.
    daemon.zpool("events -c").done();
    for _ in 0..3 {
        daemon.zpool("clear tank").done();
    }
    let events = daemon.zpool("events -H").done();
    let classes: Vec<&str> = events.lines().filter_map(|line| line.split('\t').nth(1)).collect();
    assert_eq!(classes, ["sysevent.fs.zfs.config_sync"; 3]);
}

#[test]
fn a_feature_is_active_as_soon_as_it_is_asked_for() {
    let scratch = Scratch::new("active");
    let daemon = Daemon::start(&scratch);
    let a = scratch.image("a", 128);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    let state = |name: &str| daemon.zpool(&format!("get -H -o value feature@{name} tank")).done();
    assert_eq!((state("zstd_compress").trim(), state("skein").trim()), ("enabled", "enabled"));
    daemon.zfs("create -o compression=zstd-7 -o checksum=skein tank/fs").done();
    assert_eq!((state("zstd_compress").trim(), state("skein").trim()), ("active", "active"));
    daemon.zfs("create tank/later").done();
    daemon.zfs("set compression=zstd-fast tank/later").done();
    daemon.zfs("destroy tank/fs").done();
    assert_eq!(state("zstd_compress"), "active\n");
    // It is in use once, however often it is asked for.
    daemon.zfs("set compression=zstd tank/later").done();
    daemon.zfs("destroy tank/later").done();
    assert_eq!(state("zstd_compress"), "enabled\n");
}

#[test]
fn a_daemon_logs_what_it_is_told_and_outlives_its_terminal() {
    let scratch = Scratch::new("logs");
    for filter in ["blah", "info,nfs=loud"] {
        let mut serve = program(PROGRAM, 20);
        let ran = Ran::of(
            serve
                .args(["serve", "--nfs", "off", "--https", "off", "--log", filter, "--state"])
                .arg(scratch.path("no")),
        );
        assert!(ran.status == 2 && ran.err.contains("is no level: write off, error,"), "{filter}: {ran:?}");
    }
    let mut daemon = Daemon::start(&scratch);
    let log = |words: &[&str]| daemon.run(&[&["log"], words].concat());
    assert_eq!(log(&[]).done(), "info\n");
    let wrong = log(&["blah"]);
    assert!(wrong.status == 1 && wrong.err.contains("'blah' is no level"), "{wrong:?}");
    assert_eq!(log(&["info,fuse=debug"]).done(), "info,fuse=debug\n");
    assert_eq!(log(&["off"]).done(), "off\n");
    let before = daemon.log();
    let a = scratch.image("a", 128);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    assert_eq!(daemon.log(), before, "nothing is logged");
    Command::new("kill").args(["-HUP", &daemon.pid().to_string()]).status().expect("kill");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(daemon.zpool("list -H -o name").done(), "tank\n");
    daemon.stop();
}
