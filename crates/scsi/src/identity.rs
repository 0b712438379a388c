//! What a unit says of itself, and the names that others find it by. The names come from the
//! identity alone, so that they are the same by every path.
//!
//! Source: SPC-4 7.8, Device Identification VPD page.

use crate::bytes::padded;
use crate::codes::{code_set, designator};

/// Of all units.
pub(crate) const VENDOR: &str = "CISTERN";

/// What a unit says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Never changes, and is nobody else's: of 100 bits.
    pub id: u128,
    /// In text, for people.
    pub serial: String,
    pub name: String,
}

/// A name of a unit, as others find it.
pub(crate) struct Name {
    pub code_set: u8,
    /// Of designator, and what it names: the unit.
    pub kind: u8,
    pub name: Vec<u8>,
}

impl Identity {
    /// One NAA name, and one for people.
    pub(crate) fn names(&self) -> [Name; 2] {
        // NAA 6, registered extended; in place of the number that a vendor would register there is
        // none.
        let own = self.id & ((1 << 100) - 1);
        let mut text = padded(VENDOR, 8);
        text.extend(self.serial.bytes());
        [
            Name {
                code_set: code_set::BINARY,
                kind: designator::NAA,
                name: (0x6 << 124 | own).to_be_bytes().to_vec(),
            },
            Name { code_set: code_set::ASCII, kind: designator::T10_VENDOR_ID, name: text },
        ]
    }
}
