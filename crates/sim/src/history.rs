//! What a crash may bring back: the states a model went through, and the transaction groups in
//! which each was true.
//!
//! A model moves from state to state, one operation at a time. Of each operation it is known in
//! which group it was at the earliest and at the latest; as a rule that is one and the same. After
//! a crash the pool is what it was at the end of some group: then every operation of that group and
//! those before it is there, and none of a later one. So a state is possible exactly if the
//! operation that led to it may have been in the group, and the one after it may not.

/// The states of a model since the last promise.
#[derive(Debug)]
pub struct History<S> {
    now: S,
    /// The group of the last operation, at the earliest.
    last: u64,
    past: Vec<Past<S>>,
    /// States between the ends of groups are remembered too: an intent log may lead to them.
    every: bool,
    promised: u64,
}

#[derive(Debug)]
struct Past<S> {
    state: S,
    /// First group at whose end the state may be found.
    from: u64,
    /// First group at whose end it cannot be found any more.
    until: u64,
}

impl<S> History<S> {
    /// Starts with a state that is durable as of `txg`.
    pub fn new(now: S, txg: u64) -> History<S> {
        History { now, last: txg, past: Vec::new(), every: false, promised: txg }
    }

    /// One that remembers every state until it is older than a durable group, for
    /// [`History::since`].
    pub fn of_every_state(now: S, txg: u64) -> History<S> {
        History { every: true, ..History::new(now, txg) }
    }

    pub fn now(&self) -> &S {
        &self.now
    }

    /// An operation in a group from `earliest` to `latest` (`u64::MAX`: perhaps in none) led to a
    /// new state. `fork` copies the old one; it is called only if a crash can still bring it back.
    pub fn note(
        &mut self,
        earliest: u64,
        latest: u64,
        fork: impl FnOnce(&S) -> S,
        apply: impl FnOnce(&mut S),
    ) {
        assert!(self.last <= earliest && earliest <= latest, "operations come in the order of their groups");
        if self.every || self.last < latest {
            self.past.push(Past { state: fork(&self.now), from: self.last, until: latest });
        }
        apply(&mut self.now);
        self.last = earliest;
    }

    /// Everything up to now is durable; so is group `txg`. (An operation that changed nothing may
    /// have been in a later one.)
    pub fn promise(&mut self, txg: u64) {
        self.past.clear();
        self.last = self.last.min(txg);
        self.promised = self.promised.max(txg);
    }

    /// Group `txg` is durable, for good: forgets what cannot come back.
    pub fn synced(&mut self, txg: u64) {
        self.past.retain(|past| past.until > txg);
        self.promised = self.promised.max(txg);
    }

    /// The group that must be durable.
    pub fn promised(&self) -> u64 {
        self.promised
    }

    /// The states that may be found at the end of group `txg` or of a later one, the newest first.
    pub fn since(&self, txg: u64) -> impl Iterator<Item = &S> {
        let past = self.past.iter().rev().filter(move |past| txg < past.until);
        std::iter::once(&self.now).chain(past.map(|past| &past.state))
    }

    /// The states that may be found at the end of group `txg`, the newest first.
    pub fn candidates(&self, txg: u64) -> impl Iterator<Item = &S> {
        let now = (self.last <= txg).then_some(&self.now);
        let past = self.past.iter().rev().filter(move |past| past.from <= txg && txg < past.until);
        now.into_iter().chain(past.map(|past| &past.state))
    }
}

#[cfg(test)]
mod tests;
