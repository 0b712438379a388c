//! A pool that OpenZFS's own stress test makes on the spot: odd block sizes, every checksum and compression, encrypted
//! datasets, gangs, snapshots and clones, left as it is in the middle of work.

use std::process::Command;

use crate::support::{Dir, inspect};

#[test]
fn a_pool_made_by_ztest_is_clean() {
    let dir = Dir::new("ztest");
    // One pass on a mirror of two sides; without killing itself it ends in order.
    let mut ztest = Command::new("ztest");
    ztest.args([
        "-f",
        &dir.path(),
        "-p",
        "zt",
        "-T",
        "8",
        "-P",
        "8",
        "-k",
        "0",
        "-F",
        "3",
        "-C",
        "special=off",
    ]);
    ztest.args(["-v", "2", "-m", "2", "-K", "raidz", "-r", "1", "-s", "128m"]);
    let made = ztest.output().expect("zfs-test is installed");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let ran = inspect(&["-c", &dir.path()]);
    assert!(!ran.out.contains("checksum error"), "{ran:?}");
    let out = ran.clean();
    assert!(out.contains("exactly what is referenced"), "{out}");
    let datasets = inspect(&["-d", &dir.path()]).clean();
    assert!(datasets.lines().filter(|line| line.contains("[OTHER]")).count() >= 7, "{datasets}");
}
