//! `zfs mount`, `unmount`, `share`, `unshare`, and what other commands do to mounts.

use crate::fake::FakeEngine;
use crate::{Daemon, refused, said};

#[test]
fn mount_and_unmount() {
    let daemon = Daemon::with_tank();
    assert_eq!(daemon.zfs("create tank/a"), said(""));
    assert_eq!(
        daemon.zfs("mount"),
        said("tank                            /tank\ntank/a                          /tank/a\n")
    );
    assert_eq!(daemon.zfs("mount tank/a"), refused("cannot mount 'tank/a': filesystem already mounted"));
    assert_eq!(daemon.zfs("unmount /tank/a"), said(""));
    assert_eq!(daemon.zfs("get -H -o value mounted tank/a"), said("no\n"));
    assert_eq!(daemon.zfs("umount tank/a"), refused("cannot unmount 'tank/a': not currently mounted"));
    assert_eq!(daemon.zfs("unmount /nowhere"), refused("cannot unmount '/nowhere': not a mountpoint"));
    assert_eq!(daemon.zfs("mount tank/no"), refused("cannot open 'tank/no': dataset does not exist"));
    daemon.mounts.full.lock().expect("unpoisoned").push("/tank/a".into());
    // A directory with entries is mounted over, unless that is not wanted.
    assert_eq!(daemon.zfs("mount tank/a"), said(""));
    assert_eq!(daemon.zfs("unmount tank/a"), said(""));
    assert_eq!(daemon.zfs("set overlay=off tank/a"), said(""));
    assert_eq!(daemon.zfs("mount tank/a"), refused("cannot mount '/tank/a': directory is not empty"));
    assert_eq!(daemon.zfs("mount -O -o ro,noatime tank/a"), said(""));
    assert_eq!(daemon.zfs("unmount -a"), said(""));
    assert_eq!(daemon.mounts.list(), [""; 0]);
    assert_eq!(daemon.zfs("mount -a"), refused("cannot mount '/tank/a': directory is not empty"));
    assert_eq!(
        daemon.zfs("mount -j"),
        said(
            "{\"output_version\":{\"command\":\"zfs mount\",\"vers_major\":0,\"vers_minor\":1},\"datasets\":{\
             \"tank\":{\"filesystem\":\"tank\",\"mountpoint\":\"/tank\"}}}\n"
        )
    );
    assert_eq!(daemon.zfs("unmount").status, 2);
    assert_eq!(daemon.zfs("mount -a tank").status, 2);
}

#[test]
fn a_mount_follows_its_property() {
    let daemon = Daemon::with_tank();
    assert_eq!(daemon.zfs("create tank/a"), said(""));
    assert_eq!(daemon.zfs("set mountpoint=/srv/a tank/a"), said(""));
    assert_eq!(daemon.mounts.list(), ["tank /tank", "tank/a /srv/a"]);
    assert_eq!(daemon.zfs("set -u mountpoint=/srv/b tank/a"), said(""));
    assert_eq!(daemon.mounts.list(), ["tank /tank", "tank/a /srv/a"]);
    assert_eq!(daemon.zfs("set canmount=off tank/a"), said(""));
    assert_eq!(daemon.mounts.list(), ["tank /tank"]);
    assert_eq!(
        daemon.zfs("mount tank/a"),
        refused("cannot mount 'tank/a': 'canmount' property is set to 'off'")
    );
    assert_eq!(daemon.zfs("set mountpoint=legacy canmount=on tank/a"), said(""));
    assert_eq!(
        daemon.zfs("mount tank/a"),
        refused("cannot mount 'tank/a': legacy mountpoint\nuse mount(8) to mount this filesystem")
    );
    assert_eq!(daemon.mounts.list(), ["tank /tank"]);
    assert_eq!(daemon.zfs("set mountpoint=/srv/c tank/a"), said(""));
    assert_eq!(daemon.mounts.list(), ["tank /tank", "tank/a /srv/c"]);
    assert_eq!(daemon.zfs("set mountpoint=none tank/a"), said(""));
    assert_eq!(daemon.zfs("mount tank/a"), refused("cannot mount 'tank/a': no mountpoint set"));
}

