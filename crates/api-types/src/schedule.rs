//! When a service is due: a level, as people say it, or a cron pattern.
//!
//! Times of day are of the schedule's time zone. A schedule that leaves out some hours of the day
//! is due exactly once for each of its local times: a time that clocks leap over is due at the end
//! of the leap, one that they show twice is due the first time. A schedule of every hour follows
//! elapsed time: it is due in each hour that passes, whatever clocks show.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When something is due, and where.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    pub when: When,
    /// An IANA name, as in `Europe/Berlin`. `None`: the zone of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
}

/// Hours of the day in which work may run, in the time zone of the schedule. From `from` until
/// before `until`, past midnight where `until` is not later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Minutes since midnight, below 1,440.
    pub from: u16,
    pub until: u16,
}

/// The levels, and a pattern for all else.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "every", rename_all = "kebab-case", deny_unknown_fields)]
pub enum When {
    /// Each `step` seconds (1 to 30) since 1970: of replication alone.
    Second { step: u8 },
    /// At minute `offset` of the hour and then each `step` minutes (1 to 30), within the hour.
    Minute {
        step: u8,
        #[serde(default)]
        offset: u8,
    },
    /// At hour 0 of the day and then each `step` hours (1 to 12), at that minute.
    Hour {
        step: u8,
        #[serde(default)]
        minute: u8,
    },
    Day {
        #[serde(default)]
        hour: u8,
        #[serde(default)]
        minute: u8,
    },
    Week {
        weekday: Weekday,
        #[serde(default)]
        hour: u8,
        #[serde(default)]
        minute: u8,
    },
    /// On a day from 1 to 31. In a shorter month: on its last day.
    Month {
        day: u8,
        #[serde(default)]
        hour: u8,
        #[serde(default)]
        minute: u8,
    },
    /// In a month from 1 to 12, on a day as with [`When::Month`].
    Year {
        month: u8,
        day: u8,
        #[serde(default)]
        hour: u8,
        #[serde(default)]
        minute: u8,
    },
    /// Minute, hour, day of the month, month, weekday, as crontab(5) has them: `*`, numbers, names
    /// of three letters, ranges, lists and steps. Where both days are given, either will do.
    Cron { pattern: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Weekday {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

/// A part of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScheduleField {
    Step,
    Minute,
    Hour,
    Day,
    Month,
    Weekday,
}

/// Why a schedule is not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ScheduleFault {
    /// A number that this field cannot have.
    OutOfRange { field: ScheduleField, value: u32, low: u32, high: u32 },
    /// A cron pattern has five fields.
    FieldCount { found: u32 },
    /// A cron pattern with more bytes.
    TooLong { limit: u32 },
    /// This word of a cron pattern is none.
    Word { field: ScheduleField, word: String },
    /// It is due each few seconds, and of such a service that makes no sense.
    TooOften,
    /// No day matches: February 30.
    Never,
    /// No time zone has this name.
    Zone { name: String },
}
