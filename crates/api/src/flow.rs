//! Requests and answers without end: what arrives is read, and what is written leaves, by a thread
//! that may block, while the runtime moves the bytes. See `api_types::StreamEvent` for how they are
//! framed.

use crate::app::{App, Shared, apart};
use crate::problem::{Refusal, refuse};
use api_types::{FRAME_DATA, FRAME_EVENT, FRAME_HEAD, REQUEST_MAX, StreamEvent, Warnings, frame_head, kind};
use axum::body::{Body, Bytes, HttpBody};
use axum::response::{IntoResponse, Response};
use http_body::Frame;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::yield_now;
use tokio::time::{Instant, timeout_at};

/// Batches of pieces on their way in, and pieces on their way out.
const QUEUED: usize = 8;
/// Bytes and pieces that are handed on together, at the most: each time wakes a thread. A client
/// may send pieces of a byte, each of which takes memory of its own.
const BATCH: usize = 256 << 10;
const PIECES: usize = 64;
/// How long the request before a stream may take to come: a thread waits for it.
const REQUEST_PATIENCE: Duration = Duration::from_secs(30);
/// Bytes that a stream's frame collects.
const PIECE: usize = 256 << 10;

/// Runs `work` on a thread of its own with the request and the rest of the body; what it tells is
/// the answer.
pub fn run<T: DeserializeOwned>(
    app: Shared,
    body: Body,
    work: impl FnOnce(&App, T, &mut Incoming, &Outgoing) -> Result<Warnings, Refusal> + Send + 'static,
) -> Response {
    let (outgoing, answer) = Outgoing::new();
    let mut incoming = Incoming::of(body, REQUEST_PATIENCE);
    let begun = apart(app, move |app| {
        let done = incoming.request().and_then(|request| work(app, request, &mut incoming, &outgoing));
        outgoing.tell(&match done {
            Ok(warnings) => StreamEvent::Done(warnings),
            Err(Refusal(why)) => StreamEvent::Failed(why),
        });
    });
    if let Err(why) = begun {
        return why.into_response();
    }
    answer.into_response()
}

/// Moves a body's pieces to whoever reads them, until one of the two has enough. The first line has
/// to come within `patience`. What comes without a wait goes on together.
async fn take_in(mut body: Body, to: mpsc::Sender<io::Result<Batch>>, patience: Duration) {
    let late = Instant::now() + patience;
    let mut is_asked = false;
    while !is_asked {
        let Ok(piece) = timeout_at(late, piece(&mut body)).await else {
            // Who reads may have gone.
            drop(to.send(Err(io::ErrorKind::TimedOut.into())).await);
            return;
        };
        let Some(piece) = piece else { return };
        is_asked = piece.as_ref().is_ok_and(|piece| piece.contains(&b'\n'));
        if to.send(piece.map(Batch::of)).await.is_err() {
            return;
        }
    }
    while let Some(first) = piece(&mut body).await {
        let (batch, end) = match first {
            Ok(first) => gather(&mut body, first).await,
            Err(error) => (Batch::default(), Some(Err(error))),
        };
        if !batch.pieces.is_empty() && to.send(Ok(batch)).await.is_err() {
            return;
        }
        match end {
            None => {}
            Some(Ok(())) => return,
            // Who reads may have gone.
            Some(Err(error)) => return drop(to.send(Err(error)).await),
        }
    }
}

/// The next piece of a body that has bytes; `None`: it has ended.
async fn piece(body: &mut Body) -> Option<io::Result<Bytes>> {
    loop {
        let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await?;
        if let Some(piece) = data(frame) {
            return Some(piece);
        }
    }
}

/// What a frame has of a stream's bytes; `None`: it is about something else.
fn data(frame: Result<Frame<Bytes>, axum::Error>) -> Option<io::Result<Bytes>> {
    match frame.map(Frame::into_data) {
        Ok(data) => data.ok().map(Ok),
        Err(error) => Some(Err(io::Error::new(io::ErrorKind::UnexpectedEof, error.to_string()))),
    }
}

/// A first piece with those that are there, or come while the connection's own task has its turn;
/// and how the body ended, if it did.
async fn gather(body: &mut Body, first: Bytes) -> (Batch, Option<io::Result<()>>) {
    let mut batch = Batch::of(first);
    let mut has_waited = false;
    while batch.bytes < BATCH && batch.pieces.len() < PIECES {
        let next = poll_fn(|cx| Poll::Ready(Pin::new(&mut *body).poll_frame(cx))).await;
        match next {
            Poll::Ready(None) => return (batch, Some(Ok(()))),
            Poll::Ready(Some(frame)) => match data(frame) {
                Some(Ok(more)) => {
                    batch.add(more);
                    has_waited = false;
                }
                Some(Err(error)) => return (batch, Some(Err(error))),
                None => {}
            },
            Poll::Pending if has_waited => break,
            Poll::Pending => {
                yield_now().await;
                has_waited = true;
            }
        }
    }
    (batch, None)
}

/// Pieces that go on together, in order.
#[derive(Default)]
struct Batch {
    pieces: VecDeque<Bytes>,
    bytes: usize,
}

impl Batch {
    fn of(piece: Bytes) -> Batch {
        let mut batch = Batch::default();
        batch.add(piece);
        batch
    }

    fn add(&mut self, piece: Bytes) {
        self.bytes += piece.len();
        self.pieces.push_back(piece);
    }
}

