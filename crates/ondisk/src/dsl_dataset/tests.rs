use super::*;

#[test]
fn fields_lie_where_openzfs_has_them() {
    let dataset =
        DslDatasetPhys { guid: 0x77, flags: 4, userrefs_obj: 9, num_children: 1, ..Default::default() };
    let bytes = dataset.encode();
    assert_eq!(bytes[112..120], 0x77u64.to_le_bytes());
    assert_eq!(bytes[120..128], 4u64.to_le_bytes());
    assert_eq!(bytes[272..280], 9u64.to_le_bytes());
    assert_eq!(DslDatasetPhys::decode(&bytes), Ok(dataset));
}

#[test]
fn short_bytes_are_errors() {
    assert!(DslDatasetPhys::decode(&[0; 319]).is_err());
}
