//! The socket: whoever is on this machine may come in, and nobody can keep an administrator out.
//!
//! Guests, who are no administrators, have places: so many each, so many together. Who comes when
//! there is none is told so and sent away at once, so the kernel's queue is always taken off. A
//! guest who neither sends nor takes anything for long is gone. Administrators need no place.

use crate::problem::{Refusal, refuse};
use api_types::kind;
use sockets::lock;
use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use stdx::behalf::{Actor, Rank, Way};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::{Instant, Sleep, sleep};

/// Connections of one guest, and of all guests.
pub const OF_ONE: usize = 32;
pub const OF_ALL: usize = 256;
/// How long a guest's connection may rest: as long as our own client waits for an answer.
const REST: Duration = Duration::from_secs(600);
/// Where the kernel has no descriptors left, others have to close some first.
const PAUSE: Duration = Duration::from_secs(1);

/// The listening socket.
pub struct Door {
    listener: UnixListener,
    /// Whose daemon this is.
    owner: u32,
    guests: Arc<Guests>,
}

impl Door {
    pub fn new(listener: UnixListener) -> Door {
        Door { listener, owner: sockets::peer::own_user(), guests: Arc::default() }
    }

    /// `None`: there is no place.
    fn admit(&self, stream: UnixStream) -> Option<Visitor> {
        let caller =
            Arc::new(self.caller(&stream).inspect_err(|error| tracing::warn!(%error, "nobody")).ok()?);
        if caller.is_administrator() {
            return Some(Visitor { stream, caller, rest: None, _place: None });
        }
        match self.guests.enter(caller.user) {
            Some(place) => {
                Some(Visitor { stream, caller, rest: Some(Box::pin(sleep(REST))), _place: Some(place) })
            }
            None => {
                turn_away(&stream);
                None
            }
        }
    }

    /// The next who comes in.
    pub async fn accept(&self) -> Visitor {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    if let Some(visitor) = self.admit(stream) {
                        return visitor;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    tracing::error!(%error, "nobody can come in");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    fn caller(&self, stream: &UnixStream) -> io::Result<Actor> {
        let peer = stream.peer_cred()?;
        let mut groups = vec![peer.gid()];
        groups.extend(sockets::peer::groups(stream)?);
        let rank = match peer.uid() == 0 || peer.uid() == self.owner {
            true => Rank::Administrator,
            false => Rank::Guest,
        };
        Ok(Actor { user: peer.uid(), groups, rank, within: None, way: Way::Management })
    }
}

/// Says why, if that can be said without waiting.
fn turn_away(stream: &UnixStream) {
    let Refusal(why) = refuse(kind::BUSY, "too many connections; try again later");
    if let Ok(body) = serde_json::to_string(&why) {
        let head =
            "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-type: application/problem+json";
        let _ =
            stream.try_write(format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }
}

/// How many connections guests have, by user.
#[derive(Default)]
pub struct Guests(Mutex<HashMap<u32, usize>>);

impl Guests {
    fn lock(&self) -> MutexGuard<'_, HashMap<u32, usize>> {
        // Numbers: a panic elsewhere can't have left them half-changed.
        lock(&self.0)
    }

    /// A place for one more connection of this user.
    fn enter(self: &Arc<Self>, user: u32) -> Option<Place> {
        let mut held = self.lock();
        if held.values().sum::<usize>() >= OF_ALL || held.get(&user).copied().unwrap_or(0) >= OF_ONE {
            return None;
        }
        *held.entry(user).or_default() += 1;
        Some(Place { guests: self.clone(), user })
    }
}

/// A guest's place, until it is dropped.
struct Place {
    guests: Arc<Guests>,
    user: u32,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.guests.lock();
        if let Some(count) = held.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.user);
            }
        }
    }
}

/// A connection.
pub struct Visitor {
    stream: UnixStream,
    caller: Arc<Actor>,
    /// Of a guest: when it will have rested for too long.
    rest: Option<Pin<Box<Sleep>>>,
    _place: Option<Place>,
}

impl Visitor {
    pub fn caller(&self) -> Arc<Actor> {
        self.caller.clone()
    }

    /// What an attempt to move bytes came to, unless it waits and has done so for too long.
    fn unless_idle<T>(&mut self, cx: &mut Context<'_>, moved: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        let Some(rest) = &mut self.rest else { return moved };
        if moved.is_ready() {
            rest.as_mut().reset(Instant::now() + REST);
            return moved;
        }
        ready!(rest.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Visitor {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let moved = Pin::new(&mut this.stream).poll_read(cx, to);
        this.unless_idle(cx, moved)
    }
}

impl AsyncWrite for Visitor {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let moved = Pin::new(&mut this.stream).poll_write(cx, from);
        this.unless_idle(cx, moved)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_guest_has_all_places_and_who_leaves_gives_his_back() {
        let guests = Arc::new(Guests::default());
        let mut first: Vec<Place> = (0..OF_ONE).map(|_| guests.enter(1).expect("a place")).collect();
        assert!(guests.enter(1).is_none());
        assert!(guests.enter(2).is_some());
        drop(first.pop());
        first.push(guests.enter(1).expect("the place that was given back"));
        let others = (2..).flat_map(|user| std::iter::repeat_n(user, OF_ONE)).take(OF_ALL - OF_ONE);
        let others: Vec<Place> = others.map(|user| guests.enter(user).expect("a place")).collect();
        assert!(guests.enter(99).is_none());
        drop((first, others));
        assert!(guests.lock().is_empty());
    }
}
