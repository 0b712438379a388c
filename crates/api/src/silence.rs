//! The body of a request that may not be silent for long: who sends it holds a thread, or a dataset
//! that is being received.
//!
//! Invariant: whoever waits for its next piece waits no longer than he wants to; then it ends with
//! an error. The time while nobody asks for a piece does not count.

use axum::BoxError;
use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// A body, and how long one waits for each piece of it.
pub struct Heard<B> {
    body: B,
    patience: Duration,
    late: Pin<Box<Sleep>>,
    is_awaited: bool,
}

impl<B> Heard<B> {
    pub fn new(body: B, patience: Duration) -> Heard<B> {
        Heard { body, patience, late: Box::pin(sleep(patience)), is_awaited: false }
    }
}

impl<B> HttpBody for Heard<B>
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if let Poll::Ready(piece) = Pin::new(&mut this.body).poll_frame(cx) {
            this.is_awaited = false;
            return Poll::Ready(piece.map(|piece| piece.map_err(Into::into)));
        }
        if !this.is_awaited {
            this.is_awaited = true;
            this.late.as_mut().reset(Instant::now() + this.patience);
        }
        this.late.as_mut().poll(cx).map(|()| Some(Err(io::Error::from(io::ErrorKind::TimedOut).into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc;

    /// A body of what arrives.
    struct Arriving(mpsc::Receiver<Bytes>);

    impl HttpBody for Arriving {
        type Data = Bytes;
        type Error = io::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
            self.0.poll_recv(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
        }
    }

    #[test]
    fn a_silent_body_ends_with_an_error_and_one_that_nobody_asks_for_waits() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(async {
            let (to, pieces) = mpsc::channel(1);
            let patience = Duration::from_millis(40);
            let mut body = Heard::new(Arriving(pieces), patience);
            // Nobody asks, for longer than anybody would wait.
            sleep(2 * patience).await;
            to.send(Bytes::from_static(b"x")).await.expect("it is taken");
            for is_heard in [true, false] {
                let next = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
                assert_eq!(next.expect("it has not ended").is_ok(), is_heard);
            }
        });
    }
}
