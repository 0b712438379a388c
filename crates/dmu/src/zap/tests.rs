use std::collections::BTreeMap;
use std::sync::Arc;

use ondisk::object_type::ObjectType;
use ondisk::zap::FLAG_HASH64;
use ondisk::zap::{FLAG_PRE_HASHED_KEY, FLAG_UINT64_KEY};
use stdx::prng::Prng;

use super::blocks::{Blocks, Draft};
use super::*;
use crate::ObjectSpec;
use crate::testing;

const SUM_OF_OPENZFS: u64 = 0x717a_e0f0_b307_4ad9;

struct Bench {
    blocks: Draft,
    normalize: Option<Normalize>,
}

impl Bench {
    fn new(block_size: usize, params: ZapParams) -> Bench {
        let bench = Bench { blocks: Draft::new(7, block_size), normalize: None };
        bench.ops().format(params).unwrap();
        bench
    }

    fn ops(&self) -> Ops<'_, Draft> {
        let object_type = ObjectType::DIRECTORY_CONTENTS;
        Ops { blocks: &self.blocks, object_type, normalize: self.normalize.as_ref() }
    }

    fn add(&self, name: impl AsRef<[u8]>, value: u64) {
        self.ops().put(&Key::Name(name.as_ref()), &Value::one(value), false).unwrap();
    }

    fn form(&self) -> Form {
        self.ops().info().unwrap().form
    }

    /// All entries, fetched in pages of `step`, in order and without doubles.
    fn list(&self, step: usize) -> Vec<Entry> {
        let (mut from, mut all) = (0, Vec::<Entry>::new());
        while from != Cursor::END {
            let page = self.ops().page(from, step).unwrap();
            assert!(page.entries.len() <= step);
            assert!(page.next == Cursor::END || page.entries.len() == step);
            all.extend(page.entries);
            from = page.next;
        }
        assert!(all.is_sorted_by(|one, other| one.place < other.place));
        all
    }
}

/// A ZAP as a map, and the same done to both.
struct Model {
    bench: Bench,
    map: BTreeMap<Vec<u8>, Value>,
}

impl Model {
    fn step(&mut self, rng: &mut Prng, names: u64, value: fn(&mut Prng) -> Value, adding: u64) {
        let name = name(rng.below(names));
        let key = Key::Name(&name);
        let ops = self.bench.ops();
        match rng.below(10 + adding) {
            0..=3 => {
                let expect = if self.map.remove(&name).is_some() { Ok(()) } else { Err(DmuError::NotFound) };
                assert_eq!(ops.take(&key, Match::Exact), expect);
            }
            4..=5 => {
                let found = maybe(ops.get(&key, Match::Exact)).unwrap();
                assert_eq!(found.as_ref().map(|found| &found.value), self.map.get(&name));
                assert!(found.is_none_or(|found| found.name == name && !found.conflict));
            }
            6..=7 => {
                let value = value(rng);
                assert_eq!(ops.put(&key, &value, true), Ok(()));
                self.map.insert(name, value);
            }
            _ => {
                let value = value(rng);
                let expect = if self.map.contains_key(&name) { Err(DmuError::Exists) } else { Ok(()) };
                assert_eq!(ops.put(&key, &value, false), expect);
                self.map.entry(name).or_insert(value);
            }
        }
    }

    fn check(&self) {
        let info = self.bench.ops().info().unwrap();
        assert_eq!(info.entries, self.map.len() as u64);
        let listed: BTreeMap<_, _> =
            self.bench.list(97).into_iter().map(|entry| (entry.name, entry.value)).collect();
        assert_eq!(listed, self.map);
    }
}

fn name(i: u64) -> Vec<u8> {
    format!("{i:x}-{}", "long".repeat((i % 13) as usize % 9)).into_bytes()
}

fn one(rng: &mut Prng) -> Value {
    Value::one(rng.next_u64())
}

