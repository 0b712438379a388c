//! What the entries of an ACL allow plainly: to everybody of a class, whoever that is and in whichever groups.
//!
//! An ACL can give one user more than the mode says and another one less. Who does not follow it user by user must not
//! give anybody more than he would get: so what is left of a class is what each of its members has for certain.
//!
//! A POSIX ACL is the value of the extended attribute `system.posix_acl_access`, or `…_default` for what is made in a
//! directory: a version (u32), then entries `tag (u16), permissions (u16), id (u32)`, all little endian.
//!
//! Sources: include/uapi/linux/posix_acl_xattr.h and posix_acl.h (Linux), acl(5), include/sys/acl.h.

use super::acl::{
    ALLOW, APPEND_DATA, Ace, DENY, EVERYONE, EXECUTE, GROUP, INHERIT, INHERIT_ONLY, OWNER, READ_DATA,
    WRITE_DATA,
};
use crate::malformed::{Endian, Malformed, Reader, Writer};

/// Names of the extended attributes.
pub const POSIX_ACCESS: &str = "system.posix_acl_access";
pub const POSIX_DEFAULT: &str = "system.posix_acl_default";

const VERSION: u32 = 2;
const USER_OBJ: u16 = 0x01;
const USER: u16 = 0x02;
const GROUP_OBJ: u16 = 0x04;
const NAMED_GROUP: u16 = 0x08;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;
const ALL: u32 = 7;

/// An entry of a POSIX ACL: tag, permissions, id.
type Entry = (u16, u16, u32);

fn decode_posix(value: &[u8]) -> Result<Vec<Entry>, Malformed> {
    let mut from = Reader::new(value, Endian::Little);
    let malformed = |at| Malformed::at("POSIX ACL", at);
    if from.u32() != Some(VERSION) {
        return Err(malformed(0));
    }
    let mut entries = Vec::new();
    while !from.is_empty() {
        let at = from.position();
        let mut entry = || Some((from.u16()?, from.u16()?, from.u32()?));
        entries.push(entry().ok_or(malformed(at))?);
    }
    Ok(entries)
}

/// The nine bits of a mode that a POSIX ACL allows plainly.
pub fn of_posix(value: &[u8]) -> Result<u32, Malformed> {
    let entries = decode_posix(value)?;
    let of =
        |tag: u16| entries.iter().filter(move |entry| entry.0 == tag).map(|entry| u32::from(entry.1) & ALL);
    let one = |tag: u16| of(tag).next().ok_or(Malformed::at("POSIX ACL", value.len()));
    let mask = of(MASK).next().unwrap_or(ALL);
    let named = of(USER).chain(of(NAMED_GROUP)).fold(ALL, |left, allowed| left & allowed & mask);
    Ok(one(USER_OBJ)? << 6 | (one(GROUP_OBJ)? & mask & named) << 3 | one(OTHER)? & named)
}

/// A POSIX ACL after a chmod: that sets what the owner, the others, and all in between may at most.
pub fn posix_with_mode(value: &[u8], mode: u32) -> Result<Vec<u8>, Malformed> {
    let mut entries = decode_posix(value)?;
    let has_mask = entries.iter().any(|entry| entry.0 == MASK);
    let between = if has_mask { MASK } else { GROUP_OBJ };
    for entry in &mut entries {
        let shift = match entry.0 {
            USER_OBJ => 6,
            OTHER => 0,
            tag if tag == between => 3,
            _ => continue,
        };
        entry.1 = (mode >> shift & ALL) as u16;
    }
    let mut bytes = vec![0; value.len()];
    let mut to = Writer::new(&mut bytes, Endian::Little);
    to.u32(VERSION);
    for (tag, allowed, id) in entries {
        to.u16(tag);
        to.u16(allowed);
        to.u32(id);
    }
    Ok(bytes)
}

/// The bits of group and others that a list of entries allows plainly. The first entry that speaks of a right decides;
/// one that denies somebody may mean anybody, one that allows somebody may mean nobody.
pub fn of_aces(aces: &[Ace]) -> u32 {
    let class = |group: bool| {
        let (mut allowed, mut denied) = (0, 0);
        for ace in aces.iter().filter(|ace| ace.flags & INHERIT_ONLY == 0) {
            let of_group = ace.flags & (OWNER | GROUP | EVERYONE) == GROUP;
            let of_everyone = ace.flags & (OWNER | GROUP | EVERYONE) == EVERYONE;
            match ace.kind {
                ALLOW if of_everyone || (group && of_group) => allowed |= ace.mask & !denied,
                DENY if of_everyone || ace.who.is_some() || (group && of_group) => {
                    denied |= ace.mask & !allowed
                }
                _ => {}
            }
        }
        bits(allowed)
    };
    class(true) << 3 | class(false)
}

/// The nine bits of a mode that new nodes of a directory may have, for all that entries for them deny.
pub fn inherited(aces: &[Ace]) -> u32 {
    let denies = |ace: &&Ace| ace.kind == DENY && ace.flags & INHERIT != 0;
    let denied = aces.iter().filter(denies).fold(0, |all, ace| all | ace.mask);
    let left = bits(!denied);
    0o700 | left << 3 | left
}

/// Rights as a mode has them; writing is overwriting and appending.
fn bits(mask: u32) -> u32 {
    [(4, READ_DATA), (2, WRITE_DATA | APPEND_DATA), (1, EXECUTE)]
        .into_iter()
        .filter(|(_, rights)| mask & rights == *rights)
        .map(|(bit, _)| bit)
        .sum()
}

#[cfg(test)]
mod tests;
