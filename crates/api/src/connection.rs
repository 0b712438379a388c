//! One connection: HTTP over whatever carries it, until its client ends it, it has rested for too
//! long, or the server stops.
//!
//! Invariants:
//! - A connection rests while no request is under way. A request is under way until the last piece
//!   of its answer is asked for, so a wait for an event is none.
//! - A connection from another machine ends when there has been something to send for long and the
//!   client took none of it, and when nobody was let in by it for long: whoever holds one does
//!   something with it, or is known. Who receives a stream may pause for longer.
//! - From another machine, the next piece of a request comes as soon, or the request ends.
//! - On the Unix socket no answer is cut for slowness here: its door bounds how long a guest takes
//!   nothing, and an administrator may pause for as long as he likes.
//! - A connection that is to end takes no new request, and lets those under way end for
//!   [`END_PATIENCE`].

use crate::silence::Heard;
use api_types::routes;
use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::{Extensions, Request};
use axum::response::Response;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use sockets::lock;
use std::convert::Infallible;
use std::mem;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

/// How long requests under way may take to end.
const END_PATIENCE: Duration = Duration::from_secs(5);

/// How long a connection from another machine may rest. In HTTP/1.1 the next head is late sooner,
/// after [`HEAD_PATIENCE`], but that time begins when all of the answer is taken: the last bytes of
/// a stream may wait as long as the others.
const REST: Duration = Duration::from_secs(75);
/// How long an answer may wait to be taken, how long that of a stream, and how long nobody may be
/// let in. How often these are looked at comes on top.
const STUCK: Duration = Duration::from_secs(60);
const STREAM_STUCK: Duration = Duration::from_secs(15 * 60);
const STRANGE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_secs(15);
/// How long the head of a request may take to come.
const HEAD_PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of a head. Bodies come in pieces of at most this in HTTP/1.1.
const HEAD_MAX: u16 = 16 << 10;
const HEADERS_MAX: usize = 64;
/// Requests of one HTTP/2 connection at a time.
const STREAMS: u32 = 64;
/// Bytes of HTTP/2 bodies that are on their way without being asked for, of one request and of a
/// connection; and of one answer that wait to be sent, which is given in such pieces. All
/// connections have them before anybody has logged in. Streams, which want more, come by HTTP/1.1
/// from our own client.
const WINDOW: u32 = 64 << 10;
const WINDOW_OF_ALL: u32 = 128 << 10;
const UNSENT: usize = 64 << 10;
/// How often an HTTP/2 client is asked whether it is there, and how long it may take to say so.
const PING: Duration = Duration::from_secs(20);

/// How a connection is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// HTTP/1.1 on the Unix socket, whose door bounds the connections of guests.
    Local,
    /// From another machine, in the version that was agreed on.
    Http1,
    Http2,
}

impl Manner {
    fn builder(self) -> Builder<TokioExecutor> {
        let mut builder = Builder::new(TokioExecutor::new());
        match self {
            Manner::Local => builder.http1_only(),
            Manner::Http1 => {
                builder
                    .http1()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD_PATIENCE)
                    .max_buf_size(usize::from(HEAD_MAX))
                    .max_headers(HEADERS_MAX);
                builder.http1_only()
            }
            // Resets in a flood end the connection, as hyper and h2 bound them.
            Manner::Http2 => {
                builder
                    .http2()
                    .timer(TokioTimer::new())
                    .max_concurrent_streams(STREAMS)
                    .max_header_list_size(u32::from(HEAD_MAX))
                    .initial_stream_window_size(WINDOW)
                    .initial_connection_window_size(WINDOW_OF_ALL)
                    .max_send_buf_size(UNSENT)
                    .keep_alive_interval(PING)
                    .keep_alive_timeout(PING);
                builder.http2_only()
            }
        }
    }

    fn rest(self) -> Option<Duration> {
        match self {
            Manner::Local => None,
            Manner::Http1 => Some(STREAM_STUCK),
            Manner::Http2 => Some(REST),
        }
    }
}

