//! The mount broker: a daemon without any capability has local mounts by it, and somebody who has
//! taken that daemon over gets nothing else by it.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, listen, socket};

use crate::daemon::{Daemon, PROGRAM, Ran, Scratch, detach, end_with_parent, hand_over, text};
use crate::delegation::command_as;
use crate::suspended::until;
use crate::zdb::stop_and_check;

/// Who the daemon runs as, and somebody else.
const USER: u32 = 61011;
const OTHER: u32 = 61012;
/// One that every user may run.
const PYTHON: &str = "/usr/bin/python3";
/// CAP_DAC_OVERRIDE and CAP_SYS_ADMIN.
const CAPABILITIES: &str = "0000000000200002";

/// The broker as its unit has it: root with two capabilities, its socket held by somebody else.
struct Broker {
    path: PathBuf,
    socket: OwnedFd,
    child: Option<Child>,
    log: PathBuf,
}

impl Broker {
    fn start(scratch: &Scratch) -> Broker {
        let path = scratch.path("mount.sock");
        let (kind, flags) = (SockType::SeqPacket, SockFlag::SOCK_CLOEXEC);
        let socket = socket(AddressFamily::Unix, kind, flags, None).expect("a socket");
        bind(socket.as_raw_fd(), &UnixAddr::new(&path).expect("short")).expect("bound");
        listen(&socket, Backlog::new(64).expect("a number")).expect("listening");
        fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("set");
        chown(&path, Some(USER), Some(USER)).expect("root may");
        let mut broker = Broker { path, socket, child: None, log: scratch.path("broker.log") };
        broker.begin();
        broker
    }

    fn begin(&mut self) {
        let mut command = Command::new("sh");
        command.args(["-c", "LISTEN_PID=$$ LISTEN_FDS=1 exec setpriv \"$@\"", "sh"]);
        command.args(["--bounding-set=-all,+sys_admin,+dac_override", "--no-new-privs", PROGRAM]);
        command.args(["mount-broker", "--user", &USER.to_string(), "--socket", &text(&self.path)]);
        let log = fs::File::options().create(true).append(true).open(&self.log).expect("a log");
        command.stdin(Stdio::null()).stderr(log);
        let handed = [self.socket.as_fd().as_raw_fd()];
        // SAFETY: between fork and exec, system calls that take plain numbers.
        unsafe { command.pre_exec(move || end_with_parent().and_then(|()| hand_over(&handed))) };
        self.child = Some(command.spawn().expect("the broker starts"));
    }

    fn pid(&self) -> u32 {
        self.child.as_ref().expect("running").id()
    }

    /// kill -9.
    fn kill(&mut self) {
        let mut child = self.child.take().expect("running");
        child.kill().expect("killed");
        child.wait().expect("ended");
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("a log")
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        if self.child.is_some() {
            self.kill();
        }
        if std::thread::panicking() {
            eprintln!("the broker's log:\n{}", self.log());
        }
    }
}

/// A daemon without privileges, and its pool, not mounted.
fn start(scratch: &Scratch) -> (Broker, Daemon) {
    let broker = Broker::start(scratch);
    let daemon = Daemon::start_as(scratch, USER, &["--mount-broker", &text(&broker.path)]);
    let image = scratch.image("a", 256);
    chown(&image, Some(USER), Some(USER)).expect("root may");
    daemon.zpool(&format!("create -O canmount=noauto -m {} tank {image}", scratch.text("mnt"))).done();
    (broker, daemon)
}

fn capabilities(pid: u32) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("CapPrm:"));
    line.expect("Linux says so").trim().to_owned()
}

/// Options of what is mounted at a path, one mount after the other.
fn options(at: &Path) -> Vec<String> {
    let all = fs::read_to_string("/proc/self/mounts").expect("it is there");
    let of_it = all.lines().filter(|line| line.split(' ').nth(1) == Some(&text(at)));
    of_it.map(|line| line.split(' ').nth(3).expect("options").to_owned()).collect()
}

fn cat(user: u32, path: &Path) -> Ran {
    Ran::of(command_as(user, None, "cat").arg(path))
}

