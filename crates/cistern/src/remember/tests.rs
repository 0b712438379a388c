use super::*;

#[test]
fn a_pool_is_read_back_as_it_was_written() {
    let pool = Remembered { guid: u64::MAX, name: "tank".into(), devices: vec!["/a b".into(), "/c".into()] };
    assert_eq!(parse(format(&pool).trim_end()), Some(pool));
}

#[test]
fn lines_without_sense_and_paths_with_tabs_are_left_out() {
    assert_eq!(parse(""), None);
    assert_eq!(parse("x\ttank\t/a"), None);
    let pool = Remembered { guid: 1, name: "p".into(), devices: vec!["/a\tb".into(), "/c".into()] };
    assert_eq!(parse(format(&pool).trim_end()).unwrap().devices, ["/c"]);
}
