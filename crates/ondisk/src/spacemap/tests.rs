use stdx::prng::Prng;

use super::*;

/// All entries of a map, block by block, as its owner reads it.
fn read(bytes: &[u8], block_size: usize) -> Vec<Entry> {
    let entries = bytes.chunks(block_size).flat_map(Entries::new);
    entries.map(|entry| entry.expect("what we wrote")).collect()
}

fn segment(kind: MapType, offset: u64, run: u64, vdev: Option<u32>) -> Entry {
    Entry::Segment { kind, offset, run, vdev }
}

#[test]
fn the_writer_picks_the_form() {
    let mut map = MapWriter::new(0, 4096, true);
    map.debug(MapType::Free, 3, 99);
    map.segment(MapType::Free, 5, RUN_MAX, None);
    map.segment(MapType::Alloc, 5, RUN_MAX + 1, None);
    map.segment(MapType::Alloc, OFFSET_END, 1, None);
    map.segment(MapType::Free, 0, 1, Some(7));
    assert_eq!(map.length(), 8 + 8 + 3 * 16);
    let expect = [
        Entry::Debug { action: MapType::Free, sync_pass: 3, txg: 99 },
        segment(MapType::Free, 5, RUN_MAX, None),
        segment(MapType::Alloc, 5, RUN_MAX + 1, Some(0)),
        segment(MapType::Alloc, OFFSET_END, 1, Some(0)),
        segment(MapType::Free, 0, 1, Some(7)),
    ];
    assert_eq!(read(&map.into_bytes(), 4096), expect);
}

#[test]
fn without_v2_a_long_run_takes_several_words() {
    let mut map = MapWriter::new(0, 4096, false);
    map.segment(MapType::Alloc, 0, 2 * RUN_MAX + 1, None);
    let expect = [
        segment(MapType::Alloc, 0, RUN_MAX, None),
        segment(MapType::Alloc, RUN_MAX, RUN_MAX, None),
        segment(MapType::Alloc, 2 * RUN_MAX, 1, None),
    ];
    assert_eq!(read(&map.into_bytes(), 4096), expect);
}

#[test]
fn no_two_word_entry_straddles_a_block() {
    let mut prng = Prng::new(3);
    let mut map = MapWriter::new(0, 64, true);
    let mut expect = Vec::new();
    for _ in 0..1000 {
        let (offset, run) = (prng.below(1 << 40), prng.range(1, 100));
        let vdev = prng.chance(1, 2).then(|| prng.below(1 << 24) as u32);
        map.segment(MapType::Free, offset, run, vdev);
        expect.push(segment(MapType::Free, offset, run, vdev));
    }
    assert_eq!(map.length() as usize, map.bytes.len());
    let mut found = read(&map.into_bytes(), 64);
    found.retain(|entry| *entry != Entry::Debug { action: MapType::Alloc, sync_pass: 0, txg: 0 });
    assert_eq!(found, expect);
}

#[test]
fn hostile_words_are_errors_or_entries() {
    let half = (PREFIX_TWO << 62).to_le_bytes();
    assert!(Entries::new(&half).next().is_some_and(|entry| entry.is_err()));
    assert!(Entries::new(&[0; 7]).next().is_some_and(|entry| entry.is_err()));
    let mut prng = Prng::new(4);
    let mut noise = [0; 4096];
    prng.fill(&mut noise);
    assert!(Entries::new(&noise).count() <= 512);
}

#[test]
fn the_bonus_has_two_sizes() {
    let mut map = SpaceMapPhys { object: 1, length: 8, alloc: -5, histogram: None };
    assert_eq!(map.encode().len(), SIZE_V0);
    assert_eq!(SpaceMapPhys::decode(&map.encode()), Ok(map));
    map.histogram = Some([9; HISTOGRAM_SIZE]);
    assert_eq!(map.encode().len(), SIZE);
    assert_eq!(SpaceMapPhys::decode(&map.encode()), Ok(map));
    assert!(SpaceMapPhys::decode(&[0; 23]).is_err());
}
