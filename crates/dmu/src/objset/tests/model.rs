//! Random work on an object set, done to plain bytes as well.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ondisk::object_type::ObjectType;
use ondisk::objset::ObjsetType;
use stdx::prng::Prng;

use crate::owner::SyncTx;
use crate::store::BlockStore;
use crate::store::Txg;
use crate::testing::Bench;
use crate::{DmuError, Dnode, ObjectSpec, ObjsetPolicy, Seek, Tx};

const UNIT: u64 = 512;

/// A sparse file in units of 512 bytes; those that are missing are zero.
#[derive(Default, Clone)]
struct Bytes(BTreeMap<u64, [u8; UNIT as usize]>);

impl Bytes {
    fn put(&mut self, offset: u64, data: &[u8]) {
        for (at, &byte) in (offset..).zip(data) {
            self.0.entry(at / UNIT).or_insert([0; UNIT as usize])[(at % UNIT) as usize] = byte;
        }
    }

    fn zero(&mut self, from: u64, to: u64) {
        for (&unit, bytes) in self.0.range_mut(from / UNIT..) {
            let start = unit * UNIT;
            if start >= to {
                break;
            }
            let within = from.saturating_sub(start).min(UNIT)..to.saturating_sub(start).min(UNIT);
            bytes[within.start as usize..within.end as usize].fill(0);
        }
        self.0.retain(|_, bytes| bytes.iter().any(|&b| b != 0));
    }

    fn get(&self, offset: u64, len: usize) -> Vec<u8> {
        let byte = |at: u64| self.0.get(&(at / UNIT)).map_or(0, |unit| unit[(at % UNIT) as usize]);
        (offset..offset + len as u64).map(byte).collect()
    }

    /// The first byte at or after `offset` that lies in a unit of data.
    fn next_data(&self, offset: u64) -> Option<u64> {
        self.0
            .range(offset / UNIT..)
            .find(|(_, b)| b.iter().any(|&b| b != 0))
            .map(|(&u, _)| offset.max(u * UNIT))
    }
}

#[derive(Clone)]
struct File {
    bytes: Bytes,
    bonus: Vec<u8>,
    spill: Option<Vec<u8>>,
}

/// The object set and what it should be.
pub struct Model {
    pub bench: Bench,
    files: BTreeMap<u64, File>,
    prng: Prng,
    /// Groups that are closed and not synced; synced and not done.
    closed: VecDeque<Txg>,
    synced: Option<Txg>,
    seed: u64,
}

impl Model {
    pub fn new(seed: u64, kind: ObjsetType) -> Model {
        let policy = if kind == ObjsetType::Meta { ObjsetPolicy::meta() } else { ObjsetPolicy::dataset() };
        let mut bench = Bench::new(kind, policy);
        bench.reopen();
        Model {
            bench,
            files: BTreeMap::new(),
            prng: Prng::new(seed),
            closed: VecDeque::new(),
            synced: None,
            seed,
        }
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.prng.below(bound)
    }

    /// One random change.
    pub fn operate(&mut self, tx: impl Fn(&Bench) -> Tx) {
        let tx = tx(&self.bench);
        let objects: Vec<u64> = self.files.keys().copied().collect();
        let Some(&object) = self.prng.pick(&objects).filter(|_| objects.len() > 3) else {
            return self.make(&tx);
        };
        let dnode = self.bench.objset.hold(object).unwrap();
        let size = u64::from(dnode.block_size());
        match self.prng.below(22) {
            0 => self.make(&tx),
            1 => {
                self.bench.objset.free(object, &tx).unwrap();
                self.files.remove(&object);
            }
            2..=10 => self.write(&dnode, size, &tx),
            11..=14 => self.free_range(&dnode, size, &tx),
            15 => self.resize(&dnode, &tx),
            16 | 17 => {
                let file = self.files.get_mut(&object).unwrap();
                self.prng.fill(&mut file.bonus);
                dnode.set_bonus(ObjectType::OTN_UINT8_METADATA, &file.bonus, &tx).unwrap();
            }
            18 | 19 => self.spill(&dnode, &tx),
            _ => self.write_early(&dnode, &tx),
        }
    }

