//! What was mounted is mounted again by the next start, after a clean stop and after kill -9, whose
//! mounts the kernel keeps.

use std::fs;
use std::path::Path;

use crate::daemon::{Daemon, Scratch, detach, text};
use crate::suspended::until;
use crate::zdb::stop_and_check;

/// Dataset, mount point and options as `mount` shows them.
fn shown(at: &Path) -> Vec<String> {
    let all = fs::read_to_string("/proc/self/mounts").expect("it is there");
    let of_it = all.lines().filter(|line| line.split(' ').nth(1) == Some(&text(at)));
    of_it.map(|line| line.split(' ').nth(3).expect("options").to_owned()).collect()
}

/// Nobody serves it. Who asks while its connection ends hears that it was cut, or cancelled.
#[track_caller]
fn is_dead(at: &Path) {
    let error = || fs::metadata(at).expect_err("nobody serves it").raw_os_error();
    until("the end of the connection", || !matches!(error(), Some(libc::ECONNABORTED | libc::ECANCELED)));
    assert_eq!(error(), Some(libc::ENOTCONN));
}

#[test]
fn what_was_mounted_is_mounted_again_and_what_a_killed_daemon_left_is_taken_away() {
    let scratch = Scratch::new("remount");
    let mut daemon = Daemon::start(&scratch);
    let (a, mnt) = (scratch.image("a", 256), scratch.path("mnt"));
    daemon.zpool(&format!("create -m {} tank {a}", text(&mnt))).done();
    for name in ["tank/fs", "tank/fs/below", "tank/other"] {
        daemon.zfs(&format!("create {name}")).done();
    }
    let tab = format!("mountpoint={}", text(&mnt.join("g\ttab")));
    daemon.run(&["zfs", "create", "-o", &tab, "tank/gone"]).done();
    // The kernel knows this one by another name than its property says.
    let real = scratch.folder("real");
    std::os::unix::fs::symlink(&real, scratch.path("link")).expect("made");
    daemon.zfs(&format!("create -o mountpoint={} tank/link", text(&scratch.path("link")))).done();
    daemon.zfs("mount tank/link").done();
    daemon.zfs("mount tank/fs").done();
    daemon.zfs("mount -o noatime,ro tank/fs/below").done();
    daemon.zfs("mount tank/other").done();
    daemon.zfs("mount tank/gone").done();
    let (fs_at, below, other) = (mnt.join("fs"), mnt.join("fs/below"), mnt.join("other"));
    fs::write(fs_at.join("file"), "kept").expect("written");
    fs::File::open(fs_at.join("file")).and_then(|file| file.sync_all()).expect("durable");
    daemon.zfs("unmount tank/other").done();

    for killed in [false, true] {
        if killed {
            daemon.kill();
            is_dead(&fs_at);
        } else {
            daemon.stop();
        }
        daemon.begin();
        let mounted = daemon.zfs("mount").done();
        let found: Vec<&str> = mounted.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(
            found,
            ["tank/fs", "tank/fs/below", "tank/gone", "tank/link"],
            "killed: {killed}\n{}",
            daemon.log()
        );
        assert_eq!(fs::read_to_string(fs_at.join("file")).expect("read"), "kept");
        assert!(matches!(&shown(&below)[..], [one] if one.starts_with("ro,") && one.contains("noatime")));
        assert_eq!((shown(&fs_at).len(), shown(&other).len()), (1, 0), "one mount each");
        assert_eq!(shown(&real).len(), 1);
        // The options last as long as the mount, which this is no other.
        assert!(
            daemon.zfs("get -H -o value,source atime tank/fs/below").done().starts_with("off\ttemporary")
        );
    }

    // What is no more, or was unmounted by somebody else, is not mounted again: the list follows by
    // itself.
    daemon.zfs("destroy tank/gone").done();
    detach(&below);
    let list = || fs::read_to_string(scratch.path("state/mounts")).expect("it is there");
    until("an unmount by somebody else", || !list().contains("tank/fs/below"));
    daemon.kill();
    daemon.begin();
    assert_eq!(daemon.zfs("mount").done().lines().count(), 2, "{}", daemon.log());
    assert_eq!((shown(&fs_at).len(), shown(&below).len()), (1, 0));
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// Who is told to end mounts no more, and forgets none of what it has not come to.
#[test]
fn the_end_does_not_wait_for_what_is_to_be_mounted_again() {
    const ALL: usize = 40;
    let scratch = Scratch::new("remount-end");
    let mut daemon = Daemon::start(&scratch);
    let (a, mnt) = (scratch.image("a", 256), scratch.path("mnt"));
    daemon.zpool(&format!("create -m {} tank {a}", text(&mnt))).done();
    for number in 0..ALL {
        daemon.zfs(&format!("create tank/fs{number}")).done();
        daemon.zfs(&format!("mount tank/fs{number}")).done();
    }
    let made = |daemon: &Daemon| daemon.log().matches("fuse::mount: mounted").count();
    daemon.stop();
    let before = made(&daemon);
    loop {
        let _banner = daemon.spawn();
        until("some of the mounts", || made(&daemon) > before);
        daemon.signal("-STOP");
        let some = made(&daemon) - before;
        if some < ALL / 2 {
            break;
        }
        // Nearly all were there when it was stopped: once more.
        daemon.signal("-CONT");
        daemon.stop();
    }
    daemon.signal("-INT");
    daemon.signal("-CONT");
    daemon.has_stopped();
    assert!(made(&daemon) < before + ALL, "{}", daemon.log());
    assert!(!daemon.log().contains("ERROR"), "{}", daemon.log());
    daemon.begin();
    assert_eq!(daemon.zfs("mount").done().lines().count(), ALL);
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn a_dead_mount_that_nobody_remembers_gives_way_to_a_new_one() {
    let scratch = Scratch::new("remount-dead");
    let mut daemon = Daemon::start_with(&scratch, "state", &["--automount"]);
    let (a, mnt) = (scratch.image("a", 256), scratch.path("mnt"));
    daemon.zpool(&format!("create -m {} tank {a}", text(&mnt))).done();
    daemon.zfs("create tank/fs").done();
    daemon.zfs("create -o canmount=noauto tank/hand").done();
    daemon.zfs("mount tank/hand").done();
    daemon.kill();
    is_dead(&mnt);
    fs::remove_file(scratch.path("state/mounts")).expect("removed");
    daemon.begin();
    // By itself, for so it is wanted; by hand what is not.
    assert_eq!((shown(&mnt).len(), shown(&mnt.join("fs")).len()), (1, 1), "{}", daemon.log());
    assert_eq!(shown(&mnt.join("hand")).len(), 0);
    fs::write(mnt.join("fs/file"), "here").expect("written");
    daemon.zfs("mount tank/hand").done();

    // A clean restart mounts both, and a pool that is not there now is waited for.
    daemon.stop();
    let (disk, away) = (scratch.path("disks/a.img"), scratch.path("away"));
    fs::rename(&disk, &away).expect("moved");
    daemon.begin();
    assert_eq!(daemon.zfs("mount").done(), "");
    daemon.stop();
    fs::rename(&away, &disk).expect("moved");
    daemon.begin();
    assert_eq!(daemon.zfs("mount").done().lines().count(), 3, "{}", daemon.log());
    assert_eq!(fs::read_to_string(mnt.join("fs/file")).expect("read"), "here");
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
