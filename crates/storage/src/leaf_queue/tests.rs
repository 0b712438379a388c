use std::sync::Arc;

use env::{
    DiskIo, Disks, FaultDisks, FaultKind, FaultOp, FaultRule, MemDisks, Nanos, OpenMode, RealClock,
    SectorSize,
};

use super::*;

struct Rig {
    disks: MemDisks,
    faults: FaultDisks,
    queue: LeafQueue,
}

fn rig() -> Rig {
    let disks = MemDisks::new();
    disks.add("d", 8 << 20);
    disks.add("e", 8 << 20);
    let faults = FaultDisks::new(Arc::new(disks.clone()));
    let disk = faults.open("d", OpenMode::ReadWrite).unwrap();
    let queue = LeafQueue::new(disk, Arc::new(RealClock::new()), Arc::default());
    Rig { disks, faults, queue }
}

fn ask(queue: &LeafQueue, class: IoClass, ios: Vec<(u64, Transfer)>) -> Arc<Completion> {
    let completion = Completion::new(ios.len());
    let request = |(slot, (offset, transfer))| Request {
        offset,
        transfer,
        class,
        completion: completion.clone(),
        slot,
        since: Nanos(0),
    };
    queue.push(ios.into_iter().enumerate().map(request).collect());
    completion
}

fn write(byte: u8, len: usize) -> Transfer {
    Transfer::Write(Payload::padded(&vec![byte; len], 512))
}

#[test]
fn neighbours_are_joined_up_to_a_limit() {
    let rig = rig();
    let ios = (0..48).map(|n| (n * (32 << 10), write(n as u8, 32 << 10))).collect();
    let done = ask(&rig.queue, IoClass::AsyncWrite, ios);
    while rig.queue.carry(None) {}
    assert!(done.is_done());
    assert_eq!(rig.disks.counts("d").writes, 2);
    let ios = (0..48).rev().map(|n| (n * (32 << 10), Transfer::Read(32 << 10))).collect();
    let done = ask(&rig.queue, IoClass::AsyncRead, ios);
    while rig.queue.carry(None) {}
    assert_eq!(rig.disks.counts("d").reads, 2);
    let answers = std::mem::take(&mut lock(&done.state).slots);
    for (n, answer) in (0..48u8).rev().zip(answers) {
        assert_eq!(answer.unwrap().unwrap().unwrap()[..], vec![n; 32 << 10]);
    }
    let large = (0..8).map(|n| (n * (128 << 10), write(n as u8, 128 << 10))).collect();
    let done = ask(&rig.queue, IoClass::AsyncWrite, large);
    while rig.queue.carry(None) {}
    assert!(done.is_done());
    assert_eq!(rig.disks.counts("d").writes, 2 + 8, "copying large ones together costs more than it saves");
}

#[test]
fn readers_pass_a_flood_of_writes() {
    let rig = rig();
    // Every other sector, so that nothing is joined.
    let flood = (0..200).map(|n| (n * 1024, write(1, 512))).collect();
    let written = ask(&rig.queue, IoClass::AsyncWrite, flood);
    let read = ask(&rig.queue, IoClass::SyncRead, vec![(4 << 20, Transfer::Read(512))]);
    assert!(rig.queue.carry(None));
    assert!(read.is_done() && rig.disks.counts("d").writes == 0);
    assert!(rig.queue.carry(None));
    assert_eq!(rig.disks.counts("d").writes, 16, "a burst is half of the class's limit");
    assert!(!rig.queue.carry(Some(IoClass::SyncRead)), "a caller carries only its own class");
    while rig.queue.carry(None) {}
    assert!(written.is_done());
}

#[test]
fn write_behind_makes_room_for_who_waits_for_a_write() {
    let rig = rig();
    let flood = (0..200).map(|n| (n * 1024, write(1, 512))).collect();
    let written = ask(&rig.queue, IoClass::AsyncWrite, flood);
    let logged = ask(&rig.queue, IoClass::SyncWrite, vec![(4 << 20, write(2, 512))]);
    assert!(rig.queue.carry(None));
    assert!(logged.is_done() && rig.disks.counts("d").writes == 1);
    let (min, _) = LIMITS[index(IoClass::AsyncWrite)];
    assert!(rig.queue.carry(None));
    assert_eq!(rig.disks.counts("d").writes as usize, 1 + min / 2);
    std::thread::sleep(std::time::Duration::from_nanos(2 * CALM.0));
    assert!(rig.queue.carry(None));
    assert_eq!(rig.disks.counts("d").writes as usize, 1 + min / 2 + 16, "nobody waits any more");
    while rig.queue.carry(None) {}
    assert!(written.is_done());
}

