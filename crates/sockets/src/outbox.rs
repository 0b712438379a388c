//! Replies on their way to one peer.
//!
//! Whoever has a reply puts it in, with data where it lies: nothing of it is copied. Whoever finds
//! nobody writing becomes the writer and writes until the box is empty, many replies at a time; so
//! at most one thread waits for a peer. It waits as long as the peer takes something worth the wait
//! ([`WORTH`]). What is left then is the [`crate::drain`]'s: a peer that does not read keeps no
//! thread of a server's.
//!
//! What waits is counted: each reply comes with its lease ([`crate::budget`]), which shrinks as it
//! is taken. A little piece of a large block is copied where it has to wait for long, so that no
//! more is kept from being freed than is counted.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::{Shutdown, TcpStream};
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine_api::Slice;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, sendmsg};

use crate::budget::{Lease, Peer};
use crate::drain::Slow;
use crate::lock::lock;
use crate::unsent::{LITTLE, Much};

/// A writer stays as long as a peer takes so much in each such time: 5 MiB a second.
const WORTH: usize = 256 << 10;
const WAIT: Duration = Duration::from_millis(50);
/// A peer that takes less than this has not moved.
const MOVED: usize = 64 << 10;
/// Pieces that are written together at the most, and the bytes that suffice. A slow peer is written
/// no more at a time before others have their turn.
const BATCH: usize = 256;
const SHARE: usize = 1 << 20;

/// What may wait for a slow peer before more is done for it.
const ROOM: usize = 256 << 10;

/// See the module.
pub struct Outbox(Arc<Inner>);

struct Inner {
    stream: Arc<TcpStream>,
    peer: Arc<Peer>,
    state: Mutex<State>,
    /// Some of it has been written, or nothing can be any more, or nobody writes any more.
    drained: Condvar,
}

struct State {
    pieces: Pieces,
    /// Bytes of the first piece that are gone already.
    gone: usize,
    is_writing: bool,
    is_broken: bool,
    /// The drain is the writer.
    is_slow: bool,
    /// What the slow peer took since it moved, and when that was.
    taken: usize,
    moved: Instant,
    lease: Option<Lease>,
    /// The system holds more of it than of others'.
    much: Option<Much>,
    /// Threads that wait to hear of it.
    waiting: usize,
}

/// What makes a reply, in order.
#[derive(Default)]
pub struct Pieces {
    list: VecDeque<Piece>,
    bytes: usize,
}

enum Piece {
    Own(Vec<u8>),
    Shared(Slice, Range<usize>),
    /// No bytes: somebody wants to know when all before it is gone.
    Told {
        _guard: Box<dyn Send>,
    },
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        match self {
            Piece::Own(bytes) => bytes,
            Piece::Shared(slice, range) => &slice.bytes()[range.clone()],
            Piece::Told { .. } => &[],
        }
    }

    /// A copy, of what keeps far more from being freed than it is.
    fn compact(&mut self) {
        if let Piece::Shared(slice, range) = self
            && slice.whole() > 2 * range.len()
        {
            *self = Piece::Own(self.bytes().to_vec());
        }
    }
}

impl Pieces {
    /// Puts bytes behind the others that belong to nobody else: those of several replies become one
    /// piece.
    pub fn write(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        if !matches!(self.list.back(), Some(Piece::Own(_))) {
            self.list.push_back(Piece::Own(Vec::new()));
        }
        if let Some(Piece::Own(bytes)) = self.list.back_mut() {
            let before = bytes.len();
            put(bytes);
            self.bytes += bytes.len() - before;
        }
    }

    /// A part of a slice.
    pub fn share(&mut self, slice: Slice, range: Range<usize>) {
        if !range.is_empty() {
            self.bytes += range.len();
            self.list.push_back(Piece::Shared(slice, range));
        }
    }

    /// Drops this when all that was put before it has gone to the system, or never can. That is
    /// done while the box is held: it is to be short.
    pub fn drop_when_gone(&mut self, guard: Box<dyn Send>) {
        self.list.push_back(Piece::Told { _guard: guard });
    }

    /// What is written together: a few pieces, so that others learn soon how much is gone.
    fn take_batch(&mut self) -> Vec<Piece> {
        let mut bytes = 0;
        let fits = |piece: &&Piece| {
            let is_room = bytes < SHARE;
            bytes += piece.bytes().len();
            is_room
        };
        let count = self.list.iter().take(BATCH).take_while(fits).count();
        self.list.drain(..count).collect()
    }
}

