//! Labels and uberblocks of one device: read before there is a tree of vdevs, written after every
//! transaction group.
//!
//! Everything here checks itself by an embedded sha256 whose verifier is the byte offset on the
//! partition, so a block copied to another place is as bad as a damaged one. A label that cannot be
//! read or does not sum is simply not there; four of them make that harmless. Sources:
//! module/zfs/vdev_label.c, zio_checksum.c.

pub mod commit;

use std::sync::Arc;

use env::{AlignedBuf, Disk, DiskError, DiskIo, IoClass};
use ondisk::blkptr::Checksum;
use ondisk::eck::{self, Eck};
use ondisk::gpt;
use ondisk::label;
use ondisk::nvlist::NvList;
use ondisk::uberblock::Uberblock;

/// Raw number of the checksum kind of labels.
const LABEL_KIND: u8 = ondisk::ChecksumKind::Label as u8;

/// The part of a disk that belongs to a pool: all of it, or a partition.
#[derive(Clone)]
pub struct Device {
    pub disk: Arc<dyn Disk>,
    /// Bytes before the partition.
    pub base: u64,
    /// Bytes of the partition.
    pub size: u64,
}

/// What one device says about the pool it belongs to.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Configurations of labels 0 to 3, where they can be read.
    pub configs: [Option<NvList>; label::COUNT],
    /// Every valid uberblock of every label, without repetitions, newest first.
    pub uberblocks: Vec<Uberblock>,
}

impl Found {
    /// The newest configuration.
    pub fn config(&self) -> Option<&NvList> {
        let txg = |list: &&NvList| list.u64(label::config::key::POOL_TXG).unwrap_or(0);
        self.configs.iter().flatten().max_by_key(txg)
    }
}

impl Device {
    /// Finds the ZFS partition of a disk; a disk without one is taken whole.
    pub fn locate(disk: Arc<dyn Disk>) -> Result<Device, DiskError> {
        let size = disk.size();
        let mut head = AlignedBuf::zeroed((gpt::HEAD_SIZE as u64).min(size / 512 * 512) as usize);
        let read = if head.is_empty() { Ok(()) } else { disk.read_at(0, &mut head, IoClass::SyncRead) };
        if let Err(DiskError::Io(_)) = read {
            head.fill(0);
        } else {
            read?;
        }
        match gpt::find_zfs(&head, size) {
            Ok(Some(partition)) => Ok(Device { disk, base: partition.start, size: partition.len }),
            // A damaged or unreadable table is treated as none: then the labels decide.
            Ok(None) | Err(_) => Ok(Device { disk, base: 0, size }),
        }
    }

    fn read(&self, offset: u64, len: usize) -> Option<AlignedBuf> {
        let mut buf = AlignedBuf::zeroed(len);
        self.disk.read_at(self.base + offset, &mut buf, IoClass::SyncRead).ok()?;
        Some(buf)
    }

    /// All that the labels hold; empty where the device is too small or unreadable.
    pub fn read_labels(&self) -> Found {
        let mut found = Found { configs: self.read_configs(), ..Found::default() };
        let Some(offsets) = label::offsets(self.size) else { return found };
        let tree = found.config().and_then(|list| list.nvlist(label::config::key::VDEV_TREE));
        let ashift = tree.and_then(|tree| tree.u64(label::config::key::ASHIFT));
        let places = offsets.map(|at| at + label::RING_OFFSET);
        let rings = places.map(|at| self.read(at, label::RING_SIZE as usize));
        found.uberblocks = uberblocks_in(rings.each_ref().map(|ring| ring.as_deref()), places, ashift);
        found.uberblocks.sort_by(|a, b| b.cmp_age(a));
        found.uberblocks.dedup();
        found
    }

    /// Whether the places of all labels can be read: only then does a label that is not there mean
    /// anything.
    pub fn can_read_labels(&self) -> bool {
        let mut places = label::offsets(self.size).into_iter().flatten();
        places.all(|at| self.read(at + label::NVLIST_OFFSET, label::NVLIST_SIZE).is_some())
    }

