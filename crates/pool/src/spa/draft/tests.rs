use storage::{VdevConfig, VdevKind};

use super::*;

fn disk(guid: u64) -> VdevConfig {
    VdevConfig::new(VdevKind::File, 0, guid)
}

fn root(guids: &[u64]) -> VdevConfig {
    let children = guids.iter().map(|guid| disk(*guid)).collect();
    VdevConfig { children, ..VdevConfig::new(VdevKind::Root, 0, 1) }
}

#[test]
fn what_is_said_of_a_disk_while_the_tree_changes_stays() {
    let mut pools = root(&[10, 11, 12]);
    pools.children[2].faulted = true;
    let mut draft = Draft::of(&pools);
    // The change: one disk joins, one is forgiven.
    draft.children.push(disk(13));
    draft.children[2].faulted = false;
    // Meanwhile one is faulted, another worn.
    pools.children[0].faulted = true;
    pools.children[0].pairs.set(key::AUX_STATE, "err_exceeded");
    pools.children[1].pairs.set(key::DEGRADED, 1u64);
    let mut new = VdevConfig::clone(&draft);
    draft.keep_verdicts(&pools, &mut new);
    assert_eq!(new.children.iter().map(|disk| disk.faulted).collect::<Vec<_>>(), [true, false, false, false]);
    assert_eq!(new.children[0].pairs.string(key::AUX_STATE), Some("err_exceeded"));
    assert_eq!(new.children[1].pairs.u64(key::DEGRADED), Some(1));
}
