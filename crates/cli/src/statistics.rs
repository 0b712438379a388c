//! The commands that show what clients, file systems, volumes and disks do: `nfsstat`, `iscsistat`,
//! `fsstat` and `top`.
//!
//! All of them are made of `GET /v1/statistics`, and know how to tell what came in an interval
//! ([`Window`]). Their columns have the habits of illumos' commands of these names.

mod fsstat;
mod history;
mod iscsistat;
mod nfsstat;
mod top;

use std::io::Write;
use std::time::Duration;

use api_types::{Statistics, routes};
use serde::Serialize;

use crate::client::Client;
use crate::fail::{Stop, usage};
use crate::human::{nicebytes, nicenum, nicetime};

pub use fsstat::{USAGE as FSSTAT, run as fsstat};
pub use history::{USAGE as HISTORY, run as history};
pub use iscsistat::{USAGE as ISCSISTAT, run as iscsistat};
pub use nfsstat::{USAGE as NFSSTAT, run as nfsstat};
pub use top::{USAGE as TOP, run as top};

/// What came in a time.
#[derive(Serialize)]
struct Window {
    seconds: f64,
    #[serde(flatten)]
    counts: Statistics,
}

impl Window {
    /// All since the daemon started.
    fn of_all(counts: Statistics) -> Window {
        Window { seconds: counts.uptime as f64 / 1e9, counts }
    }
}

/// When to look: `[INTERVAL [COUNT]]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pace {
    /// Seconds; `None`: once.
    interval: Option<u64>,
    /// `None`: until somebody ends it.
    count: Option<u64>,
}

impl Pace {
    /// Takes them from the end of operands.
    fn take(operands: &mut Vec<String>) -> Result<Pace, Stop> {
        let is_number = |text: &String| text.bytes().all(|byte| byte.is_ascii_digit());
        let many = operands.iter().rev().take_while(|text| is_number(text)).count().min(2);
        let numbers = operands.split_off(operands.len() - many);
        let number = |at: usize| match numbers.get(at).map(|text| text.parse::<u64>()) {
            None => Ok(None),
            Some(Ok(number)) if number > 0 => Ok(Some(number)),
            Some(_) => usage(format!("'{}' is no interval or count", numbers[at])),
        };
        Ok(Pace { interval: number(0)?, count: number(1)? })
    }

    /// Shows what came since the start of the daemon, then what comes in each interval.
    fn watch(self, client: &Client, mut show: impl FnMut(Window) -> Result<(), Stop>) -> Result<(), Stop> {
        let mut before: Statistics = client.get(routes::STATISTICS)?;
        show(Window::of_all(before.clone()))?;
        let Some(interval) = self.interval else { return Ok(()) };
        let mut left = self.count.map(|count| count - 1);
        while left != Some(0) {
            client.pause(Duration::from_secs(interval))?;
            let now: Statistics = client.get(routes::STATISTICS)?;
            show(Window::of_all(now.since(&before)))?;
            before = now;
            left = left.map(|left| left - 1);
        }
        Ok(())
    }
}

/// How numbers are written.
#[derive(Clone, Copy)]
struct Numbers {
    is_exact: bool,
}

impl Numbers {
    fn count(self, number: u64) -> String {
        if self.is_exact { number.to_string() } else { nicenum(number) }
    }

    fn bytes(self, number: u64) -> String {
        if self.is_exact { number.to_string() } else { nicebytes(number) }
    }

    /// Nanoseconds that so many took together: those of one.
    fn mean(self, time: u64, count: u64) -> String {
        let mean = time / count.max(1);
        if self.is_exact { mean.to_string() } else { nicetime(mean) }
    }
}

/// A line of JSON.
fn json(out: &mut dyn Write, what: &impl Serialize) -> Result<(), Stop> {
    let text = serde_json::to_string(what).map_err(|error| Stop::Fail(error.to_string()))?;
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests;
