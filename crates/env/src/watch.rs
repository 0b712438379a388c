//! Who is at work, and since when: so that whoever is stuck can be named.
//!
//! Work is noted when it begins and forgotten when it ends. Somebody looks from time to time and is
//! told once of each piece of work that takes longer than it should. Nothing here waits: the lock
//! is held for a moment only, so a look gets an answer however stuck everybody else is.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::Nanos;

/// See the module.
#[derive(Default)]
pub struct Watch(Mutex<Tasks>);

#[derive(Default)]
struct Tasks {
    next: u64,
    under_way: BTreeMap<u64, Task>,
}

struct Task {
    what: Cow<'static, str>,
    since: Nanos,
    is_told: bool,
}

/// Work that takes too long.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overdue {
    pub what: String,
    /// When it began.
    pub since: Nanos,
}

impl Watch {
    /// Something begins; it ends with the value.
    pub fn begin(self: &Arc<Watch>, what: impl Into<Cow<'static, str>>, now: Nanos) -> AtWork {
        let mut tasks = self.tasks();
        tasks.next += 1;
        let number = tasks.next;
        tasks.under_way.insert(number, Task { what: what.into(), since: now, is_told: false });
        AtWork { watch: self.clone(), number }
    }

    /// What has been under way for `limit` or longer and was not told before.
    pub fn overdue(&self, now: Nanos, limit: Nanos) -> Vec<Overdue> {
        let mut tasks = self.tasks();
        let late =
            tasks.under_way.values_mut().filter(|task| !task.is_told && now.since(task.since) >= limit);
        let tell = |task: &mut Task| {
            task.is_told = true;
            Overdue { what: task.what.to_string(), since: task.since }
        };
        late.map(tell).collect()
    }

    /// Plain data: a panic elsewhere cannot have left it half changed.
    fn tasks(&self) -> std::sync::MutexGuard<'_, Tasks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Work under way.
pub struct AtWork {
    watch: Arc<Watch>,
    number: u64,
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.watch.tasks().under_way.remove(&self.number);
    }
}

#[cfg(test)]
mod tests;
