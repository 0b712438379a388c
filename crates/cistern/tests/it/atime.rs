//! Access times of a local mount are those of a file system of the kernel, although the kernel
//! answers from its caches and tells nobody.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::daemon::{Daemon, Scratch};
use crate::zdb::stop_and_check;

/// `tank/fs`, mounted, with these properties.
fn mounted(scratch: &Scratch, options: &str) -> (Daemon, PathBuf) {
    let daemon = Daemon::start(scratch);
    let (a, mnt) = (scratch.image("a", 256), scratch.text("mnt"));
    daemon.zpool(&format!("create -m {mnt} tank {a}")).done();
    daemon.zfs(&format!("create {options} tank/fs")).done();
    daemon.zfs("mount tank/fs").done();
    (daemon, scratch.path("mnt/fs"))
}

/// Access time; the other times, and the size.
fn times(at: &Path) -> ((i64, i64), [i64; 5]) {
    let meta = fs::symlink_metadata(at).expect("seen");
    let rest = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec(), meta.size() as i64];
    ((meta.atime(), meta.atime_nsec()), rest)
}

/// Whether what is done leaves `at` a later access time; it changes nothing else.
#[track_caller]
fn leaves(at: &Path, what: impl FnOnce()) -> bool {
    let before = times(at);
    // The clock of a machine may be coarse; and who is told what was read before needs a moment.
    thread::sleep(Duration::from_millis(30));
    what();
    let after = times(at);
    assert_eq!(after.1, before.1, "{}: but for its access time it is as it was", at.display());
    assert!(after.0 >= before.0, "{}: {after:?} after {before:?}", at.display());
    after.0 > before.0
}

fn read(at: &Path) {
    drop(fs::read(at).expect("read"));
}

fn list(at: &Path) {
    fs::read_dir(at).expect("opened").for_each(|entry| drop(entry.expect("listed")));
}

fn follow(at: &Path) {
    drop(fs::read_link(at).expect("read"));
}

/// Looks at the first byte of a file through a mapping.
fn look(at: &Path) {
    let file = File::open(at).expect("opened");
    // SAFETY: a new mapping of a page of a file that is longer, which nobody else knows.
    unsafe {
        let (read, shared) = (libc::PROT_READ, libc::MAP_SHARED);
        let map = libc::mmap(std::ptr::null_mut(), 4096, read, shared, file.as_raw_fd(), 0);
        assert_ne!(map, libc::MAP_FAILED);
        assert_eq!(map.cast::<u8>().read_volatile(), b'a');
        libc::munmap(map, 4096);
    }
}

/// Reads a file, or lists a directory, that was opened with O_NOATIME.
fn read_unseen(at: &Path) {
    let mut open = OpenOptions::new().read(true).custom_flags(libc::O_NOATIME).open(at).expect("opened");
    if !open.metadata().expect("seen").is_dir() {
        open.read_to_end(&mut Vec::new()).expect("read");
        return;
    }
    let mut room = [0u8; 4096];
    // SAFETY: the kernel writes into the room and no further.
    while unsafe { libc::syscall(libc::SYS_getdents64, open.as_raw_fd(), room.as_mut_ptr(), room.len()) } > 0
    {
    }
}

/// The kernel has no page of the file any more.
fn drop_pages(at: &Path) {
    let file = File::open(at).expect("opened");
    // SAFETY: no memory is involved.
    let failed = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    assert_eq!(failed, 0);
}

