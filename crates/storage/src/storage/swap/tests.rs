use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use crate::VdevKind;
use crate::testing::rig;

/// A disk of a mirror becomes a mirror of its own, as when it is replaced, and back.
#[test]
fn whoever_looks_sees_the_old_tree_or_the_new_one() {
    let rig = rig(&[2]);
    let plain = rig.storage.config();
    let mut deep = plain.clone();
    let mirror = &mut deep.children[0];
    let mut inner = mirror.clone();
    inner.kind = VdevKind::Replacing;
    inner.guid = 77;
    inner.children.remove(0);
    mirror.children[1] = inner;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..20_000 {
                rig.storage
                    .swap_tree(if round % 2 == 0 { &deep } else { &plain }, &[], &[])
                    .expect("it swaps");
            }
            is_over.store(true, SeqCst);
        });
        while !is_over.load(SeqCst) {
            let second = &rig.storage.status().children[0].children[1];
            match second.kind {
                VdevKind::Replacing => assert_eq!((second.guid, second.children.len()), (77, 1)),
                _ => assert_eq!((second.path.as_deref(), second.children.len()), (Some("b"), 0)),
            }
        }
    });
}
