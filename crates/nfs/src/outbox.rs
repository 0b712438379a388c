//! Replies on their way to one stream.
//!
//! Whoever has a reply ready puts it in; whoever finds nobody writing becomes the writer and writes until the box is
//! empty, several replies at a time. So at most one thread waits for a slow client, and no thread is needed for the
//! others' replies to leave. The box is bounded by the reader, which stops reading while too many replies wait.

use std::collections::VecDeque;
use std::io::{IoSlice, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use sunrpc::client::write_all;

use crate::limits::{BATCH_BYTES, BATCH_REPLIES, QUEUED_REPLIES};
use crate::service::Reply;

pub struct Outbox<W> {
    state: Mutex<State>,
    /// Signalled when the box has been emptied below its limit, and when the stream broke.
    drained: Condvar,
    /// Held by the writer only, so never waited for.
    stream: Mutex<W>,
}

#[derive(Default)]
struct State {
    replies: VecDeque<Reply>,
    writing: bool,
    broken: bool,
}

impl<W: Write> Outbox<W> {
    pub fn new(stream: W) -> Outbox<W> {
        Outbox { state: Mutex::default(), drained: Condvar::new(), stream: Mutex::new(stream) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a reply in without writing; gives the number of replies that wait now.
    pub fn push(&self, reply: Reply) -> usize {
        let mut state = self.lock();
        if !state.broken {
            state.replies.push_back(reply);
        }
        state.replies.len()
    }

    /// Writes what waits, unless somebody does so already.
    pub fn flush(&self) {
        let mut state = self.lock();
        if state.writing {
            return;
        }
        state.writing = true;
        let mut batch = Vec::new();
        while !state.replies.is_empty() {
            take_batch(&mut state.replies, &mut batch);
            drop(state);
            let written = self.write(&batch);
            batch.clear();
            state = self.lock();
            if let Err(error) = written {
                tracing::debug!(%error, "client takes no more replies");
                state.broken = true;
                state.replies.clear();
            }
            self.drained.notify_all();
        }
        state.writing = false;
        self.drained.notify_all();
    }

    fn write(&self, batch: &[Reply]) -> std::io::Result<()> {
        let mut parts: Vec<IoSlice<'_>> = batch.iter().flat_map(Reply::parts).map(IoSlice::new).collect();
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        write_all(&mut *stream, &mut parts)
    }

    /// Waits until there is room for more replies. False when the stream is broken and nothing can leave any more.
    pub fn wait_for_room(&self) -> bool {
        let mut state = self.lock();
        while state.replies.len() >= QUEUED_REPLIES && state.writing && !state.broken {
            state = self.drained.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.broken
    }

    /// Waits until everything put in so far has been written, or cannot be.
    pub fn wait_until_empty(&self) {
        self.flush();
        let mut state = self.lock();
        while state.writing {
            state = self.drained.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn take_batch(from: &mut VecDeque<Reply>, batch: &mut Vec<Reply>) {
    let mut bytes = 0;
    while batch.len() < BATCH_REPLIES && bytes < BATCH_BYTES {
        let Some(reply) = from.pop_front() else { return };
        bytes += reply.len();
        batch.push(reply);
    }
}
