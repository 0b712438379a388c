//! Who is registered with a unit, and what is reserved.
//!
//! Registrations outlive sessions, and with ACTIVATE PERSIST THROUGH POWER LOSS all else too: then
//! the volume remembers them ([`kept`]). What changes a registry is in `persistent`.
//!
//! Source: SPC-4 5.13.

pub(crate) mod kept;

use std::collections::BTreeMap;

use crate::nexus::Nexus;

const WRITE: u8 = 1;
pub(crate) const EXCLUSIVE: u8 = 3;
const WRITE_REGISTRANTS: u8 = 5;
pub(crate) const EXCLUSIVE_REGISTRANTS: u8 = 6;
const WRITE_ALL: u8 = 7;
pub(crate) const EXCLUSIVE_ALL: u8 = 8;
pub(crate) const TYPES: [u8; 6] =
    [WRITE, EXCLUSIVE, WRITE_REGISTRANTS, EXCLUSIVE_REGISTRANTS, WRITE_ALL, EXCLUSIVE_ALL];

/// See the module.
#[derive(Clone, Default)]
pub struct Registry {
    pub(crate) generation: u32,
    pub(crate) keys: BTreeMap<Nexus, u64>,
    pub(crate) reservation: Option<Reservation>,
    /// All of it outlives the loss of power.
    pub(crate) persists: bool,
}

#[derive(Clone)]
pub(crate) struct Reservation {
    pub kind: u8,
    /// Who asked for it; all that are registered hold one of a type for all.
    pub holder: Nexus,
}

impl Registry {
    /// The type of the reservation.
    pub fn reservation(&self) -> Option<u8> {
        self.reservation.as_ref().map(|reservation| reservation.kind)
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub fn is_registered(&self, nexus: &Nexus) -> bool {
        self.keys.contains_key(nexus)
    }

    pub fn is_for_registrants(&self) -> bool {
        self.reservation().is_some_and(|kind| kind >= WRITE_REGISTRANTS)
    }

    pub(crate) fn is_for_all(&self) -> bool {
        matches!(self.reservation(), Some(WRITE_ALL | EXCLUSIVE_ALL))
    }

    pub fn holds(&self, nexus: &Nexus) -> bool {
        match &self.reservation {
            Some(_) if self.is_for_all() => self.is_registered(nexus),
            Some(reservation) => reservation.holder == *nexus,
            None => false,
        }
    }

    pub(crate) fn key_of(&self, nexus: &Nexus) -> u64 {
        self.keys.get(nexus).copied().unwrap_or(0)
    }
}
