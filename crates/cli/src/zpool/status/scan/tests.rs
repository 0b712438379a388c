use super::*;

fn scan(kind: ScanKind, state: ScanState) -> ScanStatus {
    ScanStatus {
        kind,
        state,
        start: 1000,
        end: 1000 + 3 * 86400 + 61,
        to_examine: 2 << 30,
        examined: 1 << 30,
        skipped: 0,
        issued: 1 << 29,
        processed: 12 << 10,
        errors: 2,
        pass_start: 1000,
        pass_examined: 1 << 30,
        pass_issued: 1 << 29,
        paused: 0,
        spent_paused: 0,
    }
}

/// Without the times, which depend on the zone.
fn said(scan: &ScanStatus, now: u64) -> String {
    let text = lines(scan, now);
    [1000, scan.end, 2000].iter().fold(text, |text, time| text.replace(&clock::ctime(*time), "T"))
}

#[test]
fn what_is_over_is_one_line() {
    let done = scan(ScanKind::Scrub, ScanState::Finished);
    assert_eq!(said(&done, 0), "scrub repaired 12K in 3 days 00:01:01 with 2 errors on T");
    let done = scan(ScanKind::Resilver, ScanState::Finished);
    assert_eq!(said(&done, 0), "resilvered 12K in 3 days 00:01:01 with 2 errors on T");
    assert_eq!(said(&scan(ScanKind::Scrub, ScanState::Canceled), 0), "scrub canceled on T");
    assert_eq!(said(&scan(ScanKind::Resilver, ScanState::Canceled), 0), "resilver canceled on T");
}

#[test]
fn what_runs_tells_rates_and_the_time_left_where_they_mean_something() {
    let runs = scan(ScanKind::Scrub, ScanState::Running);
    assert_eq!(
        said(&runs, 1010),
        "scrub in progress since T\n\
         \t1G / 2G scanned at 102M/s, 512M / 2G issued at 51.2M/s\n\
         \t12K repaired, 25.00% done, 00:00:30 to go"
    );
    assert!(said(&runs, 2000).ends_with("\t12K repaired, 25.00% done, no estimated completion time"));
    let paused = ScanStatus { state: ScanState::Paused, paused: 2000, ..runs };
    assert_eq!(
        said(&paused, 3000),
        "scrub paused since T\n\tscrub started on T\n\
         \t1G / 2G scanned, 512M / 2G issued\n\
         \t12K repaired, 25.00% done"
    );
    let resilver = ScanStatus { kind: ScanKind::Resilver, processed: 0, ..runs };
    assert_eq!(
        said(&resilver, 1010),
        "resilver in progress since T\n\
         \t1G / 2G scanned at 102M/s, 512M / 2G issued at 51.2M/s\n\
         \t0B resilvered, 25.00% done, no estimated completion time"
    );
}

#[test]
fn a_scrub_of_errors_counts_blocks() {
    let of = |state| ErrorScrubStatus {
        state,
        start: 1_795_238_000,
        end: 1_795_238_000 + 90_061,
        to_examine: 30,
        examined: 10,
        paused: 1_795_238_060,
    };
    let told = |state| error_lines(&of(state));
    let [start, paused, end] = [1_795_238_000, 1_795_238_060, 1_795_328_061].map(clock::ctime);
    let progress = "\n\t25.00% done, issued I/O for 10 error blocks";
    assert_eq!(told(ScanState::Finished), format!("scrubbed 10 error blocks in 1 days 01:01:01 on {end}"));
    assert_eq!(told(ScanState::Canceled), format!("error scrub canceled on {end}"));
    assert_eq!(told(ScanState::Running), format!("error scrub in progress since {start}{progress}"));
    let pause = format!("error scrub paused since {paused}\n\terror scrub started on {start}{progress}");
    assert_eq!(told(ScanState::Paused), pause);
}
