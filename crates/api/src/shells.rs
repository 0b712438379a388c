//! Shells of the console: who has which, what each shows, and when it ends.
//!
//! A shell is a process of its own on a pseudo-terminal ([`process`]): `cistern shell`, in a form
//! that has given up the machine's files. It reaches the management API by connections that are
//! handed to it ([`line`]), and by nothing else, so that a request by one of them is the shell's,
//! whatever user the process has. What it asks for is asked by the session that opened it, as that
//! is at that moment. This module has the table of shells and the rules of their lives
//! ([`life`] keeps them), and [`output`] what a shell shows until somebody has read it.
//!
//! Invariants:
//! - A shell is its session's: nobody else reads it, types into it or closes it.
//! - There are [`OF_ALL`] at a time, and [`OF_ONE`] of one account; each holds
//!   512 KiB of what it shows. A shell that shows more is not read, and waits ([`output`]).
//! - A shell whose process was not seen to end has its place still.

mod life;
pub mod line;
mod output;
mod process;
mod watched;

use crate::audit::EndNote;
use crate::caller::Asker;
use crate::denied::Unserved;
use crate::problem::{Refusal, refuse};
use api_types::{SHELL_INPUT, SHELL_SIDE, ShellEnd, ShellSize, kind};
use life::Life;
use line::Reach;
use machine::{Credential, Identity};
use output::{Output, Piece};
use sockets::lock;
use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// Shells at a time, and those of one account.
const OF_ALL: usize = 8;
const OF_ONE: usize = 2;
/// Blocking threads that they take: one that begins, and one that ends.
pub const THREADS: usize = 2 * OF_ALL;
/// Shells that have ended and are still told why to who asks, and for how long.
const ENDED: usize = 16;
const TOLD: Duration = Duration::from_secs(60);
/// How long who types waits for the terminal to take it.
const TYPING: Duration = Duration::from_secs(10);

/// All of them.
pub struct Shells {
    /// The program whose command `shell` is one; `None`: there are no shells.
    program: Option<PathBuf>,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    alive: Vec<Arc<Shell>>,
    ended: VecDeque<(Arc<Shell>, Instant)>,
    /// Accounts that have one that is just being made.
    coming: Vec<u32>,
}

/// A shell, and who may use it.
pub struct Shell {
    pub id: String,
    /// The session that opened it, its account, and where that is.
    session: u64,
    uid: u32,
    address: IpAddr,
    terminal: process::Terminal,
    /// Of who types.
    turn: tokio::sync::Mutex<()>,
    output: Mutex<Output>,
    /// Tells of more output, and of the end.
    news: watch::Sender<()>,
    /// Tells that output was taken.
    room: tokio::sync::Notify,
    /// Why it is to end.
    wish: watch::Sender<Option<ShellEnd>>,
    typed: Mutex<Instant>,
    read: Mutex<Instant>,
    /// The number of the last reader.
    reader: AtomicU64,
}

/// A place for a shell, which counts until it is dropped.
struct Place<'a> {
    shells: &'a Shells,
    uid: u32,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut table = lock(&self.shells.table);
        if let Some(at) = table.coming.iter().position(|uid| *uid == self.uid) {
            table.coming.swap_remove(at);
        }
    }
}

/// What a reader finds.
pub enum Found {
    Output(Piece),
    /// Somebody else reads from now on.
    Taken,
    Ended(ShellEnd),
    /// Nothing more yet.
    Nothing,
}

impl Shells {
    pub fn new(program: Option<PathBuf>) -> Arc<Shells> {
        Arc::new(Shells { program, table: Mutex::default() })
    }

    /// Opens one for who has logged in. `reach` is what it may ask.
    pub async fn open(
        self: &Arc<Shells>,
        asker: &Asker,
        size: ShellSize,
        reach: Reach,
        note: EndNote,
    ) -> Result<Arc<Shell>, Unserved> {
        check(size)?;
        let Some(program) = self.program.clone() else {
            return Err(refuse(kind::UNSUPPORTED, "this daemon has no shells").into());
        };
        let (Some((session, identity)), Some(address)) = (own_session(asker), asker.address()) else {
            return Err(refuse(
                kind::BAD_REQUEST,
                "a shell is for who has logged in to the console; with a token, or on this machine, use 'cistern shell'",
            )
            .into());
        };
        let uid = identity.uid;
        let place = self.place(uid)?;
        let begun = tokio::task::spawn_blocking(move || process::begin(&program, size)).await;
        let (process, terminal, line) = begun
            .map_err(io::Error::other)
            .and_then(|begun| begun)
            .and_then(|(process, terminal, line)| Ok((process, terminal.watched()?, line.watched()?)))
            .map_err(|error| unmade(&error))?;
        let shell = Arc::new(Shell::new((session, uid), address, terminal));
        lock(&self.table).alive.push(shell.clone());
        drop(place);
        let life = Life { shells: self.clone(), shell: shell.clone(), process, line, reach, note };
        tokio::spawn(life.live());
        Ok(shell)
    }

