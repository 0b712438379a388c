//! Passwords that are taken and refused, and the bound of work.

use std::thread;

use super::*;

struct Zeros;

impl Outside for Zeros {
    fn now(&self) -> i64 {
        0
    }

    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

fn quick() -> Passwords {
    Passwords::with(Params::new(8, 1, 1, None).expect("small parameters"))
}

#[test]
fn only_length_and_nul_decide_about_a_new_password() {
    let passwords = quick();
    let refused = |password: &str| match passwords.hash(password, Whose::Known, &Zeros) {
        Err(Denied::BadPassword(fault)) => Some(fault),
        _ => None,
    };
    assert_eq!(refused("123456789"), Some(PasswordFault::TooShort));
    assert_eq!(refused("üüüüüüüüü"), Some(PasswordFault::TooShort), "nine characters, eighteen bytes");
    assert_eq!(refused("1234567890"), None);
    assert_eq!(refused("12345\0abcde"), Some(PasswordFault::Nul));
    assert_eq!(refused(&"a".repeat(1_024)), None);
    assert_eq!(refused(&"a".repeat(1_025)), Some(PasswordFault::TooLong));
}

#[test]
fn owasps_parameters_stand_in_the_hash() {
    let hash = Passwords::new().hash("correct horse", Whose::Known, &Zeros).expect("hashed");
    assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
    assert!(!Passwords::new().is_outdated(&hash));
    assert!(quick().is_outdated(&hash));
}

#[test]
fn only_the_password_itself_is_right() {
    let passwords = quick();
    let hash = passwords.hash("correct horse", Whose::Known, &Zeros).expect("hashed");
    assert_eq!(passwords.verify("correct horse", Some(&hash), Whose::Strangers), Ok(true));
    assert_eq!(passwords.verify("correct horsf", Some(&hash), Whose::Strangers), Ok(false));
    assert_eq!(passwords.verify("", Some(&hash), Whose::Strangers), Ok(false));
    assert_eq!(passwords.verify("correct horse", None, Whose::Strangers), Ok(false));
    assert_eq!(
        Passwords::new().verify("correct horse", Some(&hash), Whose::Strangers),
        Ok(true),
        "older parameters"
    );
}

#[test]
fn a_hash_that_is_none_or_asks_for_gigabytes_is_damage() {
    let passwords = quick();
    let hash = passwords.hash("correct horse", Whose::Known, &Zeros).expect("hashed");
    let (huge, slow) = (hash.replace("m=8", "m=4194304"), hash.replace("t=1", "t=4000000000"));
    for bad in ["", "$", "plain", huge.as_str(), slow.as_str()] {
        let outcome = passwords.verify("correct horse", Some(bad), Whose::Strangers);
        assert!(matches!(outcome, Err(Denied::Fault(Fault::Damaged(_)))), "{bad}: {outcome:?}");
    }
}

#[test]
fn a_third_stranger_at_a_time_waits_and_is_then_refused() {
    let passwords = quick();
    let verify = |whose| passwords.verify("correct horse", None, whose);
    let first = passwords.strangers.take().expect("the first");
    let _second = passwords.strangers.take().expect("the second");
    assert_eq!(verify(Whose::Strangers), Err(Denied::TooBusy));
    assert_eq!(verify(Whose::Known), Ok(false), "who is in does not wait for strangers");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| verify(Whose::Strangers));
        drop(first);
        assert_eq!(waiting.join().expect("no panic"), Ok(false));
    });
}
