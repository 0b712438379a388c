use super::words;
use std::io;

#[test]
fn the_number_of_a_failure_is_left_out() {
    let missing = std::fs::File::open("/no/such/file").unwrap_err();
    assert_eq!(words(&missing), "No such file or directory");
    assert_eq!(words(&io::Error::from_raw_os_error(13)), "Permission denied");
    assert_eq!(words(&io::Error::other("ours (os error 13)")), "ours (os error 13)");
}
