//! Alerts, routes and notes, kept and found again.

use api_types::{
    Alert, AlertKind, AlertSettings, AlertTurn, ClearCause, Cleared, MailRoute, RouteTarget, Severity,
    SyslogRoute,
};

use super::*;

fn alert(id: u64, severity: Severity) -> Alert {
    Alert {
        id,
        severity,
        what: Some(AlertKind::PoolFull { pool: format!("pool{id}"), percent: 90 }),
        subject: format!("pool{id}"),
        title: "full".into(),
        text: "It is full.".into(),
        advice: "Make room.".into(),
        since: START,
        last_seen: START,
        count: 1,
        flapping: false,
        acknowledged: None,
        cleared: None,
    }
}

fn turned(alert: Alert, turn: AlertTurn, routes: &[&str]) -> AlertTurned {
    let routes = routes.iter().map(|&route| route.to_owned()).collect();
    AlertTurned { key: alert.subject.clone(), turn, alert, routes }
}

fn over(alert: Alert) -> Alert {
    let cleared = Cleared { at: START + 9, cause: Some(ClearCause::WithinLimits), why: "fine".into() };
    Alert { cleared: Some(cleared), ..alert }
}

fn route(name: &str) -> Route {
    let target = RouteTarget::Mail(MailRoute { server: "mail".into(), ..MailRoute::default() });
    Route {
        name: name.into(),
        target,
        least: Severity::Error,
        disabled: false,
        secret: Some("s3cr3t".into()),
    }
}

#[test]
fn what_is_open_and_what_is_to_be_told_outlive_the_program() {
    let (machine, world, folder) = machine();
    assert_eq!(machine.open_alerts(), Ok((Vec::new(), 1)));
    machine.add_route(&route("ops")).expect("added");
    let first = turned(alert(1, Severity::Error), AlertTurn::Raised, &["ops", "gone"]);
    let second = turned(alert(2, Severity::Warning), AlertTurn::Raised, &[]);
    let rows = machine.keep_turns(&[first.clone(), second]).expect("kept");
    assert!(
        matches!(&rows[..], [one, none] if matches!(one[..], [Some(_), None]) && none.is_empty()),
        "{rows:?}"
    );
    machine
        .keep_turns(&[turned(over(alert(2, Severity::Warning)), AlertTurn::Cleared, &["ops"])])
        .expect("kept");
    drop(machine);
    let (machine, _) = open(&folder, &world);
    assert_eq!(machine.open_alerts(), Ok((vec![("pool1".to_owned(), alert(1, Severity::Error))], 3)));
    let notes = machine.notes().expect("read");
    assert_eq!((notes.len(), &notes[0].alert, notes[1].turn), (2, &first.alert, AlertTurn::Cleared));
    machine.drop_notes(&[notes[0].row]).expect("dropped");
    assert_eq!(machine.notes().expect("read").len(), 1);
    machine.remove_route("ops").expect("removed");
    assert!(machine.notes().expect("read").is_empty(), "with all that waits");
}

#[test]
fn of_one_key_one_is_open_and_lists_are_in_parts() {
    let (machine, ..) = machine();
    let again =
        AlertTurned { key: "pool1".into(), ..turned(alert(2, Severity::Error), AlertTurn::Raised, &[]) };
    machine.keep_turns(&[turned(alert(1, Severity::Error), AlertTurn::Raised, &[])]).expect("kept");
    assert!(matches!(machine.keep_turns(std::slice::from_ref(&again)), Err(Fault::Defect(_))));
    machine
        .keep_turns(&[turned(over(alert(1, Severity::Error)), AlertTurn::Cleared, &[]), again])
        .expect("kept");
    let many = (3..30).map(|id| turned(alert(id, Severity::Warning), AlertTurn::Raised, &[]));
    machine.keep_turns(&many.collect::<Vec<_>>()).expect("kept");
    let ids = |all, least, before, limit| {
        let page = machine.alerts(all, least, before, limit).expect("read");
        (page.alerts.iter().map(|alert| alert.id).collect::<Vec<_>>(), page.is_more)
    };
    assert_eq!(ids(false, Severity::Warning, None, 3), (vec![29, 28, 27], true));
    assert_eq!(ids(true, Severity::Warning, Some(4), 10), (vec![3, 2, 1], false));
    assert_eq!(ids(false, Severity::Error, None, 10), (vec![2], false));
    assert_eq!(ids(true, Severity::Critical, Some(u64::MAX), 10), (vec![], false));
    assert!(machine.alert(1).expect("read").is_some_and(|alert| alert.cleared.is_some()));
    assert_eq!((machine.alert(99), machine.alert(u64::MAX)), (Ok(None), Ok(None)));
}

#[test]
fn routes_have_names_of_their_own_and_a_bound() {
    let (machine, world, folder) = machine();
    for bad in ["", "a b", "a/b", "\u{e4}", &"x".repeat(65)] {
        assert!(matches!(refusal(machine.add_route(&route(bad))), Denied::BadName(_)), "{bad}");
    }
    machine.add_route(&route("ops")).expect("added");
    assert_eq!(refusal(machine.add_route(&route("ops"))), Denied::Exists);
    assert_eq!(refusal(machine.change_route(&route("none"))), Denied::NotFound);
    let changed = Route { target: RouteTarget::Syslog(SyslogRoute::Local), secret: None, ..route("ops") };
    machine.change_route(&changed).expect("changed");
    for number in 1..32 {
        machine.add_route(&route(&format!("r{number}"))).expect("added");
    }
    assert_eq!(refusal(machine.add_route(&route("more"))), Denied::TooMany(Limit::Routes));
    drop(machine);
    let (machine, _) = open(&folder, &world);
    let routes = machine.routes().expect("read");
    assert!(routes.len() == 32 && routes[0] == changed);
    assert_eq!(refusal(machine.remove_route("none")), Denied::NotFound);
}

#[test]
fn settings_are_kept_and_count_among_what_is_kept() {
    let (machine, ..) = machine();
    assert_eq!(machine.alert_settings(), Ok(AlertSettings::default()));
    let before = machine.contents().expect("read").digest;
    let settings =
        AlertSettings { full_warning: 70, ups: Some("main@nas".into()), ..AlertSettings::default() };
    machine.set_alert_settings(&settings).expect("set");
    assert_eq!(machine.alert_settings(), Ok(settings));
    let with_settings = machine.contents().expect("read").digest;
    machine.keep_turns(&[turned(alert(1, Severity::Error), AlertTurn::Raised, &[])]).expect("kept");
    assert_eq!(machine.contents().expect("read").digest, with_settings, "alerts do not");
    machine.add_route(&route("ops")).expect("added");
    assert!(before != with_settings && machine.contents().expect("read").digest != with_settings);
}

#[test]
fn of_those_that_are_over_the_newest_stay() {
    let (machine, ..) = machine();
    let many: Vec<AlertTurned> =
        (1..=10_050).map(|id| turned(over(alert(id, Severity::Error)), AlertTurn::Cleared, &[])).collect();
    machine.keep_turns(&many).expect("kept");
    assert_eq!((machine.alert(50), machine.open_alerts().expect("read").1), (Ok(None), 10_051));
    assert!(machine.alert(51).expect("read").is_some());
}
