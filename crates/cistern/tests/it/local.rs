//! What a local mount owes to programs: its options follow the properties, and a file is all that
//! the kernel lets it be.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::daemon::{Daemon, Ran, Scratch, detach, text};
use crate::zdb::stop_and_check;

/// A pool with `tank/fs`, mounted; its folder.
fn mounted(scratch: &Scratch, options: &str) -> (Daemon, PathBuf) {
    let daemon = Daemon::start(scratch);
    let (a, mnt) = (scratch.image("a", 512), scratch.text("mnt"));
    daemon.zpool(&format!("create {options} -m {mnt} tank {a}")).done();
    daemon.zfs("create tank/fs").done();
    daemon.zfs("mount tank/fs").done();
    (daemon, scratch.path("mnt/fs"))
}

#[track_caller]
fn errno<T>(done: io::Result<T>) -> Option<i32> {
    done.err().expect("an error").raw_os_error()
}

fn run(name: &str, words: &[&str]) -> Ran {
    Ran::of(Command::new(name).args(words))
}

/// Value and source of a property.
fn property(daemon: &Daemon, name: &str) -> String {
    daemon.zfs(&format!("get -H -o value,source {name} tank/fs")).done()
}

#[test]
fn properties_decide_how_a_file_system_is_mounted_and_options_for_as_long_as_it_is() {
    let scratch = Scratch::new("mount-options");
    let (mut daemon, at) = mounted(&scratch, "");
    let script = at.join("script");
    fs::write(&script, "#!/bin/sh\nexit 7\n").expect("written");
    fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("set");
    let text = script.to_str().expect("text");
    let user = |name: &str, value: &str| run("setfattr", &["-n", name, "-v", value, text]);
    assert_eq!(run(text, &[]).status, 7);
    user("user.one", "1").done();

    daemon.zfs("set exec=off xattr=off tank/fs").done();
    assert_eq!(errno(Command::new(&script).status()), Some(libc::EACCES));
    assert_eq!(user("user.two", "2").status, 1);
    daemon.zfs("inherit exec tank/fs").done();
    daemon.zfs("set xattr=sa tank/fs").done();
    assert_eq!(run(text, &[]).status, 7);
    assert_eq!(
        run("getfattr", &["-d", "--absolute-names", text]).done().lines().nth(1),
        Some("user.one=\"1\"")
    );

    daemon.zfs("mount -o remount,noatime,noxattr tank/fs").done();
    assert_eq!(property(&daemon, "atime"), "off\ttemporary\n");
    assert_eq!(run("getfattr", &["-n", "user.one", text]).status, 1);
    daemon.zfs("umount tank/fs").done();
    daemon.zfs("mount -o ro tank/fs").done();
    assert_eq!(errno(File::create(at.join("new"))), Some(libc::EROFS));
    assert_eq!(property(&daemon, "atime,readonly,xattr"), "on\tdefault\non\ttemporary\nsa\tlocal\n");
    daemon.zfs("mount -o remount,rw tank/fs").done();
    File::create(at.join("new")).expect("made");
    assert_eq!(property(&daemon, "readonly"), "off\tdefault\n");

    // A rename that leaves mounts alone.
    let inside = File::open(&script).expect("opened");
    assert_eq!(daemon.zfs("rename tank/fs tank/other").status, 1);
    daemon.zfs("rename -u tank/fs tank/other").done();
    assert_eq!(daemon.zfs("mount").done().split_whitespace().last(), Some(at.to_str().expect("text")));
    assert!(daemon.zfs("mount").done().contains("tank/other "));
    fs::write(at.join("more"), "after").expect("written");
    drop(inside);
    daemon.zfs("umount tank/other").done();
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn files_are_made_without_a_name_and_given_one() {
    let scratch = Scratch::new("tmpfile");
    let (mut daemon, at) = mounted(&scratch, "-O acltype=posix");
    let unnamed = || {
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o640).custom_flags(libc::O_TMPFILE);
        options.open(&at).expect("O_TMPFILE")
    };
    let link = |file: &File, to: &Path| {
        let from = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).expect("text");
        let to = CString::new(to.to_str().expect("text")).expect("text");
        let (cwd, follow) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
        // SAFETY: strings that a NUL ends and that outlive the call.
        match unsafe { libc::linkat(cwd, from.as_ptr(), cwd, to.as_ptr(), follow) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    let (mut kept, mut lost) = (unnamed(), unnamed());
    kept.write_all(b"kept").expect("written");
    lost.write_all(&[1; 100_000]).expect("written");
    assert_eq!((kept.metadata().expect("there").nlink(), fs::read_dir(&at).expect("read").count()), (0, 0));
    link(&kept, &at.join("name")).expect("linked");
    assert_eq!(fs::read(at.join("name")).expect("read"), b"kept");
    let told = fs::metadata(at.join("name")).expect("there");
    assert_eq!((told.nlink(), told.mode() & 0o7777), (1, 0o640));
    // It is durable at once, and what got no name does not come back.
    daemon.kill();
    drop((kept, lost));
    detach(&at);
    detach(&scratch.path("mnt"));
    daemon.begin();
    assert_eq!(fs::read(at.join("name")).expect("read"), b"kept");
    assert_eq!(fs::read_dir(&at).expect("read").count(), 1);
    // The umask, or what its directory hands down, is any other file's.
    let acl = |name: &str| run("getfacl", &["-c", at.join(name).to_str().expect("text")]).done();
    for (default, entry) in [(None, "group::r--"), (Some("u:1001:r"), "user:1001:r--")] {
        if let Some(default) = default {
            run("setfacl", &["-d", "-m", default, at.to_str().expect("text")]).done();
        }
        let mut options = OpenOptions::new();
        options.write(true).mode(0o666);
        options.clone().create_new(true).open(at.join("plain")).expect("made");
        let file = options.custom_flags(libc::O_TMPFILE).open(&at).expect("made");
        link(&file, &at.join("first")).expect("linked");
        assert_eq!(acl("first"), acl("plain"));
        assert!(acl("first").contains(entry));
        fs::remove_file(at.join("plain")).expect("removed");
        fs::remove_file(at.join("first")).expect("removed");
    }
    daemon.zfs("umount tank/fs").done();
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn files_are_immutable_or_only_grow() {
    let scratch = Scratch::new("chattr");
    let (mut daemon, at) = mounted(&scratch, "");
    let path = |name: &str| at.join(name).to_str().expect("text").to_owned();
    let append = |name: &str| {
        OpenOptions::new().append(true).open(at.join(name)).and_then(|mut file| file.write_all(b"more"))
    };
    for name in ["fixed", "grows"] {
        fs::write(at.join(name), "begin").expect("written");
    }
    run("chattr", &["+i", &path("fixed")]).done();
    run("chattr", &["+a", &path("grows")]).done();
    // The log is done again.
    File::open(at.join("grows")).expect("opened").sync_all().expect("synced");
    daemon.kill();
    detach(&at);
    detach(&scratch.path("mnt"));
    daemon.begin();
    assert_eq!(errno(append("fixed")), Some(libc::EPERM));
    assert_eq!(errno(fs::write(at.join("fixed"), "new")), Some(libc::EPERM));
    assert_eq!(errno(fs::remove_file(at.join("fixed"))), Some(libc::EPERM));
    append("grows").expect("appended");
    assert_eq!(errno(fs::write(at.join("grows"), "new")), Some(libc::EPERM));
    assert_eq!(errno(fs::rename(at.join("grows"), at.join("b"))), Some(libc::EPERM));
    assert_eq!(fs::read(at.join("grows")).expect("read"), b"beginmore");
    let flags = run("lsattr", &["-d", &path("fixed"), &path("grows")]).done();
    let letters: Vec<bool> = flags
        .lines()
        .zip(['i', 'a'])
        .map(|(line, letter)| line.split(' ').next().expect("flags").contains(letter))
        .collect();
    assert_eq!(letters, [true, true], "{flags}");
    run("chattr", &["-i", &path("fixed")]).done();
    run("chattr", &["-a", &path("grows")]).done();
    fs::remove_file(at.join("fixed")).expect("removed");
    fs::write(at.join("grows"), "new").expect("written");
    daemon.zfs("umount tank/fs").done();
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn room_is_asked_for_and_what_is_over_a_limit_can_be_taken_back() {
    let scratch = Scratch::new("room");
    let (mut daemon, at) = mounted(&scratch, "-O compression=off -O recordsize=128K");
    let allocate = |options: &[&str], name: &str| {
        let file = at.join(name);
        run("fallocate", &[options, &[file.to_str().expect("text")]].concat())
    };
    allocate(&["-l", "100M"], "sparse").done();
    assert_eq!(allocate(&["-l", "10G"], "no").status, 1);
    assert_eq!(fs::metadata(at.join("sparse")).expect("there").len(), 100 << 20);
    File::create(at.join("zeroed")).expect("made");
    allocate(&["-z", "-o", "0", "-l", "1M"], "zeroed").done();
    assert_eq!(fs::read(at.join("zeroed")).expect("read"), vec![0; 1 << 20]);
    daemon.zfs("set refquota=10M tank/fs").done();
    let mut file = File::create(at.join("full")).expect("made");
    let full = (0..).map(|_| file.write_all(&[1; 1 << 20])).find_map(Result::err).expect("full");
    assert_eq!(full.raw_os_error(), Some(libc::EDQUOT));
    // What is truncated is not counted any more.
    file.set_len(0).expect("truncated");
    std::os::unix::fs::chown(at.join("full"), Some(1), Some(1)).expect("given away");
    drop(file);
    daemon.zfs("umount tank/fs").done();
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn a_file_system_counts_from_the_first_new_file_on_once_its_pool_can() {
    let scratch = Scratch::new("counts-now");
    let (mut daemon, at) = mounted(&scratch, "-d");
    let objects = |name: &str| daemon.zfs(&format!("userspace -H -o objused {name}")).done();
    let eventually = |name: &str| {
        (0..200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            !objects(name).contains('-')
        })
    };
    daemon.zpool("upgrade tank").done();
    assert!(objects("tank/fs").contains('-'));
    fs::write(at.join("first"), "").expect("written");
    assert!(eventually("tank/fs"));
    assert!(objects("tank").contains('-'));
    daemon.zfs("set version=current tank").done();
    assert!(!objects("tank").contains('-'));
    daemon.zfs("umount tank/fs").done();
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn history_tells_what_was_asked_and_where() {
    let scratch = Scratch::new("history-asked");
    let mut daemon = Daemon::start(&scratch);
    let a = scratch.image("a", 128);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zfs("create tank/fs").done();
    daemon.zfs("snapshot -r tank@s").done();
    daemon.zfs("hold -r keep tank@s").done();
    daemon.zfs("release -r keep tank@s").done();
    let told = daemon.zpool("history -i tank").done();
    let block = |name: &str, lines: &str| told.contains(&format!(" ioctl {name}\n    input:\n{lines}"));
    assert!(block("snapshot", "        snaps:\n            tank@s\n            tank/fs@s\n"), "{told}");
    assert!(
        block("hold", "        holds:\n            tank@s: 'keep'\n            tank/fs@s: 'keep'\n"),
        "{told}"
    );
    assert!(
        block("release", "        tank@s:\n            keep\n        tank/fs@s:\n            keep\n"),
        "{told}"
    );
    let long = daemon.zpool("history -l tank").done();
    let line = long.lines().find(|line| line.contains("zfs create tank/fs")).expect("recorded");
    assert!(line.contains(" [user 0 (root) on ") && line.ends_with(":linux]"), "{line}");
    // In the zone of whoever asks.
    let mut there = daemon.command(&["zpool", "history", "tank"]);
    let hours = |text: &str| text.lines().nth(1).expect("a record")[11..13].parse::<i32>().expect("an hour");
    let (utc, denver) = (
        hours(&Ran::of(there.env("TZ", "UTC")).done()),
        hours(&Ran::of(there.env("TZ", "America/Denver")).done()),
    );
    assert!([6, 7].contains(&(utc - denver).rem_euclid(24)), "{utc} {denver}");
    daemon.stop();
}

/// Fifty levels at the most; what has more already goes no deeper.
#[test]
fn trees_go_no_deeper_than_names_may() {
    let scratch = Scratch::new("deep");
    let mut daemon = Daemon::start(&scratch);
    let a = scratch.image("a", 256);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    let deep = |letter: &str, levels: usize| vec![letter; levels].join("/");
    daemon.zfs(&format!("create -p tank/{}", deep("a", 40))).done();
    daemon.zfs(&format!("create -p tank/{}", deep("b", 15))).done();
    let move_it = |from: &str, to: &str| daemon.zfs(&format!("rename tank/{from} tank/{to}"));
    let to = format!("{}/a", deep("b", 15));
    assert_eq!(move_it("a/a", &to).err, "cannot rename 'tank/a/a': dataset name is too long\n");
    daemon.command(&["tunable", "set", "zfs_max_dataset_nesting=64"]).status().expect("set");
    move_it("a/a", &to).done();
    daemon.command(&["tunable", "set", "zfs_max_dataset_nesting=50"]).status().expect("set");
    let last = format!("{}/{}", deep("b", 15), deep("a", 39));
    move_it(&last, &format!("{}/{}/z", deep("b", 15), deep("a", 38))).done();
    daemon.stop();
}

#[test]
fn what_is_there_already_is_not_written_again() {
    let scratch = Scratch::new("nopwrite");
    let (mut daemon, at) = mounted(&scratch, "-O compression=lz4 -O checksum=sha256 -O xattr=sa");
    let data: Vec<u8> = (0..4u32 << 20).map(|n| (n / 7 * 31) as u8).collect();
    fs::write(at.join("file"), &data).expect("written");
    daemon.zfs("snapshot tank/fs@before").done();
    let again = |data: &[u8]| {
        let mut file = OpenOptions::new().write(true).open(at.join("file")).expect("opened");
        file.write_all(data).expect("written");
        daemon.zpool("sync tank").done();
        let written = daemon.zfs("get -Hp -o value written tank/fs").done();
        written.trim_end().parse::<u64>().expect("a number")
    };
    assert!(again(&data) < 100_000);
    daemon.zfs("set checksum=fletcher4 tank/fs").done();
    assert!(again(&data) > 100_000);
    assert_eq!(fs::read(at.join("file")).expect("read"), data);
    daemon.zfs("umount tank/fs").done();
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn a_mount_shows_what_was_received_over_it() {
    let scratch = Scratch::new("received-over");
    let (mut daemon, at) = mounted(&scratch, "");
    daemon.zfs("create tank/other").done();
    daemon.zfs("mount tank/other").done();
    let other = scratch.path("mnt/other");
    fs::write(other.join("file"), "of the other").expect("written");
    fs::create_dir(other.join("folder")).expect("made");
    fs::write(other.join("folder/more"), "more").expect("written");
    // The snapshot ends a group: a file of the same number that was made in the same group would
    // pass for the same file.
    daemon.zfs("snapshot tank/other@one").done();
    fs::write(at.join("file"), "of before").expect("written");
    // A mount that nobody uses is mounted anew, so the kernel forgets all that it knew.
    daemon.zfs("create tank/third").done();
    daemon.zfs("mount tank/third").done();
    let third = scratch.path("mnt/third");
    fs::create_dir(third.join("folder")).expect("made");
    fs::create_dir(third.join("gone")).expect("made");
    assert_eq!(fs::read_dir(third.join("folder")).expect("listed").count(), 0);
    daemon.copy("tank/other@one", "-F tank/third").done();
    assert_eq!(fs::read_dir(&third).expect("listed").count(), 2);
    assert_eq!(fs::read_to_string(third.join("folder/more")).expect("read"), "more");
    assert_eq!(errno(fs::metadata(third.join("gone"))), Some(libc::ENOENT));
    let before = File::open(at.join("file")).expect("opened");

    // A whole file system in place of the other: its root is another node.
    daemon.copy("tank/other@one", "-F tank/fs").done();
    assert_eq!(fs::read_to_string(at.join("file")).expect("read"), "of the other");
    assert_eq!(fs::read_to_string(at.join("folder/more")).expect("read"), "more");
    // A file that was open before the receive gives its old data from the page cache, or an error;
    // never the new data.
    match io::read_to_string(&before) {
        Ok(kept) => assert_eq!(kept, "of before"),
        Err(error) => assert!(matches!(error.raw_os_error(), Some(libc::ESTALE | libc::EIO)), "{error}"),
    }
    drop(before);
    fs::write(at.join("new"), "after").expect("written");
    assert_eq!(fs::read_dir(&at).expect("listed").count(), 3);
    daemon.zfs("rollback tank/fs@one").done();

    // What comes on top leaves the root.
    fs::write(other.join("file"), "and of later").expect("written");
    daemon.zfs("snapshot tank/other@two").done();
    daemon.copy("-i @one tank/other@two", "-F tank/fs").done();
    assert_eq!(fs::read_to_string(at.join("file")).expect("read"), "and of later");
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// The directory that was made for a mount goes with the file system, unless somebody put something
/// there or chose the place.
#[test]
fn a_destroyed_file_system_leaves_no_directory() {
    let scratch = Scratch::new("directories");
    let mut daemon = Daemon::start_with(&scratch, "state", &["--automount"]);
    let (a, mnt, own) = (scratch.image("a", 256), scratch.path("mnt"), scratch.folder("own"));
    daemon.zpool(&format!("create -m {} tank {a}", text(&mnt))).done();
    for line in [
        "create tank/fs",
        "create tank/fs/below",
        "create tank/used",
        "create tank/apart",
        "create tank/stays",
    ] {
        daemon.zfs(line).done();
    }
    daemon.zfs(&format!("create -o mountpoint={} tank/own", text(&own))).done();
    let mut all = vec![mnt.join("fs"), mnt.join("used"), mnt.join("stays"), own.clone()];
    assert!(all.iter().all(|at| at.is_dir()));
    daemon.zfs("unmount tank/used").done();
    fs::write(mnt.join("used/file"), "below").expect("written");
    daemon.zfs("destroy -r tank/fs").done();
    daemon.zfs("destroy tank/used").done();
    daemon.zfs("destroy tank/own").done();
    daemon.zfs("unmount -f tank/apart").done();
    daemon.zfs("destroy tank/apart").done();
    assert!(!mnt.join("apart").exists(), "{}", daemon.log());
    assert!(!all.remove(0).exists(), "{}", daemon.log());
    assert!(all.iter().all(|at| at.is_dir()));
    assert_eq!(fs::read_to_string(mnt.join("used/file")).expect("read"), "below");
    daemon.zfs("destroy -r tank").done();
    assert!(!mnt.join("stays").exists() && mnt.join("used").is_dir(), "{}", daemon.log());
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// The kernel knows a mount by the path without symbolic links, and shells end a directory's name
/// with '/'.
#[test]
fn paths_lead_to_mounts_by_links_and_with_a_slash() {
    let scratch = Scratch::new("paths");
    let mut daemon = Daemon::start_with(&scratch, "state", &["--automount"]);
    let (a, mnt, real) = (scratch.image("a", 256), scratch.path("mnt"), scratch.folder("real"));
    let (link, other) = (scratch.path("link"), scratch.path("other"));
    std::os::unix::fs::symlink(&real, &link).expect("made");
    std::os::unix::fs::symlink(&real, &other).expect("made");
    daemon.zpool(&format!("create -m {} tank {a}", text(&mnt))).done();
    daemon.zfs(&format!("create -o mountpoint={} tank/fs", text(&link))).done();
    fs::create_dir(link.join("inside")).expect("made");
    for path in [link.clone(), link.join("inside"), real.clone(), other.clone()] {
        assert_eq!(daemon.zfs(&format!("list -H -o name {}", text(&path))).done(), "tank/fs\n", "{path:?}");
    }
    let mounted = daemon.zfs("mount").done();
    assert!(mounted.lines().any(|line| line.ends_with(&format!(" {}", text(&real)))), "{mounted}");
    for path in [text(&link), format!("{}/", text(&link)), text(&real), format!("{}/", text(&other))] {
        daemon.zfs(&format!("unmount {path}")).done();
        assert_eq!(daemon.zfs("get -H -o value mounted tank/fs").done(), "no\n", "{path}");
        daemon.zfs("mount tank/fs").done();
    }
    for path in [link.join("inside"), scratch.path("nowhere")] {
        let refused = daemon.zfs(&format!("unmount {}", text(&path)));
        assert_eq!(refused.err, format!("cannot unmount '{}': not a mountpoint\n", text(&path)));
    }
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// A directory that was made for a file system goes when that is mounted elsewhere, renamed, or
/// exported, and comes again.
#[test]
fn directories_go_with_what_moves_and_what_is_exported() {
    let scratch = Scratch::new("moving-directories");
    let mut daemon = Daemon::start_with(&scratch, "state", &["--automount"]);
    let (a, mnt, own) = (scratch.image("a", 256), scratch.path("mnt"), scratch.folder("own"));
    daemon.zpool(&format!("create -m {} tank {a}", text(&mnt))).done();
    for name in ["fs", "fs/below", "other", "hidden"] {
        daemon.zfs(&format!("create tank/{name}")).done();
    }
    let is_there = |name: &str| mnt.join(name).is_dir();
    daemon.zfs("rename tank/fs tank/new").done();
    assert!(!is_there("fs") && is_there("new/below"), "{}", daemon.log());
    daemon.zfs(&format!("set mountpoint={} tank/new", text(&own.join("deep")))).done();
    assert!(!is_there("new") && own.join("deep/below").is_dir(), "{}", daemon.log());
    // One that was set is somebody's own.
    daemon.zfs("inherit mountpoint tank/new").done();
    assert!(is_there("new/below") && own.join("deep").is_dir(), "{}", daemon.log());
    // What lies in a directory stays, and so does that.
    daemon.zfs("unmount tank/hidden").done();
    fs::write(mnt.join("hidden/file"), "below").expect("written");
    daemon.zfs("rename tank/hidden tank/shown").done();
    assert_eq!(fs::read_to_string(mnt.join("hidden/file")).expect("read"), "below");

    // The root's own was set; here one follows from the name.
    daemon.zfs(&format!("set mountpoint={} tank", text(&scratch.path("moved")))).done();
    assert!(mnt.is_dir() && scratch.path("moved/other").is_dir(), "{}", daemon.log());
    let (b, root) = (scratch.image("b", 256), scratch.path("root"));
    daemon.zpool(&format!("create -R {} more {b}", text(&root))).done();
    daemon.zfs("create more/fs").done();
    assert!(root.join("more/fs").is_dir(), "{}", daemon.log());
    daemon.zpool("export more").done();
    assert!(root.is_dir() && !root.join("more").exists(), "{}", daemon.log());
    daemon.zpool(&format!("import -R {} -d {} more", text(&root), text(&scratch.path("disks")))).done();
    assert!(root.join("more/fs").is_dir(), "{}", daemon.log());
    // Where something is in use, all stays.
    let held = fs::File::create(root.join("more/fs/file")).expect("made");
    let refused = daemon.zpool("export more");
    assert!(refused.status == 1 && refused.err.contains("pool or dataset is busy"), "{refused:?}");
    assert!(root.join("more/fs/file").is_file(), "{}", daemon.log());
    drop(held);
    daemon.zpool("destroy more").done();
    assert!(root.is_dir() && !root.join("more").exists(), "{}", daemon.log());
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