/// Serves a connection to its end. `tell` has each request know what is known of the connection,
/// `is_known` says whether anybody was let in by it. The server stops when the sender of `stop` is
/// dropped.
pub async fn serve<I>(
    io: I,
    router: Router,
    tell: impl Fn(&mut Extensions) + Send + Sync + 'static,
    is_known: impl Fn() -> bool,
    manner: Manner,
    mut stop: watch::Receiver<()>,
) where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let work = Arc::new(Work::new());
    let router = TowerToHyperService::new(router);
    let service = {
        let work = work.clone();
        service_fn(move |mut request: Request<Incoming>| {
            tell(request.extensions_mut());
            let busy = Busy::begin(work.clone());
            let path = request.uri().path();
            let is_stream = routes::is_stream(path) || path == peers::wire::SOURCE_SEND;
            let patience = (manner != Manner::Local).then_some(STREAM_STUCK);
            let request = request.map(|body| Body::new(Heard::new(body, patience)));
            let answer = router.call(request);
            async move {
                let Ok(answer) = answer.await;
                Ok::<Response, Infallible>(answer.map(|body| Body::new(Carried::new(body, is_stream, busy))))
            }
        })
    };
    let builder = manner.builder();
    // It is large, and the tasks that hold it need not be.
    let mut connection = Box::pin(builder.serve_connection(TokioIo::new(io), service));
    let mut is_ending = false;
    let began = Instant::now();
    let is_held = || work.is_stuck(STUCK, STREAM_STUCK) || began.elapsed() >= STRANGE && !is_known();
    // It goes on resting while it is looked at.
    let rested = work.rested(manner.rest());
    tokio::pin!(rested);
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection");
                }
                return;
            }
            () = &mut rested, if !is_ending => {}
            _ = stop.changed(), if !is_ending => {}
            () = sleep(LOOK), if !is_ending && manner != Manner::Local => if !is_held() { continue },
            () = sleep(END_PATIENCE), if is_ending => return,
        }
        is_ending = true;
        connection.as_mut().graceful_shutdown();
    }
}

/// The requests under way.
struct Work {
    count: AtomicUsize,
    changed: Notify,
    /// Answers of which something waits to be sent, and how many of them are streams.
    unsent: AtomicUsize,
    unsent_streams: AtomicUsize,
    /// When the client last took something, or a new answer was there.
    moved: Mutex<Instant>,
}

impl Work {
    fn new() -> Work {
        Work {
            count: AtomicUsize::new(0),
            changed: Notify::new(),
            unsent: AtomicUsize::new(0),
            unsent_streams: AtomicUsize::new(0),
            moved: Mutex::new(Instant::now()),
        }
    }

    /// Whether something has waited for so long, and nothing was taken. Where a stream waits, the
    /// others wait with it.
    fn is_stuck(&self, patience: Duration, of_streams: Duration) -> bool {
        let has_stream = self.unsent_streams.load(Ordering::Acquire) > 0;
        let patience = if has_stream { of_streams } else { patience };
        self.unsent.load(Ordering::Acquire) > 0 && lock(&self.moved).elapsed() >= patience
    }

    /// One answer more of which something waits to be sent, or one less.
    fn wait_for(&self, is_stream: bool, is_more: bool) {
        let counts = [Some(&self.unsent), is_stream.then_some(&self.unsent_streams)];
        for count in counts.into_iter().flatten() {
            match is_more {
                true => count.fetch_add(1, Ordering::AcqRel),
                false => count.fetch_sub(1, Ordering::AcqRel),
            };
        }
    }

    /// When none has been under way for `rest`.
    async fn rested(&self, rest: Option<Duration>) {
        let Some(rest) = rest else { return std::future::pending().await };
        loop {
            // A change before this waits there: whoever asks next hears of it.
            let changed = self.changed.notified();
            if self.count.load(Ordering::Acquire) > 0 {
                changed.await;
                continue;
            }
            tokio::select! {
                () = changed => {}
                () = sleep(rest) => return,
            }
        }
    }
}

/// A request under way, until it is dropped.
struct Busy(Arc<Work>);

impl Busy {
    fn begin(work: Arc<Work>) -> Busy {
        work.count.fetch_add(1, Ordering::AcqRel);
        work.changed.notify_one();
        Busy(work)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::AcqRel);
        self.0.changed.notify_one();
    }
}

/// The body of an answer, with its request under way. It is given in small pieces, so that it is
/// seen how far it is taken.
struct Carried {
    body: Body,
    /// Of a piece of the body, what was not given yet.
    rest: Bytes,
    is_stream: bool,
    /// More of it is there, as far as is known, and nobody has asked for it.
    is_unsent: bool,
    busy: Busy,
}

impl Carried {
    fn new(body: Body, is_stream: bool, busy: Busy) -> Carried {
        let mut carried = Carried { body, rest: Bytes::new(), is_stream, is_unsent: false, busy };
        carried.moved(true);
        carried
    }

    /// It was asked for. `has_more` is whether more than was given is there.
    fn moved(&mut self, has_more: bool) {
        let work = &self.busy.0;
        *lock(&work.moved) = Instant::now();
        if self.is_unsent != has_more {
            work.wait_for(self.is_stream, has_more);
        }
        self.is_unsent = has_more;
    }

