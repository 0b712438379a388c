//! Bytes, times and counts of `zpool status -j`, exact or for people.

use super::Format;
use crate::clock;
use crate::human::nicenum;
use crate::json::Json;

pub(super) fn bytes(format: &Format, value: u64) -> Json {
    match format.literal {
        true => count(format, value),
        false => Json::Text(crate::human::nicebytes(value)),
    }
}

/// Seconds since 1970.
pub(super) fn time(format: &Format, value: u64) -> Json {
    match format.literal {
        true => count(format, value),
        false if value == 0 => Json::Text("-".to_owned()),
        false => Json::Text(clock::ctime(value)),
    }
}

/// A count, shortened unless exact values are asked for.
pub(super) fn count(format: &Format, value: u64) -> Json {
    match format.json.as_int {
        true => Json::Number(value),
        false if format.literal => Json::Text(value.to_string()),
        false => Json::Text(nicenum(value)),
    }
}
