//! Answers after a death at any moment: never of what has not happened, and all of what has.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use env::{Clock, MemKeepsake, Nanos, WallTime};
use stdx::call::{CallId, Keeping};

use super::{ANSWER_MAX, Happened, LANES, LEVEL, LIFE, PIECE, SLOT};
use crate::kept::tests::{GUID as POOL, TestKeepsake, bytes_of, fresh, memory_of, uberblock};
use crate::kept::{CHUNK, Change, Kept, KeptPool, Noted, VolumeKey};

const DATASET: u64 = 5;
const LOG: u64 = 99;

/// Which goes when it is told to.
#[derive(Default)]
struct Time(AtomicU64);

impl Time {
    fn pass(&self, secs: u64) {
        self.0.fetch_add(secs, SeqCst);
    }
}

impl Clock for Time {
    fn now(&self) -> Nanos {
        Nanos::from_secs(self.0.load(SeqCst))
    }
    fn wall(&self) -> WallTime {
        WallTime { secs: self.0.load(SeqCst) as i64, nanos: 0 }
    }
    fn sleep(&self, _span: Nanos) {}
}

struct Machine {
    memory: Arc<MemKeepsake>,
    clock: Arc<Time>,
    lent: Arc<AtomicI64>,
}

impl Machine {
    /// With room for one piece a lane.
    fn new() -> Machine {
        let memory = Arc::new(MemKeepsake::new((3 * CHUNK + LEVEL + (16 << 10)) as usize));
        Machine { memory, clock: Arc::default(), lent: Arc::default() }
    }

    fn start(&self) -> Arc<Kept> {
        let lent = self.lent.clone();
        let lend = move |bytes| {
            lent.fetch_add(bytes, SeqCst);
        };
        Kept::open(self.memory.clone(), self.clock.clone(), Box::new(lend)).unwrap()
    }

    /// A program that imports the pool with this group, and opens the file system without a log.
    fn import(&self, txg: u64) -> Arc<KeptPool> {
        self.start().of_pool(POOL, Some(&uberblock(txg)), false).unwrap()
    }

    /// The memory was this when the program died.
    fn with(bytes: &[u8]) -> Machine {
        Machine { memory: memory_of(bytes), clock: Arc::default(), lent: Arc::default() }
    }

    /// The same, on which every write is looked at.
    fn watched(&self) -> (Arc<TestKeepsake>, Arc<Kept>) {
        let (memory, states) = (self.memory.clone(), Some(Mutex::default()));
        let watched = Arc::new(TestKeepsake { memory, has_room: Box::new(|_| true), states });
        let kept = Kept::open(watched.clone(), self.clock.clone(), Box::new(|_| ())).unwrap();
        (watched, kept)
    }
}

/// What has been in the memory since this was asked last.
fn take_states(watched: &TestKeepsake) -> Vec<Vec<u8>> {
    std::mem::take(&mut *watched.states.as_ref().unwrap().lock().unwrap())
}

fn call(number: u64) -> CallId {
    let mut digest = [7; 32];
    digest[..8].copy_from_slice(&number.to_le_bytes());
    CallId { place: 3, digest }
}

fn note(pool: &KeptPool, number: u64, txg: u64) -> Arc<dyn Keeping> {
    pool.note_call(&call(number), DATASET, txg).unwrap()
}

fn answered(pool: &KeptPool, number: u64, txg: u64) -> Arc<dyn Keeping> {
    let keeping = note(pool, number, txg);
    keeping.answer(&answer(number));
    keeping
}

fn answer(number: u64) -> Vec<u8> {
    vec![number as u8; 100 + number as usize % 200]
}

fn recall(pool: &KeptPool, number: u64) -> Option<Option<Vec<u8>>> {
    pool.recall(DATASET, &call(number).digest).map(|Happened { answer }| answer)
}

#[test]
fn what_is_durable_has_happened_and_what_no_log_has_has_not() {
    let machine = Machine::new();
    let pool = fresh(&machine.start());
    drop((answered(&pool, 1, 9), note(&pool, 2, 9), answered(&pool, 3, 10)));
    // In the log, behind what is left of the log, in another log.
    for (number, log, record) in [(4, LOG, 6), (5, LOG, 7), (6, LOG + 1, 1)] {
        let keeping = answered(&pool, number, 10);
        keeping.logged(LOG + 2, 1);
        keeping.logged(log, record);
    }
    assert_eq!(recall(&pool, 1), None, "it is the same program");
    drop(pool);

    let pool = machine.import(9);
    let all = |pool: &KeptPool| [1, 2, 3, 4, 5, 6].map(|number| recall(pool, number));
    let durable = [Some(Some(answer(1))), Some(None)];
    let none = || None;
    assert_eq!(all(&pool)[..2], durable);
    assert_eq!(all(&pool)[2..], [none(), none(), none(), none()]);
    // It dies before it has opened the file system, and again when the log was done again, in a
    // group that is lost.
    drop(pool);
    let pool = machine.import(9);
    pool.replayed(LOG, 6, 10);
    pool.opened(DATASET);
    let after = [durable[0].clone(), durable[1].clone(), None, Some(Some(answer(4))), None, None];
    assert_eq!(all(&pool), after);
    drop(pool);
    let pool = machine.import(9);
    assert_eq!(all(&pool)[3], None, "of that group nobody knows anything");
    pool.replayed(LOG, 6, 10);
    pool.opened(DATASET);
    pool.syncing(&uberblock(10));
    drop(pool);
    assert_eq!(all(&machine.import(10)), after);
    let other = machine.import(10);
    assert_eq!(other.recall(DATASET + 1, &call(1).digest), None, "it is of another file system");
    let strange = CallId { digest: [8; 32], ..call(1) };
    assert_eq!(other.recall(DATASET, &strange.digest), None);
}

