//! PERSISTENT RESERVE IN and OUT: ports register a key, and one of them (or, for some types, all) holds a reservation.
//!
//! Registrations outlive sessions, and with ACTIVATE PERSIST THROUGH POWER LOSS all else too: then the volume remembers them
//! ([`kept`]), and a change is durable before it is answered. Changes take turns; others go by what was before until then.
//!
//! Sources: SPC-4 5.13, 6.15, 6.16, 7.6.4 (TransportID of iSCSI).

mod kept;

use std::collections::BTreeMap;

use engine_api::Volume;

use crate::attention::{REGISTRATIONS_PREEMPTED, RESERVATIONS_PREEMPTED, RESERVATIONS_RELEASED};
use crate::bytes::{cut, u8_at, u16_at, u32_at, u64_at};
use crate::limits::MAX_REGISTRATIONS;
use crate::sense::{
    INVALID_FIELD, INVALID_PARAMETER, INVALID_RELEASE, NO_REGISTRATION_RESOURCES, PARAMETER_LIST_LENGTH,
    Refusal,
};
use crate::unit::{Command, Done, LogicalUnit, Port};

const WRITE: u8 = 1;
pub const EXCLUSIVE: u8 = 3;
const WRITE_REGISTRANTS: u8 = 5;
pub const EXCLUSIVE_REGISTRANTS: u8 = 6;
const WRITE_ALL: u8 = 7;
pub const EXCLUSIVE_ALL: u8 = 8;
const TYPES: [u8; 6] = [WRITE, EXCLUSIVE, WRITE_REGISTRANTS, EXCLUSIVE_REGISTRANTS, WRITE_ALL, EXCLUSIVE_ALL];
/// By bit of the type: bytes 4 and 5 of the capabilities.
const TYPE_MASK: [u8; 2] = [0xea, 0x01];
/// The one port of a target that there is.
const TARGET_PORT: u16 = 1;

const REGISTER: u8 = 0;
const RESERVE: u8 = 1;
const RELEASE: u8 = 2;
const CLEAR: u8 = 3;
const PREEMPT: u8 = 4;
const PREEMPT_AND_ABORT: u8 = 5;
const REGISTER_AND_IGNORE: u8 = 6;

/// What ports are to be told.
type Notices = Vec<(Port, u16)>;

/// Who is registered with a unit, and what is reserved.
#[derive(Clone, Default)]
pub struct Registry {
    generation: u32,
    keys: BTreeMap<Port, u64>,
    reservation: Option<Reservation>,
    /// All of it outlives the loss of power.
    persists: bool,
}

#[derive(Clone)]
struct Reservation {
    kind: u8,
    /// Who asked for it; all that are registered hold one of a type for all.
    holder: Port,
}

/// Parameters of PERSISTENT RESERVE OUT.
struct Parameters {
    key: u64,
    new_key: u64,
    all_ports: bool,
    persist: bool,
    specific: bool,
}

/// PERSISTENT RESERVE OUT.
pub fn reserve_out(unit: &LogicalUnit, command: &Command<'_>) -> Result<Done, Refusal> {
    let _alone = unit.changes_reservations();
    let before = unit.state().registry.clone();
    let (mut after, mut notices) = (before.clone(), Notices::new());
    let done = after.change(command, &mut notices)?;
    kept::store(&*unit.volume, &before, &after)?;
    let mut state = unit.state();
    state.registry = after;
    notices.iter().for_each(|(port, code)| state.attentions.tell(port, *code));
    Ok(done)
}

impl Registry {
    /// As the volume remembers it.
    pub fn of(volume: &dyn Volume) -> Registry {
        kept::load(volume)
    }

