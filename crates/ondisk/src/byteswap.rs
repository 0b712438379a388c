//! Blocks that a machine of the other byte order wrote, turned into little endian.
//!
//! A block pointer says in which order its block was written, and its object type where in the
//! block there are numbers, of how many bytes. So a block is swapped once, as a whole, as soon as
//! it was read; nobody above has to know. System attributes alone are swapped later, for only their
//! object set says what they are ([`crate::sa`], [`swap_attribute`]).
//!
//! This module alone knows all types: a dnode has a bonus of any type, and an object set has
//! dnodes. So each other module swaps what it describes, and what may be of any type is swapped
//! here.
//!
//! Any bytes can be swapped: what is not what its type says comes out as nonsense of the same
//! length, which whoever decodes it finds malformed.
//!
//! Sources: `dmu_ot_byteswap` in module/zfs/dmu.c, `dnode_byteswap` in module/zfs/dnode.c,
//! `dmu_objset_byteswap` in module/zfs/dmu_objset.c, module/zfs/zfs_byteswap.c.

use crate::dnode::{self, SLOT_SIZE};
use crate::numbers::swap_numbers;
use crate::object_type::{Byteswap, ObjectType};
use crate::sa::Swap;
use crate::{objset, zap, znode};

/// Turns a big-endian block of this type and level into a little-endian one, in place.
pub fn to_little(object_type: ObjectType, level: u8, block: &mut [u8]) {
    if level > 0 {
        return swap_numbers::<8>(block);
    }
    swap_content(object_type, block);
}

/// As [`to_little`], of a bonus, or of a block of data.
pub fn swap_content(object_type: ObjectType, bytes: &mut [u8]) {
    match object_type.byteswap() {
        Byteswap::U8 => {}
        Byteswap::U16 => swap_numbers::<2>(bytes),
        Byteswap::U32 => swap_numbers::<4>(bytes),
        Byteswap::U64 => swap_numbers::<8>(bytes),
        Byteswap::Zap => zap::swap(bytes),
        Byteswap::Dnode => swap_dnodes(bytes),
        Byteswap::Objset => swap_objset(bytes),
        Byteswap::Znode => znode::phys::swap(bytes),
        Byteswap::OldAcl => znode::acl::swap_old(bytes),
        Byteswap::Acl => znode::swap_aces(bytes),
    }
}

/// Turns the big-endian value of a system attribute into a little-endian one, in place.
pub fn swap_attribute(swap: Swap, value: &mut [u8]) {
    let unit = match swap {
        Swap::U64 => 8,
        Swap::U32 => 4,
        Swap::U16 => 2,
        Swap::U8 => return,
        Swap::Acl => return znode::swap_aces(value),
    };
    for number in value.chunks_exact_mut(unit) {
        number.reverse();
    }
}

fn swap_dnodes(block: &mut [u8]) {
    let mut rest = block;
    while rest.len() >= SLOT_SIZE {
        // The number of slots is one byte, so it can be read in either order.
        let size = (dnode::slots_at(rest).unwrap_or(1) * SLOT_SIZE).min(rest.len());
        let (this, others) = rest.split_at_mut(size);
        swap_dnode(this);
        rest = others;
    }
}

/// Swaps the numbers of one dnode, bonus included. The dnode has all these bytes: one slot at
/// least.
fn swap_dnode(bytes: &mut [u8]) {
    if let Some((bonus_type, bonus)) = dnode::swap(bytes) {
        swap_content(bonus_type, bonus);
    }
}

/// Swaps the numbers of an object set's root. Its authentication codes are bytes and stay.
fn swap_objset(block: &mut [u8]) {
    if block.len() < objset::SIZE_V1 {
        return;
    }
    for at in objset::DNODES_AT {
        if let Some(dnode) = block.get_mut(at..at + SLOT_SIZE) {
            swap_dnode(dnode);
        }
    }
    swap_numbers::<8>(&mut block[objset::NUMBERS]);
}

#[cfg(test)]
mod tests;
