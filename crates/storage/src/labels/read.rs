//! Reading the labels of one disk: bounded, and nothing believed that does not check.

use env::{AlignedBuf, Disk, DiskError, DiskIo, IoClass};
use ondisk::ChecksumKind;
use ondisk::eck::{Eck, label_verifier};
use ondisk::gpt::Partition;
use ondisk::label::config::{PoolState, key};
use ondisk::label::{self, COUNT};
use ondisk::nvlist::NvList;
use ondisk::uberblock::Uberblock;

/// What the labels of one disk say.
#[derive(Clone, Debug)]
pub struct DeviceLabels {
    pub partition: Partition,
    /// The configuration of each label that checks.
    pub configs: [Option<NvList>; COUNT],
    /// The newest configuration: highest txg, lowest label number.
    pub config: Option<NvList>,
    /// Valid uberblocks of all rings, newest first, each txg and time once.
    pub uberblocks: Vec<Uberblock>,
}

/// Whose disk it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    pub pool_name: String,
    pub pool_guid: u64,
    pub state: PoolState,
}

/// Reads all labels in `partition`. Fails only if not one could be read, or the partition is too small for labels.
pub fn read(disk: &dyn Disk, partition: Partition) -> Result<DeviceLabels, DiskError> {
    let offsets = label::offsets(partition.len).ok_or(DiskError::OutOfRange)?;
    let mut images: [AlignedBuf; COUNT] = std::array::from_fn(|_| AlignedBuf::zeroed(label::SIZE as usize));
    let mut ios: Vec<DiskIo<'_>> = images
        .iter_mut()
        .zip(offsets)
        .map(|(image, offset)| DiskIo::read(partition.start + offset, image, IoClass::SyncRead))
        .collect();
    disk.submit(&mut ios);
    let results: Vec<_> = ios.iter().map(|io| io.result).collect();
    drop(ios);
    if let (true, Some(Err(error))) = (results.iter().all(Result::is_err), results.first()) {
        return Err(*error);
    }
    let readable = |n: usize| results[n].is_ok().then_some(&images[n]);
    let configs: [Option<NvList>; COUNT] =
        std::array::from_fn(|n| readable(n).and_then(|image| config_of(image, offsets[n])));
    let txg = |config: &NvList| config.u64(key::POOL_TXG).unwrap_or(0);
    let newest = configs.iter().flatten().rev().max_by_key(|config| txg(config)).cloned();
    let ashift = newest.as_ref().and_then(ashift_of);
    let mut uberblocks: Vec<Uberblock> = (0..COUNT)
        .filter_map(|n| Some((readable(n)?, offsets[n])))
        .flat_map(|(image, offset)| ring_of(image, offset, ashift))
        .collect();
    uberblocks.sort_by(|a, b| b.cmp_age(a));
    uberblocks.dedup();
    Ok(DeviceLabels { partition, configs, config: newest, uberblocks })
}

impl DeviceLabels {
    /// The newest uberblock.
    pub fn uberblock(&self) -> Option<&Uberblock> {
        self.uberblocks.first()
    }

    /// Whether this is the disk `guid` of pool `pool`.
    pub fn is_of(&self, pool: u64, guid: u64) -> bool {
        self.config
            .as_ref()
            .is_some_and(|config| config.u64(key::POOL_GUID) == Some(pool) && config.u64(key::GUID) == Some(guid))
    }

    /// The pool that claims the disk; `None` if none does, or only one that was destroyed.
    pub fn owner(&self) -> Option<Owner> {
        let config = self.config.as_ref()?;
        let state = PoolState::from_raw(config.u64(key::POOL_STATE)?)?;
        if state == PoolState::Destroyed {
            return None;
        }
        Some(Owner {
            pool_name: config.string(key::POOL_NAME).unwrap_or_default().to_owned(),
            pool_guid: config.u64(key::POOL_GUID).unwrap_or(0),
            state,
        })
    }
}

/// Whether an area that lies at `offset` of the partition carries the checksum it should.
fn checks(area: &[u8], offset: u64) -> bool {
    let stored = Eck::decode_tail(area).ok().map(|eck| eck.checksum);
    let sum = codec::embedded_checksum(ChecksumKind::Label as u8, area, label_verifier(offset)).ok();
    stored.is_some() && stored == sum
}

fn config_of(image: &[u8], offset: u64) -> Option<NvList> {
    let area = &image[label::NVLIST_OFFSET as usize..][..label::NVLIST_SIZE];
    checks(area, offset + label::NVLIST_OFFSET).then(|| label::decode_config(area).ok()).flatten()
}

fn ashift_of(config: &NvList) -> Option<u32> {
    let ashift = config.nvlist(key::VDEV_TREE)?.u64(key::ASHIFT)?;
    (9..=16).contains(&ashift).then_some(ashift as u32)
}

/// The valid uberblocks of a ring. Without a known sector size all four sizes of slot are tried.
fn ring_of(image: &[u8], offset: u64, ashift: Option<u32>) -> Vec<Uberblock> {
    let ring = &image[label::RING_OFFSET as usize..][..label::RING_SIZE as usize];
    let shifts = ashift.map_or(10..=13, |ashift| ashift..=ashift);
    let mut found = Vec::new();
    for size in shifts.map(label::slot_size) {
        for (slot, bytes) in ring.chunks_exact(size).enumerate() {
            let at = offset + label::RING_OFFSET + (slot * size) as u64;
            // Decoding first: it is cheaper, and most slots of a young pool are blank.
            if let Ok(uberblock) = Uberblock::decode(bytes)
                && checks(bytes, at)
            {
                found.push(uberblock);
            }
        }
    }
    found
}
