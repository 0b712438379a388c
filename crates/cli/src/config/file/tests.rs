use stdx::prng::Prng;

use super::super::plan::tests::random_state;
use super::*;

fn refused(text: &str) -> String {
    parse(text).expect_err("it is wrong")
}

#[test]
fn what_is_written_is_read_again() {
    for seed in 0..500 {
        let state = random_state(&mut Prng::new(seed));
        let text = write(&state).expect("it is small");
        let read = parse(&text).unwrap_or_else(|why| panic!("{seed}: {why}\n{text}"));
        assert_eq!(State { known: state.known.clone(), ..read }, state, "{seed}\n{text}");
    }
}

#[test]
fn no_part_of_a_file_passes_for_all_of_it() {
    let text = write(&random_state(&mut Prng::new(3))).expect("it is small");
    let whole = text.trim_end();
    for end in (0..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
        assert!(parse(&whole[..end]).is_err(), "{end}");
    }
    parse(whole).expect("it is whole");
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let head = "version = 1\n[end]\n";
    for (text, why) in [
        ("", "line 1, column 1: there is no 'version = 1'"),
        ("# \u{e9}\n\nversion = 2\n", "line 3, column 11: this program reads version 1 alone"),
        ("version = \"1\"\n", "line 1, column 11: this program reads version 1 alone"),
        ("version = 1\n", "line 2, column 1: the file ends without '[end]'"),
        ("version = 1\n[end\n", "line 2, column 5:"),
    ] {
        assert!(refused(text).starts_with(why), "{text}: {}", refused(text));
    }
    for (text, why) in [
        ("[datset.\"tank\"]\n", "line 3, column 2: unknown field `datset`"),
        ("[dataset.\"tank\"]\nknd = \"volume\"\n", "line 4, column 1: unknown field `knd`"),
        ("[dataset.\"tank\"]\n[dataset.\"tank\"]\n", "line 4, column 10: duplicate key"),
        ("[dataset.t.properties]\natime = \"on\"\natime = \"on\"\n", "line 5, column 1: duplicate key"),
        (
            "[dataset.t]\nproperties = { \"a:b\" = \"\u{e9}\", atime = 1 }\n",
            "line 4, column 37: invalid type: integer `1`",
        ),
        ("[dataset.t.properties]\natime = \"perhaps\"\n", "line 4, column 9: 'atime' must be one of"),
        ("[dataset.t.properties]\nquota = \"lots\"\n", "line 4, column 9: bad numeric value"),
        ("[dataset.t.properties]\nused = \"1\"\n", "line 4, column 1: 'used' is no property that is set"),
        ("[dataset.t.properties]\nnosuch = \"1\"\n", "line 4, column 1: 'nosuch' is no property that is set"),
        (
            "[dataset.t.properties]\nutf8only = \"on\"\n",
            "line 4, column 1: 'utf8only' is no property that is set",
        ),
        (
            "[dataset.t.properties]\n\"userquota@07\" = \"1\"\n",
            "line 4, column 1: 'userquota@07' is no property",
        ),
        (
            "[dataset.t.properties]\nrecordsize = \"1000\"\n",
            "line 4, column 14: 'recordsize' must be 512 to 16M",
        ),
        ("[dataset.t.properties]\n\"a:b\" = \"\\u0000\"\n", "line 4, column 9: a value of 'a:b' has at most"),
        ("[dataset.t.properties]\n\"\\u001b[2J\" = \"1\"\n", "line 4, column 1: '?[2J' is no property"),
        (
            "[dataset.t.properties]\nvolblocksize = \"8K\"\n",
            "line 4, column 1: 'volblocksize' is no property",
        ),
        ("[dataset.t.created]\natime = \"on\"\n", "line 4, column 1: 'atime' is no property that is fixed"),
        ("[dataset.t.created]\nvolblocksize = \"8K\"\n", "no filesystem has the property 'volblocksize'"),
        ("[dataset.t]\nkind = \"volume\"\n", "a volume needs a volsize"),
        ("[dataset.t]\nvolsize = \"1G\"\n", "a file system has no volsize"),
        ("[dataset.\"t/../u\"]\n", "line 3, column 10: parent reference"),
        ("[dataset.\"t@s\"]\n", "line 3, column 10: only file systems and volumes"),
        ("[dataset.\"t/a\\nb\"]\n", "line 3, column 10: invalid character '?' in name"),
        ("[dataset.\"t//b\"]\n", "line 3, column 10: empty component"),
        ("[dataset.\"/t\"]\n", "line 3, column 10: leading slash in name"),
        ("[dataset.t.allow]\nroot = [\"mount\"]\n", "line 4, column 1: permissions are for"),
        ("[dataset.t.allow]\n\"user 07 local\" = [\"mount\"]\n", "line 4, column 1: permissions are for"),
        ("[dataset.t.allow]\ncreator = []\n", "line 4, column 11: there is no permission"),
        ("[dataset.t.allow]\ncreator = [\"fly\"]\n", "line 4, column 11: there is no permission 'fly'"),
        (
            "[dataset.t.allow]\ncreator = [\"compress\"]\n",
            "line 4, column 11: there is no permission 'compress'",
        ),
        (
            "[dataset.t.allow]\ncreator = [\"hold\", \"hold\"]\n",
            "line 4, column 11: a permission is here twice",
        ),
        ("[user.\"a/b\"]\n", "line 3, column 7: a user's name has"),
        ("[user.a]\nuid = 0\n", "line 3, column 1: a user's number is from 1"),
        ("[user.a]\nrole = \"king\"\n", "line 4, column 8: unknown variant `king`"),
        ("[tunable]\nx = -1\n", "line 4, column 5: invalid value"),
        ("[route.\"a b\"]\n", "line 3, column 8: a route's name has"),
        ("[route.a]\nhas_secret = true\n", "line 4, column 1: unknown field `has_secret`"),
        ("[route.a]\ntarget = { pigeon = {} }\n", "line 4, column 12: unknown variant `pigeon`"),
        ("[service.A]\nspec.kind = \"script\"\n", "line 3, column 10: a service's name has"),
        ("[service.a]\n", "line 3, column 1: missing field `spec`"),
        ("[service.a]\nspec = { kind = \"fly\" }\n", "unknown variant `fly`"),
        ("[service.a.spec]\nkind = \"auto-scrub\"\npools = 7\n", "invalid type: integer"),
        ("[alerts]\nfull_warning = 256\n", "line 4, column 16: invalid value"),
    ] {
        let text = format!("{head}{text}");
        assert!(refused(&text).contains(why), "{text}: {}", refused(&text));
    }
}

