//! Access control entries, as `ZPL_DACL_ACES` holds them, and the ACL that says no more than a
//! mode.
//!
//! ```text
//!   0 type (u16)   2 flags (u16)   4 access mask (u32)   [8 who: a FUID (u64)]   [16 object types (32 bytes)]
//! ```
//! Entries for owner@, group@ and everyone@ are the first 8 bytes only. Entries of ACL version 0,
//! in znodes, are `who (u32), mask (u32), flags (u16), type (u16)`.
//!
//! Sources: include/sys/zfs_acl.h, include/sys/acl.h, module/os/linux/zfs/zfs_acl.c
//! (`acl_trivial_access_masks`).

use crate::malformed::{Endian, Malformed, Reader, Writer};
use crate::numbers::swap_fields;

/// Types.
pub const ALLOW: u16 = 0;
pub const DENY: u16 = 1;
/// From here to [`LAST_OBJECT_TYPE`] entries carry object types.
const FIRST_OBJECT_TYPE: u16 = 5;
const LAST_OBJECT_TYPE: u16 = 8;

/// Flags.
pub const INHERIT: u16 = 0x3;
pub const INHERIT_ONLY: u16 = 0x8;
pub const IDENTIFIER_GROUP: u16 = 0x40;
pub const OWNER: u16 = 0x1000;
pub const GROUP: u16 = 0x2000;
pub const EVERYONE: u16 = 0x4000;
const TYPE_FLAGS: u16 = OWNER | GROUP | EVERYONE | IDENTIFIER_GROUP;

/// Access mask.
pub const READ_DATA: u32 = 0x1;
pub const WRITE_DATA: u32 = 0x2;
pub const APPEND_DATA: u32 = 0x4;
pub const READ_NAMED_ATTRS: u32 = 0x8;
pub const WRITE_NAMED_ATTRS: u32 = 0x10;
pub const EXECUTE: u32 = 0x20;
pub const DELETE_CHILD: u32 = 0x40;
pub const READ_ATTRIBUTES: u32 = 0x80;
pub const WRITE_ATTRIBUTES: u32 = 0x100;
pub const READ_ACL: u32 = 0x2_0000;
pub const WRITE_ACL: u32 = 0x4_0000;
pub const WRITE_OWNER: u32 = 0x8_0000;
pub const SYNCHRONIZE: u32 = 0x10_0000;

const HEAD: usize = 8;
const OLD_ENTRY: usize = 12;
const OBJECT_TYPES: usize = 32;

/// One entry; object types are not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ace {
    pub kind: u16,
    pub flags: u16,
    pub mask: u32,
    /// The FUID of a user or group; `None` for owner@, group@ and everyone@.
    pub who: Option<u64>,
}

impl Ace {
    const fn of(kind: u16, flags: u16, mask: u32) -> Ace {
        Ace { kind, flags, mask, who: None }
    }
}

fn is_abstract(flags: u16) -> bool {
    matches!(flags & TYPE_FLAGS, OWNER | EVERYONE) || flags & TYPE_FLAGS == GROUP | IDENTIFIER_GROUP
}

/// The entries of an ACL of the FUID version.
pub fn decode(bytes: &[u8], endian: Endian) -> Result<Vec<Ace>, Malformed> {
    let mut from = Reader::new(bytes, endian);
    let mut aces = Vec::new();
    while !from.is_empty() {
        let at = from.position();
        aces.push(decode_one(&mut from).ok_or(Malformed::at("access control entry", at))?);
    }
    Ok(aces)
}

fn decode_one(from: &mut Reader<'_>) -> Option<Ace> {
    let (kind, flags, mask) = (from.u16()?, from.u16()?, from.u32()?);
    let who = if is_abstract(flags) { None } else { Some(from.u64()?) };
    if who.is_some() && has_object_types(kind) {
        from.skip(OBJECT_TYPES)?;
    }
    Some(Ace { kind, flags, mask, who })
}

/// Whether an entry of this type, that names somebody, is followed by object types.
pub const fn has_object_types(kind: u16) -> bool {
    matches!(kind, FIRST_OBJECT_TYPE..=LAST_OBJECT_TYPE)
}

/// Little endian; object types are zero.
pub fn encode(aces: &[Ace]) -> Vec<u8> {
    let size = |ace: &Ace| match ace.who {
        Some(_) if has_object_types(ace.kind) => HEAD + 8 + OBJECT_TYPES,
        Some(_) => HEAD + 8,
        None => HEAD,
    };
    let len = aces.iter().map(size).sum();
    let mut bytes = vec![0; len];
    let mut to = Writer::new(&mut bytes, Endian::Little);
    for ace in aces {
        to.u16(ace.kind);
        to.u16(ace.flags);
        to.u32(ace.mask);
        if let Some(who) = ace.who {
            to.u64(who);
        }
        if ace.who.is_some() && has_object_types(ace.kind) {
            to.skip(OBJECT_TYPES);
        }
    }
    bytes
}

/// Bytes of the ACL in a znode, and of these the entries'.
const IN_ZNODE: usize = 88;
const ENTRIES_IN_ZNODE: usize = 72;
const IN_ZNODE_HEAD: usize = IN_ZNODE - ENTRIES_IN_ZNODE;

