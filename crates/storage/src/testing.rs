//! Small pools in memory for the tests of this crate.

use std::sync::Arc;

use env::{Env, FaultDisks, FaultKind, FaultOp, FaultRule, MemDisks, Nanos, SectorSize};
use ondisk::object_type::ObjectType;
use ondisk::{BlkPtr, ChecksumKind, CompressKind};

use crate::arc::Cache;
use crate::metaslab::SpaceMapSource;
use crate::*;

/// Bytes of every disk.
pub const DISK: u64 = 64 << 20;
const MS_SHIFT: u32 = 22;

/// A pool over memory disks named "a", "b", … with faults on demand.
pub struct Rig {
    pub disks: MemDisks,
    pub faults: FaultDisks,
    pub storage: Arc<Storage>,
}

struct Empty;

impl SpaceMapSource for Empty {
    fn load(&self, _: u32, _: u64, _: &mut dyn FnMut(bool, Segment)) -> Result<(), ReadError> {
        Ok(())
    }
}

/// Each entry is the width of a top-level vdev: 1 is a disk, more a mirror.
pub fn rig(widths: &[usize]) -> Rig {
    rig_with_cache(widths, 0)
}

/// One raidz of so many disks, with sectors of `1 << ashift` bytes.
pub fn rig_of_raidz(parity: u64, width: usize, ashift: u64) -> Rig {
    let mut tops = tops_of(&[width], &[]);
    tops[0].kind = VdevKind::Raidz(parity);
    tops[0].ashift = Some(ashift);
    rig_of_tops(tops, 0)
}

/// The same, with `sides` disks instead of its child `place`, that are replacing each other.
pub fn rig_of_raidz_with(parity: u64, width: usize, ashift: u64, (place, sides): (usize, usize)) -> Rig {
    let mut top = top_with(width, (place, sides));
    top.kind = VdevKind::Raidz(parity);
    top.ashift = Some(ashift);
    rig_of_tops(vec![top], 0)
}

/// A mirror of so many, with `sides` disks instead of its child `place`, that are replacing each
/// other.
pub fn rig_of_mirror_with(width: usize, (place, sides): (usize, usize)) -> Rig {
    rig_of_tops(vec![top_with(width, (place, sides))], 0)
}

fn top_with(width: usize, (place, sides): (usize, usize)) -> VdevConfig {
    let mut top = tops_of(&[width + sides - 1], &[]).remove(0);
    let leaves: Vec<VdevConfig> = top.children.drain(place..place + sides).collect();
    let replacing = VdevConfig { children: leaves, ..VdevConfig::new(VdevKind::Replacing, 0, 40) };
    top.children.insert(place, replacing);
    top
}

/// As [`rig`], with a cache of so many bytes; without one, every read goes to the disks.
pub fn rig_with_cache(widths: &[usize], cache: usize) -> Rig {
    rig_of(widths, &[], cache)
}

/// As [`rig`], with vdevs for intent logs behind the others.
pub fn rig_with_logs(widths: &[usize], logs: &[usize]) -> Rig {
    rig_of(widths, logs, 0)
}

fn rig_of(widths: &[usize], logs: &[usize], cache: usize) -> Rig {
    rig_of_tops(tops_of(widths, logs), cache)
}

fn tops_of(widths: &[usize], logs: &[usize]) -> Vec<VdevConfig> {
    let mut tops = Vec::new();
    let mut name = b'a';
    for (id, &width) in widths.iter().chain(logs).enumerate() {
        let mut leaves = Vec::new();
        for n in 0..width {
            let path = (name as char).to_string();
            let mut leaf = VdevConfig::new(VdevKind::File, n as u64, 100 + u64::from(name));
            leaf.path = Some(path);
            leaves.push(leaf);
            name += 1;
        }
        let mut top = if width == 1 {
            leaves.remove(0)
        } else {
            VdevConfig { children: leaves, ..VdevConfig::new(VdevKind::Mirror, 0, 50 + id as u64) }
        };
        top.id = id as u64;
        top.is_log = id >= widths.len();
        tops.push(top);
    }
    tops
}

/// As [`rig_with_logs`] on sparse files, or one raidz of those.
pub fn rig_of_files(widths: &[usize], logs: &[usize], parity: Option<u64>) -> Rig {
    let mut tops = tops_of(widths, logs);
    if let Some(parity) = parity {
        tops[0].kind = VdevKind::Raidz(parity);
        tops[0].ashift = Some(12);
    }
    rig_on(tops, 0, true)
}

fn rig_of_tops(tops: Vec<VdevConfig>, cache: usize) -> Rig {
    rig_on(tops, cache, false)
}

