//! When a pool will be full, as far as that can be said.
//!
//! The growth of a day is the median of the slopes between all pairs of days: a large file that
//! comes and goes, or a day without values, changes it little. Where a quarter of the slopes goes
//! the other way, there is no trend to speak of, and no forecast.

use crate::facts::Series;

const DAY: i64 = 86_400;
/// Days of which something has to be known. Those of the values may have gaps.
pub const LEAST_DAYS: i64 = 5;
/// Further ahead nothing is said: nobody plans so far by a month's growth.
pub const MOST_DAYS: f64 = 3.0 * 365.0;
/// Of a pool's size: what grows by less in a day is as good as still.
const STILL: f64 = 1e-5;

/// What is said of a pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Forecast {
    /// So many days are known, which is too few.
    TooLittle {
        days: i64,
    },
    /// It goes up and down.
    Unclear,
    Still,
    /// Bytes a day.
    Shrinks {
        by: f64,
    },
    Grows {
        by: f64,
        warning: Until,
        full: Until,
    },
}

/// When a limit is reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    Reached,
    Days(u32),
    /// Beyond [`MOST_DAYS`].
    Far,
}

/// Of a pool of this size in bytes, with so much in use now.
pub fn of(capacity: &Series, size: u64, allocated: u64, full_warning: u8) -> Forecast {
    let days = daily(capacity);
    let (Some(first), Some(last)) = (days.first(), days.last()) else {
        return Forecast::TooLittle { days: 0 };
    };
    let known = last.0 - first.0 + 1;
    if known < LEAST_DAYS || days.len() < 3 {
        return Forecast::TooLittle { days: known.min(days.len() as i64) };
    }
    let mut slopes = Vec::new();
    for (nth, (day, value)) in days.iter().enumerate() {
        slopes.extend(days[nth + 1..].iter().map(|(later, then)| (then - value) / (later - day) as f64));
    }
    slopes.sort_by(f64::total_cmp);
    let at = |part: usize| slopes[part * (slopes.len() - 1) / 4];
    let (low, by, high) = (at(1), at(2), at(3));
    let still = size as f64 * STILL;
    if low.abs() <= still && high.abs() <= still {
        return Forecast::Still;
    }
    if by > still && low > 0.0 {
        let until = |limit: f64| match (limit - allocated as f64) / by {
            days if days <= 0.0 => Until::Reached,
            days if days <= MOST_DAYS => Until::Days(days.round() as u32),
            _ => Until::Far,
        };
        let warning = until(size as f64 * f64::from(full_warning) / 100.0);
        return Forecast::Grows { by, warning, full: until(size as f64) };
    }
    if by < -still && high < 0.0 { Forecast::Shrinks { by: -by } } else { Forecast::Unclear }
}

/// A mean of each day of which something is known, by the number of the day.
fn daily(capacity: &Series) -> Vec<(i64, f64)> {
    let mut days: Vec<(i64, f64, f64)> = Vec::new();
    for (at, value) in capacity.known() {
        let day = at.div_euclid(DAY);
        match days.last_mut() {
            Some((last, sum, count)) if *last == day => {
                *sum += value;
                *count += 1.0;
            }
            _ => days.push((day, value, 1.0)),
        }
    }
    days.into_iter().map(|(day, sum, count)| (day, sum / count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: f64 = (1_u64 << 30) as f64;

    /// A value an hour for so many days, of the day with its fraction.
    fn hours(days: i64, value: impl Fn(f64) -> f64) -> Series {
        let values = (0..days * 24).map(|hour| Some(value(hour as f64 / 24.0))).collect();
        Series { first: 20_000 * DAY, step: 3_600, values }
    }

    fn of_100_gib(capacity: &Series, allocated: f64) -> Forecast {
        of(capacity, 100 << 30, (allocated * GIB) as u64, 80)
    }

    #[test]
    fn a_pool_that_grows_evenly_is_full_when_it_is() {
        let grown = hours(28, |day| (20.0 + day) * GIB);
        let Forecast::Grows { by, warning, full } = of_100_gib(&grown, 48.0) else { panic!("it grows") };
        assert!((by / GIB - 1.0).abs() < 0.01, "{by}");
        assert_eq!((warning, full), (Until::Days(32), Until::Days(52)));
        let Forecast::Grows { warning, full, .. } = of_100_gib(&grown, 85.0) else { panic!("it grows") };
        assert_eq!((warning, full), (Until::Reached, Until::Days(15)));
        let slow = hours(28, |day| (20.0 + 0.002 * day) * GIB);
        let Forecast::Grows { full, .. } = of_100_gib(&slow, 20.0) else { panic!("it grows") };
        assert_eq!(full, Until::Far);
    }

    #[test]
    fn one_large_file_that_came_and_went_changes_no_forecast() {
        let bump = hours(28, |day| (20.0 + day + if (9.0..10.0).contains(&day) { 40.0 } else { 0.0 }) * GIB);
        let Forecast::Grows { by, .. } = of_100_gib(&bump, 48.0) else { panic!("it grows") };
        assert!((by / GIB - 1.0).abs() < 0.1, "{by}");
    }

    #[test]
    fn nothing_is_foretold_of_a_few_days_or_of_what_goes_up_and_down() {
        assert_eq!(of_100_gib(&Series::default(), 1.0), Forecast::TooLittle { days: 0 });
        assert_eq!(of_100_gib(&hours(3, |day| day * GIB), 3.0), Forecast::TooLittle { days: 3 });
        // Two days at both ends of a month are two.
        let mut gap = hours(28, |day| day * GIB);
        gap.values[24..27 * 24].fill(None);
        assert_eq!(of_100_gib(&gap, 28.0), Forecast::TooLittle { days: 2 });
        let waves = hours(28, |day| (20.0 + 5.0 * (day * 1.3).sin()) * GIB);
        assert_eq!(of_100_gib(&waves, 20.0), Forecast::Unclear);
        assert_eq!(of_100_gib(&hours(28, |_| 20.0 * GIB), 20.0), Forecast::Still);
        let less = hours(28, |day| (60.0 - day) * GIB);
        let Forecast::Shrinks { by } = of_100_gib(&less, 32.0) else { panic!("it shrinks") };
        assert!((by / GIB - 1.0).abs() < 0.01, "{by}");
    }
}
