use ondisk::object_type::ObjectType;

use super::*;
use crate::WritePolicy;
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

fn class(vdevs: u32, count: u64, maps: &Arc<Maps>) -> Classes {
    let class = Classes::default();
    class.attach_source(&source(maps));
    (0..vdevs).for_each(|vdev| class.normal.add_group(group(vdev, count)));
    class
}

fn source(maps: &Arc<Maps>) -> Arc<dyn SpaceMapSource> {
    maps.clone()
}

fn persist(class: &Classes, maps: &Maps, txg: u64) {
    class.take_changes(txg).iter().for_each(|change| maps.append(change));
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
        let mut open: Vec<Dva> = Vec::new(); // Of the next group, which nothing on disk may show yet.
        let mut freed: Vec<(u64, Dva)> = Vec::new();
        for txg in 1..120 {
            owned.append(&mut open);
            for _ in 0..prng.below(40) {
                let psize = 1 + prng.below(9000);
                let (copies, later) = match prng.below(4) {
                    0 => (1, 1),
                    copies => (copies as usize, 0),
                };
                match class.normal.allocate(psize, copies, txg + later) {
                    Ok(dvas) => {
                        for dva in &dvas {
                            let early = freed.iter().find(|(when, old)| {
                                when + DEFER_TXGS >= txg && old.vdev == dva.vdev && near(old, dva)
                            });
                            assert!(early.is_none(), "{dva:?} given in {txg}, freed as {early:?}");
                        }
                        if later == 1 && prng.below(3) == 0 {
                            class.unallocate(&dvas[0], txg + 1);
                        } else if later == 1 {
                            open.extend(dvas);
                        } else {
                            owned.extend(dvas);
                        }
                    }
                    Err(AllocError::NoSpace) => {}
                    Err(AllocError::Read(err)) => panic!("{err:?}"),
                }
                if prng.below(4) == 0 {
                    persist(&class, &maps, txg);
                }
            }
            let keep = if prng.below(3) == 0 { 4 } else { 2 };
            owned.retain(|dva| {
                let kept = prng.below(keep) != 0;
                if !kept {
                    assert_eq!(class.free(dva, txg, false), Freed::Done);
                    freed.push((txg, *dva));
                }
                kept
            });
            persist(&class, &maps, txg);
            check_owned(&owned, &maps);
            check_condensed(&class, &maps);
            class.sync_done(txg);
            let allocated: u64 = owned.iter().chain(&open).map(|dva| dva.asize).sum();
            assert_eq!(class.normal.space().allocated, allocated);
            if prng.below(16) == 0 {
                class = reopened(&maps);
                freed.clear(); // After an import nothing is deferred.
                open.clear(); // And the open group was never there.
            }
        }
    }
}

/// A map written anew says what the old one says.
fn check_condensed(class: &Classes, maps: &Maps) {
    let all = maps.allocated();
    for vdev in 0..2 {
        for metaslab in 0..8 {
            let Some(anew) = class.allocated_segments(vdev, metaslab) else { continue };
            let mine =
                all.iter().filter(|(owner, segment)| *owner == vdev && segment.start >> 16 == metaslab);
            assert_eq!(anew, mine.map(|(_, segment)| *segment).collect::<Vec<_>>());
        }
    }
}

fn near(a: &Dva, b: &Dva) -> bool {
    a.offset < b.offset + b.asize && b.offset < a.offset + a.asize
}

fn reopened(maps: &Arc<Maps>) -> Classes {
    let fresh = Classes::default();
    fresh.attach_source(&source(maps));
    for vdev in 0..2 {
        let mut spec = group(vdev, 8);
        spec.summaries = vec![MetaslabSummary::default(); 8];
        let mine = maps.allocated().into_iter().filter(|(owner, _)| *owner == vdev);
        spec.summaries[0].allocated = mine.map(|(_, segment)| segment.len).sum();
        fresh.normal.add_group(spec);
    }
    fresh
}

