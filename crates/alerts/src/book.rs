//! The book: alerts that are open, made of what checks find.
//!
//! A check that has looked hands in all that it has found ([`Book::observe`]). What was found for
//! long enough is raised; what is open and was not found for long enough is over, with the cause
//! that the check gives. How long is told by [`kinds::holds`]. What comes and goes is raised
//! [`FLAPS`] times within an hour at most: from then on it stays open until it was away for
//! [`QUIET`], so nobody is told of each time.
//!
//! Invariants:
//! - Of one key at most one alert is open. An id is given once.
//! - Each turn of an alert is given once, and always in order: raised, perhaps worsened, cleared.
//! - At most [`MOST_OPEN`] alerts are open, and [`FOR_CRITICAL`] more that are critical: many small
//!   troubles hide no great one. How many more were found is counted ([`Book::left_out`]).
//!   What is wrong with checks and routes themselves has always room, for there is one of each.
//! - Waiting goes by the steady clock. A wall clock that jumps alters stamps and nothing else.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use api_types::{
    Acknowledged, Alert, AlertCheckName as Check, AlertKind, AlertTurn, ClearCause, Cleared, Severity,
};

use crate::kinds::{check_of, holds, key, subject};
use crate::{Moment, words};

/// Alerts that are open at a time. More help nobody, and each is kept and told.
pub const MOST_OPEN: usize = 1_000;
pub const FOR_CRITICAL: usize = 100;
/// Times that an alert may be raised within [`FLAP_WINDOW`] seconds before it is held open, and
/// seconds that it then has to be away.
const FLAPS: usize = 4;
const FLAP_WINDOW: u64 = 60 * 60;
const QUIET: u64 = 30 * 60;
/// Traces of what is not open: twice what may be.
const MOST_TRACES: usize = 2 * MOST_OPEN;

/// Something that is wrong now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub what: AlertKind,
    pub severity: Severity,
    /// Whether it is bad enough to raise an alert. One that is not keeps open what is open: a
    /// number between the limit that raises and the one that clears.
    pub is_firm: bool,
}

impl Finding {
    pub fn new(severity: Severity, what: AlertKind) -> Finding {
        Finding { what, severity, is_firm: true }
    }

    /// As [`Finding::new`], of what keeps open and raises nothing.
    pub fn lingering(severity: Severity, what: AlertKind) -> Finding {
        Finding { what, severity, is_firm: false }
    }
}

/// What has become of an alert, as it then was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    pub key: String,
    pub turn: AlertTurn,
    pub alert: Alert,
}

struct Open {
    alert: Alert,
    check: Check,
    /// `None`: of a kind that only a newer program knew. No check finds it.
    what: Option<AlertKind>,
    /// Since when it is not found any more, by the steady clock.
    absent: Option<u64>,
}

/// What is remembered of a key.
#[derive(Default)]
struct Trace {
    /// Since when it is found without being open.
    pending: Option<u64>,
    /// When it was raised, within the last hour.
    raised: VecDeque<u64>,
    check: Option<Check>,
}

/// See the module.
pub struct Book {
    open: BTreeMap<String, Open>,
    traces: BTreeMap<String, Trace>,
    next: u64,
    left_out: BTreeMap<Check, u64>,
}

impl Book {
    /// With what was open when the program last ran, and the number of the next alert.
    pub fn new(open: Vec<(String, Alert)>, next: u64) -> Book {
        let open = open.into_iter().map(|(key, alert)| {
            let what = alert.what.clone();
            let check = what.as_ref().map_or(Check::Services, check_of);
            (key, Open { alert, check, what, absent: None })
        });
        Book { open: open.collect(), traces: BTreeMap::new(), next, left_out: BTreeMap::new() }
    }

    /// Takes all that a check has found. `cause` says why an alert is over that was not found;
    /// `None`: it cannot be told whether it is, and it stays.
    pub fn observe(
        &mut self,
        check: Check,
        findings: &[Finding],
        cause: &dyn Fn(&AlertKind) -> Option<ClearCause>,
        now: Moment,
    ) -> Vec<Turn> {
        self.left_out.remove(&check);
        let mut turns = Vec::new();
        let mut seen = BTreeSet::new();
        for finding in findings {
            debug_assert_eq!(check_of(&finding.what), check);
            let key = key(&finding.what);
            if seen.insert(key.clone()) {
                turns.extend(self.find(check, key, finding, now));
            }
        }
        let is_gone = |key: &String, of: Check| of == check && !seen.contains(key);
        for (key, trace) in &mut self.traces {
            if trace.check.is_some_and(|of| is_gone(key, of)) {
                trace.pending = None;
            }
        }
        let mut over = Vec::new();
        for (key, open) in self.open.iter_mut().filter(|(key, open)| is_gone(key, open.check)) {
            let Some(what) = &open.what else { continue };
            let Some(cause) = cause(what) else {
                open.absent = None;
                continue;
            };
            let since = *open.absent.get_or_insert(now.steady);
            let hold = if open.alert.flapping { QUIET } else { holds(what).1 };
            if now.steady.saturating_sub(since) >= hold {
                over.push((key.clone(), cause));
            }
        }
        turns.extend(over.into_iter().filter_map(|(key, cause)| self.end(&key, cause, now)));
        self.forget(now);
        turns
    }

    /// Takes one finding of somebody who says by himself when it is over ([`Book::withdraw`]).
    pub fn report(&mut self, finding: &Finding, now: Moment) -> Option<Turn> {
        self.find(check_of(&finding.what), key(&finding.what), finding, now)
    }

