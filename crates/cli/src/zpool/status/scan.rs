//! The `scan:` lines of `zpool status` (cmd/zpool/zpool_main.c, `print_scan_scrub_resilver_status`,
//! `print_err_scrub_status`).

use crate::clock;
use crate::human::nicebytes;
use api_types::{ErrorScrubStatus, ScanKind, ScanState, ScanStatus};

/// Below this rate, bytes a second, no time left is told.
pub(super) const HONEST: u64 = 10 << 20;

/// What stands behind `scan: `; `now` in seconds since 1970.
pub fn lines(scan: &ScanStatus, now: u64) -> String {
    let is_scrub = scan.kind == ScanKind::Scrub;
    let processed = nicebytes(scan.processed);
    match scan.state {
        ScanState::Finished => {
            let did = if is_scrub { "scrub repaired" } else { "resilvered" };
            let took = days(scan.end.saturating_sub(scan.start));
            let end = clock::ctime(scan.end);
            format!("{did} {processed} in {took} with {} errors on {end}", scan.errors)
        }
        ScanState::Canceled if is_scrub => format!("scrub canceled on {}", clock::ctime(scan.end)),
        ScanState::Canceled => format!("resilver canceled on {}", clock::ctime(scan.end)),
        ScanState::Running | ScanState::Paused => {
            let start = clock::ctime(scan.start);
            let head = match (is_scrub, scan.state) {
                (true, ScanState::Paused) => {
                    format!("scrub paused since {}\n\tscrub started on {start}", clock::ctime(scan.paused))
                }
                (true, _) => format!("scrub in progress since {start}"),
                (false, _) => format!("resilver in progress since {start}"),
            };
            format!("{head}\n\t{}", progress(scan, now))
        }
    }
}

/// What stands behind ` scrub: `, of known errors only.
pub fn error_lines(scrub: &ErrorScrubStatus) -> String {
    let (start, end) = (clock::ctime(scrub.start), clock::ctime(scrub.end));
    let head = match scrub.state {
        ScanState::Finished => {
            let seconds = scrub.end.saturating_sub(scrub.start);
            let took = days(seconds % 86400);
            return format!(
                "scrubbed {} error blocks in {} days {took} on {end}",
                scrub.examined,
                seconds / 86400
            );
        }
        ScanState::Canceled => return format!("error scrub canceled on {end}"),
        ScanState::Running => format!("error scrub in progress since {start}"),
        ScanState::Paused => {
            format!(
                "error scrub paused since {}\n\terror scrub started on {start}",
                clock::ctime(scrub.paused)
            )
        }
    };
    let all = (scrub.to_examine + scrub.examined).max(1);
    let percent = 100.0 * scrub.examined as f64 / all as f64;
    format!("{head}\n\t{percent:.2}% done, issued I/O for {} error blocks", scrub.examined)
}

fn progress(scan: &ScanStatus, now: u64) -> String {
    let paused = scan.state == ScanState::Paused;
    let total = scan.to_examine.saturating_sub(scan.skipped);
    let elapsed = now.saturating_sub(scan.pass_start).saturating_sub(scan.spent_paused).max(1);
    let (scan_rate, issue_rate) = (scan.pass_examined / elapsed, scan.pass_issued / elapsed);
    let at =
        |rate: u64| if paused || rate == 0 { String::new() } else { format!(" at {}/s", nicebytes(rate)) };
    let line = format!(
        "{} / {} scanned{}, {} / {} issued{}\n",
        nicebytes(scan.examined),
        nicebytes(scan.to_examine),
        at(scan_rate),
        nicebytes(scan.issued),
        nicebytes(total),
        at(issue_rate)
    );
    let done = if scan.kind == ScanKind::Scrub { "repaired" } else { "resilvered" };
    let percent = 100.0 * scan.issued as f64 / total.max(1) as f64;
    let line = format!("{line}\t{} {done}, {percent:.2}% done", nicebytes(scan.processed));
    if paused {
        return line;
    }
    let begun = if scan.kind == ScanKind::Scrub { scan.issued > 0 } else { scan.processed > 0 };
    if total >= scan.issued && issue_rate >= HONEST && begun {
        return format!("{line}, {} to go", days((total - scan.issued) / issue_rate));
    }
    format!("{line}, no estimated completion time")
}

/// `01:02:03`, or `4 days 01:02:03`.
pub(super) fn days(seconds: u64) -> String {
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    match seconds / 86400 {
        0 => clock,
        days => format!("{days} days {clock}"),
    }
}

#[cfg(test)]
mod tests;
