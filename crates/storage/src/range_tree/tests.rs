use super::*;
use stdx::prng::Prng;

const SPACE: u64 = 512;

/// A set of bytes, one bool each: obviously right.
fn check(tree: &RangeTree, model: &[bool]) {
    let mut seen = vec![false; model.len()];
    let mut last_end = None;
    for segment in tree.iter() {
        assert!(last_end.is_none_or(|end| segment.start > end), "segments touch or overlap");
        last_end = Some(segment.end());
        seen[segment.start as usize..segment.end() as usize].fill(true);
    }
    assert_eq!(seen, model);
    assert_eq!(tree.space(), model.iter().filter(|&&set| set).count() as u64);
}

#[test]
fn random_changes_equal_a_bitmap() {
    let mut prng = Prng::new(7);
    let mut tree = RangeTree::new();
    let mut model = vec![false; SPACE as usize];
    for _ in 0..20_000 {
        let start = prng.below(SPACE);
        let len = 1 + prng.below(24).min(SPACE - start - 1);
        let span = start as usize..(start + len) as usize;
        assert_eq!(tree.overlaps(start, len), model[span.clone()].contains(&true));
        assert_eq!(tree.contains(start, len), !model[span.clone()].contains(&false));
        if prng.below(2) == 0 {
            tree.add_overlap(start, len);
            model[span].fill(true);
        } else {
            tree.remove_overlap(start, len);
            model[span].fill(false);
        }
        check(&tree, &model);
    }
}

#[test]
fn a_free_tree_finds_by_size_and_counts_by_power_of_two() {
    let mut prng = Prng::new(8);
    let mut free = FreeTree::new(RangeTree::whole(0, SPACE));
    let mut taken = Vec::new();
    for _ in 0..20_000 {
        let len = 1 + prng.below(20);
        let found = free.best_fit(len);
        assert_eq!(found.is_some(), free.longest() >= len);
        match found {
            Some(start) if prng.below(3) > 0 => {
                free.remove(start, len);
                taken.push((start, len));
            }
            _ if !taken.is_empty() => {
                let (start, len) = taken.swap_remove(prng.below(taken.len() as u64) as usize);
                free.add(start, len);
            }
            _ => {}
        }
        let mut counted = [0; 64];
        free.ranges().iter().for_each(|segment| counted[segment.len.ilog2() as usize] += 1);
        assert_eq!(&counted, free.histogram());
        assert_eq!(free.ranges().space() + taken.iter().map(|(_, len)| len).sum::<u64>(), SPACE);
    }
}

#[test]
fn first_fit_starts_at_the_cursor_and_stops_at_its_limit() {
    let mut ranges = RangeTree::new();
    for at in 0..10 {
        ranges.add(at * 100, if at == 9 { 50 } else { 10 });
    }
    let free = FreeTree::new(ranges);
    assert_eq!(free.first_fit(205, 5, 10), Some(205));
    assert_eq!(free.first_fit(206, 5, 10), Some(300));
    assert_eq!(free.first_fit(0, 40, 10), Some(900));
    assert_eq!(free.first_fit(0, 40, 9), None);
}

#[test]
#[should_panic(expected = "which is there")]
fn adding_twice_is_a_programmer_error() {
    let mut tree = RangeTree::whole(10, 10);
    tree.add(15, 10);
}

#[test]
#[should_panic(expected = "which is not there")]
fn removing_what_is_not_there_is_a_programmer_error() {
    let mut tree = RangeTree::whole(10, 10);
    tree.remove(15, 10);
}
