//! A connection that is read far ahead of whoever takes its bytes.
//!
//! The TLS library asks for 4 KiB at a time, and a record has 16 KiB: so a stream would take four
//! system calls and more for each record. Once many calls got all that they asked for, [`AHEAD`]
//! bytes are read at once, and the next calls are answered from memory.
//!
//! Invariants: no buffer is held before [`MANY`] calls in a row were answered with all they asked
//! for. Nothing that was read is lost or comes twice: the order of bytes is the connection's.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that are read at once.
const AHEAD: usize = 128 << 10;
/// Calls that had all they asked for, before that many are: 256 KiB of a stream.
const MANY: u32 = 64;

/// See the module. Writing goes straight through.
pub struct Ahead<T> {
    io: T,
    /// Empty, or of [`AHEAD`] bytes.
    buffer: Box<[u8]>,
    /// What is in it and was not taken.
    at: usize,
    end: usize,
    /// Calls in a row that had all they asked for.
    full: u32,
}

impl<T> Ahead<T> {
    pub fn new(io: T) -> Ahead<T> {
        Ahead { io, buffer: Box::default(), at: 0, end: 0, full: 0 }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Ahead<T> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.at == this.end && this.full < MANY {
            let before = into.remaining();
            ready!(Pin::new(&mut this.io).poll_read(cx, into))?;
            this.full = if into.remaining() == 0 && before > 0 { this.full + 1 } else { 0 };
            return Poll::Ready(Ok(()));
        }
        if this.at == this.end {
            if this.buffer.is_empty() {
                this.buffer = vec![0; AHEAD].into();
            }
            let mut buffer = ReadBuf::new(&mut this.buffer);
            ready!(Pin::new(&mut this.io).poll_read(cx, &mut buffer))?;
            (this.at, this.end) = (0, buffer.filled().len());
        }
        let taken = into.remaining().min(this.end - this.at);
        into.put_slice(&this.buffer[this.at..this.at + taken]);
        this.at += taken;
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Ahead<T> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write(cx, from)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write_vectored(cx, from)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    /// Gives so many bytes at a time as the next number says, and has to be waited for now and
    /// then.
    struct Dribble {
        next: u8,
        left: usize,
        seed: usize,
    }

    impl AsyncRead for Dribble {
        fn poll_read(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            into: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            self.seed = self.seed.wrapping_mul(25_214_903_917).wrapping_add(11);
            if self.seed.is_multiple_of(7) {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let len = match self.seed >> 16 & 0xff {
                0 => self.seed >> 20 & 0xfff,
                _ => usize::MAX,
            };
            let len = len.min(into.remaining()).min(self.left).max(1.min(self.left));
            for _ in 0..len {
                let byte = self.next;
                into.put_slice(&[byte]);
                self.next = self.next.wrapping_mul(5).wrapping_add(1);
            }
            self.left -= len;
            Poll::Ready(Ok(()))
        }
    }

    /// All that comes in calls for so many bytes, and whether a buffer was made.
    fn read(mut from: Ahead<Dribble>, size: usize) -> (Vec<u8>, bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let (mut all, mut part) = (Vec::new(), vec![0; size]);
            loop {
                let mut into = ReadBuf::new(&mut part);
                poll_fn(|cx| Pin::new(&mut from).poll_read(cx, &mut into)).await.expect("it is read");
                match into.filled() {
                    [] => return (all, !from.buffer.is_empty()),
                    bytes => all.extend_from_slice(bytes),
                }
            }
        })
    }

    #[test]
    fn what_comes_is_the_same_and_a_buffer_is_made_for_a_stream_alone() {
        let mut byte = 0_u8;
        let sent = std::iter::repeat_with(|| {
            let this = byte;
            byte = byte.wrapping_mul(5).wrapping_add(1);
            this
        });
        let sent: Vec<u8> = sent.take(5_000_000).collect();
        for (seed, size, left) in
            [(1, 4096, sent.len()), (2, 777, sent.len()), (3, 4096, 4096 * 63), (4, 1, 63)]
        {
            let (came, is_buffered) = read(Ahead::new(Dribble { next: 0, left, seed }), size);
            assert!(came == sent[..left], "{seed}");
            assert_eq!(is_buffered, left == sent.len(), "{seed}");
        }
    }
}
