use std::sync::Arc;

use super::*;
use crate::testing::{noise, rig, text, with};
use crate::{Block, WritePolicy};

const STRONG: WritePolicy =
    WritePolicy { checksum: ChecksumKind::Sha256, ..WritePolicy::data(ObjectType::PLAIN_FILE_CONTENTS) };

/// What becomes of a block that is written over `old`, in a later group.
fn over(rig: &crate::testing::Rig, data: &Arc<Block>, policy: WritePolicy, old: &BlkPtr) -> BlkPtr {
    let item = WriteItem { data: data.clone(), policy, rewrite: None, unless: Some(*old) };
    rig.storage.write_batch(vec![item], 9, &mut |_| {}).remove(0).unwrap()
}

#[test]
fn the_same_bytes_are_not_written_again() {
    let rig = rig(&[1]);
    // Whether it could be compressed or not.
    for data in [noise(32768, 1), text(32768, 1)] {
        let old = rig.write_one(&data, STRONG);
        let writes = rig.disks.counts("a").writes;
        assert_eq!(over(&rig, &data, STRONG, &old), old);
        assert_eq!(rig.disks.counts("a").writes, writes);
        let other = over(&rig, &noise(32768, 2), STRONG, &old);
        assert!(other.logical_birth() == 9 && !other.same_block(&old));
    }
}

#[test]
fn all_that_is_said_of_a_block_must_be_alike() {
    let rig = rig(&[1]);
    let data = text(32768, 3);
    let old = rig.write_one(&data, STRONG);
    let changes: [WritePolicy; 6] = [
        with(ChecksumKind::Fletcher4, CompressKind::Lz4),
        with(ChecksumKind::Sha512, CompressKind::Lz4),
        with(ChecksumKind::Sha256, CompressKind::Zle),
        with(ChecksumKind::Sha256, CompressKind::Off),
        WritePolicy { copies: 2, ..STRONG },
        WritePolicy { is_metadata: true, ..STRONG },
    ];
    for policy in changes {
        let new = over(&rig, &data, policy, &old);
        assert!(new.logical_birth() == 9 && !new.same_block(&old), "{policy:?}");
    }
    // A weak checksum proves nothing, even where it is the same; nor does anything without
    // compression.
    for policy in
        [with(ChecksumKind::Fletcher4, CompressKind::Lz4), with(ChecksumKind::Sha256, CompressKind::Off)]
    {
        let old = rig.write_one(&data, policy);
        assert_eq!(over(&rig, &data, policy, &old).logical_birth(), 9, "{policy:?}");
    }
}
