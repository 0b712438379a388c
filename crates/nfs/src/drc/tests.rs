use super::*;
use std::net::{Ipv4Addr, Ipv6Addr};
use sunrpc::msg::AuthSys;

fn call(xid: u32, procedure: u32, args: &[u8]) -> Call<'_> {
    Call { xid, program: 100_003, version: 3, procedure, credential: Credential::None, args }
}

fn key(host: u8, xid: u32, procedure: u32, args: &[u8]) -> Key {
    Key::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)), &call(xid, procedure, args))
}

fn run(cache: &Arc<Cache>, key: Key, now: u64) -> Ticket {
    match cache.begin(key, now) {
        Verdict::Run(ticket) => ticket,
        Verdict::Drop => panic!("dropped"),
        Verdict::Replay(reply) => panic!("replayed {reply:?}"),
    }
}

#[test]
fn the_second_call_gets_the_first_reply() {
    let cache = Arc::new(Cache::default());
    let first = key(1, 9, 12, b"name");
    let ticket = run(&cache, first, 0);
    assert!(matches!(cache.begin(first, 0), Verdict::Drop));
    ticket.done(b"gone");
    assert!(matches!(cache.begin(first, 5), Verdict::Replay(reply) if *reply == *b"gone"));
    for other in
        [key(2, 9, 12, b"name"), key(1, 8, 12, b"name"), key(1, 9, 13, b"name"), key(1, 9, 12, b"nam2")]
    {
        run(&cache, other, 5).done(b"other");
    }
    run(&cache, first, DRC_SECONDS + 1).done(b"too old, run again");
}

#[test]
fn a_call_that_never_answered_may_come_again() {
    let cache = Arc::new(Cache::default());
    drop(run(&cache, key(1, 1, 8, b"x"), 0));
    run(&cache, key(1, 1, 8, b"x"), 0).done(&[0; DRC_MAX_REPLY + 1]);
    assert_eq!((cache.bytes(), lock(&cache.state).clients.len()), (0, 0));
}

#[test]
fn a_call_is_another_one_with_another_credential_or_any_other_argument() {
    let cache = Arc::new(Cache::default());
    let host = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    let as_user = |credential| Key::new(host, &Call { credential, ..call(9, 7, b"args") });
    let user = Credential::Sys(AuthSys::new(1000, 1000, &[]));
    run(&cache, as_user(user), 0).done(b"EACCES");
    for other in [
        Credential::Sys(AuthSys::new(0, 0, &[])),
        Credential::Sys(AuthSys::new(1000, 1000, &[5])),
        Credential::None,
    ] {
        run(&cache, as_user(other), 0).done(b"other");
    }
    assert!(matches!(cache.begin(as_user(user), 0), Verdict::Replay(reply) if *reply == *b"EACCES"));
    let mut write = vec![7; 1 << 20];
    run(&cache, key(1, 10, 7, &write), 0).done(b"written");
    for at in [4096, write.len() / 2, write.len() - 1] {
        write[at] ^= 1;
        run(&cache, key(1, 10, 7, &write), 0).done(b"written too");
    }
}

#[test]
fn the_cache_is_bounded_and_keeps_what_runs() {
    let cache = Arc::new(Cache::default());
    let running: Vec<Ticket> = (0..50).map(|xid| run(&cache, key(1, xid, 8, b"run"), 0)).collect();
    for xid in 0..100_000 {
        run(&cache, key(1, xid, 9, b"done"), 0).done(b"reply");
    }
    assert!(cache.bytes() <= DRC_BYTES_CLIENT, "{} bytes", cache.bytes());
    for xid in 0..50 {
        assert!(matches!(cache.begin(key(1, xid, 8, b"run"), 0), Verdict::Drop));
    }
    assert!(matches!(cache.begin(key(1, 99_999, 9, b"done"), 0), Verdict::Replay(_)));
    assert!(matches!(cache.begin(key(1, 0, 9, b"done"), 0), Verdict::Run(_)));
    drop(running);
}

#[test]
fn nobody_drives_out_what_others_have() {
    let cache = Arc::new(Cache::default());
    run(&cache, key(1, 1, 12, b"remove"), 0).done(b"gone");
    for xid in 0..40_000 {
        run(&cache, key(2, xid, 2, b"cheap"), 0).done(b"reply");
    }
    assert!(matches!(cache.begin(key(1, 1, 12, b"remove"), 0), Verdict::Replay(_)));
    // Nor by having many addresses: of IPv6 those of a network are one client's, and of clients the
    // largest pay.
    for host in 0..200_000_u128 {
        let addr = |network: u128| IpAddr::V6(Ipv6Addr::from_bits(0x2001_0db8 << 96 | network << 64 | host));
        run(&cache, Key::new(addr(host % 40), &call(host as u32, 2, b"cheap")), 0).done(&[0; 512]);
        assert!(cache.bytes() <= DRC_BYTES, "{} bytes", cache.bytes());
    }
    assert!(lock(&cache.state).clients.len() <= 42);
    assert!(matches!(cache.begin(key(1, 1, 12, b"remove"), 0), Verdict::Replay(_)));
}

#[test]
fn hosts_that_come_by_ipv4_have_a_budget_each_on_a_socket_of_both_kinds() {
    let cache = Arc::new(Cache::default());
    let mapped = |host| IpAddr::V6(Ipv4Addr::new(10, 0, 0, host).to_ipv6_mapped());
    run(&cache, Key::new(mapped(1), &call(1, 12, b"remove")), 0).done(b"gone");
    for xid in 0..40_000 {
        run(&cache, Key::new(mapped(2), &call(xid, 2, b"cheap")), 0).done(b"reply");
    }
    assert!(matches!(cache.begin(Key::new(mapped(1), &call(1, 12, b"remove")), 0), Verdict::Replay(_)));
}
