use super::{members, parse};

#[test]
fn a_file_is_a_list_of_features() {
    let text = "# what old software has\nasync_destroy, lz4_compress\tbookmarks # two\n\nskein\n";
    assert_eq!(parse(text, "mine", false).unwrap(), ["async_destroy", "lz4_compress", "bookmarks", "skein"]);
    let cut = parse("skein", "cut", false).unwrap_err();
    assert_eq!(cut.to_string(), "could not read/parse feature file(s): cut");
    let unknown = "skein\nnever_heard_of\n";
    assert_eq!(
        parse(unknown, "mine", false).unwrap_err().to_string(),
        "invalid feature(s) in local compatibility files: mine (never_heard_of)"
    );
    assert_eq!(parse(unknown, "theirs", true).unwrap(), ["skein"]);
}

#[test]
fn of_several_sets_it_is_what_all_have() {
    let path = std::env::temp_dir().join(format!("cistern-compatibility-{}", std::process::id()));
    std::fs::write(&path, "skein\nblock_cloning\n").unwrap();
    let both = members(Some(&format!("{},openzfs-2.1-linux", path.display())));
    let alone = members(path.to_str());
    std::fs::remove_file(&path).unwrap();
    assert_eq!(both.unwrap(), ["skein"]);
    assert_eq!(alone.unwrap(), ["skein", "block_cloning"]);
    assert_eq!(members(None), members(Some("off")));
    assert_eq!(members(Some("legacy")), Ok(Vec::new()));
    let gone = format!("could not read/parse feature file(s): {}", path.display());
    assert_eq!(members(path.to_str()).unwrap_err().to_string(), gone);
}
