//! The history of a lock: which COMPARE AND WRITE took it from which. As no value is ever written
//! twice, each that was won says after which other one it came.
//!
//! So: from a value only one exchange goes on, all that were won make one chain, what is read is a
//! link of it and never of two, who lost did not find what he expected; and after a power failure
//! the lock is a link that is not older than the last one promised.

use super::journal::{Call, Cut, Extent, Journal, Kind, Tick};

/// See the module.
pub struct History {
    lock: Extent,
    first: u64,
    /// The exchanges that were won, in the order in which they were, by their numbers.
    chain: Vec<usize>,
}

impl History {
    pub fn of(journal: &Journal, lock: Extent) -> Result<History, String> {
        let first = journal.first[lock.unit][lock.lba as usize];
        let won = |(number, call): (usize, &Call)| match call.kind {
            Kind::Exchange { lock: of, old, new } if of == lock && !call.lost => Some((number, old, new)),
            _ => None,
        };
        let mut won: Vec<_> = journal.calls.iter().enumerate().filter_map(won).collect();
        let (mut chain, mut now) = (Vec::new(), first);
        while let Some(at) = won.iter().position(|(_, old, _)| *old == now) {
            let (number, _, new) = won.swap_remove(at);
            chain.push(number);
            now = new;
        }
        match won.first() {
            Some((_, old, new)) => {
                Err(format!("{lock:?} went from {old} to {new}, when it was no more {old}"))
            }
            None => Ok(History { lock, first, chain }),
        }
    }

    fn value(&self, journal: &Journal, link: usize) -> u64 {
        match journal.calls[self.chain[link]].kind {
            Kind::Exchange { new, .. } => new,
            _ => unreachable!("a chain is made of exchanges"),
        }
    }

    /// The link that has this value: 0 is what it was at first.
    fn link(&self, journal: &Journal, value: u64) -> Option<usize> {
        if value == self.first {
            return Some(0);
        }
        (0..self.chain.len()).find(|link| self.value(journal, *link) == value).map(|link| link + 1)
    }

    /// From when on the lock may have been at a link, and until when at the latest.
    fn may_be(&self, journal: &Journal, link: usize) -> (Tick, Tick) {
        let from = link.checked_sub(1).map_or(0, |link| journal.calls[self.chain[link]].begin);
        (from, self.chain.get(link).map_or(Tick::MAX, |next| journal.calls[*next].end))
    }

    /// From when until when it was certainly there.
    fn must_be(&self, journal: &Journal, link: usize) -> (Tick, Tick) {
        let from = link.checked_sub(1).map_or(0, |link| journal.calls[self.chain[link]].end);
        (from, self.chain.get(link).map_or(Tick::MAX, |next| journal.calls[*next].begin))
    }

    pub fn check_answers(&self, journal: &Journal) -> Result<(), String> {
        let lock = self.lock;
        for pair in self.chain.windows(2) {
            let [before, after] = [&journal.calls[pair[0]], &journal.calls[pair[1]]];
            if after.end < before.begin {
                return Err(format!(
                    "{lock:?} was taken by {:?} before {:?} had it",
                    after.kind, before.kind
                ));
            }
        }
        for call in &journal.calls {
            match &call.kind {
                Kind::Exchange { lock: of, old, .. } if *of == lock && call.lost => {
                    let Some(link) = self.link(journal, *old) else { continue };
                    let (from, to) = self.must_be(journal, link);
                    if from < call.begin && call.end < to {
                        return Err(format!("{lock:?} was {old}, and was not found so by {:?}", call.kind));
                    }
                }
                Kind::Read(of, found) if *of == lock => {
                    let link = self.whole(journal, found)?;
                    let (from, to) = self.may_be(journal, link);
                    if call.end < from || to < call.begin {
                        return Err(format!("{lock:?} read as {found:?} when it was not"));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The link that sectors show, all of them the same.
    fn whole(&self, journal: &Journal, found: &[u64]) -> Result<usize, String> {
        let link = self.link(journal, found[0]).filter(|_| found.iter().all(|value| *value == found[0]));
        link.ok_or_else(|| format!("{:?} is {found:?}: mixed, or nobody's", self.lock))
    }

    /// `promised`: which calls are, by their numbers.
    pub fn check_after(
        &self,
        journal: &Journal,
        cut: Cut,
        promised: &[bool],
        found: &[u64],
    ) -> Result<(), String> {
        let link = self.whole(journal, found)?;
        let promised = self.chain.iter().rposition(|number| promised[*number]).map_or(0, |at| at + 1);
        let begun =
            self.chain.iter().take_while(|number| cut.has_seen_begin(&journal.calls[**number])).count();
        if (promised..=begun).contains(&link) {
            Ok(())
        } else {
            Err(format!("{:?} is at link {link}, promised was {promised}, begun {begun}", self.lock))
        }
    }
}