    /// As much of a frame as is given at once; the rest is kept.
    fn begin(&mut self, frame: Frame<Bytes>) -> Frame<Bytes> {
        frame.map_data(|mut data| {
            self.rest = data.split_off(data.len().min(UNSENT));
            data
        })
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        self.moved(false);
    }
}

impl HttpBody for Carried {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = match mem::take(&mut self.rest) {
            rest if rest.is_empty() => Pin::new(&mut self.body).poll_frame(cx),
            rest => Poll::Ready(Some(Ok(Frame::data(rest)))),
        };
        let frame = frame.map_ok(|frame| self.begin(frame));
        self.moved(matches!(frame, Poll::Ready(Some(Ok(_)))));
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (of_body, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(of_body.lower().saturating_add(rest));
        if let Some(upper) = of_body.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_time(work: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime").block_on(work);
    }

    #[test]
    fn a_connection_rests_once_nothing_is_under_way() {
        with_time(async {
            let work = Arc::new(Work::new());
            let short = Duration::from_millis(20);
            let busy = Busy::begin(work.clone());
            let rested = tokio::time::timeout(short * 5, work.rested(Some(short))).await;
            assert!(rested.is_err(), "a request is under way");
            drop(busy);
            let rested = tokio::time::timeout(Duration::from_secs(30), work.rested(Some(short))).await;
            assert!(rested.is_ok());
            let for_ever = tokio::time::timeout(short, work.rested(None)).await;
            assert!(for_ever.is_err(), "the socket has rules of its own");
        });
    }

    #[test]
    fn an_answer_is_under_way_until_its_body_is_gone() {
        let work = Arc::new(Work::new());
        let carried = Carried::new(Body::from("x"), false, Busy::begin(work.clone()));
        assert_eq!(work.count.load(Ordering::Acquire), 1);
        drop(Body::new(carried));
        assert_eq!(work.count.load(Ordering::Acquire), 0);
    }

    /// A body whose frames come when they are put in.
    struct Produced(tokio::sync::mpsc::Receiver<Bytes>);

    impl HttpBody for Produced {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            self.0.poll_recv(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
        }
    }

    #[test]
    fn a_client_that_takes_nothing_is_stuck_and_one_that_waits_is_not() {
        let work = Arc::new(Work::new());
        let is_stuck = || work.is_stuck(Duration::ZERO, Duration::MAX);
        assert!(!is_stuck(), "nothing was asked");
        let (put, produced) = tokio::sync::mpsc::channel(2);
        let mut carried = Carried::new(Body::new(Produced(produced)), false, Busy::begin(work.clone()));
        assert!(is_stuck() && !work.is_stuck(Duration::from_secs(60), Duration::ZERO));
        let mut poll = || {
            let mut cx = Context::from_waker(std::task::Waker::noop());
            Pin::new(&mut carried).poll_frame(&mut cx).is_ready()
        };
        assert!(!poll() && !is_stuck(), "the client waits for us");
        put.try_send(Bytes::from_static(b"x")).expect("room");
        assert!(poll() && is_stuck(), "more may be there");
        drop(carried);
        assert!(!is_stuck());
    }

    #[test]
    fn a_stream_may_wait_for_longer_and_others_with_it() {
        let work = Arc::new(Work::new());
        let is_stuck = |of_streams| work.is_stuck(Duration::ZERO, of_streams);
        let stream = Carried::new(Body::from("x"), true, Busy::begin(work.clone()));
        let other = Carried::new(Body::from("x"), false, Busy::begin(work.clone()));
        assert!(!is_stuck(Duration::MAX) && is_stuck(Duration::ZERO));
        drop(stream);
        assert!(is_stuck(Duration::MAX), "the other has no such time");
        drop(other);
        assert!(!is_stuck(Duration::ZERO));
        assert_eq!(Manner::Local.rest(), None, "the socket has rules of its own");
    }

    #[test]
    fn a_large_answer_is_under_way_until_its_last_piece_is_asked_for() {
        let work = Arc::new(Work::new());
        let large = vec![7; 2 * UNSENT + 1];
        let mut carried = Carried::new(Body::from(large), false, Busy::begin(work.clone()));
        let mut cx = Context::from_waker(std::task::Waker::noop());
        for (given, left) in [(UNSENT, UNSENT + 1), (UNSENT, 1), (1, 0)] {
            assert!(!carried.is_end_stream());
            let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut carried).poll_frame(&mut cx) else {
                panic!("it is there")
            };
            assert_eq!(frame.into_data().map(|data| data.len()).ok(), Some(given));
            assert_eq!(carried.size_hint().exact(), Some(left as u64));
        }
        assert!(carried.is_end_stream());
    }
}
