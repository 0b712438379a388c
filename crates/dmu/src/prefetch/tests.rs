use super::*;

const BLOCK: u64 = 128 << 10;

#[test]
fn a_sequential_reader_is_followed_further_and_further() {
    let mut streams = Streams::default();
    assert_eq!(streams.note(0, 0, BLOCK), (Foresight::Miss, None));
    let mut asked = 1;
    let mut furthest = 0;
    for at in 1..2000 {
        if let (Foresight::Hit, Some((from, to))) = streams.note(at, at, BLOCK) {
            assert_eq!(from, asked.max(at + 1), "asked twice, or left a gap");
            asked = to + 1;
            furthest = furthest.max(to - at);
        }
        assert!(asked > at, "the reader overtook its prefetch");
    }
    assert_eq!(furthest, MAX_AHEAD / BLOCK);
}

#[test]
fn several_readers_are_told_apart_and_random_ones_ask_for_nothing() {
    let mut streams = Streams::default();
    let mut asked = 0;
    for i in 0..20 {
        for reader in 0..MAX_STREAMS as u64 {
            asked += u64::from(streams.note(reader * 100_000 + i, reader * 100_000 + i, BLOCK).1.is_some());
        }
    }
    assert!(asked >= 8 * 5);
    let mut prng = stdx::prng::Prng::new(5);
    let mut streams = Streams::default();
    for n in 0..1000 {
        let at = prng.below(1 << 40);
        let seen = if n < MAX_STREAMS { Foresight::Miss } else { Foresight::MissAtLimit };
        assert_eq!(streams.note(at, at, BLOCK), (seen, None));
    }
    assert!(streams.streams.len() <= MAX_STREAMS);
}

#[test]
fn small_reads_in_one_block_do_not_break_the_stream() {
    let mut streams = Streams::default();
    let mut asked = 0;
    for i in 0..320u64 {
        asked += u64::from(streams.note(i / 32, i / 32, BLOCK).1.is_some());
    }
    assert!(asked >= 3, "{asked}");
}

#[test]
fn a_random_read_that_hits_by_chance_asks_for_no_more_than_it_reads() {
    let mut streams = Streams::default();
    assert_eq!(streams.note(7, 7, 16 << 10), (Foresight::Miss, None));
    assert_eq!(streams.note(8, 8, 16 << 10), (Foresight::Hit, Some((9, 9))));
}
