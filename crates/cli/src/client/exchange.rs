//! Requests and their answers over a line, one after the other, by HTTP/1.1.
//!
//! Invariants: an answer is whole, or an error says why not; its head is bounded, and so is the
//! time without a word that whoever reads it allows.

use std::error::Error;
use std::future::poll_fn;
use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::HeaderMap;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use stdx::os_error::words;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time;

use super::line::{Failure, Line};

/// Bytes that are taken from a stream, and read from a daemon, at a time.
const PIECE: usize = 256 << 10;
/// Pieces of a stream that wait to be sent.
const WAITING: usize = 2;
/// The head of an answer.
const HEAD_MAX: usize = 64 << 10;
const HEADERS_MAX: usize = 100;

/// What a request carries.
pub enum Outgoing {
    /// In one piece; `None` when it is on its way.
    Whole(Option<Bytes>),
    /// As it comes, until the sender is gone.
    Stream(mpsc::Receiver<io::Result<Bytes>>),
}

impl Outgoing {
    pub fn whole(bytes: Vec<u8>) -> Outgoing {
        Outgoing::Whole((!bytes.is_empty()).then(|| bytes.into()))
    }

    /// `first`, and all of `input` after it. Whoever feeds that may never end: nobody waits for the
    /// thread that reads it.
    pub fn stream(first: Vec<u8>, input: Box<dyn Read + Send>) -> io::Result<Outgoing> {
        let (to, from) = mpsc::channel(WAITING);
        let work = move || {
            if to.blocking_send(Ok(first.into())).is_ok() {
                pump(input, &to);
            }
        };
        thread::Builder::new().name("input".to_owned()).spawn(work)?;
        Ok(Outgoing::Stream(from))
    }
}

/// The daemon may have enough before the input ends, or before it begins: then nobody takes it.
fn pump(mut input: Box<dyn Read + Send>, to: &mpsc::Sender<io::Result<Bytes>>) {
    let mut buffer = vec![0; PIECE];
    loop {
        let piece = match input.read(&mut buffer) {
            Ok(0) => return,
            Ok(len) => Ok(Bytes::copy_from_slice(&buffer[..len])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_last = piece.is_err();
        if to.blocking_send(piece).is_err() || is_last {
            return;
        }
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.get_mut() {
            Outgoing::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Outgoing::Stream(from) => {
                from.poll_recv(cx).map(|piece| piece.map(|piece| piece.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Outgoing::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Outgoing::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Outgoing::Stream(_) => SizeHint::default(),
        }
    }
}

/// What moves the bytes of a channel, and ends with it.
#[derive(Debug)]
struct Connection(JoinHandle<()>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A line on which requests go out, one at a time.
#[derive(Debug)]
pub struct Channel {
    sender: SendRequest<Outgoing>,
    failure: Failure,
    _connection: Connection,
}

impl Channel {
    pub async fn over(line: Line) -> io::Result<Channel> {
        let failure = line.failure();
        let mut builder = http1::Builder::new();
        builder.read_buf_exact_size(Some(PIECE)).max_headers(HEADERS_MAX).max_header_size(HEAD_MAX);
        let shaken = builder.handshake::<_, Outgoing>(TokioIo::new(line)).await;
        let (sender, connection) = shaken.map_err(|error| told(&error, &failure))?;
        let connection = tokio::spawn(async move {
            // Whoever waits for the answer is told.
            let _ = connection.await;
        });
        Ok(Channel { sender, failure, _connection: Connection(connection) })
    }

    /// Sends a request and waits for the head of its answer, at most so long.
    pub async fn send(mut self, request: Request<Outgoing>, patience: Duration) -> io::Result<Answer> {
        let answer = within(patience, self.sender.send_request(request)).await?;
        let (head, body) = answer.map_err(|error| told(&error, &self.failure))?.into_parts();
        Ok(Answer { status: head.status, headers: head.headers, body, channel: self })
    }
}

/// An answer whose head is there.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    body: Incoming,
    channel: Channel,
}

impl Answer {
    /// The channel that it came by; `None` where that takes no more requests. To be called when all
    /// of the answer was taken.
    pub fn into_channel(self) -> Option<Channel> {
        (!self.channel.sender.is_closed()).then_some(self.channel)
    }

    /// The next bytes, some; `None` at the end.
    pub async fn part(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            match poll_fn(|cx| Pin::new(&mut self.body).poll_frame(cx)).await {
                None => return Ok(None),
                Some(Err(error)) => return Err(told(&error, &self.channel.failure)),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) if !bytes.is_empty() => return Ok(Some(bytes)),
                    // Trailers say nothing.
                    Ok(_) | Err(_) => {}
                },
            }
        }
    }

    /// All of it, at most so many bytes, with no longer silence.
    pub async fn whole(&mut self, most: usize, patience: Duration) -> io::Result<Vec<u8>> {
        let mut whole = Vec::new();
        while let Some(part) = within(patience, self.part()).await?? {
            if whole.len() + part.len() > most {
                return Err(odd("the answer is too large"));
            }
            whole.extend_from_slice(&part);
        }
        Ok(whole)
    }
}

async fn within<T>(patience: Duration, what: impl Future<Output = T>) -> io::Result<T> {
    let silent = |_| {
        let text = format!("no word from it for {} seconds", patience.as_secs());
        io::Error::new(io::ErrorKind::TimedOut, text)
    };
    time::timeout(patience, what).await.map_err(silent)
}

pub fn odd(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

pub fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the answer breaks off")
}

/// What went wrong, of the line first.
fn told(error: &hyper::Error, failure: &Failure) -> io::Error {
    if let Some(input) = io_error(error).filter(|_| error.is_user()) {
        return io::Error::new(input.kind(), format!("cannot read what is to be sent: {}", words(input)));
    }
    if let Some(kept) = failure.take() {
        return kept;
    }
    if error.is_incomplete_message() {
        return cut();
    }
    if error.is_parse_too_large() {
        return odd("the head of its answer is too large");
    }
    if error.is_parse() {
        return odd("its answer is no HTTP");
    }
    match io_error(error) {
        Some(why) if why.kind() == io::ErrorKind::UnexpectedEof => cut(),
        Some(why) => io::Error::new(why.kind(), words(why)),
        None => odd(&error.to_string()),
    }
}

/// The failure of input or output that an error comes from.
fn io_error(error: &hyper::Error) -> Option<&io::Error> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}
