use std::sync::atomic::AtomicUsize;
use std::thread;

use super::*;

const MIB: usize = 1 << 20;

fn budget() -> Arc<Budget> {
    Arc::new(Budget::new(Limits { all: 32 * MIB, place: 16 * MIB, peer: 4 * MIB }))
}

/// A peer from 10.0.0.`last`, that has taken what makes it known.
fn known(budget: &Arc<Budget>, last: u8) -> Arc<Peer> {
    let peer = budget.peer(Some([10, 0, 0, last].into()), || {});
    peer.note_moved(TRUSTED);
    peer
}

#[test]
fn each_has_its_share_and_a_stranger_less() {
    let budget = budget();
    let stranger = budget.peer(Some([10, 0, 0, 9].into()), || {});
    let first = stranger.try_take(AT_FIRST).unwrap();
    assert!(stranger.try_take(MIB).is_none());
    drop(first);
    let peers: Vec<Arc<Peer>> = (0..6).map(|_| known(&budget, 1)).collect();
    let four = |peer: &Arc<Peer>| peer.try_take(4 * MIB);
    let mut held: Vec<Lease> = peers.iter().filter_map(four).collect();
    assert_eq!(held.len(), 4, "what a place may hold");
    assert!(peers[0].try_take(1).is_none() && peers[5].try_take(FLOOR).is_some());
    held.extend((2..9).filter_map(|last| four(&known(&budget, last))));
    assert_eq!(held.len(), 8, "what all may hold");
    assert_eq!(budget.held().load(SeqCst), 32 * MIB);
    drop(held);
    assert_eq!(budget.held().load(SeqCst), 0);
}

#[test]
fn strangers_keep_nobody_waiting_who_is_known() {
    let budget = budget();
    let strangers: Vec<Arc<Peer>> =
        (1..=40).map(|last| budget.peer(Some([10, 0, 1, last].into()), || {})).collect();
    let held: Vec<Lease> = strangers.iter().filter_map(|peer| peer.try_take(MIB)).collect();
    assert_eq!(held.len(), 16, "half of all");
    thread::scope(|scope| {
        let waits = scope.spawn(|| strangers[39].take(MIB).map(drop));
        while budget.all.waiting.load(SeqCst) == 0 {
            thread::yield_now();
        }
        let known = known(&budget, 1);
        assert!((0..20).all(|_| known.try_take(4 * MIB).is_some()));
        assert!(!waits.is_finished());
        drop(held);
        assert!(waits.join().unwrap().is_some());
    });
}

#[test]
fn addresses_of_one_network_are_one_place() {
    let budget = budget();
    let from = |text: &str| {
        let peer = budget.peer(Some(text.parse().unwrap()), || {});
        peer.note_moved(TRUSTED);
        peer
    };
    let near: Vec<Lease> =
        (1..=4).map(|n| from(&format!("2001:db8::{n}")).try_take(4 * MIB).unwrap()).collect();
    assert!(from("2001:db8::ffff:1").try_take(MIB).is_none());
    assert!(from("2001:db8:0:1::1").try_take(MIB).is_some());
    drop(near);
}

#[test]
fn who_waits_is_let_in_in_order() {
    let budget = budget();
    let peer = known(&budget, 1);
    let held = peer.take(4 * MIB).unwrap();
    let order = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for place in 0..3 {
            let (peer, order) = (&peer, &order);
            scope.spawn(move || {
                let lease = peer.take(3 * MIB).unwrap();
                lock(order).push(place);
                drop(lease);
            });
            while peer.own.waiting.load(SeqCst) <= place {
                thread::yield_now();
            }
        }
        drop(held);
    });
    assert_eq!(*lock(&order), [0, 1, 2]);
    assert_eq!(peer.held(), 0);
}

#[test]
fn who_lets_us_wait_goes_when_others_wait_and_nobody_else() {
    let budget = budget();
    let cut = Arc::new(AtomicUsize::new(0));
    let hog = |last: u8| {
        let cut = cut.clone();
        let note = move || {
            cut.fetch_add(1, SeqCst);
        };
        let peer = budget.peer(Some([10, 0, 0, last].into()), note);
        let lease = peer.charge(8 * MIB);
        (peer, lease)
    };
    let busy: Vec<_> = (1..4).map(hog).collect();
    let (idle, lease) = hog(4);
    idle.note_taking(true);
    thread::sleep(Duration::from_millis(2 * PRESSED_TAKING));
    assert!(!idle.is_cut(), "there is nobody who waits");
    let other = known(&budget, 5);
    // Its connection ends, and so gives back what it had.
    let ends = thread::spawn({
        let idle = idle.clone();
        move || {
            while !idle.is_cut() {
                thread::yield_now();
            }
            drop(lease);
        }
    });
    assert!(other.take(MIB).is_some());
    ends.join().unwrap();
    assert_eq!(cut.load(SeqCst), 1);
    assert!(busy.iter().all(|(peer, _)| !peer.is_cut()));
}

#[test]
fn parts_of_requests_do_not_wait_for_each_other_for_ever() {
    let budget = budget();
    let parts: Vec<Lease> = (0..64).map(|last| known(&budget, last).charge(MIB / 2)).collect();
    let begun = Instant::now();
    thread::scope(|scope| {
        for mut part in parts {
            scope.spawn(move || assert!(part.grow(MIB)));
        }
    });
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(budget.held().load(SeqCst), 0);
}

#[test]
fn who_is_cut_waits_no_more() {
    let budget = budget();
    let peer = known(&budget, 1);
    let held = peer.take(4 * MIB).unwrap();
    let waits = thread::spawn({
        let peer = peer.clone();
        move || peer.take(MIB).is_none()
    });
    peer.cut();
    assert!(waits.join().unwrap());
    drop(held);
    assert_eq!(peer.held(), 0);
}

#[test]
fn nothing_is_too_large_to_be_let_in() {
    let peer = known(&budget(), 1);
    let small = peer.take(MIB).unwrap();
    assert!(peer.try_take(16 * MIB).is_some());
    drop(small);
}

/// As a client that begins with large writes: each arrives in parts while the one before is worked
/// on.
#[test]
fn the_largest_requests_of_a_stranger_wait_for_nothing() {
    let budget = budget();
    let stranger = budget.peer(Some([10, 0, 0, 9].into()), || {});
    let mut before = None;
    for _ in 0..4 {
        let mut lease = None;
        for part in [64 << 10, 256 << 10, LARGEST] {
            assert!(stranger.try_lease(&mut lease, part), "{part}");
        }
        before = lease;
    }
    assert_eq!(before.map(|lease| lease.bytes()), Some(LARGEST));
}
