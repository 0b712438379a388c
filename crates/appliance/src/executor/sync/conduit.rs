//! A stream's way from the thread that sends it to the one that receives it.
//!
//! Invariants: no more than [`DEPTH`] chunks wait in it. The receiver waits no longer than it may
//! for a byte, and not at all once it is to stop; then it gives up, and so does the sender.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use engine_api::Cancel;
use stdx::behalf::{actor, on_behalf_of};
use stdx::patience::hurried;

use super::Fault;
use super::peer::{Fill, Incoming};

/// Bytes of a chunk, and chunks that wait at most: 8 MiB.
const CHUNK: usize = 128 << 10;
const DEPTH: usize = 64;
/// How often the receiver looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// What came of a stream at its end.
pub struct Carried<T> {
    /// What the sender says, and the receiver.
    pub sent: Result<(), Fault>,
    pub received: T,
    /// The receiver left before the end: why, it says itself.
    pub is_deserted: bool,
    /// Nothing came for too long.
    pub is_stuck: bool,
}

/// Has what is sent taken in by `take`, while it is sent.
pub fn carry<T>(incoming: &Incoming<'_>, fill: Fill<'_>, take: impl FnOnce(&mut Outlet) -> T) -> Carried<T> {
    let (mut inlet, mut outlet, known) =
        conduit(incoming.bytes.clone(), incoming.stuck, incoming.stop.clone());
    let actor = actor();
    let (sent, received) = thread::scope(|scope| {
        let sender = scope.spawn(move || on_behalf_of(actor, || hurried(|| fill(&mut inlet))));
        let received = take(&mut outlet);
        // Whoever sends waits no more for it to be read.
        drop(outlet);
        (sender.join(), received)
    });
    let sent = sent.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let (is_deserted, is_stuck) = (known.is_deserted.load(Relaxed), known.is_stuck.load(Relaxed));
    Carried { sent, received, is_deserted, is_stuck }
}

/// Where the sender writes.
struct Inlet {
    to: SyncSender<Vec<u8>>,
    chunk: Vec<u8>,
    bytes: Arc<AtomicU64>,
    is_deserted: Arc<AtomicBool>,
}

/// Where the receiver reads.
pub struct Outlet {
    from: Receiver<Vec<u8>>,
    chunk: Vec<u8>,
    at: usize,
    most: Duration,
    stop: Cancel,
    is_stuck: Arc<AtomicBool>,
}

/// What is known of a conduit from outside.
struct Known {
    is_deserted: Arc<AtomicBool>,
    is_stuck: Arc<AtomicBool>,
}

/// `bytes` counts what was written; `most` is how long the receiver waits for a byte.
fn conduit(bytes: Arc<AtomicU64>, most: Duration, stop: Cancel) -> (Inlet, Outlet, Known) {
    let (to, from) = sync_channel(DEPTH);
    let known = Known { is_deserted: Arc::default(), is_stuck: Arc::default() };
    let inlet = Inlet { to, chunk: Vec::new(), bytes, is_deserted: known.is_deserted.clone() };
    let is_stuck = known.is_stuck.clone();
    (inlet, Outlet { from, chunk: Vec::new(), at: 0, most, stop, is_stuck }, known)
}

impl Write for Inlet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(CHUNK - self.chunk.len());
        self.chunk.extend_from_slice(&bytes[..taken]);
        if self.chunk.len() == CHUNK {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::take(&mut self.chunk);
        let len = chunk.len() as u64;
        self.to.send(chunk).map_err(|_| {
            self.is_deserted.store(true, Relaxed);
            io::Error::from(ErrorKind::BrokenPipe)
        })?;
        self.bytes.fetch_add(len, Relaxed);
        Ok(())
    }
}

impl Read for Outlet {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.chunk.len() {
            let Some(chunk) = self.next()? else { return Ok(0) };
            (self.chunk, self.at) = (chunk, 0);
        }
        let taken = into.len().min(self.chunk.len() - self.at);
        into[..taken].copy_from_slice(&self.chunk[self.at..self.at + taken]);
        self.at += taken;
        Ok(taken)
    }
}

impl Outlet {
    /// `None`: the sender has ended.
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut waited = Duration::ZERO;
        while waited < self.most {
            if self.stop.is_cancelled() {
                return Err(ErrorKind::ConnectionAborted.into());
            }
            match self.from.recv_timeout(LOOK) {
                Ok(chunk) => return Ok(Some(chunk)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => waited += LOOK,
            }
        }
        self.is_stuck.store(true, Relaxed);
        Err(ErrorKind::TimedOut.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_counted() {
        let bytes: Arc<AtomicU64> = Arc::default();
        let (mut inlet, mut outlet, known) =
            conduit(bytes.clone(), Duration::from_secs(10), Cancel::default());
        let sent: Vec<u8> = (0..3_000_000_u32).map(|at| (at / 3) as u8).collect();
        let mut read = Vec::new();
        thread::scope(|scope| {
            scope.spawn(|| {
                sent.chunks(777).try_for_each(|part| inlet.write_all(part)).expect("it is read");
                inlet.flush().expect("it is read");
                drop(inlet);
            });
            outlet.read_to_end(&mut read).expect("it comes to an end");
        });
        assert!(read == sent && bytes.load(Relaxed) == 3_000_000);
        assert!(!known.is_deserted.load(Relaxed) && !known.is_stuck.load(Relaxed));
    }

    #[test]
    fn nobody_waits_for_what_does_not_come() {
        let stop = Cancel::default();
        let (mut inlet, mut outlet, known) = conduit(Arc::default(), LOOK, stop.clone());
        inlet.write_all(b"some").expect("there is room");
        assert_eq!(outlet.read(&mut [0; 4]).expect_err("nothing was flushed").kind(), ErrorKind::TimedOut);
        assert!(known.is_stuck.load(Relaxed));
        stop.cancel();
        assert_eq!(outlet.read(&mut [0]).expect_err("stopped").kind(), ErrorKind::ConnectionAborted);
        drop(outlet);
        assert_eq!(inlet.flush().expect_err("deserted").kind(), ErrorKind::BrokenPipe);
        assert!(known.is_deserted.load(Relaxed));
    }
}
