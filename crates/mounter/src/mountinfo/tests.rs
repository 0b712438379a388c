use super::*;

#[test]
fn a_mount_is_found_by_its_path_whatever_is_in_it() {
    let found = |text: &'static str| line(text.as_bytes()).map(|line| (line.device, line.path, line.kind));
    let text = r"36 35 0:57 / /mnt/two\040words\134x rw,relatime shared:1 - fuse.cistern pool/fs rw";
    assert_eq!(found(text), Some(("0:57", br"/mnt/two words\x".to_vec(), "fuse.cistern")));
    assert_eq!(found("36 35 0:57 /"), None);
    let text = r"1 2 0:1 / /a\04 rw - tmpfs tmpfs rw";
    assert_eq!(found(text), Some(("0:1", br"/a\04".to_vec(), "tmpfs")), "not a number of three digits");
    let latin =
        b"1 2 0:1 / /na\xefve rw - tmpfs tmpfs rw\n36 35 0:57 / /mnt rw master:1 - fuse.cistern pool/fs rw\n";
    let all: Vec<_> = lines(latin).map(|line| (line.device, line.path)).collect();
    assert_eq!(
        all,
        [("0:1", b"/na\xefve".to_vec()), ("0:57", b"/mnt".to_vec())],
        "names of other file systems"
    );
}

#[test]
fn who_serves_a_mount_is_among_its_options() {
    let user = |options: &str| {
        let text = format!("36 35 0:57 / /mnt rw shared:1 - fuse.cistern pool/fs {options}");
        entry(&line(text.as_bytes()).expect("a line")).expect("an entry").user
    };
    assert_eq!(user("rw,user_id=107,group_id=0,default_permissions,allow_other"), Some(107));
    assert_eq!(user("rw,group_id=107"), None);
    assert_eq!(user("rw,user_id=-1"), None);
    assert_eq!(mounted_at(Path::new("/proc")).expect("readable").expect("mounted").kind, "proc");
    assert_eq!(mounted_at(Path::new("/nowhere")).expect("readable"), None);
}
