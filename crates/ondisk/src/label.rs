//! The four labels of a leaf device: what pool it belongs to, and the newest uberblocks.
//!
//! ```text
//!  0        256K     512K            4M                              end−512K  end−256K
//!  ┌────────┬────────┬───────────────┬──── … allocatable … ────┬─────────┬─────────┐
//!  │ L0     │ L1     │ boot (3.5M)   │                         │ L2      │ L3      │
//!  └────────┴────────┴───────────────┴─────────────────────────┴─────────┴─────────┘
//!  one label:  0 blank (8K) │ 8K bootenv (8K) │ 16K nvlist (112K) │ 128K uberblock ring (128K)
//! ```
//!
//! "End" is the device's size rounded down to 256 KiB. The nvlist area, the bootenv area and every
//! ring slot check themselves (see `eck`): kind label, which is sha256, with the area's byte offset
//! on the device as verifier. L0 and L2 are rewritten, and flushed, before L1 and L3, so that one
//! pair is always whole. Source: include/sys/vdev_impl.h, module/zfs/vdev_label.c.

pub mod config;

use crate::eck::Eck;
use crate::malformed::{Endian, Malformed, slice_at};
use crate::nvlist::NvList;

/// Bytes of one label.
pub const SIZE: u64 = 256 << 10;
/// Labels on a device.
pub const COUNT: usize = 4;
/// Front labels and boot area: where allocatable space starts, and what DVA offset 0 means.
pub const START: u64 = 4 << 20;
/// The two labels at the end.
pub const END: u64 = 2 * SIZE;
/// The smallest device ZFS takes (`SPA_MINDEVSIZE`).
pub const MIN_DEVICE: u64 = 64 << 20;
/// The boot loader's area between L1 and the data.
pub const BOOT_OFFSET: u64 = 2 * SIZE;
/// Bytes of it.
pub const BOOT_SIZE: u64 = START - BOOT_OFFSET;

/// Offset in a label of the boot environment.
pub const BOOTENV_OFFSET: u64 = 8 << 10;
/// Bytes of it, checksum included.
pub const BOOTENV_SIZE: usize = 8 << 10;
/// Offset in a label of the configuration.
pub const NVLIST_OFFSET: u64 = 16 << 10;
/// Bytes of it, checksum included.
pub const NVLIST_SIZE: usize = 112 << 10;
/// Most bytes a packed configuration may have.
pub const NVLIST_MAX: usize = NVLIST_SIZE - Eck::SIZE;
/// Offset in a label of the uberblock ring.
pub const RING_OFFSET: u64 = 128 << 10;
/// Bytes of it.
pub const RING_SIZE: u64 = 128 << 10;

const _: () = assert!(NVLIST_OFFSET + NVLIST_SIZE as u64 == RING_OFFSET && RING_OFFSET + RING_SIZE == SIZE);

/// The part of a device that ZFS uses: whole labels.
pub const fn usable_size(device_size: u64) -> u64 {
    device_size / SIZE * SIZE
}

/// Where the labels start on a device of this size; `None` if it is smaller than [`MIN_DEVICE`].
pub const fn offsets(device_size: u64) -> Option<[u64; COUNT]> {
    if device_size < MIN_DEVICE {
        return None;
    }
    let end = usable_size(device_size);
    Some([0, SIZE, end - 2 * SIZE, end - SIZE])
}

/// Bytes between [`START`] and the end labels, not yet rounded to whole metaslabs.
pub const fn allocatable_size(device_size: u64) -> u64 {
    usable_size(device_size).saturating_sub(START + END)
}

/// Bytes of an uberblock slot: a sector of the top-level vdev, within 1 and 8 KiB.
pub const fn slot_size(ashift: u32) -> usize {
    let shift = if ashift < 10 { 10 } else { ashift };
    1 << if shift > 13 { 13 } else { shift }
}

/// Slots in a ring. The last one is the multihost writer's, while that is on.
pub const fn slot_count(ashift: u32) -> u64 {
    RING_SIZE / slot_size(ashift) as u64
}

/// Offset in a label of the slot an uberblock of `txg` goes to.
pub const fn slot_offset(ashift: u32, txg: u64, multihost: bool) -> u64 {
    let slot = txg % (slot_count(ashift) - multihost as u64);
    RING_OFFSET + slot * slot_size(ashift) as u64
}

/// The slot that transaction groups leave to multihost protection, the ring's last
/// (`MMP_BLOCKS_PER_LABEL`), from the start of the label.
pub const fn heartbeat_offset(ashift: u32) -> u64 {
    RING_OFFSET + (slot_count(ashift) - 1) * slot_size(ashift) as u64
}

/// The configuration in a label's nvlist area of [`NVLIST_SIZE`] bytes, whose checksum was verified
/// before.
pub fn decode_config(area: &[u8]) -> Result<NvList, Malformed> {
    NvList::decode(slice_at(area, 0, NVLIST_MAX, "label")?)
}

/// The nvlist area, its tail holding `verifier` (`eck::label_verifier` of the area's offset on the
/// device), where the checksum over it goes next. `None` if the configuration is too large.
pub fn encode_config(config: &NvList, verifier: crate::blkptr::Checksum) -> Option<Vec<u8>> {
    let mut area = config.encode_xdr();
    if area.len() > NVLIST_MAX {
        return None;
    }
    area.resize(NVLIST_SIZE, 0);
    Eck::put_tail(&mut area, Endian::Little, verifier);
    Some(area)
}

#[cfg(test)]
mod tests;
