//! Disks that hold something else: nothing is overwritten that nobody said may be.
//!
//! The contents are made by the tools that people make them with, and `blkid` is asked whether it
//! calls them the same.

use std::fs;
use std::process::{Command, Stdio};

use crate::daemon::{Daemon, Scratch};
use crate::suspended::until;

const MIB: u64 = 320;
const HINT: &str = "invalid vdev specification\nuse '-f' to override the following errors:\n";

#[track_caller]
fn run(program: &str, args: &[&str]) -> String {
    let ran = Command::new(program).args(args).stdin(Stdio::null()).output();
    let ran = ran.unwrap_or_else(|error| panic!("{program}: {error}: scripts/setup test installs it"));
    assert!(ran.status.success(), "{program} {args:?}: {ran:?}");
    String::from_utf8_lossy(&ran.stdout).trim().to_owned()
}

/// Writes a partition table in the words of sfdisk.
fn partition(image: &str, script: &str) {
    let shell = format!("printf '{script}' | sfdisk -q {image}");
    run("sh", &["-c", &shell]);
}

#[test]
fn what_others_have_made_of_a_disk_is_not_overwritten_unasked() {
    let scratch = Scratch::new("foreign");
    let mut daemon = Daemon::start(&scratch);
    let tank = ["t1", "t2"].map(|name| scratch.image(name, MIB));
    daemon.zpool(&format!("create -m none tank {}", tank[0])).done();
    for (program, args) in [
        ("mkfs.ext2", &["-q", "-F"][..]),
        ("mkfs.ext3", &["-q", "-F"]),
        ("mkfs.ext4", &["-q", "-F"]),
        ("mkfs.xfs", &["-q", "-f"]),
        ("mkfs.btrfs", &["-q", "-f"]),
        ("mkfs.ntfs", &["-q", "-F", "-Q"]),
        ("mkfs.vfat", &[]),
        ("mkswap", &["-q"]),
    ] {
        let image = scratch.image(&program.replace('.', "-"), MIB);
        run(program, &[args, &[&image[..]]].concat());
        let kind = run("blkid", &["-p", "-o", "value", "-s", "TYPE", &image]);
        let message = format!("{HINT}{image} contains a filesystem of type '{kind}'");
        let before = fs::read(&image).expect("read");
        for line in [
            format!("create -m none new {image}"),
            format!("create -m none new mirror {} {image}", tank[1]),
            format!("create -m none new {} spare {image}", tank[1]),
            format!("add tank {image}"),
            format!("add tank log {image}"),
            format!("add tank cache {image}"),
            format!("add tank spare {image}"),
            format!("attach tank {} {image}", tank[0]),
            format!("replace tank {} {image}", tank[0]),
        ] {
            let ran = daemon.zpool(&line);
            assert_eq!((ran.status, ran.err.trim_end()), (1, &message[..]), "zpool {line}");
        }
        assert!(fs::read(&image).expect("read") == before, "{program}: not as it was");
        daemon.zpool(&format!("create -f -m none new {image}")).done();
        daemon.zpool("destroy new").done();
        // What the pool has left of it is nobody's any more.
        daemon.zpool(&format!("create -m none new {image}")).done();
        daemon.zpool("destroy new").done();
    }
    daemon.stop();
}

