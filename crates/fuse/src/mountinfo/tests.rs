use super::*;

#[test]
fn a_mount_is_found_by_its_path_whatever_is_in_it() {
    let found = |text| line(text).map(|line| (line.device, line.path, line.kind));
    let text = r"36 35 0:57 / /mnt/two\040words\134x rw,relatime shared:1 - fuse.cistern pool/fs rw";
    assert_eq!(found(text), Some(("0:57", br"/mnt/two words\x".to_vec(), "fuse.cistern")));
    assert_eq!(found("36 35 0:57 /"), None);
    let text = r"1 2 0:1 / /a\04 rw - tmpfs tmpfs rw";
    assert_eq!(found(text), Some(("0:1", br"/a\04".to_vec(), "tmpfs")), "not a number of three digits");
}

#[test]
fn what_is_not_ours_or_lives_stays() {
    assert!(!remove_dead(Path::new("/proc")).unwrap());
    assert!(!remove_dead(Path::new("/nowhere")).unwrap());
}
