//! The shell on a real terminal: questions, completion, what is asked before something is
//! destroyed, a session that is recorded at one daemon and typed again at another, and what
//! is left of the terminal.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};
use nix::sys::termios::{LocalFlags, Termios, tcgetattr};

use crate::daemon::{Daemon, PATIENCE, Ran, Scratch};
use crate::https::Site;

/// A shell, and the terminal in front of it.
struct Session {
    child: Child,
    keys: File,
    /// As long as this is open, the terminal is.
    _terminal: OwnedFd,
    screen: Receiver<Vec<u8>>,
    /// What was shown and nobody has waited for yet.
    shown: String,
}

impl Session {
    fn open(daemon: &Daemon, scratch: &Scratch) -> Session {
        let size = Winsize { ws_row: 50, ws_col: 500, ws_xpixel: 0, ws_ypixel: 0 };
        let ends = openpty(Some(&size), None).expect("a terminal");
        let own = |end: &OwnedFd| Stdio::from(end.try_clone().expect("another one"));
        // So that Ctrl-C is a signal to it.
        let mut command = Command::new("setsid");
        let plain = daemon.command(&[]);
        command.arg("--ctty").arg(plain.get_program());
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdin(own(&ends.slave)).stdout(own(&ends.slave)).stderr(own(&ends.slave));
        command.env("TERM", "xterm").env("XDG_STATE_HOME", scratch.path("xdg"));
        command.env("XDG_CONFIG_HOME", scratch.path("config"));
        let child = command.spawn().expect("the shell starts");
        drop(command);
        let keys = File::from(ends.master);
        let mut from = keys.try_clone().expect("another one");
        let (tell, screen) = mpsc::channel();
        // Ends when nobody has the other end of the terminal.
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(len @ 1..) = from.read(&mut bytes) {
                if tell.send(bytes[..len].to_vec()).is_err() {
                    return;
                }
            }
        });
        let mut session = Session { child, keys, _terminal: ends.slave, screen, shown: String::new() };
        session.expect("cistern local");
        session
    }

    /// Waits for a text, and gives all that was shown before it.
    #[track_caller]
    fn expect(&mut self, text: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.shown.find(text) {
                let rest = self.shown.split_off(at + text.len());
                return std::mem::replace(&mut self.shown, rest);
            }
            let left = end.saturating_duration_since(Instant::now());
            match self.screen.recv_timeout(left) {
                Ok(bytes) => self.shown += &String::from_utf8_lossy(&bytes),
                Err(why) => panic!("'{text}' does not come ({why}):\n{}", self.shown),
            }
        }
    }

    fn keys(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).expect("typed");
    }

    /// Types a line and waits for the next prompt; gives what was shown between.
    #[track_caller]
    fn line(&mut self, line: &str) -> String {
        self.keys(&format!("{line}\r"));
        self.expect("\n");
        self.expect("cistern local")
    }

    fn mode(&self) -> Termios {
        tcgetattr(&self.keys).expect("the terminal is open")
    }

    /// Waits until a command runs, so that Ctrl-C is a signal and no key of a line.
    #[track_caller]
    fn is_at_work(&self) {
        let end = Instant::now() + PATIENCE;
        while !self.mode().local_flags.contains(LocalFlags::ISIG) {
            assert!(Instant::now() < end, "no command runs:\n{}", self.shown);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn signal(&self, signal: &str) {
        Command::new("kill").args([signal, &self.child.id().to_string()]).status().expect("kill");
    }

    /// Waits for its end, and gives its status.
    #[track_caller]
    fn end(&mut self) -> i32 {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("our child") {
                return status.code().unwrap_or(-1);
            }
            assert!(Instant::now() < end, "it does not end:\n{}", self.shown);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[track_caller]
    fn leave(mut self) -> i32 {
        self.keys("exit\r");
        self.end()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It has ended where the test went well.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Lines on standard input, where there is no terminal.
fn piped(daemon: &Daemon, scratch: &Scratch, lines: &str) -> Ran {
    let mut command = daemon.command(&["shell"]);
    command.env("XDG_CONFIG_HOME", scratch.path("config"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the shell starts");
    child.stdin.take().expect("piped").write_all(lines.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { status: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
}

fn pool(scratch: &Scratch, name: &str) -> Daemon {
    let daemon = Daemon::start_with(scratch, name, &[]);
    let disk = scratch.image_in(&format!("{name}-disks"), "a", 128);
    daemon.zpool(&format!("create -m none tank {disk}")).done();
    daemon
}

/// What a session is to bring.
fn outcome(daemon: &Daemon) -> String {
    let names = daemon.zfs("list -r -H -t all -o name tank").done();
    names + &daemon.zfs("get -H -o name,property,value sharenfs,compression,atime tank/home").done()
}

#[test]
fn a_session_is_recorded_and_typed_again_elsewhere() {
    let scratch = Scratch::new("shell");
    let (one, two) = (pool(&scratch, "one"), pool(&scratch, "two"));
    let recording = scratch.text("session.cistern");
    let mut shell = Session::open(&one, &scratch);
    shell.line(&format!("record start {recording}"));
    // What was left out is asked for.
    shell.keys("create filesystem\r");
    let asked = shell.expect("name: ");
    assert!(asked.contains("such as tank/home"), "{asked}");
    shell.line("tank/home");
    shell.line("share filesystem tank/home");
    // Another program of ours, and a secret.
    shell.line("zfs set compression=lz4 my:password=hunter2 tank/home");
    shell.line("setup filesystem tank/home properties atime=off");
    shell.line("create snapshot tank/home@monday");
    shell.line("create volume tank/disk 8M");
    shell.line("iscsi map tank/disk -u esx -s hunter2hunter2");
    let refused = shell.line("create filesystem tank/home");
    assert!(refused.contains("dataset already exists"), "{refused}");
    let listed = shell.line("show snapshots tank/home");
    assert!(listed.contains("NAME") && listed.contains("tank/home@monday"), "{listed}");
    shell.line("record stop");
    // What would be lost is shown first.
    let refused = shell.line("destroy filesystem tank/home");
    assert!(refused.contains("use '-r' to destroy"), "{refused}");
    shell.keys("destroy filesystem tank/home -r\r");
    let asked = shell.expect("Destroy it?");
    assert!(asked.contains("tank/home@monday"), "{asked}");
    let given_up = shell.line("no");
    assert!(given_up.contains("nothing was done"), "{given_up}");
    // Tab completes a verb, a noun and a name.
    shell.keys("sho\t");
    shell.expect("show ");
    shell.keys("poo\t");
    shell.expect("pool ");
    let shown = shell.line("ta\t");
    assert!(shown.contains("tank"), "{shown}");
    assert_eq!(shell.leave(), 0);

    let text = fs::read_to_string(&recording).expect("a recording");
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines[0], "create filesystem name=tank/home");
    assert_eq!(lines[2], "zfs set compression=lz4 my:password=? tank/home");
    assert_eq!(lines[6], "iscsi map tank/disk -u esx -s ?");
    assert_eq!(lines.len(), 8, "{text}");
    assert!(text.contains("# failed: create filesystem name=tank/home"), "{text}");
    let history = scratch.path("xdg/cistern/history");
    let kept = fs::read_to_string(&history).expect("a history");
    assert!(kept.contains("share filesystem tank/home") && !kept.contains("hunter2"), "{kept}");
    for file in [&history, &scratch.path("session.cistern")] {
        assert_eq!(fs::metadata(file).expect("there").permissions().mode() & 0o077, 0, "{file:?}");
    }

    let before = two.zfs("list -r -H -o name tank").done();
    let mut shell = Session::open(&two, &scratch);
    let shown = shell.line(&format!("run -n {recording}"));
    assert!(shown.contains("POST /v1/datasets {"), "{shown}");
    assert_eq!(two.zfs("list -r -H -o name tank").done(), before, "nothing was done");
    shell.keys(&format!("run {recording}\r"));
    shell.expect("my:password: ");
    shell.keys("battery\r");
    shell.expect("secret: ");
    shell.line("correct horse battery");
    // It stops where something fails, unless it is told not to.
    let again = shell.line(&format!("run {recording}"));
    assert!(again.contains("dataset already exists") && !again.contains("> share"), "{again}");
    shell.keys(&format!("run --keep-going {recording}\r"));
    shell.expect("my:password: ");
    shell.keys("battery\r");
    shell.expect("secret: ");
    let further = shell.line("correct horse battery");
    assert!(further.contains("> show snapshot"), "{further}");
    assert_eq!(shell.leave(), 1, "the status of the last line");
    assert_eq!(outcome(&one), outcome(&two));
    assert_eq!(two.zfs("get -H -o value my:password tank/home").done(), "battery\n");
}

#[test]
fn without_a_terminal_nothing_is_asked() {
    let scratch = Scratch::new("shell-pipe");
    let daemon = pool(&scratch, "state");
    daemon.zfs("create tank/a").done();
    let usage = daemon.run(&[]);
    assert!(usage.status == 2 && usage.err.contains("usage:"), "{usage:?}");
    let refused = piped(&daemon, &scratch, "create filesystem\n");
    assert!(refused.status == 2 && refused.err.contains("name is missing"), "{refused:?}");
    let refused = piped(&daemon, &scratch, "destroy filesystem tank/a\n");
    assert!(refused.status == 1 && refused.err.contains("-y does"), "{refused:?}");
    assert!(refused.out.contains("at local: tank/a"), "{refused:?}");
    piped(&daemon, &scratch, "destroy filesystem tank/a -y\n").done();
    assert_eq!(daemon.zfs("list -H -o name").done(), "tank\n");
    // What does nothing leaves the status as it is.
    assert_eq!(piped(&daemon, &scratch, "zfs list nothing\n\n# the end\nexit\nzfs list\n").status, 1);
    assert_eq!(piped(&daemon, &scratch, "zfs list nothing\nzfs list\n").status, 0);
    // No line comes to another shell.
    let odd = piped(&daemon, &scratch, "ls\n!ls\nshow pool; ls\nzfs list $(ls)\n");
    assert!(odd.status != 0 && !odd.out.contains("session"), "{odd:?}");
    let help = piped(&daemon, &scratch, "help\nshow ?\ncreate volume ?\n").done();
    assert!(help.contains("switch HOST") && help.contains("show pool NAME iostat"), "{help}");
    assert!(help.contains("usage: create volume NAME VOLSIZE"), "{help}");
    let json = piped(&daemon, &scratch, "show pools --json\n").done();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json).expect("JSON")[0]["name"], "tank");
    // A group, of this machine alone.
    let lines = "create group lab local\nshow group\nswitch group lab\nzpool list -H -o name\nshow pool\n";
    let group = piped(&daemon, &scratch, lines).done();
    assert!(group.contains("== local\ntank\n== local\nNAME"), "{group}");
    let failed = piped(&daemon, &scratch, "switch group lab\nzfs list nothing\n");
    assert!(failed.status == 1 && failed.out.contains("== local (status 1)"), "{failed:?}");
}

#[test]
fn whatever_ends_it_the_terminal_is_as_it_was() {
    let scratch = Scratch::new("shell-ends");
    let daemon = Daemon::start(&scratch);
    // What is typed first and what comes then, what ends it, and its status.
    let to_secret = "create user ada role=operator\r";
    for (typed, shown, ending, status) in [
        ("", "", "\u{4}", 0),
        ("exit\r", "", "", 0),
        ("show po", "", "-TERM", 143),
        ("create filesystem\r", "name: ", "-HUP", 129),
        (to_secret, "password: ", "-TERM", 143),
    ] {
        let mut shell = Session::open(&daemon, &scratch);
        let line = shell.mode();
        shell.keys(typed);
        shell.expect(shown);
        match ending.strip_prefix('-') {
            Some(_) => shell.signal(ending),
            None => shell.keys(ending),
        }
        assert_eq!(shell.end(), status, "{typed:?} {ending:?}");
        let left = shell.mode();
        let usual = LocalFlags::ECHO | LocalFlags::ICANON | LocalFlags::ISIG;
        assert!(left.local_flags.contains(usual), "{typed:?} {ending:?}: {left:?}");
        assert!(!line.local_flags.intersects(usual), "a line is edited key by key: {line:?}");
    }
    // A secret is given up as all else is, and is not shown.
    let mut shell = Session::open(&daemon, &scratch);
    shell.keys(to_secret);
    shell.expect("password: ");
    shell.keys("hunter2\u{3}");
    let given_up = shell.expect("cistern local");
    assert!(given_up.contains("given up") && !given_up.contains("hunter2"), "{given_up}");
    assert_eq!(shell.leave(), 1, "the status of the last line");
}

#[test]
fn a_daemon_that_hangs_or_is_gone_holds_nobody() {
    let scratch = Scratch::new("shell-hangs");
    let mut daemon = pool(&scratch, "state");
    let hostile = "x:y=a\u{1b}[2Jb";
    daemon.run(&["zfs", "set", hostile, "tank"]).done();
    let mut shell = Session::open(&daemon, &scratch);
    let shown = shell.line("zfs get -H -o value x:y tank");
    assert!(shown.contains("a?[2Jb") && !shown.contains("\u{1b}[2J"), "{shown:?}");
    assert!(shell.line("show pool").contains("tank"));
    // Nor does a command that waits by itself, or asks.
    shell.keys("zpool iostat tank 600\r");
    shell.expect("capacity");
    shell.keys("\u{3}");
    shell.expect("cistern local");
    let file = scratch.text("appliance.toml");
    shell.line("zfs set atime=on tank");
    shell.line(&format!("export-config -o {file}"));
    shell.line("zfs set atime=off tank");
    shell.keys(&format!("apply {file}\r"));
    shell.expect("[y/N] ");
    shell.keys("y\u{3}");
    shell.expect("given up");
    shell.expect("cistern local");
    assert_eq!(daemon.zfs("get -H -o value atime tank").done(), "off\n");

    daemon.signal("-STOP");
    shell.keys("show pool\r");
    shell.is_at_work();
    shell.keys("\u{3}");
    shell.expect("interrupted");
    shell.expect("cistern local not answering");
    daemon.signal("-CONT");
    assert!(shell.line("show pool").contains("tank"));

    daemon.kill();
    let gone = shell.line("show pool");
    assert!(gone.contains("is not running"), "{gone}");
    shell.expect("not answering");
    daemon.begin();
    let back = shell.line("show version");
    assert!(!back.contains("is not running"), "{back}");
    assert_eq!(shell.leave(), 0);
}

#[test]
fn a_group_of_machines_does_what_one_does_and_one_that_is_gone_holds_up_none() {
    let (scratch, elsewhere) = (Scratch::new("shell-group"), Scratch::new("shell-group-2"));
    let one = pool(&scratch, "state");
    let mut site = Site::start_with(&elsewhere, &[]);
    let disk = elsewhere.image("a", 128);
    site.daemon.zpool(&format!("create -m none tank {disk}")).done();
    let far = site.log_in_from(&scratch.path("config"));
    let lines = format!("create group lab local {far}\nswitch group lab\n");
    let group = |more: &str| piped(&one, &scratch, &format!("{lines}{more}"));

    let made = group("create filesystem tank/c compression=lz4\nzfs list -H -o name\n").done();
    let listed = "tank\ntank/c\n";
    assert_eq!(made, format!("== local\n== {far}\n== local\n{listed}== {far}\n{listed}"));
    // What would be destroyed is told of each.
    let asked = group("destroy filesystem tank/c\n");
    assert!(asked.status == 1 && asked.out.contains(&format!("  at {far}: tank/c")), "{asked:?}");
    let asks = group("user add eve\n");
    assert!(asks.status == 1 && asks.err.contains("for one machine at a time"), "{asks:?}");
    site.daemon.zfs("destroy tank/c").done();
    let half = group("destroy filesystem tank/c -y\n");
    assert_eq!(half.status, 1, "{half:?}");
    assert_eq!(half.out, format!("== local\n== {far} (status 1)\n"), "{half:?}");
    site.daemon.kill();
    let half = group("zfs list -H -o name\n");
    assert_eq!((half.status, half.out), (1, format!("== local\ntank\n== {far} (status 1)\n")));
    assert!(half.err.contains(&format!("cannot reach the Cistern daemon at {far}")), "{}", half.err);
    // Also where it is the first one.
    let lines = format!("create group back {far} local\nswitch group back\nshow pool\n");
    let half = piped(&one, &scratch, &lines);
    assert!(half.status == 1 && half.out.contains("== local\nNAME"), "{half:?}");
}
