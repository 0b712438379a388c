//! Secrets as they are written, and what is made of them again.

use super::*;

struct Counting;

impl Outside for Counting {
    fn now(&self) -> i64 {
        0
    }

    fn fill(&self, bytes: &mut [u8]) {
        for (number, byte) in (0..).zip(bytes.iter_mut()) {
            *byte = number;
        }
    }
}

#[test]
fn base64_is_that_of_the_rfc_for_urls() {
    let cases: [(&[u8], &str); 6] = [
        (b"", ""),
        (b"f", "Zg"),
        (b"fo", "Zm8"),
        (b"foo", "Zm9v"),
        (b"foob", "Zm9vYg"),
        (b"\xff\xef", "_-8"),
    ];
    for (bytes, text) in cases {
        assert_eq!(base64_url(bytes), text);
        assert_eq!(from_base64_url(text, 4).as_deref(), Some(bytes));
    }
    for bad in ["Zm9vYmE", "Zg==", "Z", "Zh", "+/8", "Zm9v\n"] {
        assert_eq!(from_base64_url(bad, 4), None, "{bad}");
    }
    assert_eq!(random(&Counting).len(), SECRET_CHARS);
}

#[test]
fn a_code_is_the_same_however_it_is_typed() {
    let code = code(&Counting);
    assert_eq!(code, "23456-789AB-CDEFG-HJKLM");
    let sloppy = format!(" {} ", code.replace('-', " ").to_lowercase());
    assert!(equal(&hash_typed(&code), &hash_typed(&sloppy)));
    assert!(!equal(&hash_typed(&code), &hash_typed(&code[1..])));
}

#[test]
fn only_words_that_were_made_here_are_taken_apart() {
    let secret = random(&Counting);
    assert_eq!(split("cistern", &join("cistern", 17, &secret)), Some((17, secret.as_str())));
    let bad = [
        String::new(),
        "cistern".to_owned(),
        "cistern__".to_owned(),
        join("session", 17, &secret),
        format!("cistern_+17_{secret}"),
        format!("cistern_-17_{secret}"),
        format!("cistern_99999999999999999999_{secret}"),
        format!("cistern__{secret}"),
        join("cistern", 17, &secret[1..]),
        join("cistern", 17, &format!("{secret}x")),
        format!("cistern_\u{663}_{secret}"),
    ];
    for word in bad {
        assert_eq!(split("cistern", &word), None, "{word}");
    }
}