    /// Blocks that are dirty, and some that are not.
    fn write_early(&mut self, dnode: &Arc<Dnode>, tx: &Tx) {
        if tx.is_syncing() {
            return;
        }
        let last = dnode.max_blkid().min(64);
        let wanted: Vec<_> = (0..3).map(|_| (dnode.clone(), self.prng.below(last + 1))).collect();
        for (answer, (_, blkid)) in crate::write_early(&wanted, tx).unwrap().iter().zip(&wanted) {
            let Some(bp) = answer else { continue };
            let there = self.bench.store.cached(bp).expect("it is on disk");
            assert_eq!(Some(&there[..]), dnode.block(*blkid).unwrap().as_deref().map(|b| &b[..]));
        }
    }

    fn make(&mut self, tx: &Tx) {
        let spec = ObjectSpec {
            object_type: ObjectType::PLAIN_FILE_CONTENTS,
            block_size: 512 * (1 + self.prng.below(6) as u32),
            bonus_type: ObjectType::OTN_UINT8_METADATA,
            bonus_len: self.prng.below(190) as u16,
            slots: 1 + self.prng.below(3) as u8,
            // Small indirect blocks make for high trees.
            indirect_shift: 12,
        };
        let dnode = self.bench.objset.alloc(spec, tx).unwrap();
        let file = File { bytes: Bytes::default(), bonus: vec![0; spec.bonus_len.into()], spill: None };
        assert!(self.files.insert(dnode.object(), file).is_none(), "seed {}", self.seed);
    }

    fn offset(&mut self, size: u64) -> u64 {
        let blocks = [2, 40, 3000, 1 << 30];
        let reach = *self.prng.pick(&blocks).unwrap();
        // Few distinct places far away, so that they are met again.
        let step = if reach > 3000 { reach / 8 } else { 1 };
        self.prng.below(reach / step) * step * size + self.prng.below(2) * self.prng.below(size)
    }

    fn write(&mut self, dnode: &Dnode, size: u64, tx: &Tx) {
        let offset = self.offset(size);
        let len = match self.prng.below(3) {
            0 => size * (1 + self.prng.below(40)),
            1 => 1 + self.prng.below(size),
            _ => 1 + self.prng.below(4 * size),
        };
        let mut data = vec![0; len as usize];
        if self.prng.chance(5, 6) {
            self.prng.fill(&mut data);
        }
        dnode.write(offset, &data, tx).unwrap();
        self.files.get_mut(&dnode.object()).unwrap().bytes.put(offset, &data);
    }

    fn free_range(&mut self, dnode: &Dnode, size: u64, tx: &Tx) {
        let offset = self.offset(size);
        let len = match self.prng.below(4) {
            0 => u64::MAX,
            1 => 1 + self.prng.below(3 * size),
            2 => size * (1 + self.prng.below(50)),
            _ => size * self.prng.below(1 << 30),
        };
        dnode.free_range(offset, len, tx).unwrap();
        self.files.get_mut(&dnode.object()).unwrap().bytes.zero(offset, offset.saturating_add(len));
    }

    fn resize(&mut self, dnode: &Dnode, tx: &Tx) {
        let size = 512 * (1 + self.prng.below(8)) as u32;
        let bytes = &mut self.files.get_mut(&dnode.object()).unwrap().bytes;
        match dnode.set_block_size(size, tx) {
            // The size it has is fine for an object of any length.
            Ok(()) if dnode.max_blkid() > 0 => {}
            Ok(()) => bytes.zero(size.into(), u64::MAX),
            Err(error) => {
                assert_eq!(error, DmuError::Busy);
                assert!(dnode.max_blkid() > 0);
            }
        }
    }

    fn spill(&mut self, dnode: &Dnode, tx: &Tx) {
        let mut bytes = vec![0; 512 * (1 + self.prng.below(3)) as usize];
        self.prng.fill(&mut bytes);
        let spill = self.prng.chance(2, 3).then_some(bytes);
        let fits = dnode.has_spill() || dnode.bonus().bytes.len() + 128 <= dnode.bonus_capacity();
        if spill.is_some() && !fits {
            return assert_eq!(dnode.set_spill(spill.as_deref(), tx), Err(DmuError::TooBig));
        }
        dnode.set_spill(spill.as_deref(), tx).unwrap();
        self.files.get_mut(&dnode.object()).unwrap().spill = spill;
    }

    pub fn open_next(&mut self) {
        if self.closed.len() < 2 {
            self.closed.push_back(self.bench.books.open_next());
        }
    }

