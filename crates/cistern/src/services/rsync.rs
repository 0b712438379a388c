//! rsync, run within bounds.
//!
//! It runs as [`programs`] do: as the daemon's user, in a session of its own, with a clean
//! environment, its memory bounded by the kernel; so does the SSH that it begins. It reads names
//! from a pipe, and what it prints is taken line by line. Where no byte moves for long, or the
//! service stops, all of it is killed.
//!
//! Invariants: what it prints is read as fast as it is understood, and no more than [`LINES`] lines
//! of it wait. A line that is longer than any of a file is left out. Nothing here waits longer than
//! the bound for something that does not move.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use api_types::RsyncEnd;
use appliance::Errand;
use services::autotier::command::{Said, understood};
use stdx::os_error::words;

use super::programs::{begin, kill_all};
use super::tail::{Tail, listen};

/// How often it is seen whether it moves.
const LOOK: Duration = Duration::from_millis(200);
/// How long it is waited for the rest of what was printed, and for what was killed.
const REST: Duration = Duration::from_secs(10);
/// Lines that wait.
const LINES: usize = 1_024;
/// Bytes of a line: a path of 4,096, each byte written as five.
const LONGEST: usize = 32 << 10;
/// Bytes of what it says to people.
const SAID: usize = 2 << 10;
/// Bytes of memory of each process.
const MEMORY: u64 = 8 << 30;

/// Runs an rsync in a folder, where its SSH finds its files. Gives how it ended, and the last of
/// what it wrote as its errors.
pub fn run(
    errand: &Errand<'_>,
    folder: &Path,
    told: &mut dyn FnMut(Said),
    number: u64,
) -> (RsyncEnd, String) {
    let mark = format!("{number:016x}");
    let (mut child, lines, said) = match start(errand, folder, &mark) {
        Ok(started) => started,
        Err(error) => return (RsyncEnd::NotStarted { message: words(&error) }, String::new()),
    };
    let end = watch(&mut child, errand, &lines, told);
    kill_all(child.id(), &mark);
    let until = Instant::now() + REST;
    while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
    }
    // What it had printed before it ended counts.
    while let Ok(line) = lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
        understood(&line).into_iter().for_each(&mut *told);
    }
    let text = said.lock().unwrap_or_else(PoisonError::into_inner).text();
    (end, text)
}

type Started = (Child, Receiver<Vec<u8>>, Arc<Mutex<Tail>>);

fn start(errand: &Errand<'_>, folder: &Path, mark: &str) -> io::Result<Started> {
    let ((names_from, mut names_to), (output, out), (errors, err)) = (io::pipe()?, io::pipe()?, io::pipe()?);
    let mut command = Command::new("rsync");
    command.args(&errand.arguments).current_dir(folder).stdin(names_from).stdout(out).stderr(err);
    let child = begin(&mut command, MEMORY, mark)?;
    // Its ends of the pipes are its own alone from here on.
    drop(command);
    let names = errand.names.clone();
    let thread = |name: &str| thread::Builder::new().name(name.to_owned());
    // An rsync that ends before it has read them all says itself why.
    thread("rsync-names").spawn(move || drop(names_to.write_all(&names)))?;
    let (to, lines) = sync_channel(LINES);
    thread("rsync-lines").spawn(move || read_lines(output, &to))?;
    let said = Arc::new(Mutex::new(Tail::new(SAID)));
    let into = said.clone();
    thread("rsync-errors").spawn(move || listen(errors, &into))?;
    Ok((child, lines, said))
}

/// Waits until it ends, or has to.
fn watch(
    child: &mut Child,
    errand: &Errand<'_>,
    lines: &Receiver<Vec<u8>>,
    told: &mut dyn FnMut(Said),
) -> RsyncEnd {
    let stuck = Duration::from_secs(errand.stuck_after.into());
    let (mut moved, mut at, mut looked) = (None, Instant::now(), Instant::now());
    loop {
        match lines.recv_timeout(LOOK) {
            Ok(line) => {
                understood(&line).into_iter().for_each(&mut *told);
                at = Instant::now();
                if looked.elapsed() < LOOK {
                    continue;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            // It has ended, or is about to.
            Err(RecvTimeoutError::Disconnected) => thread::sleep(Duration::from_millis(10)),
        }
        looked = Instant::now();
        match child.try_wait() {
            Ok(Some(status)) => return ended(status),
            Ok(None) => {}
            Err(error) => return RsyncEnd::NotStarted { message: words(&error) },
        }
        if errand.stop.is_cancelled() {
            return RsyncEnd::Stopped;
        }
        let now = bytes_moved(child.id());
        if now != moved {
            (moved, at) = (now, Instant::now());
        }
        if at.elapsed() >= stuck {
            return RsyncEnd::Stuck { seconds: errand.stuck_after };
        }
    }
}

fn ended(status: ExitStatus) -> RsyncEnd {
    match (status.code(), status.signal()) {
        (Some(status), _) => RsyncEnd::Exited { status },
        (None, signal) => RsyncEnd::Signal { signal: signal.unwrap_or(0) },
    }
}

/// Bytes that a process has read and written; `None`: the kernel does not say.
fn bytes_moved(pid: u32) -> Option<u64> {
    let io = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let count = |name: &str| io.lines().find_map(|line| line.strip_prefix(name))?.trim().parse::<u64>().ok();
    count("rchar:")?.checked_add(count("wchar:")?)
}

/// Hands on what is printed, line by line; a line also ends where it would be printed over.
fn read_lines(mut from: io::PipeReader, to: &SyncSender<Vec<u8>>) {
    let (mut buffer, mut line, mut is_too_long) = ([0; 16 << 10], Vec::new(), false);
    loop {
        let len = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(len) => len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        for &byte in &buffer[..len] {
            if !matches!(byte, b'\n' | b'\r') {
                is_too_long |= line.len() >= LONGEST;
                if !is_too_long {
                    line.push(byte);
                }
                continue;
            }
            let whole = std::mem::take(&mut line);
            if !std::mem::take(&mut is_too_long) && !whole.is_empty() && to.send(whole).is_err() {
                return;
            }
        }
    }
}

/// Has all be durable that was written to the file system at a path (syncfs(2)).
pub fn flush(path: &str) -> io::Result<()> {
    let folder = File::open(path)?;
    // SAFETY: the call takes a descriptor, which is open until it returns.
    match unsafe { libc::syncfs(folder.as_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests;
