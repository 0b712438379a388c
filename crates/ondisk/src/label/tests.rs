use super::*;
use crate::nvlist::NvValue;

const GOLDEN: &[u8] = include_bytes!("../../tests/golden/label-mirror2.nvlist");

#[test]
fn labels_lie_in_whole_quarters_of_a_mebibyte() {
    let size = (64 << 20) + 100_000;
    assert_eq!(offsets(size), Some([0, 256 << 10, (64 << 20) - (512 << 10), (64 << 20) - (256 << 10)]));
    assert_eq!(offsets(MIN_DEVICE - 1), None);
    assert_eq!(allocatable_size(size), (64 << 20) - (4 << 20) - (512 << 10));
    assert_eq!(allocatable_size(0), 0);
}

#[test]
fn slots_follow_ashift() {
    assert_eq!([9, 10, 12, 13, 16].map(slot_size), [1024, 1024, 4096, 8192, 8192]);
    assert_eq!(slot_offset(12, 33, false), RING_OFFSET + 4096);
    assert_eq!(slot_offset(12, 31, true), RING_OFFSET);
}

#[test]
fn a_real_label_comes_back_to_the_byte() {
    let list = NvList::decode(GOLDEN).unwrap();
    assert_eq!(list.string(config::key::POOL_NAME), Some("g_mirror2"));
    assert_eq!(list.u64(config::key::VERSION), Some(5000));
    let tree = list.nvlist(config::key::VDEV_TREE).unwrap();
    assert_eq!(tree.string(config::key::TYPE), Some(config::vdev_type::MIRROR));
    assert_eq!(tree.nvlist_array(config::key::CHILDREN).len(), 2);
    assert!(matches!(list.get(config::key::FEATURES_FOR_READ), Some(NvValue::NvList(_))));
    assert_eq!(list.encode_xdr(), GOLDEN);
    let area = encode_config(&list, [1, 0, 0, 0]).unwrap();
    assert_eq!(area.len(), NVLIST_SIZE);
    assert_eq!(decode_config(&area), Ok(list));
}

#[test]
fn too_large_a_configuration_is_not_written() {
    let list = NvList::new().with("comment", "x".repeat(NVLIST_MAX));
    assert_eq!(encode_config(&list, [0; 4]), None);
}
