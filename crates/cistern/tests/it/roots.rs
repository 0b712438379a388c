//! Snapshots and bookmarks of a pool's root dataset, whose names have no slash: every command that
//! takes one does to it what it does to others.

use std::fs;

use crate::daemon::{Daemon, PROGRAM, Ran, Scratch, program};
use crate::zdb::stop_and_check;

fn points(daemon: &Daemon) -> String {
    daemon.zfs("list -H -o name -t snapshot,bookmark -r tank").done().replace('\n', " ")
}

#[test]
fn snapshots_of_a_root_are_destroyed_held_renamed_cloned_and_sent() {
    let scratch = Scratch::new("roots");
    let mut daemon = Daemon::start(&scratch);
    let (a, at) = (scratch.image("a", 256), scratch.text("tank"));
    daemon.zpool(&format!("create -m {at} tank {a}")).done();
    daemon.zfs("mount tank").done();
    daemon.zfs("create -o canmount=off tank/fs").done();
    let file = scratch.path("tank/file");
    let old = "tank@a tank@b tank@c tank@d ";
    fs::write(&file, "first").expect("written");
    for name in ["a", "b", "c", "d"] {
        daemon.zfs(&format!("snapshot tank@{name}")).done();
    }
    assert_eq!(points(&daemon), old);

    // One, a range, a list, and of all datasets; each is gone when the command says so.
    assert_eq!(daemon.zfs("destroy -nv tank@a").done().lines().next(), Some("would destroy tank@a"));
    assert_eq!(points(&daemon), old);
    daemon.zfs("destroy tank@a").done();
    assert_eq!(points(&daemon), "tank@b tank@c tank@d ");
    daemon.zfs("destroy tank@b%c").done();
    assert_eq!(points(&daemon), "tank@d ");
    daemon.zfs("snapshot tank@e").done();
    daemon.zfs("destroy tank@d,e").done();
    daemon.zfs("snapshot -r tank@all").done();
    assert_eq!(points(&daemon), "tank@all tank/fs@all ");
    daemon.zfs("destroy -r tank@all").done();
    assert_eq!(points(&daemon), "");

    // Holds, and what is put off until they are gone.
    daemon.zfs("snapshot -r tank@held").done();
    daemon.zfs("hold -r keep tank@held").done();
    assert_eq!(daemon.zfs("holds -H -r tank@held").done().lines().count(), 2);
    let busy = daemon.zfs("destroy tank@held");
    let held =
        "cannot destroy snapshot tank@held: it's being held. Run 'zfs holds -r tank@held' to see holders.\n";
    assert_eq!((busy.status, &*busy.err), (1, held));
    daemon.zfs("destroy -d -r tank@held").done();
    assert_eq!(daemon.zfs("get -H -o value defer_destroy tank@held").done(), "on\n");
    daemon.zfs("release -r keep tank@held").done();
    assert_eq!(points(&daemon), "");

    // Renamed alone and with those below, compared, rolled back to.
    daemon.zfs("snapshot -r tank@one").done();
    daemon.zfs("rename tank@one two").done();
    assert_eq!(points(&daemon), "tank@two tank/fs@one ");
    daemon.zfs("rename tank@two @one").done();
    daemon.zfs("rename -r tank@one tank@three").done();
    assert_eq!(points(&daemon), "tank@three tank/fs@three ");
    fs::write(&file, "second").expect("written");
    daemon.zfs("snapshot tank@four").done();
    assert_eq!(daemon.zfs("diff -H tank@three tank@four").done(), format!("M\t{at}/file\n"));
    daemon.zfs("rollback -r tank@three").done();
    assert_eq!(fs::read_to_string(&file).expect("read"), "first");
    assert_eq!(points(&daemon), "tank@three tank/fs@three ");

    // Bookmarks come and go, and stand in for what was sent.
    daemon.zfs("bookmark tank@three tank#mark").done();
    daemon.zfs("bookmark tank#mark #second").done();
    assert_eq!(points(&daemon), "tank@three tank#mark tank#second tank/fs@three ");
    daemon.zfs("destroy tank#second").done();
    let gone = daemon.zfs("destroy tank#second");
    assert_eq!((gone.status, &*gone.err), (1, "bookmark 'tank#second' does not exist.\n"));
    assert_eq!(points(&daemon), "tank@three tank#mark tank/fs@three ");
    fs::write(&file, "third").expect("written");
    daemon.zfs("snapshot tank@five").done();
    let stream = scratch.text("stream");
    let through = |daemon: &Daemon, send: &str, receive: &str| {
        let shell =
            format!("{PROGRAM} zfs send {send} > {stream} && {PROGRAM} zfs receive {receive} < {stream}");
        Ran::of(program("sh", 60).args(["-c", &shell]).env("CISTERN_SOCKET", daemon.socket())).done();
    };
    through(&daemon, "tank@three", "tank/copy");
    through(&daemon, "-i tank#mark tank@five", "tank/copy");
    assert_eq!(
        daemon.zfs("list -H -o name -t snapshot tank/copy").done(),
        "tank/copy@three\ntank/copy@five\n"
    );

    // A clone stands in the way, or goes along, with the snapshots below of the same name.
    daemon.zfs("clone tank@five tank/clone").done();
    let kept = daemon.zfs("destroy tank@five");
    assert_eq!(kept.status, 1, "{kept:?}");
    assert!(
        kept.err.starts_with("cannot destroy 'tank@five': snapshot has dependent clones\n"),
        "{}",
        kept.err
    );
    daemon.zfs("destroy -R tank@five").done();
    assert_eq!(points(&daemon), "tank@three tank#mark tank/copy@three tank/fs@three ");

    // And everything but the root itself.
    daemon.zfs("destroy -r tank").done();
    assert_eq!(points(&daemon), "tank#mark ");
    assert_eq!(daemon.zfs("list -H -o name -r tank").done(), "tank\n");
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
