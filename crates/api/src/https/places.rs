//! How many connections there may be, from where, and how many of them in their handshakes.
//!
//! A place is an IPv4 address or 64 bits of an IPv6 address ([`sockets::place`]).

use sockets::lock;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Connections, and those from one place.
const OF_ALL: usize = 512;
const OF_ONE: usize = 64;
/// Handshakes of one place that are under way at once: as many as a browser begins.
const HANDSHAKES: usize = 8;

/// Who is here, by place.
#[derive(Default)]
pub struct Places(Mutex<HashMap<IpAddr, Held>>);

struct Held {
    count: usize,
    handshakes: Arc<Semaphore>,
}

impl Places {
    /// A place for one more connection; `None`: there is none.
    pub fn enter(self: &Arc<Self>, from: IpAddr) -> Option<Place> {
        let from = sockets::place(from);
        let mut held = lock(&self.0);
        let of_one = held.get(&from).map_or(0, |held| held.count);
        if of_one >= OF_ONE || held.values().map(|held| held.count).sum::<usize>() >= OF_ALL {
            return None;
        }
        let new = || Held { count: 0, handshakes: Arc::new(Semaphore::new(HANDSHAKES)) };
        let here = held.entry(from).or_insert_with(new);
        here.count += 1;
        Some(Place { places: self.clone(), from, handshakes: here.handshakes.clone() })
    }
}

/// The place of a connection, until it is dropped.
pub struct Place {
    places: Arc<Places>,
    from: IpAddr,
    handshakes: Arc<Semaphore>,
}

impl Place {
    /// Waits until the handshake may begin; it is under way until what this gives is dropped.
    pub async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed, and who got none would just have no turn to give back.
        self.handshakes.acquire().await.ok()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = lock(&self.places.0);
        if let Some(here) = held.get_mut(&self.from) {
            here.count -= 1;
            if here.count == 0 {
                held.remove(&self.from);
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

    #[test]
    fn one_place_has_not_all_connections_and_all_have_a_bound() {
        let places = Arc::new(Places::default());
        // 64 bits of an address of version 6 are one place.
        let mut first: Vec<Place> = (0..OF_ONE)
            .map(|host| places.enter(address(&format!("2001:db8::{host:x}"))).expect("a place"))
            .collect();
        assert!(places.enter(address("2001:db8::ffff")).is_none());
        assert!(places.enter(address("2001:db8:0:1::1")).is_some(), "another network");
        drop(first.pop());
        first.push(places.enter(address("2001:db8::1")).expect("the place that was given back"));
        let others = (1..OF_ALL / OF_ONE).flat_map(|net| {
            let places = places.clone();
            (0..OF_ONE).map(move |_| places.enter(address(&format!("10.0.0.{net}"))))
        });
        let others: Vec<Place> = others.map(|place| place.expect("a place")).collect();
        assert!(places.enter(address("10.0.1.1")).is_none(), "all are taken");
        drop((first, others));
        assert!(lock(&places.0).is_empty());
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
