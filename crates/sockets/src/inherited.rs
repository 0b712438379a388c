//! Listening sockets that whoever started the program holds, as systemd does: a restart is then a
//! pause, for who connects meanwhile waits in the socket's queue.
//!
//! The program is told by its environment how many there are, from descriptor 3 on
//! (`sd_listen_fds`(3)): `LISTEN_FDS`, in `LISTEN_PID`'s process alone, and their names in
//! `LISTEN_FDNAMES`. A socket is taken by who would have bound it: for the same address or path.
//! One that nobody takes is a mistake of who set it up, and its name tells which
//! ([`Inherited::rest`]).
//!
//! Such a socket is never shut down, for that would end it for its owner too.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::{env, io, process};

use nix::sys::socket::{getsockopt, sockopt};

use crate::lock::lock;

/// The first descriptor (`SD_LISTEN_FDS_START`).
const FIRST: RawFd = 3;
/// More are a mistake.
const MOST: RawFd = 64;

/// Sockets that nobody has taken yet.
#[derive(Debug, Default)]
pub struct Inherited(Mutex<Vec<Found>>);

#[derive(Debug)]
struct Found {
    name: String,
    at: Place,
    fd: OwnedFd,
}

#[derive(Debug, PartialEq)]
enum Place {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Inherited {
    /// Takes what this process was started with; to be called once, before it opens anything.
    pub fn take() -> io::Result<Inherited> {
        let word = |name| env::var(name).unwrap_or_default();
        if word("LISTEN_PID") != process::id().to_string() {
            return Ok(Inherited::default());
        }
        let wrong = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
        let count = word("LISTEN_FDS");
        let count: RawFd = count.parse().map_err(|_| wrong(format!("LISTEN_FDS={count} is no number")))?;
        if !(0..=MOST).contains(&count) {
            return Err(wrong(format!("LISTEN_FDS={count}: at most {MOST} sockets are taken")));
        }
        let names = word("LISTEN_FDNAMES");
        let mut names = names.split(':').filter(|name| !name.is_empty());
        Inherited::of((FIRST..FIRST + count).map(|fd| {
            let name = names.next().map_or_else(|| format!("descriptor {fd}"), str::to_owned);
            // SAFETY: whoever started the program says that these are ours, and nobody else was
            // told.
            (name, unsafe { OwnedFd::from_raw_fd(fd) })
        }))
    }

    fn of(sockets: impl Iterator<Item = (String, OwnedFd)>) -> io::Result<Inherited> {
        let found = sockets.map(|(name, fd)| Found::new(name, fd)).collect::<io::Result<_>>()?;
        Ok(Inherited(Mutex::new(found)))
    }

    /// The socket that listens there: one that was handed over, else a new one.
    pub fn tcp(&self, addr: SocketAddr) -> io::Result<TcpListener> {
        match self.find(&Place::Tcp(addr)) {
            Some(fd) => Ok(fd.into()),
            None => TcpListener::bind(addr),
        }
    }

    /// The socket that listens there, if one was handed over. Its path is its owner's, too.
    pub fn unix(&self, path: &Path) -> Option<UnixListener> {
        let path = path.canonicalize().ok()?;
        self.find(&Place::Unix(path)).map(UnixListener::from)
    }

    /// What nobody has taken: names and places.
    pub fn rest(&self) -> Vec<String> {
        let found = lock(&self.0);
        let words = |one: &Found| match &one.at {
            Place::Tcp(addr) => format!("'{}' ({addr})", one.name),
            Place::Unix(path) => format!("'{}' ({})", one.name, path.display()),
        };
        found.iter().map(words).collect()
    }

    fn find(&self, at: &Place) -> Option<OwnedFd> {
        let mut found = lock(&self.0);
        let index = found.iter().position(|one| one.at == *at)?;
        Some(found.remove(index).fd)
    }
}

impl Found {
    fn new(name: String, fd: OwnedFd) -> io::Result<Found> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("socket '{name}': {error}"));
        // A copy is not handed on to programs that this one starts.
        let fd = fd.try_clone().map_err(named)?;
        let at = place(&fd).map_err(named)?;
        Ok(Found { name, at, fd })
    }
}

/// Where a socket listens.
fn place(fd: &OwnedFd) -> io::Result<Place> {
    if !getsockopt(fd, sockopt::AcceptConn)? {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it does not listen for connections"));
    }
    if let Ok(addr) = borrowed::<TcpListener>(fd.as_fd())?.local_addr() {
        return Ok(Place::Tcp(addr));
    }
    let addr = borrowed::<UnixListener>(fd.as_fd())?.local_addr()?;
    let path =
        addr.as_pathname().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it has no path"))?;
    Ok(Place::Unix(path.canonicalize()?))
}

fn borrowed<T: From<OwnedFd>>(fd: BorrowedFd<'_>) -> io::Result<T> {
    fd.try_clone_to_owned().map(T::from)
}

#[cfg(test)]
mod tests;
