//! Counting by user, group and project what older software did not count, in the background.
//!
//! File systems queue up when they are opened for writing or mounted, and when something is made in
//! them; one worker a pool goes through their objects, a bounded part a step, and ends when nobody
//! waits. Source: `dmu_objset_id_quota_upgrade` in module/zfs/dmu_objset.c.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, Weak};

use engine_api::Error;
use env::{Env, Nanos, Next, Worker, lock};

use crate::zpl::Zpl;

/// How long until the next try where no transaction can be had at once.
const A_MOMENT: Nanos = Nanos::from_millis(20);

/// Who waits to be counted.
#[derive(Default)]
pub(super) struct Counting(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Weak<Zpl>>,
    /// The one that is being counted.
    current: Weak<Zpl>,
    /// A worker is there, and looks once more before it goes.
    running: bool,
}

impl Counting {
    /// Counts a file system that lacks something, sooner or later.
    pub fn add(self: &Arc<Counting>, env: &Env, fs: &Arc<Zpl>) {
        if !fs.lacks_accounting() {
            return;
        }
        let (mut queue, new) = (lock(&self.0), Arc::downgrade(fs));
        if queue.waiting.iter().chain([&queue.current]).any(|known| known.ptr_eq(&new)) {
            return;
        }
        queue.waiting.push_back(new);
        if !std::mem::replace(&mut queue.running, true) {
            drop(queue);
            drop(env.driver.spawn(Box::new(Counter { of: self.clone(), current: None })));
        }
    }
}

struct Counter {
    of: Arc<Counting>,
    /// The file system in work, and the last object counted.
    current: Option<(Weak<Zpl>, u64)>,
}

impl Worker for Counter {
    fn name(&self) -> &'static str {
        "count-users"
    }

    fn step(&mut self, now: Nanos) -> Next {
        let Some((fs, after)) = self.current.take() else {
            let mut queue = lock(&self.of.0);
            let next = queue.waiting.pop_front();
            queue.current = next.clone().unwrap_or_default();
            let Some(next) = next else {
                queue.running = false;
                return Next::Stop;
            };
            self.current = Some((next, 0));
            return Next::Again;
        };
        let Some(open) = fs.upgrade() else { return Next::Again };
        match open.count_more(after) {
            Ok(Some(after)) => self.current = Some((fs, after)),
            Ok(None) => {}
            Err(Error::Busy) => {
                self.current = Some((fs, after));
                return Next::WaitUntil(Nanos(now.0 + A_MOMENT.0));
            }
            Err(error) => {
                tracing::warn!(%error, "a file system cannot be counted by user, group and project");
            }
        }
        Next::Again
    }
}