#[test]
fn partitions_and_what_is_in_them_are_not_overwritten_unasked() {
    let scratch = Scratch::new("partitions");
    let mut daemon = Daemon::start(&scratch);
    let gpt = scratch.image("gpt", MIB);
    let mbr = scratch.image("mbr", MIB);
    partition(&gpt, "label: gpt\\nsize=64MiB\\n");
    partition(&mbr, "label: dos\\nsize=64MiB, type=83\\n");
    let refuses = |image: &str, why: String| {
        let ran = daemon.zpool(&format!("create -m none new {image}"));
        assert_eq!((ran.status, ran.err.trim_end()), (1, &format!("{HINT}{why}")[..]), "{image}");
    };
    refuses(&gpt, format!("{gpt} contains an EFI label with partitions."));
    let words = "does not contain an EFI label but it may contain partition\ninformation in the MBR.";
    refuses(&mbr, format!("{mbr} {words}"));
    // What is in a partition says more.
    let swap = scratch.image("swap", 64);
    run("mkswap", &["-q", &swap]);
    for image in [&gpt, &mbr] {
        let mut disk = fs::read(image).expect("read");
        let swap = fs::read(&swap).expect("read");
        disk[1 << 20..][..swap.len()].copy_from_slice(&swap);
        fs::write(image, disk).expect("written");
        refuses(image, format!("{image} contains a filesystem of type 'swap'"));
    }
    daemon.zpool(&format!("create -f -m none new {gpt}")).done();
    daemon.zpool("destroy new").done();
    // A disk as OpenZFS divides it: the pool has one of its partitions.
    let zfs = scratch.image("zfs", MIB);
    partition(&zfs, "label: gpt\\nsize=128MiB, type=6A898CC3-1DD2-11B2-99A6-080020736631\\n");
    daemon.zpool(&format!("create -m none new {zfs}")).done();
    daemon.stop();
}

/// Only labels that say of which pool the device was are cleared; where there is none, nothing is.
#[test]
fn labelclear_clears_labels_and_nothing_else() {
    let scratch = Scratch::new("labelclear");
    let mut daemon = Daemon::start(&scratch);
    let image = scratch.image("a", MIB);
    daemon.zpool(&format!("create -m none tank {image}")).done();
    daemon.zpool("export tank").done();
    let mut disk = fs::read(&image).expect("read");
    disk[..4 << 20].fill(0x5a);
    fs::write(&image, &disk).expect("written");
    daemon.zpool(&format!("labelclear -f {image}")).done();
    let cleared = fs::read(&image).expect("read");
    assert!(cleared[..4 << 20].iter().all(|byte| *byte == 0x5a), "no label was there");
    let labels = disk.len() - (512 << 10);
    assert!(cleared[4 << 20..labels] == disk[4 << 20..labels], "no label was there");
    assert!(cleared[labels..].iter().all(|byte| *byte == 0), "both labels are gone");
    for line in [format!("labelclear {image}"), format!("labelclear -f {image}")] {
        let ran = daemon.zpool(&line);
        assert_eq!((ran.status, ran.err.trim_end()), (1, &format!("failed to clear label for {image}")[..]));
    }
    assert!(fs::read(&image).expect("read") == cleared);
    daemon.stop();
}

/// Whether somebody has a disk to himself.
fn is_held(image: &str) -> bool {
    let ran = Command::new("flock").args(["--nonblock", image, "true"]).output().expect("util-linux has it");
    !ran.status.success()
}

/// A spare that waits belongs to the pool as its other disks do: nobody else can have it, whatever
/// it is.
#[test]
fn a_spare_that_waits_is_held() {
    let scratch = Scratch::new("held");
    let mut daemon = Daemon::start(&scratch);
    let [a, b, c, s] = ["a", "b", "c", "s"].map(|name| scratch.image(name, MIB));
    daemon.zpool(&format!("create -m none tank mirror {a} {b} cache {c} spare {s}")).done();
    daemon.zpool(&format!("create -m none other {} spare {s}", scratch.image("o", MIB))).done();
    for disk in [&a, &b, &c, &s] {
        assert!(is_held(disk), "{disk}");
    }
    // It can be had when it is needed, and is held again when it is not.
    daemon.zpool(&format!("replace tank {a} {s}")).done();
    until("the spare", || daemon.zpool("status tank").done().contains("resilvered"));
    daemon.zpool(&format!("detach tank {s}")).done();
    until("the spare's return", || is_held(&s));
    daemon.zpool(&format!("remove tank {s}")).done();
    assert!(is_held(&s), "the other pool lists it");
    daemon.zpool("export other").done();
    assert!(!is_held(&s));
    daemon.zpool("export tank").done();
    daemon.zpool(&format!("import -d {} other", scratch.text("disks"))).done();
    assert!(is_held(&s));
    daemon.stop();
}
