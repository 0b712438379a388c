use ondisk::object_type::ObjectType;

use super::*;

fn block(vdev: u32, offset: u64, asize: u64) -> Waiting {
    let mut bp = BlkPtr::new(ObjectType::PLAIN_FILE_CONTENTS, 0, asize, asize);
    bp.set_dva(0, Dva::new(vdev, offset, asize)).set_birth(4, 4);
    Waiting::new(bp, 0, Zbookmark::new(9, 0, 0, 0))
}

fn offsets(run: &[Waiting]) -> Vec<(u32, u64)> {
    run.iter().map(|block| (block.dva().vdev, block.dva().offset)).collect()
}

fn filled(blocks: &[(u32, u64)]) -> Sorted {
    let mut sorted = Sorted::default();
    sorted.begin_walk();
    sorted.end_walk(blocks.iter().map(|&(vdev, offset)| block(vdev, offset, 4096)).collect());
    sorted
}

#[test]
fn runs_go_up_the_disks_all_at_once_and_begin_anew() {
    let mut sorted = filled(&[(0, 40960), (1, 0), (0, 8192), (0, 0), (1, 81920)]);
    assert_eq!(offsets(&sorted.take(&|_| 8192)), [(0, 0), (0, 8192), (1, 0), (1, 81920)]);
    // What is found behind the sweep waits for the next one.
    sorted.begin_walk();
    sorted.end_walk(vec![block(0, 4096, 4096)]);
    assert_eq!(offsets(&sorted.take(&|_| 4096)), [(0, 40960)]);
    assert_eq!(offsets(&sorted.take(&|_| 4096)), [(0, 4096)]);
    assert!(sorted.is_empty() && sorted.take(&|_| 4096).is_empty());
}

#[test]
fn what_is_freed_is_never_handed_out() {
    let mut sorted = filled(&[(0, 0), (0, 4096)]);
    assert_eq!(sorted.remove(&block(0, 4096, 4096).bp), 4096);
    assert_eq!(sorted.remove(&block(0, 12288, 4096).bp), 0);
    sorted.begin_walk();
    // Freed after the walk met it, before it was put in.
    sorted.remove(&block(0, 8192, 4096).bp);
    sorted.end_walk(vec![block(0, 8192, 4096), block(0, 16384, 4096)]);
    assert_eq!(offsets(&sorted.take(&|_| 1 << 20)), [(0, 0), (0, 16384)]);
    assert_eq!(sorted.len(), 0);
}

#[test]
fn a_block_that_many_lead_to_waits_once() {
    let mut sorted = filled(&[(0, 0), (0, 4096)]);
    sorted.begin_walk();
    assert_eq!(sorted.end_walk(vec![block(0, 4096, 4096), block(0, 8192, 4096), block(0, 4096, 4096)]), 8192);
    assert_eq!(sorted.len(), 5);
    let run = sorted.take(&|_| 1 << 20);
    assert_eq!(offsets(&run), [(0, 0), (0, 4096), (0, 8192)]);
    assert_eq!(run.iter().map(|block| block.also.len()).collect::<Vec<_>>(), [0, 2, 0]);
    assert_eq!(sorted.len(), 0);
}

#[test]
fn what_tables_show_belongs_to_whom_trees_name() {
    let mut sorted = Sorted::default();
    sorted.turn_to(1);
    let of_table = Waiting { place: OF_TABLE, ..block(0, 0, 4096) };
    assert_eq!(sorted.add(of_table.clone()), 0);
    assert_eq!(sorted.add(block(0, 0, 4096)), 4096);
    sorted.turn_to(1);
    let taken = sorted.take(&|_| 4096).remove(0);
    assert!(taken.is_of_table());
    assert_eq!(taken.owners().collect::<Vec<_>>(), [&Zbookmark::new(9, 0, 0, 0)]);
    sorted.add(of_table);
    sorted.turn_to(2);
    assert!(sorted.is_empty());
}
