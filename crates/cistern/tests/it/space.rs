//! Space that is kept, limited or used up: what still has to work then.

use std::fs::{self, File};
use std::io::Write;

use crate::daemon::{Daemon, Scratch};
use crate::zdb::stop_and_check;

/// Bytes that no compression makes fewer.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..count).map(|_| next()).collect()
}

fn number(daemon: &Daemon, property: &str, dataset: &str) -> u64 {
    let text = daemon.zfs(&format!("get -Hp -o value {property} {dataset}")).done();
    text.trim().parse().expect("a number")
}

#[test]
fn clones_and_copies_of_volumes_keep_what_their_size_asks_for() {
    let scratch = Scratch::new("auto-reservation");
    let mut daemon = Daemon::start(&scratch);
    let a = scratch.image("a", 256);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zfs("create -V 20M tank/vol").done();
    daemon.zfs("snapshot tank/vol@s").done();
    let whole = number(&daemon, "refreservation", "tank/vol");
    daemon.zfs("clone -o refreservation=auto tank/vol@s tank/clone").done();
    assert_eq!(number(&daemon, "refreservation", "tank/clone"), whole);
    daemon.copy("tank/vol@s", "-o refreservation=auto tank/copy").done();
    assert_eq!(number(&daemon, "refreservation", "tank/copy"), whole);
    let large = daemon.zfs("clone -o refreservation=10G tank/vol@s tank/large");
    let why = "cannot create 'tank/large': size is greater than available space\n";
    assert_eq!((large.status, &*large.err), (1, why));
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn what_is_written_but_not_on_disk_does_not_stand_in_the_way_of_a_snapshot() {
    let scratch = Scratch::new("snapshot-room");
    let mut daemon = Daemon::start(&scratch);
    let (a, at) = (scratch.image("a", 256), scratch.text("fs"));
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zfs(&format!("create -o mountpoint={at} -o quota=25M -o refreservation=10M tank/fs")).done();
    daemon.zfs("mount tank/fs").done();
    let part = noise(7 << 20);
    // What the snapshot before has is outside of the reservation: 7, 14, and there is no room for
    // 21.
    for name in ["one", "two", "three"] {
        fs::write(scratch.path("fs").join(name), &part).expect("written");
        let ran = daemon.zfs(&format!("snapshot tank/fs@{name}"));
        assert_eq!(ran.status, i32::from(name == "three"), "{name}: {ran:?}");
    }
    daemon.zfs("unmount tank/fs").done();
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn a_full_pool_can_be_put_in_order() {
    let scratch = Scratch::new("full-pool");
    let mut daemon = Daemon::start(&scratch);
    let (a, at) = (scratch.image("a", 128), scratch.text("fs"));
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zfs("create tank/empty").done();
    daemon.zfs(&format!("create -o mountpoint={at} tank/fs")).done();
    daemon.zfs("snapshot tank/empty@s").done();
    daemon.zfs("mount tank/fs").done();
    let mut file = File::create(scratch.path("fs/file")).expect("made");
    let part = noise(1 << 20);
    while file.write_all(&part).is_ok() {}
    drop(file);
    daemon.zpool("sync tank").done();
    assert_eq!(number(&daemon, "available", "tank"), 0);
    daemon.zfs("rename tank/empty tank/bare").done();
    daemon.zfs("rename tank/fs tank/full").done();
    daemon.zfs("rename tank/bare@s t").done();
    daemon.zfs("set test:a=b tank/bare").done();
    daemon.zfs("destroy tank/bare@t").done();
    daemon.zfs("destroy tank/bare").done();
    daemon.zfs("unmount tank/full").done();
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn a_copy_may_be_over_its_quota_by_as_much_as_the_original() {
    let scratch = Scratch::new("over-quota");
    let mut daemon = Daemon::start(&scratch);
    let (a, b, at) = (scratch.image("a", 256), scratch.image("b", 256), scratch.text("fs"));
    daemon.zpool(&format!("create -m none -o ashift=9 tank {a}")).done();
    // Blocks are larger there.
    daemon.zpool(&format!("create -m none -o ashift=13 copy {b}")).done();
    daemon.zfs(&format!("create -o mountpoint={at} -o recordsize=16K -o refquota=10M tank/fs")).done();
    daemon.zfs("mount tank/fs").done();
    daemon.zfs("snapshot tank/fs@one").done();
    daemon.copy("-R tank/fs@one", "copy/fs").done();
    let mut file = File::create(scratch.path("fs/file")).expect("made");
    let part = noise(17 << 10);
    while file.write_all(&part).is_ok() {}
    drop(file);
    daemon.zfs("snapshot tank/fs@two").done();
    daemon.copy("-R -I @one tank/fs@two", "copy/fs").done();
    let (used, quota) = (number(&daemon, "referenced", "copy/fs"), number(&daemon, "refquota", "copy/fs"));
    assert!(used > quota, "{used} of {quota}: more than it may have, or nothing was tried");
    daemon.zfs("unmount tank/fs").done();
    daemon.zpool("export copy").done();
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
