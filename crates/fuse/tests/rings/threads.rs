//! Who serves what comes over io_uring.

use crate::fixture::{Fixture, alone, eventually, has_rings, threads};
use fuse::{Limits, MountOptions, Pool};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn a_mount_has_threads_of_its_own_until_it_ends() {
    alone("threads::threads_of_one_mount", &[]);
}

#[test]
#[ignore = "run by a_mount_has_threads_of_its_own_until_it_ends"]
fn threads_of_one_mount() {
    if !has_rings() {
        eprintln!(
            "this kernel has no FUSE over io_uring, or this is not root: the tests of `rings` are those of `it` once more"
        );
        return;
    }
    let fixture = Fixture::new();
    let processors = std::thread::available_parallelism().unwrap().get();
    assert!(threads("fuse-ring") >= processors, "one for each processor");
    for number in 0..100 {
        fs::write(fixture.path("f"), vec![number; 9000]).unwrap();
        assert_eq!(fs::read(fixture.path("f")).unwrap(), vec![number; 9000]);
        fs::remove_file(fixture.path("f")).unwrap();
    }
    eventually("the last handle is closed", || fixture.fs.node_count() == 1);
    fixture.mount.unmount(false).unwrap();
    eventually("threads end with the mount", || threads("fuse-ring") == 0);
}

#[test]
fn more_mounts_than_threads_are_all_served() {
    alone("threads::three_hundred_mounts", &[]);
}

#[test]
#[ignore = "run by more_mounts_than_threads_are_all_served"]
fn three_hundred_mounts() {
    let pool = Pool::new(Limits::default(), Arc::default()).unwrap();
    let fixtures: Vec<Fixture> = (0..300).map(|_| Fixture::within(&pool, &MountOptions::default())).collect();
    let processors = std::thread::available_parallelism().unwrap().get();
    assert!(threads("fuse-ring") < 300 * processors, "not each has some");
    for (number, fixture) in fixtures.iter().enumerate() {
        fs::write(fixture.path("f"), number.to_string()).unwrap();
    }
    for (number, fixture) in fixtures.iter().enumerate() {
        assert_eq!(fs::read_to_string(fixture.path("f")).unwrap(), number.to_string());
    }
    drop(fixtures);
    eventually("their threads end", || threads("fuse-ring") == 0);
}

/// Whoever is killed while he waits takes nothing along: his request is answered all the same, and
/// the next one served.
#[test]
fn clients_that_are_killed_leave_all_entries_usable() {
    let fixture = Fixture::new();
    fs::write(fixture.path("f"), vec![3; 1 << 20]).unwrap();
    let file = fixture.path("f");
    let work = format!("while :; do cat {0} > /dev/null; touch {0}.$$; rm {0}.$$; done", file.display());
    for _ in 0..30 {
        let mut command = Command::new("sh");
        command.args(["-c", &work]).stderr(Stdio::null()).process_group(0);
        let mut clients: Vec<Child> = (0..4).map(|_| command.spawn().unwrap()).collect();
        std::thread::sleep(Duration::from_millis(20));
        for client in &mut clients {
            // SAFETY: a signal to the group of a child that has not been waited for.
            unsafe { libc::kill(-(client.id() as i32), libc::SIGKILL) };
            client.wait().unwrap();
        }
    }
    let mut whole = Vec::new();
    File::open(file).unwrap().read_to_end(&mut whole).unwrap();
    assert_eq!(whole, vec![3; 1 << 20]);
}
