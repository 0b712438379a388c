use api_types::Health;

use super::*;

fn at(steady: u64) -> Moment {
    Moment { wall: 1_795_000_000 + steady as i64, steady }
}

fn full(pool: &str, percent: u8) -> AlertKind {
    AlertKind::PoolFull { pool: pool.to_owned(), percent }
}

fn link(name: &str) -> AlertKind {
    AlertKind::LinkDown { interface: name.to_owned() }
}

fn over(_: &AlertKind) -> Option<ClearCause> {
    Some(ClearCause::WithinLimits)
}

fn turns(turns: &[Turn]) -> Vec<AlertTurn> {
    turns.iter().map(|turn| turn.turn).collect()
}

fn book() -> Book {
    Book::new(Vec::new(), 1)
}

#[test]
fn what_is_found_is_raised_once_gets_worse_once_and_is_over_once() {
    let mut book = book();
    let look = |book: &mut Book, percent, severity, time| {
        let findings = [Finding::new(severity, full("tank", percent))];
        book.observe(Check::Pools, &findings, &over, at(time))
    };
    let raised = look(&mut book, 81, Severity::Warning, 0);
    assert_eq!(turns(&raised), [AlertTurn::Raised]);
    assert_eq!((raised[0].alert.id, &*raised[0].alert.subject), (1, "tank"));
    assert!(look(&mut book, 82, Severity::Warning, 60).is_empty());
    assert_eq!(turns(&look(&mut book, 91, Severity::Error, 120)), [AlertTurn::Worsened]);
    assert!(look(&mut book, 85, Severity::Warning, 180).is_empty(), "better is nothing to tell");
    let alert = book.get(1).expect("it is open").clone();
    assert_eq!((alert.count, alert.severity, alert.last_seen), (4, Severity::Error, at(180).wall));
    // It is away for two minutes before it is over.
    assert!(book.observe(Check::Pools, &[], &over, at(240)).is_empty());
    let cleared = book.observe(Check::Pools, &[], &over, at(360));
    assert_eq!(turns(&cleared), [AlertTurn::Cleared]);
    let end = cleared[0].alert.cleared.clone().expect("it is over");
    assert_eq!((end.at, end.cause), (at(360).wall, Some(ClearCause::WithinLimits)));
    assert!(book.observe(Check::Pools, &[], &over, at(420)).is_empty() && book.open().count() == 0);
    assert_eq!(look(&mut book, 81, Severity::Warning, 500)[0].alert.id, 2, "no number is given twice");
}

#[test]
fn what_lingers_stays_open_and_raises_nothing() {
    let mut book = book();
    let lingers = [Finding::lingering(Severity::Warning, full("tank", 79))];
    assert!(book.observe(Check::Pools, &lingers, &over, at(0)).is_empty());
    book.observe(Check::Pools, &[Finding::new(Severity::Warning, full("tank", 80))], &over, at(1));
    for time in 2..1_000 {
        assert!(book.observe(Check::Pools, &lingers, &over, at(time)).is_empty());
    }
    assert!(book.is_open(&key(&full("tank", 0))));
}

#[test]
fn what_is_measured_has_to_be_so_for_a_while() {
    let mut book = book();
    let lost = [Finding::new(Severity::Error, link("eth0"))];
    assert!(book.observe(Check::Network, &lost, &over, at(0)).is_empty());
    assert!(book.observe(Check::Network, &lost, &over, at(10)).is_empty());
    assert!(book.observe(Check::Network, &[], &over, at(15)).is_empty());
    assert!(book.observe(Check::Network, &lost, &over, at(16)).is_empty(), "it begins anew");
    assert_eq!(turns(&book.observe(Check::Network, &lost, &over, at(36))), [AlertTurn::Raised]);
}