fn rig_on(tops: Vec<VdevConfig>, cache: usize, is_sparse: bool) -> Rig {
    let disks = MemDisks::new();
    let add = |path: &String| {
        disks.add_with(path, DISK, SectorSize { logical: 512, physical: 512 }, is_sparse);
    };
    let mut root = VdevConfig { children: tops, ..VdevConfig::new(VdevKind::Root, 0, 7) };
    root.visit_mut(&mut |vdev| vdev.path.iter().for_each(add));
    let faults = FaultDisks::new(Arc::new(disks.clone()));
    let env = Env { disks: Arc::new(faults.clone()), ..Env::real() };
    let storage = Storage::new(env, Cache::new(cache), 7);
    storage.open_tree(&root, OpenIntent::Create).unwrap();
    storage.attach_space(Arc::new(Empty));
    for top in storage.tops() {
        storage.init_metaslabs(top.id, MS_SHIFT, top.asize >> MS_SHIFT, Vec::new());
    }
    Rig { disks, faults, storage }
}

impl Rig {
    pub fn write(
        &self,
        blocks: &[Arc<Block>],
        policy: WritePolicy,
        txg: u64,
    ) -> Vec<Result<BlkPtr, WriteError>> {
        let items = blocks
            .iter()
            .map(|data| WriteItem { data: data.clone(), policy, rewrite: None, unless: None })
            .collect();
        self.storage.write_batch(items, txg, &mut |_| {})
    }

    pub fn write_one(&self, block: &Arc<Block>, policy: WritePolicy) -> BlkPtr {
        self.write(std::slice::from_ref(block), policy, 4).remove(0).unwrap()
    }

    pub fn read(&self, bp: &BlkPtr) -> Result<Arc<Block>, ReadError> {
        self.storage.read(bp, IoClass::SyncRead)
    }

    /// All blocks are read as they were written.
    #[track_caller]
    pub fn check(&self, bps: &[BlkPtr], blocks: &[Arc<Block>]) {
        for (bp, block) in bps.iter().zip(blocks) {
            assert!(self.read(bp).unwrap()[..] == block[..], "{bp:?}");
        }
    }

    /// Waits until something is so.
    #[track_caller]
    pub fn soon(&self, is_so: impl Fn() -> bool) {
        let clock = &self.storage.env().clock;
        let deadline = clock.now() + Nanos::from_secs(30);
        while !is_so() {
            assert!(clock.now() < deadline, "it does not come");
            clock.sleep(Nanos::from_millis(1));
        }
    }

    /// A group is durable.
    pub fn settle(&self, txg: u64) {
        self.storage.take_changes(txg);
        self.storage.sync_done(txg);
    }

    /// Spoils what lies behind the labels of a disk.
    pub fn spoil(&self, path: &str) {
        self.disks.edit(path, |bytes| bytes[4 << 20..(60 << 20)].fill(0xee));
    }

    /// The leaves' stats, by path.
    pub fn leaf(&self, path: &str) -> VdevStat {
        fn find<'a>(stat: &'a VdevStat, path: &str) -> Option<&'a VdevStat> {
            let here = (stat.path.as_deref() == Some(path)).then_some(stat);
            here.or_else(|| stat.children.iter().find_map(|child| find(child, path)))
        }
        find(&self.storage.status(), path).unwrap().clone()
    }
}

/// A fault of one disk.
pub fn on(path: &str, op: FaultOp, kind: FaultKind) -> FaultRule {
    FaultRule { path: Some(path.to_owned()), ..FaultRule::new(op, kind) }
}

/// Bytes that do not compress, different for each seed.
pub fn noise(len: usize, seed: u64) -> Arc<Block> {
    let mut block = Block::zeroed(len);
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for byte in block.iter_mut() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = (state >> 24) as u8;
    }
    Arc::new(block)
}

/// Bytes that compress well, different for each seed.
pub fn text(len: usize, seed: u64) -> Arc<Block> {
    let mut block = Block::zeroed(len);
    for (n, byte) in block.iter_mut().enumerate() {
        // Half of it runs of zeros, which is all that zle can save.
        *byte = if n % 32 < 16 { 0 } else { b'a' + ((n / 32) as u64 * 31 + seed) as u8 % 7 };
    }
    Arc::new(block)
}

/// Data as it is: no compression, fletcher4.
pub fn plain() -> WritePolicy {
    WritePolicy { compression: CompressKind::Off, ..with(ChecksumKind::Fletcher4, CompressKind::Off) }
}

pub fn with(checksum: ChecksumKind, compression: CompressKind) -> WritePolicy {
    WritePolicy { checksum, compression, ..WritePolicy::data(ObjectType::PLAIN_FILE_CONTENTS) }
}
