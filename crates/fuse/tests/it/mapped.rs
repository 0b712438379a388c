//! Files that programs map. Each client is a process of its own: one that maps a file of the mount
//! that it serves waits, with its memory locked, for a thread of its own that needs memory.

use crate::fixture::{Fixture, alone, answer};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Barrier;

/// Tells a client where the mount is.
const AT: &str = "CISTERN_FUSE_TEST_AT";

fn run_client(name: &str) {
    let fixture = Fixture::new();
    alone(name, &[(AT, fixture.at.to_str().unwrap())]);
}

fn path(name: &str) -> PathBuf {
    Path::new(&std::env::var_os(AT).expect("run by another test")).join(name)
}

#[test]
fn a_mapping_and_the_file_are_one() {
    run_client("mapped::maps_and_reads");
}

#[test]
#[ignore = "run by a_mapping_and_the_file_are_one"]
fn maps_and_reads() {
    let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(path("f")).unwrap();
    file.write_all(&[b'a'; 8192]).unwrap();
    let map = Mapping::of(&file, 8192);
    assert_eq!(map.get(8191), b'a');
    map.set(5000, b'z');
    map.sync();
    drop(map);
    let mut byte = [0];
    file.read_exact_at(&mut byte, 5000).unwrap();
    assert_eq!(byte, [b'z']);
}

#[test]
fn what_a_mapping_has_written_is_data_to_who_seeks_it() {
    run_client("mapped::seeks");
}

#[test]
#[ignore = "run by what_a_mapping_has_written_is_data_to_who_seeks_it"]
fn seeks() {
    seek_what_is_mapped(&path("f"), |seek, expected| assert_eq!(seek(), expected));
}

/// More at once than a processor's ring takes: to most of them all is data, and none waits for a
/// write that nobody is free to serve.
#[test]
fn what_a_mapping_has_written_is_never_a_hole_however_many_seek() {
    run_client("mapped::many_seek");
}

#[test]
#[ignore = "run by what_a_mapping_has_written_is_never_a_hole_however_many_seek"]
fn many_seek() {
    const MANY: usize = 100;
    let mut first = CpuSet::new();
    first.set(0).and_then(|()| sched_setaffinity(Pid::from_raw(0), &first)).unwrap();
    let all = Barrier::new(MANY);
    std::thread::scope(|scope| {
        for number in 0..MANY {
            let (path, all) = (path(&format!("f{number}")), &all);
            scope.spawn(move || {
                seek_what_is_mapped(&path, |seek, expected| {
                    all.wait();
                    let found = seek();
                    assert!(found == expected || found == Ok(0), "{found:?}");
                });
            });
        }
    });
}

fn seek_what_is_mapped(path: &Path, check: impl Fn(&dyn Fn() -> Result<i64, i32>, Result<i64, i32>)) {
    const LEN: usize = 64 << 10;
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path).unwrap();
    file.set_len(LEN as u64).unwrap();
    // SAFETY: it takes an open file and numbers.
    let data = || answer(unsafe { libc::lseek(file.as_raw_fd(), 0, libc::SEEK_DATA) });
    check(&data, Err(libc::ENXIO));
    let map = Mapping::of(&file, LEN);
    for (at, byte) in [(32 << 10, b'a'), (8 << 10, b'b')] {
        map.set(at, byte);
        check(&data, Ok(at as i64));
        assert_eq!(map.get(at), byte);
    }
}

/// The first `len` bytes of a file, shared.
struct Mapping {
    at: *mut u8,
    len: usize,
}

impl Mapping {
    fn of(file: &File, len: usize) -> Mapping {
        let (access, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), len, access, shared, file.as_raw_fd(), 0) };
        assert_ne!(at, libc::MAP_FAILED);
        Mapping { at: at.cast(), len }
    }

    fn get(&self, index: usize) -> u8 {
        assert!(index < self.len);
        // SAFETY: within the mapping. The compiler must not keep it, as others write it too.
        unsafe { self.at.add(index).read_volatile() }
    }

    fn set(&self, index: usize, byte: u8) {
        assert!(index < self.len);
        // SAFETY: as in `get`.
        unsafe { self.at.add(index).write_volatile(byte) }
    }

    fn sync(&self) {
        // SAFETY: the mapping's own range.
        assert_eq!(unsafe { libc::msync(self.at.cast(), self.len, libc::MS_SYNC) }, 0);
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping's own range, which nobody uses any more.
        assert_eq!(unsafe { libc::munmap(self.at.cast(), self.len) }, 0);
    }
}
