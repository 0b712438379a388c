//! mount(8) and /etc/fstab: file systems whose mountpoint is `legacy`, through
//! `mount.fuse.cistern`.

use std::fs;
use std::process::Command;

use crate::daemon::{Daemon, PROGRAM, Ran, Scratch};
use crate::zdb::stop_and_check;

/// mount(8), where there is a link for it in /sbin: in a mount namespace of its own, for the
/// machine's is not ours.
fn mount(daemon: &Daemon, line: &str) -> Ran {
    let link = format!("ln -s {PROGRAM} /sbin/mount.fuse.cistern");
    let shell = format!("mount -t tmpfs tmpfs /sbin && {link} && exec mount {line}");
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "slave", "sh", "-c", &shell]);
    Ran::of(command.env("CISTERN_SOCKET", daemon.socket()))
}

#[test]
fn mount_8_and_fstab_mount_what_zfs_mount_leaves_to_them() {
    let scratch = Scratch::new("mount8");
    let mut daemon = Daemon::start(&scratch);
    let (a, mnt) = (scratch.image("a", 256), scratch.text("mnt"));
    daemon.zpool(&format!("create -m {mnt} tank {a}")).done();
    daemon.zfs("create -o mountpoint=legacy tank/home").done();
    daemon.zfs("create tank/other").done();
    let refused = daemon.zfs("mount tank/home");
    assert_eq!(
        (refused.status, refused.err.as_str()),
        (1, "cannot mount 'tank/home': legacy mountpoint\nuse mount(8) to mount this filesystem\n")
    );
    let (home, at) = (scratch.folder("home"), scratch.text("home"));
    fs::write(home.join("hidden"), "what is below").expect("written");

    assert_eq!(mount(&daemon, &format!("-t fuse.cistern -o noatime,ro tank/home {at}")).done(), "");
    assert_eq!(daemon.zfs("mount").done(), format!("{:<30}  {at}\n", "tank/home"));
    let mounts = fs::read_to_string("/proc/self/mounts").expect("read");
    let line = mounts.lines().find(|line| line.starts_with(&format!("tank/home {at} "))).expect("mounted");
    assert!(line.contains(" fuse.cistern ro,noatime,"), "{line}");
    assert!(fs::write(home.join("file"), "x").is_err(), "it is read-only");
    mount(&daemon, &format!("-o remount,rw {at}")).done();
    fs::write(home.join("file"), "in it").expect("written");
    let again = mount(&daemon, &format!("-t fuse.cistern tank/home {at}"));
    assert_eq!((again.status, again.err.as_str()), (32, "filesystem 'tank/home' is already mounted\n"));
    Ran::of(Command::new("umount").arg(&at)).done();
    assert!(home.join("hidden").exists());

    let fstab = scratch.path("fstab");
    let options = "defaults,nofail,x-systemd.requires=cistern.service";
    fs::write(&fstab, format!("tank/home {at} fuse.cistern {options} 0 0\n")).expect("written");
    mount(&daemon, &format!("--fstab {} {at}", fstab.display())).done();
    assert_eq!(fs::read_to_string(home.join("file")).expect("read"), "in it");
    daemon.zfs("unmount tank/home").done();

    for (what, status, said) in [
        (
            format!("tank/other {at}"),
            32,
            format!(
                "filesystem 'tank/other' cannot be mounted using 'mount'.\n\
                 Use 'zfs set mountpoint={at}' or 'zfs mount tank/other'.\n\
                 See zfs(8) for more information.\n"
            ),
        ),
        (
            format!("tank/none {at}"),
            32,
            "filesystem 'tank/none' cannot be mounted, unable to open the dataset\n".into(),
        ),
    ] {
        let ran = mount(&daemon, &format!("-t fuse.cistern {what}"));
        assert_eq!((ran.status, ran.err), (status, said), "{what}");
    }
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
