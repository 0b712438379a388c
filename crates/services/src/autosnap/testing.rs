//! Facts for the tests of this module.

use api_types::{AutoSnapPolicy, Schedule, SnapBudget, SnapKeep, SnapLevel, SnapNaming, SnapTarget, When};
use jiff::tz::TimeZone;

use super::coverage::{Coverage, Named, cover};
use super::policy::Policy;
use super::stamp::Stamp;
use super::view::{Dataset, Snapshot, View};
use crate::time::Time;

/// 2026-11-28 00:00:00 in UTC, a Saturday.
pub const MIDNIGHT: Time = 1_795_824_000;

pub fn utc(_: Option<&str>) -> Option<TimeZone> {
    Some(TimeZone::UTC)
}

pub fn level(name: &str, when: When, keep: SnapKeep) -> SnapLevel {
    SnapLevel { name: name.to_owned(), schedule: Schedule { when, zone: None }, keep }
}

/// Hourly and daily snapshots of `tank/home`, of which so many are kept.
pub fn properties(hourly: u32, daily: u32) -> AutoSnapPolicy {
    let keep = |count| SnapKeep { count: Some(count), ..SnapKeep::default() };
    AutoSnapPolicy {
        targets: vec![SnapTarget {
            dataset: "tank/home".to_owned(),
            recursive: true,
            ..SnapTarget::default()
        }],
        levels: vec![
            level("hourly", When::Hour { step: 1, minute: 0 }, keep(hourly)),
            level("daily", When::Day { hour: 0, minute: 0 }, keep(daily)),
        ],
        budget: SnapBudget::default(),
        skip_unchanged: false,
        naming: SnapNaming::Utc,
        stale_after: None,
        lock: None,
    }
}

pub fn policy(properties: &AutoSnapPolicy) -> Policy {
    Policy::new("auto-1", properties, &utc).expect("it is good")
}

pub fn coverage(views: &[View]) -> Coverage {
    let named = |view: &View| Named { name: view.dataset.name.clone(), guid: view.dataset.guid };
    let all: Vec<Named> = views.iter().map(named).collect();
    let targets = ["tank", "dozer"].map(|pool| SnapTarget {
        dataset: pool.to_owned(),
        recursive: true,
        ..SnapTarget::default()
    });
    let pools = ["tank", "dozer"].iter().zip([1, 2]);
    let pools = pools.map(|(name, guid)| Named { name: (*name).to_owned(), guid });
    cover(&targets, &pools.chain(all).collect::<Vec<_>>())
}

pub fn view(name: &str, guid: u64, snapshots: Vec<Snapshot>) -> View {
    let dataset = Dataset {
        name: name.to_owned(),
        guid,
        created: 0,
        written: 1,
        used: 1 << 30,
        available: 1 << 30,
        used_by_snapshots: 0,
        freeing: false,
        receiving: false,
        replica: false,
        writable: true,
    };
    View { dataset, snapshots }
}

/// One that a service made of a level.
pub fn snapshot(level: &str, guid: u64, at: Time) -> Snapshot {
    Snapshot {
        name: format!("auto-{level}-{guid}"),
        guid,
        createtxg: guid,
        created: at,
        written: 1,
        unique: 1,
        holds: 0,
        clones: 0,
        needed_by: None,
        stamp: Some(Stamp { service: "auto-1".to_owned(), level: level.to_owned(), at }),
    }
}

/// One of each hour up to a time, the last one at that time.
pub fn hourly(count: u64, until: Time) -> Vec<Snapshot> {
    let at = |number: u64| until - i64::try_from(count - number).expect("they are few") * 3_600;
    (1..=count).map(|number| snapshot("hourly", 1_000 + number, at(number))).collect()
}
