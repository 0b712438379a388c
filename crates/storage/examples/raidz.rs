//! Prints how fast RAID-Z of each level is read, healthy and without as many disks as it can lose, and how fast it is
//! written, over disks in memory: what is left is the processor's part. In 10⁹ bytes a second.

use std::sync::Arc;
use std::time::{Duration, Instant};

use env::{Env, MemDisks};
use ondisk::object_type::ObjectType;
use ondisk::{BlkPtr, ChecksumKind, CompressKind};
use storage::arc::Cache;
use storage::arc::Keep;
use storage::{
    Block, IoClass, OpenIntent, ReadError, Segment, SpaceMapSource, Storage, VdevConfig, VdevKind, WriteItem,
    WritePolicy,
};

const DISK: u64 = 256 << 20;
const BLOCK: usize = 128 << 10;
const BLOCKS: usize = 1024;
const METASLAB_SHIFT: u32 = 24;
/// Blocks asked for at once.
const TOGETHER: usize = 32;

struct Empty;

impl SpaceMapSource for Empty {
    fn load(&self, _: u32, _: u64, _: &mut dyn FnMut(bool, Segment)) -> Result<(), ReadError> {
        Ok(())
    }
}

fn pool(parity: u64, width: u64) -> Arc<Storage> {
    let disks = MemDisks::new();
    let mut top = VdevConfig::new(VdevKind::Raidz(parity), 0, 100);
    for id in 0..width {
        let mut leaf = VdevConfig::new(VdevKind::File, id, 200 + id);
        let path = format!("disk{id}");
        disks.add(&path, DISK);
        leaf.path = Some(path);
        top.children.push(leaf);
    }
    top.ashift = Some(12);
    let root = VdevConfig { children: vec![top], ..VdevConfig::new(VdevKind::Root, 0, 7) };
    let storage = Storage::new(Env::with_disks(Arc::new(disks)), Cache::new(0), 7);
    storage.open_tree(&root, OpenIntent::Create).expect("new disks");
    storage.attach_space(Arc::new(Empty));
    let asize = storage.tops()[0].asize;
    storage.init_metaslabs(0, METASLAB_SHIFT, asize >> METASLAB_SHIFT, Vec::new());
    storage
}

fn noise(seed: usize) -> Arc<Block> {
    let mut block = Block::zeroed(BLOCK);
    let mut state = seed as u64 | 1;
    for word in block.chunks_exact_mut(8) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        word.copy_from_slice(&state.to_le_bytes());
    }
    Arc::new(block)
}

fn write(storage: &Storage) -> (f64, Vec<BlkPtr>) {
    let policy = WritePolicy {
        checksum: ChecksumKind::Fletcher4,
        compression: CompressKind::Off,
        ..WritePolicy::data(ObjectType::PLAIN_FILE_CONTENTS)
    };
    let items: Vec<WriteItem> =
        (0..BLOCKS).map(|n| WriteItem { data: noise(n), policy, rewrite: None }).collect();
    let begun = Instant::now();
    let written = storage.write_batch(items, 4, &mut |_| {});
    let rate = (BLOCKS * BLOCK) as f64 / begun.elapsed().as_secs_f64() / 1e9;
    (rate, written.into_iter().map(|bp| bp.expect("there is room")).collect())
}

/// For a second.
fn read(storage: &Storage, bps: &[BlkPtr]) -> f64 {
    let (begun, mut bytes) = (Instant::now(), 0);
    while begun.elapsed() < Duration::from_secs(1) {
        for some in bps.chunks(TOGETHER) {
            let read = storage.read_many(some, IoClass::SyncRead, Keep::ALL);
            bytes += read.into_iter().map(|block| block.expect("it is whole").len()).sum::<usize>();
        }
    }
    bytes as f64 / begun.elapsed().as_secs_f64() / 1e9
}

fn main() {
    println!("                written   healthy   without disks, one after the other");
    for (parity, width) in [(1, 3), (1, 5), (2, 6), (3, 9)] {
        let storage = pool(parity, width);
        let (written, bps) = write(&storage);
        print!("raidz{parity} of {width} {written:12.2}{:10.2}", read(&storage, &bps));
        let leaves = storage.config().children[0].children.clone();
        for leaf in leaves.iter().rev().take(parity as usize) {
            assert!(storage.fault(leaf.guid));
            print!("{:10.2}", read(&storage, &bps));
        }
        println!();
    }
}
