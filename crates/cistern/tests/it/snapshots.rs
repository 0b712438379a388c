//! Snapshots as a user has them: taken, looked into over NFS and through a local mount, rolled back
//! to under both, cloned, held and destroyed, in OpenZFS's words.

use std::fs;

use crate::daemon::{Daemon, Scratch};
use crate::libnfs::Client;
use crate::zdb::stop_and_check;

#[track_caller]
fn refused(daemon: &Daemon, line: &str, message: &str) {
    let ran = daemon.zfs(line);
    assert!(ran.status == 1 && ran.err.trim_end() == message, "{line}: {ran:?}");
}

#[test]
fn snapshots_are_seen_rolled_back_to_cloned_held_and_destroyed() {
    let scratch = Scratch::new("snapshots");
    let mut daemon = Daemon::start(&scratch);
    let a = scratch.image("a", 256);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    let at = scratch.text("fs");
    daemon.zfs(&format!("create -o mountpoint={at} -o sharenfs=rw,no_root_squash,insecure tank/fs")).done();
    daemon.zfs("create tank/fs/below").done();
    let client = Client::mount(&daemon, &at).expect("mounted");
    client.write_file("/file", 0o644, b"first").expect("written");
    daemon.zfs("snapshot -r -o test:who=me tank/fs@one").done();
    assert_eq!(daemon.zfs("get -H -o value,source test:who tank/fs@one").done(), "me\tlocal\n");
    client.write_file("/file", 0o644, b"later").expect("written");
    client.write_file("/new", 0o644, b"new").expect("written");
    daemon.zfs("snapshot tank/fs@two").done();
    let listed = daemon.zfs("list -H -t snapshot -o name -r tank").done();
    assert_eq!(listed, "tank/fs@one\ntank/fs@two\ntank/fs/below@one\n");

    // Over NFS, by a client that knew the file system before, and one that mounts the snapshot
    // itself.
    assert_eq!(client.read_file("/.zfs/snapshot/one/file").expect("read"), b"first");
    assert_eq!(client.read_file("/.zfs/snapshot/two/file").expect("read"), b"later");
    let names: Vec<Vec<u8>> =
        client.list("/.zfs/snapshot").expect("listed").into_iter().map(|entry| entry.name).collect();
    assert!([&b"one"[..], b"two"].iter().all(|name| names.contains(&name.to_vec())), "{names:?}");
    let mut inside: Vec<Vec<u8>> =
        client.list("/.zfs").expect("listed").into_iter().map(|entry| entry.name).collect();
    inside.retain(|name| !name.starts_with(b"."));
    inside.sort_unstable();
    assert_eq!(inside, [&b"shares"[..], b"snapshot"]);
    assert!(client.list("/.zfs/shares").expect("listed").iter().all(|entry| entry.name.starts_with(b".")));
    assert!(client.write_file("/.zfs/snapshot/one/file", 0o644, b"x").is_err());
    let inside = Client::mount(&daemon, &format!("{at}/.zfs/snapshot/one")).expect("mounted");
    assert_eq!(inside.read_file("/file").expect("read"), b"first");
    assert!(inside.read_file("/new").is_err());

    // The same through a local mount, where it can be listed too.
    daemon.zfs("set snapdir=visible tank/fs").done();
    daemon.zfs("mount tank/fs").done();
    let local = scratch.path("fs");
    let seen: Vec<_> =
        fs::read_dir(&local).expect("listed").map(|entry| entry.expect("read").file_name()).collect();
    assert!(seen.iter().any(|name| name == ".zfs"), "{seen:?}");
    assert_eq!(fs::read(local.join(".zfs/snapshot/one/file")).expect("read"), b"first");
    let count = fs::read_dir(local.join(".zfs/snapshot")).expect("listed").count();
    assert_eq!(count, 2);
    assert!(fs::write(local.join(".zfs/snapshot/one/file"), b"x").is_err());

    // What is younger stands in the way; then both see the old state, the client under the same
    // handle.
    refused(
        &daemon,
        "rollback tank/fs@one",
        "cannot rollback to 'tank/fs@one': more recent snapshots or bookmarks exist\n\
         use '-r' to force deletion of the following snapshots and bookmarks:\ntank/fs@two",
    );
    daemon.zfs("rollback -r tank/fs@one").done();
    assert_eq!(client.read_file("/file").expect("read"), b"first");
    assert_eq!(fs::read(local.join("file")).expect("read"), b"first");
    client.write_file("/file", 0o644, b"again").expect("written");

    assert!(!daemon.zfs("list -H -o name").done().contains('@'));
    daemon.zpool("set listsnapshots=on tank").done();
    assert!(daemon.zfs("list -H -o name").done().contains("tank/fs\ntank/fs@one\n"));
    assert!(!daemon.zfs("list -H -o space -r tank").done().contains('@'));
    assert_eq!(daemon.zfs("list -H -o name tank/fs").done(), "tank/fs\n");
    daemon.zpool("set listsnapshots=off tank").done();
    daemon.zfs("hold keep tank/fs@one").done();
    refused(
        &daemon,
        "destroy tank/fs@one",
        "cannot destroy snapshot tank/fs@one: it's being held. Run 'zfs holds -r tank/fs@one' to see holders.",
    );
    assert!(daemon.zfs("holds -H tank/fs@one").done().starts_with("tank/fs@one\tkeep\t"));
    daemon.zfs("release keep tank/fs@one").done();
    daemon.zfs("clone -u tank/fs@one tank/clone").done();
    assert_eq!(daemon.zfs("get -H -o value origin tank/clone").done(), "tank/fs@one\n");
    refused(
        &daemon,
        "destroy tank/fs@one",
        "cannot destroy 'tank/fs@one': snapshot has dependent clones\n\
         use '-R' to destroy the following datasets:\ntank/clone",
    );
    let shown = daemon.zfs("destroy -Rnp tank/fs@one").done();
    let [one, below, reclaim, clone] = shown.lines().collect::<Vec<_>>()[..] else { panic!("{shown}") };
    assert_eq!((one, below), ("destroy\ttank/fs@one", "destroy\ttank/fs/below@one"));
    assert_eq!(
        (reclaim.split_once('\t').map(|(word, _)| word), clone),
        (Some("reclaim"), "destroy\ttank/clone")
    );
    daemon.zfs("promote tank/clone").done();
    assert_eq!(daemon.zfs("get -H -o value origin tank/fs").done(), "tank/clone@one\n");
    daemon.zfs("rename tank/clone@one uno").done();
    daemon.zfs("snapshot tank/clone@dos").done();
    assert_eq!(daemon.zfs("bookmark tank/clone@dos #mark").done(), "");
    refused(
        &daemon,
        "snapshot tank/clone@dos",
        "cannot create snapshot 'tank/clone@dos': dataset already exists",
    );
    refused(
        &daemon,
        "destroy tank/clone@nothing",
        "could not find any snapshots to destroy; check snapshot names.",
    );
    let shown = daemon.zfs("destroy -nvp tank/clone@dos%dos").done();
    assert!(shown.starts_with("destroy\ttank/clone@dos\nreclaim\t"), "{shown}");
    daemon.zfs("destroy tank/clone@dos").done();
    daemon.zfs("destroy -R tank/clone@uno").done();
    assert_eq!(daemon.zfs("list -H -t all -o name -r tank").done(), "tank\ntank/clone\ntank/clone#mark\n");
    drop((client, inside));
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn snapshots_of_a_tree_are_held_renamed_and_destroyed_together() {
    let scratch = Scratch::new("snapshots-tree");
    let mut daemon = Daemon::start(&scratch);
    let a = scratch.image("a", 256);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    let at = scratch.text("fs");
    let options = "-o copies=3 -o compression=off -o sharenfs=rw,no_root_squash,insecure";
    daemon.zfs(&format!("create {options} -o mountpoint={at} tank/fs")).done();
    daemon.zfs("create tank/fs/below").done();
    let client = Client::mount(&daemon, &at).expect("mounted");
    daemon.zfs("snapshot -r tank/fs@one").done();
    client.write_file("/file", 0o644, &[7; 1 << 20]).expect("written");
    daemon.zpool("sync tank").done();
    let used = daemon.zfs("get -Hp -o value usedbydataset tank/fs").done();
    assert!(used.trim_end().parse::<u64>().is_ok_and(|used| used >= 3 << 20), "{used}");

    // When something changed is told beside what did.
    let lines = |line: &str| daemon.zfs(line).done().lines().map(str::to_owned).collect::<Vec<_>>();
    let (plain, timed) = (lines("diff -F tank/fs@one"), lines("diff -Ft tank/fs@one"));
    assert!(plain.contains(&format!("+\tF\t{at}/file")), "{plain:?}");
    let timed: Vec<_> = timed.iter().map(|line| line.split_once('\t').expect("two columns")).collect();
    let is_time = |time: &str| {
        let (seconds, nanos) = time.split_once('.').expect("a fraction");
        seconds.parse::<u64>().is_ok_and(|seconds| seconds > 1_700_000_000) && nanos.len() == 9
    };
    assert!(timed.iter().all(|(time, _)| is_time(time)), "{timed:?}");
    assert_eq!(timed.iter().map(|(_, rest)| *rest).collect::<Vec<_>>(), plain);

    let snapshots = || daemon.zfs("list -H -t snapshot -o name -r tank").done();
    daemon.zfs("hold -r keep tank/fs@one").done();
    assert_eq!(lines("holds -rH tank/fs@one").len(), 2);
    daemon.zfs("rename -r tank/fs@one @uno").done();
    assert_eq!(snapshots(), "tank/fs@uno\ntank/fs/below@uno\n");
    // Whoever holds them keeps them for as long as that, and no longer.
    daemon.zfs("destroy -d -r tank/fs@uno").done();
    let shown = daemon.zfs("get -H -o value defer_destroy,userrefs tank/fs@uno tank/fs/below@uno").done();
    assert_eq!(shown, "on\n1\non\n1\n");
    daemon.zfs("release keep tank/fs@uno").done();
    assert_eq!(snapshots(), "tank/fs/below@uno\n");
    daemon.zfs("release -r keep tank/fs/below@uno").done();
    assert_eq!(snapshots(), "");
    drop(client);
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn a_snapshot_that_was_destroyed_is_gone_from_a_mount_at_once() {
    let scratch = Scratch::new("snapshot-gone");
    let mut daemon = Daemon::start(&scratch);
    let at = scratch.folder("mount");
    daemon.zpool(&format!("create -m none tank {}", scratch.image("a", 128))).done();
    daemon.zfs(&format!("create -o mountpoint={} tank/fs", at.display())).done();
    daemon.zfs("mount tank/fs").done();
    let place = at.join(".zfs/snapshot/one");
    for _ in 0..3 {
        assert!(!place.exists());
        daemon.zfs("snapshot tank/fs@one").done();
        assert!(place.exists());
        assert_eq!(std::fs::read_dir(place.parent().expect("a folder")).expect("listed").count(), 1);
        daemon.zfs("destroy tank/fs@one").done();
    }
    daemon.zfs("unmount tank/fs").done();
    daemon.stop();
}
