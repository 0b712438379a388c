use super::*;

const RUNS: RebuildStatus = RebuildStatus {
    state: RebuildState::Running,
    start: 1000,
    end: 0,
    took: 3_661_999,
    to_scan: 4 << 30,
    scanned: 1 << 30,
    issued: 1 << 30,
    rebuilt: 1 << 30,
    errors: 0,
    pass_took: 9_999,
    pass_scanned: 1 << 30,
    pass_issued: 1 << 30,
};

/// Without the times, which depend on the zone.
fn said(rebuild: &RebuildStatus) -> String {
    [1000, 2000].iter().fold(lines(rebuild, "mirror-0"), |text, time| text.replace(&clock::ctime(*time), "T"))
}

#[test]
fn what_is_over_is_one_line() {
    let done = RebuildStatus { state: RebuildState::Finished, end: 2000, errors: 3, ..RUNS };
    assert_eq!(said(&done), "resilvered (mirror-0) 1G in 01:01:01 with 3 errors on T");
    let canceled = RebuildStatus { state: RebuildState::Canceled, end: 2000, ..RUNS };
    assert_eq!(said(&canceled), "resilver (mirror-0) canceled on T");
}

#[test]
fn what_runs_tells_rates_and_the_time_left_where_they_mean_something() {
    assert_eq!(
        said(&RUNS),
        "resilver (mirror-0) in progress since T\n\
         \t1G / 4G scanned at 102M/s, 1G / 4G issued at 102M/s\n\
         \t1G resilvered, 25.00% done, 00:00:30 to go"
    );
    let slow = RebuildStatus { pass_took: 999_999, ..RUNS };
    assert!(said(&slow).ends_with("\t1G resilvered, 25.00% done, no estimated completion time"));
    let begins = RebuildStatus { scanned: 0, issued: 0, rebuilt: 0, pass_scanned: 0, pass_issued: 0, ..RUNS };
    assert!(said(&begins).contains("\t0B / 4G scanned, 0B / 4G issued\n"));
}