/// The ACL of a znode (`zfs_acl_phys_t`), with entries that all lie in it:
/// ```text
///   0 object of further entries (u64)   8 bytes of entries (u32)   12 version (u16)   14 entries (u16)   16 entries
/// ```
/// In file systems before FUIDs (`old`) version 0, where the two counts have changed places and
/// entries are longer.
pub fn in_znode(aces: &[Ace], old: bool) -> Vec<u8> {
    let entries = if old { encode_old(aces) } else { encode(aces) };
    assert!(entries.len() <= ENTRIES_IN_ZNODE, "an ACL of {} bytes in a znode", entries.len());
    let (first, second) = if old { (aces.len(), entries.len()) } else { (entries.len(), aces.len()) };
    let mut bytes = vec![0; IN_ZNODE];
    let mut to = Writer::new(&mut bytes, Endian::Little);
    to.u64(0);
    to.u32(first as u32);
    to.u16(u16::from(!old));
    to.u16(second as u16);
    to.bytes(&entries);
    bytes
}

/// The object with the entries that a znode has no room for; 0: there is none.
pub fn further_entries(acl: &[u8]) -> u64 {
    acl.first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

fn encode_old(aces: &[Ace]) -> Vec<u8> {
    let mut bytes = vec![0; aces.len() * OLD_ENTRY];
    let mut to = Writer::new(&mut bytes, Endian::Little);
    for ace in aces {
        to.u32(ace.who.unwrap_or(0) as u32);
        to.u32(ace.mask);
        to.u16(ace.flags);
        to.u16(ace.kind);
    }
    bytes
}

/// The entries that say exactly what a mode's nine bits say: at most three that settle where a
/// later class may do more than an earlier one, then one a class.
pub fn trivial(mode: u32, is_dir: bool) -> Vec<Ace> {
    const EVERYBODY: u32 = READ_ACL | READ_ATTRIBUTES | READ_NAMED_ATTRS | SYNCHRONIZE;
    const OWNERS: u32 = EVERYBODY | WRITE_ATTRIBUTES | WRITE_OWNER | WRITE_ACL | WRITE_NAMED_ATTRS;
    let write = WRITE_DATA | APPEND_DATA | if is_dir { DELETE_CHILD } else { 0 };
    let mut first = 0;
    let mut deny_owner = 0;
    let mut deny_group = 0;
    let mut classes = [OWNERS, EVERYBODY, EVERYBODY];
    for (bit, mask) in [(4, READ_DATA), (2, write), (1, EXECUTE)] {
        let [owner, group, other] = [6, 3, 0].map(|shift| mode >> shift & bit != 0);
        first |= if owner && !group && other { mask } else { 0 };
        deny_owner |= if !owner && (group || other) { mask } else { 0 };
        deny_group |= if !group && other { mask } else { 0 };
        for (class, granted) in classes.iter_mut().zip([owner, group, other]) {
            *class |= if granted { mask } else { 0 };
        }
    }
    const OWNING_GROUP: u16 = GROUP | IDENTIFIER_GROUP;
    let exceptions = [(ALLOW, OWNER, first), (DENY, OWNER, deny_owner), (DENY, OWNING_GROUP, deny_group)];
    let [owner, group, everyone] = classes;
    let exceptions = exceptions.into_iter().filter(|(_, _, mask)| *mask != 0);
    let rules = [(ALLOW, OWNER, owner), (ALLOW, OWNING_GROUP, group), (ALLOW, EVERYONE, everyone)];
    exceptions.chain(rules).map(|(kind, flags, mask)| Ace::of(kind, flags, mask)).collect()
}

/// Whether everybody may execute, as `flags::NO_EXECS_DENIED` says of a trivial ACL.
pub const fn executable_by_all(mode: u32) -> bool {
    mode & 0o111 == 0o111
}

/// Turns big-endian entries into little-endian ones. What does not parse stays as it is, from there
/// on.
pub fn swap_aces(bytes: &mut [u8]) {
    let mut rest = bytes;
    while let Some((head, tail)) = rest.split_first_chunk_mut::<HEAD>() {
        let (kind, flags) = (u16::from_be_bytes([head[0], head[1]]), u16::from_be_bytes([head[2], head[3]]));
        swap_fields(head, &[(0, 2), (2, 2), (4, 4)]);
        let mut skip = 0;
        if !is_abstract(flags) {
            let Some(who) = tail.first_chunk_mut::<8>() else { return };
            who.reverse();
            skip = 8 + if has_object_types(kind) { OBJECT_TYPES } else { 0 };
        }
        let Some((_, next)) = tail.split_at_mut_checked(skip) else { return };
        rest = next;
    }
}

/// The same, of entries of ACL version 0.
pub(crate) fn swap_old(bytes: &mut [u8]) {
    for entry in bytes.as_chunks_mut::<OLD_ENTRY>().0 {
        swap_fields(entry, &[(0, 4), (4, 4), (8, 2), (10, 2)]);
    }
}

/// The same, of the ACL of a znode: see [`in_znode`].
pub(super) fn swap_in_znode(acl: &mut [u8]) {
    let Some((head, entries)) = acl.split_first_chunk_mut::<IN_ZNODE_HEAD>() else { return };
    swap_fields(head, &[(0, 8), (8, 4), (12, 2), (14, 2)]);
    if head[12..14] == [0, 0] { swap_old(entries) } else { swap_aces(entries) }
}
