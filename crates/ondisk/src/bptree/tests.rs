use super::*;
use crate::object_type::ObjectType;

#[test]
fn round_trips() {
    let root = BlkPtr::new(ObjectType::OBJSET, 0, 4096, 512);
    let entry = BptreeEntry { root, birth_txg: 3, objset: 4, object: 5, level: -1, blkid: 6 };
    assert_eq!(BptreeEntry::decode(&entry.encode()), Ok(entry));
    assert!(BptreeEntry::decode(&entry.encode()[..167]).is_err());
    let tree = BptreePhys { begin: 1, end: 2, bytes: 3, comp: 4, uncomp: 5 };
    assert_eq!(BptreePhys::decode(&tree.encode()), Ok(tree));
}
