use super::*;

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
        |name: &str, to: &str| assert_eq!(resolve(&folder.join(name)).unwrap(), folder.join(to), "{name}");
    leads("real/inner", "real/inner");
    leads("real/../real/inner", "real/inner");
    leads("real/inner/..", "real");
    leads("link", "real/inner");
    leads("twice", "real/inner");
    leads("absolute/inner", "real/inner");
    leads("real/not there", "real/not there");
    assert_eq!(resolve(&folder.join("nowhere/x")).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(resolve(&folder.join("circle")).unwrap_err().raw_os_error(), Some(libc::ELOOP));
    assert_eq!(resolve(Path::new("/")).unwrap(), Path::new("/"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_is_not_ours_or_lives_stays() {
    let client = Client { uid: 4711, gid: 4711, forced: Flags::default() };
    for here in [Here::default(), Here::of_client(client)] {
        assert!(!here.remove_dead(Path::new("/proc")).unwrap());
        assert!(!here.remove_dead(Path::new("/nowhere")).unwrap());
        for how in [How::Gently, How::Lazily, How::ByForce] {
            assert!(matches!(here.unmount(Path::new("/proc"), how), Err(Fault::NotOurs)));
        }
        assert!(matches!(here.remount(Path::new("/proc"), Flags::READ_ONLY), Err(Fault::NotOurs)));
    }
}
