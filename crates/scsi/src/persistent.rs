//! PERSISTENT RESERVE IN and OUT: initiators' ports register a key, each for the port of the target
//! that it came through, and one of them (or, for some types, all) holds a reservation.
//!
//! What is to outlive the loss of power the volume remembers ([`kept`]), and a change is durable
//! before it is answered. Changes take turns; others go by what was before until then.
//!
//! An initiator's port can register for others too, and for all ports of the target at once
//! (`parameters`); and who holds a reservation can hand it over.
//!
//! Sources: SPC-4 5.13, 6.15, 6.16.

pub mod parameters;

use std::sync::Arc;

use self::parameters::{Initiator, Move, Parameters};
use crate::bytes::{cut, u16_at, u32_at};
use crate::codes::reserve_out::{
    CLEAR, PREEMPT, PREEMPT_AND_ABORT, REGISTER, REGISTER_AND_IGNORE_EXISTING_KEY, REGISTER_AND_MOVE,
    RELEASE, RESERVE,
};
use crate::codes::{self, asc, reserve_in};
use crate::command::{Command, Done};
use crate::limits::MAX_REGISTRATIONS;
use crate::nexus::Nexus;
use crate::registry::{Registry, Reservation, TYPES, kept};
use crate::sense::{INVALID_FIELD, INVALID_PARAMETER, INVALID_RELEASE, NO_REGISTRATION_RESOURCES, Refusal};
use crate::unit::LogicalUnit;

/// By bit of the type: bytes 4 and 5 of the capabilities.
const TYPE_MASK: [u8; 2] = [0xea, 0x01];

/// What others are to be told.
type Notices = Vec<(Nexus, u16)>;

/// PERSISTENT RESERVE OUT.
pub fn reserve_out(unit: &LogicalUnit, command: &Command<'_>) -> Result<Done, Refusal> {
    let alone = unit.changes_reservations();
    let (before, joined) = {
        let state = unit.state();
        (state.registry.clone(), state.transports.keys().cloned().collect::<Vec<Nexus>>())
    };
    let (mut after, mut notices) = (before.clone(), Notices::new());
    let mut done = after.change(command, &joined, &mut notices)?;
    kept::store(&*unit.volume, &before, &after)?;
    let mut state = unit.state();
    state.registry = after;
    notices.iter().for_each(|(nexus, code)| state.attentions.tell(nexus, *code));
    drop(state);
    drop(alone);
    if codes::service_action(command.cdb) == PREEMPT_AND_ABORT {
        // Commands that come from now on meet the reservation as it is.
        let lost = |nexus: &Nexus| notices.contains(&(nexus.clone(), asc::REGISTRATIONS_PREEMPTED));
        let ended = unit.abort_of(lost);
        done.promise = Some(Box::new(|| {
            ended.into_iter().for_each(|(_, ending)| ending.wait());
            Ok(())
        }));
    }
    Ok(done)
}

impl Registry {
    /// PERSISTENT RESERVE IN.
    pub fn report(&self, cdb: &[u8]) -> Result<Done, Refusal> {
        let room = u16_at(cdb, 7).into();
        let list = match codes::service_action(cdb) {
            reserve_in::READ_KEYS => self.keys.values().flat_map(|key| key.to_be_bytes()).collect(),
            reserve_in::READ_RESERVATION => self.read_reservation(),
            reserve_in::REPORT_CAPABILITIES => return Ok(Done::bytes(cut(self.capabilities(), room))),
            reserve_in::READ_FULL_STATUS => {
                self.keys.iter().flat_map(|(nexus, key)| self.full_status(nexus, *key)).collect::<Vec<u8>>()
            }
            _ => return Err(INVALID_FIELD.into()),
        };
        let mut bytes = self.generation.to_be_bytes().to_vec();
        bytes.extend((list.len() as u32).to_be_bytes());
        bytes.extend(list);
        Ok(Done::bytes(cut(bytes, room)))
    }

    fn read_reservation(&self) -> Vec<u8> {
        let Some(reservation) = &self.reservation else { return Vec::new() };
        let key = if self.is_for_all() { 0 } else { self.key_of(&reservation.holder) };
        let mut bytes = vec![0; 16];
        bytes[..8].copy_from_slice(&key.to_be_bytes());
        bytes[13] = reservation.kind;
        bytes
    }

    fn full_status(&self, nexus: &Nexus, key: u64) -> Vec<u8> {
        let holds = self.holds(nexus);
        let mut bytes = vec![0; 24];
        bytes[..8].copy_from_slice(&key.to_be_bytes());
        bytes[12] = u8::from(holds);
        bytes[13] = self.reservation().filter(|_| holds).unwrap_or(0);
        bytes[18..20].copy_from_slice(&nexus.port.to_be_bytes());
        let id = parameters::transport_id(&nexus.initiator);
        bytes[20..24].copy_from_slice(&(id.len() as u32).to_be_bytes());
        bytes.extend(id);
        bytes
    }

