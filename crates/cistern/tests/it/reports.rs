//! The weekly report: who gets it, in which form, and how often.

use std::fs;

use serde_json::{Value, json};

use crate::alerts::{Sink, alert, mail_route, notify};
use crate::daemon::{Daemon, Scratch};
use crate::suspended::until;

const WEEK: i64 = 7 * 86_400;

/// A report that was due while the daemon was off comes at the next start, once, by mail with
/// pictures and by webhook in a few lines; a route that is refused gets it later; and who asks for
/// it sees it at any time.
#[test]
fn a_report_that_was_missed_comes_once_by_each_route_that_takes_it() {
    let scratch = Scratch::new("reports");
    let (mail, web, bad) = (
        Sink::start(&scratch, "mail", "mail.json", &[]),
        Sink::start(&scratch, "http", "web.json", &[]),
        Sink::start(&scratch, "http", "bad.json", &[]),
    );
    fs::write(scratch.path("bad.json.status"), "503").expect("written");
    let mut daemon = Daemon::start_with(&scratch, "state", &["--trial", "--checks-every", "1s"]);
    daemon.zpool(&format!("create -m none tank {}", scratch.image("a", 128))).done();
    mail_route(&daemon, &mail);
    notify(&daemon, &format!("add chat webhook --form slack --url http://127.0.0.1:{}/chat", web.port));
    notify(&daemon, &format!("add grave webhook --least error --url http://127.0.0.1:{}/grave", web.port));
    notify(&daemon, "add lines syslog --to udp:127.0.0.1:9");
    notify(&daemon, &format!("add bad webhook --url http://127.0.0.1:{}/bad", bad.port));
    // Hours pass as long as there is something to do in each.
    report_in_days(&daemon, 3);
    daemon.run(&["svc", "create", "auto-snap", "home", "--target", "tank", "--level", "hourly=2"]).done();
    until("hours are noted", || {
        let hours = "/v1/statistics/history?series=pool.tank.allocated&points=24&from=0";
        let (_, noted) = daemon.ask("GET", hours, None);
        let values = noted["series"][0]["values"]
            .as_array()
            .map_or(0, |it| it.iter().filter_map(Value::as_f64).count());
        values >= 3
    });
    daemon.run(&["svc", "disable", "home"]).done();
    let told = daemon.run(&["alert", "report"]).done();
    assert!(told.starts_with("week to ") && told.contains("\n1 pool, all healthy.\n"), "{told}");
    // Some hours have passed, or days where the machine had other work: of five more is said.
    let is_short = told.contains("no forecast: ") && told.contains(" known, it takes 5");
    assert!(is_short || told.contains("  at this pace: ") || told.contains("it goes up and down"), "{told}");
    let page = daemon.run(&["alert", "report", "--html"]).done();
    assert!(page.contains("src=\"data:image/png;base64,iVBOR") && !page.contains("cid:"), "{page}");
    assert!(mail.all().is_empty() && web.all().is_empty(), "none is due");

    // The daemon is off for more than two weeks.
    daemon.stop();
    let file = scratch.path("state/trial");
    let ahead: i64 = fs::read_to_string(&file).expect("read").parse().expect("a number");
    fs::write(&file, (ahead + 2 * WEEK + WEEK / 2).to_string()).expect("written");
    daemon.begin();
    until("it comes", || !mail.all().is_empty() && !web.all().is_empty() && !bad.all().is_empty());
    let report = &mail.all()[0];
    let subject = report["subject"].as_str().expect("a subject");
    assert!(subject.contains("] week to ") && subject.ends_with(": nothing is wrong"), "{subject}");
    assert!(
        report["text"].as_str().is_some_and(|text| text.contains("health: ONLINE · in use: ")),
        "{report}"
    );
    assert_eq!(report["auto"], "auto-generated");
    let picture = &report["pictures"][0];
    assert_eq!((&picture["name"], &picture["size"]), (&json!("pool0"), &json!([1_200, 300])));
    assert!(report["html"].as_str().is_some_and(|html| html.contains("src=\"cid:pool0\"")), "{report}");
    let chat = &web.all()[0];
    assert_eq!(
        (&chat["path"], &chat["body"]["attachments"][0]["color"]),
        (&json!("/chat"), &json!("#3b82f6"))
    );

    // It is not sent again by who starts anew; what was refused is, and has the same id. Who is
    // killed before it is written down that a report has arrived sends it once more.
    until("it is written down", || daemon.log().matches("a report has arrived").count() == 2);
    daemon.kill();
    fs::remove_file(scratch.path("bad.json.status")).expect("removed");
    daemon.begin();
    until("it arrives", || bad.all().last().is_some_and(|it| it["status"] == 200));
    let tried = bad.all();
    assert_eq!(tried[0]["key"], tried.last().expect("some")["key"]);
    assert_eq!(tried.last().expect("some")["body"]["turn"], "report");
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert_eq!((mail.all().len(), web.all().len()), (1, 1), "{:?}", mail.all());

    // Somebody wants it now, and then never.
    let sent = daemon.run(&["alert", "report", "--now"]).done();
    assert_eq!(sent, "sent by bad, chat, mail; what does not arrive is tried again\n");
    until("it comes", || mail.all().len() == 2 && web.all().len() == 2);
    assert_ne!(mail.all()[0]["id"], mail.all()[1]["id"]);
    let off =
        daemon.run(&["alert", "settings", "report=off", "report_day=friday", "report_hour=23", "--json"]);
    let off: Value = serde_json::from_str(&off.done()).expect("JSON");
    assert_eq!((&off["report"], &off["report_day"]), (&json!(false), &json!("friday")));
    assert!(daemon.run(&["alert", "settings", "report_hour=24"]).status != 0);
    assert_eq!(alert(&daemon, &["list"]), json!([]));
    daemon.stop();
}

/// Reports come each week, the first in so many days.
pub fn report_in_days(daemon: &Daemon, days: i64) {
    let (_, clock) = daemon.ask("GET", "/v1/service-clock", None);
    let today = clock["believed"].as_i64().expect("a time") / 86_400;
    // The first of January 1970 was the first of these.
    let names = ["thursday", "friday", "saturday", "sunday", "monday", "tuesday", "wednesday"];
    let name = names[((today + days) % 7) as usize];
    daemon.run(&["alert", "settings", "report_hour=3", &format!("report_day={name}")]).done();
}

/// A state folder is of a trial or is not.
#[test]
fn a_trial_takes_no_state_of_others_and_leaves_none() {
    let scratch = Scratch::new("reports-trial");
    let mut daemon = Daemon::start(&scratch);
    daemon.stop();
    let refused = |daemon: &Daemon, words: &[&str]| {
        let state = scratch.text("state");
        let ran =
            daemon.run(&[&["serve", "--state", &state, "--nfs", "off", "--https", "off"], words].concat());
        assert_eq!(ran.status, 1, "{ran:?}");
        ran.err
    };
    assert!(refused(&daemon, &["--trial"]).contains("--trial takes a new state folder"));
    fs::remove_dir_all(scratch.path("state")).expect("removed");
    fs::create_dir(scratch.path("state")).expect("made");
    fs::write(scratch.path("state/trial"), "86400").expect("written");
    assert!(refused(&daemon, &[]).contains("belongs to a trial, whose calendar is ahead"));
}
