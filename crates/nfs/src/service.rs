//! The server without its sockets: a record in, a reply out.
//!
//! [`Service::begin`] is a function of the record, the client's address and the engine; `listen`
//! and `conn` only carry bytes. It may be called from any number of threads at once. What a call
//! has changed need not be on stable storage then: such an answer is [`Promised`], and leaves when
//! that is kept.
//!
//! No call waits for an operator ([`stdx::patience`]): its thread, its buffer and its connection
//! are needed for other pools. If a pool is suspended while a call is under way, the client is told
//! to ask again (`NFS3ERR_JUKEBOX`). A change of names may have been made by then, though not be
//! durable: who asks again may hear that the name exists, or does not.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use analytics::{Live, Observer, Protocol};
use engine_api::{Happened, Promise, ReadBuf, Serving};
use sockets::outbox::Pieces;
use stdx::call::{Keeping, working_on};
use stdx::patience::hurried;
use sunrpc::msg::{Accepted, Call, NotCall, parse_call, put_accepted, put_denied};
use sunrpc::record;
use sunrpc::xdr::{Decoder, Encoder, Malformed, padding};

use crate::context::Context;
use crate::drc::{self, Cache, Key, Ticket, Verdict};
use crate::limits::{DRC_SECONDS, LIST_REPLY, MAX_PATH, MAX_TRANSFER, USUAL_REPLY};
use crate::mount::{self, Mounts};
use crate::shares::Shares;
use crate::stats::{Counters, Kind as Took, MOUNT_CALLS, PROCEDURES, REFUSED, REPLAYS, ServerStats, Stats};
use crate::status::Status;
use crate::v3::target::{self, get_handle};
use crate::v3::{self, NAMES, Out, procedure};

const MARK: usize = 4;

/// A client's connection as the service sees it.
#[derive(Clone, Debug)]
pub struct Session {
    client: SocketAddr,
    counters: Arc<Counters>,
    /// Of the client, for who looks at requests.
    name: Arc<str>,
}

/// A reply ready for the stream: record mark and head, then the data of a READ as it lies in the
/// cache, then padding.
#[derive(Debug)]
pub struct Reply {
    head: Vec<u8>,
    body: ReadBuf,
    pad: usize,
}

impl Reply {
    fn new(mut enc: Encoder, body: ReadBuf) -> Reply {
        let pad = padding(body.len());
        let len = enc.len() - MARK + body.len() + pad;
        enc.patch(0, u32::from_be_bytes(record::mark(len)));
        Reply { head: enc.into_bytes(), body, pad }
    }

    /// Bytes on the stream.
    pub fn len(&self) -> usize {
        self.head.len() + self.body.len() + self.pad
    }

    pub fn is_empty(&self) -> bool {
        false
    }

    /// The pieces, in order.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let pad = &[0_u8; 3][..self.pad];
        std::iter::once(&self.head[..])
            .chain(self.body.parts.iter().map(engine_api::Slice::bytes))
            .chain((self.pad > 0).then_some(pad))
    }

    /// The same, for an outbox.
    pub(crate) fn put(self, to: &mut Pieces) {
        to.write(|own| own.extend(self.head));
        for part in self.body.parts {
            let len = part.bytes().len();
            to.share(part, 0..len);
        }
        if self.pad > 0 {
            to.write(|own| own.extend(&[0; 3][..self.pad]));
        }
    }
}

/// What becomes of a record.
#[derive(Debug)]
pub enum Answer {
    Reply(Reply),
    /// Nothing is said; the client will ask again.
    Nothing,
    /// The peer does not speak RPC.
    HangUp,
}

/// What becomes of a record, perhaps later.
pub(crate) enum Begun {
    Answer(Answer),
    Promised(Promised),
}

/// A reply that may not leave yet.
pub(crate) struct Promised {
    reply: Reply,
    promises: Vec<Promise>,
    xid: u32,
    procedure: u32,
    ticket: Option<Ticket>,
    /// Where the next program finds the answer.
    keeping: Option<Arc<dyn Keeping>>,
}

impl Promised {
    /// Bytes that it keeps meanwhile.
    pub fn len(&self) -> usize {
        self.reply.len()
    }

    /// As [`Kind::class`] of its call.
    pub fn class(&self) -> usize {
        self.procedure as usize
    }

    /// Waits until the reply is true; says what failed where it is not.
    pub fn keep(self) -> Reply {
        let promises = self.promises;
        let keep = || hurried(|| promises.into_iter().try_for_each(|promise| promise()));
        let reply = match catch_unwind(AssertUnwindSafe(keep)) {
            Ok(Ok(())) => return answered(self.reply, self.ticket),
            Ok(Err(error)) => bare(|enc| {
                put_accepted(enc, self.xid, Accepted::Success);
                target::refuse(Status::from(error), v3::absent_of(self.procedure), enc);
            }),
            Err(_) => {
                tracing::error!(procedure = self.procedure, "a promise ended in a panic");
                bare(|enc| put_accepted(enc, self.xid, Accepted::SystemErr))
            }
        };
        self.keeping.inspect(|keeping| keeping.answer(&reply.head));
        answered(reply, self.ticket)
    }
}