    /// What was reported is over; nothing where it is not open.
    pub fn withdraw(&mut self, key: &str, now: Moment) -> Option<Turn> {
        self.end(key, ClearCause::Reported, now)
    }

    /// Somebody says that it is over. It is raised again when it is found again.
    pub fn clear(&mut self, id: u64, by: &str, now: Moment) -> Option<Turn> {
        let key = self.open.iter().find(|(_, open)| open.alert.id == id)?.0.clone();
        self.end(&key, ClearCause::ByHand { by: by.to_owned() }, now)
    }

    /// Somebody looks after it, or nobody any more. Gives it as it is now, with its key.
    pub fn acknowledge(&mut self, id: u64, by: Option<&str>, now: Moment) -> Option<(String, Alert)> {
        let (key, open) = self.open.iter_mut().find(|(_, open)| open.alert.id == id)?;
        open.alert.acknowledged = by.map(|by| Acknowledged { by: by.to_owned(), at: now.wall });
        Some((key.clone(), open.alert.clone()))
    }

    /// Those that are open, by key.
    pub fn open(&self) -> impl Iterator<Item = (&str, &Alert)> {
        self.open.iter().map(|(key, open)| (key.as_str(), &open.alert))
    }

    /// As it is now, if it is open.
    pub fn get(&self, id: u64) -> Option<&Alert> {
        self.open.values().map(|open| &open.alert).find(|alert| alert.id == id)
    }

    /// Whether one of this key is open: for limits that are lower for what is open already.
    pub fn is_open(&self, key: &str) -> bool {
        self.open.contains_key(key)
    }

    /// What was found and is no alert, for there are too many.
    pub fn left_out(&self) -> u64 {
        self.left_out.values().sum()
    }

    fn find(&mut self, check: Check, key: String, finding: &Finding, now: Moment) -> Option<Turn> {
        if let Some(open) = self.open.get_mut(&key) {
            return open.seen(finding, now).then(|| Turn {
                key,
                turn: AlertTurn::Worsened,
                alert: open.alert.clone(),
            });
        }
        if !finding.is_firm {
            if let Some(trace) = self.traces.get_mut(&key) {
                trace.pending = None;
            }
            return None;
        }
        if !self.has_room(check, finding.severity) {
            *self.left_out.entry(check).or_default() += 1;
            return None;
        }
        let trace = self.traces.entry(key.clone()).or_default();
        trace.check = Some(check);
        let since = *trace.pending.get_or_insert(now.steady);
        if now.steady.saturating_sub(since) < holds(&finding.what).0 {
            return None;
        }
        trace.pending = None;
        trace.raised.retain(|at| now.steady.saturating_sub(*at) < FLAP_WINDOW);
        trace.raised.push_back(now.steady);
        let flapping = trace.raised.len() >= FLAPS;
        let alert = self.raise(finding, flapping, now);
        let open = Open { alert: alert.clone(), check, what: Some(finding.what.clone()), absent: None };
        self.open.insert(key.clone(), open);
        Some(Turn { key, turn: AlertTurn::Raised, alert })
    }

    fn has_room(&self, check: Check, severity: Severity) -> bool {
        let most = match severity {
            Severity::Critical => MOST_OPEN + FOR_CRITICAL,
            Severity::Warning | Severity::Error => MOST_OPEN,
        };
        matches!(check, Check::Checks | Check::Delivery) || self.open.len() < most
    }

    fn raise(&mut self, finding: &Finding, flapping: bool, now: Moment) -> Alert {
        let id = self.next;
        self.next += 1;
        let said = words::of(&finding.what);
        Alert {
            id,
            severity: finding.severity,
            what: Some(finding.what.clone()),
            subject: subject(&finding.what),
            title: said.title,
            text: said.text,
            advice: said.advice,
            since: now.wall,
            last_seen: now.wall,
            count: 1,
            flapping,
            acknowledged: None,
            cleared: None,
        }
    }

    fn end(&mut self, key: &str, cause: ClearCause, now: Moment) -> Option<Turn> {
        let Open { mut alert, .. } = self.open.remove(key)?;
        if let Some(trace) = self.traces.get_mut(key) {
            trace.pending = None;
        }
        let why = words::of_cause(&cause);
        alert.cleared = Some(Cleared { at: now.wall, cause: Some(cause), why });
        Some(Turn { key: key.to_owned(), turn: AlertTurn::Cleared, alert })
    }

    /// Drops traces that say nothing any more; of too many, any.
    fn forget(&mut self, now: Moment) {
        let open = &self.open;
        self.traces.retain(|key, trace| {
            trace.raised.retain(|at| now.steady.saturating_sub(*at) < FLAP_WINDOW);
            trace.pending.is_some() || !trace.raised.is_empty() || open.contains_key(key)
        });
        while self.traces.len() > MOST_TRACES {
            self.traces.pop_last();
        }
    }
}

impl Open {
    /// It was found again. Whether it is worse than it was.
    fn seen(&mut self, finding: &Finding, now: Moment) -> bool {
        self.absent = None;
        self.what = Some(finding.what.clone());
        let said = words::of(&finding.what);
        let alert = &mut self.alert;
        alert.last_seen = now.wall;
        alert.count = alert.count.saturating_add(1);
        (alert.title, alert.text, alert.advice) = (said.title, said.text, said.advice);
        alert.what.clone_from(&self.what);
        let is_worse = finding.severity > alert.severity;
        alert.severity = alert.severity.max(finding.severity);
        is_worse
    }
}

#[cfg(test)]
mod tests;