    /// Whether any of the labels says that this is the leaf `guid` of the pool: a crash may leave
    /// labels of a group that never was, in which the disk had another guid.
    pub fn is_member(&self, pool: u64, guid: u64) -> bool {
        use label::config::key::{GUID, POOL_GUID};
        self.any_label(&|label| label.u64(POOL_GUID) == Some(pool) && label.u64(GUID) == Some(guid))
    }

    /// Whether any of the labels says that this is the leaf `guid`, or will be, for a mirror's last
    /// side gets the mirror's, in a pool of one of these guids.
    pub fn was_member(&self, pools: &[u64], guid: u64) -> bool {
        use label::config::key::{GUID, POOL_GUID, TOP_GUID};
        self.any_label(&|label| {
            label.u64(POOL_GUID).is_some_and(|pool| pools.contains(&pool))
                && [label.u64(GUID), label.u64(TOP_GUID)].contains(&Some(guid))
        })
    }

    /// Whether one of the labels says so. Nearly always the first does.
    fn any_label(&self, says: &dyn Fn(&NvList) -> bool) -> bool {
        let mut configs = label::offsets(self.size).into_iter().flatten().map(|at| self.read_config(at));
        configs.any(|config| config.as_ref().is_some_and(says))
    }

    /// What labels 1 and 3 should both say and do not: the newest configuration of a group not
    /// after `txg`.
    pub(crate) fn missing_label(&self, txg: u64) -> Option<NvList> {
        let configs = self.read_configs();
        let born = |list: &&NvList| list.u64(label::config::key::POOL_TXG).unwrap_or(0);
        let newest = configs.iter().flatten().filter(|list| born(list) <= txg).max_by_key(born)?;
        let is_there = [1, 3].iter().all(|&n: &usize| configs[n].as_ref() == Some(newest));
        (!is_there).then(|| newest.clone())
    }

    /// The configurations alone.
    fn read_configs(&self) -> [Option<NvList>; label::COUNT] {
        let Some(offsets) = label::offsets(self.size) else { return Default::default() };
        let places = offsets.map(|at| at + label::NVLIST_OFFSET);
        let areas = places.map(|at| self.read(at, label::NVLIST_SIZE));
        let copies = areas.each_ref().map(|area| area.as_deref());
        let whole = whole_copies(copies, places);
        std::array::from_fn(|n| label::decode_config(copies[n].filter(|_| whole[n])?).ok())
    }

    /// That of the label at this place.
    fn read_config(&self, label_at: u64) -> Option<NvList> {
        let at = label_at + label::NVLIST_OFFSET;
        let area = self.read(at, label::NVLIST_SIZE)?;
        if !is_whole(&area, at) {
            return None;
        }
        label::decode_config(&area).ok()
    }

    /// An area that checks itself as a label does; `None` if it cannot be read or does not sum.
    pub(crate) fn read_sealed(&self, at: u64, len: usize) -> Option<AlignedBuf> {
        self.read(at, len).filter(|area| is_whole(area, at))
    }

    /// Writes such an area, whose tail is in place but for the checksum. Not flushed.
    pub(crate) fn write_sealed(&self, at: u64, mut area: Vec<u8>) -> Result<(), DiskError> {
        seal(&mut area, at);
        self.disk.write_at(self.base + at, &AlignedBuf::from_slice(&area), IoClass::AsyncWrite)
    }

    /// Writes a fresh label everywhere: this configuration, an empty boot environment, no
    /// uberblock.
    pub fn init(&self, config: &NvList) -> Result<(), DiskError> {
        self.init_from(config, 0)
    }

    /// Writes fresh labels at the end alone: nothing that lay there may be taken for one. They say
    /// nothing of any pool.
    pub fn init_end(&self) -> Result<(), DiskError> {
        self.init_from(&NvList::new(), label::COUNT / 2)
    }

