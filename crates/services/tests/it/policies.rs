//! Policies from a seed.

use api_types::{
    AutoSnapPolicy, Schedule, SnapBudget, SnapKeep, SnapLevel, SnapNaming, SnapTarget, SpaceBudget, Weekday,
    When,
};
use jiff::tz::TimeZone;
use stdx::prng::Prng;

/// Of which levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Days to years.
    Long,
    /// Minutes to days.
    Short,
}

/// Zones by rule, so that no file is read.
pub fn zones(name: Option<&str>) -> Option<TimeZone> {
    TimeZone::posix(name.unwrap_or("UTC0")).ok()
}

const ZONES: &[&str] =
    &["UTC0", "CET-1CEST,M3.5.0,M10.5.0/3", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "EST5EDT,M3.2.0,M11.1.0"];

fn small(random: &mut Prng, bound: u64) -> u8 {
    u8::try_from(random.below(bound)).expect("it is small")
}

fn schedule(when: When, random: &mut Prng) -> Schedule {
    Schedule { when, zone: random.pick(ZONES).map(|zone| (*zone).to_owned()) }
}

fn levels(kind: Kind, random: &mut Prng) -> Vec<(&'static str, When)> {
    // Two o'clock does not exist once a year, and exists twice.
    let (hour, minute) = (small(random, 4), small(random, 60));
    let all = match kind {
        Kind::Long => vec![
            ("daily", When::Day { hour, minute }),
            ("weekly", When::Week { weekday: Weekday::Sunday, hour, minute }),
            ("monthly", When::Month { day: small(random, 31) + 1, hour, minute }),
            ("yearly", When::Year { month: small(random, 12) + 1, day: 29, hour, minute }),
            ("cron", When::Cron { pattern: format!("{minute} */12 */5 * mon-fri") }),
        ],
        Kind::Short => vec![
            ("frequent", When::Minute { step: 15, offset: small(random, 15) }),
            ("hourly", When::Hour { step: small(random, 3) + 1, minute }),
            ("cron", When::Cron { pattern: format!("{minute}/20 1-3 * * *") }),
            ("daily", When::Day { hour, minute }),
            ("weekly", When::Week { weekday: Weekday::Sunday, hour, minute }),
        ],
    };
    let chosen: Vec<_> = all.into_iter().filter(|_| random.chance(1, 2)).collect();
    if chosen.is_empty() { vec![("daily", When::Day { hour, minute })] } else { chosen }
}

fn keep(random: &mut Prng) -> SnapKeep {
    let number = |random: &mut Prng, bound| u32::try_from(random.below(bound)).expect("it is small");
    SnapKeep {
        count: random.chance(3, 4).then(|| number(random, 12) + 1),
        age: random.chance(1, 2).then(|| random.range(3_600, 200 * 86_400)),
        at_least: if random.chance(1, 2) { number(random, 4) } else { 0 },
    }
}

pub fn budget(levels: &[SnapLevel], random: &mut Prng) -> SnapBudget {
    let low: u32 = levels.iter().map(|level| level.keep.at_least.max(1) + 1).sum();
    let space = match random.below(4) {
        0 => Some(SpaceBudget::Bytes { bytes: random.range(1 << 20, 1 << 30) }),
        1 => Some(SpaceBudget::Percent { percent: small(random, 20) + 1 }),
        _ => None,
    };
    SnapBudget { space, snapshots: low + u32::try_from(random.below(24)).expect("it is small") }
}

pub fn policy(kind: Kind, random: &mut Prng) -> AutoSnapPolicy {
    let levels: Vec<SnapLevel> = levels(kind, random)
        .into_iter()
        .map(|(name, when)| SnapLevel {
            name: name.to_owned(),
            schedule: schedule(when, random),
            keep: keep(random),
        })
        .collect();
    let target = |dataset: &str, recursive| SnapTarget {
        dataset: dataset.to_owned(),
        recursive,
        ..SnapTarget::default()
    };
    let mut home = target("tank/home", true);
    home.exclude.push("tank/home/scratch".to_owned());
    AutoSnapPolicy {
        targets: vec![home, target("dozer", false)],
        budget: budget(&levels, random),
        levels,
        skip_unchanged: random.chance(1, 2),
        naming: match random.below(3) {
            0 => SnapNaming::Utc,
            1 => SnapNaming::ZfsAutoSnapshot,
            _ => SnapNaming::Template { template: "auto-{level}-{time}".to_owned() },
        },
        stale_after: Some(random.range(3_600, 60 * 86_400)),
        lock: None,
    }
}
