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
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;

use scsi::codes::{asc, sense_key};
use scsi::{Answer, Status};
use sockets::attentive::Attentive;
use sockets::hurried::Hurried;
use sockets::{Accepted, Lease, lock};

use crate::cdb::weight;
use crate::gather::Wrong;
use crate::house::House;
use crate::limits::{
    BATCH, BATCH_BYTES, BUFFER, DEFAULT_SEGMENT, LOGIN_TIME, PENALTY, SEGMENT, SILENCE, WINDOW,
};
use crate::login::{Login, Step};
use crate::pdu::initiator::{Command, DataOut, Opcode, turn_of};
use crate::pdu::target::{Failure, NopIn, RejectReason};
use crate::pdu::{Digests, NONE, Pdu, PduError};
use crate::portal::Door;
use crate::requests::Next;
use crate::session::{Connection, Turn, Wire};

/// A connection from its first byte to its last.
pub fn serve(house: &House, accepted: &Accepted<TcpStream>, door: Door) {
    let peer = accepted.addr;
    let connection = match log_in(house, accepted, door) {
        Ok(Some(connection)) => connection,
        Ok(None) => return,
        Err(error) => return tracing::info!(%peer, %error, "connection closed before it logged in"),
    };
    let initiator = &connection.member.initiator;
    tracing::info!(%peer, initiator, target = connection.member.target, "logged in");
    let ended = connection.read(accepted.requests());
    connection.see_off();
    connection.wire.outbox.finish();
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
    accepted: &Accepted<TcpStream>,
    door: Door,
) -> Result<Option<Arc<Connection>>, PduError> {
    let (stream, peer) = (&*accepted.stream, accepted.addr);
    // Its answers are short: they all fit into what the system holds, or the initiator takes none.
    stream.set_write_timeout(Some(LOGIN_TIME))?;
    let (mut from, mut to) = (Hurried::new(stream, LOGIN_TIME), stream);
    let mut login = Login::new(house, door.group, peer.ip());
    while let Some(request) = Pdu::read(&mut from, Digests::default(), DEFAULT_SEGMENT)? {
        let step = match login.step(&request) {
            Step::Done(answer, member, joins) => {
                let wire = Wire::new(accepted)?;
                match house.sessions.enter(wire, *member, joins, door.clone(), &house.catalogue) {
                    Ok(connection) => {
                        let answer = answer.of_session(connection.session.handle).into_pdu();
                        if let Err(error) = answer.write(&mut to, Digests::default()) {
                            house.sessions.leave(&connection, false);
                            return Err(error.into());
                        }
                        accepted.peer.prove();
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
                tracing::warn!(%peer, initiator, status = format!("{:#06x}", failure.code()), "login failed");
                if failure == Failure::NotAuthenticated {
                    thread::sleep(PENALTY);
                }
                answer.into_pdu().write(&mut to, Digests::default())?;
                return Ok(None);
            }
            Step::Answer(answer) | Step::Done(answer, ..) => {
                answer.into_pdu().write(&mut to, Digests::default())?;
            }
        }
    }
    Ok(None)
}

impl Connection {
    fn read(self: &Arc<Self>, requests: Attentive<'_>) -> Result<Next, PduError> {
        self.wire.stream.set_read_timeout(Some(SILENCE))?;
        let digests = self.member.parameters.digests;
        let mut from = BufReader::with_capacity(BUFFER, requests);
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
        self.send(&NopIn { lun: 0, tag: NONE, transfer_tag: 1 }, Vec::new());
    }

    // ── In ──

    fn take(self: &Arc<Self>, pdu: Pdu, lease: Option<Lease>) -> Next {
        let session = self.session.clone();
        let number = turn_of(&pdu.header);
        let turn = number.and_then(|number| session.admit(self, number));
        if number.is_some() && turn.is_none() {
            return Next::Goes;
        }
        let (opcode, is_discovery) = (Opcode::of(&pdu.header), self.session.target.is_none());
        if is_discovery && !matches!(opcode, Some(Opcode::Text | Opcode::Logout | Opcode::NopOut)) {
            self.reject(&pdu.header, RejectReason::Protocol);
            return Next::Breaks;
        }
        match opcode {
            Some(Opcode::Command) => return self.command(pdu, lease, turn),
            Some(Opcode::DataOut) => self.data(&pdu, lease),
            Some(Opcode::NopOut) => self.nop(pdu, lease),
            Some(Opcode::Task) => return self.task(&pdu),
            Some(Opcode::Text) => self.text(&pdu),
            Some(Opcode::Logout) => return self.logout(&pdu),
            Some(Opcode::Login) => {
                self.reject(&pdu.header, RejectReason::Protocol);
                return Next::Breaks;
            }
            Some(Opcode::Snack) | None => self.reject(&pdu.header, RejectReason::NotSupported),
        }
        Next::Goes
    }

    fn command(self: &Arc<Self>, pdu: Pdu, mut lease: Option<Lease>, turn: Option<Turn<'_>>) -> Next {
        let Pdu { header, data } = pdu;
        let command = Command::decode(&header);
        // The window holds back neither immediate ones nor those that have not all their data.
        let (waiting, most) = (lock(&self.gatherer).len(), 2 * WINDOW as usize);
        if waiting >= most && !command.is_immediate {
            self.answer(&command, Answer::bare(Status::TaskSetFull, None), lease);
            return Next::Goes;
        }
        if command.is_immediate && waiting + self.session.tasks() >= most {
            self.reject(&header, RejectReason::TooManyImmediate);
            return Next::Goes;
        }
        if !self.lease(&mut lease, weight(&command)) {
            return Next::Breaks;
        }
        let begun = lock(&self.gatherer).begin(command, data, lease, &self.member.parameters);
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
        let part = DataOut::decode(&pdu.header);
        let done = lock(&self.gatherer).data(&part, &pdu.data, lease, &self.member.parameters);
        match done {
            Ok(Some(gathered)) => {
                self.ask();
                self.session.run(self, gathered, None);
            }
            Ok(None) => self.ask(),
            Err(Wrong(why)) => {
                tracing::warn!(initiator = self.member.initiator, why, "a command ends");
                let command = lock(&self.gatherer).abandon(part.tag);
                self.reject(&pdu.header, RejectReason::Protocol);
                if let Some(command) = command {
                    let sense = scsi::Sense::new(sense_key::ABORTED_COMMAND, asc::DATA_PHASE_ERROR);
                    self.answer(&command, Answer::bare(Status::CheckCondition, Some(sense)), None);
                }
            }
        }
    }
}
