//! One connection: read a record, decide who works on it, see the reply off.
//!
//! The reader does by itself what will not wait: that costs no thread switch, and the replies to a
//! burst of small calls leave together. It knows by measuring: per class of request a moving
//! average of how long the engine took (see [`sockets::pace`]). What has been slow goes to the
//! workers ([`sockets::workers`]), so that later requests overtake it, unless the request is alone
//! on the connection anyway. When workers or the connection's allowance are exhausted the reader
//! works too, which stops it from reading: that is the backpressure.
//!
//! What a call brings and what its reply may be is leased before it is worked on
//! ([`sockets::budget`]); where there is no room, the reader waits, having sent what there is.
//!
//! Replies that may not leave before a change is on stable storage are put aside, and the reader
//! goes on ([`sockets::keepers`]). The reader itself is the keeper of a request that is alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use analytics::Live;
use sockets::attentive::Attentive;
use sockets::keepers::Promises;
use sockets::outbox::Outbox;
use sockets::pace::{FAST, Pace};
use sockets::workers::{Jobs, Workers};
use sockets::{Lease, Peer};
use sunrpc::record::{self, Patience, Pool, RecordError};

use crate::limits::{BATCH_BYTES, BATCH_REPLIES, LEAST_SHARE, QUEUED_REQUESTS, RECORD_TIME};
use crate::service::{Answer, Begun, CLASSES, Promised, Reply, Service, Session, fault, kind_of};

/// The class of waiting for stable storage, behind those of requests; and what is assumed of it
/// until it has been measured.
const KEEPING: usize = CLASSES;
const SLOW: Duration = Duration::from_millis(10);
/// Up to this, work is done by the reader when nothing else is known to wait.
const BEARABLE: Duration = Duration::from_millis(2);

/// What reader and workers share of a connection.
pub struct Conn {
    service: Arc<Service>,
    session: Session,
    peer: Arc<Peer>,
    outbox: Outbox,
    pace: Pace<{ CLASSES + 1 }>,
    /// Requests with workers.
    jobs: Arc<Jobs>,
    /// Replies that wait for stable storage.
    promises: Promises<Aside>,
}

/// A reply that waits for stable storage, when its call was begun, and the record of that.
type Aside = (Promised, Lease, Instant, Option<Box<Live>>);

impl Conn {
    /// Keeps what is promised, as long as there is anything and not enough others are at it.
    fn keep(&self) {
        let keep = |batch: Vec<Aside>| {
            let start = Instant::now();
            for (promised, lease, begun, mut live) in batch {
                let class = promised.class();
                let reply = Live::keeping(&mut live, || promised.keep());
                self.service.took(class, begun.elapsed());
                self.push(lease, reply, live);
            }
            self.pace.note(KEEPING, start.elapsed());
        };
        self.promises.keep(keep, || self.outbox.write_all());
    }

    /// A reply into the outbox; the record of its call ends when it has gone.
    fn push(&self, lease: Lease, reply: Reply, live: Option<Box<Live>>) {
        self.outbox.push(Some(lease), |pieces| {
            reply.put(pieces);
            if let Some(live) = live {
                pieces.drop_when_gone(live);
            }
        });
    }

    /// As [`Conn::keep`], and waits for the other keepers until fewer than `most` promises are
    /// open.
    fn keep_below(&self, most: usize) {
        self.keep();
        self.promises.wait_below(most);
    }

    /// Works on a record; false when the peer talks nonsense. The reply is in the outbox, not yet
    /// written, or promised.
    fn work(&self, class: usize, record: &[u8], mut lease: Lease, mut live: Option<Box<Live>>) -> bool {
        let begun = Instant::now();
        let watch = self.pace.watch(class, begun);
        // A panic is a broken invariant in the engine; it must not take other clients' connections
        // along.
        let work = || catch_unwind(AssertUnwindSafe(|| self.service.begin(&self.session, record)));
        let answer = analytics::working(&mut live, work);
        let took = self.pace.end(watch);
        if !matches!(answer, Ok(Begun::Promised(_))) {
            self.service.took(class, took);
        }
        match answer {
            Ok(Begun::Answer(Answer::Reply(reply))) => self.push(lease, reply, live),
            Ok(Begun::Answer(Answer::Nothing)) => {}
            Ok(Begun::Answer(Answer::HangUp)) => return false,
            Ok(Begun::Promised(promised)) => {
                lease.resize(promised.len());
                Live::waits_for_log(&mut live);
                self.promises.put((promised, lease, begun, live));
            }
            Err(_) => {
                tracing::error!(session = ?self.session, "request ended in a panic");
                if let Some(reply) = fault(record) {
                    self.push(lease, reply, live);
                }
            }
        }
        self.peer.prove();
        true
    }

