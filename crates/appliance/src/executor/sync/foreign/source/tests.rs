use super::*;

const LISTED: &str = "t/h\tguid\t77\t-
t/h\ttype\tfilesystem\t-
t/h\twritten\t4096\t-
t/h\tcompression\tlz4\tlocal
t/h\trecordsize\t131072\tdefault
t/h\tacltype\toff\tdefault
t/h\torg.cistern:sync\tK/away 5\tlocal
t/h/v\tguid\t78\t-
t/h/v\ttype\tvolume\t-
t/h/v\twritten\t0\t-
t/h/v\tcompression\tlz4\tinherited from t/h
t/h/v\torg.cistern:sync\tK/away 5\tinherited from t/h
t/h@one\t5\t10\t1\t\tK/away 1795843462
t/h@two\t6\t11\t2\t-\tK/away 1795843463
t/h@theirs\t8\t12\t1\t-\tK/away 5
t/h@cloned\t9\t13\t0\tt/c\tL/away 1795843463
t/h#mark\t4\t9\t-\t-\t-
t/h/v@one\t7\t10\t0\t-\tK/away 1795843462
";

fn original(name: &str, guid: u64) -> Original {
    Original { guid, name: name.to_owned() }
}

#[test]
fn a_listing_says_what_a_plan_is_made_from() {
    let mut all = listed(LISTED, "K/away").expect("a listing");
    let held: Vec<String> = all.iter().flat_map(|(name, it)| it.held(name)).collect();
    assert_eq!(held, ["t/h@one", "t/h@two", "t/h@theirs"]);
    let holds = "t/h@one\torg.cistern:K/away\tSat Nov 28 20:00 2026\nt/h@two\tmine\tSat Nov 28 20:00 2026\n\
                 t/h@two\torg.cistern:K/away\tSat Nov 28 20:00 2026\n\
                 t/h@theirs\torg.cistern:L/away\tSat Nov 28 20:00 2026\n";
    let own = super::held(holds, "K/away").expect("holds");
    assert_eq!(own, BTreeSet::from(["t/h@one".to_owned(), "t/h@two".to_owned()]));
    all.iter_mut().for_each(|(name, it)| it.hold(name, &own));
    let source = all["t/h"].source(9);
    assert_eq!((source.guid, source.written, source.kept), (77, 4096, 9));
    let each = |it: &Snapshot| (it.name.clone(), it.stamp, it.held, it.needed);
    assert_eq!(
        source.snapshots.iter().map(each).collect::<Vec<_>>(),
        [
            ("one".to_owned(), Some(1_795_843_462), true, false),
            ("two".to_owned(), Some(1_795_843_463), true, true),
            // What its dataset hands down is not its own.
            ("theirs".to_owned(), None, false, true),
            ("cloned".to_owned(), None, false, true),
        ]
    );
    assert_eq!(source.bookmarks, [Bookmark { name: "mark".to_owned(), guid: 4, createtxg: 9, own: false }]);
    assert_eq!(all["t/h"].own(), ["one"]);
    // Only what was set on it itself goes along.
    let set = PropertyChange { name: "compression".to_owned(), value: "lz4".to_owned() };
    assert_eq!((all["t/h"].kind, &all["t/h"].given), (DatasetKind::Filesystem, &vec![set]));
    assert_eq!((all["t/h/v"].kind, all["t/h/v"].given.len()), (DatasetKind::Volume, 0));
}

#[test]
fn what_is_no_answer_is_a_fault_and_not_an_empty_one() {
    for bad in [
        "hello",
        "t/h\tguid\tx\t-",
        "t/h\ttype\tfilesystem\t-",
        "t/h\ttype\tdoor\t-",
        "t/h\tmountpoint\t/\tlocal",
        "t/h@one\t5\t10\t0\t\t-",
        "t/h\tguid\t7\t-\nt/h#one\t5\t-\t-\t-\t-",
        "t/h\tguid\t7\t-\nt/h@one\t5\t1\t-\t-\t-",
    ] {
        assert!(matches!(listed(bad, "s"), Err(RemoteFault::Unintelligible { .. })), "{bad}");
    }
    assert!(named("tank\t7\nhello\n").is_err() && named("tank\tx\n").is_err());
    assert_eq!(named("tank/a b\t7\n"), Ok(vec![Named { name: "tank/a b".to_owned(), guid: 7 }]));
    assert!(super::held("t@a org.cistern:s\n", "s").is_err());
    assert!(reclaimed("destroy\tt@a\n").is_err());
    assert_eq!(reclaimed("destroy\tt@a\nreclaim\t512\n"), Ok(512));
    assert!(planned("").is_err() && planned("full\tt@a\tmuch\n").is_err());
}

#[test]
fn how_much_would_be_sent_is_understood_of_each_version() {
    for (text, size) in [
        ("full\tt@a\t512\nsize\t512\n", 512),
        ("incremental\tt@o\tt@a\t512\nsize\t512\n", 512),
        ("resume token contents:\nnvlist version: 0\n\tobject = 0x7\nincremental\to\tt@a\t99\n", 99),
        ("full\tt@a\n", 0),
        ("full\tt@a\nsize\t7\n", 7),
    ] {
        assert_eq!(planned(text), Ok(("t@a".to_owned(), size)), "{text}");
    }
    for gone in [
        "cannot resume send: 't@a' used in the initial send no longer exists",
        "cannot resume send: 't@a' is no longer the same snapshot used in the initial send",
        "cannot resume send: incremental source 0x7 no longer exists",
    ] {
        assert!(is_without_rest(gone), "{gone}");
    }
    assert!(!is_without_rest("cannot open 't': no such pool"));
}

#[test]
fn each_word_of_a_command_is_quoted_and_what_changes_is_compared_first() {
    let of = original("t/a b", 77);
    let hold = step(&of, &SyncStep::Hold { snapshot: "x".to_owned() }, "K/s", 0);
    assert!(
        hold.contains(
            "g=$(zfs 'get' '-Hp' '-o' 'value' 'guid' 't/a b') && if [ \"$g\" = '77' ]; then \
             zfs 'hold' 'org.cistern:K/s' 't/a b@x'; else"
        ),
        "{hold}"
    );
    let many = [(of.clone(), "x".to_owned()), (original("t/c", 78), "x".to_owned())];
    let made = make(&many, "K/s", 1_795_843_462);
    assert!(made.contains("'guid' 't/a b' 't/c') && if [ \"$g\" = '77\n78' ]"), "{made}");
    assert!(made.contains("'snapshot' '-o' 'org.cistern:sync=K/s 1795843462' 't/a b@x' 't/c@x'"), "{made}");
    let destroy = SyncStep::Destroy { side: api_types::SyncSide::Source, name: "@x".to_owned(), guid: 9 };
    let destroyed = step(&of, &destroy, "K/s", 0);
    assert!(destroyed.contains("'guid' 't/a b@x') && if [ \"$g\" = '9' ]"), "{destroyed}");
    let content = Content::Snapshot { snapshot: "x".to_owned(), from: Some("#o".to_owned()) };
    let sent = send(&of, &content);
    assert!(sent.contains("zfs 'send' '-L' '-e' '-c' '-i' 't/a b#o' 't/a b@x';"), "{sent}");
    let rest = would_send(&of, &Content::Rest { token: "1-a-b-c".to_owned() });
    assert!(rest.contains("zfs 'send' '-L' '-e' '-c' '-nvP' '-t' '1-a-b-c';"), "{rest}");
}
