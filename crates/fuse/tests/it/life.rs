//! Open files, other clients of the same file system, and the end of a mount.

use crate::fixture::{Fixture, alone, answer, c, eventually, has_rings, threads};
use engine_api::{Cred, Error, FileSystem, Stable};
use fuse::{Limits, MountOptions, Pool};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn an_unlinked_file_lives_until_it_is_closed() {
    let fixture = Fixture::new();
    let mut file =
        OpenOptions::new().read(true).write(true).create_new(true).open(fixture.path("f")).unwrap();
    fs::remove_file(fixture.path("f")).unwrap();
    file.write_all(b"still here").unwrap();
    let mut again = File::open(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file))).unwrap();
    let mut text = String::new();
    again.read_to_string(&mut text).unwrap();
    assert_eq!(text, "still here");
    assert_eq!(std::os::unix::fs::MetadataExt::nlink(&file.metadata().unwrap()), 0);
    assert_eq!(fixture.fs.node_count(), 2);
    drop((file, again));
    eventually("the node goes with its last handle", || fixture.fs.node_count() == 1);
}

#[test]
fn what_another_client_changes_shows() {
    let options = MountOptions { cache: Duration::ZERO, ..MountOptions::default() };
    let fixture = Fixture::with(&options);
    fs::write(fixture.path("f"), "old content").unwrap();
    assert_eq!(fs::read(fixture.path("f")).unwrap(), b"old content");
    let (fs, root) = (&fixture.fs, Cred::root());
    let node = fs.lookup(&root, fs.root(), b"f").unwrap().node;
    fs.write(&root, node, 0, b"NEW", Stable::Unstable).unwrap();
    assert_eq!(fs::read(fixture.path("f")).unwrap(), b"NEW content");
    fs.remove(&root, fs.root(), b"f").unwrap();
    assert_eq!(fs::metadata(fixture.path("f")).unwrap_err().raw_os_error(), Some(libc::ENOENT));
}

/// The kernel answers from what it keeps, and shows the access time that this leaves all the same.
#[test]
fn what_the_kernel_keeps_is_read_with_an_access_time() {
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    let options = MountOptions { cache: Duration::from_secs(60), ..MountOptions::default() };
    let fixture = Fixture::with(&options);
    for text in ["", "some text"] {
        let path = fixture.path("f");
        fs::write(&path, text).unwrap();
        let atime = || fs::metadata(&path).map(|meta| (meta.atime(), meta.atime_nsec())).unwrap();
        let before = atime();
        let read = |flags| {
            let mut file = OpenOptions::new().read(true).custom_flags(flags).open(&path).unwrap();
            assert_eq!(file.read(&mut [0; 100]).unwrap(), text.len());
        };
        read(libc::O_NOATIME);
        assert_eq!(atime(), before);
        read(0);
        assert!(atime() > before, "{text:?}");
        let node = fixture.fs.lookup(&Cred::root(), fixture.fs.root(), b"f").unwrap();
        assert_eq!((node.atime.secs, i64::from(node.atime.nanos)), atime());
    }
}

/// Pages of a file that the kernel has, of the first 16.
fn pages_kept(file: &File) -> usize {
    let (len, mut kept) = (16 * 4096, [0u8; 16]);
    // SAFETY: a new mapping of a whole file of this length, which nobody else knows; the answer has
    // a byte for each page.
    unsafe {
        let at =
            libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0);
        assert_ne!(at, libc::MAP_FAILED);
        assert_eq!(libc::mincore(at, len, kept.as_mut_ptr()), 0);
        libc::munmap(at, len);
    }
    kept.iter().filter(|page| **page & 1 != 0).count()
}

#[test]
fn what_was_read_stays_in_the_page_cache_until_somebody_changes_it() {
    let fixture = Fixture::new();
    let (fs, root) = (&fixture.fs, Cred::root());
    fs::write(fixture.path("f"), [b'a'; 16 * 4096]).unwrap();
    let node = fs.lookup(&root, fs.root(), b"f").unwrap().node;
    let read = || fs::read(fixture.path("f")).unwrap();
    (0..2).for_each(|_| assert_eq!(read(), [b'a'; 16 * 4096]));
    // The kernel sees a new time of what it wrote itself once the second is over for which it
    // believes the old one.
    std::thread::sleep(Duration::from_millis(1100));
    read();
    assert_eq!(pages_kept(&File::open(fixture.path("f")).unwrap()), 16);
    // Another client's write, within the second for which the kernel believes the times of before.
    fs.write(&root, node, 0, b"NEW", Stable::Unstable).unwrap();
    assert_eq!(pages_kept(&File::open(fixture.path("f")).unwrap()), 0);
    assert!(read().starts_with(b"NEWa"));
}

