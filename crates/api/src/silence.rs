//! The body of a request that may not be silent for long: who sends it holds a thread, or a dataset
//! that is being received.
//!
//! Who is answered before all of it has come is often still sending. In HTTP/2 the stream would be
//! reset then, and clients (curl 7.88) take that for the answer. In HTTP/1.1 the connection would
//! be closed without a word, and the next request on it lost. So the rest is taken, if it is short.
//!
//! Invariants:
//! - Whoever waits for its next piece waits no longer than he wants to, if there is such a bound;
//!   then it ends with an error. The time while nobody asks for a piece does not count.
//! - Of a body that nobody wants any more no more than [`UNWANTED`] bytes are taken, for no longer
//!   than [`LINGER`].

use axum::BoxError;
use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep, sleep, timeout};

const UNWANTED: usize = 64 << 10;
const LINGER: Duration = Duration::from_secs(2);

/// A body, and how long one waits for each piece of it.
pub struct Heard<B: Incoming> {
    /// `None`: it has ended.
    body: Option<B>,
    late: Option<Late>,
}

/// When the next piece is late.
struct Late {
    patience: Duration,
    timer: Pin<Box<Sleep>>,
    is_awaited: bool,
}

/// A body that comes from a client.
pub trait Incoming: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static {}

impl<B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static> Incoming for B {}

impl<B: Incoming> Heard<B> {
    /// Without `patience` one waits for as long as the client likes.
    pub fn new(body: B, patience: Option<Duration>) -> Heard<B> {
        let late = |patience| Late { patience, timer: Box::pin(sleep(patience)), is_awaited: false };
        Heard { body: Some(body), late: patience.map(late) }
    }
}

impl<B: Incoming> Drop for Heard<B> {
    fn drop(&mut self) {
        let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) else { return };
        // Where the runtime ends, its connections do.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async { timeout(LINGER, take_rest(body)).await });
        }
    }
}

/// Takes what is left of a body, if it is short.
async fn take_rest<B: Incoming>(mut body: B) {
    let mut left = UNWANTED;
    while let Some(Ok(piece)) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let len = piece.data_ref().map_or(0, Bytes::len);
        let Some(less) = left.checked_sub(len) else { return };
        left = less;
    }
}

impl<B: Incoming> HttpBody for Heard<B> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        if let Poll::Ready(piece) = Pin::new(body).poll_frame(cx) {
            if let Some(late) = &mut this.late {
                late.is_awaited = false;
            }
            if !matches!(piece, Some(Ok(_))) {
                this.body = None;
            }
            return Poll::Ready(piece.map(|piece| piece.map_err(Into::into)));
        }
        let Some(late) = &mut this.late else { return Poll::Pending };
        if !late.is_awaited {
            late.is_awaited = true;
            late.timer.as_mut().reset(Instant::now() + late.patience);
        }
        late.timer.as_mut().poll(cx).map(|()| Some(Err(io::Error::from(io::ErrorKind::TimedOut).into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or(SizeHint::with_exact(0), HttpBody::size_hint)
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
    fn of_a_body_that_nobody_wants_the_rest_is_taken_if_it_is_short() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(async {
            let (to, pieces) = mpsc::channel(1);
            drop(Heard::new(Arriving(pieces), None));
            let piece = Bytes::from(vec![0; UNWANTED / 2]);
            for _ in 0..2 {
                to.send(piece.clone()).await.expect("it is taken");
            }
            to.send(piece).await.expect("there is room for one");
            to.closed().await;
        });
    }

    #[test]
    fn a_silent_body_ends_with_an_error_and_one_that_nobody_asks_for_waits() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(async {
            let (to, pieces) = mpsc::channel(1);
            let patience = Duration::from_millis(40);
            let mut body = Heard::new(Arriving(pieces), Some(patience));
            // Nobody asks, for longer than anybody would wait.
            sleep(2 * patience).await;
            to.send(Bytes::from_static(b"x")).await.expect("it is taken");
            for is_heard in [true, false] {
                let next = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
                assert_eq!(next.expect("it has not ended").is_ok(), is_heard);
            }
        });
    }
}
