//! Entries of ZAPs in an order, kept for whoever comes back for the next part of them.
//!
//! A ZAP has its entries in the order of their hashes, and says nothing of the age of a snapshot
//! but its object. Who wants a part of a long list would have to read and sort all of it for each
//! part. So long ones are kept, as long as nothing changes them.
//!
//! Invariants: what is kept is what the ZAP holds, for each change of a ZAP forgets its order. All
//! that is kept together has a bound, beyond which the one goes that was asked for longest ago.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use env::lock;

/// Entries that are read and sorted faster than it is worth to keep them.
const SHORT: usize = 256;
/// Bytes that are kept: some 200,000 names.
const KEPT: usize = 16 << 20;

/// An entry of a ZAP.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// Goes before the name: when a snapshot was taken; 0 where only names count.
    pub rank: u64,
    pub name: String,
    pub object: u64,
}

/// All entries of a ZAP, sorted.
pub(crate) type Order = Arc<[Entry]>;

/// Index of the first entry behind a place, which need not be an entry's.
pub(crate) fn behind(order: &[Entry], (rank, name): (u64, &str)) -> usize {
    order.partition_point(|entry| (entry.rank, entry.name.as_str()) <= (rank, name))
}

/// What is kept, by the ZAP's object.
#[derive(Default)]
pub(super) struct Orders(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    orders: HashMap<u64, Known>,
    bytes: usize,
    /// Grows with each question.
    asked: u64,
}

struct Known {
    order: Order,
    bytes: usize,
    asked: u64,
}

impl Kept {
    fn remove(&mut self, zap: u64) {
        if let Some(known) = self.orders.remove(&zap) {
            self.bytes -= known.bytes;
        }
    }
}

impl Orders {
    pub fn get(&self, zap: u64) -> Option<Order> {
        let mut kept = lock(&self.0);
        kept.asked += 1;
        let asked = kept.asked;
        let known = kept.orders.get_mut(&zap)?;
        known.asked = asked;
        Some(known.order.clone())
    }

    /// Keeps an order if that is worth it. Nobody may change the ZAP between reading it and this.
    pub fn keep(&self, zap: u64, order: &Order) {
        let bytes = order.iter().map(|entry| size_of::<Entry>() + entry.name.len()).sum();
        if order.len() < SHORT || bytes > KEPT {
            return;
        }
        let mut kept = lock(&self.0);
        kept.remove(zap);
        while kept.bytes + bytes > KEPT {
            let Some(oldest) = kept.orders.iter().min_by_key(|(_, known)| known.asked) else { break };
            let oldest = *oldest.0;
            kept.remove(oldest);
        }
        kept.asked += 1;
        let asked = kept.asked;
        kept.bytes += bytes;
        kept.orders.insert(zap, Known { order: order.clone(), bytes, asked });
    }

    /// The ZAP changes.
    pub fn forget(&self, zap: u64) {
        lock(&self.0).remove(zap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of entries with so many bytes each.
    fn order(names: usize, bytes: usize) -> Order {
        let name = |at| format!("{at:04}{}", "n".repeat(bytes - size_of::<Entry>() - 4));
        let entry = |at| Entry { rank: 0, name: name(at), object: at as u64 };
        (0..names).map(entry).collect()
    }

    #[test]
    fn a_place_is_found_though_its_entry_is_gone() {
        let entry = |rank, name: &str| Entry { rank, name: name.into(), object: 1 };
        let order = [entry(3, "b"), entry(3, "d"), entry(7, "a")];
        for (place, at) in
            [((0, ""), 0), ((3, "a"), 0), ((3, "b"), 1), ((3, "c"), 1), ((4, "z"), 2), ((7, "a"), 3)]
        {
            assert_eq!(behind(&order, place), at, "{place:?}");
        }
    }

    #[test]
    fn long_orders_are_kept_until_they_change_or_others_need_the_room() {
        let orders = Orders::default();
        orders.keep(1, &order(SHORT - 1, 64));
        assert!(orders.get(1).is_none(), "too short");
        let long = order(SHORT, 64);
        orders.keep(2, &long);
        assert_eq!(orders.get(2), Some(long.clone()));
        orders.forget(2);
        assert!(orders.get(2).is_none() && lock(&orders.0).bytes == 0);
        // Each a fifth of all that is kept.
        let large = order(SHORT, KEPT / 5 / SHORT);
        for zap in 10..15 {
            orders.keep(zap, &large);
        }
        assert!(orders.get(10).is_some(), "it is asked for");
        orders.keep(15, &large);
        assert!(orders.get(10).is_some() && orders.get(11).is_none() && orders.get(15).is_some());
        assert!(lock(&orders.0).bytes <= KEPT);
        orders.keep(16, &order(SHORT, KEPT / SHORT + 1));
        assert!(orders.get(16).is_none(), "it alone is too much");
    }
}