#[test]
fn a_secret_is_no_part_of_a_complaint() {
    let mapping = "\"cistern:iscsi\" = \"user=u,secret=correcthorse";
    for wrong in [
        format!("[dataset.v.properties]\n{mapping}\" x\n"),
        format!("[dataset.v.properties]\n{mapping}\n"),
        format!("[dataset.v.properties]\n{mapping},sealed=0x00\"\n"),
        format!("[dataset.v]\n{mapping}\"\n"),
        format!("[dataset.v]\nproperties = {{ {mapping} }}\n"),
        "[dataset.v]\nproperties = \"user=u,secret=correcthorse\"\n".to_owned(),
        "[route.r]\nsecret = \"correcthorse\"\nleast = \"none\"\n".to_owned(),
        "[route.r]\nsecret = \"correcthorse\ntarget = 1\"\n".to_owned(),
        "[route.r]\ntarget = { webhook = { url = 7, secret = \"correcthorse\" } }\n".to_owned(),
    ] {
        let why = refused(&format!("version = 1\n{wrong}[end]\n"));
        assert!(why.starts_with("line ") && !why.contains("correcthorse"), "{wrong}: {why}");
    }
}

#[test]
fn rubbish_is_refused_and_takes_no_time() {
    for rubbish in ["[".repeat(100_000), "a.".repeat(100_000), format!("version = {}", "[".repeat(100_000))] {
        assert!(refused(&rubbish).starts_with("line 1, column "));
    }
    let mut random = Prng::new(7);
    let text = write(&random_state(&mut random)).expect("it is small");
    for _ in 0..2_000 {
        let mut bytes = text.clone().into_bytes();
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] = random.next_u64() as u8;
        if let Ok(text) = String::from_utf8(bytes) {
            // Whatever it is, it is no panic.
            drop(parse(&text));
        }
    }
}

#[test]
fn a_file_that_is_too_large_or_no_text_is_not_read() {
    let path = std::env::temp_dir().join(format!("cistern-config-{}", std::process::id()));
    let told = |what: &str| match read(&path) {
        Err(Stop::Fail(why)) => assert!(why.contains(what), "{why}"),
        other => panic!("{other:?}"),
    };
    File::create(&path).and_then(|file| file.set_len(LARGEST + 1)).expect("written");
    told("is no configuration");
    std::fs::write(&path, b"version = 1\n  \xff\n").expect("written");
    told("line 2, column 3: these bytes are no UTF-8");
    std::fs::remove_file(&path).expect("removed");
    told("cannot read");
}
