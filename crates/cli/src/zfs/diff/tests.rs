use super::*;

#[test]
fn names_are_completed() {
    let both = |from: &str, to: Option<&str>| names(from, to);
    let pair = |a: &str, b: &str| Ok((a.to_owned(), b.to_owned()));
    assert_eq!(both("t/a@x", None), pair("t/a@x", "t/a"));
    assert_eq!(both("t/a@x", Some("@y")), pair("t/a@x", "t/a@y"));
    assert_eq!(both("@x", Some("t/a")), pair("t/a@x", "t/a"));
    assert_eq!(both("t/a@x", Some("t/b@y")), pair("t/a@x", "t/b@y"));
    assert!(
        both("t/a", Some("t/a@y")).is_err() && both("@x", Some("@y")).is_err() && both("t/a", None).is_err()
    );
}

#[test]
fn lines_are_as_openzfs_prints_them() {
    let entry = DiffEntry {
        change: 'R',
        node: 'F',
        path: "/a\\0040b".into(),
        to: Some("/c".into()),
        links: 0,
        ctime_secs: 77,
        ctime_nanos: 5,
    };
    let print = |options: &[&str]| {
        let args: Vec<String> = options.iter().map(|one| (*one).to_owned()).collect();
        let options = getopt::parse(&args, "FHth", &[]).expect("known");
        String::from_utf8(line(&entry, "/t", &options)).expect("text")
    };
    assert_eq!(print(&[]), "R\t/t/a\\0040b -> /t/c\n");
    assert_eq!(print(&["-FHth"]), "        77.000000005\tR\tF\t/t/a b\t/t/c\n");
}
