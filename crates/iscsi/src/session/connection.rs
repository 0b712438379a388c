//! One connection of a session, as others of the session know it: how its initiator is reached, and
//! the commands that have not all their data yet.
//!
//! Answers get their status numbers as they are put into the box, so those go up on the wire. What
//! is put there has to be sent by somebody: the reader, before it waits for anything
//! ([`Connection::see_off`]), or one of the crew ([`Connection::deliver`]).
//!
//! Source: RFC 7143 4.2.2, 11.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use analytics::Live;
use engine_api::Slice;
use scsi::{Answer, Data, Status};
use sockets::keepers::Promises;
use sockets::outbox::{Outbox, Pieces};
use sockets::{Accepted, Lease, Peer, lock};

use super::Session;
use crate::gather::Gatherer;
use crate::limits::BATCH_BYTES;
use crate::member::Member;
use crate::pdu::initiator::Command;
use crate::pdu::target::{
    DataIn, Event, FromTarget, Numbers, RejectReason, Residual, Response, TextResponse,
};
use crate::pdu::{Header, NONE, Pdu, put_back};
use crate::portal::Door;

/// See the module.
pub struct Connection {
    pub member: Member,
    pub session: Arc<Session>,
    pub door: Door,
    pub wire: Wire,
    /// Somebody has ended it in good order; its reader may not know yet.
    cut: AtomicBool,
    /// What PDUs are given on their way into the box.
    out: Mutex<Out>,
    /// Commands that have done what they were to do, and end when that is on stable storage.
    pub(super) promises: Promises<Keep>,
    /// Commands that have not all their data yet.
    pub gatherer: Mutex<Gatherer>,
}

/// Waits for one command's promise and answers it.
type Keep = Box<dyn FnOnce() + Send>;

/// How an initiator is reached, and what it may take of the memory.
pub struct Wire {
    pub stream: Arc<TcpStream>,
    pub peer: Arc<Peer>,
    pub outbox: Outbox,
}

impl Wire {
    pub fn new(accepted: &Accepted<TcpStream>) -> io::Result<Wire> {
        let outbox = accepted.outbox()?;
        Ok(Wire { stream: accepted.stream.clone(), peer: accepted.peer.clone(), outbox })
    }
}

struct Out {
    status: u32,
    /// Of a text that goes on.
    text: Vec<u8>,
}

impl Connection {
    pub fn new(wire: Wire, member: Member, door: Door, session: Arc<Session>) -> Arc<Connection> {
        let out = Out { status: member.status_number, text: Vec::new() };
        Arc::new(Connection {
            member,
            session,
            door,
            wire,
            cut: AtomicBool::new(false),
            out: Mutex::new(out),
            promises: Promises::default(),
            gatherer: Mutex::default(),
        })
    }

    /// As its initiator calls it.
    pub fn number(&self) -> u16 {
        self.member.connection
    }

    /// Ends it: its reader finds nothing more, and what is answered is not heard.
    pub fn cut(&self) {
        self.cut.store(true, SeqCst);
        // It may have ended by itself meanwhile.
        drop(self.wire.stream.shutdown(Shutdown::Both));
    }

    pub fn is_cut(&self) -> bool {
        self.cut.load(SeqCst)
    }

    // ── Out ──

    /// With the numbers that every PDU has.
    fn numbered(&self, out: &mut Out, pdu: &impl FromTarget) -> Pdu {
        let status = out.status;
        if pdu.is_counted() {
            out.status = status.wrapping_add(1);
        }
        let (expected, most) = self.session.window();
        pdu.encode(&Numbers { status, expected, most })
    }

    /// A PDU of the reader's own, which sends it before it waits for anything.
    pub fn send(&self, pdu: &impl FromTarget, data: Vec<u8>) {
        self.send_leased(pdu, data, None);
    }

    /// The same, with the lease of what it was made of.
    pub fn send_leased(&self, pdu: &impl FromTarget, data: Vec<u8>, lease: Option<Lease>) {
        let mut out = lock(&self.out);
        let pdu = self.numbered(&mut out, pdu).with_data(data);
        self.wire.outbox.push(lease, |pieces| self.put(&pdu, pieces));
    }

    fn put(&self, pdu: &Pdu, pieces: &mut Pieces) {
        pieces.write(|own| pdu.encode(own, self.member.parameters.digests));
    }

    /// A PDU whose data is these parts of slices.
    fn put_with(&self, pdu: &Pdu, parts: Vec<(Slice, Range<usize>)>, pieces: &mut Pieces) {
        let digests = self.member.parameters.digests;
        let len = parts.iter().map(|(_, range)| range.len()).sum();
        let crc = |crc, (slice, range): &(Slice, Range<usize>)| {
            crc32c::crc32c_append(crc, &slice.bytes()[range.clone()])
        };
        let crc = if digests.data { parts.iter().fold(0, crc) } else { 0 };
        pieces.write(|own| pdu.put_front(own, digests, len));
        parts.into_iter().for_each(|(slice, range)| pieces.share(slice, range));
        pieces.write(|own| put_back(own, digests, len, crc));
    }

    /// Sends what the reader has put into the box, and finds somebody who does what the reader
    /// would have to wait for.
    pub fn see_off(self: &Arc<Self>) {
        if !self.wire.outbox.write_now(BATCH_BYTES) {
            let own = self.clone();
            self.session.crew.submit(move || own.wire.outbox.write_rest());
        }
        if self.promises.want_keeper() {
            let own = self.clone();
            self.session.crew.submit(move || own.keep());
        }
    }