#[test]
fn a_daemon_without_privileges_has_mounts_for_the_whole_machine() {
    let scratch = Scratch::new("broker");
    let (broker, mut daemon) = start(&scratch);
    assert_eq!(capabilities(daemon.pid()), "0000000000000000");
    let at = scratch.path("mnt/a");
    daemon.zfs("create -o exec=off tank/a").done();
    daemon.zfs("mount tank").done();
    daemon.zfs("mount tank/a").done();
    assert_eq!(capabilities(broker.pid()), CAPABILITIES);
    fs::write(at.join("file"), "for all").expect("written");
    fs::set_permissions(at.join("file"), PermissionsExt::from_mode(0o640)).expect("set");
    chown(at.join("file"), Some(0), Some(OTHER)).expect("root may");
    assert_eq!(cat(OTHER, &at.join("file")).done(), "for all");
    assert_eq!(cat(OTHER + 1, &at.join("file")).status, 1);
    // The groups of who asks are found out by the daemon.
    let in_group = "--reuid=61019 --regid=61019 --groups=61012";
    let mut member = Command::new("setpriv");
    assert_eq!(Ran::of(member.args(in_group.split(' ')).arg("cat").arg(at.join("file"))).done(), "for all");
    // Its directory is root's.
    assert_eq!(fs::metadata(scratch.path("mnt")).expect("mounted").uid(), 0);
    assert!(options(&at)[0].contains("noexec"), "{:?}", options(&at));
    let device = fs::metadata(&at).expect("mounted").dev();
    let ahead = format!("/sys/class/bdi/0:{}/read_ahead_kb", device & 0xff | device >> 12 & 0xff00);
    assert_eq!(fs::read_to_string(ahead).expect("shown").trim(), "1024");

    daemon.zfs("set exec=on tank/a").done();
    daemon.zfs("mount -o remount,ro tank/a").done();
    assert!(!options(&at)[0].contains("noexec") && options(&at)[0].starts_with("ro"), "{:?}", options(&at));
    let held = fs::File::open(at.join("file")).expect("opened");
    assert_eq!(daemon.zfs("unmount tank/a").status, 1, "it is in use");
    drop(held);
    daemon.zfs("unmount tank/a").done();
    assert_eq!(options(&at), [""; 0]);

    // What a daemon mounted that is killed is taken away by the next one, and mounted again.
    daemon.zfs("mount tank/a").done();
    daemon.kill();
    until("the end of the connection", || {
        fs::metadata(&at).is_err_and(|error| error.raw_os_error() == Some(libc::ENOTCONN))
    });
    daemon.begin();
    assert_eq!(cat(0, &at.join("file")).done(), "for all");
    assert_eq!(options(&at).len(), 1);
    // A directory with entries is not covered unless that is wanted, and goes with its dataset.
    daemon.zfs("unmount tank/a").done();
    daemon.zfs("create -o canmount=noauto -o overlay=off tank/b").done();
    let below = scratch.path("mnt/b");
    fs::create_dir_all(below.join("entry")).expect("made");
    assert!(daemon.zfs("mount tank/b").err.contains("not empty"));
    fs::remove_dir(below.join("entry")).expect("removed");
    daemon.zfs("mount tank/b").done();
    assert_eq!(options(&below).len(), 1);
    daemon.zfs("destroy tank/b").done();
    assert!(!below.exists(), "{}", broker.log());
    daemon.zfs("unmount tank").done();
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn a_broker_may_die_and_come_back_and_is_named_where_it_is_missing() {
    let scratch = Scratch::new("broker-dies");
    let (mut broker, mut daemon) = start(&scratch);
    let at = scratch.path("mnt");
    daemon.zfs("mount tank").done();
    broker.kill();
    fs::write(at.join("file"), "without it").expect("written");
    assert_eq!(cat(OTHER, &at.join("file")).done(), "without it");
    broker.begin();
    daemon.zfs("mount -o remount,ro tank").done();
    broker.kill();
    // Nobody starts it again.
    fs::rename(&broker.path, scratch.path("away.sock")).expect("moved");
    let ran = daemon.zfs("unmount tank");
    let cure = "systemctl start cistern-mount.socket";
    assert!(ran.status == 1 && ran.err.contains(cure), "{ran:?}");
    daemon.zfs("create tank/a").done();
    let ran = daemon.zfs("mount tank/a");
    assert!(ran.status == 1 && ran.err.contains("does not answer") && ran.err.contains(cure), "{ran:?}");
    assert_eq!(cat(OTHER, &at.join("file")).done(), "without it");
    fs::rename(scratch.path("away.sock"), &broker.path).expect("moved");
    broker.begin();
    daemon.zfs("mount -o remount,rw tank").done();
    daemon.zfs("mount tank/a").done();
    daemon.zfs("unmount tank/a").done();
    daemon.zfs("unmount tank").done();
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn nobody_is_led_elsewhere() {
    let scratch = Scratch::new("broker-paths");
    let (_broker, mut daemon) = start(&scratch);
    let victim = scratch.folder("victim");
    symlink(&victim, scratch.path("link")).expect("made");
    let home = scratch.folder("home");
    chown(&home, Some(OTHER), Some(OTHER)).expect("root may");
    fs::create_dir(scratch.path("daemons")).expect("made");
    chown(scratch.path("daemons"), Some(USER), Some(USER)).expect("root may");
    daemon.zfs("create -o canmount=noauto tank/a").done();
    let mount = |at: &str| {
        daemon.zfs(&format!("set mountpoint={at} tank/a")).done();
        daemon.zfs("mount tank/a")
    };
    let (kept, link) = ("changes nothing there", "a symbolic link leads there");
    for (at, why) in [
        (scratch.text("link"), link),
        (scratch.text("link/a"), link),
        (scratch.text("home"), kept),
        (scratch.text("home/.ssh"), kept),
        ("/etc".to_owned(), kept),
        ("/etc/cistern-broker-test".to_owned(), kept),
        ("/usr/local/cistern-broker-test".to_owned(), kept),
        ("/var/cistern-broker-test".to_owned(), kept),
    ] {
        let ran = mount(&at);
        assert!(ran.status == 1 && ran.err.contains(why), "{at}: {ran:?}");
    }
    let inside = |at: &Path| fs::read_dir(at).expect("a folder").count();
    assert_eq!((inside(&victim), inside(&home)), (0, 0));
    assert!(
        !Path::new("/etc/cistern-broker-test").exists() && !Path::new("/var/cistern-broker-test").exists()
    );
    mount(&scratch.text("daemons/a")).done();
    assert_eq!(options(&scratch.path("daemons/a")).len(), 1);

    // The directory becomes a link while it is mounted there, again and again: it lands there, or
    // nowhere.
    daemon.zfs("unmount tank/a").done();
    daemon.zfs(&format!("set mountpoint={} tank/a", scratch.text("race"))).done();
    let (race, there) = (scratch.path("race"), scratch.path("there"));
    fs::create_dir_all(&there).expect("made");
    let ended = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                // What is mounted on cannot be renamed.
                drop(fs::rename(&there, &race));
                drop(fs::rename(&race, &there));
                drop(symlink(&victim, &race));
                drop(fs::remove_file(&race));
            }
        });
        for _ in 0..30 {
            if daemon.zfs("mount tank/a").status == 0 {
                daemon.zfs("unmount tank/a").done();
            }
            assert_eq!(options(&victim), [""; 0]);
        }
        ended.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// What somebody says who has taken the daemon over: raw messages, each with the second byte of its