#[test]
fn a_check_that_cannot_see_ends_nothing_and_none_ends_what_another_finds() {
    let mut book = book();
    book.observe(Check::Pools, &[Finding::new(Severity::Warning, full("tank", 80))], &over, at(0));
    for time in 1..10_000 {
        assert!(book.observe(Check::Memory, &[], &over, at(time)).is_empty());
        assert!(book.observe(Check::Pools, &[], &|_| None, at(time)).is_empty());
    }
    // The time in which nothing was known does not count.
    assert!(book.observe(Check::Pools, &[], &over, at(10_000)).is_empty());
    assert_eq!(turns(&book.observe(Check::Pools, &[], &over, at(10_120))), [AlertTurn::Cleared]);
}

#[test]
fn what_comes_and_goes_is_told_a_few_times_an_hour_and_then_held() {
    let mut book = book();
    let what = AlertKind::PoolUnhealthy { pool: "tank".into(), health: Health::Degraded };
    let found = [Finding::new(Severity::Error, what)];
    let (mut told, mut time) = (0, 0);
    while time < 3 * 60 * 60 {
        told += book.observe(Check::Pools, &found, &over, at(time)).len();
        told += book.observe(Check::Pools, &[], &over, at(time + 30)).len();
        time += 60;
    }
    assert_eq!(told, FLAPS * 2 - 1, "raised and over, until the last stays open");
    let (_, alert) = book.open().next().expect("it is open");
    assert!(alert.flapping && alert.count > 100);
    let mut ended = 0;
    for later in 0..QUIET + 120 {
        ended += book.observe(Check::Pools, &[], &over, at(time + later)).len();
    }
    assert_eq!(ended, 1, "away for half an hour, it is over");
}

#[test]
fn a_wall_clock_that_jumps_alters_stamps_and_nothing_else() {
    let mut book = book();
    let walls = [0, 3_600 * 24 * 365 * 70, -1_795_000_000, 100, -3_600];
    let found = [Finding::new(Severity::Warning, full("tank", 85))];
    let mut all = Vec::new();
    for (steady, wall) in (0..).zip(walls) {
        let now = Moment { wall: 1_795_000_000 + wall, steady: steady * 60 };
        all.extend(book.observe(Check::Pools, &found, &over, now));
    }
    assert_eq!(turns(&all), [AlertTurn::Raised]);
    let now = |wall, steady| Moment { wall, steady };
    assert!(
        book.observe(Check::Pools, &[], &over, now(i64::MAX, 300)).is_empty(),
        "two minutes are two minutes"
    );
    assert_eq!(book.observe(Check::Pools, &[], &over, now(i64::MIN, 420)).len(), 1);
}

#[test]
fn so_many_are_open_at_most_and_the_others_are_counted() {
    let mut book = book();
    let many: Vec<Finding> = (0..MOST_OPEN + 500)
        .map(|n| Finding::new(Severity::Warning, full(&format!("pool{n}"), 90)))
        .collect();
    let raised = book.observe(Check::Pools, &many, &over, at(0));
    assert_eq!((raised.len(), book.left_out()), (MOST_OPEN, 500));
    book.observe(Check::Pools, &many, &over, at(60));
    assert_eq!(book.left_out(), 500, "they are not counted twice");
    // Something critical has room, and so has that there are too many.
    let empty = Finding::new(Severity::Critical, AlertKind::UpsLow { ups: "main".into() });
    let too_many = Finding::new(Severity::Warning, AlertKind::TooManyAlerts { left_out: 500 });
    for finding in [empty, too_many] {
        let turn = book.report(&finding, at(60)).or_else(|| book.report(&finding, at(3_600)));
        assert_eq!(turn.map(|turn| turn.turn), Some(AlertTurn::Raised), "{finding:?}");
    }
    // Those that are open go on; once there is room, others are.
    book.observe(Check::Pools, &many[600..], &over, at(61));
    let turns = book.observe(Check::Pools, &many[600..], &over, at(200));
    assert_eq!(turns.iter().filter(|turn| turn.turn == AlertTurn::Cleared).count(), 600);
    let turns = book.observe(Check::Pools, &many[600..], &over, at(201));
    assert_eq!((turns.len(), book.left_out()), (500, 0));
    assert!(book.traces.len() <= MOST_TRACES);
}

