//! How much of what is written to a peer the system holds before it can be sent.
//!
//! The system counts that with nobody, so each connection has [`LITTLE`] of it. But then whoever
//! writes much sleeps and wakes for each little step that the peer takes: reads of 1 MiB cost a
//! tenth more processor time. So a peer that is no stranger and takes large replies gets [`MUCH`],
//! as long as there is room for that among what peers may hold ([`Budget::try_hold_unsent`]). It
//! keeps it until its connection ends: first come, first served.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use nix::sys::socket::{setsockopt, sockopt};

use crate::budget::{Budget, Peer};
use crate::drain::STALL;

/// Bytes that the system takes of what a peer has no room for.
pub(crate) const LITTLE: usize = 256 << 10;
/// The same, for who takes large replies: the most that Linux has for a socket unless told
/// otherwise (`net.ipv4.tcp_wmem`).
pub(crate) const MUCH: usize = 4 << 20;

/// The system holds little, notices peers that are gone, and gives up those that acknowledge
/// nothing.
pub(crate) fn hold_little(stream: &TcpStream) -> io::Result<()> {
    setsockopt(stream, sockopt::KeepAlive, &true)?;
    set_tcp(stream, libc::TCP_USER_TIMEOUT, STALL.as_millis() as libc::c_int)?;
    set_tcp(stream, libc::TCP_NOTSENT_LOWAT, LITTLE as libc::c_int)
}

/// The system notices after two minutes that a peer is gone which has nothing to say. One that is
/// there may be silent, and take nothing.
pub fn notice_gone(stream: &impl AsFd) -> io::Result<()> {
    setsockopt(stream, sockopt::KeepAlive, &true)?;
    set_tcp(stream, libc::TCP_KEEPIDLE, 60)?;
    set_tcp(stream, libc::TCP_KEEPINTVL, 15)?;
    set_tcp(stream, libc::TCP_KEEPCNT, 4)
}

fn set_tcp(stream: &impl AsFd, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let (fd, len) = (stream.as_fd().as_raw_fd(), size_of_val(&value) as libc::socklen_t);
    // SAFETY: the value is an int, as these options want it, and as long as is said.
    match unsafe { libc::setsockopt(fd, libc::IPPROTO_TCP, option, (&raw const value).cast(), len) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The system holds much for one connection, counted until this is dropped.
pub(crate) struct Much(Arc<Budget>);

impl Much {
    /// `None`: the peer is a stranger, there is no room, or the system does not want to.
    pub(crate) fn take(peer: &Peer, stream: &TcpStream) -> Option<Much> {
        let budget = peer.budget();
        if !peer.is_known() || !budget.try_hold_unsent(MUCH) {
            return None;
        }
        let much = Much(budget.clone());
        match set_tcp(stream, libc::TCP_NOTSENT_LOWAT, MUCH as libc::c_int) {
            Ok(()) => Some(much),
            Err(error) => {
                tracing::debug!(%error, "the system holds no more for a connection");
                None
            }
        }
    }
}

impl Drop for Much {
    fn drop(&mut self) {
        self.0.release_unsent(MUCH);
    }
}

#[cfg(test)]
mod tests;