/// answer.
const HOSTILE: &str = r#"
import os, socket, struct, sys
path, own, theirs = sys.argv[1], sys.argv[2].encode(), sys.argv[3].encode()
def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(path)
    s.settimeout(20)
    return s
def ask(message):
    s = connect()
    s.send(message)
    return s.recv(65536)[1]
def request(what, path, source=b"", flags=0, how=0):
    return struct.pack("<BBBBHH", 1, what, flags, how, len(path), len(source)) + path + source
MOUNT, REMOUNT, UNMOUNT, CUT = 5, 7, 8, 9
NOT_OURS, KEPT, ERRNO, VERSION, ODD = 18, 19, 16, 34, 35
for how in range(3):
    for at in (b"/", b"/proc", own, theirs):
        assert ask(request(UNMOUNT, at, how=how)) == NOT_OURS, (at, how)
for at in (b"/", own, theirs):
    assert ask(request(REMOUNT, at, flags=1)) == NOT_OURS, at
minor = struct.pack("<I", os.minor(os.stat(theirs).st_dev))
assert ask(request(CUT, b"\0\0\0\0", minor)) in (NOT_OURS, ERRNO)
for at in (b"/", b"/etc", b"/usr/bin", b"/proc/1", b"/root/.ssh", b"/run/x"):
    assert ask(request(MOUNT, at, b"tank", how=1)) == KEPT, at
