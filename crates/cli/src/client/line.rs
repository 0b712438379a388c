//! The bytes between this program and a daemon: a Unix socket, or TLS over TCP.
//!
//! A daemon may answer before it has read the whole request, and close. So a write that fails is
//! kept in mind, and what follows is thrown away: the answer is read first, and only where there is
//! none the failure counts. One that answers before it was asked anything, for it has no place, is
//! not read before the request begins to go out: nothing would be known to be an answer.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::client::TlsStream;

/// The first failure of a line, for whoever finds no answer.
#[derive(Clone, Debug, Default)]
pub struct Failure(Arc<Mutex<Option<io::Error>>>);

impl Failure {
    fn keep(&self, error: io::Error) {
        // Plain data: a panic elsewhere can't have left it half-changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    pub fn take(&self) -> Option<io::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

pub enum Transport {
    Unix(UnixStream),
    Tls(Box<TlsStream<TcpStream>>),
}

pub struct Line {
    transport: Transport,
    failure: Failure,
    /// The other side reads no more.
    is_deaf: bool,
    /// The request begins to go out; who wants to read waits for that.
    has_asked: bool,
    reader: Option<Waker>,
}

impl Line {
    pub fn new(transport: Transport) -> Line {
        Line { transport, failure: Failure::default(), is_deaf: false, has_asked: false, reader: None }
    }

    pub fn failure(&self) -> Failure {
        self.failure.clone()
    }

    /// The request begins to go out.
    fn asks(&mut self) {
        self.has_asked = true;
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    /// What came of a write or flush; `thrown_away` is what it gives once nobody reads.
    fn written<T>(&mut self, outcome: Poll<io::Result<T>>, thrown_away: T) -> Poll<io::Result<T>> {
        match outcome {
            Poll::Ready(Err(error)) => {
                self.failure.keep(error);
                self.is_deaf = true;
                Poll::Ready(Ok(thrown_away))
            }
            other => other,
        }
    }
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.has_asked {
            self.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let outcome = match &mut self.transport {
            Transport::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
            Transport::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        };
        match outcome {
            Poll::Ready(Err(error)) => {
                let kind = error.kind();
                self.failure.keep(error);
                Poll::Ready(Err(kind.into()))
            }
            other => other,
        }
    }
}

impl AsyncWrite for Line {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_deaf {
            return Poll::Ready(Ok(buf.len()));
        }
        self.asks();
        let outcome = match &mut self.transport {
            Transport::Unix(stream) => Pin::new(stream).poll_write(cx, buf),
            Transport::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        };
        self.written(outcome, buf.len())
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let all: usize = bufs.iter().map(|buf| buf.len()).sum();
        if self.is_deaf {
            return Poll::Ready(Ok(all));
        }
        self.asks();
        let outcome = match &mut self.transport {
            Transport::Unix(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Transport::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        };
        self.written(outcome, all)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.transport {
            Transport::Unix(stream) => stream.is_write_vectored(),
            Transport::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_deaf {
            return Poll::Ready(Ok(()));
        }
        let outcome = match &mut self.transport {
            Transport::Unix(stream) => Pin::new(stream).poll_flush(cx),
            Transport::Tls(stream) => Pin::new(stream).poll_flush(cx),
        };
        self.written(outcome, ())
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_deaf {
            return Poll::Ready(Ok(()));
        }
        let outcome = match &mut self.transport {
            Transport::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            Transport::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        };
        self.written(outcome, ())
    }
}
