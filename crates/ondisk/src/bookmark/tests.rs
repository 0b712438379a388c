use super::*;

#[test]
fn the_short_form_reads_with_zeros() {
    let full =
        BookmarkPhys { guid: 1, creation_txg: 2, creation_time: 3, ivset_guid: 4, ..Default::default() };
    let bytes = full.encode();
    assert_eq!(BookmarkPhys::decode(&bytes), Ok(full));
    assert_eq!(BookmarkPhys::decode(&bytes[..24]), Ok(BookmarkPhys { ivset_guid: 0, ..full }));
    assert!(BookmarkPhys::decode(&bytes[..23]).is_err());
}

#[test]
fn words_come_back_and_three_are_enough() {
    let new = BookmarkPhys { guid: 1, flags: FLAG_HAS_FBN, ivset_guid: 12, ..BookmarkPhys::default() };
    assert_eq!(new.to_words().len(), 12);
    assert_eq!(BookmarkPhys::from_words(&new.to_words()), Ok(new));
    assert_eq!(BookmarkPhys::from_words(&[7, 8, 9]).map(|old| (old.creation_txg, old.flags)), Ok((8, 0)));
    assert!(BookmarkPhys::from_words(&[7, 8]).is_err());
}