#[test]
fn copies_lie_on_different_vdevs_or_far_apart() {
    let maps = Arc::new(Maps::default());
    let three = class(3, 8, &maps).normal.allocate(4096, 3, 1).unwrap();
    let mut vdevs: Vec<u32> = three.iter().map(|dva| dva.vdev).collect();
    vdevs.sort_unstable();
    assert_eq!(vdevs, [0, 1, 2]);

    let alone = class(1, 64, &Arc::default()).normal.allocate(4096, 3, 1).unwrap();
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
    let all: Vec<Dva> =
        std::iter::from_fn(|| class.normal.allocate(4096, 1, 1).ok()).map(|dvas| dvas[0]).collect();
    assert_eq!(all.len(), 16);
    persist(&class, &maps, 1);
    class.sync_done(1);
    let reader = class.epoch();
    all.iter().for_each(|dva| assert_eq!(class.free(dva, 2, false), Freed::Done));
    persist(&class, &maps, 2);
    (2..=9).for_each(|txg| class.sync_done(txg));
    assert!(class.normal.allocate(4096, 1, 11).is_err());
    drop(reader);
    class.sync_done(10);
    assert!(class.normal.allocate(4096, 1, 11).is_ok());
}

#[test]
fn forged_pointers_free_nothing() {
    let class = class(1, 4, &Arc::default());
    let forged = Dva::new;
    for dva in [forged(7, 0, 512), forged(0, 1 << 40, 512), forged(0, 65536 - 512, 1024), forged(0, 0, 0)] {
        assert_eq!(class.free(&dva, 1, false), Freed::Nowhere, "{dva:?}");
    }
}

#[test]
fn space_is_freed_once() {
    let maps = Arc::new(Maps::default());
    let class = class(1, 1, &maps);
    let dva = class.normal.allocate(4096, 1, 1).expect("an empty class has room")[0];
    let half = Dva::new(dva.vdev, dva.offset + 512, 512);
    assert_eq!(
        class.free(&Dva::new(dva.vdev, dva.offset + 8192, 512), 1, false),
        Freed::Twice,
        "never allocated"
    );
    persist(&class, &maps, 1);
    class.sync_done(1);
    assert_eq!(class.free(&dva, 2, false), Freed::Done);
    assert_eq!(
        (class.free(&dva, 2, false), class.free(&half, 2, false)),
        (Freed::Twice, Freed::Twice),
        "in the same group"
    );
    persist(&class, &maps, 2);
    for txg in 2..8 {
        class.sync_done(txg);
        assert_eq!(class.free(&half, txg, false), Freed::Twice, "in a later group");
    }
    assert_eq!(class.normal.space().allocated, 0);
}

#[test]
fn what_a_checkpoint_keeps_stays_allocated() {
    let maps = Arc::new(Maps::default());
    let class = class(1, 1, &maps);
    let dva = class.normal.allocate(4096, 1, 1).expect("an empty class has room")[0];
    persist(&class, &maps, 1);
    class.sync_done(1);
    let before = class.allocated_segments(0, 0);
    assert_eq!(class.free(&dva, 2, true), Freed::Done);
    assert_eq!((class.free(&dva, 2, true), class.free(&dva, 2, false)), (Freed::Twice, Freed::Twice));
    let [change] = class.take_changes(2).try_into().expect("one metaslab");
    assert_eq!((change.allocs.len(), change.frees.len()), (0, 0));
    assert_eq!(change.kept, [Segment { start: dva.offset, len: 4096 }]);
    (2..8).for_each(|txg| class.sync_done(txg));
    assert_eq!((class.allocated_segments(0, 0), class.normal.space().allocated), (before, 4096));
    // The checkpoint is discarded.
    assert_eq!(class.free(&dva, 8, false), Freed::Done);
    persist(&class, &maps, 8);
    class.sync_done(8);
    assert_eq!(class.normal.space().allocated, 0);
}

