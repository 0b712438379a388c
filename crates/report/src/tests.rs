//! Whole reports, of weeks that were made up.

use api_types::{
    Alert, AlertKind, ClearCause, Cleared, Health, ScanKind, ScanState, ScanStatus, ServiceKind,
    ServiceState, Severity,
};

use super::*;

const DAY: i64 = 86_400;
/// 2026-11-28 08:40 UTC.
const NOW: i64 = 1_795_855_205;
const GIB: f64 = (1_u64 << 30) as f64;

fn hours(days: i64, value: impl Fn(f64) -> Option<f64>) -> Series {
    let values = (0..days * 24).map(|hour| value(hour as f64 / 24.0)).collect();
    Series { first: NOW - days * DAY, step: 3_600, values }
}

fn alert(id: u64, severity: Severity, title: &str, cleared: bool) -> Alert {
    let cause = ClearCause::LeftPool;
    let cleared = cleared.then(|| Cleared { at: NOW - DAY, cause: Some(cause), why: "it left".to_owned() });
    Alert {
        id,
        severity,
        what: Some(AlertKind::PoolFull { pool: "tank".to_owned(), percent: 90 }),
        subject: "tank".to_owned(),
        title: title.to_owned(),
        text: String::new(),
        advice: String::new(),
        since: NOW - 3 * DAY,
        last_seen: NOW,
        count: 9,
        flapping: false,
        acknowledged: None,
        cleared,
    }
}

fn pool(name: &str) -> PoolFacts {
    let scan = ScanStatus {
        kind: ScanKind::Scrub,
        state: ScanState::Finished,
        start: 0,
        end: (NOW - 2 * DAY).unsigned_abs(),
        to_examine: 0,
        examined: 0,
        skipped: 0,
        issued: 0,
        processed: 4 << 10,
        errors: 0,
        pass_start: 0,
        pass_examined: 0,
        pass_issued: 0,
        paused: 0,
        spent_paused: 0,
    };
    PoolFacts {
        name: name.to_owned(),
        health: Health::Online,
        size: 100 << 30,
        allocated: 48 << 30,
        data_errors: 0,
        scan: Some(scan),
        capacity: hours(28, |day| Some((20.0 + day) * GIB)),
    }
}

fn week() -> Facts {
    let busy =
        |name: &str| Busy { name: name.to_owned(), requests: 7, read_bytes: 1 << 30, write_bytes: 1 << 20 };
    let wave = |day: f64, high: f64| (day.fract() > 0.3).then(|| high * (1.2 + (day * 6.3).sin()));
    Facts {
        host: "nas".to_owned(),
        from: NOW - 7 * DAY,
        to: NOW,
        full_warning: 80,
        pools: vec![pool("tank")],
        services: Some(vec![ServiceFacts {
            id: "home".to_owned(),
            kind: ServiceKind::AutoSnap,
            state: ServiceState::Online,
            runs: 672,
            failed: 1,
            done: 700,
            destroyed: 690,
            trouble: None,
        }]),
        alerts: Some(Alerts {
            open: vec![alert(1, Severity::Error, "pool tank is 90 % full", false)],
            over: vec![alert(2, Severity::Critical, "disk sda of pool tank is FAULTED", true)],
            raised: 2,
            is_more: false,
        }),
        blind: Vec::new(),
        knows_freshness: true,
        traffic: Some(Traffic {
            read: hours(7, |day| wave(day, 40e6)),
            write: hours(7, |day| wave(day + 1.0, 25e6)),
            read_time: hours(7, |day| wave(day, 0.004)),
            write_time: hours(7, |day| wave(day + 0.4, 0.009)),
        }),
        busiest: Some(Busiest {
            since: NOW - 5 * DAY,
            clients: vec![busy("192.0.2.7")],
            datasets: vec![busy("tank/home")],
        }),
    }
}

#[test]
fn a_report_says_what_happened_and_when_the_pool_will_be_full() {
    let told = told(&week());
    assert_eq!(told.title, "week to 2026-11-28: 1 alert open, the worst error");
    assert_eq!(
        told.summary,
        [
            "1 pool, all healthy.",
            "Pool tank is full in 52 days at this pace.",
            "2 alerts raised, 1 over, 1 open.",
            "1 service ran 672 times, 1 with failures.",
        ]
    );
    for line in [
        "health: ONLINE · in use: 48.0 GiB of 100.0 GiB (48 %)",
        "this week: +7.0 GiB",
        "at this pace: +1.0 GiB a day: 80 % in 32 days, full in 52 days",
        "last scrub: 4.0 KiB repaired, 2 days ago",
        "All datasets that should have new snapshots have them.",
        "* critical\n  what: disk sda of pool tank is FAULTED",
        "over: 2026-11-27 08:40 UTC: it left",
        "did: 700 snapshots made, 690 destroyed",
        "* a write took\n  mean: ",
        "* client\n  name: 192.0.2.7 · requests: 7 · read: 1.0 GiB · written: 1.0 MiB",
        "The busiest since 2026-11-23 08:40 UTC.",
    ] {
        assert!(told.text.contains(line), "{line}\n{}", told.text);
    }
    assert!(told.text.lines().all(|line| line.chars().count() <= 130), "{}", told.text);
}