/// The reply may leave: a repeated call gets it too.
fn answered(reply: Reply, ticket: Option<Ticket>) -> Reply {
    if let Some(ticket) = ticket {
        ticket.done(&reply.head);
    }
    reply
}

/// Kinds of work that take about equally long: NFS procedures, then everything else.
pub const CLASSES: usize = PROCEDURES + 1;
const CLASS_OTHER: usize = PROCEDURES;

/// The NFSv3 and MOUNT programs over one engine.
pub struct Service {
    shares: Shares,
    cache: Arc<Cache>,
    mounts: Mounts,
    stats: Stats,
    start: Instant,
    observer: Arc<Observer>,
}

impl Service {
    /// `old_handles`: as in [`crate::ServerConfig`].
    pub fn new(engine: Arc<dyn Serving>, old_handles: bool) -> Service {
        Service {
            shares: Shares::new(engine, old_handles),
            cache: Arc::default(),
            mounts: Mounts::default(),
            stats: Stats::default(),
            start: Instant::now(),
            observer: Arc::default(),
        }
    }

    /// The same, whose calls are shown to who looks at requests.
    #[must_use]
    pub fn observed_by(self, observer: Arc<Observer>) -> Service {
        Service { observer, ..self }
    }

    pub fn session(&self, client: SocketAddr) -> Session {
        let address = client.ip().to_canonical();
        Session { client, counters: self.stats.of(address), name: address.to_string().into() }
    }

    /// A call of this class has come; `None`: nobody looks.
    pub(crate) fn observe(&self, session: &Session, class: usize) -> Option<Box<Live>> {
        let operation = || NAMES.get(class).copied().unwrap_or("OTHER");
        self.observer.begin((Protocol::Nfs, operation), &session.name, None)
    }

    pub fn stats(&self) -> ServerStats {
        self.stats.seen()
    }

    /// A request of this class was answered after so long.
    pub(crate) fn took(&self, class: usize, time: Duration) {
        let kind = match class as u32 {
            procedure::READ => Took::Read,
            procedure::WRITE => Took::Write,
            _ => Took::Other,
        };
        if class != CLASS_OTHER {
            self.stats.took(kind, time);
        }
    }

    /// Answers one record.
    pub fn answer(&self, session: &Session, record: &[u8]) -> Answer {
        match self.begin(session, record) {
            Begun::Answer(answer) => answer,
            Begun::Promised(promised) => Answer::Reply(promised.keep()),
        }
    }

    /// Does what a record asks for.
    pub(crate) fn begin(&self, session: &Session, record: &[u8]) -> Begun {
        let call = match parse_call(record) {
            Ok(call) => call,
            Err(not) => return Begun::Answer(refuse(session, not)),
        };
        let cx = Context {
            client: session.client,
            credential: call.credential,
            shares: &self.shares,
            table: self.shares.table(),
            counters: &session.counters,
            promises: RefCell::default(),
            is_unanswered: Cell::default(),
        };
        let answer = match (call.program, call.version) {
            (v3::PROGRAM, v3::VERSION) => return self.begin_nfs(&cx, &call),
            (v3::PROGRAM, _) => plain(session, &call, Accepted::ProgMismatch(v3::VERSION, v3::VERSION)),
            (mount::PROGRAM, mount::LOWEST..=mount::HIGHEST) => {
                session.counters.add(MOUNT_CALLS, 1);
                let work = |out: &mut Out| {
                    let which = (call.version, call.procedure);
                    hurried(|| mount::run(&cx, &self.mounts, which, call.args, &mut out.enc))
                };
                let reply = execute(&cx, &call, work);
                if cx.is_unanswered.get() { Answer::Nothing } else { Answer::Reply(reply) }
            }
            (mount::PROGRAM, _) => {
                plain(session, &call, Accepted::ProgMismatch(mount::LOWEST, mount::HIGHEST))
            }
            _ => plain(session, &call, Accepted::ProgUnavail),
        };
        Begun::Answer(answer)
    }

    fn begin_nfs(&self, cx: &Context<'_>, call: &Call<'_>) -> Begun {
        if (call.procedure as usize) < PROCEDURES {
            cx.counters.add(call.procedure as usize, 1);
        }
        let work = |out: &mut Out| hurried(|| v3::run(cx, call.procedure, call.args, out));
        let mut ticket = None;
        let addr = cx.client.ip().to_canonical();
        let now = || self.start.elapsed().as_secs();
        if v3::is_remembered(call.procedure) {
            match self.cache.begin(Key::new(addr, call), now()) {
                Verdict::Run(given) => ticket = Some(given),
                Verdict::Drop => return Begun::Answer(Answer::Nothing),
                Verdict::Replay(head) => return Begun::Answer(Answer::Reply(again(cx, head.to_vec()))),
            }
        }
        let (reply, keeping) = if v3::is_kept(call.procedure) {
            let id = drc::id(addr, call);
            let find = || hurried(|| v3::find(cx, call.args, &id.digest));
            if now() <= DRC_SECONDS
                && let Some(happened) = find()
            {
                let reply = again_from_before(cx, call, happened);
                return Begun::Answer(Answer::Reply(answered(reply, ticket)));
            }
            working_on(id, || execute(cx, call, work))
        } else {
            (execute(cx, call, work), None)
        };
        keeping.as_ref().inspect(|keeping| keeping.answer(&reply.head));
        let promises = cx.promises.take();
        if promises.is_empty() {
            return Begun::Answer(Answer::Reply(answered(reply, ticket)));
        }
        let (xid, procedure) = (call.xid, call.procedure);
        Begun::Promised(Promised { reply, promises, xid, procedure, ticket, keeping })
    }
}

