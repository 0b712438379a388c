use super::*;
use crate::Endian;

#[test]
fn the_short_form_reads_with_zeros() {
    let full =
        BookmarkPhys { guid: 1, creation_txg: 2, creation_time: 3, ivset_guid: 4, ..Default::default() };
    let bytes = full.encode();
    assert_eq!(BookmarkPhys::decode(&bytes, Endian::Little), Ok(full));
    assert_eq!(
        BookmarkPhys::decode(&bytes[..24], Endian::Little),
        Ok(BookmarkPhys { ivset_guid: 0, ..full })
    );
    assert!(BookmarkPhys::decode(&bytes[..23], Endian::Little).is_err());
}
