use super::*;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn joined_apart_and_after_operands() {
    let parsed = parse(&words("tank -fo a=b -Rroot x -- -n"), "fno:R:", &[]).expect("valid");
    assert!(parsed.has("f") && !parsed.has("n"));
    assert_eq!(parsed.value("o"), Some("a=b"));
    assert_eq!(parsed.value("R"), Some("root"));
    assert_eq!(parsed.operands, words("tank x -n"));
}

#[test]
fn long_names_and_mistakes() {
    assert!(parse(&words("--json"), "j", &["json"]).expect("valid").has("j"));
    let text = |line: &str| match parse(&words(line), "fo:", &["json"]) {
        Err(Stop::Usage(text)) => text,
        other => panic!("{line}: {other:?}"),
    };
    assert_eq!(text("-fx"), "invalid option 'x'");
    assert_eq!(text("-o"), "missing argument for 'o' option");
    assert_eq!(text("--jason"), "invalid option '--jason'");
    assert_eq!(text("-:"), "invalid option ':'");
}

#[test]
fn long_names_for_letters() {
    let long = [("props", "p"), ("resume", "t")];
    let parsed = parse_as(&words("--props --resume=a=b x --resume c"), "pt:", &long).expect("valid");
    assert!(parsed.has("p"));
    assert_eq!(parsed.values("t").collect::<Vec<_>>(), ["a=b", "c"]);
    assert_eq!(parsed.operands, words("x"));
    let text = |line: &str| match parse_as(&words(line), "pt:", &long) {
        Err(Stop::Usage(text)) => text,
        other => panic!("{line}: {other:?}"),
    };
    assert_eq!(text("--resume"), "missing argument for '--resume' option");
    assert_eq!(text("--props=1"), "invalid option 'p'");
    assert_eq!(text("--prop"), "invalid option '--prop'");
}

#[test]
fn options_end_at_the_first_operand_where_that_is_asked() {
    let parsed = parse_in_order(&words("-r all -p tank"), "rp", &[], true).expect("valid");
    assert!(parsed.has("r") && !parsed.has("p"));
    assert_eq!(parsed.operands, words("all -p tank"));
}
