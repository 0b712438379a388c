//! The full feature phase of a session: commands in, answers out.
//!
//! The connection's reader calls [`Session::take`] with each PDU. What needs the volume goes to the crew; everything else is
//! answered at once. Answers get their status numbers as they are written, so those go up on the wire.
//!
//! Commands come in order on the one connection: one that is ahead of its number, or behind, is passed over. The window of
//! numbers that an initiator may use shrinks by what is being worked on.
//!
//! Source: RFC 7143 4.2.2, 11.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use scsi::{Answer, Data, Status, Target};

use crate::catalogue::Catalogue;
use crate::crew::Crew;
use crate::gather::{Gathered, Gatherer, Wrong};
use crate::keys::Keys;
use crate::limits::WINDOW;
use crate::login::Member;
use crate::pdu::{HEADER, Pdu, from_initiator as from, from_target as to};

const FINAL: u8 = 0x80;
const READS: u8 = 0x40;
const WRITES: u8 = 0x20;
const OVERFLOW: u8 = 0x04;
const UNDERFLOW: u8 = 0x02;
const STATUS: u8 = 0x01;
/// No task has this tag, and no transfer.
const NONE: u32 = u32::MAX;

/// Why a PDU is rejected (RFC 7143 11.17.1).
const DATA_DIGEST: u8 = 0x02;
const PROTOCOL: u8 = 0x04;
const NOT_SUPPORTED: u8 = 0x05;
const INVALID_FIELD: u8 = 0x09;

/// Whether the connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Goes,
    Ends,
}

/// See the module.
pub struct Session<W> {
    member: Member,
    local: SocketAddr,
    catalogue: Arc<Catalogue>,
    view: Mutex<View>,
    out: Mutex<Out<W>>,
    crew: Arc<Crew>,
    gatherer: Mutex<Gatherer>,
    /// By tag: commands with the crew, and whether nobody waits for their answers any more.
    running: Mutex<BTreeMap<u32, (u64, Arc<AtomicBool>)>>,
}

/// What the session sees, as of a generation of the catalogue.
struct View {
    generation: u64,
    target: Arc<Target>,
}

struct Out<W> {
    to: W,
    status: u32,
    expected: u32,
    most: u32,
    working: u32,
    /// Of a text that goes on.
    text: Vec<u8>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<W: Write> Out<W> {
    /// Numbers every answer has; `counted`: it has a status number of its own.
    fn numbered(&mut self, pdu: Pdu, counted: bool) -> Pdu {
        let status = self.status;
        if counted {
            self.status = status.wrapping_add(1);
        }
        // The window only ever moves on.
        let most = self.expected.wrapping_add(WINDOW.saturating_sub(self.working)).wrapping_sub(1);
        if most.wrapping_sub(self.most) < 1 << 31 {
            self.most = most;
        }
        pdu.put_u32(24, status).put_u32(28, self.expected).put_u32(32, self.most)
    }
}

impl<W: Write + Send + 'static> Session<W> {
    pub fn new(member: Member, local: SocketAddr, catalogue: Arc<Catalogue>, to: W) -> Arc<Session<W>> {
        let out = Out {
            to,
            status: member.status_number,
            expected: member.command_number,
            most: member.command_number.wrapping_add(WINDOW - 1),
            working: 0,
            text: Vec::new(),
        };
        let view = View { generation: 0, target: Arc::default() };
        Arc::new(Session {
            member,
            local,
            catalogue,
            view: Mutex::new(view),
            out: Mutex::new(out),
            crew: Arc::default(),
            gatherer: Mutex::default(),
            running: Mutex::default(),
        })
    }

    /// The session is over: what was begun is finished, and its units are left.
    pub fn end(&self) {
        self.crew.wait();
        self.target().units().for_each(|unit| unit.leave(&self.member.port));
        lock(&self.view).target = Arc::default();
    }

    /// What it sees now.
    fn target(&self) -> Arc<Target> {
        let mut view = lock(&self.view);
        let generation = self.catalogue.generation();
        if view.generation != generation
            && let Some(target) = &self.member.target
        {
            let user = self.member.user.as_deref();
            view.target = Arc::new(self.catalogue.view(target, &self.member.initiator, user));
            view.target.units().for_each(|unit| unit.join(&self.member.port));
            view.generation = generation;
        }
        view.target.clone()
    }

