use ondisk::nvlist::NvValue;

use super::*;

/// As OpenZFS made it (openzfs/zfs issue 14153).
const TOKEN: &str = "1-fd3f3ea61-130-789c636064000310a501c49c50360710a715e5e7a69766a6304081e4c3753e7696b1cd0a40363b92ba\
    fca4acd4e412081f0430e4d3d28a534b18e00024cf86249f5459925acc802a8facbf241fe28aaa90ef315b8e16ea3920c97382e5f312735319188\
    a528b4b7353816695e8a7e62517e9266764e6a43894679664e826eaa665e6a42299cfcd80f077727e6e01506f717e36444c02ea3e987c5162394c8\
    a010013de2bc9";

fn list() -> NvList {
    let list = NvList::new().with("fromguid", 9_465_784_931_539_935_513u64).with("object", 1u64);
    let list = list.with("offset", 0u64).with("bytes", 0u64).with("toguid", 3_346_673_376_557_487_226u64);
    let list = list.with("toname", "resumetest/encr-child@with-a-file");
    list.with("compressok", NvValue::Flag).with("rawok", NvValue::Flag)
}

#[test]
fn tokens_are_openzfs_own() {
    assert_eq!(from_token(TOKEN), Ok(list()));
    let ours = to_token(&list());
    assert_eq!(from_token(&ours), Ok(list()));
    // The same list, if not compressed by the same library.
    assert!(ours.starts_with("1-") && ours.contains("-130-78"), "{ours}");
    let resume = Resume::of_list(&list()).unwrap();
    assert_eq!((resume.point.object, resume.flags.compress, resume.flags.embed), (1, true, false));
}

#[test]
fn damaged_tokens_are_refused() {
    let said = |token: &str| from_token(token).map_err(|bad| bad.to_string()).unwrap_err();
    for token in ["", "1", "1-2", "1-2-3", "x-2-3-4", "1-g-3-4"] {
        assert_eq!(said(token), "resume token is corrupt (invalid format)", "{token}");
    }
    assert_eq!(said(&format!("2{}", &TOKEN[1..])), "resume token is corrupt (invalid version 2)");
    assert_eq!(said("1-2-3-zz"), "resume token is corrupt (payload is not hex-encoded)");
    assert_eq!(said("1-2-3-é€"), "resume token is corrupt (payload is not hex-encoded)");
    assert_eq!(said(&TOKEN.replace("789c", "789d")), "resume token is corrupt (incorrect checksum)");
    assert_eq!(said(&TOKEN.replacen("-130-", "-131-", 1)), "resume token is corrupt (decompression failed)");
    assert_eq!(
        said(&TOKEN.replacen("-130-", "-ffffffffff-", 1)),
        "resume token is corrupt (decompression failed)"
    );
    let of = |list: &NvList| Resume::of_list(&from_token(&to_token(list)).unwrap());
    assert_eq!(of(&NvList::new().with("object", 1u64)), Err(BadToken::Content));
    for at in 0..TOKEN.len() {
        let mut bytes = TOKEN.as_bytes().to_vec();
        bytes[at] ^= 1;
        // Any answer but a panic.
        let _ = from_token(&String::from_utf8_lossy(&bytes));
    }
}
