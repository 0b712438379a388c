use super::*;

#[test]
fn a_value_is_nothing_none_or_a_file_in_a_folder_that_exists() {
    assert_eq!(CacheFile::parse(""), Ok(CacheFile::Default));
    assert_eq!(CacheFile::parse("none"), Ok(CacheFile::None));
    assert_eq!(CacheFile::parse("/tmp/x"), Ok(CacheFile::At("/tmp/x".into())));
    assert_eq!(CacheFile::parse("/x"), Ok(CacheFile::At("/x".into())));
    for (value, why) in [
        ("x", "property 'cachefile' must be empty, an absolute path, or 'none'"),
        ("/tmp/", "'/tmp/' is not a valid file"),
        ("/tmp/..", "'/tmp/..' is not a valid file"),
        ("/nowhere/x", "'/nowhere' is not a valid directory"),
    ] {
        assert_eq!(CacheFile::parse(value).unwrap_err().to_string(), why);
    }
}

#[test]
fn a_pool_below_another_root_stands_in_no_file_unless_told() {
    let told = |value: &str| vec![PropertyChange { name: "cachefile".into(), value: value.into() }];
    assert_eq!(CacheFile::of_new(&[], false), Ok(CacheFile::Default));
    assert_eq!(CacheFile::of_new(&[], true), Ok(CacheFile::None));
    assert_eq!(CacheFile::of_new(&told("/tmp/x"), true), Ok(CacheFile::At("/tmp/x".into())));
    assert_eq!(CacheFile::At("/tmp/x".into()).shown(Some("/tmp/x")), None, "it is the daemon's own");
    assert_eq!(CacheFile::None.shown(Some("/tmp/x")).as_deref(), Some("none"));
}

#[test]
fn a_file_that_is_none_is_an_error() {
    let search = |path: &str| CacheFileSearch { path: path.into(), scan: false };
    assert!(read(&search("/nowhere/x")).unwrap_err().to_string().contains("failed to open cache file"));
    assert!(read(&search("/proc/self/comm")).unwrap_err().to_string().contains("invalid or corrupt"));
}