#[test]
fn what_an_open_group_has_is_not_in_the_space_map_before_its_time() {
    let maps = Arc::new(Maps::default());
    let class = class(1, 1, &maps);
    let open = class.normal.allocate(4096, 1, 6).expect("an empty class has room")[0];
    let synced = class.normal.allocate(512, 1, 5).expect("an empty class has room")[0];
    let [change] = class.take_changes(5).try_into().expect("one metaslab");
    assert_eq!(change.allocs, [Segment { start: synced.offset, len: 512 }]);
    let free: u64 = change.histogram.expect("it is loaded").iter().sum();
    assert_eq!(free, 2, "what is open counts as a free segment, and the rest");
    assert_eq!(class.allocated_segments(0, 0), Some(change.allocs));
    assert_eq!(class.free(&open, 5, false), Freed::Twice, "on disk it is free");
    class.sync_done(5);
    let [change] = class.take_changes(6).try_into().expect("one metaslab");
    assert_eq!(change.allocs, [Segment { start: open.offset, len: 4096 }]);
    assert_eq!(class.free(&open, 6, false), Freed::Done);
}

#[test]
fn claims_take_what_is_free_and_leave_what_is_in_use() {
    let maps = Arc::new(Maps::default());
    lock(&maps.0).insert((0, 0), vec![(true, Segment { start: 4096, len: 4096 })]);
    let class = class(1, 2, &maps);
    let claim = |offset, len| class.claim(&Dva::new(0, offset, len), 7);
    assert_eq!(claim(0, 4096), Ok(()));
    assert_eq!((claim(0, 4096), claim(4096, 4096)), (Ok(()), Ok(())), "in use already");
    assert_eq!(claim(4096, 8192), Err(ReadError::Corrupt), "the second half is free");
    assert_eq!(claim(65536 - 512, 1024), Err(ReadError::Corrupt), "beyond its metaslab");
    assert_eq!(class.claim(&Dva::new(9, 0, 512), 7), Err(ReadError::Corrupt), "no such vdev");
    assert_eq!(class.vdev_space(0).map(|space| space.allocated), Some(4096), "the map's is not counted here");
    assert!(class.take_changes(6).is_empty());
    let [change] = class.take_changes(7).try_into().expect("one metaslab");
    assert_eq!(change.allocs, [Segment { start: 0, len: 4096 }]);
}

#[test]
fn logs_have_a_class_of_their_own_and_take_turns() {
    let class = class(1, 4, &Arc::default());
    (1..3).for_each(|vdev| class.log.add_group(group(vdev, 4)));
    let places: Vec<u32> =
        (0..6).map(|_| class.log.allocate(4096, 1, 1).expect("there is room")[0].vdev).collect();
    assert_eq!(places, [1, 2, 1, 2, 1, 2]);
    let only_two = class.log.allocate_log(4096, 1, &|vdev| vdev == 2).expect("there is room");
    assert_eq!(only_two.vdev, 2);
    assert!(matches!(class.log.allocate_log(4096, 1, &|_| false), Err(AllocError::NoSpace)));
    assert_eq!(class.normal.space().allocated, 0, "the pool's space is not the logs'");
    assert_eq!(class.vdev_space(2).map(|space| space.allocated), Some(4 * 4096));
    assert_eq!(class.free(&only_two, 1, false), Freed::Done);
    assert_eq!(class.take_changes(1).iter().map(|change| change.vdev).collect::<Vec<_>>(), [1, 2]);
    class.sync_done(1);
    assert!(class.has_deferred());
}

#[test]
fn a_loan_of_a_log_that_has_left_is_given_back_to_nobody() {
    let maps = Arc::default();
    let class = class(1, 4, &maps);
    class.log.add_group(group(1, 4));
    let loan = |from| {
        let loan = class.lend(1, from, (1, 1 << 20)).expect("maps in memory").expect("it has a metaslab");
        loan.lent.expect("it is free")
    };
    let (first, second) = (loan(0), loan(1 << 16));
    class.log.remove_group(1);
    class.give_back(1, first);
    class.log.add_group(group(1, 4));
    class.give_back(1, second);
    assert_eq!(loan(0), first, "another is in its place, which is free as a whole");
}

