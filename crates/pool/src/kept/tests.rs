//! The arena: what is found after a death at any moment.

use std::io;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use env::{Keepsake, MemKeepsake, RealClock};
use ondisk::uberblock::Uberblock;

use super::replies::LEVEL;
use super::{ANSWERS, CHUNK, Change, Kept, KeptPool, Noted, VolumeKey};

pub(super) const GUID: u64 = 77;
const VOLUME: VolumeKey = VolumeKey { object: 5, guid: 50 };
const OTHER: VolumeKey = VolumeKey { object: 6, guid: 60 };

fn open(memory: &Arc<MemKeepsake>) -> Arc<Kept> {
    Kept::open(memory.clone(), Arc::new(RealClock::new()), Box::new(|_| ())).unwrap()
}

/// Of every fourth part answers may take what is a whole level.
fn chunks(count: u64) -> Arc<MemKeepsake> {
    let answers = (count / 3 * LEVEL).min(ANSWERS);
    Arc::new(MemKeepsake::new((count * CHUNK + answers + (16 << 10)) as usize))
}

pub(super) fn uberblock(txg: u64) -> Uberblock {
    let mut uberblock = Uberblock { txg, ..Uberblock::new(5000) };
    uberblock.root_bp.set_checksum(ondisk::ChecksumKind::Fletcher4, [txg, 1, 2, 3]);
    uberblock
}

/// A new pool, whose group 9 is about to be written.
pub(super) fn fresh(kept: &Arc<Kept>) -> Arc<KeptPool> {
    let pool = kept.of_pool(GUID, None, false).unwrap();
    pool.syncing(&uberblock(9));
    pool
}

/// As the import of a pool of this group finds it.
fn import(kept: &Arc<Kept>, txg: u64) -> Arc<KeptPool> {
    kept.of_pool(GUID, Some(&uberblock(txg)), false).unwrap()
}

/// All that is to be done again to a volume: places, lengths, first bytes.
fn found(pool: &KeptPool, volume: VolumeKey) -> Vec<(u64, u64, Option<u8>)> {
    let again = pool.again(volume).unwrap();
    again.iter().map(|one| (one.offset, one.len, pool.bytes(one).unwrap().map(|bytes| bytes[0]))).collect()
}

fn put(pool: &KeptPool, txg: u64, place: u64, value: u8) {
    assert_eq!(pool.note(txg, VOLUME, place, Change::Bytes(&[value; 512])), Noted::Yes);
}

#[test]
fn what_no_group_has_is_found_in_order() {
    let memory = chunks(8);
    let pool = fresh(&open(&memory));
    put(&pool, 9, 0, 1);
    pool.durable(9);
    put(&pool, 10, 512, 2);
    pool.syncing(&uberblock(10));
    put(&pool, 11, 0, 3);
    assert_eq!(pool.note(11, OTHER, 7, Change::Hole(99)), Noted::Yes);
    put(&pool, 11, 0, 4);

    for _ in 0..2 {
        let pool = import(&open(&memory), 9);
        assert_eq!(pool.waiting(), [VOLUME, OTHER]);
        assert_eq!(found(&pool, VOLUME), [(512, 512, Some(2)), (0, 512, Some(3)), (0, 512, Some(4))]);
        assert_eq!(found(&pool, OTHER), [(7, 99, None)]);
        // Its own groups say nothing about what is to be done again.
        pool.durable(12);
    }
    let kept = open(&memory);
    let pool = import(&kept, 9);
    pool.done(VOLUME);
    assert_eq!(import(&open(&memory), 9).waiting(), [OTHER]);
    pool.done(OTHER);
    assert!(kept.is_empty() && open(&memory).is_empty());
}

#[test]
fn what_the_uberblock_has_is_not_done_again_and_nothing_where_it_is_a_strangers() {
    for (of, kept_after) in [(10, 1), (9, 2), (8, 0), (11, 0)] {
        let memory = chunks(8);
        let kept = open(&memory);
        let pool = kept.of_pool(GUID, None, false).unwrap();
        pool.syncing(&uberblock(8));
        pool.syncing(&uberblock(9));
        put(&pool, 10, 0, 1);
        pool.syncing(&uberblock(10));
        put(&pool, 11, 0, 2);
        drop((pool, kept));
        assert_eq!(found(&import(&open(&memory), of), VOLUME).len(), kept_after, "{of}");
    }
    let memory = chunks(8);
    let pool = fresh(&open(&memory));
    put(&pool, 10, 0, 1);
    let back = open(&memory).of_pool(GUID, Some(&uberblock(9)), true).unwrap();
    assert_eq!(back.waiting(), [], "what an import gives up is given up");
}

#[test]
fn what_could_not_be_done_again_outlives_an_export() {
    let memory = chunks(8);
    let pool = fresh(&open(&memory));
    put(&pool, 10, 0, 1);
    for (txg, destroyed) in [(9, false), (11, true)] {
        let kept = open(&memory);
        let pool = import(&kept, txg);
        assert_eq!(pool.waiting(), [VOLUME]);
        pool.syncing(&uberblock(11));
        pool.durable(11);
        pool.let_go(destroyed);
        assert_eq!(kept.is_empty(), destroyed);
    }
}

