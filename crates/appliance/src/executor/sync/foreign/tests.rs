use std::process::Command;

use super::*;

const LISTED: &str = "d/h\treadonly\ton\tlocal
d/h\treceive_resume_token\t-\t-
d/h\torg.cistern:sync\tx 7\tlocal
d/h\torg.cistern:replica\taway 77\tlocal
d/h/a b\treadonly\ton\tinherited from d/h
d/h/a b\treceive_resume_token\t1-ab-c\t-
d/h/a b\torg.cistern:sync\tx 7\tinherited from d/h
d/h/a b\torg.cistern:replica\taway 77\tinherited from d/h
d/h@one\t5\t10\t0\t\taway 1795843462
d/h@two\t6\t11\t1\t-\tx 7
d/h/a b@one\t7\t12\t0\td/clone,d/other\t-
";

#[test]
fn a_listing_is_read() {
    let all = listed(LISTED, "away").expect("a listing");
    let (head, below) = (&all["d/h"], &all["d/h/a b"]);
    assert_eq!(head.relation.as_deref(), Some("away 77"));
    assert_eq!((head.readonly, head.token.as_deref()), (true, None));
    // What is inherited makes no replica.
    assert_eq!((below.relation.as_deref(), below.token.as_deref()), (None, Some("1-ab-c")));
    let of = |found: &Found| {
        let each = |it: &Snapshot| (it.name.clone(), it.guid, it.createtxg, it.stamp, it.needed);
        found.snapshots.iter().map(each).collect::<Vec<_>>()
    };
    assert_eq!(
        of(head),
        [("one".into(), 5, 10, Some(1_795_843_462), false), ("two".into(), 6, 11, None, true)]
    );
    assert_eq!(of(below), [("one".into(), 7, 12, None, true)]);
    // What a dataset hands down to its snapshots is not their own.
    let handed = LISTED.replace("x 7", "x 1795843462");
    assert_eq!(listed(&handed, "x").expect("a listing")["d/h"].snapshots[1].stamp, None);
    let own = LISTED.replace("x 7\t", "- \t").replace("x 7\n", "x 1795843462\n");
    assert_eq!(listed(&own, "x").expect("a listing")["d/h"].snapshots[1].stamp, Some(1_795_843_462));
}

#[test]
fn what_is_no_listing_is_a_fault_and_not_an_empty_one() {
    for bad in [
        "hello",
        "d/h\treadonly\ton",
        "d/h\tmountpoint\t/\tlocal",
        "d/h@one\t5\t10\t0\t\t-",
        "d/h\treadonly\ton\tlocal\nd/h@one\t5\tx\t0\t\t-",
        "d/h\treadonly\ton\tlocal\nd/h@one\t5\t10",
    ] {
        assert!(matches!(listed(bad, "s"), Err(RemoteFault::Unintelligible { .. })), "{bad}");
    }
    assert_eq!(listed("", "s"), Ok(BTreeMap::new()));
    assert_eq!(behind_mark(b"Welcome!\norg.cistern:begin\nd/h\n", ""), Ok("d/h\n"));
    let said = behind_mark(b"\n", "fish: Unsupported use of '='");
    let line = "fish: Unsupported use of '='".to_owned();
    assert_eq!(said, Err(RemoteFault::Unintelligible { line }));
    for bad in [&b""[..], b"Welcome!\n", b"org.cistern:begin \xff\n", b"no org.cistern:begin\n"] {
        assert!(behind_mark(bad, "").is_err(), "{bad:?}");
    }
}

/// What a real shell makes of a command, with a `zfs` that prints its words.
fn run(command: &str) -> (i32, String) {
    let script = format!("zfs() {{ printf '[%s]' \"$@\"; echo; }}; {command}");
    let output = Command::new("sh").args(["-c", &script]).output().expect("a shell");
    (output.status.code().expect("it ended"), String::from_utf8(output.stdout).expect("text"))
}

#[test]
fn no_word_gets_another_meaning_in_a_shell() {
    for odd in ["a b", "a'b", "$(reboot)", "`x`;y", "a\\b\"c", "-o x"] {
        let (status, said) = run(&receive(odd, &[]));
        assert_eq!((status, said), (0, format!("{MARK}\n[receive][-s][-u][{odd}]\n")));
    }
    let props = [PropertyChange { name: "readonly".into(), value: "on".into() }];
    assert_eq!(run(&receive("d/h", &props)).1, format!("{MARK}\n[receive][-s][-u][-o][readonly=on][d/h]\n"));
    assert!(run(&list("d/h", true)).1.contains("[-r]") && run(&list("d/h", false)).1.contains("[-d][1]"));
}

