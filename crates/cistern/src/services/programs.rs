//! The user's own programs, run within bounds.
//!
//! A program runs as the daemon's user, in the root directory, with a clean environment, nothing to
//! read, and no shell between. It has a session of its own. Its memory is bounded by the kernel,
//! process by process; its time, how many processes it has, and what it writes, by a watcher. At
//! the bound all of it is killed.
//!
//! All of it is: its session, what descends from it, and whoever has its mark in the environment,
//! as what has left both by a double fork has. Only what clears its environment as well escapes.
//!
//! Invariants: what a program writes never holds it up, and no more than the last of it is kept.
//! Nothing here waits for a program longer than its bound.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use api_types::{ScriptEnd, ScriptLimits, ScriptPolicy};
use engine_api::Cancel;
use stdx::os_error::words;

use super::tail::{Tail, listen};

/// How often the watcher looks.
const LOOK: Duration = Duration::from_millis(200);
/// How long it is waited for the rest of the output of what was ended.
const REST: Duration = Duration::from_secs(1);
/// The variable that has the mark.
const MARK: &str = "CISTERN_SERVICE_RUN";

/// Runs a program. Gives how it ended, and the last of what it wrote, both streams in one.
pub fn run(policy: &ScriptPolicy, stop: &Cancel, number: u64) -> (ScriptEnd, String) {
    let mark = format!("{number:016x}");
    let begun = io::pipe().and_then(|(from, to)| Ok((start(policy, &mark, to)?, from)));
    let (mut child, from) = match begun {
        Ok(begun) => begun,
        Err(error) => return (ScriptEnd::NotStarted { message: words(&error) }, String::new()),
    };
    let tail = Arc::new(Mutex::new(Tail::new(policy.limits.output as usize)));
    let (into, read) = (tail.clone(), thread::Builder::new().name("service-output".to_owned()));
    let reader = read.spawn(move || listen(from, &into));
    let end = watch(&mut child, policy.limits, &mark, stop);
    kill_all(child.id(), &mark);
    // Where something of it still holds the other end, the reader is left to it.
    let until = Instant::now() + REST;
    if let Ok(reader) = reader {
        while !reader.is_finished() && Instant::now() < until {
            thread::sleep(Duration::from_millis(10));
        }
    }
    let text = tail.lock().unwrap_or_else(PoisonError::into_inner).text();
    (end, text)
}

fn start(policy: &ScriptPolicy, mark: &str, output: io::PipeWriter) -> io::Result<Child> {
    let mut command = Command::new(&policy.program);
    command.args(&policy.arguments).current_dir("/").stdin(Stdio::null());
    command.stdout(output.try_clone()?).stderr(output);
    begin(&mut command, policy.limits.memory, mark)
}

/// Begins a program with its arguments, folder and streams, in a session of its own, with a clean
/// environment and so many bytes of memory a process.
pub fn begin(command: &mut Command, memory: u64, mark: &str) -> io::Result<Child> {
    command.env_clear();
    command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin").env(MARK, mark);
    command.env("LANG", "C.UTF-8");
    let within = move || {
        let limit = libc::rlimit { rlim_cur: memory, rlim_max: memory };
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: these calls take no pointer but to the limits here, and are safe between fork and
        // exec.
        let failed = unsafe {
            libc::setsid() < 0
                || libc::setrlimit(libc::RLIMIT_AS, &raw const limit) < 0
                || libc::setrlimit(libc::RLIMIT_CORE, &raw const none) < 0
        };
        if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: what runs there makes three system calls, and allocates nothing.
    unsafe { command.pre_exec(within) };
    command.spawn()
}

/// Waits until it ends, or has to.
fn watch(child: &mut Child, limits: ScriptLimits, mark: &str, stop: &Cancel) -> ScriptEnd {
    let until = Instant::now() + Duration::from_secs(limits.seconds.into());
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return ended(status),
            Ok(None) => {}
            Err(error) => return ScriptEnd::NotStarted { message: words(&error) },
        }
        let why = if stop.is_cancelled() {
            Some(ScriptEnd::Stopped)
        } else if Instant::now() >= until {
            Some(ScriptEnd::TimedOut { seconds: limits.seconds })
        } else if members(child.id(), mark).len() > limits.processes as usize {
            Some(ScriptEnd::TooManyProcesses { processes: limits.processes })
        } else {
            None
        };
        if let Some(why) = why {
            kill_all(child.id(), mark);
            drop(child.wait());
            return why;
        }
        thread::sleep(LOOK);
    }
}

fn ended(status: ExitStatus) -> ScriptEnd {
    match (status.code(), status.signal()) {
        (Some(status), _) => ScriptEnd::Exited { status },
        (None, signal) => ScriptEnd::Signal { signal: signal.unwrap_or(0) },
    }
}

/// Kills all of a program. What is born meanwhile is killed in the next pass; there are as many as
/// that takes, within reason.
pub fn kill_all(leader: u32, mark: &str) {
    for _ in 0..100 {
        let members = members(leader, mark);
        if members.is_empty() {
            return;
        }
        for pid in members {
            if let Ok(pid) = i32::try_from(pid) {
                // SAFETY: the call takes two numbers.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            }
        }
        thread::sleep(Duration::from_millis(5));
    }
    tracing::warn!(leader, "of a program that was ended something is still there");
}

/// The processes of a program that are alive. Its first one leads a session of its own; the number
/// of that may be another process's once it has ended.
fn members(leader: u32, mark: &str) -> BTreeSet<u32> {
    let mut parents: BTreeMap<u32, u32> = BTreeMap::new();
    let mut members = BTreeSet::new();
    let Ok(processes) = fs::read_dir("/proc") else { return members };
    let numbers = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    for pid in numbers {
        let Some(Stat { parent, session, is_dead }) = stat(pid) else { continue };
        if is_dead {
            continue;
        }
        parents.insert(pid, parent);
        if session == leader || has_mark(pid, mark) {
            members.insert(pid);
        }
    }
    // What descends from a member is one.
    loop {
        let more = parents.iter().filter(|(pid, parent)| !members.contains(pid) && members.contains(parent));
        let more: Vec<u32> = more.map(|(pid, _)| *pid).collect();
        if more.is_empty() {
            return members;
        }
        members.extend(more);
    }
}

fn has_mark(pid: u32, mark: &str) -> bool {
    let wanted = format!("{MARK}={mark}");
    // Of processes of others nothing can be read, and they are none of ours.
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes())
}

struct Stat {
    parent: u32,
    session: u32,
    is_dead: bool,
}

/// `None`: it is gone.
fn stat(pid: u32) -> Option<Stat> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // A name may have anything in it, brackets too.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    Some(Stat { parent, session, is_dead: matches!(state, "Z" | "X") })
}

#[cfg(test)]
mod tests;
