use super::*;

/// Each table as name of the variant and row.
fn tables() -> [Vec<(String, &'static PropertyDef)>; 2] {
    [
        DatasetProperty::ALL.iter().map(|prop| (format!("{prop:?}"), prop.row())).collect(),
        PoolProperty::ALL.iter().map(|prop| (format!("{prop:?}"), prop.row())).collect(),
    ]
}

fn all() -> impl Iterator<Item = &'static PropertyDef> {
    tables().into_iter().flatten().map(|(_, row)| row)
}

#[test]
fn names_and_headings_are_unique() {
    for table in tables() {
        for (i, (_, a)) in table.iter().enumerate() {
            for (_, b) in &table[i + 1..] {
                assert!(a.name != b.name && a.column != b.column, "{} and {}", a.name, b.name);
                assert!(!a.is_headed(b.name) && !b.is_headed(a.name), "{} and {}", a.name, b.name);
            }
        }
    }
}

#[test]
fn a_variant_is_called_as_its_row() {
    for (variant, row) in tables().into_iter().flatten() {
        assert_eq!(variant.to_ascii_lowercase(), row.name.replace('_', ""));
    }
}

/// A row of the tables below, from ours.
fn line(row: &PropertyDef) -> String {
    let kinds = [
        (DatasetKind::Filesystem, 'f'),
        (DatasetKind::Volume, 'v'),
        (DatasetKind::Snapshot, 's'),
        (DatasetKind::Bookmark, 'b'),
    ];
    let kinds: String = kinds.iter().filter(|(kind, _)| row.is_of(*kind)).map(|(_, letter)| letter).collect();
    let kinds = if kinds.is_empty() { "p" } else { &kinds };
    let setting = match row.setting {
        Setting::ReadOnly => "readonly",
        Setting::Own => "own",
        Setting::Inherit => "inherit",
        Setting::Once => "once",
        Setting::OnceOwn => "once-own",
    };
    let (default, words) = match row.kind {
        PropType::Number(number) | PropType::Limit(number) => (number.to_string(), "-".to_owned()),
        PropType::Text(text) => (text.unwrap_or("-").to_owned(), "-".to_owned()),
        PropType::Choice(number, words) => {
            let words: Vec<String> = words.iter().map(|(word, number)| format!("{word}={number}")).collect();
            (number.to_string(), words.join("|"))
        }
    };
    format!("{} {} {kinds} {setting} {default} {words}", row.name, row.column)
}

#[test]
fn every_property_is_as_openzfs_has_it_and_where() {
    let theirs = [include_str!("openzfs-2.3.txt"), include_str!("openzfs-2.3-pool.txt")];
    for (ours, theirs) in tables().into_iter().zip(theirs) {
        let theirs = theirs.lines().filter(|line| !line.starts_with('#'));
        let ours = ours.into_iter().filter(|(_, row)| row.is_listed()).map(|(_, row)| line(row));
        assert_eq!(ours.collect::<Vec<_>>(), theirs.collect::<Vec<_>>());
    }
}

#[test]
fn usage_texts_and_forms_list_by_name_what_everybody_is_shown() {
    for (listed, table) in [DatasetProperty::listed(), PoolProperty::listed()].into_iter().zip(tables()) {
        let mut names: Vec<&str> =
            table.iter().filter(|(_, row)| row.is_listed()).map(|(_, row)| row.name).collect();
        names.sort_unstable();
        assert_eq!(listed.iter().map(|row| row.name).collect::<Vec<_>>(), names);
        assert!(listed.iter().all(|row| row.name != "name" && !row.values.is_empty()));
    }
}

/// The words that an alternative of a usage text stands for: `gzip-[1-9]`, `sha256[,verify]`.
fn meant(alternative: &str) -> Vec<String> {
    let Some((stem, rest)) = alternative.split_once('[') else { return vec![alternative.to_owned()] };
    let inner = rest.trim_end_matches(']');
    if inner.starts_with(',') {
        return vec![stem.to_owned(), format!("{stem}{inner}")];
    }
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let numbers = inner.split(',').flat_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        number(first)..=number(last)
    });
    numbers.map(|number| format!("{stem}{number}")).collect()
}

#[test]
fn usage_texts_say_the_words_that_there_are() {
    /// Taken, and not told: what OpenZFS has for what others wrote.
    const UNTOLD: [(&str, &str); 5] = [
        ("checksum", "noparity"),
        ("aclinherit", "secure"),
        ("acltype", "disabled"),
        ("acltype", "noacl"),
        ("acltype", "posixacl"),
    ];
    for row in all().filter(|row| row.edit() != Edit::Never) {
        let PropType::Choice(_, words) = row.kind else { continue };
        let told: Vec<String> = row.values.split(" | ").flat_map(meant).collect();
        for word in &told {
            assert!(row.number_of(word).is_some(), "{}={word}", row.name);
        }
        for (word, _) in words.iter().filter(|(word, _)| !UNTOLD.contains(&(row.name, *word))) {
            assert!(told.iter().any(|told| told == word), "{}={word}", row.name);
        }
    }
}