#[test]
fn only_the_snapshot_that_was_seen_is_changed() {
    let with = |guid: u64, command: String| {
        let script = format!("zfs() {{ [ $1 = get ] && echo {guid} || echo done; }}; {command}");
        let output = Command::new("sh").args(["-c", &script]).output().expect("a shell");
        (output.status.code().expect("it ended"), String::from_utf8_lossy(&output.stdout).contains("done"))
    };
    assert_eq!(with(7, destroy("d/h@a", 7)), (0, true));
    let (status, is_done) = with(8, destroy("d/h@a", 7));
    assert!(is_another(status) && !is_done);
    assert_eq!(with(7, set("d/h@a", 7, "x:y", "z")), (0, true));
    assert!(!with(8, set("d/h@a", 7, "x:y", "z")).1);
    let failed = format!("zfs() {{ return 255; }}; {}", destroy("d/h@a", 7));
    let status = Command::new("sh").args(["-c", &failed]).status().expect("a shell");
    assert_eq!(status.code(), Some(1), "255 is what ssh itself fails with");
}

#[test]
fn a_failure_says_whether_it_goes_away() {
    let class = |status: i32, said: &str| judged(status, said).expect_err("it failed").0;
    assert_eq!(judged(0, "a warning"), Ok(()));
    assert!(matches!(judged(127, "zfs: not found"), Err((NeedsPerson, RemoteFault::NoCommand { .. }))));
    let denied = "cannot receive new filesystem stream: permission denied";
    assert!(matches!(judged(1, denied), Err((NeedsPerson, RemoteFault::Denied { .. }))));
    for goes in [
        "cannot receive incremental stream: out of space",
        "cannot receive: pool I/O is currently suspended",
        "internal error: what nobody has seen",
        "",
    ] {
        assert_eq!(class(1, goes), Retriable, "{goes}");
    }
    for stays in [
        "cannot receive incremental stream: destination d/h has been modified\nsince most recent snapshot",
        "cannot receive new filesystem stream: pool must be upgraded to receive this stream.",
        "cannot receive: stream has unsupported feature, feature flags = 24",
        "invalid option 's'",
    ] {
        assert_eq!(class(1, stays), NeedsPerson, "{stays}");
    }
    assert!(
        is_absent("cannot open 'd/h': dataset does not exist\n")
            && !is_absent("cannot open 'd/h': I/O error")
    );
}

#[test]
fn ssh_says_why_there_is_no_connection() {
    let of = |said: &str| not_connected(said, Some("backup"), ("ssh-ed25519 A".into(), "/k".into()));
    let changed =
        "@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\nHost key verification failed.";
    assert!(matches!(of(changed), (NeedsPerson, RemoteFault::HostKey { .. })));
    let unknown = "No ED25519 host key is known for nas and you have requested strict checking.\n\
                   Host key verification failed.";
    let (_, RemoteFault::HostKey { said, .. }) = of(unknown) else { panic!("the host's key") };
    assert!(said.starts_with("No ED25519 host key is known for nas"), "{said}");
    let (class, why) = of("backup@nas: Permission denied (publickey).");
    assert_eq!(class, NeedsPerson);
    assert_eq!(why, RemoteFault::Login { user: Some("backup".into()), key: "ssh-ed25519 A".into() });
    for goes in ["connect to host nas port 22: Connection refused", "Could not resolve hostname nas", "odd"] {
        assert!(matches!(of(goes), (Retriable, RemoteFault::Unreachable { .. })), "{goes}");
    }
}

#[test]
fn what_is_shown_is_short_and_plain() {
    assert_eq!(shown("a\u{1b}[31mb\r\n\tc\n"), "a [31mb; c");
    let long = "ä".repeat(1_000);
    assert!(shown(&long).len() <= SHOWN);
    let lines = "one of many lines\n".repeat(100);
    assert!(shown(&lines).starts_with("one of many lines; one") && shown(&lines).len() <= SHOWN + 100);
}
