//! Files, names, holes and attributes, seen through the kernel.

use crate::fixture::{Fixture, answer, c, eventually};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

#[test]
fn a_tree_written_through_the_mount_is_the_tree_in_the_model() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("a/b")).unwrap();
    fs::write(fixture.path("a/b/file"), vec![7; 3 << 20]).unwrap();
    fs::hard_link(fixture.path("a/b/file"), fixture.path("a/other")).unwrap();
    symlink("b/file", fixture.path("a/link")).unwrap();
    fs::set_permissions(fixture.path("a/b/file"), fs::Permissions::from_mode(0o4751)).unwrap();
    let tree = model::dump(&*fixture.fs).unwrap();
    let paths: Vec<&[u8]> = tree.nodes.keys().map(|path| &path[..]).collect();
    assert_eq!(paths, [&b""[..], b"a", b"a/b", b"a/b/file", b"a/link", b"a/other"]);
    let file = &tree.nodes[&b"a/b/file"[..]];
    assert_eq!((file.size, file.mode, file.nlink, file.blocks.len()), (3 << 20, 0o4751, 2, 768));
    assert_eq!(tree.nodes[&b"a/other"[..]].same_as, b"a/b/file");
    assert_eq!(fs::read(fixture.path("a/link")).unwrap(), vec![7; 3 << 20]);
    assert_eq!(fs::read_link(fixture.path("a/link")).unwrap().to_str(), Some("b/file"));
    let meta = fs::metadata(fixture.path("a/other")).unwrap();
    assert_eq!((meta.nlink(), meta.mode() & 0o7777, meta.len()), (2, 0o4751, 3 << 20));
    assert_eq!(fs::metadata(fixture.path("a")).unwrap().nlink(), 3);
}

#[test]
fn names_are_made_moved_and_removed_as_posix_says() {
    let fixture = Fixture::new();
    let (one, two, dir) = (fixture.path("one"), fixture.path("two"), fixture.path("dir"));
    fs::write(&one, "1").unwrap();
    fs::write(&two, "2").unwrap();
    fs::create_dir(&dir).unwrap();
    let exclusive = OpenOptions::new().write(true).create_new(true).open(&one).unwrap_err();
    assert_eq!(exclusive.raw_os_error(), Some(libc::EEXIST));
    let rename = |from: &Path, to: &Path, flags| {
        let (from, to) = (c(from), c(to));
        // SAFETY: both are strings that outlive the call.
        answer(
            unsafe { libc::renameat2(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), flags) }
                .into(),
        )
    };
    assert_eq!(rename(&one, &two, libc::RENAME_NOREPLACE), Err(libc::EEXIST));
    assert_eq!(rename(&one, &two, libc::RENAME_EXCHANGE), Ok(0));
    assert_eq!(fs::read(&one).unwrap(), b"2");
    assert_eq!(rename(&dir, &dir.join("in"), 0), Err(libc::EINVAL));
    assert_eq!(rename(&one, &dir.join("one"), 0), Ok(0));
    assert_eq!(fs::remove_dir(&dir).unwrap_err().raw_os_error(), Some(libc::ENOTEMPTY));
    assert_eq!(rename(&two, &dir, 0), Err(libc::EISDIR));
    fs::remove_file(dir.join("one")).unwrap();
    fs::remove_dir(&dir).unwrap();
    assert_eq!(fs::metadata(&dir).unwrap_err().raw_os_error(), Some(libc::ENOENT));
    let long = fixture.path(&"x".repeat(256));
    assert_eq!(File::create(long).unwrap_err().raw_os_error(), Some(libc::ENAMETOOLONG));
    File::create(fixture.path(&"x".repeat(255))).unwrap();
}

