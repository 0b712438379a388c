//! Numbers that are turned while the daemon runs have an effect from then on: `cistern tunable`.

use crate::daemon::{Daemon, Ran, Scratch};
use crate::zdb::stop_and_check;

fn tunable(daemon: &Daemon, line: &str) -> Ran {
    let words: Vec<&str> = ["tunable"].into_iter().chain(line.split(' ')).collect();
    daemon.run(&words)
}

#[test]
fn a_tunable_has_an_effect_at_once_and_bad_ones_are_refused() {
    let scratch = Scratch::new("tunables");
    let mut daemon = Daemon::start(&scratch);
    assert!(tunable(&daemon, "get -H zfs_txg_timeout").done().starts_with("zfs_txg_timeout\t5\t5\t"));
    let listed = tunable(&daemon, "list").done();
    assert!(listed.starts_with("NAME ") && listed.contains("\nl2arc_write_max "), "{listed}");
    for (line, status, words) in [
        ("get zfs_nothing", 1, "no tunable 'zfs_nothing'"),
        ("set zfs_nothing=1", 1, "no tunable 'zfs_nothing'"),
        ("set zfs_txg_timeout=0", 1, "zfs_txg_timeout cannot be 0"),
        ("set zfs_txg_timeout=long", 1, "'long' is not a number"),
        ("set zfs_txg_timeout", 2, "not NAME=VALUE"),
        ("turn", 2, "unrecognized command 'turn'"),
    ] {
        let refused = tunable(&daemon, line);
        assert_eq!(refused.status, status, "{line}: {refused:?}");
        assert!(refused.err.contains(words), "{line}: {refused:?}");
    }

    // What sets no compression is not compressed: that is the default then, and said to be one.
    let image = scratch.image("a", 128);
    daemon.zpool(&format!("create -m none tank {image}")).done();
    tunable(&daemon, "set default_compression=0").done();
    daemon.zfs("create tank/plain").done();
    assert_eq!(daemon.zfs("get -H -o value,source compression tank/plain").done(), "off\tdefault\n");

    // A scrub stands still, and goes on.
    tunable(&daemon, "set zfs_scan_suspend_progress=1").done();
    daemon.zpool("scrub tank").done();
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(daemon.zpool("status tank").done().contains("scrub in progress"));
    tunable(&daemon, "set zfs_scan_suspend_progress=0x0").done();
    daemon.zpool("wait -t scrub tank").done();

    // Blocks are broken into gangs, which zdb can read.
    tunable(&daemon, "set metaslab_force_ganging=4096").done();
    daemon.zfs("snapshot tank/plain@gangs").done();
    daemon.zpool("sync tank").done();
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");

    // A restart forgets what was set.
    daemon.begin();
    assert!(tunable(&daemon, "get -H metaslab_force_ganging").done().contains("\t16777217\t16777217\t"));
}
