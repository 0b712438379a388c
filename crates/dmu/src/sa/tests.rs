use std::collections::BTreeMap;

use ondisk::object_type::ObjectType;
use ondisk::objset::ObjsetType;
use ondisk::sa::pack_words;
use ondisk::znode::attr::{self, DXATTR, FLAGS, MODE, RDEV, SYMLINK, XATTR, ZplAttr};
use stdx::prng::Prng;

use super::*;
use crate::ObjectSpec;
use crate::policy::ObjsetPolicy;
use crate::testing::Bench;
use crate::zap::{Value, Zap};

const ONE_SLOT_BONUS: u16 = 320;

fn bench() -> (Bench, u64, Arc<Sa>) {
    let bench = Bench::new(ObjsetType::Zfs, ObjsetPolicy::dataset());
    let (master, sa) = Sa::create(&bench.objset, &bench.tx()).unwrap();
    (bench, master, sa)
}

fn object(bench: &Bench) -> Arc<Dnode> {
    let spec = ObjectSpec::new(ObjectType::PLAIN_FILE_CONTENTS).with_bonus(ObjectType::SA, ONE_SLOT_BONUS);
    bench.objset.alloc(spec.with_slots(1), &bench.tx()).unwrap()
}

fn word(value: u64) -> Vec<u8> {
    pack_words(&[value])
}

#[test]
fn the_registry_is_written_once_and_layouts_as_needed() {
    let (mut bench, master, sa) = bench();
    let (one, two) = (object(&bench), object(&bench));
    for dnode in [&one, &two] {
        let values: [(&ZplAttr, &[u8]); 2] = [(&MODE, &word(0o644)), (&SYMLINK, b"target")];
        sa.replace_all(&bench.objset, dnode, &values, &bench.tx()).unwrap();
    }
    sa.update(&bench.objset, &two, &[(&FLAGS, Some(&word(4)))], &bench.tx()).unwrap();
    let (one, two) = (one.object(), two.object());
    bench.reopen();
    let master_zap = Zap::open(&bench.objset, master).unwrap();
    let registry = Zap::open(&bench.objset, master_zap.lookup_u64(sa::REGISTRY).unwrap()).unwrap();
    assert_eq!(registry.count().unwrap(), attr::ALL.len() as u64);
    assert_eq!(registry.lookup_u64("ZPL_MODE").unwrap(), 0x0800_0005);
    assert_eq!(registry.lookup_u64("ZPL_DACL_ACES").unwrap(), 0x4_0013);
    let layouts = Zap::open(&bench.objset, master_zap.lookup_u64(sa::LAYOUTS).unwrap()).unwrap();
    assert_eq!(layouts.count().unwrap(), 2);
    assert_eq!(layouts.lookup("2").unwrap(), Value::U16(vec![5, 17]));
    assert_eq!(layouts.lookup("3").unwrap(), Value::U16(vec![5, 17, 11]));
    let sa = Sa::open(&bench.objset, master).unwrap();
    let read = |object| sa.read_all(&bench.objset.hold(object).unwrap()).unwrap();
    assert_eq!(sa.word(&read(one), &MODE), Some(0o644));
    assert_eq!(sa.word(&read(one), &FLAGS), None);
    assert_eq!(sa.get(&read(two), &SYMLINK).unwrap(), b"target");
    assert_eq!(sa.word(&read(two), &FLAGS), Some(4));
}

#[test]
fn attributes_spill_over_and_come_back() {
    let (mut bench, master, sa) = bench();
    let dnode = object(&bench);
    let values: [(&ZplAttr, &[u8]); 1] = [(&MODE, &word(7))];
    sa.replace_all(&bench.objset, &dnode, &values, &bench.tx()).unwrap();
    let large = vec![3; 40_000];
    sa.update(&bench.objset, &dnode, &[(&DXATTR, Some(&large))], &bench.tx()).unwrap();
    assert!(dnode.has_spill());
    assert_eq!(sa.get(&sa.read(&dnode).unwrap(), &DXATTR), None);
    let object = dnode.object();
    drop(dnode);
    bench.reopen();
    let sa = Sa::open(&bench.objset, master).unwrap();
    let dnode = bench.objset.hold(object).unwrap();
    assert_eq!(sa.get(&sa.read_all(&dnode).unwrap(), &DXATTR).unwrap(), large);
    let too_large = vec![0; 70_000];
    let refused = sa.update(&bench.objset, &dnode, &[(&DXATTR, Some(&too_large))], &bench.tx());
    assert_eq!(refused, Err(DmuError::TooBig));
    assert_eq!(sa.get(&sa.read_all(&dnode).unwrap(), &DXATTR).unwrap(), large);
    sa.update(&bench.objset, &dnode, &[(&DXATTR, None)], &bench.tx()).unwrap();
    assert!(!dnode.has_spill());
    assert_eq!(sa.word(&sa.read_all(&dnode).unwrap(), &MODE), Some(7));
}

#[test]
fn random_changes_equal_a_map() {
    let attrs: [&'static ZplAttr; 7] = [&MODE, &FLAGS, &XATTR, &RDEV, &SYMLINK, &DXATTR, &attr::DACL_ACES];
    let (mut bench, master, mut sa) = bench();
    let object = object(&bench).object();
    let mut rng = Prng::new(11);
    let mut model: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    for step in 0..1500 {
        let dnode = bench.objset.hold(object).unwrap();
        let attr = attrs[rng.below(7) as usize];
        let limit = 1 << rng.range(1, 12);
        let len = if attr.info.length != 0 { 8 } else { rng.below(limit) as usize };
        let mut value = vec![0; len];
        rng.fill(&mut value);
        let value = rng.chance(3, 4).then_some(value);
        sa.update(&bench.objset, &dnode, &[(attr, value.as_deref())], &bench.tx()).unwrap();
        match value {
            Some(value) => drop(model.insert(attr.name, value)),
            None => drop(model.remove(attr.name)),
        }
        let view = sa.read_all(&dnode).unwrap();
        for attr in attrs {
            assert_eq!(sa.get(&view, attr).as_ref(), model.get(attr.name), "step {step}: {}", attr.name);
        }
        drop(dnode);
        if rng.chance(1, 30) {
            bench.reopen();
            sa = Sa::open(&bench.objset, master).unwrap();
        }
    }
}

#[test]
fn damaged_bonuses_are_errors() {
    let (bench, _, sa) = bench();
    let dnode = object(&bench);
    let values: [(&ZplAttr, &[u8]); 2] = [(&MODE, &word(7)), (&SYMLINK, b"x")];
    sa.replace_all(&bench.objset, &dnode, &values, &bench.tx()).unwrap();
    let good = dnode.bonus().bytes;
    for at in 0..8 {
        let mut bad = good.clone();
        bad[at] ^= 0x41;
        dnode.set_bonus(ObjectType::SA, &bad, &bench.tx()).unwrap();
        // A longer or shorter symlink may be wrong and still be one.
        assert!(sa.read(&dnode).is_err() || at >= 6, "byte {at}");
    }
}