#[test]
fn appends_of_two_clients_both_count() {
    let fixture = Fixture::new();
    let mut file = OpenOptions::new().append(true).create(true).open(fixture.path("log")).unwrap();
    let (fs, root) = (&fixture.fs, Cred::root());
    let node = fs.lookup(&root, fs.root(), b"log").unwrap().node;
    for round in 0..50 {
        writeln!(file, "here {round:02}").unwrap();
        fs.append(&root, node, format!("far  {round:02}\n").as_bytes(), Stable::Unstable).unwrap();
    }
    let text = fs::read_to_string(fixture.path("log")).unwrap();
    let expect: String = (0..50).map(|round| format!("here {round:02}\nfar  {round:02}\n")).collect();
    assert_eq!(text, expect);
}

#[test]
fn many_threads_work_in_one_directory() {
    let fixture = Fixture::new();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let fixture = &fixture;
            scope.spawn(move || {
                for round in 0..100 {
                    let (a, b) = (
                        fixture.path(&format!("{thread}-{round}")),
                        fixture.path(&format!("moved-{thread}")),
                    );
                    fs::write(&a, vec![thread; 5000]).unwrap();
                    fs::rename(&a, &b).unwrap();
                    assert_eq!(fs::read(&b).unwrap(), vec![thread; 5000]);
                }
            });
        }
    });
    assert_eq!(fs::read_dir(&fixture.at).unwrap().count(), 8);
    eventually("replaced files are gone", || fixture.fs.node_count() == 9);
}

#[test]
fn a_busy_mount_stays_unless_forced() {
    let fixture = Fixture::new();
    let mut file = File::create(fixture.path("f")).unwrap();
    assert_eq!(fixture.mount.unmount(false), Err(Error::Busy));
    file.write_all(b"still mounted").unwrap();
    fs::remove_file(fixture.path("f")).unwrap();
    fixture.mount.unmount(true).unwrap();
    assert!(fixture.mount.is_unmounted());
    assert!(file.write_all(b"not any more").is_err());
    assert_eq!(fs::read_dir(&fixture.at).unwrap().count(), 0, "the directory beneath shows");
    eventually("handles of an aborted connection are closed", || fixture.fs.node_count() == 1);
    fixture.mount.unmount(false).unwrap();
}

/// As by a program that was started at this moment, and has all files open until it runs.
#[test]
fn a_mount_that_is_held_for_a_moment_is_unmounted() {
    let fixture = Fixture::new();
    let file = File::create(fixture.path("f")).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(80));
            drop(file);
        });
        fixture.mount.unmount(false).unwrap();
    });
}

#[test]
fn a_mount_taken_away_by_others_is_noticed() {
    let fixture = Fixture::new();
    let at = c(&fixture.at);
    // SAFETY: a string that outlives the call.
    assert_eq!(unsafe { libc::umount(at.as_ptr()) }, 0);
    fixture.mount.wait();
    fixture.mount.unmount(false).unwrap();
}

#[test]
fn a_read_only_mount_refuses_changes() {
    let options = MountOptions { read_only: true, exec: false, ..MountOptions::default() };
    let fixture = Fixture::with(&options);
    assert_eq!(File::create(fixture.path("f")).unwrap_err().raw_os_error(), Some(libc::EROFS));
    assert_eq!(fs::create_dir(fixture.path("d")).unwrap_err().raw_os_error(), Some(libc::EROFS));
    assert_eq!(fs::metadata(fixture.path("f")).unwrap_err().raw_os_error(), Some(libc::ENOENT));
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let line = mounts.lines().find(|line| line.contains(fixture.at.to_str().unwrap())).unwrap();
    assert!(line.contains("noexec") && line.starts_with("cistern "), "{line}");
}

#[test]
fn statfs_tells_what_the_file_system_says() {
    let fixture = Fixture::new();
    let path = c(&fixture.at);
    // SAFETY: statvfs is plain numbers, for which zero is a value; the call fills it in.
    let stat = unsafe {
        let mut stat: libc::statvfs = std::mem::zeroed();
        assert_eq!(answer(libc::statvfs(path.as_ptr(), &raw mut stat).into()), Ok(0));
        stat
    };
    let expect = fixture.fs.statfs(fixture.fs.root()).unwrap();
    assert_eq!(stat.f_blocks * stat.f_frsize, expect.total_bytes);
    assert_eq!(stat.f_bavail * stat.f_frsize, expect.avail_bytes);
    assert_eq!((stat.f_namemax, stat.f_bsize), (255, u64::from(expect.blksize)));
}

