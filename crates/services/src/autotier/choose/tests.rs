use super::*;

const NOW: Time = 1_795_843_462;

fn choice(choice: TierChoice) -> Choice {
    Choice::new(&choice).expect("a choice")
}

fn file(path: &[u8]) -> File<'_> {
    File { path, size: 100, modified: NOW - 1_000 }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn nothing_said_takes_all() {
    let all = choice(TierChoice::default());
    for path in [&b"a"[..], b"a/b/c", b"new\nline", b"\xff\xfe/-x", b".hidden"] {
        assert!(all.takes(file(path), NOW) && all.enters(path), "{path:?}");
    }
}

#[test]
fn ages_and_sizes_have_exact_bounds() {
    let aged = |older_than, newer_than| {
        let choice = choice(TierChoice { older_than, newer_than, ..TierChoice::default() });
        move |age: Time| choice.takes(File { modified: NOW - age, ..file(b"x") }, NOW)
    };
    let older = aged(Some(60), None);
    assert!(!older(59) && older(60) && older(1 << 40));
    let newer = aged(None, Some(60));
    assert!(newer(59) && !newer(60));
    // A time that is still to come is of no age, whatever it says.
    assert!(newer(-1_000) && !older(-1_000));
    let whole = choice(TierChoice { older_than: Some(60), ..TierChoice::default() });
    for (modified, goes) in [(Time::MAX, false), (Time::MIN, true)] {
        assert_eq!(whole.takes(File { modified, ..file(b"x") }, NOW), goes);
    }
    let both = aged(Some(60), Some(120));
    assert!(!both(59) && both(60) && both(119) && !both(120));
    let sized = choice(TierChoice { min_size: Some(10), max_size: Some(20), ..TierChoice::default() });
    let takes = |size| sized.takes(File { size, ..file(b"x") }, NOW);
    assert!(!takes(9) && takes(10) && takes(20) && !takes(21));
}

#[test]
fn depth_counts_names_and_bounds_the_walk() {
    let two = choice(TierChoice { max_depth: Some(2), ..TierChoice::default() });
    assert!(two.takes(file(b"a"), NOW) && two.takes(file(b"a/b"), NOW) && !two.takes(file(b"a/b/c"), NOW));
    assert!(two.enters(b"a") && !two.enters(b"a/b"));
}

#[test]
fn patterns_are_of_names_or_of_paths() {
    let some = choice(TierChoice {
        include: words(&["*.jpg", "raw/**", "/top", "b[ae]d?"]),
        exclude: words(&["cache/", "a/*/tmp", "*.part.jpg"]),
        ..TierChoice::default()
    });
    for yes in [&b"a.jpg"[..], b"x/y/a.jpg", b"raw/deep/er/x", b"badx", b"y/bedy", b"\xff.jpg", b"a\nb.jpg"] {
        assert!(some.takes(file(yes), NOW), "{yes:?}");
    }
    // A star does not match a slash, and what is excluded does not go though it is included.
    for no in [&b"a.png"[..], b"x/raw/y", b"x/bad/y", b"a.part.jpg", b"badxy", b"a/top/x"] {
        assert!(!some.takes(file(no), NOW), "{no:?}");
    }
    assert!(!some.enters(b"cache") && !some.enters(b"x/cache") && !some.enters(b"a/b/tmp"));
    assert!(some.enters(b"a/b/c/tmp") && some.enters(b"x"));
}

#[test]
fn what_chooses_nothing_or_is_no_pattern_is_refused() {
    let empty = TierChoice::default;
    let nothing = vec![TierFault::ChoosesNothing];
    for none in [
        TierChoice { newer_than: Some(0), ..empty() },
        TierChoice { older_than: Some(60), newer_than: Some(60), ..empty() },
        TierChoice { min_size: Some(2), max_size: Some(1), ..empty() },
        TierChoice { max_depth: Some(0), ..empty() },
    ] {
        assert_eq!(Choice::new(&none).err(), Some(nothing.clone()), "{none:?}");
    }
    for bad in ["", "/", "a[", "{a,b", "a\0b", &"x".repeat(2_000)] {
        let faults = Choice::new(&TierChoice { exclude: words(&[bad]), ..empty() }).expect_err("refused");
        assert!(matches!(faults[..], [TierFault::Pattern { .. }]), "{bad:?}: {faults:?}");
    }
    let many = TierChoice { include: vec!["*".to_owned(); 1_001], ..empty() };
    assert_eq!(Choice::new(&many).err(), Some(vec![TierFault::TooManyPatterns { limit: 1_000 }]));
}
