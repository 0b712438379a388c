//! How much services did, hour by hour: what a log that is bounded by lines cannot say of a week.
//!
//! Invariant: of each service the newest [`HOURS`] hours are kept in which it ran; of one that was
//! removed, until another is made that ran less.

use std::collections::BTreeMap;

use rusqlite::params;

use crate::Machine;
use crate::fault::Fault;
use crate::schema::number;

/// Hours of a service: eight days.
const HOURS: i64 = 8 * 24;
/// Services of which hours are kept: those that are, and as many that were removed.
const MOST_SERVICES: i64 = 512;

/// What a service did in some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub runs: u64,
    /// Runs of which a part failed.
    pub failed: u64,
    /// Snapshots made, pools begun, programs run.
    pub done: u64,
    /// Snapshots destroyed.
    pub destroyed: u64,
}

impl Machine {
    /// Adds what a run of a service did that ended at a time: seconds since 1970.
    pub fn tally_run(&self, service: &str, at: i64, run: Tally) -> Result<(), Fault> {
        let hour = at.div_euclid(3_600);
        let kept = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let Tally { runs, failed, done, destroyed } = run;
        self.store.change(|db| {
            let known = db.execute(
                "UPDATE service_hours SET runs = runs + ?3, failed = failed + ?4, done = done + ?5,
                    destroyed = destroyed + ?6 WHERE service = ?1 AND hour = ?2",
                params![service, hour, kept(runs), kept(failed), kept(done), kept(destroyed)],
            )?;
            if known > 0 {
                return Ok(());
            }
            db.execute(
                "INSERT INTO service_hours (service, hour, runs, failed, done, destroyed)
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![service, hour, kept(runs), kept(failed), kept(done), kept(destroyed)],
            )?;
            db.execute(
                "DELETE FROM service_hours WHERE service = ?1 AND hour NOT IN
                    (SELECT hour FROM service_hours WHERE service = ?1 ORDER BY hour DESC LIMIT ?2)",
                params![service, HOURS],
            )?;
            db.execute(
                "DELETE FROM service_hours WHERE service NOT IN
                    (SELECT service FROM service_hours GROUP BY service ORDER BY max(hour) DESC LIMIT ?1)",
                [MOST_SERVICES],
            )?;
            Ok(())
        })
    }

    /// What each service did in the hours `from ..= to`, given as seconds since 1970.
    pub fn tallies(&self, from: i64, to: i64) -> Result<BTreeMap<String, Tally>, Fault> {
        self.store.read(|db| {
            let mut found = db.prepare(
                "SELECT service, sum(runs), sum(failed), sum(done), sum(destroyed) FROM service_hours
                    WHERE hour BETWEEN ?1 AND ?2 GROUP BY service",
            )?;
            let rows = found.query_map([from.div_euclid(3_600), to.div_euclid(3_600)], |row| {
                let tally = Tally {
                    runs: number(row, 1)?,
                    failed: number(row, 2)?,
                    done: number(row, 3)?,
                    destroyed: number(row, 4)?,
                };
                Ok((row.get(0)?, tally))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}
