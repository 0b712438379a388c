use super::*;
use stdx::prng::Prng;

#[test]
fn ranges_equal_a_set_of_blocks() {
    for seed in 0..200 {
        let mut prng = Prng::new(seed);
        let mut ranges = Ranges::default();
        let mut model = [false; 64];
        for _ in 0..12 {
            let start = prng.below(64);
            let end = start + prng.below(64 - start + 1);
            ranges.add(start, end);
            model[start as usize..end as usize].fill(true);
        }
        for block in 0..64u64 {
            assert_eq!(ranges.covering(block).is_some(), model[block as usize], "seed {seed} block {block}");
            let next = (block..64).find(|&b| model[b as usize]);
            assert_eq!(ranges.next_from(block), next, "seed {seed} block {block}");
        }
        let all: Vec<_> = ranges.iter().collect();
        assert!(all.windows(2).all(|w| w[0].1 < w[1].0), "seed {seed}: {all:?} touch");
    }
}

fn state() -> State {
    let mut phys = DnodePhys::new(ObjectType::PLAIN_FILE_CONTENTS, 512, 17, 1);
    phys.maxblkid = 9;
    let attrs = Attrs::of(&phys);
    State::new(Clean { phys, attrs })
}

fn put(state: &mut State, txg: u64, block: u64, byte: u8) {
    let content = Arc::new(Block::from_slice(&[byte; 512]));
    state.dirty(txg).0.blocks.insert(block, Dirty::new(content));
}

fn look(state: &State, block: u64) -> Option<u8> {
    match state.locate(block) {
        Place::Dirty(block) => Some(block[0]),
        Place::Hole => None,
        Place::Clean => Some(255),
    }
}

#[test]
fn the_newest_group_that_knows_a_block_decides() {
    let mut state = state();
    put(&mut state, 7, 1, 71);
    put(&mut state, 7, 2, 72);
    state.dirty(8).0.freed.add(2, 4);
    put(&mut state, 8, 3, 83);
    assert_eq!([0, 1, 2, 3, 10].map(|b| look(&state, b)), [Some(255), Some(71), None, Some(83), None]);
    state.done(7);
    assert_eq!([1, 2, 3].map(|b| look(&state, b)), [Some(255), None, Some(83)]);
}

#[test]
#[should_panic(expected = "below one in")]
fn nothing_changes_below_the_newest_group() {
    let mut state = state();
    put(&mut state, 8, 1, 1);
    put(&mut state, 7, 1, 1);
}
