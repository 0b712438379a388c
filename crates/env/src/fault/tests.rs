use super::*;
use crate::{IoClass, MemDisks};

fn two_disks() -> (FaultDisks, Arc<dyn Disk>, Arc<dyn Disk>) {
    let memory = MemDisks::new();
    memory.add("/d/a", 4096);
    memory.add("/d/b", 4096);
    let disks = FaultDisks::new(Arc::new(memory));
    let a = disks.open("/d/a", OpenMode::ReadWrite).unwrap();
    let b = disks.open("/d/b", OpenMode::ReadWrite).unwrap();
    (disks, a, b)
}

#[test]
fn the_nth_write_of_one_disk_fails_once() {
    let (disks, a, b) = two_disks();
    let fail = FaultKind::Fail(DiskError::Io(5));
    let rule = FaultRule::new(FaultOp::Write, fail);
    disks.inject(FaultRule { path: Some("/d/a".into()), skip: 1, times: 1, ..rule });
    let write = |disk: &Arc<dyn Disk>| disk.write_at(0, &[1; 512], IoClass::SyncWrite);
    assert_eq!([write(&a), write(&a), write(&a)], [Ok(()), Err(DiskError::Io(5)), Ok(())]);
    assert_eq!((write(&b), disks.fired()), (Ok(()), 1));
}

#[test]
fn only_the_entry_that_touches_the_range_fails() {
    let (disks, a, _) = two_disks();
    let rule = FaultRule::new(FaultOp::Read, FaultKind::Fail(DiskError::Gone));
    let id = disks.inject(FaultRule { bytes: (1024..1025).into(), ..rule });
    let (mut x, mut y) = ([0; 512], [0; 512]);
    let mut batch =
        [DiskIo::read(512, &mut x, IoClass::SyncRead), DiskIo::read(1024, &mut y, IoClass::SyncRead)];
    a.submit(&mut batch);
    assert_eq!(batch.map(|io| io.result), [Ok(()), Err(DiskError::Gone)]);
    assert!(disks.cancel(id) && !disks.cancel(id));
    assert_eq!(a.read_at(1024, &mut [0; 512], IoClass::SyncRead), Ok(()));
}

#[test]
fn corruption_inverts_and_lies_forget() {
    let (disks, a, _) = two_disks();
    a.write_at(0, &[7; 4], IoClass::SyncWrite).unwrap();
    let rule = FaultRule::new(FaultOp::Read, FaultKind::Corrupt);
    disks.inject(FaultRule { bytes: (1..3).into(), ..rule });
    let mut back = [0; 4];
    a.read_at(0, &mut back, IoClass::SyncRead).unwrap();
    assert_eq!(back, [7, !7, !7, 7]);
    disks.clear();
    disks.inject(FaultRule::new(FaultOp::Any, FaultKind::Lie));
    a.write_at(0, &[9; 4], IoClass::SyncWrite).unwrap();
    a.flush().unwrap();
    a.read_at(0, &mut back, IoClass::SyncRead).unwrap();
    assert_eq!(back, [7; 4]);
}

#[test]
fn opens_and_flushes_can_fail() {
    let (disks, a, _) = two_disks();
    disks.inject(FaultRule::new(FaultOp::Open, FaultKind::Fail(DiskError::NotFound)));
    disks.inject(FaultRule::new(FaultOp::Flush, FaultKind::Fail(DiskError::Io(28))));
    assert_eq!(disks.open("/d/a", OpenMode::ReadOnly).err(), Some(DiskError::NotFound));
    assert_eq!(a.flush(), Err(DiskError::Io(28)));
    assert_eq!(a.discard(0, 512), Ok(()));
}

#[test]
fn stretches_are_found_among_many() {
    let spans = Spans::new(vec![30..40, 0..10, 35..50, 70..70, 60..61]);
    let within = |start, end| spans.within(start, end).collect::<Vec<_>>();
    assert_eq!(within(0, 100), [0..10, 30..50, 60..61]);
    assert_eq!(within(9, 31), [9..10, 30..31]);
    assert_eq!(within(10, 30), []);
    assert_eq!(within(61, 100), []);
}
