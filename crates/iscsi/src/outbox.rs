//! PDUs on their way to one initiator.
//!
//! Whoever has an answer puts it in, with data where it lies: nothing of it is copied. Whoever finds nobody writing becomes the
//! writer and writes until the box is empty, many answers at a time; so at most one thread waits for a slow initiator. A
//! connection's reader never does: its initiator may be sending itself, and take nothing before that is read. So the reader
//! writes what can be written at once, and leaves the rest to another writer; and all of what is long, for meanwhile it can do
//! what is next.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::TcpStream;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use engine_api::Slice;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, sendmsg};

use crate::limits::{BATCH_BYTES, BATCH_PIECES, QUEUED};
use crate::pdu::{Digests, Pdu, put_back};
use crate::session::lock;

/// See the module.
pub struct Outbox {
    stream: Arc<TcpStream>,
    digests: Digests,
    state: Mutex<State>,
    /// Some of it has been written, or nothing can be any more, or nobody writes any more.
    drained: Condvar,
}

#[derive(Default)]
struct State {
    pieces: VecDeque<Piece>,
    /// Bytes of the first piece that are gone already.
    gone: usize,
    /// Bytes of all pieces, those of the batch that is being written included.
    bytes: usize,
    is_writing: bool,
    is_broken: bool,
    /// Threads that wait to hear of it.
    waiting: usize,
}

enum Piece {
    Own(Vec<u8>),
    Shared(Slice, Range<usize>),
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        match self {
            Piece::Own(bytes) => bytes,
            Piece::Shared(slice, range) => &slice.bytes()[range.clone()],
        }
    }
}

impl State {
    /// Bytes that belong to nobody else: those of several PDUs become one piece.
    fn own(&mut self) -> &mut Vec<u8> {
        if !matches!(self.pieces.back(), Some(Piece::Own(_))) {
            self.pieces.push_back(Piece::Own(Vec::new()));
        }
        match self.pieces.back_mut() {
            Some(Piece::Own(bytes)) => bytes,
            _ => unreachable!("it was put there"),
        }
    }

    fn has_room(&self) -> bool {
        self.bytes < QUEUED || !self.is_writing || self.is_broken
    }

    /// Puts back what of a batch has not been written; whether there is anything.
    fn restore(&mut self, mut batch: Vec<Piece>, mut written: usize) -> bool {
        let mut whole = 0;
        for piece in &batch {
            let len = piece.bytes().len();
            if written < len {
                break;
            }
            written -= len;
            whole += 1;
        }
        let is_left = whole < batch.len();
        self.gone = written;
        batch.drain(whole..).rev().for_each(|piece| self.pieces.push_front(piece));
        is_left
    }
}

