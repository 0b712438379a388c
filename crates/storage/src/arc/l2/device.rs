//! One cache device: its disk, its ring, the log block being filled, and how far its contents have
//! been found again.

use std::sync::Arc;

use env::{DiskError, Env, IoClass, Nanos, OpenMode, Tunable};
use ondisk::eck::label_verifier;
use ondisk::l2arc::{
    CONTENTS_DATA, CONTENTS_METADATA, DeviceHeader, LIST_MFU, LIST_MRU, LogBlock, LogEntry, LogPointer, Prop,
};
use ondisk::label::config::{PoolState, key};
use ondisk::nvlist::NvList;
use ondisk::{ChecksumKind, CompressKind, label};

use super::index::Held;
use super::ring::{Ring, header_size};
use super::{CacheDevice, CacheIntent};
use crate::Payload;
use crate::arc::Cold;
use crate::labels;
use crate::leaf_queue::{Answer, Completion, Request, Transfer};
use crate::vdev::config::VdevConfig;
use crate::vdev::leaf::Leaf;
use crate::vdev::open::leaf_stat;
use crate::vdev::status::VdevState;

/// A kind of checksum that log blocks have.
const LOG_CHECKSUM: ChecksumKind = ChecksumKind::Fletcher4;
/// Bad checksums without a good one between, after which a device is given up.
pub(super) const BAD_TO_LOSE: u32 = 64;

/// See the module.
pub(super) struct Device {
    /// Never used twice in the life of a pool.
    pub number: u32,
    pub config: VdevConfig,
    pub leaf: Arc<Leaf>,
    /// `None` when it is of no use: absent or given up.
    pub ring: Option<Ring>,
    pub held: Held,
    /// Bytes of blocks on it, in whole sectors.
    pub allocated: u64,
    /// What the next log block will list.
    pub log: OpenLog,
    /// Its contents are still being looked for; it is not written until that is done.
    pub rebuild: Option<Rebuild>,
    /// Bad checksums since the last good one.
    pub bad_in_a_row: u32,
}

/// How far the search for what a device holds has come ([`super::rebuild`]).
#[derive(Clone, Copy)]
pub(super) struct Rebuild {
    /// The log block to read next and the one after it.
    pub next: [LogPointer; 2],
}

/// A log block that is not full.
#[derive(Default)]
pub(super) struct OpenLog {
    entries: Vec<LogEntry>,
    payload_start: u64,
    payload_asize: u64,
}

/// Devices that end below this keep no log blocks.
pub(super) fn persist_min(env: &Env) -> u64 {
    env.tunable(Tunable::L2arcRebuildBlocksMinL2size)
}

impl Device {
    /// Opens a device exclusively; see [`CacheIntent`].
    pub fn open(
        env: &Env,
        pool: u64,
        number: u32,
        config: &mut VdevConfig,
        intent: CacheIntent,
    ) -> Result<Device, DiskError> {
        let path = config.path.clone().unwrap_or_default();
        let device = labels::Device::locate(env.disks.open(&path, OpenMode::ReadWrite)?)?;
        if device.size < label::MIN_DEVICE {
            return Err(DiskError::OutOfRange);
        }
        if intent == CacheIntent::Known && !is_labelled(&device, config.guid) {
            return Err(DiskError::NotFound);
        }
        let leaf = Leaf::open(env, config.guid, &path, u32::MAX, device.clone());
        let ashift = *config.ashift.get_or_insert(leaf.ashift());
        let ashift = u32::try_from(ashift).ok().filter(|ashift| (9..=16).contains(ashift));
        let ring = ashift.and_then(|ashift| Ring::new(leaf.asize(), ashift, persist_min(env)));
        let mut ring = ring.ok_or(DiskError::OutOfRange)?;
        let header = device.read_sealed(label::START, header_size(ring.ashift));
        let header = header.and_then(|area| DeviceHeader::decode(&area).ok());
        let wants_known = intent == CacheIntent::Known && env.tunable(Tunable::L2arcRebuildEnabled) != 0;
        let known = |header: &DeviceHeader| wants_known && header.pool == pool && header.vdev == config.guid;
        let rebuild = match header.filter(known) {
            Some(header) if ring.take_up(&header) => Some(Rebuild { next: header.newest }),
            _ => None,
        };
        if intent == CacheIntent::New {
            device.init(&label_of(config))?;
        }
        if rebuild.is_none() {
            write_header(&device, &ring, pool, config.guid)?;
        }
        Ok(Device { leaf: Arc::new(leaf), ring: Some(ring), rebuild, ..Device::absent(number, config) })
    }