#[test]
fn nothing_is_believed_of_a_pool_that_was_changed_elsewhere_or_goes_back() {
    for (of, back, is_ours) in
        [(9, false, true), (8, false, true), (7, false, false), (10, false, false), (9, true, false)]
    {
        let machine = Machine::new();
        let pool = machine.start().of_pool(POOL, None, false).unwrap();
        pool.syncing(&uberblock(8));
        drop(answered(&pool, 1, 8));
        pool.syncing(&uberblock(9));
        drop(pool);
        let kept = machine.start();
        let pool = kept.of_pool(POOL, Some(&uberblock(of)), back).unwrap();
        assert_eq!(recall(&pool, 1).is_some(), is_ours, "{of}");
        assert_eq!(kept.is_empty(), !is_ours);
    }
}

#[test]
fn an_export_keeps_answers_and_a_destroyed_pool_none() {
    for destroyed in [false, true] {
        let machine = Machine::new();
        let kept = machine.start();
        let pool = fresh(&kept);
        drop(answered(&pool, 1, 9));
        pool.let_go(destroyed);
        assert_eq!(kept.is_empty(), destroyed);
        drop((pool, kept));
        assert_eq!(recall(&machine.import(9), 1).is_some(), !destroyed);
    }
    let machine = Machine::new();
    let kept = machine.start();
    let pool = kept.of_pool(POOL, None, false).unwrap();
    drop(answered(&pool, 1, 9));
    kept.keep_only(&[POOL + 1]);
    assert!(kept.is_empty());
}

#[test]
fn a_place_is_found_for_a_pool_beside_many_that_are_gone() {
    let machine = Machine::new();
    let kept = machine.start();
    for guid in 1..=100 {
        let pool = kept.of_pool(guid, None, false).unwrap();
        pool.syncing(&uberblock(9));
        drop(pool.note_call(&call(guid), DATASET, 9));
        pool.let_go(false);
    }
    drop(kept);
    let kept = machine.start();
    let last = kept.of_pool(100, Some(&uberblock(9)), false).unwrap();
    assert_eq!(recall(&last, 100), Some(None));
    let open: Vec<_> = (101..200).filter_map(|guid| kept.of_pool(guid, None, false)).collect();
    assert_eq!(open.len(), 63, "those that are open keep theirs");
}

#[test]
fn at_any_moment_an_entry_is_whole_or_none() {
    let machine = Machine::new();
    let pool = fresh(&machine.start());
    // The slot has been used before, by one that had a longer answer.
    for number in 0..PIECE as u64 {
        let keeping = note(&pool, 1000 + number, 9);
        keeping.answer(&[9; ANSWER_MAX]);
        keeping.logged(LOG, 1);
    }
    drop(pool);
    let (watched, kept) = machine.watched();
    let pool = kept.of_pool(POOL, Some(&uberblock(9)), false).unwrap();
    take_states(&watched);
    let keeping = note(&pool, 1, 9);
    keeping.logged(LOG + 1, 5);
    keeping.answer(&answer(1));
    keeping.logged(LOG + 2, 6);
    let mut seen = [0; 3];
    for bytes in take_states(&watched) {
        let found = recall(&Machine::with(&bytes).import(9), 1);
        assert!(found.is_none() || found == Some(None) || found == Some(Some(answer(1))), "{found:?}");
        seen[found.map_or(0, |answer| 1 + usize::from(answer.is_some()))] += 1;
    }
    assert!(seen.iter().all(|times| *times > 0), "{seen:?}");
}

#[test]
fn the_record_never_stands_beside_another_log() {
    let (watched, kept) = Machine::new().watched();
    let pool = fresh(&kept);
    let keeping = answered(&pool, 1, 10);
    take_states(&watched);
    keeping.logged(LOG, 50);
    keeping.logged(LOG + 1, 3);
    for bytes in take_states(&watched) {
        // Of the first log 40 records have reached a disk, of the second 2: neither has this
        // change.
        let pool = Machine::with(&bytes).import(9);
        pool.replayed(LOG, 40, 10);
        pool.replayed(LOG + 1, 2, 10);
        pool.opened(DATASET);
        assert_eq!(recall(&pool, 1), None);
    }
}

