//! Packed nvlists in the meta object set: the pool's configuration, and the lists of its spares and
//! cache devices.

use std::sync::Arc;

use dmu::{ObjectSpec, Objset, Tx};
use ondisk::malformed::{Endian, u64_at};
use ondisk::nvlist::NvList;
use ondisk::object_type::ObjectType;

use crate::{PoolError, Result};

/// Bytes of a block of a packed nvlist.
const BLOCK: u32 = 16 << 10;
/// Largest packed nvlist believed.
const SIZE_MAX: u64 = 16 << 20;

/// A new object for a packed nvlist.
pub(super) fn alloc_packed(mos: &Objset, tx: &Tx) -> Result<u64> {
    let spec = ObjectSpec::new(ObjectType::PACKED_NVLIST)
        .with_block_size(BLOCK)
        .with_bonus(ObjectType::PACKED_NVLIST_SIZE, 8);
    Ok(mos.alloc(spec, tx)?.object())
}

/// Replaces a packed nvlist: whole blocks, zeros behind it, its length in the bonus.
pub(super) fn write_packed(mos: &Objset, object: u64, packed: &[u8], tx: &Tx) -> Result<()> {
    let dnode = mos.hold(object)?;
    let mut padded = packed.to_vec();
    padded.resize(packed.len().next_multiple_of(BLOCK as usize), 0);
    dnode.write(0, &padded, tx)?;
    dnode.set_bonus(ObjectType::PACKED_NVLIST_SIZE, &(packed.len() as u64).to_le_bytes(), tx)?;
    Ok(())
}

/// A packed nvlist of the MOS.
pub(super) fn read_packed(mos: &Arc<Objset>, object: u64) -> Result<NvList> {
    let dnode = mos.hold(object)?;
    let bonus = dnode.bonus();
    let len = u64_at(&bonus.bytes, 0, Endian::Little, "packed nvlist size")?;
    if len > SIZE_MAX {
        return Err(PoolError::Corrupt(format!("a packed nvlist of {len} bytes")));
    }
    Ok(NvList::decode(&dnode.read_bytes(0, len as usize)?)?)
}
