use std::sync::Arc;

use env::{Disks, FaultDisks, FaultKind, FaultOp, FaultRule, MemDisks, OpenMode};

use ondisk::label;

use super::*;

const SIZE: u64 = 64 << 20;

fn uberblock(txg: u64) -> Uberblock {
    Uberblock { txg, guid_sum: 7, timestamp: 1_000, ..Uberblock::new(5000) }
}

fn target(disks: &dyn Disks, name: &str, guid: u64, top: u32) -> Target {
    let device = Device::locate(disks.open(name, OpenMode::ReadWrite).unwrap()).unwrap();
    Target { guid, top, ashift: 12, is_log: false, is_behind: false, device }
}

fn newest(target: &Target) -> Option<u64> {
    target.device.read_labels().uberblocks.first().map(|uberblock| uberblock.txg)
}

#[test]
fn every_device_gets_labels_and_uberblock() {
    let disks = Arc::new(MemDisks::new());
    ["a", "b"].iter().for_each(|name| disks.add(name, SIZE));
    let env = Env { disks: disks.clone(), ..Env::real() };
    let targets = [target(&*disks, "a", 1, 0), target(&*disks, "b", 2, 1)];
    let label = |top: u32, guid: u64| {
        let mut list = NvList::new();
        list.set("txg", u64::from(top) * 100 + guid);
        list
    };
    assert_eq!(commit(&env, &targets, &uberblock(9), Some(&label)), Ok(BTreeSet::new()));
    for target in &targets {
        assert_eq!(newest(target), Some(9));
        let configs = target.device.read_labels().configs;
        assert!(configs.iter().all(|config| *config == Some(label(target.top, target.guid))));
    }
}

#[test]
fn a_mirror_loses_a_device_whose_flush_fails_and_the_group_is_durable() {
    let memory = Arc::new(MemDisks::new());
    ["a", "b"].iter().for_each(|name| memory.add(name, SIZE));
    let faults = FaultDisks::new(memory.clone());
    let refuse = FaultRule::new(FaultOp::Flush, FaultKind::Fail(DiskError::Io(5)));
    faults.inject(FaultRule { path: Some("a".into()), ..refuse });
    let env = Env { disks: memory.clone(), ..Env::real() };
    let (a, b) = (target(&faults, "a", 1, 0), target(&faults, "b", 2, 0));
    let failed = commit(&env, &[a.clone(), b.clone()], &uberblock(3), None).unwrap();
    assert_eq!(failed, BTreeSet::from([1]));
    assert_eq!(newest(&b), Some(3));
    // The same device alone in its top-level vdev: nothing is durable.
    let alone = Target { top: 1, ..a };
    assert_eq!(commit(&env, &[alone.clone(), b.clone()], &uberblock(4), None), Err(WriteError::Io));
    // Nothing depends on it if it holds intent logs.
    let refuse = FaultRule::new(FaultOp::Write, FaultKind::Fail(DiskError::Io(5)));
    faults.inject(FaultRule { path: Some("a".into()), ..refuse });
    let log = Target { is_log: true, ..alone };
    assert_eq!(commit(&env, &[log.clone(), b.clone()], &uberblock(5), None), Ok(BTreeSet::from([1])));
    assert_eq!(newest(&b), Some(5));
    assert_eq!(commit(&env, &[log], &uberblock(6), None), Err(WriteError::Io), "logs alone are no pool");
}

#[test]
fn a_commit_cut_short_is_finished_and_one_that_never_was_is_not() {
    let disks = Arc::new(MemDisks::new());
    ["old", "new"].iter().for_each(|name| disks.add(name, SIZE));
    let env = Env { disks: disks.clone(), ..Env::real() };
    let targets = [target(&*disks, "old", 1, 0), target(&*disks, "new", 2, 0)];
    let label = |txg: u64| NvList::new().with(label::config::key::POOL_TXG, txg);
    let said = |target: &Target| {
        let txg =
            |config: &Option<NvList>| config.as_ref().unwrap().u64(label::config::key::POOL_TXG).unwrap();
        target.device.read_labels().configs.each_ref().map(txg)
    };
    targets[0].device.init(&label(4)).unwrap();
    targets[1].device.init(&label(0)).unwrap();
    targets.iter().for_each(|target| target.device.write_config(&label(7), true).unwrap());
    // The power went before any uberblock: the others are the labels that count.
    targets[0].device.write_uberblock(&uberblock(6), 12).unwrap();
    assert_eq!(finish(&env, &targets, &uberblock(6)), Ok(BTreeSet::new()));
    assert_eq!(said(&targets[0]), [7, 4, 7, 4]);
    // It went after the first one.
    targets[0].device.write_uberblock(&uberblock(8), 12).unwrap();
    assert_eq!(finish(&env, &targets, &uberblock(8)), Ok(BTreeSet::new()));
    for target in &targets {
        assert_eq!((said(target), newest(target)), ([7; 4], Some(8)));
    }
    // Nothing is missing: nothing is written.
    assert_eq!(finish(&env, &targets, &uberblock(9)), Ok(BTreeSet::new()));
    assert_eq!(newest(&targets[0]), Some(8));
}