    fn send(&self, pdu: Pdu, counted: bool) -> io::Result<()> {
        let mut out = lock(&self.out);
        let pdu = out.numbered(pdu, counted);
        pdu.write(&mut out.to, self.member.parameters.digests)?;
        out.to.flush()
    }

    /// Asks whether the initiator lives.
    pub fn ping(&self) -> io::Result<()> {
        let ping = Pdu::new(to::NOP, FINAL).put_u32(16, NONE).put_u32(20, 1);
        self.send(ping, false)
    }

    /// A PDU that cannot be followed.
    fn reject(&self, header: &[u8; HEADER], why: u8) -> io::Result<()> {
        let mut reject = Pdu::new(to::REJECT, FINAL).put_u32(16, NONE).with_data(header.to_vec());
        reject.header[2] = why;
        self.send(reject, true)
    }

    /// A PDU whose data is not what was sent.
    pub fn reject_data(&self, header: &[u8; HEADER]) -> io::Result<Next> {
        self.reject(header, DATA_DIGEST)?;
        // There is no recovery within the session.
        Ok(Next::Ends)
    }

    pub fn take(self: &Arc<Self>, pdu: Pdu) -> io::Result<Next> {
        if !self.is_next(&pdu) {
            return Ok(Next::Goes);
        }
        if self.member.target.is_none() && !matches!(pdu.opcode(), from::TEXT | from::LOGOUT | from::NOP) {
            self.reject(&pdu.header, PROTOCOL)?;
            return Ok(Next::Ends);
        }
        match pdu.opcode() {
            from::COMMAND => self.command(pdu)?,
            from::DATA => return self.data(&pdu),
            from::NOP => self.nop(pdu)?,
            from::TASK => self.task(&pdu)?,
            from::TEXT => self.text(&pdu)?,
            from::LOGOUT => return self.logout(&pdu),
            from::LOGIN => {
                self.reject(&pdu.header, PROTOCOL)?;
                return Ok(Next::Ends);
            }
            _ => self.reject(&pdu.header, NOT_SUPPORTED)?,
        }
        Ok(Next::Goes)
    }

    /// Whether it is its turn. Immediate ones and data always are.
    fn is_next(&self, pdu: &Pdu) -> bool {
        if pdu.is_immediate() || matches!(pdu.opcode(), from::DATA | from::SNACK) {
            return true;
        }
        let mut out = lock(&self.out);
        let is_next = pdu.u32(24) == out.expected && out.most.wrapping_sub(out.expected) < 1 << 31;
        if is_next {
            out.expected = out.expected.wrapping_add(1);
        }
        is_next
    }

    // ── Commands ──

    fn command(self: &Arc<Self>, pdu: Pdu) -> io::Result<()> {
        let expected = if pdu.flags() & WRITES != 0 { pdu.u32(20) as usize } else { 0 };
        let begun = lock(&self.gatherer).begin(pdu.clone(), expected, &self.member.parameters);
        match begun {
            Ok(Some(gathered)) => self.run(gathered),
            Ok(None) => self.ask()?,
            Err(Wrong(why)) => {
                tracing::warn!(initiator = self.member.initiator, why, "a command is rejected");
                self.reject(&pdu.header, INVALID_FIELD)?;
            }
        }
        Ok(())
    }

    fn data(self: &Arc<Self>, pdu: &Pdu) -> io::Result<Next> {
        let done = lock(&self.gatherer).data(pdu, &self.member.parameters);
        match done {
            Ok(Some(gathered)) => {
                self.run(gathered);
                self.ask()?;
            }
            Ok(None) => self.ask()?,
            Err(Wrong(why)) => {
                tracing::warn!(initiator = self.member.initiator, why, "a command ends");
                let command = lock(&self.gatherer).abandon(pdu.tag());
                self.reject(&pdu.header, PROTOCOL)?;
                if let Some(command) = command {
                    let sense = scsi::Sense::new(0xb, 0x4b00);
                    let status = Status::CheckCondition;
                    let answer = Answer { status, sense: Some(sense), data: Data::Nothing, taken: 0 };
                    self.answer(&command, answer)?;
                }
            }
        }
        Ok(Next::Goes)
    }

