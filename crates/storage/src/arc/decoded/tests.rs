use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use env::lock;

use super::{Decoded, Tenant};

/// Of each entry.
const SIZE: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Use {
    Idle,
    Used,
    Held,
}

/// Entries in the order in which the hand meets them.
struct Fake {
    decoded: Arc<Decoded>,
    entries: Mutex<VecDeque<(u32, Use)>>,
}

impl Fake {
    fn new(decoded: &Arc<Decoded>) -> Arc<Fake> {
        Arc::new(Fake { decoded: decoded.clone(), entries: Mutex::default() })
    }

    fn insert(&self, name: u32, how: Use) {
        self.decoded.make_room();
        lock(&self.entries).push_back((name, how));
        self.decoded.add(SIZE);
    }

    fn has(&self) -> Vec<u32> {
        lock(&self.entries).iter().map(|entry| entry.0).collect()
    }
}

impl Tenant for Fake {
    fn entries(&self) -> usize {
        lock(&self.entries).len()
    }

    fn look(&self, pressed: bool) {
        let mut entries = lock(&self.entries);
        let Some((name, how)) = entries.pop_front() else { return };
        match how {
            Use::Held => entries.push_back((name, how)),
            Use::Used if !pressed => entries.push_back((name, Use::Idle)),
            Use::Used | Use::Idle => self.decoded.sub(SIZE),
        }
    }
}

#[test]
fn what_was_not_used_goes_first_whosever_it_is() {
    let decoded = Decoded::new(100);
    let (one, two) = (Fake::new(&decoded), Fake::new(&decoded));
    let _tenancies = [decoded.join(one.clone()), decoded.join(two.clone())];
    (0..5).for_each(|n| one.insert(n, Use::Used));
    (10..15).for_each(|n| two.insert(n, Use::Idle));
    // Up to the limit nothing goes.
    assert_eq!((one.has().len(), two.has().len(), decoded.bytes()), (5, 5, 100));
    one.insert(5, Use::Used);
    one.insert(6, Use::Used);
    assert_eq!(decoded.bytes(), 110, "one stands above the limit until the next comes");
    assert_eq!(two.has(), [11, 12, 13, 14]);
    assert_eq!(one.has().len(), 7);
}

#[test]
fn it_is_bounded_whatever_is_used_and_keeps_what_is_held() {
    let decoded = Decoded::new(1000);
    let fakes = [Fake::new(&decoded), Fake::new(&decoded), Fake::new(&decoded)];
    let _tenancies = fakes.each_ref().map(|fake| decoded.join(fake.clone()));
    fakes[1].insert(7, Use::Held);
    for n in 0..10_000 {
        fakes[n % 3].insert(1000 + n as u32, Use::Used);
        assert!(decoded.bytes() <= 1000 + 1000 / 8 + 2 * SIZE, "{} after {n}", decoded.bytes());
    }
    assert!(fakes[1].has().contains(&7));
    assert!(decoded.bytes() > 900, "no more goes than has to: {}", decoded.bytes());
}

#[test]
fn a_tenant_that_leaves_is_not_asked_and_not_kept() {
    let decoded = Decoded::new(0);
    let fake = Fake::new(&decoded);
    let tenancy = decoded.join(fake.clone());
    fake.insert(1, Use::Idle);
    drop(tenancy);
    decoded.make_room();
    assert_eq!(fake.has(), [1]);
    assert_eq!(Arc::strong_count(&fake), 1);
}
