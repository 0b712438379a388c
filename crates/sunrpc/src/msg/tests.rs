#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;

fn call(credential: Credential) -> Vec<u8> {
    let mut out = Encoder::new();
    put_call(
        &mut out,
        &Call { xid: 5, program: 100_003, version: 3, procedure: 1, credential, args: b"args" },
    );
    out.into_bytes()
}

#[test]
fn calls_read_back() {
    for credential in [Credential::None, Credential::Sys(AuthSys::new(10, 20, &[30, 40]))] {
        let bytes = call(credential);
        let parsed = parse_call(&bytes).expect("a proper call");
        assert_eq!((parsed.xid, parsed.program, parsed.version, parsed.procedure), (5, 100_003, 3, 1));
        assert_eq!(parsed.credential, credential);
        assert_eq!(parsed.args, b"args");
    }
    let many: Vec<u32> = (0..40).collect();
    assert_eq!(AuthSys::new(1, 1, &many).gids().len(), MAX_GIDS);
}

#[test]
fn every_truncation_is_refused() {
    let bytes = call(Credential::Sys(AuthSys::new(1, 2, &[3])));
    let header = bytes.len() - b"args".len();
    for len in 0..header {
        match parse_call(&bytes[..len]) {
            Err(NotCall::Garbage) => assert!(len < 24),
            Err(NotCall::Denied { xid, why }) => {
                assert_eq!((xid, why), (5, Denial::BadCredential));
                assert!(len >= 24);
            }
            Ok(call) => panic!("{len} bytes decode to {call:?}"),
        }
    }
    assert!(parse_call(&bytes[..header]).is_ok());
}

#[test]
fn bad_headers_get_the_denial_they_deserve() {
    let good = call(Credential::Sys(AuthSys::new(1, 2, &[3])));
    let with = |word: usize, value: u32| {
        let mut bytes = good.clone();
        bytes[word * 4..][..4].copy_from_slice(&value.to_be_bytes());
        parse_call(&bytes).map(|call| call.xid)
    };
    let denied = |why| Err(NotCall::Denied { xid: 5, why });
    assert_eq!(with(1, 1), Err(NotCall::Garbage));
    assert_eq!(with(2, 3), denied(Denial::RpcMismatch));
    assert_eq!(with(6, 6), denied(Denial::RejectedCredential));
    assert_eq!(with(7, 401), denied(Denial::BadCredential));
    assert_eq!(with(9, 256), denied(Denial::BadCredential));
    assert_eq!(with(12, 17), denied(Denial::BadCredential));
}

#[test]
fn replies_read_back() {
    use Accepted::*;
    for how in [ProgUnavail, ProgMismatch(1, 3), ProcUnavail, GarbageArgs, SystemErr] {
        let mut out = Encoder::new();
        put_accepted(&mut out, 8, how);
        assert_eq!(parse_reply(out.bytes()), Ok((8, Reply::Failed(how))));
    }
    let mut out = Encoder::new();
    put_accepted(&mut out, 8, Success);
    out.raw(b"more");
    assert_eq!(parse_reply(out.bytes()), Ok((8, Reply::Success(b"more"))));
    for why in [Denial::RpcMismatch, Denial::BadCredential, Denial::RejectedCredential, Denial::TooWeak] {
        let mut out = Encoder::new();
        put_denied(&mut out, 9, why);
        assert_eq!(parse_reply(out.bytes()), Ok((9, Reply::Denied(why))));
    }
}
