use super::*;

fn told(lines: &str) -> Ups {
    let mut ups = Ups::default();
    for line in lines.lines() {
        if !ups.take(line).expect("no refusal") {
            break;
        }
    }
    ups
}

#[test]
fn a_place_is_read_as_nut_writes_it() {
    let place = |ups: &str, host: &str, port| Some(Place { ups: ups.into(), host: host.into(), port });
    assert_eq!(Place::of("main@nas.example"), place("main", "nas.example", 3493));
    assert_eq!(Place::of("main@10.0.0.1:99"), place("main", "10.0.0.1", 99));
    for bad in
        ["", "main", "@h", "main@", "main@h:", "main@h:x", "main@h:70000", "a b@h", "main@h/x", "m\n@h"]
    {
        assert_eq!(Place::of(bad), None, "{bad}");
    }
}

#[test]
fn a_battery_that_is_used_is_a_warning_and_an_empty_one_the_last_call() {
    let online = told("BEGIN LIST VAR u\nVAR u ups.status \"OL CHRG\"\nEND LIST VAR u\n");
    assert!(online.findings("u").is_empty() && !online.is_last_call());
    let used = told(
        "VAR u battery.charge \"81.5\"\nVAR u battery.runtime \"900\"\nVAR u ups.status \"OB DISCHRG\"\n",
    );
    let what = AlertKind::UpsOnBattery { ups: "u".into(), charge: Some(81), seconds: Some(900) };
    assert_eq!(used.findings("u"), [Finding::new(Severity::Warning, what)]);
    let empty = told("VAR u ups.status \"OB LB\"\nEND LIST VAR u\nVAR u ups.status \"FSD\"\n");
    assert!(empty.is_last_call() && !empty.is_ending && empty.findings("u").len() == 2);
    assert!(told("VAR u ups.status \"OL FSD\"").is_last_call());
    assert!(!told("VAR u ups.status \"OL LB\"").is_last_call(), "there is power");
}

#[test]
fn a_refusal_and_nonsense_are_neither_good_nor_bad_news() {
    assert_eq!(Ups::default().take("ERR UNKNOWN-UPS"), Err("UNKNOWN-UPS".to_owned()));
    let odd = told("\nVAR\nVAR u\nVAR u ups.status\nHELLO\nVAR u battery.charge \"full\"\n");
    assert_eq!(odd, Ups::default());
}
