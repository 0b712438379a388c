use super::*;

fn kind(object_type: ObjectType, level: u8) -> BlockKind {
    BlockKind { object_type, level, spill: false, own: (0, 0) }
}

#[test]
fn data_follows_the_properties_and_metadata_does_not() {
    let policy = ObjsetPolicy {
        checksum: ChecksumKind::Fletcher2,
        compression: CompressKind::Off,
        ..ObjsetPolicy::dataset()
    };
    let data = policy.block(kind(ObjectType::PLAIN_FILE_CONTENTS, 0), 1);
    assert_eq!(
        (data.checksum, data.compression, data.copies),
        (ChecksumKind::Fletcher2, CompressKind::Off, 1)
    );
    let indirect = policy.block(kind(ObjectType::PLAIN_FILE_CONTENTS, 1), 1);
    assert_eq!(
        (indirect.checksum, indirect.compression, indirect.copies),
        (ChecksumKind::Fletcher4, CompressKind::Lz4, 2)
    );
    assert!(data.embed && !indirect.embed);
}

#[test]
fn redundant_metadata_chooses_who_gets_another_copy() {
    let copies = |redundant_metadata, object_type, level| {
        let policy = ObjsetPolicy { redundant_metadata, ..ObjsetPolicy::dataset() };
        policy.block(kind(object_type, level), 1).copies
    };
    let file = ObjectType::PLAIN_FILE_CONTENTS;
    assert_eq!(copies(RedundantMetadata::All, file, 1), 2);
    assert_eq!(copies(RedundantMetadata::Most, file, 1), 1);
    assert_eq!(copies(RedundantMetadata::Most, file, 2), 2);
    assert_eq!(copies(RedundantMetadata::Some, ObjectType::DNODE, 0), 1);
    assert_eq!(copies(RedundantMetadata::Some, ObjectType::MASTER_NODE, 0), 2);
    assert_eq!(copies(RedundantMetadata::None, ObjectType::MASTER_NODE, 0), 1);
    assert_eq!(ObjsetPolicy::meta().block(kind(ObjectType::DNODE, 0), 1).copies, 3);
}

#[test]
fn an_object_may_have_its_own_checksum_and_compression() {
    let own = (ChecksumKind::Sha256 as u8, CompressKind::Zle as u8);
    let what = BlockKind { own, ..kind(ObjectType::PLAIN_FILE_CONTENTS, 0) };
    let policy = ObjsetPolicy::dataset().block(what, 1);
    assert_eq!((policy.checksum, policy.compression), (ChecksumKind::Sha256, CompressKind::Zle));
    let what = BlockKind { own, ..kind(ObjectType::DIRECTORY_CONTENTS, 0) };
    assert_eq!(ObjsetPolicy::dataset().block(what, 1).checksum, ChecksumKind::Fletcher4);
}