fn any(rng: &mut Prng) -> Value {
    let most = if rng.chance(1, 50) { 300 } else { 6 };
    let len = rng.below(most) as usize;
    match rng.below(4) {
        0 => Value::U8(vec![7; len]),
        1 => Value::U16(vec![7; len]),
        2 => Value::U32(vec![7; len]),
        _ => Value::U64(vec![rng.next_u64(); len]),
    }
}

#[test]
fn a_small_one_is_micro_until_it_is_full() {
    let mut model = Model { bench: Bench::new(512, ZapParams::salted(5)), map: BTreeMap::new() };
    let mut rng = Prng::new(1);
    for _ in 0..3000 {
        model.step(&mut rng, 300, one, 10);
    }
    model.check();
    assert_eq!(model.bench.form(), Form::Micro);
    assert!(model.bench.blocks.block_size() < 32 << 10);
    for i in 0..3000 {
        let name = format!("entry {i}").into_bytes();
        model.bench.add(&name, i);
        model.map.insert(name, Value::one(i));
        let full = model.map.len() > (128 << 10) / 64 - 1;
        assert_eq!(model.bench.form(), if full { Form::Fat } else { Form::Micro });
    }
    assert_eq!(model.bench.blocks.block_size(), 16 << 10);
    model.check();
}

#[test]
fn long_names_and_other_values_make_it_fat() {
    let short = Key::Name(&[b'n'; 49]);
    for (key, value) in [
        (Key::Name(&[b'n'; 50]), Value::one(1)),
        (short, Value::U64(vec![1, 2])),
        (short, Value::U64(vec![])),
        (short, Value::U32(vec![1])),
    ] {
        let bench = Bench::new(512, ZapParams::salted(5));
        bench.add("first", 3);
        let places = bench.list(9);
        assert_eq!(bench.form(), Form::Micro);
        bench.ops().put(&key, &value, false).unwrap();
        assert_eq!(bench.form(), Form::Fat);
        assert_eq!(bench.ops().get(&key, Match::Exact).unwrap().value, value);
        assert!(bench.list(9).contains(&places[0]), "places stay");
    }
}

#[test]
fn agrees_with_a_map_while_it_grows_and_shrinks() {
    for (seed, block_size, flags) in [(1, 0, 0), (2, 1024, FLAG_HASH64), (3, 4096, FLAG_HASH64)] {
        let params = ZapParams { salt: seed, normflags: 0, flags };
        let bench = Bench::new(if flags == 0 { 512 } else { block_size }, params);
        let mut model = Model { bench, map: BTreeMap::new() };
        let mut rng = Prng::new(seed);
        let value = if block_size == 1024 { one } else { any };
        for round in 0..4 {
            for _ in 0..3_000 {
                model.step(&mut rng, 12_000, value, if round % 2 == 0 { 30 } else { 0 });
            }
            model.check();
        }
        let grown = model.bench.ops().info().unwrap();
        for name in std::mem::take(&mut model.map).into_keys() {
            model.bench.ops().take(&Key::Name(&name), Match::Exact).unwrap();
        }
        model.check();
        let empty = model.bench.ops().info().unwrap();
        assert_eq!(empty.leafs, 1, "{grown:?} {empty:?}");
        for _ in 0..3_000 {
            model.step(&mut rng, 12_000, value, 30);
        }
        model.check();
    }
}

/// With blocks this small the table leaves the head, and then doubles step by step.
#[test]
fn the_pointer_table_grows_on() {
    let params = ZapParams { salt: 3, normflags: 0, flags: FLAG_HASH64 };
    let bench = Bench::new(512, params);
    let mut model = Model { bench, map: BTreeMap::new() };
    let mut copying = 0;
    for i in 0..8_000 {
        let name = name(i);
        model.bench.add(&name, i);
        model.map.insert(name, Value::one(i));
        let block = model.bench.blocks.get(0).unwrap();
        let table = ondisk::zap::fat::FatHeader::decode(&block).unwrap().ptrtbl;
        copying += u64::from(table.nextblk != 0);
        if i % 2000 == 0 {
            model.check();
        }
    }
    model.check();
    assert!(copying > 100);
}

