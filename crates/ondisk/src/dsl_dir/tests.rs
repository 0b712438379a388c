use super::*;

#[test]
fn fields_lie_where_openzfs_has_them() {
    let dir =
        DslDirPhys { head_dataset_obj: 0x1234, flags: 1, clones: 0xabcd, used_head: 5, ..Default::default() };
    let bytes = dir.encode();
    assert_eq!(bytes[8..16], 0x1234u64.to_le_bytes());
    assert_eq!(bytes[96..104], 1u64.to_le_bytes());
    assert_eq!(bytes[104..112], 5u64.to_le_bytes());
    assert_eq!(bytes[144..152], 0xabcdu64.to_le_bytes());
    assert_eq!(DslDirPhys::decode(&bytes), Ok(dir));
}

#[test]
fn short_bytes_are_errors() {
    assert!(DslDirPhys::decode(&[0; 255]).is_err());
}
