//! Projects as an administrator gives them, by our command and by chattr, and as clients meet their
//! limits.

use std::fs;
use std::io;
use std::process::Command;

use crate::daemon::{Daemon, Ran, Scratch};
use crate::libnfs::Client;
use crate::zdb::stop_and_check;

/// What `zfs project` lists, in the order of names.
#[track_caller]
fn listed(daemon: &Daemon, line: &str) -> Vec<String> {
    let told = daemon.zfs(&format!("project {line}")).done();
    let mut lines: Vec<String> = told.lines().map(str::to_owned).collect();
    lines.sort_by_key(|line| line.split_at(8).1.to_owned());
    lines
}

#[track_caller]
fn errno<T>(done: io::Result<T>) -> Option<i32> {
    done.err().expect("an error").raw_os_error()
}

#[test]
fn projects_are_given_listed_checked_limited_and_taken_away() {
    let scratch = Scratch::new("projects");
    let mut daemon = Daemon::start(&scratch);
    let (a, mnt) = (scratch.image("a", 256), scratch.text("mnt"));
    daemon.zpool(&format!("create -O compression=off -m {mnt} tank {a}")).done();
    daemon.zfs("create -o sharenfs=rw,no_root_squash,insecure tank/fs").done();
    daemon.zfs("mount tank/fs").done();
    let (at, root) = (scratch.path("mnt/fs"), scratch.text("mnt/fs"));
    let (home, joe) = (format!("{root}/home"), format!("{root}/home/joe"));
    fs::create_dir_all(at.join("home/joe/deep")).expect("made");
    fs::write(at.join("home/joe/a b"), [7; 5000]).expect("written");
    fs::write(at.join("home/jane"), "hers").expect("written");
    std::os::unix::fs::symlink("nowhere", at.join("home/joe/link")).expect("made");

    assert_eq!(daemon.zfs(&format!("project -s -p 1001 -r {joe}")).done(), "");
    let mine = [format!(" 1001 P {joe}"), format!(" 1001 P {joe}/a b"), format!(" 1001 P {joe}/deep")];
    assert_eq!(listed(&daemon, &format!("-r {joe}")), mine);
    assert_eq!(listed(&daemon, &format!("-d {joe}")), mine[..1]);
    assert_eq!(
        listed(&daemon, &home),
        [format!("    0 - {home}"), format!("    0 - {home}/jane"), mine[0].clone()]
    );
    fs::write(at.join("home/joe/deep/new"), "made in it").expect("written");
    assert_eq!(listed(&daemon, &format!("{joe}/deep/new")), [format!(" 1001 P {joe}/deep/new")]);
    assert_eq!(daemon.zfs(&format!("project -c -r {joe}")).done(), "");
    let wrong = daemon.zfs(&format!("project -c -p 1001 {home}/jane")).done();
    let jane = format!("{home}/jane");
    assert_eq!(
        wrong,
        format!(
            "{jane} - project ID is not set properly (0/1001)\n{jane} - project inherit flag is not set\n"
        )
    );
    assert_eq!(daemon.zfs(&format!("project -c -0 -p 1001 {jane}")).done(), format!("{jane}\0"));

    // The kernel's own way to ask.
    let run = |name: &str, words: &[&str]| Ran::of(Command::new(name).args(words)).done();
    run("chattr", &["-p", "1002", &jane]);
    assert_eq!(listed(&daemon, &jane), [format!(" 1002 - {jane}")]);
    let told = run("lsattr", &["-p", "-d", &joe]);
    let words: Vec<&str> = told.split_whitespace().collect();
    assert!(words[0] == "1001" && words[1].contains('P') && words[2] == joe, "{told}");
    assert_eq!(Ran::of(Command::new("chattr").args(["+S", &jane])).status, 1);

    // Limits: over FUSE and NFS, and to df.
    daemon.zfs("set projectquota@1001=1M projectobjquota@1001=6 tank/fs").done();
    let size = run("df", &["-B1", "--output=size,itotal", &joe]);
    assert_eq!(size.lines().nth(1).map(|line| line.split_whitespace().collect()), Some(vec!["1048576", "6"]));
    fs::write(at.join("home/joe/large"), vec![7; 2 << 20]).expect("counted only when it is synced");
    daemon.zpool("sync tank").done();
    assert_eq!(errno(fs::write(at.join("home/joe/a b"), "more")), Some(libc::EDQUOT));
    let client = Client::mount(&daemon, &root).expect("mounted");
    let full = client.write_file("/home/joe/more", 0o644, b"more").expect_err("over quota");
    assert!(full.to_string().contains("NFS3ERR_DQUOT"), "{full}");
    client.write_file("/home/else", 0o644, b"more").expect("no limit here");
    assert_eq!(errno(fs::rename(at.join("home/else"), at.join("home/joe/else"))), Some(libc::EXDEV));
    assert_eq!(errno(fs::hard_link(at.join("home/else"), at.join("home/joe/else"))), Some(libc::EXDEV));
    let told = daemon.zfs("projectspace -H -o name,quota,objused,objquota tank/fs").done();
    assert!(told.contains("1001\t1M\t5\t6\n") && told.contains("1002\tnone\t1\tnone\n"), "{told}");
    let over = daemon.zfs(&format!("project -p 1001 {home}/else"));
    assert_eq!(over.err, format!("failed to set xattr for {home}/else: Disk quota exceeded\n"));
    assert_eq!(over.status, 255);
    daemon.zfs("set projectquota@1001=none projectobjquota@1001=none tank/fs").done();

    daemon.zfs(&format!("project -C -k {joe}")).done();
    assert_eq!(listed(&daemon, &format!("-d {joe}")), [format!(" 1001 - {joe}")]);
    daemon.zfs(&format!("project -C -r {joe}")).done();
    assert!(listed(&daemon, &format!("-r {joe}")).iter().all(|line| line.starts_with("    0 - ")));

    let refused = |line: &str, why: &str| {
        let ran = daemon.zfs(&format!("project {line}"));
        assert_eq!((ran.status, ran.err.trim_end()), (255, why), "{line}");
    };
    refused(&format!("{root}/none"), &format!("failed to stat {root}/none: No such file or directory"));
    refused("/proc/self", "failed to get xattr for /proc/self: Inappropriate ioctl for device");
    refused(&format!("-r {jane}"), &format!("'-r' option on non-dir target {jane}"));
    refused(&format!("-c -d {jane}"), &format!("'-d' option on non-dir target {jane}"));
    daemon.zfs("snapshot tank/fs@s").done();
    // Not mounted here, it lies where its clients see it.
    daemon.zfs("unmount -a").done();
    assert_eq!(listed(&daemon, &jane), [format!(" 1002 - {jane}")]);
    drop(client);
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