impl State {
    /// Puts back what of a batch has not been written.
    fn restore(&mut self, mut batch: Vec<Piece>, mut written: usize) {
        let mut whole = 0;
        for piece in &batch {
            let len = piece.bytes().len();
            if written < len {
                break;
            }
            written -= len;
            whole += 1;
        }
        self.gone = if whole < batch.len() { written } else { 0 };
        batch.drain(whole..).rev().for_each(|piece| self.pieces.list.push_front(piece));
    }

    fn is_empty(&self) -> bool {
        self.pieces.list.is_empty()
    }

    /// Nothing can be written any more.
    fn give_up(&mut self) {
        self.is_broken = true;
        self.pieces = Pieces::default();
        self.gone = 0;
        self.lease = None;
    }
}

impl Outbox {
    /// The stream's timeout for writing is the box's from now on.
    pub(crate) fn new(stream: Arc<TcpStream>, peer: Arc<Peer>) -> io::Result<Outbox> {
        stream.set_write_timeout(Some(WAIT))?;
        let state = State {
            pieces: Pieces::default(),
            gone: 0,
            is_writing: false,
            is_broken: false,
            is_slow: false,
            taken: 0,
            moved: Instant::now(),
            lease: None,
            much: None,
            waiting: 0,
        };
        Ok(Outbox(Arc::new(Inner { stream, peer, state: Mutex::new(state), drained: Condvar::new() })))
    }

    /// Puts a reply in, without writing: `put` adds its pieces. `lease`: what was taken for it; it
    /// is counted as what it is.
    pub fn push(&self, lease: Option<Lease>, put: impl FnOnce(&mut Pieces)) {
        let mut state = lock(&self.0.state);
        if state.is_broken {
            return;
        }
        let (before, pieces) = (state.pieces.bytes, state.pieces.list.len());
        put(&mut state.pieces);
        let bytes = state.pieces.bytes - before;
        if state.is_slow {
            state.pieces.list.iter_mut().skip(pieces).for_each(Piece::compact);
        }
        let lease = match lease {
            Some(mut lease) => {
                lease.resize(bytes);
                lease
            }
            None => self.0.peer.charge(bytes),
        };
        match &mut state.lease {
            Some(own) => own.absorb(lease),
            none => *none = Some(lease),
        }
    }

    /// Writes what is there, unless somebody does so already, as far as that is less than `most`
    /// and waits for nobody. False: there is more, and the caller finds somebody who calls
    /// [`Outbox::write_rest`].
    #[must_use]
    pub fn write_now(&self, most: usize) -> bool {
        self.0.begin().is_none_or(|state| {
            state.pieces.bytes < most && self.0.write(state, usize::MAX, MsgFlags::MSG_DONTWAIT).1
        })
    }

    /// Goes on where [`Outbox::write_now`] could not.
    pub fn write_rest(&self) {
        self.0.write_patiently(lock(&self.0.state));
    }

    /// Writes what is there, unless somebody does so already.
    pub fn write_all(&self) {
        if let Some(state) = self.0.begin() {
            self.0.write_patiently(state);
        }
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> usize {
        lock(&self.0.state).pieces.bytes
    }

    /// Waits while too much waits for a slow peer. False: nothing can be written any more.
    pub fn wait_for_room(&self) -> bool {
        let state = lock(&self.0.state);
        let is_full = |state: &State| state.is_slow && state.pieces.bytes > ROOM;
        if is_full(&state) { self.0.wait(state, is_full) } else { !state.is_broken }
    }

    /// Writes what is there, or sees it written, if it can be.
    pub fn finish(&self) {
        self.write_all();
        self.0.wait(lock(&self.0.state), |state| state.is_writing);
    }
}

impl Inner {
    fn tell(&self, state: &State) {
        if state.waiting > 0 {
            self.drained.notify_all();
        }
    }

    fn wait(&self, mut state: MutexGuard<'_, State>, mut holds: impl FnMut(&State) -> bool) -> bool {
        state.waiting += 1;
        let waited = self.drained.wait_while(state, |state| holds(state));
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        !state.is_broken
    }

    /// Becomes the writer. `None`: there is one, or nothing to write.
    fn begin(&self) -> Option<MutexGuard<'_, State>> {
        let mut state = lock(&self.state);
        if state.is_writing || state.is_empty() {
            return None;
        }
        state.is_writing = true;
        Some(state)
    }

