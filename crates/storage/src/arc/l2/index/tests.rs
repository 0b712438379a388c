use super::*;

fn slot(n: u64) -> Slot {
    let name = Name { vdev: 0, offset: n << 12, birth: 5 };
    Slot { name, address: n << 12, prop: Prop::of_sizes(8192, 4096) }
}

#[test]
fn the_oldest_goes_first_and_newer_places_of_a_name_stay() {
    let (mut index, mut held) = (Index::default(), Held::default());
    for n in 0..10 {
        assert_eq!(index.push_newest(1, &mut held, slot(n)), None);
    }
    let moved = Slot { address: 99 << 12, ..slot(3) };
    assert_eq!(index.push_newest(1, &mut held, moved), Some(slot(3)));
    assert_eq!(index.slot(&slot(3).name, &held), Some(&moved));
    assert_eq!(index.pop_oldest(1, &mut held, &|slot| slot.address > 0), None);
    let mut gone = Vec::new();
    while let Some(slot) = index.pop_oldest(1, &mut held, &|slot| slot.address < 6 << 12) {
        gone.push(slot.address >> 12);
    }
    assert_eq!(gone, [0, 1, 2, 4, 5]);
    assert_eq!(index.slot(&slot(7).name, &held), Some(&slot(7)));
    assert_eq!(index.len(), 5);
}

#[test]
fn what_a_rebuild_finds_goes_before_all_else() {
    let (mut index, mut held) = (Index::default(), Held::default());
    index.push_newest(2, &mut held, slot(50));
    for n in (0..50).rev() {
        assert!(index.push_oldest(2, &mut held, slot(n)));
    }
    assert!(!index.push_oldest(2, &mut held, slot(50)));
    assert!((0..=50).all(|n| index.slot(&slot(n).name, &held) == Some(&slot(n))));
    assert_eq!(index.forget(&slot(0).name, &mut held), Some(slot(0)));
    assert!(index.device(&slot(0).name).is_none());
    assert_eq!(index.pop_oldest(2, &mut held, &|_| true), Some(slot(1)));
}

#[test]
fn a_name_on_two_devices_is_read_from_the_later() {
    let (mut index, mut one, mut two) = (Index::default(), Held::default(), Held::default());
    index.push_newest(1, &mut one, slot(1));
    assert_eq!(index.push_newest(2, &mut two, slot(1)), None);
    assert_eq!(index.device(&slot(1).name), Some(2));
    // The first device gives its copy up; the second's is still known.
    assert_eq!(index.pop_oldest(1, &mut one, &|_| true), Some(slot(1)));
    assert_eq!(index.slot(&slot(1).name, &two), Some(&slot(1)));
}
