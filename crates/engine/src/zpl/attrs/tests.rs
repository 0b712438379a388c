use super::*;

fn at(secs: i64, nanos: u32) -> Time {
    Time { secs, nanos }
}

#[test]
fn ctime_never_repeats() {
    assert_eq!(next_ctime(at(5, 7), at(5, 8)), at(5, 8));
    assert_eq!(next_ctime(at(5, 7), at(5, 7)), at(5, 8));
    assert_eq!(next_ctime(at(5, 7), at(4, 9)), at(5, 8));
    assert_eq!(next_ctime(at(5, 999_999_999), at(5, 0)), at(6, 0));
    // A clock that was wrong by days and is set right is believed.
    assert_eq!(next_ctime(at(500_000, 0), at(5, 0)), at(5, 0));
}
