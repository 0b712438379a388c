//! The reader of a connection: it has the initiator log in, and takes its PDUs until the connection
//! ends.
//!
//! What needs a volume becomes a task of the session; everything else is answered at once
//! (`requests`).
//!
//! What the reader has done by itself it has not sent: answers to all that had arrived together
//! leave together, before the reader waits for anything.
//!
//! Source: RFC 7143 4.2.2, 11.

use std::io::{self, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;

use scsi::{Answer, Status};
use sockets::attentive::{Attentive, Lookout};
use sockets::hurried::Hurried;
use sockets::{Lease, Peer};

use crate::cdb::weight;
use crate::gather::Wrong;
use crate::house::House;
use crate::limits::{
    BATCH, BATCH_BYTES, BUFFER, DEFAULT_SEGMENT, LOGIN_TIME, PENALTY, SEGMENT, SILENCE, WINDOW,
};
use crate::lock::lock;
use crate::login::{Login, Step};
use crate::pdu::flags::{FINAL, WRITES};
use crate::pdu::{
    Digests, Failure, NONE, Pdu, PduError, RejectReason, at, from_initiator as from, from_target as to,
};
use crate::portal::Door;
use crate::requests::Next;
use crate::session::{Connection, Turn, Wire};

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
            Step::Done(answer, member, joins) => {
                let wire = Wire::new(stream, guest)?;
                match house.sessions.enter(wire, *member, joins, door.clone(), &house.catalogue) {
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
                if failure == Failure::NOT_AUTHENTICATED {
                    thread::sleep(PENALTY);
                }
                answer.write(&mut to, Digests::default())?;
                return Ok(None);
            }
            Step::Answer(answer) | Step::Done(answer, ..) => answer.write(&mut to, Digests::default())?,
        }
    }
    Ok(None)
}

impl Connection {
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
                    self.reject(&header, RejectReason::DataDigest);
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

    /// Asks whether the initiator lives.
    fn ping(&self) {
        let ping = Pdu::new(to::NOP, FINAL).put_u32(at::TASK_TAG, NONE).put_u32(at::TRANSFER_TAG, 1);
        self.send(ping, false);
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
            self.reject(&pdu.header, RejectReason::Protocol);
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
                self.reject(&pdu.header, RejectReason::Protocol);
                return Next::Breaks;
            }
            _ => self.reject(&pdu.header, RejectReason::NotSupported),
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
            self.reject(&pdu.header, RejectReason::TooManyImmediate);
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
                self.reject(&header, RejectReason::InvalidField);
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
                self.reject(&pdu.header, RejectReason::Protocol);
                if let Some(command) = command {
                    let sense = scsi::Sense::new(0xb, 0x4b00);
                    self.answer(&command, Answer::bare(Status::CheckCondition, Some(sense)), None);
                }
            }
        }
    }
}