#[test]
fn special_files_keep_their_kind_and_number() {
    let fixture = Fixture::new();
    let mknod = |name: &str, mode, device| {
        let path = c(&fixture.path(name));
        // SAFETY: the path is a string that outlives the call.
        assert_eq!(unsafe { libc::mknod(path.as_ptr(), mode, device) }, 0);
        fs::metadata(fixture.path(name)).unwrap()
    };
    let null = mknod("null", libc::S_IFCHR | 0o666, libc::makedev(1, 3));
    assert!(null.file_type().is_char_device() && null.rdev() == libc::makedev(1, 3));
    assert_eq!(File::open(fixture.path("null")).unwrap().read(&mut [0; 1]).unwrap(), 0);
    let disk = mknod("disk", libc::S_IFBLK | 0o600, libc::makedev(259, 70_000));
    assert!(disk.file_type().is_block_device() && disk.rdev() == libc::makedev(259, 70_000));
    assert!(mknod("fifo", libc::S_IFIFO | 0o600, 0).file_type().is_fifo());
    assert!(mknod("socket", libc::S_IFSOCK | 0o600, 0).file_type().is_socket());
}

#[test]
fn a_running_program_is_neither_written_nor_emptied() {
    let fixture = Fixture::new();
    let path = fixture.path("program");
    fs::copy("/bin/sleep", &path).unwrap();
    let mut running = None;
    // A process that another test starts at this moment may have the copy open for writing a little
    // longer.
    eventually("the program starts", || {
        running = Command::new(&path).arg("60").spawn().ok();
        running.is_some()
    });
    let open = |flags| {
        let path = c(&path);
        // SAFETY: the path is a string that outlives the call.
        answer(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) }.into())
    };
    for flags in [libc::O_WRONLY, libc::O_RDWR | libc::O_TRUNC, libc::O_RDONLY | libc::O_TRUNC] {
        assert_eq!(open(flags), Err(libc::ETXTBSY), "{flags:o}");
    }
    assert!(fs::read(&path).unwrap() == fs::read("/bin/sleep").unwrap(), "the program is what it was");
    let mut running = running.unwrap();
    running.kill().unwrap();
    running.wait().unwrap();
    File::create(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
}

#[test]
fn holes_are_found_and_punched() {
    let fixture = Fixture::new();
    let mut file =
        OpenOptions::new().read(true).write(true).create_new(true).open(fixture.path("f")).unwrap();
    file.set_len(1 << 40).unwrap();
    file.write_all_at(&[1; 12288], 1 << 20).unwrap();
    let fd = file.as_raw_fd();
    // SAFETY: lseek and fallocate take plain numbers.
    let seek = |offset, whence| answer(unsafe { libc::lseek(fd, offset, whence) });
    // SAFETY: the descriptor is open, and the rest are numbers.
    let fallocate = |mode, offset, len| answer(unsafe { libc::fallocate(fd, mode, offset, len) }.into());
    assert_eq!(seek(0, libc::SEEK_DATA), Ok(1 << 20));
    assert_eq!(seek(1 << 20, libc::SEEK_HOLE), Ok((1 << 20) + 12288));
    assert_eq!(seek((1 << 20) + 12288, libc::SEEK_DATA), Err(libc::ENXIO));
    assert_eq!(seek((1 << 40) - 1, libc::SEEK_HOLE), Ok((1 << 40) - 1));
    assert_eq!(seek(1 << 40, libc::SEEK_HOLE), Err(libc::ENXIO));
    assert_eq!(
        fallocate(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, (1 << 20) + 4096, 4096),
        Ok(0)
    );
    assert_eq!(seek(1 << 20, libc::SEEK_HOLE), Ok((1 << 20) + 4096));
    assert_eq!(fallocate(libc::FALLOC_FL_COLLAPSE_RANGE, 0, 4096), Err(libc::EOPNOTSUPP));
    let mut bytes = [9; 12288];
    file.seek(SeekFrom::Start(1 << 20)).unwrap();
    file.read_exact(&mut bytes).unwrap();
    assert!(bytes[..4096].iter().all(|&b| b == 1) && bytes[4096..8192].iter().all(|&b| b == 0));
    assert_eq!(file.metadata().unwrap().blocks(), 2 * 4096 / 512);
}