/// The reply that a call got before.
fn again(cx: &Context<'_>, head: Vec<u8>) -> Reply {
    cx.counters.add(REPLAYS, 1);
    Reply { head, body: ReadBuf::default(), pad: 0 }
}

/// The reply to a call that an earlier program has done.
fn again_from_before(cx: &Context<'_>, call: &Call<'_>, happened: Happened) -> Reply {
    match happened.answer {
        Some(head) => again(cx, head),
        None => execute(cx, call, |out| hurried(|| v3::put_done(cx, call.procedure, call.args, out))),
    }
}

/// Runs a procedure and makes its reply.
fn execute(
    cx: &Context<'_>,
    call: &Call<'_>,
    work: impl FnOnce(&mut Out) -> Result<bool, Malformed>,
) -> Reply {
    let mut out = Out { enc: Encoder::with_capacity(USUAL_REPLY), body: ReadBuf::default() };
    out.enc.u32(0);
    let start = out.enc.len();
    put_accepted(&mut out.enc, call.xid, Accepted::Success);
    let how = match work(&mut out) {
        Ok(true) => return Reply::new(out.enc, out.body),
        Ok(false) => Accepted::ProcUnavail,
        Err(why) => {
            tracing::debug!(client = %cx.client, procedure = call.procedure, %why, "arguments do not decode");
            Accepted::GarbageArgs
        }
    };
    cx.counters.add(REFUSED, 1);
    out.enc.truncate(start);
    put_accepted(&mut out.enc, call.xid, how);
    Reply::new(out.enc, ReadBuf::default())
}

/// A reply without results.
fn plain(session: &Session, call: &Call<'_>, how: Accepted) -> Answer {
    session.counters.add(REFUSED, 1);
    Answer::Reply(bare(|enc| put_accepted(enc, call.xid, how)))
}

fn refuse(session: &Session, not: NotCall) -> Answer {
    session.counters.add(REFUSED, 1);
    match not {
        NotCall::Garbage => Answer::HangUp,
        NotCall::Denied { xid, why } => Answer::Reply(bare(|enc| put_denied(enc, xid, why))),
    }
}

fn bare(put: impl FnOnce(&mut Encoder)) -> Reply {
    let mut enc = Encoder::with_capacity(64);
    enc.u32(0);
    put(&mut enc);
    Reply::new(enc, ReadBuf::default())
}

/// The reply to a call whose execution panicked; `None` where there is nobody to answer to.
pub fn fault(record: &[u8]) -> Option<Reply> {
    let call = parse_call(record).ok()?;
    Some(bare(|enc| put_accepted(enc, call.xid, Accepted::SystemErr)))
}

/// What a record asks for, as far as that matters before it is worked on.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Below [`CLASSES`].
    pub class: usize,
    /// Bytes that the reply may come to.
    pub weight: usize,
}

pub fn kind_of(record: &[u8]) -> Kind {
    match parse_call(record) {
        Ok(call) if call.program == v3::PROGRAM => {
            let class = (call.procedure as usize).min(CLASS_OTHER);
            // What does not decode is refused in a few words.
            Kind { class, weight: USUAL_REPLY + data_of(&call).unwrap_or(0) }
        }
        Ok(call) if call.program == mount::PROGRAM => Kind { class: CLASS_OTHER, weight: LIST_REPLY },
        _ => Kind { class: CLASS_OTHER, weight: USUAL_REPLY },
    }
}

/// Bytes of data or names that a reply may have, as the call asks for them.
fn data_of(call: &Call<'_>) -> Result<usize, Malformed> {
    let mut args = Decoder::new(call.args);
    let wanted = match call.procedure {
        procedure::READ => {
            let _place = (get_handle(&mut args)?, args.u64()?);
            args.u32()?
        }
        procedure::READDIR | procedure::READDIRPLUS => {
            let _place = (get_handle(&mut args)?, args.u64()?, args.u64()?);
            if call.procedure == procedure::READDIRPLUS {
                // How much of it may be names.
                args.u32()?;
            }
            args.u32()?
        }
        procedure::READLINK => MAX_PATH,
        _ => 0,
    };
    Ok(wanted.min(MAX_TRANSFER) as usize)
}