    fn ask(&self) -> io::Result<()> {
        let requests = lock(&self.gatherer).requests(&self.member.parameters);
        for request in requests {
            let pdu = Pdu::new(to::R2T, FINAL)
                .put_u32(16, request.tag)
                .put_u32(20, request.transfer)
                .put_u32(36, request.number)
                .put_u32(40, request.offset)
                .put_u32(44, request.len);
            self.send(pdu, false)?;
        }
        Ok(())
    }

    fn run(self: &Arc<Self>, gathered: Gathered) {
        let (tag, lun) = (gathered.command.tag(), gathered.command.lun());
        let aborted = Arc::new(AtomicBool::new(false));
        lock(&self.running).insert(tag, (lun, aborted.clone()));
        lock(&self.out).working += 1;
        // Ordered, and head of queue: all before is done before, and all after comes after.
        let alone = matches!(gathered.command.flags() & 7, 2 | 3);
        if alone {
            self.crew.wait();
        }
        let session = self.clone();
        self.crew.submit(Box::new(move || {
            let command = &gathered.command;
            let cdb: [u8; 16] = command.field(32);
            let answer = session.target().execute(&session.member.port, lun, &cdb, &gathered.data);
            lock(&session.running).remove(&tag);
            lock(&session.out).working -= 1;
            if !aborted.load(SeqCst)
                && let Err(error) = session.answer(command, answer)
            {
                tracing::debug!(%error, "an answer cannot be sent");
            }
        }));
        if alone {
            self.crew.wait();
        }
    }

    /// Data, then how it ended: with the last data where there is nothing to say.
    fn answer(&self, command: &Pdu, answer: Answer) -> io::Result<()> {
        let expected = if command.flags() & (READS | WRITES) != 0 { command.u32(20) as usize } else { 0 };
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
        if sent > 0 {
            let end = if folded { STATUS | flags } else { 0 };
            self.send_data(&mut out, command, &answer.data, sent, end, residual as u32)?;
        }
        if !folded {
            let mut response =
                Pdu::new(to::RESPONSE, FINAL | flags).put_u32(16, command.tag()).put_u32(44, residual as u32);
            response.header[3] = answer.status as u8;
            if let Some(sense) = answer.sense {
                let sense = sense.encode();
                response.data = (sense.len() as u16).to_be_bytes().to_vec();
                response.data.extend(sense);
            }
            let response = out.numbered(response, true);
            response.write(&mut out.to, self.member.parameters.digests)?;
        }
        out.to.flush()
    }

    /// In PDUs as long as the initiator takes, in sequences as long as was agreed. `end`: flags of the last.
    fn send_data(
        &self,
        out: &mut Out<W>,
        command: &Pdu,
        data: &Data,
        len: usize,
        end: u8,
        residual: u32,
    ) -> io::Result<()> {
        let parameters = &self.member.parameters;
        let parts: Vec<&[u8]> = match data {
            Data::Nothing => Vec::new(),
            Data::Bytes(bytes) => vec![bytes],
            Data::Read(read) => read.parts.iter().map(|part| part.bytes()).collect(),
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
                .put_u32(16, command.tag())
                .put_u32(20, NONE)
                .put_u32(36, number)
                .put_u32(40, from as u32)
                .put_u32(44, if last { residual } else { 0 });
            let counted = last && end & STATUS != 0;
            let mut pdu = out.numbered(pdu, counted);
            if !counted {
                pdu = pdu.put_u32(24, 0);
            }
            pdu.write_with(&mut out.to, parameters.digests, &window(&parts, from, part))?;
            from += part;
            number += 1;
        }
        Ok(())
    }

    // ── Everything else ──

    fn nop(&self, pdu: Pdu) -> io::Result<()> {
        if pdu.tag() == NONE {
            return Ok(());
        }
        let lun = pdu.field::<8>(8);
        let mut data = pdu.data;
        data.truncate(self.member.parameters.their_segment);
        let mut reply = Pdu::new(to::NOP, FINAL).put_u32(20, NONE).with_data(data).put(8, &lun);
        reply.header[16..20].copy_from_slice(&pdu.header[16..20]);
        self.send(reply, true)
    }

