use super::*;

#[test]
fn the_oldest_come_first_and_are_the_newest_afterwards() {
    let mut ages = Ages::default();
    (1..=5).for_each(|ino| ages.add(ino, ino as usize, |_| true));
    assert_eq!(ages.oldest(2, |_| true), [1, 2]);
    assert_eq!(ages.oldest(2, |ino| ino != 4), [3, 5]);
    assert_eq!(ages.oldest(9, |_| true), [1, 2, 3, 5]);
    assert!(ages.oldest(9, |_| false).is_empty() && ages.queue.is_empty());
}

#[test]
fn what_comes_and_goes_leaves_nothing_behind() {
    let mut ages = Ages::default();
    for ino in 0..100_000 {
        ages.add(ino, 1, |known| known == ino);
        assert!(ages.queue.len() <= LITTLE + 3);
    }
}