    /// `joined`: those that have a session.
    fn change(
        &mut self,
        command: &Command<'_>,
        joined: &[Nexus],
        tell: &mut Notices,
    ) -> Result<Done, Refusal> {
        let (cdb, nexus) = (command.cdb, command.nexus);
        let parameters = parameters::parse(cdb, command.out)?;
        let (action, scope, kind) = (codes::service_action(cdb), cdb[2] >> 4, cdb[2] & 0xf);
        if !matches!(action, REGISTER | REGISTER_AND_IGNORE_EXISTING_KEY) {
            if self.keys.get(nexus) != Some(&parameters.key) {
                return Err(Refusal::Conflict);
            }
            let has_type = matches!(action, RESERVE | RELEASE | PREEMPT | PREEMPT_AND_ABORT);
            if has_type && (scope != 0 || (action != RELEASE && !TYPES.contains(&kind))) {
                return Err(INVALID_FIELD.into());
            }
        }
        match action {
            REGISTER | REGISTER_AND_IGNORE_EXISTING_KEY => {
                self.register(command, &parameters, joined, tell)?;
            }
            RESERVE => self.reserve(nexus, kind)?,
            RELEASE => self.release(nexus, (scope, kind), tell)?,
            CLEAR => {
                self.tell_others(nexus, asc::RESERVATIONS_PREEMPTED, tell);
                self.keys.clear();
                self.reservation = None;
                self.changed();
            }
            REGISTER_AND_MOVE => self.hand_over(command, &parameters)?,
            PREEMPT | PREEMPT_AND_ABORT => self.preempt(nexus, kind, parameters.new_key, tell)?,
            _ => return Err(INVALID_FIELD.into()),
        }
        Ok(Done::taking(u32_at(cdb, 5) as usize))
    }

    /// All that are registered but this one.
    fn tell_others(&self, but: &Nexus, code: u16, tell: &mut Notices) {
        let others = self.keys.keys().filter(|other| *other != but);
        tell.extend(others.map(|other| (other.clone(), code)));
    }

    fn changed(&mut self) {
        self.generation = self.generation.wrapping_add(1);
    }

    fn register(
        &mut self,
        command: &Command<'_>,
        parameters: &Parameters,
        joined: &[Nexus],
        tell: &mut Notices,
    ) -> Result<(), Refusal> {
        let nexus = command.nexus;
        if codes::service_action(command.cdb) == REGISTER && parameters.key != self.key_of(nexus) {
            return Err(Refusal::Conflict);
        }
        if parameters.named.is_some() && self.is_registered(nexus) {
            return Err(INVALID_FIELD.into());
        }
        let ports = if parameters.all_ports { ports(command) } else { vec![nexus.port] };
        let through = |initiator: &Arc<str>| {
            let initiator = initiator.clone();
            ports.iter().map(move |port| Nexus { initiator: initiator.clone(), port: *port })
        };
        let own: Vec<Nexus> = through(&nexus.initiator).collect();
        if parameters.new_key == 0 {
            let known: Vec<Nexus> = own.into_iter().filter(|one| self.is_registered(one)).collect();
            known.iter().for_each(|one| self.unregister(one, tell));
            if !known.is_empty() {
                self.changed();
            }
            self.persists = parameters.persist;
            return Ok(());
        }
        let named = named(parameters.named.as_deref().unwrap_or_default(), joined)?;
        // Others that are registered stay as they are.
        let others = named.iter().flat_map(through).filter(|other| !self.is_registered(other));
        let all: Vec<Nexus> = own.into_iter().chain(others.collect::<Vec<_>>()).collect();
        self.insert(all, parameters)
    }

    fn insert(&mut self, all: Vec<Nexus>, parameters: &Parameters) -> Result<(), Refusal> {
        for nexus in all {
            self.keys.insert(nexus, parameters.new_key);
        }
        if self.keys.len() > MAX_REGISTRATIONS {
            return Err(NO_REGISTRATION_RESOURCES.into());
        }
        self.persists = parameters.persist;
        self.changed();
        Ok(())
    }

