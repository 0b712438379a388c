use api_types::{Schedule, SnapTarget, TierAction, TierChoice, When};

use super::*;

fn policy(target: TierTarget) -> AutoTierPolicy {
    AutoTierPolicy {
        source: SnapTarget { dataset: "tank/home".to_owned(), ..SnapTarget::default() },
        folder: String::new(),
        target,
        schedule: Schedule { when: When::Day { hour: 2, minute: 0 }, zone: None },
        action: TierAction::Move { keep: 0 },
        choose: TierChoice::default(),
        rate: Some(1_500),
        plain: false,
        stuck_after: 600,
    }
}

#[test]
fn paths_and_hosts_stand_behind_all_options() {
    let here = policy(TierTarget::Folder { path: "/-x y".to_owned() });
    let words = arguments(&here, Ask::Copy, "/tank/.zfs/snapshot/a", "/-x y");
    assert_eq!(words[words.len() - 3..], ["--", "/tank/.zfs/snapshot/a/", "/-x y/."]);
    assert!(words.contains(&"--bwlimit=2".to_owned()) && !words.iter().any(|it| it.starts_with("--rsh")));
    assert!(!words.contains(&"--fsync".to_owned()), "what is here is written out by its pool");
    let words = arguments(&here, Ask::Compare, "/s", "/");
    assert_eq!(words[words.len() - 1], "/.");
    assert!(words.contains(&"--dry-run".to_owned()) && words.contains(&"--checksum".to_owned()));
    let there = policy(TierTarget::Ssh {
        host: "fd00::1".to_owned(),
        user: Some("keeper".to_owned()),
        port: std::num::NonZeroU16::new(2_222),
        path: "/srv/cold".to_owned(),
    });
    let words = arguments(&there, Ask::Copy, "/s", "");
    assert_eq!(words[words.len() - 1], "keeper@[fd00::1]:/srv/cold/.");
    assert!(words.contains(&"--fsync".to_owned()));
    let shell = words.iter().find(|word| word.starts_with("--rsh=ssh ")).expect("a shell");
    assert!(shell.contains("BatchMode=yes") && shell.ends_with(" -p 2222"), "{shell}");
}

#[test]
fn lines_of_files_are_understood_byte_by_byte() {
    let file = |deed, size, path: &[u8]| Some(Said::File { deed, size, path: path.to_vec() });
    assert_eq!(understood(b"=>f+++++++++ 3000000 a/big"), file(Deed::Send, 3_000_000, b"a/big"));
    assert_eq!(understood(b"=<f.st...... 3 a/big"), file(Deed::Send, 3, b"a/big"));
    assert_eq!(understood(b"=.f          1 -dash"), file(Deed::Same, 1, b"-dash"));
    assert_eq!(understood(b"=.f...p..... 0  two  spaces "), file(Deed::Same, 0, b" two  spaces "));
    assert_eq!(understood(b"=.L          4 a/l"), file(Deed::Same, 4, b"a/l"));
    assert_eq!(understood(b"=cL+++++++++ 4 a/l"), file(Deed::Link, 4, b"a/l"));
    assert_eq!(understood(b"=>fcs....... 3 a/f"), file(Deed::Send, 3, b"a/f"));
    assert_eq!(understood(b"=hf+++++++++ 3 a/g"), file(Deed::Link, 3, b"a/g"));
    assert_eq!(understood(b"=hf          3 a/g"), file(Deed::Name, 3, b"a/g"));
    let escaped = b"=.f          1 a/new\\#012line\\#377\\#134#012x\\#9\\#400";
    assert_eq!(understood(escaped), file(Deed::Same, 1, b"a/new\nline\xff\\#012x\\#9\\#400"));
    let sent = b"      3000003  99%  220.08MB/s    0:00:00 (xfr#4, to-chk=6/11)";
    assert_eq!(understood(sent), Some(Said::Sent { files: 4, bytes: 3_000_003 }));
    // While the first file is on its way nothing is whole.
    assert_eq!(understood(b"        32768   0%    0.00kB/s    0:00:00  "), None);
    for nothing in [
        &b"=cd+++++++++ 4096 a/"[..],
        b"=.d          4096 a/",
        b"",
        b"=",
        b"=.f          ",
        b"=.f          x a",
        b"=.f          1",
        b"hello",
        b"12 files",
        b"rsync: \xff",
        b"sending incremental file list",
    ] {
        assert_eq!(understood(nothing), None, "{nothing:?}");
    }
}

#[test]
fn every_end_but_a_good_one_has_a_class() {
    let exited = |status| RsyncEnd::Exited { status };
    assert_eq!(class(&exited(0)), None);
    for status in [10, 11, 12, 20, 22, 23, 24, 30, 35, 255] {
        assert_eq!(class(&exited(status)), Some(FailureClass::Retriable), "{status}");
    }
    for status in [1, 2, 3, 4, 5, 127] {
        assert_eq!(class(&exited(status)), Some(FailureClass::NeedsPerson), "{status}");
    }
    assert_eq!(class(&RsyncEnd::Stuck { seconds: 10 }), Some(FailureClass::Retriable));
    assert!(is_partial(&exited(23)) && is_partial(&exited(24)) && !is_partial(&exited(11)));
}
