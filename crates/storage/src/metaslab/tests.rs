use super::*;
use stdx::prng::Prng;

/// By vdev and metaslab: allocated or freed, and what.
type Entries = std::collections::BTreeMap<(u32, u64), Vec<(bool, Segment)>>;

/// Space maps in memory: what `take_changes` gave, appended.
#[derive(Default)]
struct Maps(Mutex<Entries>);

impl Maps {
    fn append(&self, change: &SpaceChange) {
        let mut maps = lock(&self.0);
        let map = maps.entry((change.vdev, change.metaslab)).or_default();
        map.extend(change.allocs.iter().map(|&segment| (true, segment)));
        map.extend(change.frees.iter().map(|&segment| (false, segment)));
    }

    /// Allocated segments of all metaslabs, replayed.
    fn allocated(&self) -> Vec<(u32, Segment)> {
        let mut all = Vec::new();
        for ((vdev, _), map) in lock(&self.0).iter() {
            let mut tree = RangeTree::new();
            for &(allocated, segment) in map {
                match allocated {
                    true => drop(tree.add(segment.start, segment.len)),
                    false => drop(tree.remove(segment.start, segment.len)),
                }
            }
            all.extend(tree.iter().map(|segment| (*vdev, segment)));
        }
        all
    }
}

impl SpaceMapSource for Maps {
    fn load(&self, vdev: u32, metaslab: u64, each: &mut dyn FnMut(bool, Segment)) -> Result<(), ReadError> {
        let map = lock(&self.0).get(&(vdev, metaslab)).cloned().unwrap_or_default();
        map.into_iter().for_each(|(allocated, segment)| each(allocated, segment));
        Ok(())
    }
}

const SECTOR: u64 = 512;

fn group(vdev: u32, count: u64) -> GroupSpec {
    let to_asize = Arc::new(|psize: u64| psize.next_multiple_of(SECTOR));
    GroupSpec { vdev, ashift: 9, metaslab_shift: 16, metaslab_count: count, summaries: Vec::new(), to_asize }
}

fn class(vdevs: u32, count: u64, maps: &Arc<Maps>) -> Class {
    let class = Class::new();
    class.attach_source(maps.clone());
    (0..vdevs).for_each(|vdev| class.add_group(group(vdev, count)));
    class
}

fn persist(class: &Class, maps: &Maps) {
    class.take_changes().iter().for_each(|change| maps.append(change));
}

/// The sum of blocks owned equals what the maps say, and no two blocks share a byte.
fn check_owned(owned: &[Dva], maps: &Maps) {
    let mut trees = std::collections::BTreeMap::<u32, RangeTree>::new();
    for dva in owned {
        trees.entry(dva.vdev).or_default().add(dva.offset, dva.asize);
    }
    let mut replayed = std::collections::BTreeMap::<u32, RangeTree>::new();
    for (vdev, segment) in maps.allocated() {
        replayed.entry(vdev).or_default().add(segment.start, segment.len);
    }
    let list = |trees: &std::collections::BTreeMap<u32, RangeTree>| -> Vec<(u32, Segment)> {
        trees.iter().flat_map(|(&vdev, tree)| tree.iter().map(move |segment| (vdev, segment))).collect()
    };
    assert_eq!(list(&trees), list(&replayed));
}

#[test]
fn random_txgs_never_give_a_byte_twice_and_the_maps_tell_all() {
    for seed in 0..20 {
        let mut prng = Prng::new(seed);
        let maps = Arc::new(Maps::default());
        let mut class = class(2, 8, &maps);
        let mut owned: Vec<Dva> = Vec::new();
        let mut freed: Vec<(u64, Dva)> = Vec::new();
        for txg in 1..120 {
            for _ in 0..prng.below(40) {
                let psize = 1 + prng.below(9000);
                let copies = 1 + prng.below(3) as usize;
                match class.allocate(psize, copies) {
                    Ok(dvas) => {
                        for dva in &dvas {
                            let early = freed.iter().find(|(when, old)| {
                                when + DEFER_TXGS >= txg && old.vdev == dva.vdev && near(old, dva)
                            });
                            assert!(early.is_none(), "{dva:?} given in {txg}, freed as {early:?}");
                        }
                        owned.extend(dvas);
                    }
                    Err(AllocError::NoSpace) => {}
                    Err(AllocError::Read(err)) => panic!("{err:?}"),
                }
                if prng.below(4) == 0 {
                    persist(&class, &maps);
                }
            }
            let keep = if prng.below(3) == 0 { 4 } else { 2 };
            owned.retain(|dva| {
                let kept = prng.below(keep) != 0;
                if !kept {
                    assert_eq!(class.free(dva), Freed::Done);
                    freed.push((txg, *dva));
                }
                kept
            });
            persist(&class, &maps);
            check_owned(&owned, &maps);
            class.sync_done(txg);
            let allocated: u64 = owned.iter().map(|dva| dva.asize).sum();
            assert_eq!(class.space().allocated, allocated);
            if prng.below(16) == 0 {
                class = reopened(&maps);
                freed.clear(); // After an import nothing is deferred.
            }
        }
    }
}

