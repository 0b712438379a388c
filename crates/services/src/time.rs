//! How times are counted.

/// Seconds since 1970 in UTC; negative before.
pub type Time = i64;

/// Earliest time that is counted with: the beginning of the year 1.
pub const FIRST: Time = -62_135_596_800;

/// Latest time that is counted with: the end of the year 9998.
pub const LAST: Time = 253_370_764_799;

/// The beginning of the year 2025: no service made anything before.
pub const OLDEST: Time = 1_735_689_600;

/// Seconds of a day.
pub const DAY: i64 = 86_400;
