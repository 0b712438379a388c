//! One connection: it logs in, and its PDUs are taken until it ends.
//!
//! The connection's reader calls [`Connection::take`] with each PDU. What needs a volume becomes a
//! task of the session; everything else is answered at once. Answers get their status numbers as
//! they are put into the box, so those go up on the wire.
//!
//! What the reader has done by itself it has not sent: answers to all that had arrived together
//! leave together, before the reader waits for anything.
//!
//! Source: RFC 7143 4.2.2, 11.

use std::io::{self, BufReader};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

use engine_api::Slice;
use scsi::{Answer, Data, Status};
use sockets::attentive::{Attentive, Lookout};
use sockets::hurried::Hurried;
use sockets::outbox::{Outbox, Pieces};
use sockets::{Lease, Peer};

use crate::gather::{Gatherer, Wrong};
use crate::keepers::{Keep, Promises};
use crate::limits::{
    BATCH, BATCH_BYTES, BUFFER, DEFAULT_SEGMENT, LOGIN_TIME, PENALTY, SEGMENT, SILENCE, WINDOW,
};
use crate::listen::House;
use crate::login::{Login, Member, NOT_AUTHENTICATED, Step};
use crate::pdu::flags::{CONTINUE, FINAL, OVERFLOW, READS, STATUS, UNDERFLOW, WRITES};
use crate::pdu::{Digests, HEADER, Pdu, PduError, at, from_initiator as from, from_target as to, put_back};
use crate::portal::Door;
use crate::session::{Session, Turn, lock, weight};
use crate::watch::Event;

/// No task has this tag, and no transfer.
pub const NONE: u32 = u32::MAX;

/// Why a PDU is rejected (RFC 7143 11.17.1).
const DATA_DIGEST: u8 = 0x02;
const PROTOCOL: u8 = 0x04;
const NOT_SUPPORTED: u8 = 0x05;
const TOO_MANY_IMMEDIATE: u8 = 0x06;
pub const INVALID_FIELD: u8 = 0x09;

/// Whether the connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Goes,
    /// It has logged out.
    Ends,
    /// All sessions with its target end.
    Resets,
    /// It must not go on.
    Breaks,
}

/// See the module.
pub struct Connection {
    pub member: Member,
    pub session: Arc<Session>,
    pub door: Door,
    wire: Wire,
    /// Somebody has ended it in good order; its reader may not know yet.
    cut: AtomicBool,
    /// What PDUs are given on their way into the box.
    out: Mutex<Out>,
    promises: Promises,
    gatherer: Mutex<Gatherer>,
}

/// How an initiator is reached, and what it may take of the memory.
pub struct Wire {
    stream: Arc<TcpStream>,
    peer: Arc<Peer>,
    outbox: Outbox,
}

impl Wire {
    fn new(stream: &Arc<TcpStream>, peer: &Arc<Peer>) -> io::Result<Wire> {
        let outbox = Outbox::new(stream.clone(), peer.clone())?;
        Ok(Wire { stream: stream.clone(), peer: peer.clone(), outbox })
    }
}

struct Out {
    status: u32,
    /// Of a text that goes on.
    text: Vec<u8>,
}

/// A connection from its first byte to its last.
pub fn serve(house: &House, stream: &Arc<TcpStream>, guest: &Arc<Peer>, door: Door, peer: SocketAddr) {
    let connection = match log_in(house, stream, guest, door, peer) {
        Ok(Some(connection)) => connection,
        Ok(None) => return,
        Err(error) => return tracing::info!(%peer, %error, "connection closed before it logged in"),
    };
    let initiator = &connection.member.initiator;
    tracing::info!(%peer, initiator, target = connection.member.target, "logged in");
    let ended = connection.read(&house.lookout);
    connection.see_off();
    connection.finish();
    if let (Ok(Next::Resets), Some(target)) = (&ended, &connection.session.target) {
        house.sessions.reset(target);
    }
    let in_order = matches!(ended, Ok(Next::Ends)) || connection.is_cut();
    house.sessions.leave(&connection, in_order);
    match ended {
        Ok(_) if in_order => tracing::info!(%peer, initiator, "logged out"),
        Ok(_) => tracing::info!(%peer, initiator, "connection closed"),
        Err(error) => tracing::info!(%peer, initiator, %error, "connection closed"),
    }
}

