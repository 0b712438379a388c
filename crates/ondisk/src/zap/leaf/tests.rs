use std::collections::BTreeMap;

use stdx::prng::Prng;

use super::*;

const SIZE: usize = 4096;

fn empty() -> Vec<u8> {
    let mut block = vec![0xee; SIZE];
    LeafMut::init(&mut block, false);
    block
}

fn value_of(rng: &mut Prng) -> Value {
    let len = rng.below(9) as usize;
    match rng.below(4) {
        0 => Value::U8((0..len * 7).map(|i| i as u8).collect()),
        1 => Value::U16(vec![0x1234; len]),
        2 => Value::U32(vec![0x1234_5678; len]),
        _ => Value::U64(vec![u64::MAX - 1; len]),
    }
}

fn find(leaf: &Leaf<'_>, key: &Key<'_>, hash: u64) -> Option<LeafEntry> {
    leaf.with_hash(hash).map(Result::unwrap).find(|entry| leaf.key_is(entry, key).unwrap())
}

/// Few different hashes, so that chains are long and differentiators matter.
fn hash_of(name: &[u8]) -> u64 {
    name.iter().fold(7_u64, |h, b| h.wrapping_mul(31) + u64::from(*b)) << 60 | 0x55 << 40
}

#[test]
fn agrees_with_a_map() {
    let mut rng = Prng::new(11);
    let mut block = empty();
    let mut model: BTreeMap<Vec<u8>, Value> = BTreeMap::new();
    for _ in 0..20_000 {
        let name = format!("name{}", "x".repeat(rng.below(40) as usize)).into_bytes();
        let (key, hash) = (Key::Name(&name), hash_of(&name));
        let mut leaf = LeafMut::new(&mut block, false).unwrap();
        let found = find(&leaf.view(), &key, hash);
        assert_eq!(found.map(|entry| leaf.view().value(&entry).unwrap()), model.get(&name).cloned());
        let value = value_of(&mut rng);
        match found {
            Some(entry) if rng.below(2) == 0 => {
                leaf.remove(&entry);
                model.remove(&name);
            }
            Some(entry) => {
                let room = usize::from(leaf.view().free_chunks) + entry.value_chunks();
                if array_chunks(value.size()) <= room {
                    leaf.set_value(&entry, &value);
                    model.insert(name, value);
                }
            }
            None if entry_chunks(&key, &value) <= usize::from(leaf.view().free_chunks) => {
                let cd = leaf.free_cd(hash);
                leaf.insert(&key, hash, cd, &value);
                model.insert(name, value);
            }
            None => {}
        }
    }
    let leaf = Leaf::new(&block).unwrap();
    assert_eq!(leaf.entries().unwrap().len(), model.len());
    let mut places: Vec<_> = leaf.entries().unwrap().iter().map(|entry| (entry.hash, entry.cd)).collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), model.len(), "differentiators tell equal hashes apart");
}

#[test]
fn a_split_parts_by_the_next_bit() {
    let mut block = empty();
    let mut leaf = LeafMut::init(&mut block, true);
    for i in 0..40_u64 {
        let words = [i, i * i];
        leaf.insert(&Key::Words(&words), i << 58, 0, &Value::one(i));
    }
    let mut other = vec![0; SIZE];
    leaf.split(&mut LeafMut::init(&mut other, true), true);
    for (block, prefix) in [(&mut block, 0), (&mut other, 1)] {
        let leaf = LeafMut::new(block, true).unwrap();
        let view = leaf.view();
        assert_eq!((view.prefix, view.prefix_len), (prefix, 1));
        for entry in view.entries().unwrap() {
            assert!(view.covers(entry.hash));
            let i = view.value(&entry).unwrap().first();
            assert_eq!(view.words(&entry).unwrap(), [i, i * i]);
        }
    }
    assert_eq!(Leaf::new(&other).unwrap().num_entries, 8);
}

/// Whatever one byte says, reading ends, and what the check lets through can be changed.
#[test]
fn hostile_bytes_end() {
    let mut good = empty();
    let mut leaf = LeafMut::init(&mut good, false);
    for i in 0..20_u64 {
        leaf.insert(&Key::Name(format!("{i}").as_bytes()), i << 59, 0, &Value::U64(vec![i; 5]));
    }
    let mut rng = Prng::new(5);
    let mut refused = 0;
    for _ in 0..30_000 {
        let mut bad = good.clone();
        for _ in 0..=rng.below(3) {
            let at = rng.below(SIZE as u64) as usize;
            bad[at] = rng.below(256) as u8;
        }
        if let Ok(leaf) = Leaf::new(&bad)
            && let Ok(entries) = leaf.entries()
        {
            for entry in entries {
                let _ = (leaf.name(&entry), leaf.value(&entry), leaf.words(&entry));
                let _ = leaf.key_is(&entry, &Key::Name(b"12"));
            }
        }
        let Ok(mut leaf) = LeafMut::new(&mut bad, false) else {
            refused += 1;
            continue;
        };
        for entry in leaf.view().entries().unwrap() {
            leaf.remove(&entry);
        }
        assert_eq!(leaf.view().num_entries, 0);
    }
    assert!(refused > 1000);
}

#[test]
fn the_other_byte_order_is_turned() {
    let mut little = empty();
    let mut leaf = LeafMut::init(&mut little, false);
    leaf.insert(&Key::Name(b"name"), 3 << 60, 0, &Value::one(9));
    let mut big = little.clone();
    for (at, len) in [(0, 8), (8, 8), (16, 8), (24, 4), (28, 2), (30, 2), (32, 2), (34, 2)] {
        big[at..at + len].reverse();
    }
    for at in (48..48 + 2 * (SIZE / 32)).step_by(2) {
        big[at..at + 2].reverse();
    }
    for at in (48 + 2 * (SIZE / 32)..SIZE - 23).step_by(24) {
        let fields: &[(usize, usize)] = match big[at] {
            TYPE_ENTRY => &[(2, 2), (4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 8)],
            _ => &[(22, 2)],
        };
        for (field, len) in fields {
            big[at + field..at + field + len].reverse();
        }
    }
    assert!(Leaf::new(&big).is_err());
    swap(&mut big);
    assert_eq!(big, little);
}
