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
fn a_path_leads_where_its_links_point() {
    let folder = std::env::temp_dir().join(format!("cistern-place-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("real/inner")).unwrap();
    let folder = folder.canonicalize().unwrap();
    let link = |name: &str, to: &str| std::os::unix::fs::symlink(to, folder.join(name)).unwrap();
    link("link", "real/inner");
    link("twice", "link");
    link("absolute", folder.join("real").to_str().unwrap());
    link("circle", "circle");
    let leads =
        |name: &str, to: &str| assert_eq!(place(&folder.join(name)).unwrap(), folder.join(to), "{name}");
    leads("real/inner", "real/inner");
    leads("real/../real/inner", "real/inner");
    leads("real/inner/..", "real");
    leads("link", "real/inner");
    leads("twice", "real/inner");
    leads("absolute/inner", "real/inner");
    leads("real/not there", "real/not there");
    assert_eq!(place(&folder.join("nowhere/x")).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(place(&folder.join("circle")).unwrap_err().raw_os_error(), Some(libc::ELOOP));
    assert_eq!(place(Path::new("/")).unwrap(), Path::new("/"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_is_not_ours_or_lives_stays() {
    assert!(!remove_dead(Path::new("/proc")).unwrap());
    assert!(!remove_dead(Path::new("/nowhere")).unwrap());
}