#[test]
fn a_bad_sector_spoils_only_its_own_io() {
    let rig = rig();
    rig.faults.inject(FaultRule {
        bytes: (1024..1536).into(),
        ..FaultRule::new(FaultOp::Any, FaultKind::Fail(DiskError::Io(5)))
    });
    for (class, make) in [
        (IoClass::AsyncWrite, (|| write(7, 512)) as fn() -> Transfer),
        (IoClass::AsyncRead, || Transfer::Read(512)),
    ] {
        let done = ask(&rig.queue, class, (0..4).map(|n| (n * 512, make())).collect());
        while rig.queue.carry(None) {}
        let answers = std::mem::take(&mut lock(&done.state).slots);
        let good: Vec<bool> = answers.into_iter().map(|answer| answer.unwrap().is_ok()).collect();
        assert_eq!(good, [true, true, false, true]);
    }
    assert_eq!(rig.queue.counters.write_errors.load(Relaxed), 1);
    assert_eq!(rig.queue.counters.pending.load(Relaxed), 0);
}

#[test]
fn every_request_is_counted_by_its_kind_alone_or_with_its_neighbours() {
    let queue = rig().queue;
    let done = ask(
        &queue,
        IoClass::AsyncWrite,
        vec![(0, write(1, 4096)), (4096, write(2, 4096)), (65536, write(3, 512))],
    );
    assert_eq!(queue.depths().0[index(IoClass::AsyncWrite)], 3);
    while queue.carry(None) {}
    assert!(done.is_done());
    let tally = queue.counters.tallies.snapshot();
    let (class, sum) = (index(IoClass::AsyncWrite), |counts: &[u64; 64]| counts.iter().sum::<u64>());
    assert_eq!(tally.joined[class][13], 1, "two neighbours are one I/O of 8 KiB");
    assert_eq!(tally.alone[class][9], 1);
    assert_eq!((sum(&tally.queued[class]), sum(&tally.total[1]), sum(&tally.total[0])), (3, 3, 0));
    assert_eq!(queue.depths(), ([0; CLASSES], [0; CLASSES]));
}

/// A disk in front of which something happens.
struct Odd<F>(Arc<dyn Disk>, F);

impl<F: Fn(&[DiskIo<'_>]) + Send + Sync> Disk for Odd<F> {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn refresh(&self) -> u64 {
        self.0.refresh()
    }

    fn sector_size(&self) -> SectorSize {
        self.0.sector_size()
    }

    fn submit(&self, batch: &mut [DiskIo<'_>]) {
        (self.1)(batch);
        self.0.submit(batch);
    }

    fn flush(&self) -> Result<(), DiskError> {
        self.0.flush()
    }

    fn discard(&self, offset: u64, len: u64) -> Result<(), DiskError> {
        self.0.discard(offset, len)
    }
}

#[test]
fn a_panic_of_who_carries_reaches_who_waits() {
    let rig = rig();
    let panics = |batch: &[DiskIo<'_>]| assert!(batch.iter().all(|io| io.offset != 0), "a defect");
    let disk = Odd(rig.faults.open("e", OpenMode::ReadWrite).unwrap(), panics);
    let env = Env { disks: Arc::new(rig.disks.clone()), ..Env::real() };
    let queue = Arc::new(LeafQueue::new(Arc::new(disk), env.clock.clone(), Arc::default()));
    let workers = Workers::spawn(&env, &queue);
    for _ in 0..20 {
        let done = ask(&queue, IoClass::AsyncWrite, vec![(0, write(1, 512)), (1 << 20, write(2, 512))]);
        queue.wake();
        let waited = catch_unwind(AssertUnwindSafe(|| done.wait(&env, &[], IoClass::AsyncWrite)));
        assert!(waited.is_err(), "there is no answer");
        // The queue goes on, and its threads do.
        let done = ask(&queue, IoClass::AsyncWrite, vec![(1 << 20, write(3, 512))]);
        queue.wake();
        assert!(done.wait(&env, &[], IoClass::AsyncWrite).iter().all(Result::is_ok));
    }
    assert_eq!(queue.depths(), ([0; CLASSES], [0; CLASSES]));
    drop(workers);
}

#[test]
fn a_disk_that_does_not_answer_is_named() {
    let rig = rig();
    let gate = Arc::new(Mutex::new(()));
    let may_pass = gate.clone();
    let waits = move |_: &[DiskIo<'_>]| drop(lock(&may_pass));
    let disk = Odd(rig.faults.open("e", OpenMode::ReadWrite).unwrap(), waits);
    let env = Env { disks: Arc::new(rig.disks.clone()), ..Env::real() };
    let queue = Arc::new(LeafQueue::new(Arc::new(disk), env.clock.clone(), Arc::default()));
    let _workers = Workers::spawn(&env, &queue);
    let closed = lock(&gate);
    let done = ask(&queue, IoClass::SyncWrite, vec![(0, write(1, 512))]);
    queue.wake();
    while queue.depths().1 == [0; CLASSES] {
        std::thread::yield_now();
    }
    let (now, limit) = (env.clock.now(), Nanos::from_secs(300));
    assert_eq!(queue.overdue(now, limit), None);
    let (what, since) = queue.overdue(now + limit, limit).expect("it is late");
    assert_eq!(what, "synchronous write");
    assert!(since <= now);
    assert_eq!(queue.overdue(now + limit + limit, limit), None, "it is named once");
    drop(closed);
    assert!(done.wait(&env, &[], IoClass::SyncWrite).iter().all(Result::is_ok));
    assert_eq!(queue.overdue(now + limit + limit, limit), None);
}
