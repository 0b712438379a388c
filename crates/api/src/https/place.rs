//! How many connections there may be, from where and whose, and how many of them in their
//! handshakes.
//!
//! A place is an IPv4 address or 64 bits of an IPv6 address ([`sockets::place`]). Whoever has a
//! network of IPv6 has many places, so 48 bits of an address have a bound, too.
//!
//! Invariants: some connections are kept for places where somebody was let in, so strangers never
//! have all. No account has all, wherever it comes from.

use sockets::lock;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, OnceLock};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Connections: all of them, those from places where nobody was let in, and those of one place, one
/// network and one account.
const OF_ALL: usize = 512;
const OF_STRANGERS: usize = 448;
const OF_ONE: usize = 64;
const OF_NET: usize = 128;
const OF_USER: usize = 128;
/// Handshakes of one place that are under way at once: as many as a browser begins.
const HANDSHAKES: usize = 8;
/// Places where somebody was let in that are remembered, above those that the database has.
const MOST_FRIENDS: usize = 16_384;

/// Who is here, by place.
#[derive(Default)]
pub struct Places(Mutex<Here>);

#[derive(Default)]
struct Here {
    places: HashMap<IpAddr, Held>,
    users: HashMap<u32, usize>,
    /// Places where somebody was let in.
    friends: HashSet<IpAddr>,
}

struct Held {
    count: usize,
    handshakes: Arc<Semaphore>,
}

impl Here {
    /// Connections from places for which something holds.
    fn count(&self, holds: impl Fn(&IpAddr) -> bool) -> usize {
        self.places.iter().filter(|(place, _)| holds(place)).map(|(_, held)| held.count).sum()
    }

    fn has_room(&self, from: IpAddr) -> bool {
        let is_stranger = |place: &IpAddr| !self.friends.contains(place);
        self.count(|place| *place == from) < OF_ONE
            && self.count(|place| net(*place) == net(from)) < OF_NET
            && self.count(|_| true) < OF_ALL
            && (!is_stranger(&from) || self.count(is_stranger) < OF_STRANGERS)
    }
}

/// 48 bits of an IPv6 address; an IPv4 address is its own.
fn net(place: IpAddr) -> IpAddr {
    match place {
        IpAddr::V6(ip) => IpAddr::V6((ip.to_bits() >> 80 << 80).into()),
        ip @ IpAddr::V4(_) => ip,
    }
}

impl Places {
    /// With the places where somebody was let in before.
    pub fn new(friends: impl IntoIterator<Item = IpAddr>) -> Places {
        let friends = friends.into_iter().map(sockets::place).collect();
        Places(Mutex::new(Here { friends, ..Here::default() }))
    }

    /// A place for one more connection; `None`: there is none.
    pub fn enter(self: &Arc<Self>, from: IpAddr) -> Option<Place> {
        let from = sockets::place(from);
        let mut here = lock(&self.0);
        if !here.has_room(from) {
            return None;
        }
        let new = || Held { count: 0, handshakes: Arc::new(Semaphore::new(HANDSHAKES)) };
        let held = here.places.entry(from).or_insert_with(new);
        held.count += 1;
        let handshakes = held.handshakes.clone();
        Some(Place { places: self.clone(), from, handshakes, user: OnceLock::new() })
    }
}

/// The place of a connection, until it is dropped.
pub struct Place {
    places: Arc<Places>,
    from: IpAddr,
    handshakes: Arc<Semaphore>,
    /// The first who was let in by it: whoever shares it with others counts as him.
    user: OnceLock<u32>,
}

impl Place {
    /// Waits until the handshake may begin; it is under way until what this gives is dropped.
    pub async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed, and who got none would just have no turn to give back.
        self.handshakes.acquire().await.ok()
    }

    /// Whether anybody was let in.
    pub fn is_known(&self) -> bool {
        self.user.get().is_some()
    }

    /// Notes who was let in. Whether he may have one more connection.
    pub fn let_in(&self, user: u32) -> bool {
        if self.is_known() {
            return true;
        }
        let mut here = lock(&self.places.0);
        let of_user = here.users.get(&user).copied().unwrap_or(0);
        if of_user >= OF_USER {
            return false;
        }
        // Of requests at the same time the first one has noted it.
        if self.user.set(user).is_ok() {
            here.users.insert(user, of_user + 1);
            if here.friends.len() < MOST_FRIENDS {
                here.friends.insert(self.from);
            }
        }
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut here = lock(&self.places.0);
        if let Some(held) = here.places.get_mut(&self.from) {
            held.count -= 1;
            if held.count == 0 {
                here.places.remove(&self.from);
            }
        }
        let Some(user) = self.user.get() else { return };
        if let Some(of_user) = here.users.get_mut(user) {
            *of_user -= 1;
            if *of_user == 0 {
                here.users.remove(user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(of: &str) -> IpAddr {
        of.parse().expect("an address")
    }

    fn enter(places: &Arc<Places>, count: usize, from: impl Fn(usize) -> String) -> Vec<Place> {
        (0..count).map(|number| places.enter(address(&from(number))).expect("a place")).collect()
    }

    #[test]
    fn one_place_has_not_all_connections_and_all_have_a_bound() {
        let places = Arc::new(Places::new([address("192.0.2.1")]));
        // 64 bits of an address of version 6 are one place, and 48 have a bound for themselves.
        let mut first = enter(&places, OF_ONE, |host| format!("2001:db8::{host:x}"));
        assert!(places.enter(address("2001:db8::ffff")).is_none());
        let net = enter(&places, OF_NET - OF_ONE, |net| format!("2001:db8:0:{:x}::1", net + 1));
        assert!(places.enter(address("2001:db8:0:ffff::1")).is_none(), "the network has enough");
        drop(first.pop());
        first.push(places.enter(address("2001:db8::1")).expect("the place that was given back"));
        let others = enter(&places, OF_STRANGERS - OF_NET, |number| format!("10.0.{}.1", number / OF_ONE));
        assert!(places.enter(address("10.1.0.1")).is_none(), "strangers have all of theirs");
        let friends = enter(&places, OF_ALL - OF_STRANGERS, |_| "192.0.2.1".to_owned());
        assert!(places.enter(address("192.0.2.1")).is_none(), "all are taken");
        drop((first, net, others, friends));
        assert!(lock(&places.0).places.is_empty());
    }

    #[test]
    fn one_account_has_not_all_connections_and_its_places_are_no_strangers() {
        let places = Arc::new(Places::default());
        let mut own = enter(&places, OF_USER + 1, |number| format!("10.0.{}.1", number / OF_ONE));
        let last = own.pop().expect("it is there");
        assert!(own.iter().all(|place| !place.is_known() && place.let_in(7) && place.let_in(7)));
        assert!(!last.let_in(7) && !last.is_known() && last.let_in(8));
        assert!(lock(&places.0).friends.contains(&address("10.0.1.1")));
        drop((own, last));
        assert!(lock(&places.0).users.is_empty());
    }

    #[test]
    fn a_place_in_many_handshakes_holds_up_itself_alone() {
        let places = Arc::new(Places::default());
        let place = |of: &str| places.enter(address(of)).expect("a place");
        let (busy, other) = (place("10.0.0.1"), place("10.0.0.2"));
        let turns: Vec<_> = (0..HANDSHAKES).map(|_| busy.handshakes.try_acquire().expect("a turn")).collect();
        assert!(place("10.0.0.1").handshakes.try_acquire().is_err(), "it waits");
        assert!(other.handshakes.try_acquire().is_ok());
        drop(turns);
        assert!(busy.handshakes.try_acquire().is_ok());
    }
}
