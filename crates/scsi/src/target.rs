//! A target as one session sees it: logical units by number.
//!
//! Source: SAM-5 4.6 (numbers of units).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::unit::LogicalUnit;

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
    /// More units may come: one that is not there is not ready yet.
    pub is_incomplete: bool,
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
pub(crate) fn written(number: u16) -> [u8; 8] {
    let first = if number < 256 { number } else { 0x4000 | number };
    (u64::from(first) << 48).to_be_bytes()
}

impl Target {
    pub fn new(name: String, ports: Vec<TargetPort>, units: BTreeMap<u16, Arc<LogicalUnit>>) -> Target {
        Target { name, ports, is_incomplete: false, units }
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
}
