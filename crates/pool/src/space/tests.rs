use stdx::prng::Prng;

use super::*;

/// Changes recorded over each other must come to what happened last to each byte.
#[test]
fn a_change_undoes_what_it_reverses_and_records_the_rest() {
    const SPACE: u64 = 256;
    let mut prng = Prng::new(3);
    for _ in 0..300 {
        // What the metaslab's own map says, and what is true now.
        let before: Vec<bool> = (0..SPACE).map(|_| prng.below(2) == 0).collect();
        let mut now = before.clone();
        let (mut allocs, mut frees) = (RangeTree::new(), RangeTree::new());
        for _ in 0..40 {
            let start = prng.below(SPACE);
            let value = now[start as usize];
            let len = now[start as usize..].iter().take_while(|&&set| set == value).count().min(17) as u64;
            let segment = Segment { start, len: 1 + prng.below(len) };
            match value {
                true => apply(&mut allocs, &mut frees, segment),
                false => apply(&mut frees, &mut allocs, segment),
            }
            now[segment.start as usize..segment.end() as usize].fill(!value);
        }
        let mut replayed = before;
        allocs.iter().for_each(|s| replayed[s.start as usize..s.end() as usize].fill(true));
        frees.iter().for_each(|s| replayed[s.start as usize..s.end() as usize].fill(false));
        assert_eq!(replayed, now);
        assert!(allocs.iter().all(|s| !frees.overlaps(s.start, s.len)));
    }
}
