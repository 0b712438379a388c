//! A pool that OpenZFS's own stress test makes on the spot: odd block sizes, every checksum and
//! compression, encrypted datasets, gangs, snapshots and clones, left as it is in the middle of
//! work.

use std::process::Command;

use crate::support::{Dir, inspect};

/// One pass on such vdevs; without killing itself it ends in order.
fn made_by_ztest(name: &str, vdevs: &[&str]) {
    let dir = Dir::new(name);
    let mut ztest = Command::new("ztest");
    ztest.args(["-f", &dir.path(), "-p", "zt", "-T", "8", "-P", "8", "-k", "0", "-F", "3"]);
    ztest.args(["-C", "special=off", "-s", "128m"]).args(vdevs);
    let made = ztest.output().expect("zfs-test is installed");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let ran = inspect(&["-c", &dir.path()]);
    assert!(!ran.out.contains("checksum error"), "{ran:?}");
    let out = ran.clean();
    assert!(out.contains("exactly what is referenced"), "{out}");
    let datasets = inspect(&["-d", &dir.path()]).clean();
    assert!(datasets.lines().filter(|line| line.contains("[OTHER]")).count() >= 7, "{datasets}");
}

#[test]
fn a_pool_made_by_ztest_is_clean() {
    made_by_ztest("ztest", &["-v", "2", "-m", "2", "-K", "raidz", "-r", "1"]);
}

#[test]
fn a_raidz_pool_made_by_ztest_is_clean() {
    made_by_ztest("ztest-raidz2", &["-v", "1", "-m", "0", "-K", "raidz", "-r", "5", "-R", "2"]);
}