    fn place(&self, uid: u32) -> Result<Place<'_>, Unserved> {
        let mut table = lock(&self.table);
        let of_one = table.alive.iter().map(|shell| shell.uid).chain(table.coming.iter().copied());
        let of_one = of_one.filter(|other| *other == uid).count();
        if of_one >= OF_ONE {
            let why = format!(
                "this account has {of_one} shells; close one, or wait a minute where its page is gone"
            );
            return Err(refuse(kind::BUSY, why).into());
        }
        if table.alive.len() + table.coming.len() >= OF_ALL {
            return Err(refuse(kind::BUSY, format!("{OF_ALL} shells are open; try again later")).into());
        }
        table.coming.push(uid);
        drop(table);
        Ok(Place { shells: self, uid })
    }

    /// The shell of that name, if it is this session's.
    pub fn find(&self, id: &str, asker: &Asker) -> Result<Arc<Shell>, Unserved> {
        let mut table = lock(&self.table);
        table.forget();
        let session = own_session(asker).map(|(session, _)| session);
        let all = table.alive.iter().chain(table.ended.iter().map(|(shell, _)| shell));
        let found = all.into_iter().find(|shell| shell.id == id && Some(shell.session) == session).cloned();
        found.ok_or_else(|| refuse(kind::NOT_FOUND, "there is no such shell of this session").into())
    }

    /// It has ended, and its process is gone.
    fn bury(&self, shell: &Arc<Shell>) {
        let mut table = lock(&self.table);
        table.alive.retain(|other| !Arc::ptr_eq(other, shell));
        table.ended.push_back((shell.clone(), Instant::now()));
        table.forget();
    }
}

impl Table {
    /// Forgets those that have ended some time ago.
    fn forget(&mut self) {
        while self.ended.front().is_some_and(|(_, since)| since.elapsed() >= TOLD) || self.ended.len() > ENDED
        {
            self.ended.pop_front();
        }
    }
}

impl Shell {
    fn new((session, uid): (u64, u32), address: IpAddr, terminal: process::Terminal) -> Shell {
        // Seeded anew for each.
        let id = format!("{:016x}", RandomState::new().build_hasher().finish());
        let now = Instant::now();
        Shell {
            id,
            session,
            uid,
            address,
            terminal,
            turn: tokio::sync::Mutex::default(),
            output: Mutex::default(),
            news: watch::Sender::new(()),
            room: tokio::sync::Notify::new(),
            wish: watch::Sender::new(None),
            typed: Mutex::new(now),
            read: Mutex::new(now),
            reader: AtomicU64::new(0),
        }
    }

    /// Whether this is who it works for.
    fn is_of(&self, identity: &Identity) -> bool {
        identity.uid == self.uid && identity.by == Credential::Shell { session: self.session }
    }

    /// Has it end. The first reason counts.
    pub fn end(&self, why: ShellEnd) {
        self.wish.send_if_modified(|wish| match wish {
            Some(_) => false,
            None => {
                *wish = Some(why);
                true
            }
        });
    }

    fn is_ending(&self) -> bool {
        self.wish.borrow().is_some()
    }

    /// Types a text.
    pub async fn type_text(&self, text: &str) -> Result<(), Unserved> {
        if text.len() > SHELL_INPUT {
            let why = format!("{} bytes at a time are typed at the most", SHELL_INPUT);
            return Err(refuse(kind::INVALID, why).into());
        }
        let typed = async {
            let _turn = self.turn.lock().await;
            *lock(&self.typed) = Instant::now();
            self.terminal.write(text.as_bytes()).await
        };
        match timeout(TYPING, typed).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(refuse(kind::NOT_FOUND, "the shell has ended").into()),
            Err(_) => Err(Unserved::no_room("the shell is at work and takes no more of what is typed")),
        }
    }

    pub fn resize(&self, size: ShellSize) -> Result<(), Unserved> {
        check(size)?;
        self.terminal.resize(size).map_err(|_| refuse(kind::NOT_FOUND, "the shell has ended").into())
    }

    /// The number of a new reader; the one before reads no more.
    pub fn attach(&self) -> u64 {
        let reader = self.reader.fetch_add(1, Ordering::AcqRel) + 1;
        self.was_read();
        self.news.send_replace(());
        reader
    }

    pub fn news(&self) -> watch::Receiver<()> {
        self.news.subscribe()
    }

    /// Somebody takes what it shows.
    pub fn was_read(&self) {
        *lock(&self.read) = Instant::now();
    }

    /// What a reader is to be told next who has come so far.
    pub fn look(&self, reader: u64, at: u64) -> Found {
        if self.reader.load(Ordering::Acquire) != reader {
            return Found::Taken;
        }
        let mut output = lock(&self.output);
        match output.take(at) {
            Some(piece) => {
                drop(output);
                self.room.notify_one();
                Found::Output(piece)
            }
            None => output.ended().map_or(Found::Nothing, Found::Ended),
        }
    }
}

/// The session that somebody has come by, and who he is.
fn own_session(asker: &Asker) -> Option<(u64, &Identity)> {
    let identity = asker.identity()?;
    match identity.by {
        Credential::Session { id, .. } => Some((id, identity)),
        Credential::Token { .. } | Credential::Shell { .. } => None,
    }
}

fn check(size: ShellSize) -> Result<(), Refusal> {
    let is_fine = |side| (1..=SHELL_SIDE).contains(&side);
    match is_fine(size.columns) && is_fine(size.rows) {
        true => Ok(()),
        false => Err(refuse(kind::INVALID, format!("a terminal has 1 to {SHELL_SIDE} columns and rows"))),
    }
}

fn unmade(error: &io::Error) -> Unserved {
    tracing::error!(%error, "a shell was not begun");
    refuse(kind::UNAVAILABLE, format!("a shell cannot be begun: {}", stdx::os_error::words(error))).into()
}

#[cfg(test)]
mod tests;
