use super::*;

fn parsed(line: &str, is_root: bool) -> Result<Option<Options>, String> {
    let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    parse(&args, 16 << 30, is_root)
}

fn run(line: &str) -> Options {
    parsed(line, false).expect(line).expect(line)
}

fn wrong(line: &str) -> String {
    parsed(line, true).expect_err(line)
}

#[test]
fn defaults_follow_the_machine() {
    let options = run("");
    assert_eq!((options.cache, options.dirty), (4 << 30, (16 << 30) / 10));
    assert_eq!(options.nfs, Some("127.0.0.1:12049".parse().unwrap()));
    assert_eq!(options.https, Some("127.0.0.1:8443".parse().unwrap()), "nobody else reaches it");
    assert_eq!(run("--https off").https, None);
    let small = parse(&[], 512 << 20, true).expect("fine").expect("no help");
    assert_eq!((small.cache, small.dirty), (128 << 20, (512 << 20) / 10));
    assert_eq!(small.nfs, Some("127.0.0.1:2049".parse().unwrap()));
    assert_eq!(small.state, PathBuf::from("/var/lib/cistern"));
    assert!(options.state.is_absolute() && options.state.ends_with("cistern"), "{:?}", options.state);
}

#[test]
fn options_take_values_behind_a_space_or_an_equals_sign() {
    let options = run("--state /s --nfs=off --cache 1g --search /a --search=/b --automount --old-handles");
    assert_eq!((options.state, options.nfs, options.cache), (PathBuf::from("/s"), None, 1 << 30));
    assert_eq!(options.search, ["/a", "/b"]);
    assert!(options.automount && options.old_handles && !options.first_start);
    assert!(!run("--automount --automount=off").automount && run("--automount=on").automount);
    assert_eq!(run("").keep, Some(PathBuf::from("/dev/shm")));
    assert_eq!((run("--keep /m").keep, run("--keep=off").keep), (Some(PathBuf::from("/m")), None));
    let portals = run("--iscsi 10.0.0.1:3260 --iscsi=[::]:0,7").iscsi;
    assert_eq!(portals.iter().map(ToString::to_string).collect::<Vec<_>>(), ["10.0.0.1:3260,1", "[::]:0,7"]);
    assert_eq!(run("--iscsi 10.0.0.1:3260 --iscsi off").iscsi, []);
}

#[test]
fn nonsense_is_refused_by_name() {
    assert_eq!(wrong("--state"), "--state wants a value");
    assert_eq!(wrong("--fast"), "unrecognized option '--fast'");
    assert!(wrong("--cache many").contains("'many' is not a size"));
    assert!(wrong("--cache 99999999999T").contains("is not a size"));
    assert!(wrong("--cache 10").contains("too little"));
    assert_eq!(wrong("--automount=1"), "--automount wants on or off, or nothing, not '1'");
    assert!(wrong("--log loud").contains("'loud' is no level"));
    assert!(wrong("--https here").contains("--https wants ADDR:PORT"));
    assert!(wrong("--nfs here").contains("ADDR:PORT"));
    assert!(wrong("--iscsi 10.0.0.1:3260,0").contains("ADDR:PORT[,TAG]"));
}
