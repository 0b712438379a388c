use super::*;

/// Four bytes, and a write over two of them that failed.
fn doubtful() -> Promised {
    let mut file = Promised::new("sim", "file".to_owned());
    file.restart(b"abcd".to_vec());
    file.write(1, b"XY");
    file.fail();
    file
}

fn check(file: &Promised, all: &[(&[u8; 4], bool)]) {
    for &(found, is_possible) in all {
        assert_eq!(file.may_be(found, true), is_possible, "{found:?}");
    }
}

#[test]
fn a_write_that_failed_is_done_or_not_whatever_is_promised_then() {
    let mut file = doubtful();
    file.write(3, b"Z");
    file.promise();
    check(&file, &[(b"abcZ", true), (b"aXYZ", true), (b"aXcZ", true), (b"aXYd", false), (b"abXZ", false)]);
    file.write(0, b"12");
    file.promise();
    check(&file, &[(b"12cZ", true), (b"12YZ", true), (b"1bcZ", false), (b"1XYZ", false)]);
    file.write(1, b"___");
    file.promise();
    assert!(file.may_be(b"1___", true) && !file.may_be(b"1_c_", true) && !file.may_be(b"1_Y_", true));
}

#[test]
fn several_that_failed_may_each_be_done() {
    let mut file = doubtful();
    file.write(2, b"P");
    file.fail();
    file.write(0, b"A");
    file.promise();
    check(&file, &[(b"Abcd", true), (b"AbYd", true), (b"AbPd", true), (b"abPd", false)]);
}

#[test]
fn what_was_read_is_no_longer_doubtful() {
    let mut file = doubtful();
    assert!(file.is_doubtful() && file.may_be(b"abcd", true) && file.may_be(b"aXYd", true));
    file.seen(b"abYd".to_vec());
    assert!(!file.is_doubtful() && file.may_be(b"aXcd", true));
    file.promise();
    assert!(file.may_be(b"abYd", true) && !file.may_be(b"abcd", true) && !file.may_be(b"aXYd", true));
}

/// A file that grew is as long as before or as now.
#[test]
fn a_write_behind_the_end_that_failed_may_leave_the_length() {
    let mut file = doubtful();
    file.write(4, b"ef");
    file.fail();
    file.write(0, b"A");
    file.promise();
    assert!(file.may_be(b"Abcd", true) && file.may_be(b"Abcdef", true) && !file.may_be(b"Abcdefg", true));
}