/// A key's first number is its hash: whoever wants collisions can have them.
#[test]
fn collisions_are_told_apart() {
    let flags = FLAG_HASH64 | FLAG_UINT64_KEY | FLAG_PRE_HASHED_KEY;
    let bench = Bench::new(4096, ZapParams { salt: 1, normflags: 0, flags });
    let mut map = BTreeMap::new();
    let mut rng = Prng::new(9);
    for _ in 0..20_000 {
        // The low 16 bits do not count; 20 hashes of up to 25 keys each.
        let key = [(rng.below(20) << 59) | rng.below(5), rng.below(5)];
        let words = Key::Words(&key);
        if rng.chance(1, 2) {
            let expect = if map.remove(&key).is_some() { Ok(()) } else { Err(DmuError::NotFound) };
            assert_eq!(bench.ops().take(&words, Match::Exact), expect);
        } else {
            bench.ops().put(&words, &Value::one(key[1]), true).unwrap();
            map.insert(key, key[1]);
        }
    }
    let listed: BTreeMap<_, _> =
        bench.list(3).iter().map(|entry| ([entry.words[0], entry.words[1]], entry.value.first())).collect();
    assert_eq!(listed, map);
    assert!(bench.list(3).iter().any(|entry| entry.place.cd > 5));
    assert_eq!(
        bench.ops().get(&Key::Name(b"x"), Match::Exact).map(|found| found.value),
        Err(DmuError::Invalid("kind of ZAP key"))
    );
}

#[test]
fn too_many_of_one_hash_are_refused_and_change_nothing() {
    let flags = FLAG_UINT64_KEY | FLAG_PRE_HASHED_KEY;
    let bench = Bench::new(512, ZapParams { salt: 1, normflags: 0, flags });
    let refused = (0..99).map(|i| bench.ops().put(&Key::Words(&[5 << 60, i]), &Value::one(i), false));
    assert_eq!(refused.filter(|put| *put == Err(DmuError::NoSpace)).count(), 99 - 6);
    assert_eq!(bench.list(2).len(), 6);
    let long = Key::Words(&[1; 30]);
    assert_eq!(bench.ops().put(&long, &Value::U64(vec![1; 20]), false), Err(DmuError::TooBig));
}

#[test]
fn a_listing_misses_nothing_that_stays() {
    let bench = Bench::new(512, ZapParams { salt: 3, normflags: 0, flags: FLAG_HASH64 });
    let mut rng = Prng::new(4);
    for i in 0..500 {
        bench.add(format!("stays {i}"), i);
    }
    let (mut from, mut met) = (0, Vec::new());
    while from != Cursor::END {
        let page = bench.ops().page(from, 3).unwrap();
        met.extend(page.entries.into_iter().filter(|entry| entry.name.starts_with(b"stays")));
        from = page.next;
        for _ in 0..20 {
            let other = format!("other {}", rng.below(400));
            if rng.chance(1, 2) {
                let _ = bench.ops().take(&Key::Name(other.as_bytes()), Match::Exact);
            } else {
                bench.ops().put(&Key::Name(other.as_bytes()), &Value::one(0), true).unwrap();
            }
        }
    }
    let mut numbers: Vec<_> = met.iter().map(|entry| entry.value.first()).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..500), "each once");
}

/// ASCII is enough to tell the two ways of folding apart: 2 folds case, 16 drops dashes.
fn fold(name: &[u8], flags: u64) -> Option<Vec<u8>> {
    if name.contains(&0xff) {
        return None;
    }
    let kept = name.iter().filter(|byte| flags & 16 == 0 || **byte != b'-');
    Some(kept.map(|byte| if flags & 2 != 0 { byte.to_ascii_uppercase() } else { *byte }).collect())
}