    /// REGISTER AND MOVE: who holds the reservation gives it to another port, which is registered
    /// with that.
    fn hand_over(&mut self, command: &Command<'_>, parameters: &Parameters) -> Result<(), Refusal> {
        let nexus = command.nexus;
        let Some(Move { unregister, port, to }) = &parameters.moves else {
            return Err(INVALID_PARAMETER.into());
        };
        if self.reservation.is_none() {
            return Err(INVALID_FIELD.into());
        }
        if !self.holds(nexus) || self.is_for_all() {
            return Err(Refusal::Conflict);
        }
        let to = match to {
            Initiator::Port(to) if **to != *nexus.initiator => Nexus::new(to, *port),
            _ => return Err(INVALID_PARAMETER.into()),
        };
        if parameters.new_key == 0 || !ports(command).contains(port) {
            return Err(INVALID_PARAMETER.into());
        }
        if let Some(reservation) = &mut self.reservation {
            reservation.holder = to.clone();
        }
        if *unregister {
            self.keys.remove(nexus);
        }
        self.insert(vec![to], parameters)
    }

    /// The reservation goes with who holds it; others that relied on it are told.
    fn unregister(&mut self, nexus: &Nexus, tell: &mut Notices) {
        let held = self.holds(nexus);
        self.keys.remove(nexus);
        let last = self.keys.is_empty();
        if held && (!self.is_for_all() || last) {
            if self.is_for_registrants() {
                self.tell_others(nexus, asc::RESERVATIONS_RELEASED, tell);
            }
            self.reservation = None;
        }
    }

    fn reserve(&mut self, nexus: &Nexus, kind: u8) -> Result<(), Refusal> {
        match &self.reservation {
            Some(held) if !self.holds(nexus) || held.kind != kind => return Err(Refusal::Conflict),
            Some(_) => {}
            None => self.reservation = Some(Reservation { kind, holder: nexus.clone() }),
        }
        Ok(())
    }

    fn release(&mut self, nexus: &Nexus, wanted: (u8, u8), tell: &mut Notices) -> Result<(), Refusal> {
        if !self.holds(nexus) {
            return Ok(());
        }
        if wanted != (0, self.reservation().unwrap_or(0)) {
            return Err(INVALID_RELEASE.into());
        }
        if self.is_for_registrants() {
            self.tell_others(nexus, asc::RESERVATIONS_RELEASED, tell);
        }
        self.reservation = None;
        Ok(())
    }

    fn preempt(&mut self, nexus: &Nexus, kind: u8, key: u64, tell: &mut Notices) -> Result<(), Refusal> {
        let holder_key = self.reservation.as_ref().map(|reservation| self.key_of(&reservation.holder));
        let takes_over = match holder_key {
            Some(_) if self.is_for_all() => key == 0,
            Some(holder) => holder == key,
            None => false,
        };
        if key == 0 && !takes_over {
            return Err(INVALID_PARAMETER.into());
        }
        let losers: Vec<Nexus> = self
            .keys
            .iter()
            .filter(|(other, theirs)| *other != nexus && (**theirs == key || key == 0))
            .map(|(other, _)| other.clone())
            .collect();
        let own = self.key_of(nexus) == key;
        if losers.is_empty() && !takes_over && !own {
            return Err(Refusal::Conflict);
        }
        for loser in losers {
            self.keys.remove(&loser);
            tell.push((loser, asc::REGISTRATIONS_PREEMPTED));
        }
        if takes_over {
            let before = self.reservation();
            self.reservation = Some(Reservation { kind, holder: nexus.clone() });
            if before != Some(kind) {
                self.tell_others(nexus, asc::RESERVATIONS_RELEASED, tell);
            }
        }
        self.changed();
        Ok(())
    }

    /// REPORT CAPABILITIES: compatible with RESERVE(6) in none of its ways, for other initiators
    /// and all ports, types as in the mask, and whether all of it outlives the loss of power now,
    /// as it can.
    fn capabilities(&self) -> Vec<u8> {
        vec![0, 8, 0x0d, 0x80 | u8::from(self.persists), TYPE_MASK[0], TYPE_MASK[1], 0, 0]
    }
}

/// Relative identifiers of the target's ports.
fn ports(command: &Command<'_>) -> Vec<u16> {
    let own = command.nexus.port;
    let others = command.target.ports.iter().map(|port| port.id).filter(|id| *id != own);
    std::iter::once(own).chain(others).collect()
}

/// The ports of those that are named. An initiator of which none is known cannot be registered.
fn named(initiators: &[Initiator], joined: &[Nexus]) -> Result<Vec<Arc<str>>, Refusal> {
    let mut found: Vec<Arc<str>> = Vec::new();
    for one in initiators {
        match one {
            Initiator::Port(port) => found.push(port.as_str().into()),
            Initiator::Device(device) => {
                let known = joined.iter().map(|nexus| &nexus.initiator);
                let before = found.len();
                found.extend(known.filter(|port| parameters::is_port_of(port, device)).cloned());
                if found.len() == before {
                    return Err(INVALID_PARAMETER.into());
                }
            }
        }
    }
    Ok(found)
}