/// A mount namespace of another process, which nobody told of an unmount, keeps the file system
/// mounted.
#[test]
fn a_mount_that_is_held_elsewhere_is_cut_off() {
    let fixture = Fixture::new();
    fs::write(fixture.path("f"), "here").unwrap();
    let mut holder = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", "echo held; exec sleep 100"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = [0; 5];
    holder.stdout.as_mut().unwrap().read_exact(&mut said).unwrap();
    let inside =
        std::path::PathBuf::from(format!("/proc/{}/root{}", holder.id(), fixture.path("f").display()));
    assert_eq!(fs::read(&inside).unwrap(), b"here");
    fixture.mount.unmount(false).unwrap();
    assert!(fixture.mount.is_unmounted());
    let error = || fs::metadata(inside.with_file_name("g")).unwrap_err().raw_os_error();
    // Rings end a moment before the connection, and cancel what comes meanwhile.
    eventually("it is cut off", || !has_rings() || error() != Some(libc::ECANCELED));
    let error = error();
    assert!(matches!(error, Some(libc::ENOTCONN | libc::ECONNABORTED)), "{error:?}");
    holder.kill().unwrap();
    holder.wait().unwrap();
}

/// Bytes of this process that are in memory, and its threads but for those that a mount has for
/// itself.
fn taken() -> (u64, usize) {
    let status = fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("Rss:")).unwrap();
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    (kib << 10, fs::read_dir("/proc/self/task").unwrap().count() - threads("fuse-ring"))
}

/// What a mount costs where nobody does anything: neither threads nor buffers. In a process of its
/// own, whose allocator has one heap, which can be trimmed: of others it keeps what threads of the
/// model have freed.
#[test]
fn mounts_share_threads_and_buffers() {
    alone("life::mounts_alone", &[("MALLOC_ARENA_MAX", "1")]);
}

#[test]
#[ignore = "run by mounts_share_threads_and_buffers"]
fn mounts_alone() {
    const MOUNTS: usize = 60;
    let before = taken();
    let pool = Pool::new(Limits::default(), Arc::default()).unwrap();
    let fixtures: Vec<Fixture> =
        (0..MOUNTS).map(|_| Fixture::within(&pool, &MountOptions::default())).collect();
    for fixture in &fixtures {
        fs::write(fixture.path("f"), vec![7; 3 << 20]).unwrap();
        assert_eq!(fs::read(fixture.path("f")).unwrap().len(), 3 << 20);
        fs::remove_file(fixture.path("f")).unwrap();
    }
    eventually("buffers and threads go when nobody needs them", || {
        // SAFETY: gives back what the allocator of the tests keeps of what is free.
        unsafe { libc::malloc_trim(0) };
        let now = taken();
        let bytes = now.0.saturating_sub(before.0) / MOUNTS as u64;
        bytes < 256 << 10 && now.1 <= before.1 + 2
    });
}

/// What the kernel may keep is a matter of its memory; what we hold for it, of ours.
#[test]
fn the_kernel_is_asked_to_forget_what_is_too_much() {
    const FILES: usize = 6_000;
    let held = Arc::new(AtomicUsize::new(0));
    let pool = Pool::new(Limits { nodes: 1_000, held: held.clone() }, Arc::default()).unwrap();
    let fixtures = [(); 2].map(|()| Fixture::within(&pool, &MountOptions::default()));
    let [large, small] = &fixtures;
    fs::create_dir(large.path("d")).unwrap();
    let name = |number: usize| large.path(&format!("d/{number}"));
    let mut open = File::create(name(0)).unwrap();
    (1..FILES).for_each(|number| drop(File::create(name(number)).unwrap()));
    fs::write(small.path("f"), "here").unwrap();
    // Each node takes 192 bytes here, and its name some hundred.
    let enough = 1_250 * 300;
    eventually("the kernel forgets", || {
        // It is asked where somebody asks us, and for the mount that has most.
        fs::metadata(small.path("f")).unwrap();
        fs::metadata(small.path("none")).unwrap_err();
        held.load(Ordering::Relaxed) < enough
    });
    // Everything is there as before, and so is what was open.
    open.write_all(b"still open").unwrap();
    assert_eq!(fs::read(name(0)).unwrap(), b"still open");
    let path = fs::read_link(format!("/proc/self/fd/{}", open.as_raw_fd())).unwrap();
    assert_eq!(path, name(0), "its name was not taken from it");
    assert_eq!(fs::read_dir(large.path("d")).unwrap().count(), FILES);
    assert!((1..FILES).all(|number| fs::metadata(name(number)).is_ok()));
    drop(open);
    drop(fixtures);
    eventually("nothing is held without mounts", || held.load(Ordering::Relaxed) == 0);
}