#[test]
fn names_are_found_by_their_normal_form() {
    for fat in [false, true] {
        let mut bench = Bench::new(512, ZapParams { salt: 8, normflags: 2 | 16, flags: 0 });
        let key = Key::Name(b"Na-me");
        assert_eq!(
            bench.ops().put(&key, &Value::one(0), false),
            Err(DmuError::Unsupported("normalised names"))
        );
        bench.normalize = Some(Arc::new(fold));
        let ops = bench.ops();
        if fat {
            bench.add([b'x'; 60], 9);
        }
        assert_eq!(bench.form(), if fat { Form::Fat } else { Form::Micro });
        bench.add("Na-me", 1);
        let get = |name: &[u8], how| {
            ops.get(&Key::Name(name), how).map(|found| (found.value.first(), found.conflict))
        };
        assert_eq!(get(b"NAME", Match::Exact), Err(DmuError::NotFound));
        assert_eq!(get(b"NAME", Match::Normalized), Ok((1, false)));
        assert_eq!(get(b"NAME", Match::NormalizedCase), Err(DmuError::NotFound));
        assert_eq!(get(b"Name", Match::NormalizedCase), Ok((1, false)));
        bench.add("NAME", 2);
        assert_eq!(get(b"name", Match::Normalized), Ok((1, true)), "the lowest differentiator");
        assert_eq!(get(b"NAME", Match::Exact), Ok((2, true)));
        let conflicts: Vec<_> = bench.list(1).iter().map(|entry| entry.conflict).collect();
        assert_eq!(bench.list(5).iter().filter(|entry| entry.conflict).count(), 2);
        assert!(conflicts.len() >= 2);
        ops.take(&Key::Name(b"nAmE"), Match::Normalized).unwrap();
        assert_eq!(get(b"name", Match::Normalized), Ok((2, false)));
        assert!(ops.put(&Key::Name(&[0xff]), &Value::one(0), false).is_err());
    }
}

#[test]
fn a_sum_that_is_zero_has_no_entry() {
    let bench = Bench::new(512, ZapParams::salted(0));
    let key = Key::Name(b"sum");
    bench.ops().increment(&key, 5).unwrap();
    bench.ops().increment(&key, -2).unwrap();
    assert_eq!(bench.ops().get(&key, Match::Exact).unwrap().value, Value::one(3));
    bench.ops().increment(&key, -3).unwrap();
    assert_eq!(bench.ops().info().unwrap().entries, 0);
}

#[test]
fn impossible_keys_are_refused() {
    let bench = Bench::new(512, ZapParams::salted(3));
    let put = |name: &[u8], size| bench.ops().put(&Key::Name(name), &Value::U8(vec![1; size]), false);
    assert_eq!(put(b"", 1), Err(DmuError::Invalid("ZAP name")));
    assert_eq!(put(b"a\0b", 1), Err(DmuError::Invalid("ZAP name")));
    assert_eq!(put(&[b'n'; 1024], 1), Err(DmuError::TooBig));
    assert_eq!(put(b"name", 8193), Err(DmuError::TooBig));
    assert_eq!(bench.form(), Form::Micro);
    assert_eq!(put(&[b'n'; 1023], 8192), Ok(()));
}

/// Damaged blocks give errors or wrong answers, and every call ends.
#[test]
fn hostile_blocks_are_errors() {
    let mut rng = Prng::new(21);
    let mut corrupt = 0;
    let good = [(0, 10), (FLAG_HASH64, 10), (FLAG_HASH64, 700)].map(|(flags, entries)| {
        let bench = Bench::new(1024, ZapParams { salt: 3, normflags: 0, flags });
        for i in 0..entries {
            bench.add(format!("{i}"), i);
        }
        bench.blocks
    });
    for round in 0..1500 {
        let bench = Bench { blocks: good[round % 3].clone(), normalize: None };
        let blocks = bench.ops().info().unwrap().blocks;
        for _ in 0..=rng.below(4) {
            let (blkid, value) = (rng.below(blocks.min(4)), rng.below(256) as u8);
            let end = if rng.chance(1, 2) { 104 } else { 1024 };
            let at = rng.below(end) as usize;
            let _ = bench.blocks.update(blkid, |block| block[at] = value);
        }
        let ops = bench.ops();
        for i in 0..12 {
            let name = format!("{i}");
            let key = Key::Name(name.as_bytes());
            corrupt += u32::from(matches!(ops.get(&key, Match::Exact), Err(DmuError::Corrupt { .. })));
            let _ = ops.take(&key, Match::Exact);
            let _ = ops.put(&key, &Value::U8(vec![3; 60]), true);
            let _ = ops.page(rng.next_u64(), 5);
        }
        let _ = ops.page(0, 1000);
    }
    assert!(corrupt > 1000);
}

