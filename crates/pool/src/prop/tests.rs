use super::*;
use api_types::{DatasetKind, DatasetProperty, PoolProperty};
use ondisk::blkptr::MAX_BLOCK;
use ondisk::prop::{CHECKSUM_VERIFY, COMPRESS_BITS, UNLIMITED};
use ondisk::{ChecksumKind, CompressKind};
use refusal::Action;

fn action() -> Action {
    Action::SetProperty { name: "tank".into() }
}

fn check(creating: bool, props: &[(&str, &str)]) -> crate::Result<RawProps> {
    let props: Vec<_> = props.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let has_feature = |name: &str| name != "large_dnode";
    let of = DatasetKind::Filesystem;
    Checker { action: action(), of, creating, version: 5000, has_feature: &has_feature }.all(&props)
}

/// The table of properties is of a crate that does not know the format.
#[test]
fn numbers_in_the_table_are_those_of_the_format() {
    let number = |prop: DatasetProperty, word: &str| prop.row().number_of(word).unwrap();
    for (word, kind, level) in [
        ("off", CompressKind::Off, 0),
        ("gzip-9", CompressKind::Gzip9, 0),
        ("lz4", CompressKind::Lz4, 0),
        ("zstd-19", CompressKind::Zstd, 19),
        ("zstd-fast-1", CompressKind::Zstd, 103),
    ] {
        let expected = kind as u64 | level << COMPRESS_BITS;
        assert_eq!(number(DatasetProperty::Compression, word), expected, "{word}");
    }
    for (word, kind) in [("edonr", ChecksumKind::EdonR), ("blake3", ChecksumKind::Blake3)] {
        assert_eq!(number(DatasetProperty::Checksum, word), kind as u64, "{word}");
        let verified = number(DatasetProperty::Dedup, &format!("{word},verify"));
        assert_eq!(verified, kind as u64 | CHECKSUM_VERIFY, "{word}");
    }
    assert!(DatasetProperty::Recordsize.row().admits(MAX_BLOCK));
    assert_eq!(default_of(DatasetProperty::FilesystemLimit.row()), RawValue::Number(UNLIMITED));
}

#[test]
fn a_value_that_needs_a_feature_is_refused_without_it() {
    let start = "cannot set property for 'tank': ";
    let too_old = format!("{start}pool and or dataset must be upgraded to set this property or value");
    assert_eq!(refusal(&[("dnodesize", "2k")]), too_old);
    assert!(check(false, &[("dnodesize", "legacy"), ("special_small_blocks", "4K")]).is_ok());
    assert_eq!(check(false, &[("snapshot_limit", "none")]).unwrap().local[0].1, RawValue::Number(UNLIMITED));
}

fn refusal(props: &[(&str, &str)]) -> String {
    check(false, props).unwrap_err().to_string()
}

#[test]
fn values_are_refused_in_openzfs_words() {
    let start = "cannot set property for 'tank': ";
    let cases = [
        (("used", "1"), "'used' is readonly"),
        (("casesensitivity", "mixed"), "'casesensitivity' is readonly"),
        (("nonsense", "1"), "invalid property 'nonsense'"),
        (
            ("special_small_blocks", "256"),
            "invalid 'special_small_blocks=256' property: must be zero or a power of 2 from 512B to 1M",
        ),
        (("recordsize", "100"), "'recordsize' must be power of 2 from 512B to 16M"),
        (("recordsize", "32M"), "'recordsize' must be power of 2 from 512B to 16M"),
        (("recsize", "3M"), "'recsize' must be power of 2 from 512B to 16M"),
        (("volblocksize", "8K"), "'volblocksize' does not apply to datasets of this type"),
        (("atime", "maybe"), "'atime' must be one of 'on | off'"),
        (("quota", "0"), "use 'none' to disable quota/refquota"),
        (("quota", "much"), "bad numeric value 'much'"),
        (("mountpoint", "here"), "'mountpoint' must be an absolute path, 'none', or 'legacy'"),
        (("volsize", "1G"), "'volsize' does not apply to datasets of this type"),
    ];
    for (prop, why) in cases {
        assert_eq!(refusal(&[prop]), format!("{start}{why}"));
    }
    assert_eq!(
        refusal(&[("atime", "on"), ("atime", "off")]),
        format!("{start}property 'atime' specified multiple times")
    );
}

#[test]
fn what_is_not_built_is_refused_by_name() {
    assert_eq!(refusal(&[("nbmand", "on")]), "not supported: nbmand=on");
    assert_eq!(refusal(&[("checksum", "noparity")]), "not supported: checksum=noparity");
    assert!(check(false, &[("nbmand", "off"), ("dedup", "on")]).is_ok());
}

#[test]
fn values_are_stored_as_openzfs_stores_them() {
    let raw =
        check(true, &[("compress", "lz4"), ("quota", "none"), ("normalization", "formD"), ("a:b", "c")])
            .unwrap();
    let number = |n| RawValue::Number(n);
    assert_eq!(raw.local[0], ("compression".into(), number(15)));
    assert_eq!(raw.local[1], ("quota".into(), number(0)));
    assert_eq!(raw.local[2], ("a:b".into(), RawValue::Text("c".into())));
    assert_eq!(raw.creation, [("normalization", 0x10), ("utf8only", 1)]);
    let raw = check(true, &[("utf8only", "off")]).unwrap();
    assert_eq!(raw.creation, [("utf8only", 0), ("normalization", 0)], "whatever the parent has");
    let why = check(true, &[("normalization", "formC"), ("utf8only", "off")]).unwrap_err().to_string();
    assert!(why.ends_with(": 'utf8only' must be set 'on' if normalization chosen"), "{why}");
}

#[test]
fn a_mountpoint_grows_with_the_name_below_where_it_was_set() {
    let below = |from: &str| Source::Inherited(from.into());
    assert_eq!(mountpoint("/", &Source::Default, "tank/a", None), "/tank/a");
    assert_eq!(mountpoint("/", &Source::Default, "tank", Some("/mnt")), "/mnt/tank");
    assert_eq!(mountpoint("/x", &Source::Local, "tank/a", None), "/x");
    assert_eq!(mountpoint("/x", &below("tank"), "tank/a/b", None), "/x/a/b");
    assert_eq!(mountpoint("/", &below("tank"), "tank/a", None), "/a");
    assert_eq!(mountpoint("/", &Source::Local, "tank", None), "/");
    assert_eq!(mountpoint("/x", &below("tank"), "tank/a", Some("/r")), "/r/x/a");
    assert_eq!(mountpoint("none", &below("tank"), "tank/a", Some("/r")), "none");
}

#[test]
fn pool_properties_are_checked_too() {
    let refusal = |name, value| parse_pool_value(name, value, &action()).unwrap_err().to_string();
    let start = "cannot set property for 'tank': ";
    assert_eq!(refusal("capacity", "1"), format!("{start}'capacity' is readonly"));
    let why = "'failmode' must be one of 'wait | continue | panic'";
    assert_eq!(refusal("failmode", "x"), format!("{start}{why}"));
    let why = "comment must not exceed 32 characters";
    assert_eq!(refusal("comment", &"x".repeat(33)), format!("{start}{why}"));
    let parsed = parse_pool_value("failmode", "continue", &action()).unwrap();
    assert_eq!(parsed, (PoolProperty::Failmode, RawValue::Number(1)));
    assert!(parse_pool_value("ashift", "0", &action()).is_ok());
    assert!(parse_pool_value("ashift", "17", &action()).is_err());
}
