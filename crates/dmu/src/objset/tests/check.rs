//! What must hold for every tree on disk.

use std::collections::BTreeMap;

use env::IoClass;
use ondisk::dnode::DnodePhys;
use ondisk::object_type::ObjectType;
use ondisk::{BlkPtr, Endian};

use crate::DmuError;
use crate::store::{BlockStore, Keep};
use crate::sync::dnodes_in;
use crate::testing::Bench;
use crate::traverse::{Go, Part, Visit, Visitor, traverse};

/// What the walk found: every block once, and what each object's blocks take.
#[derive(Default)]
struct Found {
    blocks: BTreeMap<u64, BlkPtr>,
    used: BTreeMap<u64, u64>,
    said: BTreeMap<u64, u64>,
    objects: u64,
    trees: Vec<BlkPtr>,
}

impl Visitor for Found {
    fn block(&mut self, visit: &Visit<'_>) -> Go {
        let bp = *visit.bp;
        assert!(self.blocks.insert(bp.dva(0).offset, bp).is_none(), "referenced twice: {bp:?}");
        if visit.part == Part::Root {
            return Go::On;
        }
        *self.used.entry(visit.object).or_default() += bp.asize();
        assert!(visit.dnode.unwrap().object_type != ObjectType::NONE);
        match visit.part {
            Part::Tree { level, .. } => assert_eq!(bp.level(), level),
            _ => assert_eq!(bp.fill(), 1),
        }
        self.trees.push(bp);
        Go::On
    }

    fn object(&mut self, object: u64, dnode: &DnodePhys) -> Go {
        self.objects += u64::from(object != 0 && object < 1 << 48);
        self.said.insert(object, dnode.used_bytes());
        Go::On
    }

    fn unreadable(&mut self, visit: &Visit<'_>, error: DmuError) -> Go {
        panic!("{visit:?}: {error}")
    }
}

/// Blocks referenced are exactly those born and not killed; counts of fill, space and objects are
/// right.
pub fn check_trees(bench: &Bench) {
    let root = bench.objset.root();
    let mut found = Found::default();
    traverse(&*bench.store, &root, 0, &mut found);
    let owned = bench.books.blocks();
    assert!(found.blocks.keys().eq(owned.keys()), "what is referenced and what is owned differ");
    assert_eq!(found.blocks.len(), bench.store.live(), "blocks leaked");
    for (object, said) in &found.said {
        assert_eq!(*said, found.used.get(object).copied().unwrap_or(0), "used of object {object}");
    }
    assert_eq!(root.fill(), found.objects, "objects");
    assert_eq!(bench.objset.object_count(), found.objects);
    for bp in &found.trees {
        let block = bench.store.read(bp, IoClass::SyncRead, Keep::ALL).unwrap();
        let fill = match (bp.level(), bp.object_type()) {
            (0, ObjectType::DNODE) => dnodes_in(&block).count() as u64,
            (0, _) => 1,
            _ => {
                let count = block.len() / BlkPtr::SIZE;
                let pointers = (0..count).map(|i| BlkPtr::decode_at(&block, i, Endian::Little).unwrap());
                pointers.filter(|bp| !bp.is_hole()).map(|bp| bp.fill()).sum()
            }
        };
        assert_eq!(bp.fill(), fill, "fill of {bp:?}");
        assert!(fill > 0, "a block of nothing but holes was written");
    }
}
