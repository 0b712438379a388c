//! Attributes in file systems before version 5: the fixed structure that a bonus begins with, and
//! what may follow it, the target of a short symbolic link or the stamp of a virus scanner.
//!
//! Attributes that came later have no place there; who writes leaves them out.
//! Source: include/sys/zfs_sa.h (`znode_phys_t`), `zfs_sa_symlink` in module/zfs/zfs_sa.c.

use std::ops::Range;

use ondisk::object_type::ObjectType;
use ondisk::znode::attr::{self, ZplAttr};
use ondisk::znode::phys;

use super::view::Places;
use crate::DmuError;
use crate::dnode::Dnode;
use crate::tx::Tx;

/// Where each attribute lies: layout 0, one after another from the start.
pub fn locate(bonus: &[u8]) -> Option<Places> {
    (bonus.len() >= phys::SIZE).then(|| fixed().collect())
}

fn fixed() -> impl Iterator<Item = (ondisk::sa::AttrInfo, Range<usize>)> {
    let mut at = 0;
    attr::ALL[..attr::LEGACY_COUNT].iter().map(move |attr| {
        let start = at;
        at += usize::from(attr.info.length);
        (attr.info, start..at)
    })
}

/// Gives a new object its attributes; those not named are zero.
pub fn replace(dnode: &Dnode, values: &[(&ZplAttr, Option<&[u8]>)], tx: &Tx) -> Result<(), DmuError> {
    store(dnode, vec![0; phys::SIZE], values, tx)
}

/// Changes attributes, and keeps the others.
pub fn update(dnode: &Dnode, values: &[(&ZplAttr, Option<&[u8]>)], tx: &Tx) -> Result<(), DmuError> {
    store(dnode, dnode.bonus().bytes, values, tx)
}

fn store(
    dnode: &Dnode,
    mut bytes: Vec<u8>,
    values: &[(&ZplAttr, Option<&[u8]>)],
    tx: &Tx,
) -> Result<(), DmuError> {
    for (attr, value) in values {
        if **attr == attr::SYMLINK {
            bytes.truncate(phys::SIZE);
            bytes.extend_from_slice(value.unwrap_or(&[]));
            continue;
        }
        let place = fixed().find(|(info, _)| *info == attr.info).map(|(_, place)| place);
        match (place.and_then(|place| bytes.get_mut(place)), value) {
            (Some(place), Some(value)) if place.len() == value.len() => place.copy_from_slice(value),
            (Some(place), None) => place.fill(0),
            (None, None) => {}
            _ => return Err(DmuError::Unsupported("an attribute that old file systems do not have")),
        }
    }
    dnode.set_bonus(ObjectType::ZNODE, &bytes, tx)
}
