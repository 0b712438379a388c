use super::*;

#[test]
fn names_are_refused_in_openzfs_words() {
    let why = |name: &str| check_filesystem(name).unwrap_err().to_string();
    assert_eq!(why("tank/"), "trailing slash in name");
    assert_eq!(why("/tank"), "leading slash in name");
    assert_eq!(why("tank//a"), "empty component or misplaced '@' or '#' delimiter in name");
    assert_eq!(why("tank/a*b"), "invalid character '*' in name");
    assert_eq!(why("tank/\0"), "invalid character '\0' in name");
    assert_eq!(why("tank//a%b"), "invalid character % in name");
    assert_eq!(why("tank//a@b"), "snapshot delimiter '@' is not expected here");
    assert_eq!(why("tank/.."), "parent reference, '..' is found in name");
    assert_eq!(why(&format!("tank/{}", "x".repeat(251))), "name is too long");
    assert_eq!(check_filesystem(&format!("tank/{}", "x".repeat(250))), Ok(()));
    assert_eq!(check_filesystem("tank/a-b_c.d:e f"), Ok(()));
}

#[test]
fn points_have_names_of_one_component() {
    let why = |name: &str| check_point(name, '@').unwrap_err().to_string();
    assert_eq!(why("tank/a@."), "self reference, '.' is found in name");
    assert_eq!(why("tank/a@.."), "parent reference, '..' is found in name");
    assert_eq!(why("tank/a@b/c"), "trailing slash in name");
    assert_eq!(why("tank/a@b@c"), "multiple '@' and/or '#' delimiters in name");
    assert_eq!(why("tank/a@"), "empty component or misplaced '@' or '#' delimiter in name");
    assert_eq!(why("tank/a"), "missing '@' delimiter in snapshot name");
    assert_eq!(check_point("tank/a@b.c", '@'), Ok(()));
    assert_eq!(check_point("tank/a#..", '#'), Err(NameFault::ParentReference));
}

#[test]
fn a_name_may_not_be_deeper_than_fifty_levels() {
    assert!(check_filesystem(&["a"; 50].join("/")).is_ok());
    assert!(check_filesystem(&["a"; 51].join("/")).is_err());
}

#[test]
fn the_parent_is_one_level_up() {
    assert_eq!(parent_of("tank/a/b"), Some("tank/a"));
    assert_eq!(parent_of("tank"), None);
}
