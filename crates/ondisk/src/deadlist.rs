//! The dead list of a dataset: blocks it once had, that its previous snapshot still has.
//!
//! Since pool version 26 it is a ZAP (`DMU_OT_DEADLIST`) from the transaction group of an earlier
//! snapshot to the list ([`crate::bpobj`]) of blocks born after it, and the bonus
//! (`DMU_OT_DEADLIST_HDR`) sums them up. Before, the dead list was a single `bpobj`; the object's
//! type tells which.
//!
//! The ZAP's names are the numbers in hexadecimal, as every ZAP of integers has them.
//!
//! Source: include/sys/dsl_deadlist.h, module/zfs/dsl_deadlist.c.

use crate::object_type::ObjectType;
use crate::words::words;

words! {
    /// `dsl_deadlist_phys_t`; sums over all its lists, in bytes.
    pub struct DeadlistPhys [320, 320, "deadlist"] {
        used,
        comp,
        uncomp,
    }
}

/// The dead list is one `bpobj`, not a ZAP of them.
pub fn is_old_form(object_type: ObjectType) -> bool {
    object_type == ObjectType::BPOBJ
}

/// The number a name of a ZAP of integers stands for: lower-case hexadecimal without prefix.
pub fn parse_int_key(name: &[u8]) -> Option<u64> {
    let name = std::str::from_utf8(name).ok()?;
    if name.starts_with('+') { None } else { u64::from_str_radix(name, 16).ok() }
}

#[cfg(test)]
mod tests;
