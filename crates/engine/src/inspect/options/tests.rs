use super::*;

fn parsed(line: &str) -> Result<Command, String> {
    let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    parse(&args)
}

fn options(line: &str) -> Options {
    match parsed(line) {
        Ok(Command::Inspect(options)) => options,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn options_and_paths_come_in_any_order() {
    let given = options("a -lu b --history");
    assert_eq!(given.paths, ["a", "b"]);
    assert!(given.labels && given.uberblocks && given.history && !given.is_overview());
    assert!(options("a").is_overview());
    assert!(!options("-l a").wants_pool());
    assert_eq!(options("-- -l").paths, ["-l"]);
}

#[test]
fn an_object_is_a_number_after_the_dataset() {
    let given = options("-bo tank/share 34 disk");
    assert_eq!(given.objects, Some(Wanted { dataset: "tank/share".into(), object: Some(34) }));
    assert!(given.blocks);
    assert_eq!(options("-o mos disk").objects, Some(Wanted { dataset: "mos".into(), object: None }));
}

#[test]
fn verification_is_of_data_unless_told_otherwise() {
    assert_eq!(options("-c a").verify, Some(true));
    assert_eq!(options("--metadata -c a").verify, Some(false));
}

#[test]
fn nonsense_is_refused() {
    for line in ["", "-l", "-z a", "--nonsense a", "a -o", "a --pool", "--metadata a", "-b a", "-bo tank a"] {
        assert!(parsed(line).is_err(), "{line}");
    }
    assert_eq!(parsed("--help"), Ok(Command::Help));
}
