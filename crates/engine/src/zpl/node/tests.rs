use dmu::{Holds, ObjectSpec};
use engine_api::{Engine, PoolSpec, VdevSpec};
use env::Env;

use super::*;
use crate::{LocalEngine, Options};

/// A pool on a file, for objects that live and die.
struct Rig {
    engine: Arc<LocalEngine>,
    dir: std::path::PathBuf,
    below: Arc<pool::Pool>,
    dataset: pool::dsl::LongHold,
}

impl Rig {
    fn new(name: &str) -> Rig {
        let dir = std::env::temp_dir().join(format!("cistern-nodes-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let disk = dir.join("disk");
        std::fs::File::create(&disk).unwrap().set_len(128 << 20).unwrap();
        let engine = LocalEngine::new(Env::real(), Options::default());
        let spec = PoolSpec {
            name: "nodes".into(),
            vdevs: vec![VdevSpec::Leaf(disk.to_str().unwrap().into())],
            mountpoint: Some("none".into()),
            history: "zpool create nodes disk".into(),
            ..PoolSpec::default()
        };
        drop(engine.create(&spec).unwrap());
        let below = engine.pool_below("nodes").unwrap();
        let dataset = below.dsl.open_dataset("nodes").unwrap();
        Rig { engine, dir, below, dataset }
    }

    fn make(&self) -> Arc<Dnode> {
        let tx = self.dataset.objset().begin(Holds::new(0, 1)).unwrap();
        self.dataset.objset().alloc(ObjectSpec::new(ObjectType::PLAIN_FILE_CONTENTS), &tx).unwrap()
    }

    fn free(&self, object: u64) {
        let tx = self.dataset.objset().begin(Holds::freeing(1)).unwrap();
        self.dataset.objset().free(object, &tx).unwrap();
    }

    fn sync(&self) {
        self.below.core().txgs.sync_now().unwrap();
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // The pool goes with its folder.
        let _ = self.engine.export("nodes", true);
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn node(dnode: &Arc<Dnode>) -> Node {
    Node::new(dnode.clone(), 1, 0)
}

#[test]
fn of_two_loaders_the_first_to_come_back_gives_the_node() {
    let (rig, nodes, changed) = (Rig::new("two"), Nodes::default(), AtomicU64::new(7));
    let dnode = rig.make();
    let mut first = None;
    let second = nodes.get(dnode.object(), &changed, || {
        first = Some(nodes.get(dnode.object(), &changed, || Ok(node(&dnode))).unwrap());
        Ok(node(&dnode))
    });
    assert!(Arc::ptr_eq(&first.unwrap(), &second.unwrap()));
    let known = nodes.get(dnode.object(), &changed, || panic!("it is in the table")).unwrap();
    assert_eq!(known.changed(), 7, "what it was when it was last in the table is not known");
}

#[test]
fn a_node_that_was_freed_while_another_loaded_it_does_not_come_back() {
    let (rig, nodes, changed) = (Rig::new("freed"), Nodes::default(), AtomicU64::new(0));
    let dnode = rig.make();
    let other = nodes.get(dnode.object(), &changed, || Ok(node(&dnode))).unwrap();
    nodes.forget(&other);
    assert!(nodes.contains(dnode.object()), "it lives");
    rig.free(dnode.object());
    nodes.forget(&other);
    let slow = nodes.get(dnode.object(), &changed, || Ok(node(&dnode))).unwrap();
    assert_eq!(slow.check_alive(), Err(Error::Stale));
    assert!(!nodes.contains(dnode.object()));
}

#[test]
fn a_number_means_its_new_object_whoever_comes_late() {
    let (rig, nodes, changed) = (Rig::new("number"), Nodes::default(), AtomicU64::new(0));
    let old = rig.make();
    rig.sync();
    // Nobody has taken it out of the table.
    let dead = nodes.insert(Arc::new(node(&old)), &changed);
    rig.free(old.object());
    rig.sync();
    let new = rig.make();
    assert_eq!(new.object(), old.object(), "the number was to be given again");
    let made = nodes.insert(Arc::new(node(&new)), &changed);
    assert!(made.check_alive().is_ok() && dead.check_alive().is_err());
    let late = nodes.insert(Arc::new(node(&old)), &changed);
    assert!(Arc::ptr_eq(&late, &made));
    nodes.forget(&dead);
    assert!(nodes.contains(new.object()));
}
