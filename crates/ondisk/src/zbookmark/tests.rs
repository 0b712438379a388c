use super::*;
use crate::object_type::ObjectType;

fn file() -> DnodePhys {
    DnodePhys::new(ObjectType::PLAIN_FILE_CONTENTS, 131_072, 17, 1)
}

fn meta() -> DnodePhys {
    DnodePhys::new(ObjectType::DNODE, 16384, 17, 1)
}

fn at(object: u64, level: i64, blkid: u64) -> Zbookmark {
    Zbookmark::new(5, object, level, blkid)
}

#[test]
fn a_walk_goes_on_where_it_stopped() {
    let last = at(7, 0, 1500);
    // Of the same object.
    assert!(at(7, 0, 1499).is_before(&file(), &last) && !at(7, 0, 1500).is_before(&file(), &last));
    assert!(at(7, 1, 0).is_before(&file(), &last) && !at(7, 1, 1).is_before(&file(), &last));
    assert!(at(7, 0, 1500).is_from(&file(), &last) && !at(7, 0, 1499).is_from(&file(), &last));
    assert!(!at(7, 1, 1).is_from(&file(), &last), "it is entered to get there");
    assert!(!at(7, 0, SPILL_BLKID).is_before(&file(), &last));
    // Of others.
    assert!(at(6, 0, SPILL_BLKID).is_before(&file(), &last) && at(8, 1, 0).is_from(&file(), &last));
    // Blocks of dnodes: objects 0 to 31 are in the first.
    assert!(!at(0, 0, 0).is_before(&meta(), &last) && !at(0, 0, 0).is_from(&meta(), &last));
    assert!(at(0, 0, 1).is_from(&meta(), &last));
    let later = at(33, 0, 0);
    assert!(at(0, 0, 0).is_before(&meta(), &later) && !at(0, 0, 1).is_before(&meta(), &later));
    // A walk that stopped at a block of dnodes.
    let dnodes = at(0, 0, 2);
    assert!(at(0, 0, 1).is_before(&meta(), &dnodes) && at(63, 0, 9).is_before(&file(), &dnodes));
    assert!(at(0, 0, 2).is_from(&meta(), &dnodes) && !at(0, 1, 0).is_before(&meta(), &dnodes));
}

#[test]
fn names_are_read_back() {
    let bookmark = Zbookmark::new(0x36, 0, ROOT_LEVEL, 0);
    assert_eq!(bookmark.to_name(), "36:0:ffffffffffffffff:0");
    for bookmark in [bookmark, Zbookmark::new(0, 0x1f, 2, u64::MAX), Zbookmark::default()] {
        assert_eq!(Zbookmark::from_name(&bookmark.to_name()), Some(bookmark));
    }
    let block = ErrorBlock { object: 10, level: 0, blkid: 3, birth: 0x77 };
    assert_eq!((block.to_name(), ErrorBlock::from_name("a:0:3:77")), ("a:0:3:77".into(), Some(block)));
    assert_eq!(
        (ErrorBlock::of(&Zbookmark::new(5, 10, 0, 3), 0x77), block.place(5)),
        (block, Zbookmark::new(5, 10, 0, 3))
    );
    for bad in ["", "1:2:3", "1:2:3:4:5", "g:0:0:0", "1::2:3"] {
        assert_eq!(Zbookmark::from_name(bad), None, "{bad}");
    }
}
