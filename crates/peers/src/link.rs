//! A connection to a peer, on which one asks and waits for the answer.
//!
//! It is made by the first request, and used again; where it has broken, the next request makes
//! another. It has a runtime of its own, on the thread that asks.
//!
//! Invariants: an answer comes within [`SILENCE`], and is no larger than [`ANSWER_MAX`]. A stream
//! that moves no byte for as long as the caller says is broken off; no more than [`DEPTH`] chunks
//! of it wait.

mod frames;

use std::future::poll_fn;
use std::io::{self, ErrorKind, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use api_types::{Fingerprint, PeerFault, kind};
use appliance::Failure;
use appliance::replication::{Fault, Fill, Incoming};
use engine_api::{Cancel, Error};
use hyper::Request;
use hyper::body::{Body, Bytes, Frame};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use stdx::behalf::{actor, on_behalf_of};
use stdx::os_error::words;
use stdx::patience::hurried;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::ahead::Ahead;
use crate::identity::Identity;
use crate::tls;
use crate::wire::{Failed, Told};
use frames::Frames;

/// How long a peer may take to be reached.
const REACH: Duration = Duration::from_secs(10);
/// And to answer: it may have to look through slow disks.
const SILENCE: Duration = Duration::from_secs(120);
/// Bytes of an answer: a hundred thousand snapshots.
const ANSWER_MAX: usize = 32 << 20;
/// The head of one.
const HEAD_MAX: usize = 16 << 10;
/// Bytes of a chunk of a stream, and chunks that wait.
const CHUNK: usize = 256 << 10;
const DEPTH: usize = 16;
/// How often it is looked whether a stream moves.
const LOOK: Duration = Duration::from_millis(100);

/// Why there is no answer that says that it was done.
#[derive(Debug)]
pub enum Unanswered {
    Peer(PeerFault),
    Failed(Failed),
    /// What was to be sent could not be read.
    Source(Fault),
    /// No byte has moved for too long.
    Stuck {
        seconds: u64,
    },
    /// The caller has said so.
    Stopped,
}

impl From<PeerFault> for Unanswered {
    fn from(why: PeerFault) -> Unanswered {
        Unanswered::Peer(why)
    }
}

type Sender = SendRequest<Outgoing>;

/// See the module.
pub struct Link {
    address: String,
    known: Option<Fingerprint>,
    identity: Arc<Identity>,
    runtime: Option<Runtime>,
    open: Option<Sender>,
    seen: Option<Fingerprint>,
}

/// What a request carries.
enum Outgoing {
    Whole(Option<Bytes>),
    Stream(mpsc::Receiver<Bytes>),
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
                from.poll_recv(cx).map(|chunk| chunk.map(|chunk| Ok(Frame::data(chunk))))
            }
        }
    }
}

/// Where a stream is written: the sender's end.
struct Inlet {
    to: mpsc::Sender<Bytes>,
    chunk: Vec<u8>,
    bytes: Arc<AtomicU64>,
}

impl Write for Inlet {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        let taken = from.len().min(CHUNK - self.chunk.len());
        self.chunk.extend_from_slice(&from[..taken]);
        if self.chunk.len() == CHUNK {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        let len = self.chunk.len() as u64;
        let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK));
        self.to.blocking_send(chunk.into()).map_err(|_| io::Error::from(ErrorKind::BrokenPipe))?;
        self.bytes.fetch_add(len, Relaxed);
        Ok(())
    }
}

fn unreachable(error: &io::Error) -> Unanswered {
    PeerFault::Unreachable { why: words(error) }.into()
}

impl Link {
    /// To whoever listens there (`HOST:PORT`), and shows this certificate; `None`: any.
    pub fn new(address: String, known: Option<Fingerprint>, identity: Arc<Identity>) -> Link {
        Link { address, known, identity, runtime: None, open: None, seen: None }
    }

    /// Makes a connection; gives what the other side has shown.
    pub fn greet(&mut self) -> Result<Fingerprint, Unanswered> {
        self.with(|sender| async move { (sender, Ok(())) })?;
        self.seen.ok_or_else(|| PeerFault::Garbled.into())
    }

    /// Asks, and waits for the answer.
    pub fn ask<A: DeserializeOwned>(
        &mut self,
        path: &str,
        question: &impl Serialize,
    ) -> Result<A, Unanswered> {
        let body = serde_json::to_vec(question).map_err(|_| PeerFault::Garbled)?;
        let is_new = self.open.is_none();
        let asked = self.exchange(path, body.clone());
        // One that was kept may have been closed since.
        let answer = match asked {
            Err(Unanswered::Peer(PeerFault::Unreachable { .. })) if !is_new => self.exchange(path, body)?,
            asked => asked?,
        };
        serde_json::from_slice(&answer).map_err(|_| PeerFault::Garbled.into())
    }

