//! Trimming and initializing by command line: what an operator sees of it, and that disks get their
//! free space back.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::daemon::{Daemon, Scratch};
use crate::zdb::assert_readable;

#[test]
fn disks_are_trimmed_and_status_tells_how_far() {
    let scratch = Scratch::new("trim");
    let mut daemon = Daemon::start(&scratch);
    let (a, b) = (scratch.image("a", 128), scratch.image("b", 128));
    for path in [&a, &b] {
        fs::write(path, vec![0x77; 128 << 20]).expect("an image");
    }
    daemon.zpool(&format!("create -m none -o autotrim=on tank mirror {a} {b}")).done();
    assert_eq!(daemon.zpool("get -H -o value autotrim tank").done(), "on\n");
    assert!(daemon.zpool("status -t tank").done().contains("  (untrimmed)\n"));
    daemon.zpool(&format!("trim -r 1K tank {a}")).done();
    let status = daemon.zpool("status -t tank").done();
    assert!(status.contains("% trimmed, started at "), "{status}");
    assert_eq!(daemon.zpool("status tank").done().matches("  (trimming)\n").count(), 1);
    let twice = daemon.zpool(&format!("trim tank {a}"));
    assert_eq!((twice.status, twice.err.trim_end()), (1, &*format!("cannot trim '{a}': currently trimming")));
    daemon.zpool("trim -s tank").done();
    assert!(daemon.zpool("status -t tank").done().contains("% trimmed, suspended, started at "));
    daemon.zpool(&format!("trim -c tank {a}")).done();
    daemon.zpool("trim tank").done();
    daemon.zpool("wait -t trim tank").done();
    let status = daemon.zpool("status -t tank").done();
    assert_eq!(status.matches("  (100% trimmed, completed at ").count(), 2, "{status}");
    daemon.stop();
    for path in [&a, &b] {
        let used = fs::metadata(path).expect("an image").blocks() * 512;
        assert!(used < 32 << 20, "{used} bytes: its free space was given back");
    }
    assert_readable(&scratch.path("disks"), "tank");
}

#[test]
fn disks_are_initialized_and_status_tells_how_far() {
    let scratch = Scratch::new("initialize");
    let mut daemon = Daemon::start(&scratch);
    let (a, b) = (scratch.image("a", 128), scratch.image("b", 128));
    daemon.zpool(&format!("create -m none tank mirror {a} {b}")).done();
    assert_eq!(daemon.zpool("status -i tank").done().matches("  (uninitialized)\n").count(), 2);
    let none = daemon.zpool(&format!("initialize -s tank {a}"));
    let said = format!("cannot initialize '{a}': there is no active initialization");
    assert_eq!((none.status, none.err.trim_end()), (1, &*said));
    daemon.zpool(&format!("initialize -w tank {a}")).done();
    daemon.zpool("wait -t initialize tank").done();
    let status = daemon.zpool("status -i tank").done();
    assert_eq!(status.matches("  (100% initialized, completed at ").count(), 1, "{status}");
    // The end is written down with the next group that there is.
    daemon.zpool(&format!("initialize -u tank {b}")).done();
    let history = daemon.zpool("history -i tank").done();
    assert!(history.contains(&format!("initialize vdev={a} complete")), "{history}");
    daemon.zpool(&format!("initialize -u tank {a}")).done();
    assert_eq!(daemon.zpool("status -i tank").done().matches("  (uninitialized)\n").count(), 2);
    daemon.stop();
    let used = |path: &str| fs::metadata(path).expect("an image").blocks() * 512;
    assert!(used(&a) > 100 << 20 && used(&b) < 32 << 20, "{} and {}", used(&a), used(&b));
    assert_readable(&scratch.path("disks"), "tank");
}

#[test]
fn what_is_begun_waits_for_a_disk_that_is_offline_and_ends_with_one_that_is_faulted() {
    let scratch = Scratch::new("trim-away");
    let mut daemon = Daemon::start(&scratch);
    let (a, b) = (scratch.image("a", 128), scratch.image("b", 128));
    daemon.zpool(&format!("create -m none tank mirror {a} {b}")).done();
    daemon.zpool(&format!("trim -r 1K tank {a}")).done();
    let moment = || std::thread::sleep(std::time::Duration::from_millis(2500));
    let line = || {
        let status = daemon.zpool("status -t tank").done();
        status.lines().find(|line| line.contains(&a)).unwrap_or_default().to_owned()
    };
    daemon.zpool(&format!("offline tank {a}")).done();
    moment();
    assert!(line().contains("  (0% trimmed, started at "), "{}", line());
    daemon.zpool(&format!("online tank {a}")).done();
    moment();
    assert!(line().contains("% trimmed, started at "), "{}", line());
    daemon.zpool(&format!("offline -f tank {a}")).done();
    moment();
    assert!(line().contains("  (untrimmed)"), "{}", line());
    // The last disk of a mirror takes over its number, and goes on.
    let (c, d) = (scratch.image("c", 128), scratch.image("d", 128));
    daemon.zpool(&format!("create -m none other mirror {c} {d}")).done();
    daemon.zpool(&format!("trim -r 1K other {c}")).done();
    daemon.zpool(&format!("detach other {d}")).done();
    let status = daemon.zpool("status -t other").done();
    assert!(status.contains("% trimmed, started at "), "{status}");
    daemon.stop();
}
