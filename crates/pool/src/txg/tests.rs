use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use env::MemDisks;

use super::*;

/// Notes what it is asked to write, and takes its time.
#[derive(Default)]
struct Recorder {
    synced: Mutex<Vec<u64>>,
    slow: AtomicBool,
    broken: AtomicBool,
    panics: AtomicBool,
    under_way: AtomicU64,
}

impl Syncing for Recorder {
    fn sync(&self, txg: u64) -> Result<(), SyncError> {
        assert_eq!(self.under_way.fetch_add(1, SeqCst), 0, "two groups are written at once");
        assert!(!self.panics.load(SeqCst), "the sync panics, as the test wants");
        if self.slow.load(SeqCst) {
            std::thread::sleep(Duration::from_millis(30));
        }
        self.under_way.fetch_sub(1, SeqCst);
        if self.broken.load(SeqCst) {
            return Err(SyncError::Read(DmuError::Io));
        }
        lock(&self.synced).push(txg);
        Ok(())
    }
}

fn machine(limits: Limits) -> (Arc<Txgs>, Arc<Recorder>) {
    let env = Env { disks: Arc::new(MemDisks::new()), ..Env::real() };
    let txgs = Txgs::new(env, limits, 10);
    let recorder = Arc::new(Recorder::default());
    txgs.start(recorder.clone(), &|worker| txgs.env.driver.spawn(worker));
    (txgs, recorder)
}

#[test]
fn an_idle_machine_writes_nothing() {
    let (txgs, recorder) = machine(Limits { timeout: Some(Nanos::from_millis(1)), ..Limits::default() });
    std::thread::sleep(Duration::from_millis(30));
    assert_eq!(txgs.sync_now(), Ok(10));
    txgs.stop().unwrap();
    assert!(lock(&recorder.synced).is_empty());
}

#[test]
fn a_group_waits_for_whoever_is_inside_and_is_written_once() {
    let (txgs, recorder) = machine(Limits::default());
    let hold = txgs.enter(true).unwrap();
    assert_eq!(hold.txg(), 11);
    let waiting = {
        let txgs = txgs.clone();
        std::thread::spawn(move || txgs.wait_synced(11))
    };
    std::thread::sleep(Duration::from_millis(20));
    assert!(lock(&recorder.synced).is_empty() && !waiting.is_finished());
    assert!(matches!(txgs.enter(false), Err(DmuError::Busy)), "nobody enters a closing group");
    drop(hold);
    waiting.join().unwrap().unwrap();
    assert_eq!((txgs.synced(), txgs.open()), (11, 12));
    txgs.stop().unwrap();
    assert_eq!(*lock(&recorder.synced), [11]);
}

#[test]
fn a_change_is_written_by_itself_after_the_timeout() {
    let (txgs, _) = machine(Limits { timeout: Some(Nanos::from_millis(5)), ..Limits::default() });
    drop(txgs.enter(true).unwrap());
    let begun = std::time::Instant::now();
    while txgs.synced() < 11 {
        assert!(begun.elapsed() < Duration::from_secs(10), "never written");
        std::thread::sleep(Duration::from_millis(1));
    }
    txgs.stop().unwrap();
}

#[test]
fn many_who_wait_share_groups_and_each_finds_its_own_durable() {
    let (txgs, recorder) = machine(Limits::default());
    recorder.slow.store(true, SeqCst);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..3 {
                    let hold = txgs.enter(true).unwrap();
                    let txg = hold.txg();
                    drop(hold);
                    txgs.wait_synced(txg).unwrap();
                    assert!(txgs.synced() >= txg);
                }
            });
        }
    });
    txgs.stop().unwrap();
    let synced = lock(&recorder.synced).clone();
    assert!(synced.len() <= 12, "48 waiters took {} groups", synced.len());
    assert!(synced.windows(2).all(|pair| pair[1] == pair[0] + 1));
}

#[test]
fn the_dirty_limit_holds_and_much_dirt_closes_a_group_early() {
    let limits = Limits { dirty_max: 1 << 20, ..Limits::default() };
    let (txgs, _) = machine(limits);
    for _ in 0..64 {
        let hold = txgs.enter(true).unwrap();
        txgs.dirtied(hold.txg(), 100 << 10, 100 << 10);
        assert!(txgs.dirty() <= limits.dirty_max + (100 << 10));
    }
    assert!(txgs.synced() > 11);
    txgs.stop().unwrap();
}

#[test]
fn small_changes_of_large_blocks_let_a_group_grow() {
    let limits = Limits { dirty_max: 10 << 20, ..Limits::default() };
    let (txgs, _) = machine(limits);
    let change = |blocks: u64| {
        let hold = txgs.enter(true).unwrap();
        txgs.dirtied(hold.txg(), blocks * (128 << 10), 4096);
    };
    (0..24).for_each(|_| change(1));
    (0..200).for_each(|_| change(0));
    std::thread::sleep(Duration::from_millis(30));
    assert_eq!(txgs.synced(), 10, "3 MiB are dirty and less than 1 has changed");
    (0..16).for_each(|_| change(1));
    let begun = std::time::Instant::now();
    while txgs.synced() < 11 {
        assert!(begun.elapsed() < Duration::from_secs(4), "half of the limit is dirty");
        std::thread::sleep(Duration::from_millis(1));
    }
    txgs.stop().unwrap();
}

#[test]
fn the_delay_grows_without_a_step_as_room_goes() {
    let limits = Limits { dirty_max: 1000, ..Limits::default() };
    assert_eq!(limits.delay(600), Nanos(0));
    let delays: Vec<u64> = (600..1000).map(|dirty| limits.delay(dirty).0).collect();
    assert!(delays.windows(2).all(|pair| pair[0] <= pair[1]));
    assert!(delays[1] < 10_000 && limits.delay(1000).0 == 100_000_000);
}

#[test]
fn a_group_that_cannot_be_written_suspends_the_machine_for_good() {
    for panics in [false, true] {
        let (txgs, recorder) = machine(Limits::default());
        recorder.broken.store(true, SeqCst);
        recorder.panics.store(panics, SeqCst);
        drop(txgs.enter(true).unwrap());
        assert_eq!(txgs.wait_synced(11), Err(DmuError::Suspended));
        recorder.broken.store(false, SeqCst);
        assert!(matches!(txgs.enter(true), Err(DmuError::Suspended)));
        assert_eq!(txgs.sync_now(), Err(DmuError::Suspended));
        assert!(txgs.is_stopped() && lock(&recorder.synced).is_empty());
    }
}