#[test]
fn a_note_that_is_torn_was_never_answered() {
    let large: Vec<u8> = (0..CHUNK + CHUNK / 2).map(|n| (n % 251) as u8).collect();
    let (sizes, mut whole) = ([512_usize, 4 << 10, large.len()], 0);
    for size in sizes {
        let memory = chunks(8);
        let pool = fresh(&open(&memory));
        put(&pool, 10, 0, 1);
        let before = bytes_of(&memory);
        assert_ne!(pool.note(10, VOLUME, 512, Change::Bytes(&large[..size])), Noted::No);
        let after = bytes_of(&memory);
        let changed: Vec<usize> = (0..after.len()).filter(|&at| before[at] != after[at]).collect();
        // Up to some byte, everything is as after; behind it, as before.
        for step in 0..=40 {
            let upto = changed.get(step * changed.len() / 40).copied().unwrap_or(after.len());
            let torn = [&after[..upto], &before[upto..]].concat();
            let pool = import(&open(&memory_of(&torn)), 9);
            let found = pool.again(VOLUME).unwrap();
            let bytes: Vec<u8> =
                found[1..].iter().flat_map(|one| pool.bytes(one).unwrap().unwrap()).collect();
            assert!(bytes.is_empty() || bytes == large[..size], "{size}, up to {upto}");
            whole += usize::from(!bytes.is_empty());
        }
    }
    assert!(whole >= 3, "what is complete is found");
}

/// All that stands in a memory.
pub(super) fn bytes_of(memory: &MemKeepsake) -> Vec<u8> {
    let mut bytes = vec![0; memory.size() as usize];
    memory.read(0, &mut bytes).unwrap();
    bytes
}

/// A memory in which this stands.
pub(super) fn memory_of(bytes: &[u8]) -> Arc<MemKeepsake> {
    let memory = Arc::new(MemKeepsake::new(bytes.len()));
    memory.write(0, &[bytes]).unwrap();
    memory
}

/// A keepsake that may lack room, and of which every write can be looked at.
pub(super) struct TestKeepsake {
    pub memory: Arc<MemKeepsake>,
    /// Whether there is room for so many bytes more.
    pub has_room: Box<dyn Fn(u64) -> bool + Send + Sync>,
    /// What stands in the memory after each write, and in the middle of each; where that is wanted.
    pub states: Option<Mutex<Vec<Vec<u8>>>>,
}

impl Keepsake for TestKeepsake {
    fn size(&self) -> u64 {
        self.memory.size()
    }

    fn reserve(&self, _at: u64, len: u64) -> io::Result<()> {
        if (self.has_room)(len) { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    fn write(&self, at: u64, parts: &[&[u8]]) -> io::Result<()> {
        let Some(states) = &self.states else { return self.memory.write(at, parts) };
        let all = parts.concat();
        for len in [all.len() / 16 * 8, all.len()] {
            self.memory.write(at, &[&all[..len]])?;
            states.lock().unwrap().push(bytes_of(&self.memory));
        }
        Ok(())
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.memory.read(at, into)
    }

    fn discard(&self, at: u64, len: u64) -> io::Result<()> {
        self.memory.discard(at, len)
    }
}

#[test]
fn a_share_is_of_the_memory_that_there_is() {
    // In chunks.
    let left = Arc::new(AtomicI64::new(6));
    let counted = left.clone();
    let has_room = Box::new(move |len: u64| len < CHUNK || counted.fetch_sub(1, SeqCst) > 0);
    let memory = Arc::new(TestKeepsake { memory: chunks(30), has_room, states: None });
    let kept = Kept::open(memory, Arc::new(RealClock::new()), Box::new(|_| ())).unwrap();
    let pool = kept.of_pool(GUID, None, false).unwrap();
    let whole = vec![1; CHUNK as usize * 3 / 4];
    let note = |txg| pool.note(txg, VOLUME, 0, Change::Bytes(&whole));
    let until = |txg, wanted| (1..100).find(|_| note(txg) == wanted).unwrap();
    assert!(until(10, Noted::No) > 6);
    pool.durable(10);
    assert!(until(11, Noted::Soon) <= 2, "of six chunks, not of thirty");
    left.store(100, SeqCst);
    assert!(until(12, Noted::Soon) <= 3);
    pool.durable(12);
    assert!(until(13, Noted::No) > 30);
    pool.durable(13);
    assert!(until(14, Noted::Soon) >= 9, "there is more again");
}

#[test]
fn memory_is_bounded_and_comes_back() {
    let memory = chunks(4);
    let lent = Arc::new(AtomicI64::new(0));
    let count = lent.clone();
    let lend = move |bytes| {
        count.fetch_add(bytes, SeqCst);
    };
    let kept = Kept::open(memory.clone(), Arc::new(RealClock::new()), Box::new(lend)).unwrap();
    let pool = kept.of_pool(GUID, None, false).unwrap();
    let half = vec![1; CHUNK as usize / 2];
    let note = |txg| pool.note(txg, VOLUME, 0, Change::Bytes(&half));
    assert_eq!(note(10), Noted::Soon, "a third of all is its share");
    let noted: Vec<Noted> = (0..8).map(|_| note(10)).collect();
    assert_eq!(noted.iter().filter(|noted| **noted == Noted::Soon).count(), 0, "that is told once");
    assert_eq!(noted.last(), Some(&Noted::No));
    assert_eq!(lent.load(SeqCst), 4 * CHUNK as i64);
    pool.durable(10);
    assert_ne!(note(11), Noted::No);
    kept.trim();
    kept.trim();
    assert_eq!(lent.load(SeqCst), CHUNK as i64, "what nobody needs is given back");
    pool.let_go(false);
    assert!(kept.is_empty());
    drop((pool, kept));
    assert_eq!(lent.load(SeqCst), 0);
}
