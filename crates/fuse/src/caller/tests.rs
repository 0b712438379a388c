use super::groups_in;

#[test]
fn groups_are_read_from_their_line() {
    assert_eq!(groups_in("Name:\tx\nGid:\t1\t1\t1\t1\nGroups:\t4 24 1000 \nNStgid:\t7\n"), [4, 24, 1000]);
    assert_eq!(groups_in("Groups:\t\n"), [0_u32; 0]);
    assert_eq!(groups_in(""), [0_u32; 0]);
    assert_eq!(groups_in("Groups:\t4 -1 99999999999 5\n"), [4, 5]);
}