    /// Sends what one of the crew has put into the box, and does what is to be waited for.
    pub fn deliver(&self) {
        self.wire.outbox.write_all();
        self.keep();
    }

    fn keep(&self) {
        let keep = |batch: Vec<Keep>| batch.into_iter().for_each(|keep| keep());
        self.promises.keep(keep, || self.wire.outbox.write_all());
    }

    /// Tells the initiator what it has not asked for.
    pub fn announce(&self, event: Event) {
        self.send(&event, Vec::new());
        self.wire.outbox.write_all();
    }

    /// A PDU that cannot be followed.
    pub fn reject(&self, header: &Header, reason: RejectReason) {
        self.send(&reason, header.to_vec());
    }

    /// Text of a negotiation: as much as fits, or, where there is none, what was left of the last.
    /// `tag`: of its request.
    pub fn send_text(&self, tag: u32, text: Option<Vec<u8>>) {
        let left = std::mem::take(&mut lock(&self.out).text);
        let mut text = text.unwrap_or(left);
        let len = text.len().min(self.member.parameters.their_segment);
        let rest = text.split_off(len);
        let goes_on = !rest.is_empty();
        lock(&self.out).text = rest;
        self.send(&TextResponse { goes_on, tag, transfer_tag: if goes_on { 1 } else { NONE } }, text);
    }

    // ── Data ──

    /// Gives up commands that have not all their data yet, by tag and unit.
    pub fn abandon(&self, which: impl Fn(u32, u64) -> bool) -> Vec<Command> {
        let mut gatherer = lock(&self.gatherer);
        let tags = gatherer.tags(which);
        tags.into_iter().filter_map(|tag| gatherer.abandon(tag)).collect()
    }

    /// Asks for data that there is room for. Somebody has to send that.
    pub fn ask(&self) {
        self.ask_with(|bytes| self.wire.peer.try_take(bytes));
    }

    /// The same, where `take` gives the leases for all that a command lacks.
    pub fn ask_with(&self, take: impl FnMut(usize) -> Option<Lease>) {
        let requests = lock(&self.gatherer).requests(&self.member.parameters, take);
        requests.iter().for_each(|request| self.send(request, Vec::new()));
    }

    /// Data, then how it ended: with the last data where there is nothing to say. Somebody has to
    /// send it.
    pub fn answer(&self, command: &Command, answer: Answer, lease: Option<Lease>) {
        self.answer_observed(command, answer, lease, None);
    }

    /// The same; the record of the command ends when its answer has gone.
    pub fn answer_observed(
        &self,
        command: &Command,
        answer: Answer,
        lease: Option<Lease>,
        live: Option<Box<Live>>,
    ) {
        let (tag, expected, is_read) = (command.tag, command.moved_len(), !command.writes);
        let moved = if is_read { answer.data.len() } else { answer.taken };
        let residual = match moved {
            moved if moved > expected => Residual::Overflow((moved - expected) as u32),
            moved if moved < expected && (is_read || answer.status == Status::Good) => {
                Residual::Underflow((expected - moved) as u32)
            }
            _ => Residual::None,
        };
        let sent = if is_read { moved.min(expected) } else { 0 };
        let mut out = lock(&self.out);
        let folded = sent > 0 && answer.status == Status::Good;
        self.wire.outbox.push(lease, |pieces| {
            if sent > 0 {
                self.put_data(&mut out, pieces, tag, answer.data, sent, (folded, residual));
            }
            if !folded {
                let response = Response { status: answer.status, tag, residual };
                let data = answer.sense.map_or_else(Vec::new, Response::sense_data);
                self.put(&self.numbered(&mut out, &response).with_data(data), pieces);
            }
            if let Some(live) = live {
                pieces.drop_when_gone(live);
            }
        });
    }

    /// In PDUs as long as the initiator takes, in sequences as long as was agreed. The last has the
    /// residual count, and the command's status where `has_status` holds.
    fn put_data(
        &self,
        out: &mut Out,
        pieces: &mut Pieces,
        tag: u32,
        data: Data,
        len: usize,
        (has_status, residual): (bool, Residual),
    ) {
        let parameters = &self.member.parameters;
        let parts: Vec<Slice> = match data {
            Data::Nothing => Vec::new(),
            Data::Bytes(bytes) => {
                let len = bytes.len();
                vec![Slice::new(Arc::new(bytes), 0, len)]
            }
            Data::Read(read) => read.parts,
        };
        let (mut from, mut number) = (0, 0);
        while from < len {
            let in_burst = parameters.max_burst - from % parameters.max_burst;
            let part = parameters.their_segment.min(in_burst).min(len - from);
            let is_last = from + part == len;
            let pdu = DataIn {
                is_final: is_last || part == in_burst,
                has_status: is_last && has_status,
                residual: if is_last { residual } else { Residual::None },
                tag,
                number,
                offset: from as u32,
            };
            let pdu = self.numbered(out, &pdu);
            self.put_with(&pdu, window(&parts, from, part), pieces);
            from += part;
            number += 1;
        }
    }
}

/// A part of bytes that come in parts.
fn window(parts: &[Slice], from: usize, len: usize) -> Vec<(Slice, Range<usize>)> {
    let (mut skip, mut left, mut found) = (from, len, Vec::new());
    for part in parts {
        let whole = part.bytes().len();
        let begin = skip.min(whole);
        let take = (whole - begin).min(left);
        if take > 0 {
            found.push((part.clone(), begin..begin + take));
        }
        skip -= begin;
        left -= take;
    }
    found
}