    fn task(&self, pdu: &Pdu) -> io::Result<()> {
        const DONE: u8 = 0;
        const NO_TASK: u8 = 1;
        const NO_UNIT: u8 = 2;
        const NOT_SUPPORTED: u8 = 5;
        let (function, lun) = (pdu.flags() & 0x7f, pdu.lun());
        let target = self.target();
        let unit = target.unit(lun);
        let response = match function {
            1 => {
                let tag = pdu.u32(20);
                if self.abort(&[tag]) { DONE } else { NO_TASK }
            }
            2 | 4 | 5 if unit.is_none() => NO_UNIT,
            2 | 4 => {
                self.abort(&self.tags(Some(lun)));
                DONE
            }
            5 => {
                self.abort(&self.tags(Some(lun)));
                unit.into_iter().for_each(|unit| unit.reset(&self.member.port));
                DONE
            }
            6 | 7 => {
                self.abort(&self.tags(None));
                target.units().for_each(|unit| unit.reset(&self.member.port));
                DONE
            }
            _ => NOT_SUPPORTED,
        };
        let mut reply = Pdu::new(to::TASK, FINAL).put_u32(16, pdu.tag());
        reply.header[2] = response;
        self.send(reply, true)
    }

    fn tags(&self, lun: Option<u64>) -> Vec<u32> {
        let mut tags = lock(&self.gatherer).tags(lun);
        let running = lock(&self.running);
        let of = |(_, (of, _)): &(&u32, &(u64, Arc<AtomicBool>))| lun.is_none_or(|lun| *of == lun);
        tags.extend(running.iter().filter(of).map(|(tag, _)| *tag));
        tags
    }

    /// Nobody hears of these any more, and nothing of them is under way afterwards. False: there were none.
    fn abort(&self, tags: &[u32]) -> bool {
        let mut found = false;
        for tag in tags {
            found |= lock(&self.gatherer).abandon(*tag).is_some();
            if let Some((_, aborted)) = lock(&self.running).get(tag) {
                aborted.store(true, SeqCst);
                found = true;
            }
        }
        self.crew.wait();
        found
    }

    fn text(&self, pdu: &Pdu) -> io::Result<()> {
        let goes_on = pdu.u32(20) != NONE;
        let Some(keys) = Keys::parse(&pdu.data).filter(|_| pdu.flags() & 0x40 == 0) else {
            return self.reject(&pdu.header, INVALID_FIELD);
        };
        let mut text = std::mem::take(&mut lock(&self.out).text);
        if !goes_on {
            text = self.reply(&keys).encode();
        }
        let len = text.len().min(self.member.parameters.their_segment);
        let rest = text.split_off(len);
        let (flags, transfer) = if rest.is_empty() { (FINAL, NONE) } else { (0x40, 1) };
        lock(&self.out).text = rest;
        let reply = Pdu::new(to::TEXT, flags).put_u32(16, pdu.tag()).put_u32(20, transfer).with_data(text);
        self.send(reply, true)
    }

    fn reply(&self, keys: &Keys) -> Keys {
        let mut reply = Keys::default();
        for (key, value) in &keys.0 {
            if key != "SendTargets" {
                reply.add(key, "NotUnderstood");
                continue;
            }
            let own = self.member.target.as_deref();
            for target in self.catalogue.targets(&self.member.initiator) {
                let wanted = match value.as_str() {
                    "All" => own.is_none() || own == Some(target.as_str()),
                    "" => own == Some(target.as_str()),
                    name => target == name,
                };
                if wanted {
                    reply.add("TargetName", target);
                    reply.add("TargetAddress", format!("{},1", self.local));
                }
            }
        }
        reply
    }

    fn logout(&self, pdu: &Pdu) -> io::Result<Next> {
        let reason = pdu.flags() & 0x7f;
        let connection = u16::from_be_bytes(pdu.field(20));
        let response = match reason {
            1 if connection != self.member.connection => 1,
            0 | 1 => 0,
            // There is nothing to recover.
            _ => 2,
        };
        self.crew.wait();
        let mut reply = Pdu::new(to::LOGOUT, FINAL).put_u32(16, pdu.tag());
        reply.header[2] = response;
        self.send(reply, true)?;
        Ok(if response == 0 { Next::Ends } else { Next::Goes })
    }
}

/// A part of bytes that come in parts.
fn window<'a>(parts: &[&'a [u8]], from: usize, len: usize) -> Vec<&'a [u8]> {
    let (mut skip, mut left, mut found) = (from, len, Vec::new());
    for part in parts {
        let begin = skip.min(part.len());
        let take = (part.len() - begin).min(left);
        if take > 0 {
            found.push(&part[begin..begin + take]);
        }
        skip -= begin;
        left -= take;
    }
    found
}