    fn init_from(&self, config: &NvList, first: usize) -> Result<(), DiskError> {
        let offsets = label::offsets(self.size).ok_or(DiskError::OutOfRange)?;
        for at in offsets.into_iter().skip(first) {
            let mut bytes = AlignedBuf::zeroed(label::SIZE as usize);
            let nvlist = self.sealed_config(config, at)?;
            bytes[label::NVLIST_OFFSET as usize..][..nvlist.len()].copy_from_slice(&nvlist);
            let bootenv = &mut bytes[label::BOOTENV_OFFSET as usize..][..label::BOOTENV_SIZE];
            let place = at + label::BOOTENV_OFFSET;
            Eck::put_tail(bootenv, ondisk::Endian::Little, eck::label_verifier(place));
            seal(bootenv, place);
            self.disk.write_at(self.base + at, &bytes, IoClass::SyncWrite)?;
        }
        self.disk.flush()
    }

    /// Makes all four labels zero, so that nothing takes the device for a part of a pool.
    pub fn clear(&self) -> Result<(), DiskError> {
        let zeros = AlignedBuf::zeroed(label::SIZE as usize);
        for at in label::offsets(self.size).ok_or(DiskError::OutOfRange)? {
            self.disk.write_at(self.base + at, &zeros, IoClass::SyncWrite)?;
        }
        self.disk.flush()
    }

    /// Makes those labels zero that say of which pool the device is, or was; everything else stays.
    /// Gives how many. Source: `zpool_clear_label` in lib/libzutil.
    pub fn clear_valid(&self) -> Result<usize, DiskError> {
        use label::config::PoolState;
        use label::config::key::{GUID, POOL_STATE};
        let is_valid = |config: &NvList| {
            config.u64(GUID).is_some_and(|guid| guid != 0)
                && config.u64(POOL_STATE).and_then(PoolState::from_raw).is_some()
        };
        let zeros = AlignedBuf::zeroed(label::SIZE as usize);
        let mut cleared = 0;
        for at in label::offsets(self.size).into_iter().flatten() {
            let area = self.read(at + label::NVLIST_OFFSET, label::NVLIST_SIZE);
            let config = area.and_then(|area| label::decode_config(&area).ok());
            if config.as_ref().is_some_and(is_valid) {
                self.disk.write_at(self.base + at, &zeros, IoClass::SyncWrite)?;
                cleared += 1;
            }
        }
        self.disk.flush()?;
        Ok(cleared)
    }

    fn sealed_config(&self, config: &NvList, label_at: u64) -> Result<Vec<u8>, DiskError> {
        let at = label_at + label::NVLIST_OFFSET;
        let mut area = label::encode_config(config, eck::label_verifier(at)).ok_or(DiskError::OutOfRange)?;
        seal(&mut area, at);
        Ok(area)
    }

    /// Writes the configuration into two of the labels: the even ones or the odd ones. Not flushed.
    pub fn write_config(&self, config: &NvList, even: bool) -> Result<(), DiskError> {
        let offsets = label::offsets(self.size).ok_or(DiskError::OutOfRange)?;
        let first = usize::from(!even);
        let places = [first, first + 2].map(|n| offsets[n] + label::NVLIST_OFFSET);
        let verifiers = places.map(eck::label_verifier);
        let area = label::encode_config(config, verifiers[0]).ok_or(DiskError::OutOfRange)?;
        let mut area = AlignedBuf::from_slice(&area);
        let sums = codec::label_checksums(&area, verifiers).expect("the tail is in place");
        for (at, sum) in places.into_iter().zip(sums) {
            Eck::put_tail(&mut area, ondisk::Endian::Little, sum);
            self.disk.write_at(self.base + at, &area, IoClass::SyncWrite)?;
        }
        Ok(())
    }

    /// Writes an uberblock into its slot of all four rings, at once. Not flushed.
    pub fn write_uberblock(&self, uberblock: &Uberblock, ashift: u32) -> Result<(), DiskError> {
        let offsets = label::offsets(self.size).ok_or(DiskError::OutOfRange)?;
        let slot = label::slot_offset(ashift, uberblock.txg, uberblock.mmp_delay > 0);
        self.write_slots(uberblock, ashift, offsets.map(|at| at + slot).to_vec())
    }