    /// Writes as the writer what the peer takes, up to `most` or somewhat more; how much that was,
    /// and whether it was all: then nobody is the writer any more. `flags`: whether to wait, for
    /// [`WAIT`], where the peer takes nothing.
    fn write<'a>(&'a self, mut state: MutexGuard<'a, State>, most: usize, flags: MsgFlags) -> (usize, bool) {
        let mut written = 0;
        while !state.is_empty() {
            let batch = state.pieces.take_batch();
            let gone = std::mem::take(&mut state.gone);
            drop(state);
            let sent = self.send(&batch, gone, flags);
            state = lock(&self.state);
            let is_stuck = match sent {
                // Somebody has cut it meanwhile.
                Ok(_) if state.is_broken => false,
                Ok((sent, is_stuck)) => {
                    written += sent;
                    state.pieces.bytes -= sent;
                    let left = state.pieces.bytes;
                    if let Some(lease) = &mut state.lease {
                        lease.resize(left);
                    }
                    self.peer.note_moved(sent);
                    if sent + left > LITTLE && state.much.is_none() {
                        state.much = Much::take(&self.peer, &self.stream);
                    }
                    state.restore(batch, gone + sent);
                    is_stuck
                }
                Err(error) => {
                    tracing::debug!(%error, "the peer takes nothing more");
                    state.give_up();
                    false
                }
            };
            self.tell(&state);
            if is_stuck || (written >= most && !state.is_empty()) {
                return (written, false);
            }
        }
        if !state.is_slow {
            state.is_writing = false;
            self.tell(&state);
        }
        (written, true)
    }

    /// As the writer, until nothing is left, or the peer turns out to be slow: then the rest is the
    /// drain's.
    fn write_patiently<'a>(self: &'a Arc<Inner>, mut state: MutexGuard<'a, State>) {
        let (mut since, mut taken) = (Instant::now(), 0);
        loop {
            let (written, is_done) = self.write(state, usize::MAX, MsgFlags::empty());
            if is_done {
                return;
            }
            taken += written;
            if since.elapsed() >= WAIT {
                if taken < WORTH {
                    return self.hand_over();
                }
                (since, taken) = (Instant::now(), 0);
            }
            state = lock(&self.state);
        }
    }

    /// The drain is the writer from now on; where there is none, the peer is cut.
    fn hand_over(self: &Arc<Inner>) {
        let mut state = lock(&self.state);
        state.is_slow = true;
        (state.taken, state.moved) = (0, Instant::now());
        state.pieces.list.iter_mut().for_each(Piece::compact);
        drop(state);
        self.peer.note_taking(true);
        if !self.peer.budget().drain().add(self.clone()) {
            self.cut();
            self.done();
        }
    }

    /// Bytes of a batch that the peer takes, without those that are gone, and whether it takes no
    /// more.
    fn send(&self, batch: &[Piece], gone: usize, flags: MsgFlags) -> io::Result<(usize, bool)> {
        let mut parts: Vec<IoSlice<'_>> = batch.iter().map(|piece| IoSlice::new(piece.bytes())).collect();
        let mut parts = &mut parts[..];
        IoSlice::advance_slices(&mut parts, gone);
        let wanted: usize = parts.iter().map(|part| part.len()).sum();
        let flags = flags | MsgFlags::MSG_NOSIGNAL;
        loop {
            match sendmsg::<()>(self.stream.as_raw_fd(), parts, &[], flags, None) {
                Ok(sent) => return Ok((sent, sent < wanted)),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Ok((0, true)),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Slow for Inner {
    fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    fn write_some(&self) -> bool {
        let (written, is_done) = self.write(lock(&self.state), SHARE, MsgFlags::MSG_DONTWAIT);
        let mut state = lock(&self.state);
        state.taken += written;
        if state.taken >= MOVED {
            (state.taken, state.moved) = (0, Instant::now());
            self.peer.note_taking(true);
        }
        !is_done
    }

    fn done(&self) -> bool {
        let mut state = lock(&self.state);
        if !state.is_empty() {
            return false;
        }
        (state.is_slow, state.is_writing) = (false, false);
        self.peer.note_taking(false);
        self.tell(&state);
        true
    }

    fn moved(&self) -> Instant {
        lock(&self.state).moved
    }

    fn cut(&self) {
        tracing::info!(from = ?self.peer.from(), "cut off: it takes no replies");
        self.peer.cut();
        // Whatever the peer's own way to end it: nothing is written any more.
        drop(self.stream.shutdown(Shutdown::Both));
        lock(&self.state).give_up();
    }
}

#[cfg(test)]
mod tests;
