//! Other hosts, by OpenSSH's `ssh`.
//!
//! A connection is an `ssh` that stays, and through which each command goes by an `ssh` of its own
//! (ControlMaster): a command takes as long as a round trip. On the other side the one that stays
//! runs `cat`, so it ends when this program does, however that ends.
//!
//! All that belongs to it lies in the folder `ssh` of the state folder: the key, which is made when
//! it is first needed, `known_hosts`, and a socket a connection. Each `ssh` runs there and names
//! files without their folder: the path of a socket has 108 bytes, and an option no quotes.
//!
//! Invariants: nothing is ever asked, and no configuration counts but what stands here. Nothing
//! waits longer than its bounds. What is broken off ends its connection.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use api_types::{SshHost, SshHostKey};
use appliance::{Bounds, Broken, Ended, Line};
use engine_api::Cancel;
use env::Entropy;
use stdx::os_error::words;

use super::tail::{Tail, listen};
use crate::child;
use crate::host;

/// The private key. Beside it is the public one.
const KEY: &str = "id_ed25519";
/// Keys of hosts.
const KNOWN: &str = "known_hosts";
/// What the names of sockets, and of keys that are being made, begin with.
const SOCKET: &str = "to-";
const UNFINISHED: &str = "new-";
/// How long a connection may take to come about, the login's own programs included.
const OPENING: Duration = Duration::from_secs(60);
/// How long `ssh-keygen` may take.
const KEYGEN: Duration = Duration::from_secs(20);
/// Bytes that are kept of what `ssh` and a command write as errors.
const TAIL: usize = 8 << 10;
/// Bytes that are moved at once.
const CHUNK: usize = 128 << 10;
/// How often it is looked whether something is to end.
const STEP: Duration = Duration::from_millis(50);
/// How long what has ended may keep its pipes open, and a connection that is let go of may take.
const REST: Duration = Duration::from_secs(3);
/// What the `ssh` that stays prints when it is connected.
const CONNECTED: &str = "org.cistern:connected";

/// The way to other hosts.
pub struct Ssh {
    folder: PathBuf,
    entropy: Arc<dyn Entropy>,
    /// Held while the key is made.
    making: Mutex<()>,
}

impl Ssh {
    /// With a folder in the state folder.
    pub fn new(state: &Path, entropy: Arc<dyn Entropy>) -> Ssh {
        let folder = state.join("ssh");
        // What a program that was killed has left; where there is no folder, nothing is.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_left =
                [SOCKET, UNFINISHED].iter().any(|it| name.as_encoded_bytes().starts_with(it.as_bytes()));
            if is_left && let Err(error) = fs::remove_file(entry.path()) {
                tracing::warn!(?name, %error, "this file of another run stays");
            }
        }
        Ssh { folder, entropy, making: Mutex::default() }
    }

    /// The public key that hosts are shown, and the file of keys of hosts.
    pub fn keys(&self) -> (String, String) {
        let mut command = Command::new("ssh-keygen");
        command.args(["-y", "-f", KEY]).current_dir(&self.folder);
        let key = child::output(&mut command, KEYGEN).unwrap_or_else(|why| {
            tracing::warn!(?why, "the public key cannot be read");
            Vec::new()
        });
        let key = String::from_utf8_lossy(&key).trim().to_owned();
        (key, self.folder.join(KNOWN).display().to_string())
    }

    /// The folder that an `ssh` of another program's runs in, with the key and the keys of hosts.
    ///
    /// # Errors
    /// Why there is no key, for people.
    pub fn ready(&self) -> Result<&Path, String> {
        self.make_key()?;
        Ok(&self.folder)
    }

    pub fn connect(&self, place: &SshHost, stop: &Cancel) -> Result<Box<dyn Line>, Broken> {
        self.make_key().map_err(|why| Broken::NotStarted { why })?;
        let socket = format!("{SOCKET}{:016x}", self.entropy.u64());
        let link = Link::open(&self.folder, place, socket, stop)?;
        Ok(Box::new(link))
    }

    /// Makes the key if there is none. It has its name when it is whole and on the disk.
    fn make_key(&self) -> Result<(), String> {
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |error: io::Error| format!("{}: {}", self.folder.display(), words(&error));
        if fs::exists(self.folder.join(KEY)).map_err(failed)? {
            return Ok(());
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(failed)?;
        let new = format!("{UNFINISHED}{:016x}", self.entropy.u64());
        let comment = format!("cistern@{}", host::name());
        let mut command = Command::new("ssh-keygen");
        command.args(["-q", "-t", "ed25519", "-N", "", "-C", &comment, "-f", &new]);
        match child::output(command.current_dir(&self.folder), KEYGEN) {
            Ok(_) => {}
            Err(child::Trouble::Missing) => return Err("ssh-keygen is not installed".to_owned()),
            Err(child::Trouble::Silent) => return Err("ssh-keygen does not end".to_owned()),
            Err(child::Trouble::Failed(error)) => return Err(format!("ssh-keygen: {}", words(&error))),
        }
        let keep = |end: &str| {
            let from = self.folder.join(format!("{new}{end}"));
            File::open(&from)?.sync_all()?;
            fs::rename(from, self.folder.join(format!("{KEY}{end}")))
        };
        // The private one last: who has it has both.
        keep(".pub")
            .and_then(|()| keep(""))
            .and_then(|()| File::open(&self.folder)?.sync_all())
            .map_err(failed)
    }
}

