use super::*;

#[test]
fn no_name_leads_out_of_the_file_system_whatever_is_written_for_it() {
    let names = |path: &str| names_of(path).map(|names| shown(&names));
    assert_eq!(names(""), Ok(String::new()));
    assert_eq!(names("/a//b\\0040c/"), Ok("/a/b\\0040c".to_owned()));
    assert_eq!(names("/\\0377\\0012"), Ok("/\\0377\\0012".to_owned()));
    for wrong in ["..", "a/../b", ".", "/a/.", "\\0056\\0056", "a\\0057b", "a\\0000b", "a/\\0057"] {
        assert_eq!(names(wrong), Err(FileFault::Name), "{wrong}");
    }
    assert_eq!(names(&"x".repeat(NAME_MAX)).map(|name| name.len()), Ok(NAME_MAX + 1));
    assert_eq!(names(&"x".repeat(NAME_MAX + 1)), Err(FileFault::Name));
    assert_eq!(names(&"a/".repeat(PATH_MAX)), Err(FileFault::Name));
}

#[test]
fn a_cursor_of_versions_is_what_it_was_and_nothing_else_is_one() {
    let place = DatasetPlace { name: "tank/a@x.y".into(), createtxg: 47 };
    for version in ["", "1f-2-3-4"] {
        let cursor = Cursor { place: place.clone(), version: version.into() };
        assert_eq!(Cursor::parse("tank/a", &cursor.text()), Some(cursor));
    }
    for wrong in ["1", "1.2", "x.2.s", "-1.2.s"] {
        assert_eq!(Cursor::parse("tank/a", wrong), None, "{wrong}");
    }
}