for at in (b"/srv/../etc", b"/srv//x", b"/srv/./x", b"/srv/x/"):
    assert ask(request(MOUNT, at, b"tank", how=1)) == ERRNO, at
for message in (b"x", os.urandom(9), request(MOUNT, b"etc", b"tank"), request(MOUNT, b"/a\0b", b"t"),
                request(MOUNT, b"/srv", b"t", flags=255), request(200, b"/srv"), request(UNMOUNT, b"/srv", how=9),
                request(UNMOUNT, b"/srv") + b"more", b"\1" * 5000, b"\1" * 100000):
    assert ask(message) in (VERSION, ODD), message[:16]
# Hundreds that say nothing, or never read what they are told.
held = []
for number in range(300):
    try:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.settimeout(1)
        s.connect(path)
        if number % 2:
            s.send(request(1, b"/srv"))
        held.append(s)
    except OSError:
        pass
print(len(held))
sys.stdout.flush()
sys.stdin.read()
"#;

#[test]
fn a_daemon_that_was_taken_over_gets_nothing_else() {
    let scratch = Scratch::new("broker-hostile");
    let (broker, mut daemon) = start(&scratch);
    // A file system that is not FUSE, and one of another daemon.
    let (own, theirs) = (scratch.folder("tmpfs"), scratch.path("theirs"));
    Ran::of(Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(&own)).done();
    let other = Daemon::start_with(&scratch, "other", &[]);
    let image = scratch.image_in("others", "b", 128);
    other.zpool(&format!("create -m {} theirs {image}", text(&theirs))).done();
    other.zfs("mount theirs").done();
    fs::write(theirs.join("file"), "theirs").expect("written");

    let mut hostile = command_as(USER, None, PYTHON);
    hostile.args(["-c", HOSTILE, &text(&broker.path), &text(&own), &text(&theirs)]);
    let mut hostile = hostile.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python");
    let mut line = String::new();
    let out = hostile.stdout.take().expect("piped");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("it speaks");
    assert!(line.trim().parse::<u32>().is_ok_and(|held| held > 64), "{line}\n{}", broker.log());
    // They hold the broker for some seconds, though they stay.
    until("a mount beside them", || daemon.zfs("mount tank").status == 0);
    assert_eq!(options(&scratch.path("mnt")).len(), 1);
    drop(hostile.stdin.take());
    assert!(hostile.wait().expect("ended").success());
    assert_eq!((options(&own).len(), options(&theirs).len()), (1, 1));
    assert_eq!(cat(OTHER, &theirs.join("file")).done(), "theirs");

    // Others do not get in at all, also where they could connect.
    let ask = "import socket,sys\ns=socket.socket(socket.AF_UNIX,socket.SOCK_SEQPACKET)\ns.connect(sys.argv[1])\n\
               print(s.recv(100)[1])";
    let stranger = |user: u32| Ran::of(command_as(user, None, PYTHON).args(["-c", ask]).arg(&broker.path));
    assert!(stranger(OTHER).err.contains("Permission denied"));
    fs::set_permissions(&broker.path, PermissionsExt::from_mode(0o666)).expect("set");
    assert_eq!((stranger(OTHER).done(), stranger(0).done()), ("33\n".into(), "33\n".into()));
    daemon.zfs("unmount tank").done();
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
    drop(other);
    detach(&theirs);
}
