//! Other users than root. Linux knows users by thread: each test becomes somebody in a thread of
//! its own, through the bare system calls (the C library's would change every thread).

use crate::fixture::{Fixture, answer, c};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::Path;

/// Run as this user, with these supplementary groups.
fn as_user<T: Send>(uid: u32, gid: u32, groups: &[u32], act: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let become_and_act = move || {
            // SAFETY: plain numbers and a slice with its length; only this thread changes.
            unsafe {
                assert_eq!(libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()), 0);
                assert_eq!(libc::syscall(libc::SYS_setresgid, gid, gid, gid), 0);
                assert_eq!(libc::syscall(libc::SYS_setresuid, uid, uid, uid), 0);
            }
            act()
        };
        scope.spawn(become_and_act).join().unwrap()
    })
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn world_writable(fixture: &Fixture) {
    fs::set_permissions(&fixture.at, fs::Permissions::from_mode(0o777)).unwrap();
}

#[test]
fn new_files_belong_to_their_maker() {
    let fixture = Fixture::new();
    world_writable(&fixture);
    as_user(1001, 1002, &[], || {
        File::create(fixture.path("f")).unwrap();
        fs::create_dir(fixture.path("d")).unwrap();
    });
    for name in ["f", "d"] {
        let meta = fs::metadata(fixture.path(name)).unwrap();
        assert_eq!((meta.uid(), meta.gid()), (1001, 1002));
    }
}

#[test]
fn what_was_allowed_at_open_stays_allowed() {
    let fixture = Fixture::new();
    world_writable(&fixture);
    as_user(1001, 1001, &[], || {
        let path = fixture.path("f");
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o444).open(&path).unwrap();
        file.write_all(b"into a read-only file").unwrap();
        file.set_len(4).unwrap();
        assert_eq!(File::create(&path).unwrap_err().raw_os_error(), Some(libc::EACCES));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
        file.write_all(b"!").unwrap();
        assert_eq!(File::open(&path).unwrap_err().raw_os_error(), Some(libc::EACCES));
    });
}

#[test]
fn supplementary_groups_count() {
    let fixture = Fixture::new();
    world_writable(&fixture);
    let path = fixture.path("f");
    as_user(1001, 1001, &[5000, 6000], || {
        File::create(&path).unwrap();
        chown(&path, None, Some(5000)).unwrap();
        let foreign = chown(&path, None, Some(7000)).unwrap_err();
        assert_eq!(foreign.raw_os_error(), Some(libc::EPERM));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o2770)).unwrap();
    });
    assert_eq!((fs::metadata(&path).unwrap().gid(), mode(&path)), (5000, 0o2770));
    let open = |groups: &[u32]| as_user(1002, 1002, groups, || File::open(&path).map(drop));
    assert!(open(&[6000, 5000]).is_ok());
    assert_eq!(open(&[6000]).unwrap_err().raw_os_error(), Some(libc::EACCES));
    // A group class that allows less than everybody has counts too.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o704)).unwrap();
    assert_eq!(open(&[5000]).unwrap_err().raw_os_error(), Some(libc::EACCES));
    assert!(open(&[6000]).is_ok());
}

#[test]
fn a_setgid_directory_hands_on_its_group() {
    let fixture = Fixture::new();
    let dir = fixture.path("shared");
    fs::create_dir(&dir).unwrap();
    chown(&dir, Some(0), Some(5000)).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o2777)).unwrap();
    as_user(1001, 1001, &[], || {
        OpenOptions::new().write(true).create_new(true).mode(0o2775).open(dir.join("f")).unwrap();
        fs::create_dir(dir.join("d")).unwrap();
    });
    assert_eq!(fs::metadata(dir.join("f")).unwrap().gid(), 5000);
    assert_eq!(mode(&dir.join("f")) & 0o2000, 0, "no setgid program for a foreign group");
    assert_eq!(fs::metadata(dir.join("d")).unwrap().gid(), 5000);
    assert_eq!(mode(&dir.join("d")) & 0o2000, 0o2000);
}

#[test]
fn writing_a_program_takes_its_privileges() {
    let fixture = Fixture::new();
    let path = fixture.path("program");
    File::create(&path).unwrap();
    let capability = || {
        let path = c(&path);
        // SAFETY: strings that outlive the call; no buffer, only the size is asked for.
        answer(unsafe {
            libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0)
        } as i64)
    };
    let arm = || {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o6777)).unwrap();
        let path = c(&path);
        let value: [u8; 20] = [0, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        // SAFETY: strings and value outlive the call; the length is the value's.
        let set = unsafe {
            libc::setxattr(
                path.as_ptr(),
                c"security.capability".as_ptr(),
                value.as_ptr().cast(),
                value.len(),
                0,
            )
        };
        assert_eq!(answer(set.into()), Ok(0));
    };
    arm();
    assert_eq!((mode(&path), capability()), (0o6777, Ok(20)));
    as_user(1001, 1001, &[], || {
        let mut file = OpenOptions::new().write(true).open(&path).unwrap();
        assert_eq!(mode(&path), 0o6777, "opening changes nothing");
        file.write_all(b"x").unwrap();
        assert_eq!(mode(&path), 0o777);
    });
    assert_eq!(capability(), Err(libc::ENODATA));
    arm();
    as_user(1001, 1001, &[], || OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap());
    assert_eq!((mode(&path), capability()), (0o777, Err(libc::ENODATA)));
    arm();
    as_user(1001, 1001, &[], || drop(OpenOptions::new().write(true).truncate(true).open(&path).unwrap()));
    assert_eq!((mode(&path), capability()), (0o777, Err(libc::ENODATA)));
    arm();
    chown(&path, Some(1001), None).unwrap();
    assert_eq!((mode(&path), capability()), (0o777, Err(libc::ENODATA)));
}
