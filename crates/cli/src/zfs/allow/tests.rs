use super::*;

fn asked(line: &str, un: bool) -> Result<Asked, String> {
    let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let options = getopt::parse(&args, "ldugecsrh", &[]).map_err(|stop| format!("{stop:?}"))?;
    ask(&options, un).map_err(str::to_owned)
}

fn accounts() -> Accounts {
    let passwd = "root:x:0:0::/:\njoe:x:1001:100::/:\nstaff:x:1002:100::/:\n";
    Accounts::parse(passwd, "users:x:100:\nstaff:x:50:\n")
}

fn whom(line: &str) -> Result<Vec<Grantee>, String> {
    let asked = asked(line, false)?;
    Ok(grants(&asked, &accounts())?.into_iter().map(|grant| grant.who).collect())
}

#[test]
fn who_is_meant_is_found_by_name_and_number() {
    use Grantee::{Creator, Everyone, Group, Set, User};
    let cases = [
        ("joe create tank", vec![User(1001)]),
        ("staff create tank", vec![User(1002)]),
        ("-g staff create tank", vec![Group(50)]),
        ("users create tank", vec![Group(100)]),
        ("joe,users create tank", vec![User(1001), Group(100)]),
        ("1001 create tank", vec![User(1001)]),
        ("100 create tank", vec![Group(100)]),
        ("-u 4711 create tank", vec![User(4711)]),
        ("-g 0x10 create tank", vec![Group(16)]),
        ("everyone create tank", vec![Everyone]),
        ("-e create tank", vec![Everyone]),
        ("-c create tank", vec![Creator]),
        ("-s @a create,@b tank", vec![Set("@a".into())]),
    ];
    for (line, expected) in cases {
        assert_eq!(whom(line), Ok(expected), "{line}");
    }
    assert_eq!(whom("nobodyhere create tank"), Err("invalid user/group nobodyhere\n".into()));
    assert_eq!(whom("4711 create tank"), Err("invalid user/group 4711\n".into()));
    assert_eq!(whom("-u nobodyhere create tank"), Err("invalid user nobodyhere\n".into()));
    assert_eq!(whom("-g nobodyhere create tank"), Err("invalid group nobodyhere\n".into()));
}

#[test]
fn where_it_counts_is_both_unless_told() {
    let reach = |line| asked(line, false).map(|asked| (asked.local, asked.descendent));
    assert_eq!(reach("joe create tank"), Ok((true, true)));
    assert_eq!(reach("-l joe create tank"), Ok((true, false)));
    assert_eq!(reach("-d joe create tank"), Ok((false, true)));
    assert_eq!(reach("-ld joe create tank"), Ok((true, true)));
}

#[test]
fn only_unallow_may_leave_out_permissions() {
    assert_eq!(asked("tank", false).map(|asked| asked.whom), Ok(Whom::Show));
    assert_eq!(asked("joe tank", true).map(|asked| asked.permissions), Ok(None));
    let some = Ok(Some(vec!["create".to_owned(), "@a".to_owned()]));
    assert_eq!(asked("joe create,@a tank", true).map(|asked| asked.permissions), some);
    for (line, un) in
        [("joe tank", false), ("tank", true), ("", false), ("a b c d", true), ("-c tank", false)]
    {
        assert_eq!(asked(line, un), Err("wrong number of parameters\n".into()), "{line}");
    }
}

#[test]
fn options_that_do_not_go_together_are_told() {
    let cases = [
        ("-u joe -g users create", "-u, -g, and -e are mutually exclusive\n"),
        ("-c -l create tank", "invalid options combined with -c\n"),
        ("-s -u @a create tank", "invalid options combined with -s\n"),
        ("-e -s create tank", "invalid options combined with -s\n"),
        ("-s a create tank", "invalid set name: missing '@' prefix\n"),
    ];
    for (line, expected) in cases {
        assert_eq!(asked(line, false), Err(expected.into()), "{line}");
    }
}
