use std::collections::BTreeMap;
use std::sync::Mutex;

use env::{DiskError, FaultKind, FaultOp, FaultRule, lock};
use ondisk::{ChecksumKind, CompressKind};

use super::*;
use crate::WritePolicy;
use crate::testing::{noise, rig, with};

#[derive(Default)]
struct Table {
    slots: Mutex<BTreeMap<DedupName, Slot>>,
    is_blind: bool,
}

impl DedupSource for Table {
    fn find(&self, names: &[DedupName]) -> Vec<Found> {
        let slots = lock(&self.slots);
        let found = |name| slots.get(name).map_or(Found::New, |slot| Found::There(*slot));
        names.iter().map(|name| if self.is_blind { Found::Unknown } else { found(name) }).collect()
    }

    fn refer(&self, name: &DedupName, references: u64) {
        lock(&self.slots).get_mut(name).unwrap().references += references;
    }

    fn add(&self, name: &DedupName, bp: &BlkPtr, references: u64) {
        let slot = Slot { dvas: bp.dvas(), references, birth: bp.physical_birth() };
        assert!(lock(&self.slots).insert(*name, slot).is_none());
    }
}

fn policy(dedup: Dedup) -> WritePolicy {
    WritePolicy { dedup, ..with(ChecksumKind::Sha256, CompressKind::Off) }
}

#[test]
fn a_block_is_written_once_and_read_everywhere() {
    let rig = rig(&[1]);
    let table = Arc::new(Table::default());
    rig.storage.attach_dedup(table.clone());
    let (one, two, zeros) = (noise(4096, 1), noise(4096, 2), Arc::new(crate::Block::zeroed(4096)));
    let blocks = [one.clone(), two.clone(), one.clone(), zeros, one.clone()];
    let first: Vec<BlkPtr> =
        rig.write(&blocks, policy(Dedup::On), 4).into_iter().map(Result::unwrap).collect();
    assert_eq!((first[0], first[2]), (first[4], first[0]));
    assert!(first[0].is_dedup() && first[3].is_hole() && first[0].dvas() != first[1].dvas());
    let second: Vec<BlkPtr> = rig
        .write(&[two.clone(), one.clone()], policy(Dedup::Verify), 9)
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert_eq!((second[0].dvas(), second[1].dvas()), (first[1].dvas(), first[0].dvas()));
    assert_eq!((second[0].logical_birth(), second[0].physical_birth()), (9, 4));
    for (bp, block) in
        first.iter().zip(&blocks).filter(|(bp, _)| !bp.is_hole()).chain(second.iter().zip([&two, &one]))
    {
        assert!(rig.read(bp).unwrap()[..] == block[..]);
    }
    let counts: Vec<u64> = lock(&table.slots).values().map(|slot| slot.references).collect();
    assert_eq!(counts.iter().sum::<u64>(), 6);
    // With more copies it is another block.
    let copied = rig.write_one(&one, WritePolicy { copies: 2, ..policy(Dedup::On) });
    assert_eq!(copied.ndvas(), 2);
    assert_eq!(lock(&table.slots).len(), 3);
}

#[test]
fn who_asks_for_it_gets_no_other_bytes() {
    let rig = rig(&[1]);
    let table = Arc::new(Table::default());
    rig.storage.attach_dedup(table.clone());
    let (one, two) = (noise(4096, 1), noise(4096, 2));
    let first = rig.write_one(&one, policy(Dedup::On));
    // As if the checksums of both were the same: under the name of the second lies the first.
    let salt = None;
    let sum = codec::checksum(ChecksumKind::Sha256 as u8, &two, salt, false).unwrap();
    let key = DdtKey::new(sum, 4096, 4096, CompressKind::Off as u8);
    let name = DedupName { checksum: ChecksumKind::Sha256, key, copies: 1 };
    let lie = Slot { dvas: first.dvas(), references: 1, birth: first.physical_birth() };
    lock(&table.slots).insert(name, lie);
    let trusted = rig.write_one(&two, policy(Dedup::On));
    assert_eq!(trusted.dvas(), first.dvas());
    let verified = rig.write_one(&two, policy(Dedup::Verify));
    assert!(!verified.is_dedup() && rig.read(&verified).unwrap()[..] == two[..]);
}

#[test]
fn without_a_table_blocks_are_written_as_ever() {
    let rig = rig(&[1]);
    let one = noise(4096, 1);
    let alone = rig.write_one(&one, policy(Dedup::On));
    rig.storage.attach_dedup(Arc::new(Table { is_blind: true, ..Table::default() }));
    let blind = rig.write_one(&one, policy(Dedup::On));
    assert!(!alone.is_dedup() && !blind.is_dedup() && alone.dvas() != blind.dvas());
}

#[test]
fn those_that_follow_a_block_follow_it_elsewhere() {
    let rig = rig(&[1]);
    let table = Arc::new(Table::default());
    rig.storage.attach_dedup(table.clone());
    let one = noise(64 << 10, 1);
    // The first try of the block does not arrive anywhere.
    rig.faults
        .inject(FaultRule { times: 1, ..FaultRule::new(FaultOp::Write, FaultKind::Fail(DiskError::Io(5))) });
    let written = rig.write(&[one.clone(), noise(512, 5), one.clone()], policy(Dedup::On), 4);
    let written: Vec<BlkPtr> = written.into_iter().map(Result::unwrap).collect();
    assert_eq!(written[0], written[2]);
    assert!(rig.read(&written[2]).unwrap()[..] == one[..]);
    let slots = lock(&table.slots);
    assert!(slots.values().any(|slot| slot.references == 2 && slot.is_of(&written[0])));
}
