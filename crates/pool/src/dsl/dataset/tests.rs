use super::*;
use ondisk::object_type::ObjectType;

#[test]
fn metadata_counts_its_compressed_size_twice() {
    let data = BlkPtr::new(ObjectType::PLAIN_FILE_CONTENTS, 0, 128 << 10, 4096);
    assert_eq!(sums_of(&data, 8192), Sums { used: 8192, comp: 4096, uncomp: 128 << 10 });
    let indirect = BlkPtr::new(ObjectType::PLAIN_FILE_CONTENTS, 1, 128 << 10, 4096);
    assert_eq!(sums_of(&indirect, 8192), Sums { used: 8192, comp: 4096, uncomp: 4096 });
}

#[test]
fn what_is_available_respects_refquota_and_refreservation() {
    assert_eq!(available(100, 30, 30, 0, 0), 100);
    assert_eq!(available(100, 30, 30, 50, 0), 20);
    assert_eq!(available(100, 60, 30, 50, 0), 0);
    assert_eq!(available(100, 30, 30, 0, 45), 115);
}

#[test]
fn only_large_blocks_need_the_feature() {
    let small = BlkPtr::new(ObjectType::PLAIN_FILE_CONTENTS, 0, 128 << 10, 4096);
    let large = BlkPtr::new(ObjectType::PLAIN_FILE_CONTENTS, 0, 256 << 10, 4096);
    assert_eq!(features_of(&small), [None; 3]);
    assert_eq!(features_of(&large), [Some("large_blocks"), None, None]);
}