fn near(a: &Dva, b: &Dva) -> bool {
    a.offset < b.offset + b.asize && b.offset < a.offset + a.asize
}

fn reopened(maps: &Arc<Maps>) -> Class {
    let fresh = Class::new();
    fresh.attach_source(maps.clone());
    for vdev in 0..2 {
        let mut spec = group(vdev, 8);
        spec.summaries = vec![MetaslabSummary::default(); 8];
        let mine = maps.allocated().into_iter().filter(|(owner, _)| *owner == vdev);
        spec.summaries[0].allocated = mine.map(|(_, segment)| segment.len).sum();
        fresh.add_group(spec);
    }
    fresh
}

#[test]
fn copies_lie_on_different_vdevs_or_far_apart() {
    let maps = Arc::new(Maps::default());
    let three = class(3, 8, &maps).allocate(4096, 3).unwrap();
    let mut vdevs: Vec<u32> = three.iter().map(|dva| dva.vdev).collect();
    vdevs.sort_unstable();
    assert_eq!(vdevs, [0, 1, 2]);

    let alone = class(1, 64, &Arc::default()).allocate(4096, 3).unwrap();
    for (at, a) in alone.iter().enumerate() {
        for b in &alone[at + 1..] {
            assert!((a.offset >> 16).abs_diff(b.offset >> 16) >= 8, "{alone:?}");
        }
    }
}

#[test]
fn a_reader_keeps_freed_space_from_being_given_again() {
    let maps = Arc::new(Maps::default());
    let class = class(1, 1, &maps);
    let all: Vec<Dva> = std::iter::from_fn(|| class.allocate(4096, 1).ok()).map(|dvas| dvas[0]).collect();
    assert_eq!(all.len(), 16);
    persist(&class, &maps);
    class.sync_done(1);
    let reader = class.epoch();
    all.iter().for_each(|dva| assert_eq!(class.free(dva), Freed::Done));
    persist(&class, &maps);
    (2..=9).for_each(|txg| class.sync_done(txg));
    assert!(class.allocate(4096, 1).is_err());
    drop(reader);
    class.sync_done(10);
    assert!(class.allocate(4096, 1).is_ok());
}

#[test]
fn forged_pointers_free_nothing() {
    let class = class(1, 4, &Arc::default());
    let forged = Dva::new;
    for dva in [forged(7, 0, 512), forged(0, 1 << 40, 512), forged(0, 65536 - 512, 1024), forged(0, 0, 0)] {
        assert_eq!(class.free(&dva), Freed::Nowhere, "{dva:?}");
    }
}

#[test]
fn space_is_freed_once() {
    let maps = Arc::new(Maps::default());
    let class = class(1, 1, &maps);
    let dva = class.allocate(4096, 1).expect("an empty class has room")[0];
    let half = Dva::new(dva.vdev, dva.offset + 512, 512);
    assert_eq!(class.free(&Dva::new(dva.vdev, dva.offset + 8192, 512)), Freed::Twice, "never allocated");
    persist(&class, &maps);
    class.sync_done(1);
    assert_eq!(class.free(&dva), Freed::Done);
    assert_eq!((class.free(&dva), class.free(&half)), (Freed::Twice, Freed::Twice), "in the same group");
    persist(&class, &maps);
    for txg in 2..8 {
        class.sync_done(txg);
        assert_eq!(class.free(&half), Freed::Twice, "in a later group");
    }
    assert_eq!(class.space().allocated, 0);
}

#[test]
fn a_map_that_names_foreign_space_is_an_error() {
    let maps = Arc::new(Maps::default());
    lock(&maps.0).insert((0, 0), vec![(true, Segment { start: 1 << 20, len: 512 })]);
    assert!(matches!(class(1, 1, &maps).allocate(512, 1), Err(AllocError::Read(_))));
}

#[test]
fn fragmentation_is_zero_where_free_space_is_whole_and_high_in_crumbs() {
    let mut histogram = [0; 64];
    assert_eq!(fragmentation(&histogram), None);
    histogram[30] = 1;
    assert_eq!(fragmentation(&histogram), Some(0));
    histogram = [0; 64];
    histogram[9] = 1000;
    assert_eq!(fragmentation(&histogram), Some(100));
}
