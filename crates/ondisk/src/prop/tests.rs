use super::*;

#[test]
fn names_and_columns_are_unique() {
    for table in [DATASET, POOL] {
        for (i, a) in table.iter().enumerate() {
            assert!(table[i + 1..].iter().all(|b| a.name != b.name && a.column != b.column), "{}", a.name);
        }
    }
}

#[test]
fn a_default_is_one_of_the_words() {
    for prop in DATASET.iter().chain(POOL) {
        if let PropType::Choice(default, _) = prop.kind
            && prop.name != "version"
        {
            assert!(prop.word_of(default).is_some(), "{}", prop.name);
        }
    }
}

#[test]
fn numbers_are_those_of_openzfs() {
    let number = |name, word| dataset_prop(name).and_then(|p| p.number_of(word));
    assert_eq!(number("compression", "zstd-19"), Some(16 | 19 << 7));
    assert_eq!(number("compression", "zstd-fast-1000"), Some(16 | 123 << 7));
    assert_eq!(number("normalization", "formC"), Some(0x50));
    assert_eq!(number("acltype", "posixacl"), Some(1));
    assert_eq!(dataset_prop("acltype").and_then(|p| p.word_of(1)), Some("posix"));
    assert_eq!(dataset_prop("compression").and_then(|p| p.word_of(10)), Some("gzip"));
}

#[test]
fn columns_name_properties_too() {
    assert_eq!(dataset_prop("avail").map(|p| p.name), Some("available"));
    assert_eq!(dataset_prop("compress").map(|p| p.name), Some("compression"));
    assert_eq!(pool_prop("cap").map(|p| p.name), Some("capacity"));
    assert_eq!(dataset_prop("nonsense"), None);
}

#[test]
fn user_properties_have_a_colon_and_plain_characters() {
    assert!(is_user_prop("com.example:backup-1"));
    assert!(!is_user_prop("backup"));
    assert!(!is_user_prop("a:B"));
}

/// A row of the tables below, from ours.
fn row(prop: &Prop) -> String {
    let kinds = [(FILESYSTEM, 'f'), (VOLUME, 'v'), (SNAPSHOT, 's'), (BOOKMARK, 'b')];
    let kinds: String =
        kinds.iter().filter(|(kind, _)| prop.is_of(*kind)).map(|(_, letter)| letter).collect();
    let kinds = if kinds.is_empty() { "p" } else { &kinds };
    let setting = match prop.setting {
        Setting::ReadOnly => "readonly",
        Setting::Own => "own",
        Setting::Inherit => "inherit",
        Setting::Once => "once",
        Setting::OnceOwn => "once-own",
    };
    let (default, words) = match prop.kind {
        PropType::Number(number) => (number.to_string(), "-".to_owned()),
        PropType::Text(text) => (text.unwrap_or("-").to_owned(), "-".to_owned()),
        PropType::Choice(number, words) => {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            (number.to_string(), words.join("|"))
        }
    };
    format!("{} {} {kinds} {setting} {default} {words}", prop.name, prop.column)
}

#[test]
fn every_property_is_as_openzfs_has_it() {
    for (ours, theirs) in
        [(DATASET, include_str!("openzfs-2.3.txt")), (POOL, include_str!("openzfs-2.3-pool.txt"))]
    {
        let theirs = theirs.lines().filter(|line| !line.starts_with('#'));
        let ours = ours.iter().filter(|prop| !prop.hidden).map(row);
        assert_eq!(ours.collect::<Vec<_>>(), theirs.collect::<Vec<_>>());
    }
}
