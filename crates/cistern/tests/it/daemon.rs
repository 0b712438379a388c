//! The appliance as a user runs it: the daemon in a folder of its own, commands through its socket,
//! an end by signal.
//!
//! Everything ends with the value that stands for it, also when a test fails: daemons by process
//! id, mounts below the folder, the folder itself. A daemon also ends with the thread of its test,
//! should that be killed.
//!
//! Tests run at the same time, several test programs too, and must not meet: each has a folder and
//! each daemon a loopback address of its own.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::chown;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use serde_json::Value;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_cistern");
/// How long a start or a stop may take: far more than it needs, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Something to read while the tests run: the harness keeps what tests print until they fail.
pub fn say(text: &str) {
    drop(std::io::stderr().write_all(format!("    {text}\n").as_bytes()));
}

/// Runs a part of a test and says how long it took.
pub fn timed<T>(what: &str, part: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = part();
    say(&format!("{what}: {:.1} s", start.elapsed().as_secs_f64()));
    done
}

/// A folder of a test's own, gone at the end with all that is mounted below it.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        Scratch::below(&std::env::temp_dir(), name)
    }

    /// In memory: for tests of very many transaction groups, which would wait for a disk most of
    /// the time.
    pub fn in_memory(name: &str) -> Scratch {
        Scratch::below(Path::new("/dev/shm"), name)
    }

    fn below(folder: &Path, name: &str) -> Scratch {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("cistern-e2e-{name}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = folder.join(name);
        fs::create_dir_all(&path).expect("a scratch folder");
        Scratch(path.canonicalize().expect("it was just made"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn text(&self, name: &str) -> String {
        text(&self.0.join(name))
    }

    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(&path).expect("a folder");
        path
    }

    /// A sparse image `disks/NAME.img`.
    pub fn image(&self, name: &str, mib: u64) -> String {
        self.image_in("disks", name, mib)
    }

    pub fn image_in(&self, folder: &str, name: &str, mib: u64) -> String {
        let path = self.folder(folder).join(format!("{name}.img"));
        File::create(&path).and_then(|file| file.set_len(mib << 20)).expect("a sparse file");
        text(&path)
    }

    /// Takes images out of `disks`, where nobody finds them.
    pub fn put_away(&self, names: &[&str]) {
        self.move_images(names, ("disks", "away"));
    }

    pub fn bring_back(&self, names: &[&str]) {
        self.move_images(names, ("away", "disks"));
    }

    fn move_images(&self, names: &[&str], (from, to): (&str, &str)) {
        for name in names {
            let name = format!("{name}.img");
            fs::rename(self.folder(from).join(&name), self.folder(to).join(&name)).expect("moved");
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let below =
            |line: &str| line.split(' ').nth(1).map(PathBuf::from).filter(|at| at.starts_with(&self.0));
        for at in mounts.lines().filter_map(below).collect::<Vec<_>>().into_iter().rev() {
            detach(&at);
        }
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Unmounts even what a killed daemon left behind.
pub fn detach(at: &Path) {
    drop(Command::new("umount").args(["-l"]).arg(at).stderr(Stdio::null()).status());
}

pub fn text(path: &Path) -> String {
    path.to_str().expect("paths of tests are text").to_owned()
}

/// What a command did.
#[derive(Debug, PartialEq, Eq)]
pub struct Ran {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn of(command: &mut Command) -> Ran {
        let name = format!("{command:?}");
        let output =
            command.output().unwrap_or_else(|error| panic!("{name} is needed for this test: {error}"));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran {
            status: output.status.code().unwrap_or(-1),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }

    /// The output of a command that has to succeed.
    #[track_caller]
    pub fn done(self) -> String {
        assert!(self.status == 0, "status {}\n{}{}", self.status, self.out, self.err);
        self.out
    }
}

/// A program of this machine, ended after `seconds`.
pub fn program(name: &str, seconds: u32) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", &seconds.to_string(), name]).stdin(Stdio::null());
    command
}

/// A loopback address that nobody else has.
fn own_host() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let (process, number) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    format!("127.{}.{}.{}", 128 + (process >> 8) % 64, process % 256, 1 + number % 250)
}

/// A port of that address, which the daemon keeps across restarts.
pub fn free_port(host: &str) -> u16 {
    let listener = TcpListener::bind((host, 0)).expect("loopback");
    listener.local_addr().expect("bound").port()
}

pub fn end_with_parent() -> io::Result<()> {
    // SAFETY: it takes plain numbers.
    match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The program as a user without any capability, as a service of systemd has it.
fn without_privileges(user: u32) -> Command {
    let mut command = Command::new("setpriv");
    command.args([format!("--reuid={user}"), format!("--regid={user}")]);
    command.args(["--clear-groups", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]);
    // Who changes his user has to say it anew.
    command.args(["--pdeathsig=KILL", PROGRAM]);
    command
}

/// Gives the process that begins these as its descriptors from 3 on: ten at the most.
pub fn hand_over(sockets: &[RawFd]) -> io::Result<()> {
    let done = |fd: RawFd| if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(fd) };
    // Out of the way first, for one may have the number of another.
    let mut copies = [0; 10];
    for (copy, socket) in copies.iter_mut().zip(sockets) {
        // SAFETY: it takes plain numbers.
        *copy = done(unsafe { libc::fcntl(*socket, libc::F_DUPFD_CLOEXEC, 64) })?;
    }
    for (fd, copy) in (3..).zip(&copies[..sockets.len()]) {
        // SAFETY: as above.
        done(unsafe { libc::dup2(*copy, fd) })?;
    }
    Ok(())
}

/// A running `cistern serve`.
pub struct Daemon {
    pub state: PathBuf,
    pub host: String,
    pub port: u16,
    pub banner: String,
    /// More options, from its next start on.
    pub extra: Vec<String>,
    env: Vec<(&'static str, String)>,
    /// `cgroup.procs` of the group of processes that it is to be in.
    group: Option<PathBuf>,
    /// Listening sockets that it is started with, as systemd does it.
    handed: Vec<OwnedFd>,
    /// The user that it runs as, without any capability; else root.
    user: Option<u32>,
    child: Option<Child>,
}

impl Daemon {
    /// With its state in `scratch/state`.
    pub fn start(scratch: &Scratch) -> Daemon {
        Daemon::start_with(scratch, "state", &[])
    }

    pub fn start_with(scratch: &Scratch, state: &str, extra: &[&str]) -> Daemon {
        Daemon::start_under(scratch, state, extra, &[])
    }

    /// With more in its environment.
    pub fn start_under(
        scratch: &Scratch,
        state: &str,
        extra: &[&str],
        env: &[(&'static str, String)],
    ) -> Daemon {
        let host = own_host();
        let mut daemon = Daemon {
            state: scratch.folder(state),
            port: free_port(&host),
            host,
            banner: String::new(),
            extra: extra.iter().map(|&word| word.to_owned()).collect(),
            env: env.to_vec(),
            group: None,
            handed: Vec::new(),
            user: None,
            child: None,
        };
        daemon.begin();
        daemon
    }

    /// As a user without any capability, who owns its state folder.
    pub fn start_as(scratch: &Scratch, user: u32, extra: &[&str]) -> Daemon {
        let mut daemon = Daemon::start_with(scratch, "state", extra);
        daemon.stop();
        daemon.user = Some(user);
        for entry in fs::read_dir(&daemon.state).expect("its folder") {
            chown(entry.expect("an entry").path(), Some(user), Some(user)).expect("root may");
        }
        chown(&daemon.state, Some(user), Some(user)).expect("root may");
        daemon.begin();
        daemon
    }

    /// In a group of processes, by its `cgroup.procs`, from its first byte on.
    pub fn start_in(scratch: &Scratch, group: Option<PathBuf>, extra: &[&str]) -> Daemon {
        let mut daemon = Daemon::start_with(scratch, "state", extra);
        if group.is_some() {
            daemon.stop();
            daemon.group = group;
            daemon.begin();
        }
        daemon
    }

    /// From its next start on it is given these sockets.
    pub fn hand(&mut self, sockets: Vec<OwnedFd>) {
        self.handed = sockets;
    }

    /// From its next start on this is in its environment, and nothing else of a test.
    pub fn surround(&mut self, env: &[(&'static str, &str)]) {
        self.env = env.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    }

    /// Starts the process and waits until it says that it is there.
    pub fn begin(&mut self) {
        match self.spawn().recv_timeout(PATIENCE) {
            Ok(banner) => self.banner = banner,
            Err(_) => panic!("the daemon did not start:\n{}", self.log()),
        }
    }

    /// Starts the process; what comes is its banner.
    pub fn spawn(&mut self) -> Receiver<String> {
        let log = File::options().create(true).append(true).open(self.log_path()).expect("a log");
        let shell = |script: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", script]);
            shell
        };
        let mut command = match &self.group {
            // A shell enters the group, and becomes the daemon.
            Some(group) => {
                let mut shell = shell("echo $$ > \"$0\" && exec \"$@\"");
                shell.arg(group).arg(PROGRAM);
                shell
            }
            // The sockets are for the process of this number alone.
            None if !self.handed.is_empty() => {
                let mut shell = shell("LISTEN_PID=$$ exec \"$0\" \"$@\"");
                shell.arg(PROGRAM).env("LISTEN_FDS", self.handed.len().to_string());
                shell.env("LISTEN_FDNAMES", vec!["test"; self.handed.len()].join(":"));
                let handed: Vec<RawFd> = self.handed.iter().map(AsRawFd::as_raw_fd).collect();
                // SAFETY: between fork and exec, system calls that take plain numbers.
                unsafe { shell.pre_exec(move || hand_over(&handed)) };
                shell
            }
            None => match self.user {
                Some(user) => without_privileges(user),
                None => Command::new(PROGRAM),
            },
        };
        command
            .arg("serve")
            .arg("--state")
            .arg(&self.state)
            .args(["--nfs", &format!("{}:{}", self.host, self.port)])
            .args(["--search", &text(&self.state)])
            .args(["--keep", &text(&self.state)])
            .args(["--https", "off", "--config", "off"])
            .args(&self.extra)
            .envs(self.env.clone())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log);
        // SAFETY: between fork and exec, one system call that takes plain numbers.
        unsafe { command.pre_exec(end_with_parent) };
        let mut child = command.spawn().expect("the daemon starts");
        let out = child.stdout.take().expect("piped");
        self.child = Some(child);
        let (tell, told) = mpsc::channel();
        // Reads on until the daemon ends, so that it never waits for a full pipe.
        std::thread::spawn(move || {
            let mut banner = String::new();
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                banner += &format!("{line}\n");
                if line.starts_with("Ctrl-C") {
                    drop(tell.send(std::mem::take(&mut banner)));
                }
            }
        });
        told
    }

    fn log_path(&self) -> PathBuf {
        self.state.join("daemon.log")
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("running").id()
    }

    /// Sends a signal. One that stops it has stopped all of its threads when this returns.
    pub fn signal(&self, signal: &str) {
        Command::new("kill").args([signal, &self.pid().to_string()]).status().expect("kill");
        let end = Instant::now() + PATIENCE;
        while signal == "-STOP" && !self.has_paused() {
            assert!(Instant::now() < end, "a thread does not stop");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether all threads are in state T (proc_pid_stat(5)).
    fn has_paused(&self) -> bool {
        let threads = fs::read_dir(format!("/proc/{}/task", self.pid())).expect("it runs");
        let mut stats =
            threads.filter_map(|thread| fs::read_to_string(thread.expect("it").path().join("stat")).ok());
        stats.all(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')))
    }

    fn wait(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("running");
        let start = Instant::now();
        loop {
            if let Some(status) = child.try_wait().expect("our child") {
                return status;
            }
            if start.elapsed() > PATIENCE {
                drop(child.kill());
                drop(child.wait());
                panic!("the daemon did not stop:\n{}", self.log());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ctrl-C: exports every pool.
    #[track_caller]
    pub fn stop(&mut self) {
        self.signal("-INT");
        self.has_stopped();
    }

    /// Waits for the end that it has been told of.
    #[track_caller]
    pub fn has_stopped(&mut self) {
        let status = self.wait();
        assert!(status.code() == Some(0), "{status}:\n{}", self.log());
        assert!(!self.log().contains("panicked"), "{}", self.log());
    }

    /// kill -9: as a power cut for all but what outlives the process. What it had mounted is
    /// detached.
    #[track_caller]
    pub fn kill(&mut self) {
        self.signal("-KILL");
        let status = self.wait();
        assert_eq!(status.signal(), Some(9), "{}", self.log());
    }

    pub fn socket(&self) -> PathBuf {
        self.state.join("cistern.sock")
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(words).env("CISTERN_SOCKET", self.socket()).env("TZ", "UTC");
        command
    }

    pub fn run(&self, words: &[&str]) -> Ran {
        Ran::of(&mut self.command(words))
    }

    /// `zpool` with words separated by spaces.
    pub fn zpool(&self, line: &str) -> Ran {
        self.run(&[&["zpool"], &line.split_whitespace().collect::<Vec<_>>()[..]].concat())
    }

    pub fn zfs(&self, line: &str) -> Ran {
        self.run(&[&["zfs"], &line.split_whitespace().collect::<Vec<_>>()[..]].concat())
    }

    /// Asks by the socket, with curl: the status, and the answer as JSON.
    pub fn ask(&self, verb: &str, path: &str, body: Option<&str>) -> (u16, Value) {
        let mut curl = program("curl", 60);
        curl.args(["-sS", "-w", "\n%{http_code}", "--unix-socket", &text(&self.socket()), "-X", verb]);
        if let Some(body) = body {
            curl.args(["--data-binary", body]);
        }
        let out = Ran::of(curl.arg(format!("http://cistern{path}"))).done();
        let (answer, status) = out.rsplit_once('\n').expect("a status");
        let answer = match answer {
            "" => Value::Null,
            json => serde_json::from_str(json).unwrap_or_else(|error| panic!("{path}: {error}: {json}")),
        };
        (status.parse().expect("a status"), answer)
    }

    /// `zfs send … | zfs receive …`
    pub fn copy(&self, send: &str, receive: &str) -> Ran {
        let shell = format!("{PROGRAM} zfs send {send} | {PROGRAM} zfs receive {receive}");
        Ran::of(program("sh", 120).args(["-c", &shell]).env("CISTERN_SOCKET", self.socket()))
    }

    /// Resident memory in KiB.
    pub fn resident(&self) -> u64 {
        self.memory("VmRSS:")
    }

    /// The same, at its most.
    pub fn resident_most(&self) -> u64 {
        self.memory("VmHWM:")
    }

    fn memory(&self, which: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("it runs");
        let line = status.lines().find(|line| line.starts_with(which)).expect("Linux says so");
        line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let mut ended = None;
        if let Some(mut child) = self.child.take() {
            ended = child.try_wait().ok().flatten();
            drop(child.kill());
            drop(child.wait());
        }
        if std::thread::panicking() {
            if let Some(status) = ended {
                eprintln!("the daemon had ended by itself: {status}");
            }
            let log = self.log();
            let tail: Vec<&str> = log.lines().rev().take(40).collect();
            eprintln!("the daemon's log ends with:");
            tail.iter().rev().for_each(|line| eprintln!("  {line}"));
        }
    }
}
