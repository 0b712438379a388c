//! What PERSISTENT RESERVE OUT is told: its parameter lists, and the TransportIDs in these, which
//! name initiators.
//!
//! ```text
//!   TransportID    0  form (0: an initiator with all of its ports, 1: one port), protocol 5: iSCSI
//!                  2  bytes that follow          4  the name, ended by zeroes, in whole words
//! ```
//! Sources: SPC-4, PERSISTENT RESERVE OUT parameter lists, and 7.6.4.

use crate::bytes::{u8_at, u16_at, u32_at, u64_at};
use crate::codes;
use crate::codes::reserve_out::{REGISTER, REGISTER_AND_MOVE};
use crate::limits::MAX_REGISTRATIONS;
use crate::sense::{INVALID_PARAMETER, NO_REGISTRATION_RESOURCES, PARAMETER_LIST_LENGTH, Refusal};

const ISCSI: u8 = 5;
const OF_PORT: u8 = 0x40;
/// Least bytes of a name, and the most of one that stands alone.
const NAME_MIN: usize = 20;
const NAME_MAX: usize = 223;
/// Between the name of an initiator and the number of a session, in the name of a port.
const PORT: &str = ",i,0x";
/// Bytes of lists before what is named.
const HEAD: usize = 24;

/// See the module.
pub struct Parameters {
    pub key: u64,
    pub new_key: u64,
    /// APTPL.
    pub persist: bool,
    /// ALL_TG_PT.
    pub all_ports: bool,
    /// SPEC_I_PT: who is registered too.
    pub named: Option<Vec<Initiator>>,
    /// Of REGISTER AND MOVE.
    pub moves: Option<Move>,
}

/// Where a reservation goes.
pub struct Move {
    /// UNREG: who has it is not registered afterwards.
    pub unregister: bool,
    /// Of the target.
    pub port: u16,
    pub to: Initiator,
}

/// Whom a TransportID names.
#[derive(Debug, PartialEq, Eq)]
pub enum Initiator {
    /// By its name, with all ports that are known of it.
    Device(String),
    Port(String),
}

pub fn parse(cdb: &[u8], out: &[u8]) -> Result<Parameters, Refusal> {
    let (action, len) = (codes::service_action(cdb), u32_at(cdb, 5) as usize);
    let list = out.get(..len).filter(|list| list.len() >= HEAD).ok_or(PARAMETER_LIST_LENGTH)?;
    let (key, new_key) = (u64_at(list, 0), u64_at(list, 8));
    if action == REGISTER_AND_MOVE {
        let flags = u8_at(list, 17);
        let named = behind(list, HEAD, u32_at(list, 20))?;
        let to = initiators(named)?.pop().ok_or(INVALID_PARAMETER)?;
        let moves = Move { unregister: flags & 2 != 0, port: u16_at(list, 18), to };
        let persist = flags & 1 != 0;
        return Ok(Parameters { key, new_key, persist, all_ports: false, named: None, moves: Some(moves) });
    }
    let flags = u8_at(list, 20);
    let named = if flags & 8 == 0 {
        behind(list, HEAD, 0)?;
        None
    } else if action == REGISTER {
        Some(initiators(behind(list, HEAD + 4, u32_at(list, 24))?)?)
    } else {
        return Err(INVALID_PARAMETER.into());
    };
    let (all_ports, persist) = (flags & 4 != 0, flags & 1 != 0);
    Ok(Parameters { key, new_key, persist, all_ports, named, moves: None })
}

/// All that is behind the head of a list, which is as long as the list says.
fn behind(list: &[u8], head: usize, len: u32) -> Result<&[u8], Refusal> {
    Ok(list.get(head..).filter(|rest| rest.len() == len as usize).ok_or(PARAMETER_LIST_LENGTH)?)
}

fn initiators(mut rest: &[u8]) -> Result<Vec<Initiator>, Refusal> {
    let mut found = Vec::new();
    while !rest.is_empty() {
        if found.len() == MAX_REGISTRATIONS {
            return Err(NO_REGISTRATION_RESOURCES.into());
        }
        let (one, after) = initiator(rest).ok_or(INVALID_PARAMETER)?;
        found.push(one);
        rest = after;
    }
    Ok(found)
}

/// The first of some TransportIDs, and what is behind it.
fn initiator(bytes: &[u8]) -> Option<(Initiator, &[u8])> {
    let (head, rest) = bytes.split_at_checked(4)?;
    let (body, rest) = rest.split_at_checked(u16_at(head, 2).into())?;
    if head[0] & !OF_PORT != ISCSI || body.len() < NAME_MIN || !body.len().is_multiple_of(4) {
        return None;
    }
    let end = body.iter().position(|byte| *byte == 0)?;
    let name = std::str::from_utf8(&body[..end]).ok()?.to_ascii_lowercase();
    let is_name = |name: &str| {
        let is_clean = |c: char| !c.is_control() && !c.is_whitespace() && c != ',';
        !name.is_empty() && name.len() <= NAME_MAX && name.chars().all(is_clean)
    };
    if head[0] & OF_PORT == 0 {
        return is_name(&name).then_some((Initiator::Device(name), rest));
    }
    let (device, session) = name.split_once(PORT).filter(|(device, _)| is_name(device))?;
    let session = u64::from_str_radix(session, 16).ok().filter(|number| *number < 1 << 48)?;
    Some((Initiator::Port(format!("{device}{PORT}{session:012x}")), rest))
}

/// The TransportID of a port.
pub fn transport_id(port: &str) -> Vec<u8> {
    let len = (port.len() + 1).next_multiple_of(4).max(NAME_MIN);
    let mut bytes = vec![OF_PORT | ISCSI, 0];
    bytes.extend((len as u16).to_be_bytes());
    bytes.extend(port.as_bytes());
    bytes.resize(4 + len, 0);
    bytes
}

/// Whether a port is one of an initiator's.
pub fn is_port_of(port: &str, device: &str) -> bool {
    port.strip_prefix(device).is_some_and(|rest| rest.starts_with(PORT))
}

#[cfg(test)]
mod tests;