/// `None`: that came to nothing.
fn log_in(
    house: &House,
    stream: &Arc<TcpStream>,
    guest: &Arc<Peer>,
    door: Door,
    peer: SocketAddr,
) -> Result<Option<Arc<Connection>>, PduError> {
    // Its answers are short: they all fit into what the system holds, or the initiator takes none.
    stream.set_write_timeout(Some(LOGIN_TIME))?;
    let (mut from, mut to) = (Hurried::new(&**stream, LOGIN_TIME), &**stream);
    let mut login = Login::new(house, door.group, peer.ip());
    while let Some(request) = Pdu::read(&mut from, Digests::default(), DEFAULT_SEGMENT)? {
        let step = match login.step(&request) {
            Step::Done(answer, member) => {
                let wire = Wire::new(stream, guest)?;
                match house.sessions.enter(wire, *member, door.clone(), &house.catalogue) {
                    Ok(connection) => {
                        let answer = answer.put(14, &connection.session.handle.to_be_bytes());
                        if let Err(error) = answer.write(&mut to, Digests::default()) {
                            house.sessions.leave(&connection, false);
                            return Err(error.into());
                        }
                        guest.prove();
                        return Ok(Some(connection));
                    }
                    Err(failure) => login.fail(&request, failure),
                }
            }
            step => step,
        };
        match step {
            Step::Failed(answer, failure) => {
                let initiator = login.initiator();
                tracing::warn!(%peer, initiator, status = format!("{:#06x}", failure.0), "login failed");
                if failure == NOT_AUTHENTICATED {
                    thread::sleep(PENALTY);
                }
                answer.write(&mut to, Digests::default())?;
                return Ok(None);
            }
            Step::Answer(answer) | Step::Done(answer, _) => answer.write(&mut to, Digests::default())?,
        }
    }
    Ok(None)
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

    fn read(self: &Arc<Self>, lookout: &Lookout) -> Result<Next, PduError> {
        self.wire.stream.set_read_timeout(Some(SILENCE))?;
        let digests = self.member.parameters.digests;
        let attentive = Attentive::new(&self.wire.stream, &self.wire.peer, lookout.clone());
        let mut from = BufReader::with_capacity(BUFFER, attentive);
        // Where others bring commands too, the turn of the next may have to wait for them.
        let is_alone = self.session.parameters.max_connections == 1;
        let (mut asked, mut taken) = (false, 0);
        loop {
            let is_much = || taken == BATCH || self.wire.outbox.bytes() >= BATCH_BYTES;
            if !is_alone || !Pdu::is_whole(from.buffer(), digests) || is_much() {
                self.see_off();
                taken = 0;
            }
            taken += 1;
            if !self.wire.outbox.wait_for_room() || !self.feed() {
                return Ok(Next::Breaks);
            }
            let mut lease = None;
            let read = Pdu::read_growing(Vec::new(), &mut from, digests, SEGMENT, &mut |bytes| {
                // What was asked for has its room.
                let granted = lock(&self.gatherer).granted();
                let leased = self.lease(&mut lease, bytes.saturating_sub(granted));
                self.wire.peer.note_sending(true);
                if leased { Ok(()) } else { Err(io::ErrorKind::ConnectionAborted.into()) }
            });
            let next = match read {
                Ok(Some(pdu)) => {
                    self.wire.peer.note_moved(pdu.data.len());
                    let next = self.take(pdu, lease);
                    self.wire.peer.note_sending(lock(&self.gatherer).awaits());
                    next
                }
                Ok(None) => Next::Breaks,
                Err(PduError::Silence) if !asked => {
                    self.ping();
                    asked = true;
                    continue;
                }
                Err(PduError::Data(header)) => {
                    self.reject(&header, DATA_DIGEST);
                    // There is no recovery within the session.
                    Next::Breaks
                }
                Err(error) => return Err(error),
            };
            asked = false;
            if next != Next::Goes {
                return Ok(next);
            }
        }
    }

    /// Room for what a command brings and what it asks for; has what is there sent before it waits
    /// for that. False: the connection was cut.
    fn lease(self: &Arc<Self>, lease: &mut Option<Lease>, bytes: usize) -> bool {
        if bytes == 0 || self.wire.peer.try_lease(lease, bytes) {
            return true;
        }
        self.see_off();
        // Meanwhile it is the initiator who waits for us.
        self.wire.peer.note_sending(false);
        let goes_on = lock(&self.gatherer).len() > 0;
        self.wire.peer.lease(lease, bytes, goes_on)
    }

    /// Where nothing is on its way, and there was no room for the data of the next command that
    /// waits to be asked: waits for that. False: the connection was cut.
    fn feed(self: &Arc<Self>) -> bool {
        let Some(bytes) = lock(&self.gatherer).is_starved() else { return true };
        let mut lease = None;
        if !self.lease(&mut lease, bytes) {
            return false;
        }
        self.ask_with(|wanted| lease.take_if(|lease| lease.bytes() == wanted));
        self.see_off();
        true
    }

    // ── Out ──

    /// With the numbers that every answer has; `counted`: it has a status number of its own.
    fn numbered(&self, out: &mut Out, pdu: Pdu, counted: bool) -> Pdu {
        let status = out.status;
        if counted {
            out.status = status.wrapping_add(1);
        }
        let (expected, most) = self.session.window();
        pdu.put_u32(at::STATUS_NUMBER, status)
            .put_u32(at::EXPECTED_COMMAND, expected)
            .put_u32(at::MAX_COMMAND, most)
    }

    /// A PDU of the reader's own, which sends it before it waits for anything.
    pub fn send(&self, pdu: Pdu, counted: bool) {
        self.send_leased(pdu, counted, None);
    }

    /// The same, with the lease of what it was made of.
    pub fn send_leased(&self, pdu: Pdu, counted: bool, lease: Option<Lease>) {
        let mut out = lock(&self.out);
        let pdu = self.numbered(&mut out, pdu, counted);
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
            self.session.crew.submit(Box::new(move || own.wire.outbox.write_rest()));
        }
        if self.promises.want_keeper() {
            let own = self.clone();
            self.session.crew.submit(Box::new(move || own.keep()));
        }
    }

    /// Sends what one of the crew has put into the box, and does what is to be waited for.
    pub fn deliver(&self) {
        self.wire.outbox.write_all();
        self.keep();
    }

    fn keep(&self) {
        self.promises.keep(|| self.wire.outbox.write_all());
    }

    /// Puts a command aside that ends when what it wrote is on stable storage.
    pub fn promise(&self, keep: Keep) {
        self.promises.put(keep);
    }

    /// Returns when all that is in the box has been sent, if it can be.
    pub fn finish(&self) {
        self.wire.outbox.finish();
    }

    /// Asks whether the initiator lives.
    fn ping(&self) {
        let ping = Pdu::new(to::NOP, FINAL).put_u32(at::TASK_TAG, NONE).put_u32(at::TRANSFER_TAG, 1);
        self.send(ping, false);
    }

    /// Tells the initiator what it has not asked for.
    pub fn announce(&self, event: Event) {
        let (code, parameters) = event.fields();
        let pdu = Pdu::new(to::ASYNC, FINAL).put_u32(at::TASK_TAG, NONE).put(at::EVENT, &[code]);
        let put = |pdu: Pdu, (place, parameter): (usize, u16)| pdu.put(place, &parameter.to_be_bytes());
        self.send(at::EVENT_PARAMETERS.into_iter().zip(parameters).fold(pdu, put), true);
        self.wire.outbox.write_all();
    }

    /// A PDU that cannot be followed.
    pub fn reject(&self, header: &[u8; HEADER], why: u8) {
        let reject = Pdu::new(to::REJECT, FINAL).put(at::RESPONSE, &[why]).put_u32(at::TASK_TAG, NONE);
        self.send(reject.with_data(header.to_vec()), true);
    }

    /// Text of a negotiation: as much as fits, or, where there is none, what was left of the last.
    pub fn send_text(&self, request: &Pdu, text: Option<Vec<u8>>) {
        let left = std::mem::take(&mut lock(&self.out).text);
        let mut text = text.unwrap_or(left);
        let len = text.len().min(self.member.parameters.their_segment);
        let rest = text.split_off(len);
        let (flags, transfer) = if rest.is_empty() { (FINAL, NONE) } else { (CONTINUE, 1) };
        lock(&self.out).text = rest;
        let reply = Pdu::new(to::TEXT, flags)
            .put_u32(at::TASK_TAG, request.tag())
            .put_u32(at::TRANSFER_TAG, transfer);
        self.send(reply.with_data(text), true);
    }

    // ── In ──

    fn take(self: &Arc<Self>, pdu: Pdu, lease: Option<Lease>) -> Next {
        // Immediate ones and data have no turn.
        let is_free = pdu.is_immediate() || matches!(pdu.opcode(), from::DATA | from::SNACK);
        let session = self.session.clone();
        let turn = if is_free { None } else { session.admit(self, pdu.u32(at::COMMAND_NUMBER)) };
        if !is_free && turn.is_none() {
            return Next::Goes;
        }
        let is_discovery = self.session.target.is_none();
        if is_discovery && !matches!(pdu.opcode(), from::TEXT | from::LOGOUT | from::NOP) {
            self.reject(&pdu.header, PROTOCOL);
            return Next::Breaks;
        }
        match pdu.opcode() {
            from::COMMAND => return self.command(pdu, lease, turn),
            from::DATA => self.data(&pdu, lease),
            from::NOP => self.nop(pdu, lease),
            from::TASK => return self.task(&pdu),
            from::TEXT => self.text(&pdu),
            from::LOGOUT => return self.logout(&pdu),
            from::LOGIN => {
                self.reject(&pdu.header, PROTOCOL);
                return Next::Breaks;
            }
            _ => self.reject(&pdu.header, NOT_SUPPORTED),
        }
        Next::Goes
    }

    fn command(self: &Arc<Self>, pdu: Pdu, mut lease: Option<Lease>, turn: Option<Turn<'_>>) -> Next {
        // The window holds back neither immediate ones nor those that have not all their data.
        let (waiting, most) = (lock(&self.gatherer).len(), 2 * WINDOW as usize);
        if waiting >= most && !pdu.is_immediate() {
            self.answer(&pdu, Answer::bare(Status::TaskSetFull, None), lease);
            return Next::Goes;
        }
        if pdu.is_immediate() && waiting + self.session.tasks() >= most {
            self.reject(&pdu.header, TOO_MANY_IMMEDIATE);
            return Next::Goes;
        }
        let expected = pdu.expected(WRITES);
        if !self.lease(&mut lease, weight(&pdu)) {
            return Next::Breaks;
        }
        let header = pdu.header;
        let begun = lock(&self.gatherer).begin(pdu, lease, expected, &self.member.parameters);
        match begun {
            Ok(Some(gathered)) => self.session.run(self, gathered, turn),
            Ok(None) => self.ask(),
            Err(Wrong(why)) => {
                tracing::warn!(initiator = self.member.initiator, why, "a command is rejected");
                self.reject(&header, INVALID_FIELD);
            }
        }
        Next::Goes
    }

    fn data(self: &Arc<Self>, pdu: &Pdu, lease: Option<Lease>) {
        let done = lock(&self.gatherer).data(pdu, lease, &self.member.parameters);
        match done {
            Ok(Some(gathered)) => {
                self.ask();
                self.session.run(self, gathered, None);
            }
            Ok(None) => self.ask(),
            Err(Wrong(why)) => {
                tracing::warn!(initiator = self.member.initiator, why, "a command ends");
                let command = lock(&self.gatherer).abandon(pdu.tag());
                self.reject(&pdu.header, PROTOCOL);
                if let Some(command) = command {
                    let sense = scsi::Sense::new(0xb, 0x4b00);
                    self.answer(&command, Answer::bare(Status::CheckCondition, Some(sense)), None);
                }
            }
        }
    }

    /// Gives up commands that have not all their data yet, by tag and unit.
    pub fn abandon(&self, which: impl Fn(u32, u64) -> bool) -> Vec<Pdu> {
        let mut gatherer = lock(&self.gatherer);
        let tags = gatherer.tags(which);
        tags.into_iter().filter_map(|tag| gatherer.abandon(tag)).collect()
    }

    /// Asks for data that there is room for. Somebody has to send that.
    pub fn ask(&self) {
        self.ask_with(|bytes| self.wire.peer.try_take(bytes));
    }

    fn ask_with(&self, take: impl FnMut(usize) -> Option<Lease>) {
        let requests = lock(&self.gatherer).requests(&self.member.parameters, take);
        for request in requests {
            let pdu = Pdu::new(to::R2T, FINAL)
                .put_u32(at::TASK_TAG, request.tag)
                .put_u32(at::TRANSFER_TAG, request.transfer)
                .put_u32(at::DATA_NUMBER, request.number)
                .put_u32(at::BUFFER_OFFSET, request.offset)
                .put_u32(at::WANTED_LEN, request.len);
            self.send(pdu, false);
        }
    }

    /// Data, then how it ended: with the last data where there is nothing to say. Somebody has to
    /// send it.
    pub fn answer(&self, command: &Pdu, answer: Answer, lease: Option<Lease>) {
        let expected = command.expected(READS | WRITES);
        let is_read = command.flags() & WRITES == 0;
        let moved = if is_read { answer.data.len() } else { answer.taken };
        let (flags, residual) = match moved {
            moved if moved > expected => (OVERFLOW, moved - expected),
            moved if moved < expected && (is_read || answer.status == Status::Good) => {
                (UNDERFLOW, expected - moved)
            }
            _ => (0, 0),
        };
        let sent = if is_read { moved.min(expected) } else { 0 };
        let mut out = lock(&self.out);
        let folded = sent > 0 && answer.status == Status::Good;
        self.wire.outbox.push(lease, |pieces| {
            if sent > 0 {
                let end = if folded { STATUS | flags } else { 0 };
                self.put_data(&mut out, pieces, command, answer.data, sent, (end, residual as u32));
            }
            if !folded {
                let mut response = Pdu::new(to::RESPONSE, FINAL | flags)
                    .put(at::STATUS, &[answer.status as u8])
                    .put_u32(at::TASK_TAG, command.tag())
                    .put_u32(at::RESIDUAL, residual as u32);
                if let Some(sense) = answer.sense {
                    let sense = sense.encode();
                    response.data = (sense.len() as u16).to_be_bytes().to_vec();
                    response.data.extend(sense);
                }
                let response = self.numbered(&mut out, response, true);
                self.put(&response, pieces);
            }
        });
    }

    /// In PDUs as long as the initiator takes, in sequences as long as was agreed. `end`: flags of
    /// the last, and the residual count.
    fn put_data(
        &self,
        out: &mut Out,
        pieces: &mut Pieces,
        command: &Pdu,
        data: Data,
        len: usize,
        (end, residual): (u8, u32),
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
            let last = from + part == len;
            let flags = if last {
                FINAL | end
            } else if part == in_burst {
                FINAL
            } else {
                0
            };
            let pdu = Pdu::new(to::DATA, flags)
                .put_u32(at::TASK_TAG, command.tag())
                .put_u32(at::TRANSFER_TAG, NONE)
                .put_u32(at::DATA_NUMBER, number)
                .put_u32(at::BUFFER_OFFSET, from as u32)
                .put_u32(at::RESIDUAL, if last { residual } else { 0 });
            let counted = last && end & STATUS != 0;
            let mut pdu = self.numbered(out, pdu, counted);
            if !counted {
                pdu = pdu.put_u32(at::STATUS_NUMBER, 0);
            }
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
