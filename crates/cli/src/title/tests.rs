use super::{padded, room};

#[test]
fn where_the_arguments_are() {
    let fields = |from: u64| (from..=52).map(|n| format!(" {n}")).collect::<String>();
    assert_eq!(room(&format!("7 (a) b) (c){}", fields(3))), Some(48..49), "the environment lies elsewhere");
    let line = fields(3).replace(" 50 51", " 49 90");
    assert_eq!(room(&format!("7 (zfs){line}")), Some(48..90));
    assert_eq!(room("7 (zfs) S 1"), None);
    assert_eq!(room(""), None);
}

#[test]
fn titles_end_with_zeros() {
    assert_eq!(padded("name", 6), b"name\0\0");
    assert_eq!(padded("name", 4), b"nam\0");
    assert_eq!(padded("name", 0), b"");
}
