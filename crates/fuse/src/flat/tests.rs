use engine_api::{CreateMode, FsId, Time, Verifier};
use model::MemFs;

use super::*;

fn file_system(guid: u64) -> Arc<dyn FileSystem> {
    let id = FsId { pool_guid: 1, dataset_guid: guid };
    MemFs::with_id(id, Verifier(1), Box::new(|| Time { secs: 1, nanos: 0 }))
}

fn number(which: u64, node: NodeId) -> NodeId {
    NodeId { object: node.object | which << SHIFT, generation: node.generation }
}

#[test]
fn a_node_is_found_where_it_is_and_comes_back_under_its_number() {
    let (own, other) = (file_system(1), file_system(2));
    let flat = Flat::new(own.clone());
    let make = |fs: &Arc<dyn FileSystem>| {
        let made = fs.create(&Cred::root(), fs.root(), b"f", CreateMode::Guarded, &SetAttr::default());
        made.unwrap().attr.node
    };
    let (here, there) = (make(&own), make(&other));
    let place = NodeId { object: 77, generation: 5 };
    assert_eq!(flat.step_into(place, &other), Ok(1));
    assert_eq!(flat.step_into(NodeId { object: 78, generation: 5 }, &other), Ok(2));
    assert_eq!(flat.step_into(place, &other), Ok(1), "a place keeps its number");
    let at = flat.at(number(1, there)).unwrap();
    assert_eq!((at.fs.id(), at.node), (other.id(), there));
    assert_eq!(flat.getattr(number(1, there)).unwrap().node, number(1, there));
    assert_eq!(flat.getattr(here).unwrap().node, here);
    assert_eq!(flat.getattr(number(1, other.root())).unwrap().node, place, "its root has the place's number");
    assert_eq!(flat.at(number(3, there)).err(), Some(Error::Stale));
}

#[test]
fn two_nodes_are_in_one_file_system_or_refused() {
    let flat = Flat::new(file_system(1));
    let other = file_system(2);
    flat.step_into(NodeId { object: 77, generation: 5 }, &other).unwrap();
    let there = number(1, other.root());
    let (at, second) = flat.both(there, there).unwrap();
    assert_eq!((at.node, second), (other.root(), other.root()));
    assert_eq!(flat.both(flat.root(), there).err(), Some(Error::CrossDevice));
}