/// A body as a thread reads it.
pub struct Incoming {
    batches: mpsc::Receiver<io::Result<Batch>>,
    batch: Batch,
    now: Bytes,
}

impl Incoming {
    /// Its first line has to come within `patience`.
    pub fn of(body: Body, patience: Duration) -> Incoming {
        let (to_reader, batches) = mpsc::channel(QUEUED);
        tokio::spawn(take_in(body, to_reader, patience));
        Incoming { batches, batch: Batch::default(), now: Bytes::new() }
    }

    /// The first line, as JSON.
    pub fn request<T: DeserializeOwned>(&mut self) -> Result<T, Refusal> {
        let unread = |why: String| refuse(kind::BAD_REQUEST, format!("request: {why}"));
        let mut line = Vec::new();
        let mut byte = [0];
        loop {
            match self.read(&mut byte) {
                Ok(0) => break,
                Ok(_) if byte[0] == b'\n' => break,
                Ok(_) if line.len() == REQUEST_MAX => return Err(unread("too long".into())),
                Ok(_) => line.push(byte[0]),
                Err(error) => return Err(unread(error.to_string())),
            }
        }
        serde_json::from_slice(&line).map_err(|error| unread(error.to_string()))
    }
}

impl Read for Incoming {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.now.is_empty() {
            match self.batch.pieces.pop_front() {
                Some(piece) => self.now = piece,
                None => match self.batches.blocking_recv() {
                    None => return Ok(0),
                    Some(batch) => self.batch = batch?,
                },
            }
        }
        let len = to.len().min(self.now.len());
        to[..len].copy_from_slice(&self.now.split_to(len));
        Ok(len)
    }
}

/// The answer as a thread writes it.
pub struct Outgoing {
    pieces: mpsc::Sender<Bytes>,
}

impl Outgoing {
    /// With where its pieces are taken from.
    pub fn new() -> (Outgoing, Pieces) {
        let (pieces, answer) = mpsc::channel(QUEUED);
        (Outgoing { pieces }, Pieces(answer))
    }

    /// An event, as JSON. A client that is gone hears nothing.
    pub fn tell(&self, event: &impl Serialize) {
        if let Ok(json) = serde_json::to_vec(event) {
            let _ = self.frame(FRAME_EVENT, &json);
        }
    }

    fn frame(&self, kind: u8, bytes: &[u8]) -> io::Result<()> {
        let mut frame = Vec::with_capacity(FRAME_HEAD + bytes.len());
        frame.extend_from_slice(&frame_head(kind, bytes.len() as u32));
        frame.extend_from_slice(bytes);
        let gone = |_| io::Error::new(io::ErrorKind::BrokenPipe, "the client is gone");
        self.pieces.blocking_send(frame.into()).map_err(gone)
    }

    /// What is written to it is the stream.
    pub fn stream(&self) -> Stream<'_> {
        Stream { to: self, piece: Vec::new() }
    }
}

/// See [`Outgoing::stream`]. To be flushed at the end, and before an event that is about what was
/// written.
pub struct Stream<'a> {
    to: &'a Outgoing,
    piece: Vec<u8>,
}

impl Write for Stream<'_> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        let len = from.len().min(PIECE - self.piece.len());
        self.piece.extend_from_slice(&from[..len]);
        if self.piece.len() == PIECE {
            self.flush()?;
        }
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.piece.is_empty() {
            self.to.frame(FRAME_DATA, &self.piece)?;
            self.piece.clear();
        }
        Ok(())
    }
}

/// Pieces that a body is made of as they come.
pub struct Pieces(pub mpsc::Receiver<Bytes>);

impl IntoResponse for Pieces {
    fn into_response(self) -> Response {
        let response =
            Response::builder().header("content-type", "application/octet-stream").body(Body::new(self));
        match response {
            Ok(response) => response,
            Err(error) => refuse(kind::INTERNAL, error.to_string()).into_response(),
        }
    }
}

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body that never comes.
    struct Silent;

    impl HttpBody for Silent {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Pending
        }
    }

    #[test]
    fn a_request_that_does_not_come_is_waited_for_no_more() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime").block_on(async {
            let (to, mut pieces) = mpsc::channel(QUEUED);
            let taken = tokio::spawn(take_in(Body::new(Silent), to, Duration::from_millis(20)));
            let piece = pieces.recv().await.expect("an answer");
            assert_eq!(piece.err().map(|error| error.kind()), Some(io::ErrorKind::TimedOut));
            taken.await.expect("no panic");
        });
    }

    #[test]
    fn pieces_of_a_byte_are_handed_on_in_order_and_in_batches_that_have_a_bound() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime").block_on(async {
            let sent: Vec<u8> = std::iter::once(b'\n').chain((0..1_000_u32).map(|at| at as u8)).collect();
            let (bytes, body) = mpsc::channel(sent.len());
            for byte in &sent {
                bytes.send(Bytes::copy_from_slice(&[*byte])).await.expect("there is room");
            }
            drop(bytes);
            let (to, mut batches) = mpsc::channel(QUEUED);
            let taken = tokio::spawn(take_in(Body::new(Pieces(body)), to, REQUEST_PATIENCE));
            let (mut came, mut most) = (Vec::new(), 0);
            while let Some(batch) = batches.recv().await {
                let pieces = batch.expect("it is whole").pieces;
                most = most.max(pieces.len());
                came.extend(pieces.iter().flatten());
            }
            assert_eq!((came, most), (sent, PIECES));
            taken.await.expect("no panic");
        });
    }
}