    /// A device that could not be opened.
    pub fn absent(number: u32, config: &VdevConfig) -> Device {
        let path = config.path.clone().unwrap_or_default();
        Device {
            number,
            config: config.clone(),
            leaf: Arc::new(Leaf::absent(config.guid, &path, u32::MAX, VdevState::Unavail)),
            ring: None,
            held: Held::default(),
            allocated: 0,
            log: OpenLog::default(),
            rebuild: None,
            bad_in_a_row: 0,
        }
    }

    /// Lets go of the disk, which is in `state` from now on; whoever drops what this gives may wait
    /// for its workers.
    pub fn shut(&mut self, state: VdevState) -> Arc<Leaf> {
        let absent = Leaf::absent(self.config.guid, &self.leaf.path, u32::MAX, state);
        std::mem::replace(&mut self.leaf, Arc::new(absent))
    }

    /// Whether it can be written now.
    pub fn is_open(&self) -> bool {
        self.ring.is_some() && self.rebuild.is_none()
    }

    pub fn round_up(&self, bytes: u64) -> u64 {
        bytes.next_multiple_of(1 << self.config.ashift.unwrap_or(9).clamp(9, 16))
    }

    pub fn describe(&self) -> CacheDevice {
        // Of a device that is not in use nobody can say what it has.
        let allocated = self.ring.as_ref().map_or(0, |ring| self.allocated + ring.log_asize());
        CacheDevice {
            stat: leaf_stat(&self.config, &self.leaf),
            ashift: self.config.ashift.unwrap_or(9) as u32,
            allocated,
            size: self.ring.as_ref().map_or(0, |ring| ring.end - ring.start),
        }
    }

    /// Lists a block that lies at `address` in the log block; `true` when that is full.
    pub fn log(&mut self, cold: &Cold, address: u64) -> bool {
        let (bp, asize) = (&cold.source, self.round_up(cold.source.psize()));
        let Some(capacity) = self.ring.as_ref().map(|ring| ring.log_entries).filter(|count| *count > 0)
        else {
            return false;
        };
        if self.log.entries.is_empty() {
            self.log = OpenLog { entries: Vec::new(), payload_start: address, payload_asize: 0 };
        }
        self.log.payload_asize += asize;
        self.log.entries.push(LogEntry {
            dva: bp.first_dva(),
            birth: cold.key.birth,
            prop: prop_of(cold),
            address,
            complevel: 0,
        });
        self.log.entries.len() as u64 >= capacity
    }

    /// Makes the log block of what was listed, at the hand; gives its place and bytes.
    pub fn close_log(&mut self) -> Option<(u64, Payload)> {
        let ring = self.ring.as_mut()?;
        let log = std::mem::take(&mut self.log);
        let block = LogBlock { previous: ring.newest[1], entries: log.entries };
        let bytes = block.encode();
        let mut memory = Vec::new();
        // One sector saved is enough.
        let most = LogBlock::SIZE - (1 << ring.ashift);
        let packed = codec::compress(CompressKind::Lz4 as u8, 0, &bytes, &mut memory, most);
        let (kind, stored) = match packed.expect("lz4 is built in") {
            Some(packed) => (CompressKind::Lz4, packed),
            None => (CompressKind::Off, &bytes[..]),
        };
        let payload = Payload::padded(stored, 1 << ring.ashift);
        let checksum = codec::checksum(LOG_CHECKSUM as u8, payload.bytes(), None, false);
        let address = ring.hand;
        ring.add_log(LogPointer {
            address,
            payload_asize: log.payload_asize,
            payload_start: log.payload_start,
            prop: Prop::of_sizes(LogBlock::SIZE as u64, payload.len() as u64)
                .with_compression(kind)
                .with_checksum(LOG_CHECKSUM),
            checksum: checksum.expect("fletcher4 is built in"),
        });
        Some((address, payload))
    }

    /// The next log block begins with what is written next.
    pub fn drop_log(&mut self) {
        self.log = OpenLog::default();
    }
}