impl Outbox {
    pub fn new(stream: Arc<TcpStream>, digests: Digests) -> Outbox {
        Outbox { stream, digests, state: Mutex::default(), drained: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

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

    /// Puts a PDU in, without writing.
    pub fn push(&self, pdu: &Pdu) {
        let mut state = self.state();
        if state.is_broken {
            return;
        }
        let own = state.own();
        let before = own.len();
        pdu.encode(own, self.digests);
        let more = own.len() - before;
        state.bytes += more;
    }

    /// Puts a PDU in whose data is these parts of slices.
    pub fn push_with(&self, pdu: &Pdu, parts: Vec<(Slice, Range<usize>)>) {
        let len = parts.iter().map(|(_, range)| range.len()).sum();
        let crc = |crc, (slice, range): &(Slice, Range<usize>)| {
            crc32c::crc32c_append(crc, &slice.bytes()[range.clone()])
        };
        let crc = if self.digests.data { parts.iter().fold(0, crc) } else { 0 };
        let mut state = self.state();
        if state.is_broken {
            return;
        }
        let own = state.own();
        let before = own.len();
        pdu.put_front(own, self.digests, len);
        let mut more = own.len() - before + len;
        state.pieces.extend(parts.into_iter().map(|(slice, range)| Piece::Shared(slice, range)));
        let mut back = Vec::new();
        put_back(&mut back, self.digests, len, crc);
        if !back.is_empty() {
            more += back.len();
            state.pieces.push_back(Piece::Own(back));
        }
        state.bytes += more;
    }

    /// Writes what is there, unless somebody does so already, as far as that is short and waits for nobody. False: there is
    /// more, and the caller finds somebody who calls [`Outbox::write_rest`].
    #[must_use]
    pub fn write_now(&self) -> bool {
        let may = |state: &State| state.bytes < BATCH_BYTES;
        self.begin().is_none_or(|state| may(&state) && self.write(state, MsgFlags::MSG_DONTWAIT))
    }

    /// Goes on where [`Outbox::write_now`] could not.
    pub fn write_rest(&self) {
        self.write(self.state(), MsgFlags::empty());
    }

    /// Writes what is there, unless somebody does so already. Returns when there is room for more.
    pub fn write_all(&self) {
        if let Some(state) = self.begin() {
            self.write(state, MsgFlags::empty());
        }
        self.wait_for_room();
    }

    /// Becomes the writer. `None`: there is one, or nothing to write.
    fn begin(&self) -> Option<MutexGuard<'_, State>> {
        let mut state = self.state();
        if state.is_writing || state.pieces.is_empty() {
            return None;
        }
        state.is_writing = true;
        Some(state)
    }

    /// As the writer, until nothing is left; false where that would have to wait, and may not: then it is the writer still.
    fn write<'a>(&'a self, mut state: MutexGuard<'a, State>, flags: MsgFlags) -> bool {
        while !state.pieces.is_empty() {
            let count = state.pieces.len().min(BATCH_PIECES);
            let batch: Vec<Piece> = state.pieces.drain(..count).collect();
            let gone = std::mem::take(&mut state.gone);
            drop(state);
            let sent = self.send(&batch, gone, flags);
            state = self.state();
            let mut is_stuck = false;
            match sent {
                Ok(sent) => {
                    state.bytes -= sent;
                    is_stuck = state.restore(batch, gone + sent);
                }
                Err(error) => {
                    tracing::debug!(%error, "the initiator takes nothing more");
                    state.is_broken = true;
                    state.pieces.clear();
                }
            }
            self.tell(&state);
            if is_stuck {
                return false;
            }
        }
        state.is_writing = false;
        self.tell(&state);
        true
    }

    /// Bytes of a batch that could be sent, without those that are gone: all, unless the flags forbid to wait.
    fn send(&self, batch: &[Piece], gone: usize, flags: MsgFlags) -> io::Result<usize> {
        let mut parts: Vec<IoSlice<'_>> = batch.iter().map(|piece| IoSlice::new(piece.bytes())).collect();
        let mut parts = &mut parts[..];
        IoSlice::advance_slices(&mut parts, gone);
        let mut sent = 0;
        while !parts.is_empty() {
            match sendmsg::<()>(self.stream.as_raw_fd(), parts, &[], flags | MsgFlags::MSG_NOSIGNAL, None) {
                Ok(len) => {
                    sent += len;
                    IoSlice::advance_slices(&mut parts, len);
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) if flags.contains(MsgFlags::MSG_DONTWAIT) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(sent)
    }

    /// As much waits as is worth being written at once.
    pub fn has_much(&self) -> bool {
        self.state().bytes >= BATCH_BYTES
    }

    /// Waits while somebody writes and too much waits. False: nothing can be written any more.
    pub fn wait_for_room(&self) -> bool {
        let state = self.state();
        if state.has_room() { !state.is_broken } else { self.wait(state, |state| !state.has_room()) }
    }

    /// Writes what is there, or sees it written.
    pub fn finish(&self) {
        self.write_all();
        self.wait(self.state(), |state| state.is_writing);
    }
}

#[cfg(test)]
mod tests;
