//! When a report is due, and which routes it is still to be told.
//!
//! Invariants:
//! - However many weeks were missed, one report follows: that of the latest time that was due.
//! - A clock that was wrong, and is set back, has no report sent twice and none left out for
//!   longer than a week.
//! - One report waits at most: a new one takes the place of what did not arrive.

use std::collections::BTreeMap;

use alerts::outbox::pause;
use serde::{Deserialize, Serialize};
use services::schedule::Calendar;

/// Seconds by which what was served may be later than now.
const AHEAD: i64 = 86_400;

/// See the module. What is kept of it over restarts is a [`Kept`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    kept: Kept,
    /// Routes whose tries have failed: how often, and when the next one may be, by the steady
    /// clock.
    tries: BTreeMap<String, (u32, u64)>,
}

/// What is kept over restarts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Up to when reports that were due are told or under way; `None`: it was never looked.
    served: Option<i64>,
    /// The time for which the newest report is, and whom it is still to be told.
    at: i64,
    routes: Vec<String>,
}

impl Queue {
    pub fn new(kept: Kept) -> Queue {
        Queue { kept, tries: BTreeMap::new() }
    }

    pub fn kept(&self) -> &Kept {
        &self.kept
    }

    /// Looks whether a report is due now, by the clock that is believed; `None` of a calendar: none
    /// ever is. Whether something is to be kept.
    pub fn look(&mut self, calendar: Option<&Calendar>, now: i64, routes: &[String]) -> bool {
        let Some(served) = self.kept.served.filter(|served| *served <= now.saturating_add(AHEAD)) else {
            // The first week ends with the first time from now on.
            self.kept.served = Some(now);
            return true;
        };
        let Some(due) = calendar.and_then(|calendar| calendar.due(served, now)) else { return false };
        self.kept.served = Some(now);
        self.begin(due.slot, routes);
        true
    }

    /// Somebody asks for a report now.
    pub fn ask(&mut self, now: i64, routes: &[String]) {
        self.begin(now, routes);
    }

    fn begin(&mut self, at: i64, routes: &[String]) {
        (self.kept.at, self.kept.routes) = (at, routes.to_vec());
        self.tries.clear();
    }

    /// The routes that are to be told now, and the time for which the report is.
    pub fn ready(&self, steady: u64) -> (i64, Vec<String>) {
        let is_ready = |route: &&String| self.tries.get(*route).is_none_or(|(_, next)| *next <= steady);
        (self.kept.at, self.kept.routes.iter().filter(is_ready).cloned().collect())
    }

    /// It has arrived by this route, or that is not to be told any more.
    pub fn done(&mut self, at: i64, route: &str) {
        if self.kept.at == at {
            self.kept.routes.retain(|waits| waits != route);
            self.tries.remove(route);
        }
    }

    /// It has not arrived.
    pub fn failed(&mut self, at: i64, route: &str, (steady, random): (u64, u64)) {
        if self.kept.at == at && self.kept.routes.iter().any(|waits| waits == route) {
            let tries = self.tries.get(route).map_or(0, |(tries, _)| *tries).saturating_add(1);
            self.tries.insert(route.to_owned(), (tries, steady + pause(tries, random)));
        }
    }
}

#[cfg(test)]
mod tests {
    use api_types::{Schedule, Weekday, When};
    use jiff::tz::TimeZone;

    use super::*;

    const DAY: i64 = 86_400;
    /// A Monday, 07:00 UTC.
    const MONDAY: i64 = 1_795_417_200;

    fn mondays() -> Calendar {
        let when = When::Week { weekday: Weekday::Monday, hour: 7, minute: 0 };
        Calendar::new(&Schedule { when, zone: None }, &|_| Some(TimeZone::UTC)).expect("a calendar")
    }

    fn routes() -> Vec<String> {
        vec!["mail".to_owned(), "web".to_owned()]
    }

    /// The reports of some looks: the times for which they were.
    fn reports(queue: &mut Queue, looks: impl IntoIterator<Item = i64>) -> Vec<i64> {
        let mut told = Vec::new();
        for now in looks {
            queue.look(Some(&mondays()), now, &routes());
            let (at, ready) = queue.ready(0);
            if !ready.is_empty() {
                told.push(at);
            }
            ready.iter().for_each(|route| queue.done(at, route));
        }
        told
    }

    #[test]
    fn each_week_has_one_report_and_the_first_look_has_none() {
        let mut queue = Queue::default();
        let looks = (0..28 * 24).map(|hour| MONDAY + 5 + hour * 3_600);
        let told = reports(&mut queue, looks);
        assert_eq!(told, [MONDAY + 7 * DAY, MONDAY + 14 * DAY, MONDAY + 21 * DAY]);
    }

    #[test]
    fn weeks_that_were_missed_are_one_report_also_over_a_restart() {
        let mut queue = Queue::default();
        reports(&mut queue, [MONDAY + 10]);
        let mut queue = Queue::new(queue.kept().clone());
        assert_eq!(reports(&mut queue, [MONDAY + 30 * DAY, MONDAY + 30 * DAY + 1]), [MONDAY + 28 * DAY]);
        // What was begun and did not arrive is told by the next program.
        queue.look(Some(&mondays()), MONDAY + 35 * DAY, &routes());
        queue.done(MONDAY + 35 * DAY, "mail");
        let queue = Queue::new(queue.kept().clone());
        assert_eq!(queue.ready(0), (MONDAY + 35 * DAY, vec!["web".to_owned()]));
    }

    #[test]
    fn a_clock_that_was_in_2099_costs_no_reports_later() {
        let mut queue = Queue::default();
        let later = MONDAY + 73 * 365 * DAY;
        assert_eq!(reports(&mut queue, [MONDAY + 10, later]).len(), 1);
        let told = reports(&mut queue, [MONDAY + 20, MONDAY + 7 * DAY + 1, MONDAY + 7 * DAY + 2]);
        assert_eq!(told, [MONDAY + 7 * DAY]);
        // An hour back, after it was told: not again.
        assert!(reports(&mut queue, [MONDAY + 7 * DAY - 3_600, MONDAY + 7 * DAY + 3]).is_empty());
    }

    #[test]
    fn what_fails_is_tried_later_and_a_new_report_takes_its_place() {
        let mut queue = Queue::default();
        queue.ask(MONDAY, &routes());
        queue.failed(MONDAY, "web", (100, 0));
        assert_eq!(queue.ready(100).1, ["mail"]);
        queue.done(MONDAY, "mail");
        assert!(queue.ready(109).1.is_empty());
        assert_eq!(queue.ready(110).1, ["web"]);
        queue.ask(MONDAY + 5, &routes());
        queue.done(MONDAY, "web");
        assert_eq!(queue.ready(0), (MONDAY + 5, routes()));
        // Switched off, none is due.
        assert!(!Queue::new(Kept { served: Some(0), ..Kept::default() }).look(None, MONDAY, &routes()));
    }
}
