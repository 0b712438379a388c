use super::*;
use crate::testing::Bench;

#[test]
fn is_a_queue() {
    let mut bench = Bench::meta();
    let tx = bench.tx();
    let object = Bptree::alloc(&bench.objset, &tx).unwrap();
    let queue = Bptree::open(&bench.objset, object).unwrap();
    assert_eq!((queue.is_empty(), queue.first()), (Ok(true), Ok(None)));
    let space = Space { used: 30, comp: 20, uncomp: 60 };
    let root = BlkPtr::new(ObjectType::OBJSET, 0, 4096, 512);
    for birth_txg in 0..2000 {
        queue.add(&root, birth_txg, space, &tx).unwrap();
    }
    drop((tx, queue));
    bench.reopen();

    let queue = Bptree::open(&bench.objset, object).unwrap();
    assert_eq!(queue.space(), Ok(Space { used: 60_000, comp: 40_000, uncomp: 120_000 }));
    assert!(queue.entries().unwrap().map(|entry| entry.unwrap().birth_txg).eq(0..2000));
    let tx = bench.tx();
    let half = Space { used: 15, comp: 10, uncomp: 30 };
    let first = queue.first().unwrap().unwrap();
    assert_eq!(first.root, root);
    queue.set_first(&BptreeEntry { object: 9, ..first }, half, &tx).unwrap();
    assert_eq!(queue.first().unwrap().unwrap().object, 9);
    queue.remove_first(half, &tx).unwrap();
    assert_eq!(queue.space().unwrap().used, 60_000 - 30);
    assert_eq!(queue.first().unwrap().unwrap().birth_txg, 1);
    for _ in 1..2000 {
        queue.remove_first(half, &tx).unwrap();
    }
    assert_eq!((queue.is_empty(), queue.space()), (Ok(true), Ok(Space::default())));
}
