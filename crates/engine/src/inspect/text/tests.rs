use super::*;

#[test]
fn nothing_from_a_disk_controls_the_terminal() {
    assert_eq!(printable(b"plain \xc3\xa9"), "plain é");
    assert_eq!(printable(b"\x1b[2J\n\xff"), "\\u{1b}[2J\\n\\xff");
}

#[test]
fn lists_read_as_zdb_writes_them() {
    let child = NvList::new().with("type", "disk").with("id", 0u64);
    let list = NvList::new().with("name", "tank").with("children", NvValue::NvListArray(vec![child]));
    let mut text = Vec::new();
    nvlist(&list, 4, &mut text).unwrap();
    let expected = "    name: 'tank'\n    children[0]:\n        type: 'disk'\n        id: 0\n";
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}

#[test]
fn pointers_of_all_kinds_have_a_line() {
    assert!(blkptr(&BlkPtr::HOLE).starts_with("HOLE"));
    let mut bp = BlkPtr::new(ondisk::object_type::ObjectType::PLAIN_FILE_CONTENTS, 0, 0x20000, 0x400);
    bp.set_dva(0, ondisk::Dva::new(1, 0x5a400, 0x400));
    bp.set_birth(7, 7);
    assert!(blkptr(&bp).starts_with("1:5a400:400 20000L/400P "), "{}", blkptr(&bp));
}