/// The whole way: through transactions, syncs and reopening, until nothing is left on disk.
#[test]
fn objects_keep_their_entries() {
    let mut bench = testing::Bench::meta();
    let mut rng = Prng::new(31);
    let spec = ObjectSpec::new(ObjectType::DSL_PROPS);
    let object = Zap::create(&bench.objset, spec, ZapParams::salted(7), &bench.tx()).unwrap().object();
    let mut map: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    for round in 0..12 {
        let zap = Zap::open(&bench.objset, object).unwrap();
        let tx = bench.tx();
        let grows = round < 8;
        for _ in 0..450 {
            let name = name(rng.below(6000));
            if rng.chance(if grows { 1 } else { 9 }, 10) {
                let key = if grows { name } else { map.keys().next().cloned().unwrap_or(name) };
                assert_eq!(zap.remove(&key, &tx).is_ok(), map.remove(&key).is_some());
            } else {
                zap.update(&name, round, &tx).unwrap();
                map.insert(name, round);
            }
        }
        drop((tx, zap));
        if rng.chance(1, 2) {
            bench.reopen();
        } else {
            bench.sync();
        }
        let zap = Zap::open(&bench.objset, object).unwrap();
        let listed: BTreeMap<_, _> =
            zap.iter().map(|entry| entry.map(|entry| (entry.name, entry.value.first())).unwrap()).collect();
        assert_eq!(listed, map);
        assert_eq!(zap.count(), Ok(map.len() as u64));
    }
    let zap = Zap::open(&bench.objset, object).unwrap();
    assert_eq!(zap.info().unwrap().form, Form::Fat);
    let tx = bench.tx();
    for name in map.keys() {
        zap.remove(name, &tx).unwrap();
    }
    assert_eq!(zap.info().unwrap().leafs, 1);
    zap.add("single", 5, &tx).unwrap();
    assert_eq!(zap.name_of(5, 0), Ok(b"single".to_vec()));
    assert_eq!(zap.name_of(6, 0), Err(DmuError::NotFound));
    assert_eq!((zap.lookup_u64("single"), zap.find_u64("other")), (Ok(5), Ok(None)));
    zap.add_int(0xabc, &tx).unwrap();
    assert_eq!((zap.contains("abc"), zap.contains_int(0xabc)), (Ok(true), Ok(true)));
    drop(tx);
    bench.reopen();
    assert_eq!(Zap::open(&bench.objset, object).unwrap().entries().unwrap().len(), 2);
    bench.objset.free(object, &bench.tx()).unwrap();
    bench.sync();
    assert_eq!(bench.objset.object_count(), 0);
    assert_eq!(bench.store.live(), bench.books.owned());
}

/// However many entries there are, a look-up reads the head, a block of pointers and a leaf.
#[test]
fn a_look_up_reads_three_blocks() {
    let mut bench = testing::Bench::meta();
    let params = ZapParams { salt: 7, normflags: 0, flags: FLAG_HASH64 };
    let spec = ObjectSpec::new(ObjectType::DSL_PROPS).with_block_size(4096);
    let zap = Zap::create(&bench.objset, spec, params, &bench.tx()).unwrap();
    for i in 0..10_000 {
        zap.add(format!("entry {i}"), i, &bench.tx()).unwrap();
    }
    let object = zap.object();
    drop(zap);
    bench.reopen();
    let zap = Zap::open(&bench.objset, object).unwrap();
    let blocks = zap.info().unwrap().blocks;
    assert!(blocks > 200, "{blocks}");
    let before = bench.store.reads.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(zap.lookup_u64("entry 77"), Ok(77));
    let reads = bench.store.reads.load(std::sync::atomic::Ordering::Relaxed) - before;
    assert!(reads <= 2 * 3, "{reads} blocks, the pointers to them included");
}

