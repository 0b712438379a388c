use super::*;
use std::net::Ipv4Addr;
use sunrpc::msg::Credential;

fn key(host: u8, xid: u32, procedure: u32, args: &[u8]) -> Key {
    let call = Call { xid, program: 100_003, version: 3, procedure, credential: Credential::None, args };
    Key::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)), &call)
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
    assert_eq!(cache.len(), 0);
}

#[test]
fn the_cache_is_bounded_and_keeps_what_runs() {
    let cache = Arc::new(Cache::default());
    let running: Vec<Ticket> = (0..50).map(|xid| run(&cache, key(1, xid, 8, b"run"), 0)).collect();
    for xid in 0..100_000 {
        run(&cache, key(1, xid, 9, b"done"), 0).done(b"reply");
    }
    assert!(cache.len() <= DRC_SHARDS * DRC_PER_SHARD);
    for xid in 0..50 {
        assert!(matches!(cache.begin(key(1, xid, 8, b"run"), 0), Verdict::Drop));
    }
    assert!(matches!(cache.begin(key(1, 99_999, 9, b"done"), 0), Verdict::Replay(_)));
    assert!(matches!(cache.begin(key(1, 0, 9, b"done"), 0), Verdict::Run(_)));
    drop(running);
}
