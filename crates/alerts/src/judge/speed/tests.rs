use super::*;
use crate::judge::pools::tests::pool;

/// Looks after each disk has done so many I/Os of so many microseconds.
fn look(speed: &mut Speed, io: &[(u64, u64)]) -> (Vec<PoolStatus>, Vec<Finding>) {
    let mut tank = pool("raidz");
    for (disk, (ops, micros)) in tank.root.children[0].children.iter_mut().zip(io) {
        disk.io.read_ops = *ops;
        disk.io.read_nanos = ops * micros * 1_000;
    }
    let pools = vec![tank];
    let findings = speed.look(&pools, &AlertSettings::default());
    (pools, findings)
}

#[test]
fn a_disk_is_slow_beside_the_others_and_not_for_its_load() {
    let mut speed = Speed::default();
    assert!(look(&mut speed, &[(0, 0); 4]).1.is_empty());
    let (pools, found) = look(&mut speed, &[(100, 5_000), (100, 6_000), (100, 90_000), (100, 5_000)]);
    let AlertKind::DiskSlow { disk, micros, others } = found[0].what.clone() else { panic!("{found:?}") };
    assert_eq!((disk.guid, micros, others, found.len()), (12, 90_000, 5_000, 1));
    assert!(found[0].is_firm && speed.cause(&pools, &found[0].what) == Some(ClearCause::WithinLimits));
    // All are slow: that is the load.
    let mut busy = Speed::default();
    look(&mut busy, &[(0, 0); 4]);
    assert!(look(&mut busy, &[(100, 90_000); 4]).1.is_empty());
}

#[test]
fn who_had_nothing_to_do_is_neither_slow_nor_no_more() {
    let mut speed = Speed::default();
    look(&mut speed, &[(0, 0); 4]);
    let (_, found) = look(&mut speed, &[(100, 5_000), (100, 5_000), (100, 90_000), (100, 5_000)]);
    let (pools, none) = look(&mut speed, &[(101, 5_000), (101, 5_000), (101, 90_000), (101, 5_000)]);
    assert!(none.is_empty() && speed.cause(&pools, &found[0].what).is_none());
    assert_eq!(speed.cause(&[], &found[0].what), Some(ClearCause::PoolGone));
    // Counters begin anew with an import.
    assert!(look(&mut speed, &[(60, 1_000_000); 4]).1.is_empty());
}