    /// The type of the reservation.
    pub fn reservation(&self) -> Option<u8> {
        self.reservation.as_ref().map(|reservation| reservation.kind)
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub fn is_registered(&self, port: &Port) -> bool {
        self.keys.contains_key(port)
    }

    pub fn is_for_registrants(&self) -> bool {
        self.reservation().is_some_and(|kind| kind >= WRITE_REGISTRANTS)
    }

    fn is_for_all(&self) -> bool {
        matches!(self.reservation(), Some(WRITE_ALL | EXCLUSIVE_ALL))
    }

    pub fn holds(&self, port: &Port) -> bool {
        match &self.reservation {
            Some(_) if self.is_for_all() => self.is_registered(port),
            Some(reservation) => reservation.holder == *port,
            None => false,
        }
    }

    /// PERSISTENT RESERVE IN.
    pub fn report(&self, cdb: &[u8]) -> Result<Done, Refusal> {
        let room = u16_at(cdb, 7).into();
        let list = match cdb[1] & 0x1f {
            0 => self.keys.values().flat_map(|key| key.to_be_bytes()).collect(),
            1 => self.read_reservation(),
            2 => return Ok(Done::bytes(cut(self.capabilities(), room))),
            _ => self.keys.iter().flat_map(|(port, key)| self.full_status(port, *key)).collect::<Vec<u8>>(),
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

    fn full_status(&self, port: &Port, key: u64) -> Vec<u8> {
        let holds = self.holds(port);
        let mut bytes = vec![0; 24];
        bytes[..8].copy_from_slice(&key.to_be_bytes());
        bytes[12] = u8::from(holds);
        bytes[13] = self.reservation().filter(|_| holds).unwrap_or(0);
        bytes[18..20].copy_from_slice(&TARGET_PORT.to_be_bytes());
        let mut name = port.as_bytes().to_vec();
        name.resize((name.len() + 1).next_multiple_of(4).max(20), 0);
        bytes[20..24].copy_from_slice(&(name.len() as u32 + 4).to_be_bytes());
        // iSCSI, with the name of the session.
        bytes.extend([0x45, 0]);
        bytes.extend((name.len() as u16).to_be_bytes());
        bytes.extend(name);
        bytes
    }

    fn key_of(&self, port: &Port) -> u64 {
        self.keys.get(port).copied().unwrap_or(0)
    }

    fn change(&mut self, command: &Command<'_>, tell: &mut Notices) -> Result<Done, Refusal> {
        let (cdb, port) = (command.cdb, command.port);
        let len = u32_at(cdb, 5) as usize;
        if len != 24 || command.out.len() < 24 {
            return Err(PARAMETER_LIST_LENGTH.into());
        }
        let flags = u8_at(command.out, 20);
        let parameters = Parameters {
            key: u64_at(command.out, 0),
            new_key: u64_at(command.out, 8),
            all_ports: flags & 4 != 0,
            persist: flags & 1 != 0,
            specific: flags & 8 != 0,
        };
        let (action, scope, kind) = (cdb[1] & 0x1f, cdb[2] >> 4, cdb[2] & 0xf);
        if !matches!(action, REGISTER | REGISTER_AND_IGNORE) {
            if self.keys.get(port) != Some(&parameters.key) {
                return Err(Refusal::Conflict);
            }
            let has_type = matches!(action, RESERVE | RELEASE | PREEMPT | PREEMPT_AND_ABORT);
            if has_type && (scope != 0 || (action != RELEASE && !TYPES.contains(&kind))) {
                return Err(INVALID_FIELD.into());
            }
        }
        match action {
            REGISTER | REGISTER_AND_IGNORE => self.register(port, action, &parameters, tell)?,
            RESERVE => self.reserve(port, kind)?,
            RELEASE => self.release(port, (scope, kind), tell)?,
            CLEAR => {
                let others: Vec<Port> = self.keys.keys().filter(|other| *other != port).cloned().collect();
                tell.extend(others.into_iter().map(|other| (other, RESERVATIONS_PREEMPTED)));
                self.keys.clear();
                self.reservation = None;
                self.changed();
            }
            _ => self.preempt(port, kind, parameters.new_key, tell)?,
        }
        Ok(Done::taking(24))
    }

    fn changed(&mut self) {
        self.generation = self.generation.wrapping_add(1);
    }

    fn register(
        &mut self,
        port: &Port,
        action: u8,
        parameters: &Parameters,
        tell: &mut Notices,
    ) -> Result<(), Refusal> {
        if parameters.specific || parameters.all_ports {
            return Err(INVALID_PARAMETER.into());
        }
        if action == REGISTER && parameters.key != self.key_of(port) {
            return Err(Refusal::Conflict);
        }
        if parameters.new_key == 0 {
            if self.is_registered(port) {
                self.unregister(port, tell);
                self.changed();
            }
            self.persists = parameters.persist;
            return Ok(());
        }
        if !self.is_registered(port) && self.keys.len() >= MAX_REGISTRATIONS {
            return Err(NO_REGISTRATION_RESOURCES.into());
        }
        self.keys.insert(port.clone(), parameters.new_key);
        self.persists = parameters.persist;
        self.changed();
        Ok(())
    }

    /// The reservation goes with who holds it; others that relied on it are told.
    fn unregister(&mut self, port: &Port, tell: &mut Notices) {
        let held = self.holds(port);
        self.keys.remove(port);
        let last = self.keys.is_empty();
        if held && (!self.is_for_all() || last) {
            if self.is_for_registrants() {
                tell.extend(self.keys.keys().map(|other| (other.clone(), RESERVATIONS_RELEASED)));
            }
            self.reservation = None;
        }
    }

    fn reserve(&mut self, port: &Port, kind: u8) -> Result<(), Refusal> {
        match &self.reservation {
            Some(reservation) if !self.holds(port) || reservation.kind != kind => Err(Refusal::Conflict),
            Some(_) => Ok(()),
            None => {
                self.reservation = Some(Reservation { kind, holder: port.clone() });
                Ok(())
            }
        }
    }

    fn release(&mut self, port: &Port, wanted: (u8, u8), tell: &mut Notices) -> Result<(), Refusal> {
        if !self.holds(port) {
            return Ok(());
        }
        if wanted != (0, self.reservation().unwrap_or(0)) {
            return Err(INVALID_RELEASE.into());
        }
        if self.is_for_registrants() {
            let others = self.keys.keys().filter(|other| *other != port);
            tell.extend(others.map(|other| (other.clone(), RESERVATIONS_RELEASED)));
        }
        self.reservation = None;
        Ok(())
    }

    fn preempt(&mut self, port: &Port, kind: u8, key: u64, tell: &mut Notices) -> Result<(), Refusal> {
        let holder_key = self.reservation.as_ref().map(|reservation| self.key_of(&reservation.holder));
        let takes_over = match holder_key {
            Some(_) if self.is_for_all() => key == 0,
            Some(holder) => holder == key,
            None => false,
        };
        if key == 0 && !takes_over {
            return Err(INVALID_PARAMETER.into());
        }
        let losers: Vec<Port> = self
            .keys
            .iter()
            .filter(|(other, theirs)| *other != port && (**theirs == key || key == 0))
            .map(|(other, _)| other.clone())
            .collect();
        let own = self.key_of(port) == key;
        if losers.is_empty() && !takes_over && !own {
            return Err(Refusal::Conflict);
        }
        for loser in losers {
            self.keys.remove(&loser);
            tell.push((loser, REGISTRATIONS_PREEMPTED));
        }
        if takes_over {
            let before = self.reservation();
            self.reservation = Some(Reservation { kind, holder: port.clone() });
            if before != Some(kind) {
                let others = self.keys.keys().filter(|other| *other != port);
                tell.extend(others.map(|other| (other.clone(), RESERVATIONS_RELEASED)));
            }
        }
        self.changed();
        Ok(())
    }

    /// REPORT CAPABILITIES: compatible with RESERVE(6) in none of its ways, types as in the mask, and whether all of it outlives
    /// the loss of power now, as it can.
    fn capabilities(&self) -> Vec<u8> {
        vec![0, 8, 0x01, 0x80 | u8::from(self.persists), TYPE_MASK[0], TYPE_MASK[1], 0, 0]
    }
}