#[test]
fn what_somebody_unmounted_stays_unmounted() {
    let daemon = Daemon::with_tank();
    assert_eq!(daemon.zfs("create -p tank/a/b"), said(""));
    assert_eq!(daemon.zfs("unmount tank/a/b"), said(""));
    assert_eq!(daemon.zfs("create -p tank/a/c/d"), said(""));
    assert_eq!(daemon.zfs("rename tank/a tank/z"), said(""));
    assert_eq!(daemon.zfs("set mountpoint=/srv tank/z/b"), said(""));
    assert_eq!(
        daemon.mounts.list(),
        ["tank /tank", "tank/z /tank/z", "tank/z/c /tank/z/c", "tank/z/c/d /tank/z/c/d"]
    );
}

#[test]
fn busy_mounts_hold_a_pool_and_come_back() {
    let daemon = Daemon::with_tank();
    assert_eq!(daemon.zfs("create tank/a"), said(""));
    daemon.mounts.busy.lock().expect("unpoisoned").push("/tank".into());
    assert_eq!(daemon.zpool("export tank"), refused("cannot unmount '/tank': pool or dataset is busy"));
    assert_eq!(daemon.mounts.list(), ["tank /tank", "tank/a /tank/a"]);
    assert_eq!(
        daemon.zpool("destroy tank"),
        refused(
            "cannot unmount '/tank': pool or dataset is busy\n\
             could not destroy 'tank': could not unmount datasets"
        )
    );
    assert_eq!(
        daemon.zpool("export -f tank"),
        refused("cannot unmount '/tank': pool or dataset is busy"),
        "force takes it from nobody"
    );
    daemon.mounts.busy.lock().expect("unpoisoned").clear();
    assert_eq!(daemon.zpool("export -f tank"), said(""));
}

#[test]
fn a_directory_in_the_way_is_told_and_the_file_system_is_there() {
    let daemon = Daemon::with_tank();
    daemon.mounts.full.lock().expect("unpoisoned").push("/tank/a".into());
    let ran = daemon.zfs("create -o overlay=off tank/a");
    assert_eq!(ran.status, 1);
    assert_eq!(
        ran.err,
        "filesystem successfully created, but not mounted\ncannot mount '/tank/a': directory is not empty\n"
    );
    assert_eq!(daemon.zfs("list -H -o name tank/a"), said("tank/a\n"));
}

#[test]
fn a_pool_is_not_made_over_what_lies_at_its_mount_point() {
    let daemon = Daemon::start(FakeEngine::default());
    let disk = daemon.file("a.img");
    daemon.mounts.full.lock().expect("unpoisoned").extend([
        "/full".into(),
        "/tank".into(),
        "/alt/tank".into(),
    ]);
    let hint = "use '-m' option to provide a different default";
    for (line, at) in
        [("-m /full", "/full"), ("-f -m /full", "/full"), ("", "/tank"), ("-R /alt", "/alt/tank")]
    {
        let ran = daemon.zpool(&format!("create {line} tank {disk}"));
        assert_eq!(ran, refused(&format!("mountpoint '{at}' exists and is not empty\n{hint}")), "{line}");
        assert_eq!(daemon.zpool("list -H -o name"), said(""), "{line}");
    }
    assert_eq!(daemon.zpool(&format!("create -m none tank {disk}")), said(""));
}

#[test]
fn shares() {
    let daemon = Daemon::with_tank();
    assert_eq!(daemon.zfs("create -o sharenfs=on tank/s"), said(""));
    assert_eq!(daemon.zfs("share tank/s"), said(""));
    assert_eq!(daemon.zfs("share tank/s"), refused("cannot share 'tank/s': filesystem already shared"));
    assert_eq!(daemon.zfs("unshare /tank/s"), said(""));
    assert_eq!(daemon.zfs("unshare tank/s"), refused("cannot unshare 'tank/s': not currently shared"));
    let legacy = daemon.zfs("share tank");
    assert!(legacy.err.starts_with("cannot share 'tank': legacy share\nuse exports(5)"), "{legacy:?}");
    assert_eq!(daemon.zfs("unshare -a nfs"), said(""));
    assert_eq!(daemon.zfs("share -a smb"), refused("SMB is not supported by this version of Cistern yet"));
}
