//! A target as one session sees it: logical units by number.
//!
//! Source: SPC-4 6.33 (REPORT LUNS), SAM-5 4.6 (numbers of units).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::bytes::{cut, u16_at, u32_at};
use crate::codes;
use crate::inquiry;
use crate::sense::{INVALID_FIELD, NO_SUCH_UNIT, Refusal};
use crate::unit::{Answer, Begun, Done, LogicalUnit, Nexus};

/// A port of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetPort {
    /// Its relative identifier, from 1 on.
    pub id: u16,
    /// As the transport writes names of ports.
    pub name: String,
}

/// See the module.
#[derive(Default)]
pub struct Target {
    /// As the transport writes names of devices.
    pub name: String,
    /// All that its units can be reached through, each as good as any other.
    pub ports: Vec<TargetPort>,
    units: BTreeMap<u16, Arc<LogicalUnit>>,
}

/// A unit's number from the eight bytes that a transport has; `None` for forms that no unit here
/// has.
fn number(lun: u64) -> Option<u16> {
    let (first, rest) = ((lun >> 48) as u16, lun & 0xffff_ffff_ffff);
    match first >> 14 {
        // Peripheral and flat.
        0 if first < 256 && rest == 0 => Some(first),
        1 if rest == 0 => Some(first & 0x3fff),
        _ => None,
    }
}

/// As REPORT LUNS writes it.
fn written(number: u16) -> [u8; 8] {
    let first = if number < 256 { number } else { 0x4000 | number };
    (u64::from(first) << 48).to_be_bytes()
}

impl Target {
    pub fn new(name: String, ports: Vec<TargetPort>, units: BTreeMap<u16, Arc<LogicalUnit>>) -> Target {
        Target { name, ports, units }
    }

    pub fn units(&self) -> impl Iterator<Item = &Arc<LogicalUnit>> {
        self.units.values()
    }

    /// The numbers that there are, and whose they are.
    pub fn inventory(&self) -> impl Iterator<Item = (u16, u128)> {
        self.units.iter().map(|(number, unit)| (*number, unit.identity.id))
    }

    pub fn unit(&self, lun: u64) -> Option<&Arc<LogicalUnit>> {
        self.units.get(&number(lun)?)
    }

    /// A command for a unit, which may not be there, and its end.
    pub fn execute(&self, nexus: &Nexus, lun: u64, cdb: &[u8], out: &[u8]) -> Answer {
        self.begin(nexus, lun, cdb, out).end()
    }

    /// As [`Target::execute`], but the waiting for its end is left to the caller.
    pub fn begin(&self, nexus: &Nexus, lun: u64, cdb: &[u8], out: &[u8]) -> Begun {
        let code = cdb.first().copied().unwrap_or(0);
        match self.unit(lun) {
            _ if code == codes::REPORT_LUNS => Begun::of(self.report_luns(cdb)),
            Some(unit) => unit.begin(self, nexus, cdb, out),
            None => Begun::of(self.nobody(code, cdb)),
        }
    }

    /// What can be asked where no unit is.
    fn nobody(&self, code: u8, cdb: &[u8]) -> Result<Done, Refusal> {
        match code {
            codes::INQUIRY if cdb.get(1).is_some_and(|flags| flags & 1 == 0) => {
                Ok(Done::bytes(cut(inquiry::standard(0x7f, self), u16_at(cdb, 3).into())))
            }
            codes::REQUEST_SENSE => {
                let room = cdb.get(4).copied().unwrap_or(0);
                Ok(Done::bytes(cut(NO_SUCH_UNIT.encode(), room.into())))
            }
            _ => Err(NO_SUCH_UNIT.into()),
        }
    }

    fn report_luns(&self, cdb: &[u8]) -> Result<Done, Refusal> {
        let (which, room) = (cdb.get(2).copied().unwrap_or(0), u32_at(cdb, 6) as usize);
        if room < 16 || !matches!(which, 0..=2) {
            return Err(INVALID_FIELD.into());
        }
        // There are no well-known units.
        let listed = self.units.keys().filter(|_| which != 1).flat_map(|number| written(*number));
        let list: Vec<u8> = listed.collect();
        let mut bytes = (list.len() as u32).to_be_bytes().to_vec();
        bytes.extend([0; 4]);
        bytes.extend(list);
        Ok(Done::bytes(cut(bytes, room)))
    }
}
