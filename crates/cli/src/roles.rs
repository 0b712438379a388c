//! What accounts and tokens may do, in words.

use crate::fail::{Stop, usage};
use api_types::Role;

pub fn parse(text: &str) -> Result<Role, Stop> {
    match Role::of_word(text) {
        Some(role) => Ok(role),
        None => usage(format!("'{text}' is no role: read-only, operator or administrator")),
    }
}

/// When something ends that lasts so long from `now` on, in seconds since 1970: `90d`, `12h`,
/// `30m`, `2w`. `never` is `None`.
pub fn end(text: &str, now: u64) -> Result<Option<i64>, Stop> {
    if text == "never" {
        return Ok(None);
    }
    let units = [("m", 60), ("h", 3600), ("d", 86400), ("w", 7 * 86400)];
    let lasts = units.iter().find_map(|(unit, seconds)| {
        let number = text.strip_suffix(unit)?.parse::<u64>().ok().filter(|number| *number > 0)?;
        i64::try_from(number.checked_mul(*seconds)?.checked_add(now)?).ok()
    });
    lasts.map_or_else(
        || usage(format!("'{text}' is no span of time: 90d, 12h, 30m or never")),
        |end| Ok(Some(end)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_and_a_span_are_read_as_they_are_shown() {
        let words = [
            ("read-only", Role::ReadOnly),
            ("operator", Role::Operator),
            ("administrator", Role::Administrator),
        ];
        for (text, role) in words {
            assert_eq!((parse(text).expect("a role"), role.word()), (role, text));
        }
        assert!(parse("root").is_err());
        assert_eq!(end("90d", 10).expect("a span"), Some(90 * 86400 + 10));
        assert_eq!(end("never", 10).expect("a span"), None);
        for bad in ["", "d", "0d", "-1d", "1y", "90", "99999999999999999999d", "9999999999999999d"] {
            assert!(end(bad, 10).is_err(), "{bad}");
        }
    }
}