/// Loading while sync takes, appends and forgets: whatever the moment, no byte is had twice.
#[test]
fn loading_beside_syncing_loses_nothing() {
    let maps = Arc::new(Maps::default());
    let class = class(1, 4, &maps);
    let done = std::sync::atomic::AtomicBool::new(false);
    let (class, maps, done) = (&class, &maps, &done);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..2000 {
                let group = class.normal.group(0).expect("it has one group");
                group
                    .group
                    .metaslabs
                    .iter()
                    .for_each(|metaslab| metaslab.load(&**maps).expect("maps in memory"));
                std::thread::yield_now();
            }
            done.store(true, Relaxed);
        });
        let mut txg = 1;
        let mut live = RangeTree::new();
        while !done.load(Relaxed) {
            let mut mine = Vec::new();
            for _ in 0..8 {
                if let Ok(dvas) = class.normal.allocate(512, 1, txg) {
                    live.add(dvas[0].offset, dvas[0].asize); // Panics on a byte that is had twice.
                    mine.push(dvas[0]);
                }
            }
            persist(class, maps, txg);
            for dva in mine.iter().step_by(2) {
                assert_eq!(class.free(dva, txg, false), Freed::Done);
                live.remove(dva.offset, dva.asize);
            }
            persist(class, maps, txg);
            class.sync_done(txg);
            let group = class.normal.group(0).expect("it has one group");
            group.group.metaslabs.iter().for_each(|metaslab| metaslab.unload());
            txg += 1;
        }
        let known: Vec<Segment> = maps.allocated().into_iter().map(|(_, segment)| segment).collect();
        let mut told = RangeTree::new();
        known.iter().for_each(|segment| told.add_overlap(segment.start, segment.len));
        assert_eq!(told.iter().collect::<Vec<_>>(), live.iter().collect::<Vec<_>>());
    });
}

#[test]
fn a_map_that_names_foreign_space_is_an_error() {
    let maps = Arc::new(Maps::default());
    lock(&maps.0).insert((0, 0), vec![(true, Segment { start: 1 << 20, len: 512 })]);
    assert!(matches!(class(1, 1, &maps).normal.allocate(512, 1, 1), Err(AllocError::Read(_))));
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

#[test]
fn each_kind_of_block_is_sent_where_it_belongs() {
    let class = class(1, 8, &Arc::default());
    let data = WritePolicy { small: 8192, ..WritePolicy::data(ObjectType::PLAIN_FILE_CONTENTS) };
    let metadata = WritePolicy { is_metadata: true, ..data };
    let table = WritePolicy { object_type: ObjectType::DDT_ZAP.0, ..metadata };
    let sent = |policy: &WritePolicy, psize: u64| {
        let vdev = |class: &Class| class.allocate(psize, 1, 1).expect("there is room")[0].vdev;
        class.preferred(policy, psize).map(vdev)
    };
    assert_eq!([sent(&data, 512), sent(&metadata, 512), sent(&table, 512)], [None; 3]);
    class.special.add_group(group(1, 4));
    assert_eq!([sent(&data, 16384), sent(&data, 8192), sent(&metadata, 16384)], [None, Some(1), Some(1)]);
    assert_eq!([sent(&WritePolicy { level: 1, small: 0, ..data }, 4096), sent(&table, 512)], [Some(1); 2]);
    class.dedup.add_group(group(2, 4));
    assert_eq!([sent(&table, 512), sent(&metadata, 512)], [Some(2), Some(1)]);
    // Small blocks leave a quarter to metadata.
    while sent(&data, 8192) == Some(1) {}
    let space = class.vdev_space(1).expect("a vdev");
    assert!(space.allocated * 4 >= space.capacity * 3 - 8192 * 4 && space.allocated < space.capacity);
    assert_eq!(sent(&metadata, 8192), Some(1));
    let sum: u64 = (0..3).filter_map(|vdev| class.vdev_space(vdev)).map(|space| space.allocated).sum();
    assert_eq!(class.space().allocated, sum);
}