#[test]
fn usage_texts_say_the_ranges_that_there_are() {
    for row in all() {
        let Some(range) = row.range else { continue };
        let human = |number: u64| match number {
            0..1024 => number.to_string(),
            _ => format!("{}M", number >> 20),
        };
        let ends = [
            format!("{} to {}", human(range.least), human(range.most)),
            format!("{}-{}", range.least, range.most),
        ];
        assert!(ends.iter().any(|ends| row.values.contains(ends)), "{}", row.name);
        assert_eq!(range.or_zero, row.values.contains("zero") || row.values.contains("0="), "{}", row.name);
        assert_eq!(range.is_power_of_two, row.values.contains("power of 2"), "{}", row.name);
        assert!(row.admits(range.least) && row.admits(range.most) && !row.admits(range.most + 1));
        assert_eq!(row.admits(0), range.or_zero);
    }
    let size = DatasetProperty::Recordsize.row();
    assert!(size.admits(1 << 20) && !size.admits(3 << 20) && !size.admits(256));
    assert!(PoolProperty::Ashift.row().admits(12) && !PoolProperty::Ashift.row().admits(8));
    assert!(DatasetProperty::Quota.row().admits(7), "what has no range may be anything");
}

#[test]
fn a_default_is_one_of_the_words_and_of_the_range() {
    for row in all() {
        match row.kind {
            // It depends on the pool, and is kept in the content.
            PropType::Choice(..) if row.name == "version" => {}
            PropType::Choice(number, _) => assert!(row.word_of(number).is_some(), "{}", row.name),
            PropType::Number(number) | PropType::Limit(number) => assert!(row.admits(number), "{}", row.name),
            PropType::Text(_) => {}
        }
    }
}

#[test]
fn the_first_word_of_a_number_is_shown() {
    assert_eq!(DatasetProperty::Acltype.row().number_of("posixacl"), Some(1));
    assert_eq!(DatasetProperty::Acltype.row().word_of(1), Some("posix"));
    assert_eq!(DatasetProperty::Compression.row().word_of(10), Some("gzip"));
}

#[test]
fn headings_name_properties_too() {
    assert_eq!(DatasetProperty::named("available"), Some(DatasetProperty::Available));
    assert_eq!(DatasetProperty::named("avail"), Some(DatasetProperty::Available));
    assert_eq!(DatasetProperty::named("AVAIL"), None);
    assert_eq!(DatasetProperty::named("dedup"), Some(DatasetProperty::Dedup));
    assert_eq!(PoolProperty::named("dedup"), Some(PoolProperty::Dedupratio));
    assert_eq!(PoolProperty::named("alloc"), Some(PoolProperty::Allocated));
    assert_eq!(DatasetProperty::named("nonsense"), None);
}

#[test]
fn names_of_users_and_of_others() {
    assert!(
        is_user_property("com.example:backup") && !is_user_property("plain") && !is_user_property("UP:x")
    );
    assert!(is_dataset_at_property("userquota@bob") && is_dataset_at_property("written#b"));
    assert!(is_dataset_at_property("userquota@"), "whose is asked later");
    assert!(!is_dataset_at_property("written@") && !is_dataset_at_property("feature@x"));
}

#[test]
fn what_may_be_set() {
    let row = |name| DatasetProperty::named(name).expect(name).row();
    assert_eq!(row("used").edit(), Edit::Never);
    assert_eq!(row("casesensitivity").edit(), Edit::AtCreation);
    assert_eq!(row("recordsize").edit(), Edit::Always);
    assert!(row("mountpoint").is_inherited() && !row("quota").is_inherited());
}

#[test]
fn defaults_read_as_values_do() {
    let datasets = [
        ("used", ""),
        ("mounted", ""),
        ("recordsize", "131072"),
        ("volblocksize", "16384"),
        ("quota", "none"),
        ("snapshot_limit", "none"),
        ("compression", "on"),
        ("mountpoint", "/"),
        ("version", "5"),
    ];
    for (name, text) in datasets {
        assert_eq!(DatasetProperty::named(name).expect(name).row().default_text(), text, "{name}");
    }
    let pools = [
        ("ashift", "0"),
        ("bootfs", ""),
        ("failmode", "wait"),
        ("version", ""),
        ("dedup_table_quota", "auto"),
    ];
    for (name, text) in pools {
        assert_eq!(PoolProperty::named(name).expect(name).row().default_text(), text, "{name}");
    }
}