/// `ssh`, with what holds for all of them.
fn ssh(folder: &Path, socket: &str) -> Command {
    let mut command = Command::new("ssh");
    command.current_dir(folder).env("LC_ALL", "C").process_group(0);
    command.args(["-F", "none", "-T", "-a", "-x", "-o", "BatchMode=yes"]);
    command.args(["-o", &format!("ControlPath={socket}"), "-o", "ControlPersist=no"]);
    command
}

/// The one that stays, and connects.
fn first(folder: &Path, socket: &str, place: &SshHost) -> Command {
    let strict = match place.host_key {
        SshHostKey::AcceptNew => "StrictHostKeyChecking=accept-new",
        SshHostKey::Known => "StrictHostKeyChecking=yes",
    };
    let mut command = ssh(folder, socket);
    for option in [
        "ControlMaster=yes",
        "ConnectTimeout=20",
        "ServerAliveInterval=15",
        "ServerAliveCountMax=4",
        strict,
        &format!("UserKnownHostsFile={KNOWN}"),
        &format!("IdentityFile={KEY}"),
        "IdentitiesOnly=yes",
        "IdentityAgent=none",
        "PreferredAuthentications=publickey",
        "ClearAllForwardings=yes",
        // The quickest where processors have AES, which those of servers do.
        "Ciphers=^aes128-gcm@openssh.com",
    ] {
        command.args(["-o", option]);
    }
    if let Some(user) = &place.user {
        command.args(["-l", user]);
    }
    if let Some(port) = place.port {
        command.args(["-p", &port.to_string()]);
    }
    command.args(["--", &place.host, &format!("echo {CONNECTED}; exec cat >/dev/null")]);
    command
}

/// A connection.
struct Link {
    folder: PathBuf,
    socket: String,
    host: String,
    first: Mutex<Child>,
    /// It stays as long as this is open.
    input: Option<ChildStdin>,
    /// The last of what it wrote.
    said: Arc<Mutex<Tail>>,
}

impl Link {
    fn open(folder: &Path, place: &SshHost, socket: String, stop: &Cancel) -> Result<Link, Broken> {
        let not_started = |error: io::Error| Broken::NotStarted { why: format!("ssh: {}", words(&error)) };
        let (from, to) = io::pipe().map_err(not_started)?;
        let mut command = first(folder, &socket, place);
        command.stdin(Stdio::piped());
        command.stdout(to.try_clone().map_err(not_started)?).stderr(to);
        let mut child = command.spawn().map_err(not_started)?;
        // The command holds the other end of the pipe.
        drop(command);
        let input = child.stdin.take();
        let said = Arc::new(Mutex::new(Tail::new(TAIL)));
        let link = Link {
            folder: folder.to_owned(),
            socket,
            host: place.host.clone(),
            first: Mutex::new(child),
            input,
            said: said.clone(),
        };
        let (tell, told) = channel();
        let reader = thread::Builder::new().name("ssh-output".to_owned());
        reader.spawn(move || hear(from, &said, &tell)).map_err(not_started)?;
        link.wait(&told, stop)?;
        Ok(link)
    }

    /// Until it is connected.
    fn wait(&self, told: &Receiver<()>, stop: &Cancel) -> Result<(), Broken> {
        let until = Instant::now() + OPENING;
        loop {
            match told.recv_timeout(STEP) {
                Ok(()) => return Ok(()),
                // All that it wrote is read.
                Err(RecvTimeoutError::Disconnected) => return Err(Broken::Lost { said: self.said() }),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if stop.is_cancelled() {
                return Err(Broken::Stopped);
            }
            if Instant::now() >= until {
                return Err(Broken::Silent { seconds: OPENING.as_secs() });
            }
        }
    }

    fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).text()
    }

    fn has_ended(&self) -> bool {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever cannot be asked is no use.
        !matches!(first.try_wait(), Ok(None))
    }

    fn end(&self) {
        kill(&mut self.first.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        drop(self.input.take());
        let until = Instant::now() + REST;
        while !self.has_ended() && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        self.end();
        // It takes its socket away itself, if it can.
        drop(fs::remove_file(self.folder.join(&self.socket)));
    }
}

