//! Locks: holds that are not taken off before their time (`api_types::lock`).
//!
//! By which clock: the wall clock, as long as it goes no faster than time has passed since the pool
//! was opened. A wall clock that leaps ahead opens no lock; one that is set back keeps them for
//! longer. Who sets the clock and then opens the pool anew is believed: he has the machine.

use api_types::lock::{is_over, locked_until, until};
use dmu::Tx;
use ondisk::dsl_dataset::DslDatasetPhys;

use super::Dsl;
use super::names::Found;
use crate::Result;

/// Seconds by which the wall clock may be ahead of what has passed: clocks that are kept right go a
/// little faster at times.
const SLACK: i64 = 120;

impl Dsl {
    /// What time it is for locks, in seconds since 1970.
    pub(crate) fn lock_time(&self) -> i64 {
        let clock = &self.parts.env.clock;
        let (wall, at) = self.opened_at;
        let passed = i64::try_from(clock.now().since(at).0 / 1_000_000_000).unwrap_or(i64::MAX);
        clock.wall().secs.min(wall.saturating_add(passed).saturating_add(SLACK))
    }

    /// Tags that hold a snapshot: all but those of locks whose time has come.
    pub(crate) fn holds_on(&self, phys: &DslDatasetPhys) -> Result<u64> {
        if phys.userrefs_obj == 0 {
            return Ok(0);
        }
        let now = self.lock_time();
        let tags = self.mos.entries(phys.userrefs_obj)?;
        Ok(tags.iter().filter(|(tag, _)| !is_over(tag, now)).count() as u64)
    }

    /// The tags of a snapshot that are locks, or were.
    pub(crate) fn locks(&self, phys: &DslDatasetPhys) -> Result<Vec<String>> {
        if phys.userrefs_obj == 0 {
            return Ok(Vec::new());
        }
        let tags = self.mos.entries(phys.userrefs_obj)?;
        Ok(tags.into_iter().map(|(tag, _)| tag).filter(|tag| until(tag).is_some()).collect())
    }

    /// A lock has a longer one in its place. Syncing context.
    pub(crate) fn prolonged(&self, found: &Found, tag: &str, tx: &Tx) -> Result<()> {
        self.mos.remove(found.phys.userrefs_obj, tag, tx)?;
        Ok(())
    }

    /// A snapshot of the pool that is locked, and until when. It reads all snapshots until it finds
    /// one.
    pub fn first_lock(&self) -> Result<Option<(String, i64)>> {
        let _config = self.reading();
        let now = self.lock_time();
        for dir in self.dirs_below(&self.root()?)? {
            let head = dir.phys().head_dataset_obj;
            if head == 0 {
                continue;
            }
            let mut snapshot = self.mos.dataset(head)?.prev_snap_obj;
            while snapshot != 0 {
                let phys = self.mos.dataset(snapshot)?;
                // What is before belongs to the origin.
                if phys.dir_obj != dir.object {
                    break;
                }
                if phys.userrefs_obj != 0 {
                    let tags = self.mos.entries(phys.userrefs_obj)?;
                    let locked = tags.iter().filter_map(|(tag, _)| locked_until(tag, now)).max();
                    if let Some(until) = locked {
                        return Ok(Some((self.dataset_name(snapshot)?, until)));
                    }
                }
                snapshot = phys.prev_snap_obj;
            }
        }
        Ok(None)
    }
}