    pub fn new(
        service: Arc<Service>,
        session: Session,
        peer: Arc<Peer>,
        outbox: Outbox,
        workers: &Workers,
    ) -> Arc<Conn> {
        let mut guesses = [Duration::ZERO; CLASSES + 1];
        guesses[KEEPING] = SLOW;
        Arc::new(Conn {
            service,
            session,
            peer,
            outbox,
            pace: Pace::new(guesses),
            jobs: workers.jobs(),
            promises: Promises::default(),
        })
    }

    /// Serves the connection until its peer is done or breaks the rules; returns when every reply
    /// is out.
    pub fn serve(
        self: Arc<Self>,
        mut from: Attentive<'_>,
        workers: &Workers,
        pool: Arc<Pool>,
    ) -> Result<(), RecordError> {
        let start = Instant::now();
        let patience = Patience { now: Arc::new(move || start.elapsed()), record: RECORD_TIME };
        let mut reader = record::Reader::guarded(pool, self.peer.clone(), patience);
        let ended = read_loop(&self, &mut reader, &mut from, workers);
        self.keep_below(1);
        self.jobs.wait();
        self.outbox.finish();
        ended
    }
}

fn read_loop(
    conn: &Arc<Conn>,
    reader: &mut record::Reader,
    from: &mut Attentive<'_>,
    workers: &Workers,
) -> Result<(), RecordError> {
    // Since replies were written last.
    let mut unsent = 0;
    while conn.outbox.wait_for_room() {
        let Some(mut record) = reader.next(from)? else { break };
        let kind = kind_of(&record);
        let live = conn.service.observe(&conn.session, kind.class);
        let (mut lease, bytes) = (record.take_lease(), record.len().max(kind.weight));
        if !conn.peer.try_lease(&mut lease, bytes) {
            conn.outbox.write_all();
            see_promises_kept(conn, &|| false, workers);
            unsent = 0;
            conn.peer.lease(&mut lease, bytes, false);
        }
        let Some(lease) = lease.filter(|lease| lease.bytes() >= bytes) else { return Err(RecordError::Cut) };
        let pace = conn.pace.of(kind.class);
        let in_flight = conn.jobs.in_flight();
        let alone = || in_flight == 0 && !reader.has_more() && !from.have_arrived();
        let is_quick = pace < FAST || (pace < BEARABLE && alone());
        let by_reader =
            is_quick || in_flight >= workers.share(LEAST_SHARE) || !workers.has_room(QUEUED_REQUESTS);
        if by_reader {
            if !conn.work(kind.class, &record, lease, live) {
                return Err(RecordError::Impossible("record is no call"));
            }
            unsent += 1;
            // More small calls are here already: their replies shall leave together.
            let is_little = unsent < BATCH_REPLIES && conn.outbox.bytes() < BATCH_BYTES;
            if reader.has_record() && is_little && pace < FAST {
                continue;
            }
        } else {
            let (conn, flight) = (conn.clone(), conn.jobs.take_off());
            workers.submit(move || {
                if !conn.work(kind.class, &record, lease, live) {
                    tracing::debug!(session = ?conn.session, "record is no call");
                }
                drop(record);
                conn.outbox.write_all();
                conn.keep();
                drop(flight);
            });
        }
        conn.outbox.write_all();
        if by_reader {
            see_promises_kept(conn, &|| unsent == 1 && alone(), workers);
        }
        unsent = 0;
    }
    Ok(())
}

/// Finds somebody who keeps what was promised just now. `alone` tells whether nothing else waits on
/// this connection.
fn see_promises_kept(conn: &Arc<Conn>, alone: &dyn Fn() -> bool, workers: &Workers) {
    let Some(open) = conn.promises.unattended() else { return };
    if (conn.pace.of(KEEPING) < BEARABLE && alone()) || !workers.has_room(QUEUED_REQUESTS) {
        conn.keep();
    } else if conn.promises.want_keeper() {
        let (conn, flight) = (conn.clone(), conn.jobs.take_off());
        workers.submit(move || {
            conn.keep();
            drop(flight);
        });
    }
    if open >= workers.share(LEAST_SHARE) {
        conn.keep_below(open);
    }
}