#[test]
fn a_directory_larger_than_any_buffer_is_listed_whole() {
    let fixture = Fixture::new();
    let names: BTreeSet<String> = (0..3000).map(|i| format!("{}-{i}", "n".repeat(i % 200))).collect();
    for name in &names {
        File::create(fixture.path(name)).unwrap();
    }
    let list = || -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        for entry in fs::read_dir(&fixture.at).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(seen.insert(name), "listed twice");
        }
        seen
    };
    assert_eq!(list(), names);
    // Removing while listing takes nothing else away.
    for entry in fs::read_dir(&fixture.at).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    assert_eq!(list(), BTreeSet::new());
}

#[test]
fn extended_attributes_answer_sizes_and_errors() {
    let fixture = Fixture::new();
    let path = c(&fixture.path("f"));
    File::create(fixture.path("f")).unwrap();
    let set = |name: &std::ffi::CStr, value: &[u8], flags| {
        // SAFETY: strings and the value outlive the call; the length is the value's.
        answer(
            unsafe {
                libc::setxattr(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), value.len(), flags)
            }
            .into(),
        )
    };
    let get = |name: &std::ffi::CStr, buf: &mut [u8]| {
        // SAFETY: as above, the length is the buffer's.
        answer(unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), buf.as_mut_ptr().cast(), buf.len()) }
            as i64)
    };
    assert_eq!(get(c"user.a", &mut [0; 8]), Err(libc::ENODATA));
    assert_eq!(set(c"user.a", b"value", libc::XATTR_REPLACE), Err(libc::ENODATA));
    assert_eq!(set(c"user.a", b"value", libc::XATTR_CREATE), Ok(0));
    assert_eq!(set(c"user.a", b"value", libc::XATTR_CREATE), Err(libc::EEXIST));
    assert_eq!(set(c"trusted.b", &[5; 4000], 0), Ok(0));
    assert_eq!(get(c"user.a", &mut []), Ok(5));
    assert_eq!(get(c"user.a", &mut [0; 4]), Err(libc::ERANGE));
    let mut value = [0; 5];
    assert_eq!((get(c"user.a", &mut value), &value), (Ok(5), b"value"));
    assert_eq!(set(c"system.posix_acl_access", &[2, 0, 0, 0], 0), Err(libc::EOPNOTSUPP));
    let mut names = [0u8; 64];
    // SAFETY: the length is the buffer's.
    let len = unsafe { libc::listxattr(path.as_ptr(), names.as_mut_ptr().cast(), names.len()) };
    assert_eq!(&names[..len as usize], b"trusted.b\0user.a\0");
    // SAFETY: both strings outlive the call.
    let remove = || answer(unsafe { libc::removexattr(path.as_ptr(), c"user.a".as_ptr()) }.into());
    assert_eq!((remove(), remove()), (Ok(0), Err(libc::ENODATA)));
}

#[test]
fn times_are_kept_to_the_nanosecond_before_1970_too() {
    let fixture = Fixture::new();
    File::create(fixture.path("f")).unwrap();
    let path = c(&fixture.path("f"));
    for (secs, nanos) in [(-2, 800_000_000), (1, 1), (4_000_000_000, 999_999_999)] {
        let time = libc::timespec { tv_sec: secs, tv_nsec: nanos };
        // SAFETY: two times and a string that outlive the call.
        let set = unsafe { libc::utimensat(libc::AT_FDCWD, path.as_ptr(), [time, time].as_ptr(), 0) };
        assert_eq!(set, 0);
        let meta = fs::metadata(fixture.path("f")).unwrap();
        assert_eq!((meta.mtime(), meta.mtime_nsec()), (secs, nanos));
        assert_eq!((meta.atime(), meta.atime_nsec()), (secs, nanos));
    }
}

#[test]
fn a_file_has_a_time_of_birth() {
    let fixture = Fixture::new();
    let before = std::time::SystemTime::now() - std::time::Duration::from_secs(5);
    fs::write(fixture.path("f"), "x").unwrap();
    let born = fs::metadata(fixture.path("f")).unwrap().created().unwrap();
    assert!(born > before, "{born:?}");
}