    pub fn sync_oldest(&mut self) {
        if self.synced.is_some() {
            return;
        }
        if let Some(txg) = self.closed.pop_front() {
            self.bench.objset.sync(&SyncTx { txg, pass: 1, rewrite: false }).unwrap();
            self.synced = Some(txg);
        }
    }

    pub fn finish_oldest(&mut self) {
        if let Some(txg) = self.synced.take() {
            self.bench.objset.sync_done(txg);
            self.bench.books.bury();
        }
    }

    /// Everything becomes clean.
    pub fn settle(&mut self) {
        self.finish_oldest();
        self.open_next();
        while !self.closed.is_empty() {
            self.sync_oldest();
            self.finish_oldest();
            self.compare();
        }
        let open = self.bench.tx().txg();
        if self.bench.objset.is_dirty(open) {
            self.open_next();
            self.settle();
        }
    }

    pub fn reopen(&mut self) {
        let root = self.bench.objset.root();
        self.bench.open(root);
    }

    /// Every object is as it should be, as far as a reader can tell.
    pub fn compare(&mut self) {
        let seed = self.seed;
        let mut listed = Vec::new();
        while let Some(object) =
            self.bench.objset.next_object(listed.last().copied().unwrap_or(0), 0).unwrap()
        {
            listed.push(object);
        }
        assert!(listed.iter().eq(self.files.keys()), "seed {seed}: {listed:?} {:?}", self.files.keys());
        for (&object, file) in &self.files {
            let dnode = self.bench.objset.hold(object).unwrap();
            assert_eq!(dnode.bonus().bytes, file.bonus, "seed {seed} object {object}");
            let spill = dnode.spill().unwrap().map(|block| block.to_vec());
            assert_eq!(spill, file.spill, "seed {seed} object {object}");
            for &unit in file.bytes.0.keys() {
                let read = dnode.read_bytes(unit * UNIT, UNIT as usize).unwrap();
                assert_eq!(
                    read,
                    file.bytes.get(unit * UNIT, UNIT as usize),
                    "seed {seed} {object} unit {unit}"
                );
            }
            let from = self.prng.below(4000 * UNIT);
            assert_eq!(
                dnode.read_bytes(from, 5000).unwrap(),
                file.bytes.get(from, 5000),
                "seed {seed} {object}"
            );
            data_is_found(&dnode, file, from);
        }
    }

    /// As [`Model::compare`], and holes are exactly the blocks of zeros.
    pub fn compare_exactly(&mut self) {
        self.compare();
        for (&object, file) in &self.files {
            let dnode = self.bench.objset.hold(object).unwrap();
            let size = u64::from(dnode.block_size());
            let block_of_data =
                |block: u64| file.bytes.get(block * size, size as usize).iter().any(|&b| b != 0);
            let mut at = 0;
            // From one border between data and hole to the next, through the whole object.
            while let Some(data) = dnode.next_offset(at, Seek::Data).unwrap() {
                assert_eq!(data % size, 0);
                assert_eq!(file.bytes.next_data(at).map(|d| d / size), Some(data / size), "{object} at {at}");
                let end = (dnode.max_blkid() + 1) * size;
                let hole = dnode.next_offset(data, Seek::Hole).unwrap().unwrap_or(end);
                assert!((data / size..hole / size).all(block_of_data), "{object} at {data}");
                assert!(hole == end || !block_of_data(hole / size), "{object} at {hole}");
                at = hole;
            }
            assert_eq!(file.bytes.next_data(at), None, "{object} at {at}");
        }
    }
}

fn data_is_found(dnode: &Dnode, file: &File, from: u64) {
    let data = file.bytes.next_data(from);
    let found = dnode.next_offset(from, Seek::Data).unwrap();
    // Blocks of zeros that nobody has written out yet count as data.
    assert!(found.is_none_or(|found| data.is_none_or(|data| found <= data)), "{found:?} {data:?}");
    assert!(found.is_some() || data.is_none());
    if let Some(hole) = dnode.next_offset(from, Seek::Hole).unwrap() {
        let size = u64::from(dnode.block_size());
        let block = file.bytes.get(hole / size * size, size as usize);
        assert!(block.iter().all(|&b| b == 0), "data in a hole at {hole}");
    }
}
