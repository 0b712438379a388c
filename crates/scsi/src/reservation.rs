//! Whether a command of one port is let through by what others have reserved; RESERVE(6) and
//! RELEASE(6).
//!
//! Sources: SPC-4 5.13 (tables 63 to 66), SBC-3 4.17; SPC-2 for the commands of six bytes.

use crate::bytes::u8_at;
use crate::codes;
use crate::command::{Command, Done};
use crate::nexus::Nexus;
use crate::opcodes::{Access, Opcode};
use crate::registry::{EXCLUSIVE, EXCLUSIVE_ALL, EXCLUSIVE_REGISTRANTS, Registry};
use crate::sense::{INVALID_FIELD, Refusal};
use crate::unit::State;

/// See the module.
pub fn lets_through(state: &State, nexus: &Nexus, opcode: &Opcode, cdb: &[u8]) -> bool {
    if state.reserved.as_ref().is_some_and(|holder| holder != nexus) {
        // INQUIRY, REPORT LUNS and REQUEST SENSE always; RELEASE of others does nothing.
        return matches!(
            opcode.code,
            codes::INQUIRY | codes::REPORT_LUNS | codes::REQUEST_SENSE | codes::RELEASE_6
        );
    }
    let access = match opcode.code {
        // START STOP UNIT with START set, and no power condition, does not take anything from
        // anybody.
        codes::START_STOP_UNIT if u8_at(cdb, 4) & 0xf1 == 0x01 => Access::Free,
        _ => opcode.access,
    };
    is_open(&state.registry, nexus, access)
}

/// The same of a command that reads or writes a unit in the course of another's.
pub fn passes(state: &State, nexus: &Nexus, access: Access) -> bool {
    state.reserved.as_ref().is_none_or(|holder| holder == nexus) && is_open(&state.registry, nexus, access)
}

fn is_open(registry: &Registry, nexus: &Nexus, access: Access) -> bool {
    let Some(kind) = registry.reservation() else { return true };
    if matches!(access, Access::Free | Access::Own) || registry.holds(nexus) {
        return true;
    }
    let is_exclusive = matches!(kind, EXCLUSIVE | EXCLUSIVE_REGISTRANTS | EXCLUSIVE_ALL);
    let for_registrants = registry.is_for_registrants() && registry.is_registered(nexus);
    for_registrants || (access == Access::Read && !is_exclusive)
}

/// RESERVE(6) and RELEASE(6).
pub fn six(state: &mut State, command: &Command<'_>) -> Result<Done, Refusal> {
    // Registered ports reserve persistently.
    if !state.registry.is_empty() {
        return Err(Refusal::Conflict);
    }
    if codes::service_action(command.cdb) != 0 {
        return Err(INVALID_FIELD.into());
    }
    if command.cdb[0] == codes::RESERVE_6 {
        state.reserved = Some(command.nexus.clone());
    } else if state.reserved.as_ref() == Some(command.nexus) {
        state.reserved = None;
    }
    Ok(Done::nothing())
}