#[test]
fn names_of_others_are_text_in_each_form() {
    let evil = "<img src=x onerror=\"alert('1')\">&\u{202e}live\u{5d0}\r\nBcc: a@b";
    let mut facts = week();
    facts.pools[0].name = evil.to_owned();
    facts.services.as_mut().expect("some")[0].id = evil.to_owned();
    facts.services.as_mut().expect("some")[0].trouble = Some(evil.to_owned());
    facts.alerts.as_mut().expect("some").open[0].title = evil.to_owned();
    facts.busiest.as_mut().expect("some").clients[0].name = evil.to_owned();
    facts.blind = vec![("smart".to_owned(), evil.to_owned())];
    let told = told(&facts);
    assert!(!told.html.contains("<img src=x") && !told.html.contains("onerror=\""), "{}", told.html);
    assert!(told.html.contains("&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;"));
    for text in [&told.html, &told.text, &told.title, &told.summary.concat()] {
        assert!(!text.contains('\u{202e}') && !text.contains('\r') && !text.contains("\nBcc"));
    }
}

#[test]
fn what_is_not_known_is_said_to_be_unknown() {
    let mut facts = week();
    facts.pools[0].capacity = Series::default();
    (facts.services, facts.alerts, facts.traffic, facts.busiest) = (None, None, None, None);
    facts.knows_freshness = false;
    facts.pools[0].scan = None;
    let told = told(&facts);
    assert_eq!(told.title, "week to 2026-11-28: not all could be looked at");
    for line in [
        "this week: not known",
        "no forecast: 0 days known, it takes 5",
        "last scrub: never",
        "Alerts could not be read.",
        "What they did is not known.",
        "There is no history.",
    ] {
        assert!(told.text.contains(line), "{line}\n{}", told.text);
    }
    assert!(!told.html.contains("<img"), "there is nothing to be drawn");
    // A check that is blind is no week in which nothing was wrong.
    let calm = Facts { alerts: Some(Alerts::default()), ..week() };
    assert_eq!(super::told(&calm).title, "week to 2026-11-28: nothing is wrong");
    let blind = Facts { blind: vec![("smart".into(), "no smartctl".into())], ..calm };
    assert_eq!(super::told(&blind).title, "week to 2026-11-28: not all could be looked at");
    assert!(super::told(&blind).text.contains("Check smart cannot look: no smartctl."));
}

#[test]
fn a_report_of_very_much_is_bounded_and_counts_what_it_leaves_out() {
    let long = "x".repeat(5_000);
    let mut facts = week();
    facts.pools = (0..1_000).map(|nth| pool(&format!("{nth}{long}"))).collect();
    let service = facts.services.as_ref().expect("some")[0].clone();
    facts.services = Some((0..256).map(|_| ServiceFacts { id: long.clone(), ..service.clone() }).collect());
    let open = (0..1_000).map(|id| alert(id, Severity::Warning, &long, false)).collect();
    facts.alerts = Some(Alerts { open, is_more: true, ..Alerts::default() });
    let told = told(&facts);
    assert!(told.text.contains("… and 980 more.") && told.text.contains("cistern alert list --all"));
    assert_eq!(told.html.matches("<img").count(), document::PICTURED + 2);
    assert!(told.text.len() < 64 << 10, "{}", told.text.len());
    assert!(told.html.len() < 1 << 20, "{}", told.html.len());
}

#[test]
fn a_mail_has_each_picture_that_its_page_shows_and_chats_a_few_lines() {
    let message = message(&week(), NOW - 60);
    let pages = message.pages.as_ref().expect("pages");
    assert_eq!(message.id, format!("report-{}", NOW - 60));
    assert_eq!((message.severity, message.text.lines().count()), (Severity::Error, 4));
    let names: Vec<&str> = pages.pictures.iter().map(|picture| picture.name.as_str()).collect();
    assert_eq!(names, ["pool0", "bytes", "times"]);
    assert_eq!(pages.html.matches("src=\"cid:").count(), 3);
    for picture in &pages.pictures {
        assert!(pages.html.contains(&format!("src=\"cid:{}\"", picture.name)));
        let png = tiny_skia::Pixmap::decode_png(&picture.png).expect("a PNG");
        assert_eq!((png.width(), png.height()), (picture::WIDTH, picture::HEIGHT));
    }
}