    fn exchange(&mut self, path: &str, body: Vec<u8>) -> Result<Vec<u8>, Unanswered> {
        let request = self.request(path, Outgoing::Whole(Some(body.into())))?;
        self.with(|mut sender| async move {
            let answered = timeout(SILENCE, answer(&mut sender, request)).await;
            let silent = PeerFault::Silent { seconds: SILENCE.as_secs() };
            (sender, answered.unwrap_or(Err(silent.into())))
        })
    }

    /// Sends what `fill` writes behind a line, and waits until the peer says that it has all of it.
    pub fn send(
        &mut self,
        path: &str,
        line: &impl Serialize,
        incoming: &Incoming<'_>,
        fill: Fill<'_>,
    ) -> Result<(), Unanswered> {
        let mut first = serde_json::to_vec(line).map_err(|_| PeerFault::Garbled)?;
        first.push(b'\n');
        // Not on one that may have been closed since.
        self.open = None;
        let (to, from) = mpsc::channel(DEPTH);
        let request = self.request(path, Outgoing::Stream(from))?;
        let (bytes, stuck, stop) = (incoming.bytes.clone(), incoming.stuck, incoming.stop.clone());
        let moved = bytes.clone();
        let inlet = Inlet { to, chunk: first, bytes };
        let actor = actor();
        thread::scope(|scope| {
            let sending = scope.spawn(move || {
                let mut inlet = inlet;
                let sent = on_behalf_of(actor, || hurried(|| fill(&mut inlet)));
                sent.map(|()| inlet.flush().is_ok())
            });
            let answered = self.with(|mut sender| async move {
                let answered = tokio::select! {
                    answered = answer(&mut sender, request) => answered,
                    why = watch(&moved, stuck, &stop) => Err(why),
                };
                (sender, answered)
            });
            if answered.is_err() {
                // The sender finds that nobody takes it any more.
                self.open = None;
                self.runtime = None;
            }
            let sent = sending.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match (answered, sent) {
                // The peer has all that it was given, and that was not all.
                (Ok(_), Err(fault)) => Err(Unanswered::Source(fault)),
                (Ok(_), Ok(_)) => Ok(()),
                (Err(Unanswered::Peer(PeerFault::Unreachable { .. })), Err(fault))
                    if is_of_source(&fault) =>
                {
                    Err(Unanswered::Source(fault))
                }
                (Err(why), _) => Err(why),
            }
        })
    }

    /// Asks for a stream, passes it on to `to`, and has `tell` told what it is.
    pub fn fetch(
        &mut self,
        path: &str,
        question: &impl Serialize,
        (to, tell): (&mut dyn Write, &mut dyn FnMut(Told)),
        (stuck, stop): (Duration, &Cancel),
    ) -> Result<(), Unanswered> {
        let body = serde_json::to_vec(question).map_err(|_| PeerFault::Garbled)?;
        // Not on one that may have been closed since.
        self.open = None;
        let request = self.request(path, Outgoing::Whole(Some(body.into())))?;
        let fetched = self.with(|mut sender| async move {
            let fetched = async {
                let answer = moving(sender.send_request(request), stuck, stop).await?;
                let answer = answer.map_err(|error| broken(&error))?;
                let (status, mut body) = (answer.status(), answer.into_body());
                let mut frames = Frames::new(to, tell);
                let mut bytes = Vec::new();
                loop {
                    let next = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx));
                    let Some(frame) = moving(next, stuck, stop).await? else { break };
                    let Ok(data) = frame.map_err(|error| broken(&error))?.into_data() else { continue };
                    if status.is_success() {
                        frames.take(&data)?;
                    } else if bytes.len() + data.len() > ANSWER_MAX {
                        return Err(PeerFault::Garbled.into());
                    } else {
                        bytes.extend_from_slice(&data);
                    }
                }
                if status.is_success() { frames.end() } else { Err(failed(&bytes)) }
            };
            let fetched = fetched.await;
            (sender, fetched)
        });
        if fetched.is_err() {
            self.open = None;
            self.runtime = None;
        }
        fetched
    }

    fn request(&self, path: &str, body: Outgoing) -> Result<Request<Outgoing>, Unanswered> {
        Request::post(path)
            .header(HOST, self.address.as_str())
            .header(CONTENT_TYPE, "application/octet-stream")
            .body(body)
            .map_err(|_| PeerFault::Unreachable { why: format!("'{}' is no HOST:PORT", self.address) }.into())
    }

    /// Does something with a connection, and keeps that where it has ended well.
    fn with<T, F>(&mut self, work: impl FnOnce(Sender) -> F) -> Result<T, Unanswered>
    where
        F: Future<Output = (Sender, Result<T, Unanswered>)>,
    {
        let open = self.open.take().filter(Sender::is_ready);
        let runtime = match self.runtime.take() {
            Some(runtime) => runtime,
            None => {
                Builder::new_current_thread().enable_all().build().map_err(|error| unreachable(&error))?
            }
        };
        let done = runtime.block_on(async {
            let sender = match open {
                Some(sender) => sender,
                None => self.reach().await?,
            };
            let (mut sender, done) = work(sender).await;
            let is_good = done.is_ok() && timeout(LOOK, sender.ready()).await.is_ok_and(|it| it.is_ok());
            self.open = is_good.then_some(sender);
            done
        });
        self.runtime = Some(runtime);
        done
    }

    async fn reach(&mut self) -> Result<Sender, Unanswered> {
        let here = |error: &dyn std::fmt::Display| PeerFault::Unreachable { why: error.to_string() };
        let (config, verifier) = tls::client(&self.identity, self.known).map_err(|error| here(&error))?;
        // What it is called is no proof.
        let name = ServerName::try_from("peer").map_err(|error| here(&error))?;
        let reached = timeout(REACH, async {
            let stream = TcpStream::connect(self.address.as_str()).await?;
            stream.set_nodelay(true)?;
            sockets::notice_gone(&stream)?;
            let mut stream = TlsConnector::from(config).connect(name, Ahead::new(stream)).await?;
            // As much as a chunk leaves by one call.
            stream.get_mut().1.set_buffer_limit(Some(CHUNK));
            Ok(stream)
        });
        let reached = reached.await;
        self.seen = verifier.seen();
        let stream = match (reached, self.seen) {
            (Err(_), _) => return Err(PeerFault::Silent { seconds: REACH.as_secs() }.into()),
            (Ok(Err(_)), Some(fingerprint)) if self.known.is_some_and(|known| known != fingerprint) => {
                return Err(PeerFault::OtherKey { fingerprint }.into());
            }
            (Ok(Err(error)), _) => return Err(unreachable(&error)),
            (Ok(Ok(stream)), _) => stream,
        };
        let mut builder = http1::Builder::new();
        builder.max_buf_size(HEAD_MAX.max(CHUNK));
        let (sender, connection) =
            builder.handshake(TokioIo::new(stream)).await.map_err(|error| broken(&error))?;
        // It ends with the runtime, or with the sender.
        tokio::spawn(connection);
        Ok(sender)
    }
}