    /// Writes an uberblock into the slot that is kept for multihost protection, of one label or of
    /// all. Not flushed: who shares the device sees it, and after a power cut nobody needs it.
    pub fn write_heartbeat(
        &self,
        uberblock: &Uberblock,
        ashift: u32,
        only: Option<usize>,
    ) -> Result<(), DiskError> {
        let offsets = label::offsets(self.size).ok_or(DiskError::OutOfRange)?;
        let slot = label::heartbeat_offset(ashift);
        let wanted = offsets.iter().enumerate().filter(|(n, _)| only.is_none_or(|only| only == *n));
        self.write_slots(uberblock, ashift, wanted.map(|(_, at)| at + slot).collect())
    }

    fn write_slots(&self, uberblock: &Uberblock, ashift: u32, places: Vec<u64>) -> Result<(), DiskError> {
        let slots: Vec<(u64, AlignedBuf)> = places
            .into_iter()
            .map(|place| {
                let mut bytes = uberblock.encode_slot(label::slot_size(ashift), eck::label_verifier(place));
                seal(&mut bytes, place);
                (place, AlignedBuf::from_slice(&bytes))
            })
            .collect();
        let mut batch: Vec<DiskIo<'_>> = slots
            .iter()
            .map(|(place, bytes)| DiskIo::write(self.base + place, bytes, IoClass::SyncWrite))
            .collect();
        self.disk.submit(&mut batch);
        // One good copy is enough to find the pool; a device that took none has failed.
        let first_error = batch.iter().find_map(|io| io.result.err());
        if batch.iter().any(|io| io.result.is_ok()) { Ok(()) } else { first_error.map_or(Ok(()), Err) }
    }
}

/// The valid uberblocks of all rings. Their slots' size follows from the vdev's ashift, which a
/// label that cannot be read does not tell: then every size is tried.
fn uberblocks_in(
    rings: [Option<&[u8]>; label::COUNT],
    places: [u64; label::COUNT],
    ashift: Option<u64>,
) -> Vec<Uberblock> {
    let sizes = match ashift {
        Some(ashift) => vec![label::slot_size(ashift.min(64) as u32)],
        None => (10..=13).map(label::slot_size).collect(),
    };
    let mut found = Vec::new();
    for size in sizes {
        for at in (0..label::RING_SIZE as usize).step_by(size) {
            let slots = rings.map(|ring| ring?.get(at..at + size));
            let decoded = slots.map(|slot| Uberblock::decode(slot?).ok());
            let told = std::array::from_fn(|n| slots[n].filter(|_| decoded[n].is_some()));
            let whole = whole_copies(told, places.map(|place| place + at as u64));
            found.extend(
                decoded.into_iter().zip(whole).filter_map(|(uberblock, whole)| uberblock.filter(|_| whole)),
            );
        }
    }
    found
}

/// Which copies of a part of the labels check themselves, each in its place. Nearly always they are
/// alike, and summed once.
fn whole_copies(copies: [Option<&[u8]>; label::COUNT], places: [u64; label::COUNT]) -> [bool; label::COUNT] {
    let verifiers = places.map(eck::label_verifier);
    let mut summed: Vec<(&[u8], [Checksum; label::COUNT])> = Vec::new();
    let mut is_whole = |n: usize| {
        let copy = copies[n]?;
        let tail = Eck::decode_tail(copy).ok()?;
        // All but the sum itself.
        let body = &copy[..copy.len() - size_of::<Checksum>()];
        let known = match summed.iter().find(|(other, _)| *other == body) {
            Some((_, sums)) => *sums,
            None => codec::label_checksums(copy, verifiers).ok()?,
        };
        summed.push((body, known));
        Some(known[n] == tail.checksum)
    };
    std::array::from_fn(|n| is_whole(n).unwrap_or(false))
}

/// Whether a block that checks itself does, at this place.
fn is_whole(block: &[u8], place: u64) -> bool {
    let sum = codec::embedded_checksum(LABEL_KIND, block, eck::label_verifier(place));
    match (Eck::decode_tail(block), sum) {
        (Ok(tail), Ok(sum)) => tail.checksum == sum,
        _ => false,
    }
}

/// Puts the checksum into a block whose tail is in place.
fn seal(block: &mut [u8], place: u64) {
    let sum = codec::embedded_checksum(LABEL_KIND, block, eck::label_verifier(place));
    Eck::put_tail(block, ondisk::Endian::Little, sum.expect("label checksums are built in"));
}

#[cfg(test)]
mod tests;