#[test]
fn somebody_looks_after_it_or_says_that_it_is_over() {
    let mut book = book();
    let found = [Finding::new(Severity::Warning, full("tank", 85))];
    book.observe(Check::Pools, &found, &over, at(0));
    let (_, alert) = book.acknowledge(1, Some("ada"), at(1)).expect("it is open");
    assert_eq!(alert.acknowledged, Some(Acknowledged { by: "ada".into(), at: at(1).wall }));
    assert!(book.acknowledge(2, Some("ada"), at(1)).is_none());
    assert!(book.acknowledge(1, None, at(2)).expect("open").1.acknowledged.is_none());
    let turn = book.clear(1, "ada", at(3)).expect("it was open");
    let cause = turn.alert.cleared.expect("over").cause;
    assert_eq!(cause, Some(ClearCause::ByHand { by: "ada".into() }));
    assert!(book.clear(1, "ada", at(4)).is_none());
    assert_eq!(turns(&book.observe(Check::Pools, &found, &over, at(5))), [AlertTurn::Raised]);
}

#[test]
fn what_was_open_when_the_program_ended_goes_on_and_is_not_raised_again() {
    let mut book = book();
    let found = [Finding::new(Severity::Warning, full("tank", 85))];
    let raised = book.observe(Check::Pools, &found, &over, at(0));
    let kept = vec![(raised[0].key.clone(), raised[0].alert.clone())];
    let mut next = Book::new(kept, 2);
    assert!(next.observe(Check::Pools, &found, &over, at(5)).is_empty());
    next.observe(Check::Pools, &[], &over, at(6));
    let ended = next.observe(Check::Pools, &[], &over, at(200));
    assert_eq!((turns(&ended), ended[0].alert.id), (vec![AlertTurn::Cleared], 1));
}

#[test]
fn what_a_service_reports_is_open_until_it_says_otherwise() {
    let mut book = book();
    let what = AlertKind::ServiceFailed { service: "auto-snap".into(), why: "no room".into() };
    let finding = Finding::new(Severity::Error, what.clone());
    assert_eq!(book.report(&finding, at(0)).expect("raised").turn, AlertTurn::Raised);
    assert_eq!(book.report(&finding, at(1)), None);
    assert!(book.observe(Check::Pools, &[], &over, at(10_000)).is_empty());
    let turn = book.withdraw(&key(&what), at(10_001)).expect("over");
    assert_eq!(turn.alert.cleared.expect("over").cause, Some(ClearCause::Reported));
    assert_eq!(book.withdraw(&key(&what), at(10_002)), None);
}

/// A year of looks that find and miss at random: what is told of each key is raised, perhaps worse,
/// over, and so on, and never more than a few times an hour.
#[test]
fn a_year_of_chance_is_told_in_order_and_within_bounds() {
    let mut book = book();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut last: BTreeMap<String, AlertTurn> = BTreeMap::new();
    let mut raised: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let mut time = 0;
    while time < 365 * 86_400 {
        time += 60 + random() % 3_000;
        let mut found = Vec::new();
        for n in 0..6 {
            let (is_found, severity) = (random().is_multiple_of(3), Severity::ALL[(random() % 3) as usize]);
            let is_firm = !random().is_multiple_of(4);
            let finding = Finding::new(severity, full(&format!("p{n}"), 90));
            found.extend(is_found.then_some(Finding { is_firm, ..finding }));
        }
        for turn in book.observe(Check::Pools, &found, &over, at(time)) {
            let before = last.insert(turn.key.clone(), turn.turn);
            match turn.turn {
                AlertTurn::Raised => {
                    assert!(matches!(before, None | Some(AlertTurn::Cleared)));
                    let times = raised.entry(turn.key).or_default();
                    times.retain(|at| time - at < FLAP_WINDOW);
                    times.push(time);
                    assert!(times.len() <= FLAPS + 1, "{times:?}");
                }
                AlertTurn::Worsened | AlertTurn::Cleared => {
                    assert!(matches!(before, Some(AlertTurn::Raised | AlertTurn::Worsened)));
                }
            }
        }
    }
    assert!(last.len() == 6 && book.open().count() <= 6);
}