/// A directory of 5000 files made by OpenZFS 2.1.11, of which zdb printed the salt and the order:
/// same salt and same names in the same order give the same head and pointer table (their sum was
/// taken from its bytes).
#[test]
fn a_directory_of_openzfs_is_made_again() {
    let bench = Bench::new(512, ZapParams::salted(0x778_51ef));
    for i in 0..5000 {
        bench.add(format!("entry-number-{i:05}"), i);
    }
    let info = bench.ops().info().unwrap();
    assert_eq!((info.form, info.entries, info.leafs, info.blocks), (Form::Fat, 5000, 32, 33));
    let first = bench.blocks.get(0).unwrap();
    let sum = first
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
    assert_eq!(sum, SUM_OF_OPENZFS);
    let numbers: Vec<_> = bench.list(9).iter().take(6).map(|entry| entry.value.first()).collect();
    assert_eq!(numbers, [595, 4633, 401, 2335, 2342, 476]);
}

/// A batch does what its changes do one after the other: through splits, collisions and leafs that
/// are given up.
#[test]
fn a_batch_is_its_changes_one_by_one() {
    let flags = FLAG_HASH64 | FLAG_UINT64_KEY | FLAG_PRE_HASHED_KEY;
    let params = ZapParams { flags, ..ZapParams::salted(3) };
    let (batched, single) = (Bench::new(1024, params), Bench::new(1024, params));
    let mut rng = Prng::new(8);
    let mut map: BTreeMap<[u64; 5], Value> = BTreeMap::new();
    // Two have one hash.
    let key = |id: u64| [(id / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15), 1, 2, 3, id];
    for round in 0..40 {
        let mut changes: BTreeMap<[u64; 5], Option<Value>> = BTreeMap::new();
        for _ in 0..rng.below(300) {
            let key = key(rng.below(2000));
            let grows = if round < 20 { rng.chance(3, 4) } else { rng.chance(1, 5) };
            if grows {
                changes.insert(key, Some(Value::U8(vec![7; rng.below(60) as usize])));
            } else if map.contains_key(&key) {
                changes.insert(key, None);
            }
        }
        let batch: Vec<_> = changes.iter().map(|(key, value)| (Key::Words(key), value.as_ref())).collect();
        assert_eq!(batched.ops().change(&batch), Ok(()));
        for (key, value) in changes {
            match &value {
                Some(value) => single.ops().put(&Key::Words(&key), value, true).unwrap(),
                None => single.ops().take(&Key::Words(&key), Match::Exact).unwrap(),
            }
            match value {
                Some(value) => map.insert(key, value),
                None => map.remove(&key),
            };
        }
        let keys: Vec<[u64; 5]> = (0..2000).map(key).collect();
        let keys: Vec<Key<'_>> = keys.iter().map(|key| Key::Words(key)).collect();
        for bench in [&batched, &single] {
            assert_eq!(bench.ops().info().unwrap().entries, map.len() as u64);
            let found = bench.ops().values(&keys).unwrap().answers;
            for (id, answer) in (0..).zip(found) {
                assert_eq!(answer, Ok(map.get(&key(id)).cloned()));
            }
        }
    }
    assert!(batched.ops().info().unwrap().leafs > 30);
    let rest: Vec<_> = map.keys().map(|key| (Key::Words(key), None)).collect();
    assert_eq!(batched.ops().change(&rest), Ok(()));
    let info = batched.ops().info().unwrap();
    assert_eq!((info.entries, info.leafs), (0, 1));
    assert_eq!(batched.ops().change(&rest[..1]), Err(DmuError::NotFound));
}