/// Keeps the last of what is written, and tells of the line that says that it is connected.
fn hear(from: io::PipeReader, into: &Mutex<Tail>, tell: &Sender<()>) {
    let mut from = io::BufReader::new(from);
    let mut line = Vec::new();
    while let Ok(1..) = io::BufRead::read_until(&mut (&mut from).take(TAIL as u64), b'\n', &mut line) {
        if line.trim_ascii() == CONNECTED.as_bytes() {
            // Whoever waited may have gone.
            let _ = tell.send(());
        } else {
            into.lock().unwrap_or_else(PoisonError::into_inner).add(&line);
        }
        line.clear();
    }
}

/// Ends a program, with what it began.
fn kill(child: &mut Child) {
    if let (Ok(None), Ok(group)) = (child.try_wait(), i32::try_from(child.id())) {
        // SAFETY: the call takes two numbers. The group is there: its leader was not waited for.
        unsafe { libc::killpg(group, libc::SIGKILL) };
        drop(child.wait());
    }
}

impl Line for Link {
    fn run(
        &self,
        command: &str,
        input: &mut (dyn Read + Send),
        output: &mut (dyn Write + Send),
        bounds: &Bounds<'_>,
    ) -> Result<Ended, Broken> {
        if self.has_ended() {
            return Err(Broken::Lost { said: self.said() });
        }
        let mut ssh = ssh(&self.folder, &self.socket);
        // It goes through the other one, or nowhere.
        ssh.args(["-o", "ControlMaster=no", "-o", "ProxyCommand=false", "--", &self.host, command]);
        ssh.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let not_started = |error: io::Error| Broken::NotStarted { why: format!("ssh: {}", words(&error)) };
        let mut child = ssh.spawn().map_err(not_started)?;
        let (Some(into), Some(out), Some(err)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            kill(&mut child);
            return Err(Broken::NotStarted { why: "ssh: no pipes".to_owned() });
        };
        let errors = Mutex::new(Tail::new(TAIL));
        let moved = Moved::default();
        let status = thread::scope(|scope| {
            let (tell, told) = channel::<()>();
            let (of_out, moved) = (tell.clone(), &moved);
            scope.spawn(move || drop(copy(input, into, moved)));
            scope.spawn(move || {
                moved.is_untaken.store(copy(out, output, moved) == Err(Side::To), Relaxed);
                drop(of_out);
            });
            let errors = &errors;
            scope.spawn(move || {
                listen(err, errors);
                drop(tell);
            });
            let status = watch(&mut child, moved, &told, bounds);
            let is_quiet = told.recv_timeout(REST) == Err(RecvTimeoutError::Disconnected);
            if status.is_err() || !is_quiet {
                // Whoever still holds the pipes lets go of them.
                self.end();
            }
            status
        });
        // Whoever cannot write may have ended for that before he had to.
        if moved.is_untaken.load(Relaxed) {
            return Err(Broken::Untaken);
        }
        let said = errors.into_inner().unwrap_or_else(PoisonError::into_inner).text();
        match status? {
            Some(status) if status != 255 => Ok(Ended { status, said }),
            _ => Err(Broken::Lost { said: format!("{said}{}", self.said()) }),
        }
    }
}

/// What has come of moving bytes.
#[derive(Default)]
struct Moved {
    bytes: AtomicU64,
    /// The output was not taken.
    is_untaken: AtomicBool,
}

/// Which side of a copy failed.
#[derive(PartialEq, Eq)]
enum Side {
    From,
    To,
}

fn copy(mut from: impl Read, mut to: impl Write, moved: &Moved) -> Result<(), Side> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let len = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(len) => len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return Err(Side::From),
        };
        to.write_all(&buffer[..len]).map_err(|_| Side::To)?;
        moved.bytes.fetch_add(len as u64, Relaxed);
    }
}

/// Waits until a program ends, or has to. `None`: a signal ended it.
fn watch(
    child: &mut Child,
    moved: &Moved,
    told: &Receiver<()>,
    bounds: &Bounds<'_>,
) -> Result<Option<i32>, Broken> {
    let began = Instant::now();
    let (mut bytes, mut since) = (0, began);
    let why = loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.code()),
            Ok(None) => {}
            Err(error) => break Broken::Lost { said: words(&error) },
        }
        let now = Instant::now();
        let so_far = moved.bytes.load(Relaxed);
        if so_far != bytes {
            (bytes, since) = (so_far, now);
        }
        let is_late = bounds.most.is_some_and(|most| now - began >= most);
        if moved.is_untaken.load(Relaxed) {
            break Broken::Untaken;
        } else if bounds.stop.is_cancelled() {
            break Broken::Stopped;
        } else if is_late || now - since >= bounds.silence {
            break Broken::Silent { seconds: (now - since).as_secs() };
        }
        // Once its pipes are closed it ends at once.
        let step = match told.recv_timeout(STEP) {
            Err(RecvTimeoutError::Disconnected) => Duration::from_millis(1),
            _ => Duration::ZERO,
        };
        thread::sleep(step);
    };
    kill(child);
    Err(why)
}

#[cfg(test)]
mod tests;