/// What whoever sends was told when nobody took it any more is no fault of the source's.
fn is_of_source((_, why): &Fault) -> bool {
    use engine_api::refusal::{Reason, SendFault};
    let Failure::Engine(Error::Refused(refused)) = why else { return true };
    !matches!(refused.reason, Reason::Send(SendFault::Broken { .. }))
}

fn broken(error: &hyper::Error) -> Unanswered {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    // TLS says of it where its documentation is.
    let is_cut = inner.downcast_ref::<io::Error>().is_some_and(|it| it.kind() == ErrorKind::UnexpectedEof);
    let why = match is_cut {
        true => "the connection has broken".to_owned(),
        false => format!("the connection has broken: {inner}"),
    };
    PeerFault::Unreachable { why }.into()
}

/// Ends when a stream has moved no byte for too long, or is to stop.
async fn watch(bytes: &AtomicU64, stuck: Duration, stop: &Cancel) -> Unanswered {
    let (mut last, mut still) = (0, Duration::ZERO);
    loop {
        sleep(LOOK).await;
        if stop.is_cancelled() {
            return Unanswered::Stopped;
        }
        let now = bytes.load(Relaxed);
        still = if now == last { still + LOOK } else { Duration::ZERO };
        last = now;
        if still >= stuck {
            return Unanswered::Stuck { seconds: stuck.as_secs() };
        }
    }
}

/// Sends a request, and takes all of the answer.
async fn answer(sender: &mut Sender, request: Request<Outgoing>) -> Result<Vec<u8>, Unanswered> {
    let answer = sender.send_request(request).await.map_err(|error| broken(&error))?;
    let (status, mut body) = (answer.status(), answer.into_body());
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|error| broken(&error))?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > ANSWER_MAX {
            return Err(PeerFault::Garbled.into());
        }
        bytes.extend_from_slice(&data);
    }
    if status.is_success() { Ok(bytes) } else { Err(failed(&bytes)) }
}

/// What an answer says that is none.
fn failed(bytes: &[u8]) -> Unanswered {
    match serde_json::from_slice::<Failed>(bytes) {
        Ok(failed) if failed.problem.kind == kind::UNAUTHENTICATED => PeerFault::Stranger.into(),
        Ok(failed) => Unanswered::Failed(failed),
        Err(_) => PeerFault::Garbled.into(),
    }
}

/// What comes within the time that is given, unless it is to stop before.
async fn moving<T>(next: impl Future<Output = T>, stuck: Duration, stop: &Cancel) -> Result<T, Unanswered> {
    tokio::pin!(next);
    let mut still = Duration::ZERO;
    loop {
        tokio::select! {
            next = &mut next => return Ok(next),
            () = sleep(LOOK) => still += LOOK,
        }
        if stop.is_cancelled() {
            return Err(Unanswered::Stopped);
        }
        if still >= stuck {
            return Err(Unanswered::Stuck { seconds: stuck.as_secs() });
        }
    }
}