#[test]
fn the_oldest_go_first_and_nobody_elses_nor_what_is_under_way() {
    let machine = Machine::new();
    let pool = fresh(&machine.start());
    let other = CallId { place: 4, digest: [1; 32] };
    drop(pool.note_call(&other, DATASET, 9));
    let under_way = note(&pool, 1, 9);
    let many = 3 * PIECE as u64;
    (2..=many).for_each(|number| drop(answered(&pool, number, 9)));
    let held: Vec<_> =
        (0..PIECE as u64).filter_map(|n| pool.note_call(&call(many + 1 + n), DATASET, 9)).collect();
    assert_eq!(held.len(), PIECE - 1, "there is no more room");
    drop((held, under_way, pool));
    let pool = machine.import(9);
    assert!(pool.recall(DATASET, &other.digest).is_some() && recall(&pool, 1).is_some());
    assert_eq!((1..=2 * many).filter(|number| recall(&pool, *number).is_some()).count(), PIECE);
    // Who takes the place of an answer of an earlier program ends it.
    (0..PIECE as u64).for_each(|number| drop(note(&pool, 10_000 + number, 10)));
    assert_eq!((1..=2 * many).filter(|number| recall(&pool, *number).is_some()).count(), 0);
    assert!(pool.recall(DATASET, &other.digest).is_some());
}

#[test]
fn answers_age_and_their_memory_comes_back() {
    let machine = Machine::new();
    let pool = fresh(&machine.start());
    drop(answered(&pool, 1, 9));
    machine.clock.pass(LIFE + 1);
    drop(pool.note_call(&CallId { place: 4, digest: [1; 32] }, DATASET, 9));
    drop(pool);
    assert_eq!(machine.lent.load(SeqCst), 0);
    // However long the machine was without a server.
    machine.clock.pass(9 * LIFE);
    let kept = machine.start();
    let pool = kept.of_pool(POOL, Some(&uberblock(9)), false).unwrap();
    assert_eq!(recall(&pool, 1), None);
    assert!(pool.recall(DATASET, &[1; 32]).is_some());
    assert_eq!(machine.lent.load(SeqCst), (2 * PIECE * SLOT) as i64);
    kept.trim();
    assert!(pool.recall(DATASET, &[1; 32]).is_some());
    machine.clock.pass(LIFE + 1);
    kept.trim();
    assert!(pool.recall(DATASET, &[1; 32]).is_none() && kept.is_empty());
    assert_eq!(machine.lent.load(SeqCst), 0);
    drop(answered(&pool, 2, 10));
    assert_eq!(machine.lent.load(SeqCst), (PIECE * SLOT) as i64, "and is taken again");
}

#[test]
fn answers_that_cannot_be_followed_are_none_to_the_next_program() {
    let machine = Machine::new();
    let pool = fresh(&machine.start());
    drop(answered(&pool, 1, 9));
    let volume = VolumeKey { object: 5, guid: 50 };
    assert_ne!(pool.note(10, volume, 0, Change::Hole(7)), Noted::No);
    drop(pool);
    let (memory, has_room) = (machine.memory.clone(), Box::new(|_: u64| false));
    let full = Arc::new(TestKeepsake { memory, has_room, states: None });
    let kept = Kept::open(full, machine.clock.clone(), Box::new(|_| ())).unwrap();
    let pool = kept.of_pool(POOL, Some(&uberblock(9)), false).unwrap();
    assert_eq!(pool.waiting(), [volume], "volumes do without");
    assert_eq!(recall(&pool, 1), None);
    assert!(pool.note_call(&call(2), DATASET, 10).is_none());
    drop((pool, kept));
    let pool = machine.import(9);
    assert_eq!((pool.waiting(), recall(&pool, 1)), (vec![volume], None));
    assert!(pool.note_call(&call(2), DATASET, 10).is_some());
}

#[test]
fn hostile_bytes_are_entries_or_none() {
    let machine = Machine::new();
    let pool = fresh(&machine.start());
    (1..=100).for_each(|number| drop(answered(&pool, number, 9)));
    drop(pool);
    let good = bytes_of(&machine.memory);
    let mut prng = stdx::prng::Prng::new(18);
    let lanes = good.len() - LANES * PIECE * SLOT;
    for round in 0..300 {
        let mut bytes = good.clone();
        for _ in 0..1 + round {
            // The region of lane 3 and the head of the file are where something stands.
            let at = match prng.below(3) {
                0 => prng.below(128) as usize,
                1 => prng.below(bytes.len() as u64) as usize,
                _ => lanes + 3 * PIECE * SLOT + prng.below((PIECE * SLOT) as u64) as usize,
            };
            bytes[at] = match prng.below(3) {
                0 => 0xff,
                _ => prng.below(256) as u8,
            };
        }
        let machine = Machine::with(&bytes);
        let pool = machine.import(9);
        (1..=100).for_each(|number| drop(recall(&pool, number)));
        (1..=300).for_each(|number| drop(answered(&pool, number, 10)));
        pool.replayed(u64::MAX, u64::MAX, u64::MAX);
        pool.opened(DATASET);
    }
}
