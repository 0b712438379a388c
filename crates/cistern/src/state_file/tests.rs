use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn fields_come_back_as_they_were_written() {
    for all in [vec![""], vec!["a b", "", "/c"], vec!["a\tb\nc", "\\", "\\011", "ä\\\t", "\\\\7"]] {
        let line = line(all.iter().copied());
        assert_eq!(line.matches('\n').count(), 1, "{line:?}");
        assert_eq!(fields(line.trim_end_matches('\n')).collect::<Vec<_>>(), all);
    }
    assert_eq!(fields("a\\b\\09\\777").collect::<Vec<_>>(), ["a\\b\\09\\777"], "of an older version");
    assert_eq!(fields("a\\377").collect::<Vec<_>>(), ["a\\377"], "likewise");
}

#[test]
fn what_cannot_be_read_is_no_empty_file() {
    let folder = std::env::temp_dir().join(format!("cistern-state-file-{}", std::process::id()));
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).expect("made");
    let file = folder.join("list");
    assert_eq!(read(&file).expect("there is none"), "");
    replace(&file, "new\n").expect("written");
    append(&file, "more\n").expect("added");
    assert_eq!(read(&file).expect("it is there"), "new\nmore\n");
    assert!(append(&folder.join("other"), "more\n").is_err(), "there is none");
    assert_eq!(fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o600);
    fs::write(&file, [0xff, 0xfe]).expect("written");
    assert!(read(&file).is_err(), "no text");
    assert!(read(&folder).is_err(), "no file");
    fs::remove_dir_all(&folder).expect("removed");
}