/// What a cache device's label says (`vdev_aux_label_generate`).
fn label_of(config: &VdevConfig) -> NvList {
    let mut list = NvList::new()
        .with(key::VERSION, ondisk::version::FEATURES)
        .with(key::POOL_STATE, PoolState::L2cache as u64)
        .with(key::GUID, config.guid);
    list.set(key::ASHIFT, config.ashift.unwrap_or(9));
    if let Some(path) = &config.path {
        list.set(key::PATH, path.as_str());
    }
    list
}

/// Whether the label says that this is that cache device.
fn is_labelled(device: &labels::Device, guid: u64) -> bool {
    let found = device.read_labels();
    let number = |name| found.config().and_then(|list| list.u64(name));
    number(key::GUID) == Some(guid) && number(key::POOL_STATE) == Some(PoolState::L2cache as u64)
}

pub(super) fn write_header(
    device: &labels::Device,
    ring: &Ring,
    pool: u64,
    vdev: u64,
) -> Result<(), DiskError> {
    let area = ring.header(pool, vdev).encode(header_size(ring.ashift), label_verifier(label::START));
    device.write_sealed(label::START, area)
}

/// Whether a log block is what its pointer says; gives it decompressed.
pub(super) fn open_log(pointer: &LogPointer, stored: &[u8], entries: u64) -> Option<LogBlock> {
    let stored = stored.get(..pointer.prop.psize() as usize)?;
    let sum = codec::checksum(LOG_CHECKSUM as u8, stored, None, false).ok()?;
    if sum != pointer.checksum {
        return None;
    }
    let count = usize::try_from(entries).ok()?;
    match CompressKind::from_raw(pointer.prop.compression_raw())? {
        CompressKind::Off => LogBlock::decode(stored, count).ok(),
        CompressKind::Lz4 => {
            let mut bytes = vec![0; LogBlock::SIZE];
            codec::decompress(CompressKind::Lz4 as u8, stored, &mut bytes).ok()?;
            LogBlock::decode(&bytes, count).ok()
        }
        _ => None,
    }
}

/// I/Os on a leaf, at addresses on its partition, all under way at once; answers in the order
/// given.
pub(super) fn transfer(env: &Env, leaf: &Leaf, ios: Vec<(u64, Transfer)>, class: IoClass) -> Vec<Answer> {
    let completion = Completion::new(ios.len());
    let Some(queue) = leaf.queue().filter(|_| leaf.is_usable()) else {
        return ios.iter().map(|_| Err(DiskError::Gone)).collect();
    };
    let requests = requests(leaf, ios, class, &completion, 0);
    queue.push(requests);
    if matches!(class, IoClass::AsyncRead | IoClass::AsyncWrite) {
        queue.wake(); // The disk's own threads help the caller.
    }
    completion.wait(env, std::slice::from_ref(queue), class)
}

/// The I/Os as the queue takes them, answered in `completion` from slot `first` on; those outside
/// the device at once.
pub(super) fn requests(
    leaf: &Leaf,
    ios: Vec<(u64, Transfer)>,
    class: IoClass,
    completion: &Arc<Completion>,
    first: usize,
) -> Vec<Request> {
    let mut requests = Vec::new();
    for (slot, (address, transfer)) in (first..).zip(ios) {
        let inside = address.checked_sub(label::START).ok_or(DiskError::OutOfRange);
        match inside.and_then(|offset| leaf.locate(offset, transfer.len() as u64)) {
            Ok((_, offset)) => {
                let completion = completion.clone();
                requests.push(Request { offset, transfer, class, completion, slot, since: Nanos(0) });
            }
            Err(error) => completion.finish(slot, Err(error)),
        }
    }
    requests
}

/// Sizes and kinds of a block as it is when it is written.
pub(super) fn prop_of(cold: &Cold) -> Prop {
    let bp = &cold.source;
    let contents = if cold.is_metadata { CONTENTS_METADATA } else { CONTENTS_DATA };
    let list = if cold.is_mfu { LIST_MFU } else { LIST_MRU };
    Prop::of_sizes(bp.lsize(), bp.psize())
        .with_compression(bp.compression().unwrap_or(CompressKind::Off))
        .with_contents(contents, list)
}