type Way = (&'static str, fn(&Path));

/// Ways to read what [`populate`] has made, by names below the mount.
const WAYS: [Way; 6] =
    [("data", read), ("empty", read), ("data", look), ("dir", list), ("dir/none", list), ("link", follow)];

fn populate(at: &Path) {
    fs::write(at.join("data"), vec![b'a'; 20_000]).expect("written");
    fs::write(at.join("empty"), "").expect("written");
    fs::create_dir_all(at.join("dir/none")).expect("made");
    fs::write(at.join("dir/file"), "").expect("written");
    symlink("data", at.join("link")).expect("made");
}

#[test]
fn each_read_counts_with_relatime_off() {
    let scratch = Scratch::new("atime-strict");
    let (mut daemon, at) = mounted(&scratch, "-o relatime=off");
    populate(&at);
    for round in 0..4 {
        for (name, way) in WAYS {
            let path = at.join(name);
            assert!(leaves(&path, || way(&path)), "round {round}: {name}");
        }
    }
    for name in ["data", "empty", "dir"] {
        let path = at.join(name);
        assert!(!leaves(&path, || read_unseen(&path)), "{name}: O_NOATIME");
        assert!(leaves(&path, || drop(File::open(&path))), "{name}: opened for reading");
        assert!(!leaves(&path, || drop(fs::symlink_metadata(&path))), "{name}: looked at");
    }
    let data = at.join("data");
    drop_pages(&data);
    assert!(!leaves(&data, || read_unseen(&data)), "what comes from the file system with O_NOATIME");
    drop_pages(&data);
    assert!(leaves(&data, || read(&data)), "what comes from the file system");
    assert!(!leaves(&data, || drop(OpenOptions::new().write(true).open(&data))), "opened for writing");
    // What the kernel was told of is what is on disk.
    let seen = times(&data);
    daemon.zfs("umount tank/fs").done();
    daemon.zfs("mount tank/fs").done();
    assert_eq!(times(&data), seen);
    daemon.zfs("umount tank/fs").done();
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn the_first_read_after_a_change_counts_with_relatime() {
    let scratch = Scratch::new("atime-relatime");
    let (mut daemon, at) = mounted(&scratch, "-o relatime=on");
    populate(&at);
    for (name, way) in [("data", read as fn(&Path)), ("empty", read), ("dir", list), ("link", follow)] {
        let path = at.join(name);
        if name != "link" {
            assert!(!leaves(&path, || read_unseen(&path)), "{name}: O_NOATIME");
        }
        assert!(leaves(&path, || way(&path)), "{name}: nobody has read it");
        assert!(!leaves(&path, || way(&path)), "{name}: somebody has");
    }
    let data = at.join("data");
    assert!(!leaves(&data, || look(&data)));
    let mut open = OpenOptions::new().write(true).open(&data).expect("opened");
    open.write_all(b"a").expect("written");
    assert!(leaves(&data, || look(&data)), "it has another modification time");
    assert!(!leaves(&data, || read(&data)));
    fs::write(at.join("dir/another"), "").expect("written");
    assert!(leaves(&at.join("dir"), || list(&at.join("dir"))), "it has another listing");
    assert!(!leaves(&at.join("dir"), || list(&at.join("dir"))));
    drop(open);
    daemon.zfs("umount tank/fs").done();
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn no_read_counts_where_access_times_are_off() {
    let scratch = Scratch::new("atime-off");
    let (mut daemon, at) = mounted(&scratch, "-o atime=off -o relatime=off");
    populate(&at);
    daemon.zfs("snapshot tank/fs@kept").done();
    let snapshot = at.join(".zfs/snapshot/kept");
    let any = |below: &Path| {
        let found: Vec<&str> = WAYS
            .iter()
            .filter(|(name, way)| leaves(&below.join(name), || way(&below.join(name))))
            .map(|(name, _)| *name)
            .collect();
        found
    };
    assert!(any(&at).is_empty());
    daemon.zfs("set atime=on tank/fs").done();
    assert_eq!(any(&at), WAYS.map(|(name, _)| name));
    assert!(any(&snapshot).is_empty(), "a snapshot does not change");
    for options in ["ro", "rw,noatime"] {
        daemon.zfs(&format!("mount -o remount,{options} tank/fs")).done();
        assert!(any(&at).is_empty(), "{options}");
    }
    daemon.zfs("mount -o remount,atime tank/fs").done();
    assert_eq!(any(&at), WAYS.map(|(name, _)| name), "it counts again");
    daemon.zfs("set relatime=on tank/fs").done();
    assert!(any(&at).is_empty(), "somebody has read all of it");
    daemon.zfs("set readonly=on relatime=off tank/fs").done();
    assert!(any(&at).is_empty(), "it is read-only");
    daemon.zfs("umount tank/fs").done();
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
