use api_types::Problem;

use super::*;

fn said(ahead: i64) -> PeerChecked {
    PeerChecked {
        problem: None,
        version: Some("1.0".into()),
        ahead: Some(ahead),
        grants: Vec::new(),
        reads: Vec::new(),
    }
}

fn silent() -> PeerChecked {
    let problem = Problem {
        kind: "unavailable".into(),
        title: "not now".into(),
        status: 503,
        detail: "'south' cannot be reached: Connection refused".into(),
        refused: None,
        second_factors: None,
        service_fault: None,
        exit: 1,
    };
    PeerChecked {
        problem: Some(Box::new(problem)),
        version: None,
        ahead: None,
        grants: Vec::new(),
        reads: Vec::new(),
    }
}

#[test]
fn who_does_not_answer_is_told_with_the_reason() {
    let found = peer("south", &silent());
    let why = "'south' cannot be reached: Connection refused".to_owned();
    assert_eq!(found, [Finding::new(Severity::Warning, AlertKind::PeerFails { peer: "south".into(), why })]);
}

#[test]
fn clocks_are_compared_both_ways_and_a_limit_is_not_crossed_to_and_fro() {
    let clock = |ahead| AlertKind::PeerClock { peer: "south".into(), ahead };
    for (ahead, found) in [
        (0, vec![]),
        (-60, vec![]),
        (61, vec![Finding::lingering(Severity::Warning, clock(61))]),
        (-121, vec![Finding::new(Severity::Warning, clock(-121))]),
        (i64::MIN, vec![Finding::new(Severity::Warning, clock(i64::MIN))]),
        (i64::MAX, vec![Finding::new(Severity::Warning, clock(i64::MAX))]),
    ] {
        assert_eq!(peer("south", &said(ahead)), found);
    }
}
