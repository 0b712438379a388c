use super::folded;

/// The text of a real pool in the legacy format, as `zpool status` breaks it.
#[test]
fn sentences_are_broken_as_the_originals_are() {
    let whole = "The pool is formatted using a legacy on-disk format.  The pool can still be used, but some features are unavailable.";
    assert_eq!(
        folded(whole),
        "The pool is formatted using a legacy on-disk format.  The pool can\n\tstill be used, but some features are unavailable."
    );
    assert_eq!(folded("one\ntwo\n\tthree\n"), "one\n\ttwo\n\tthree");
}
