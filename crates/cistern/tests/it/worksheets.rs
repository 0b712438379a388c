//! Worksheets: what one operator keeps the others open, collisions are shown, and all of it
//! outlives the daemon.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use load::{Blocks, Crowd, Share, Work};
use serde_json::{Value, json};

use crate::alerts::{Sink, alert, notify};
use crate::daemon::{Daemon, Scratch};
use crate::https::Site;
use crate::metrics::served;
use crate::suspended::until;

const ALL: &str = "/v1/analytics/worksheets";
/// What an administrator may well type: it is text everywhere.
const NAME: &str = "<b>slow</b> \"writes\" / \u{202e}50%";

fn path(name: &str, what: &str) -> String {
    let escaped: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
    format!("{ALL}/{escaped}{what}")
}

#[test]
fn what_one_operator_keeps_others_open_change_and_remove() {
    let scratch = Scratch::new("worksheets");
    let mut site = Site::start(&scratch);
    site.pool(&scratch);
    let bob = site.user("bob", "operator", None);
    let eve = site.user("eve", "read-only", None);
    let ada = site.bearer();
    let panes = json!([
        {"by": ["client", "operation"], "filter": {"protocol": "nfs"}},
        {"statistic": "latencies", "by": ["file"], "filter": {"dataset": "tank/a", "slower_us": 10000}},
    ]);
    let new = json!({"name": NAME, "panes": panes});
    let kept = site.post(ALL, &[&bob], &new).is(200).json();
    assert_eq!(
        (&kept["name"], &kept["by"], &kept["panes"][1]["by"]),
        (&json!(NAME), &json!("bob"), &json!(["file"]))
    );
    assert_eq!(site.post(ALL, &[&bob], &new).is(409).problem(), "/problems/exists");
    // Who may not ask who does what sees none of it.
    for what in ["", "/change", "/remove", "/open"] {
        let path = path(NAME, what);
        let status =
            if what.is_empty() { site.get(&path, &[&eve]) } else { site.post(&path, &[&eve], &json!({})) };
        status.is(403);
    }
    site.get(ALL, &[&eve]).is(403);
    for wrong in [
        json!({"name": "x", "panes": []}),
        json!({"name": "x", "panes": [{"by": []}]}),
        json!({"name": "x", "panes": [{"by": ["file", "file"]}]}),
        json!({"name": "x", "panes": [{"by": ["file"], "colour": "red"}]}),
    ] {
        site.post(ALL, &[&bob], &wrong).is(400);
    }
    site.post(ALL, &[&bob], &json!({"name": "..", "panes": panes})).is(422);

    // Two who have read the same do not overwrite each other's changes unseen.
    let read = site.get(&path(NAME, ""), &[&ada]).is(200);
    let known = format!("If-Match: {}", read.header("etag").expect("a tag"));
    let fewer = json!({"panes": [panes[0]]});
    let changed = site.post(&path(NAME, "/change"), &[&ada, &known], &fewer).is(200).json();
    assert_eq!((changed["by"].as_str(), changed["panes"].as_array().map(Vec::len)), (Some("ada"), Some(1)));
    site.post(&path(NAME, "/change"), &[&bob, &known], &json!({"panes": panes})).is(412);
    site.post(&path(NAME, "/change"), &[&bob], &json!({"panes": panes})).is(200);

    // It is there after a kill. Who opens it first has its drill-downs begin; the next sees them.
    site.restart(true);
    let open = |who: &String, seconds: u64| {
        let told = site.post(&path(NAME, "/open"), &[who], &json!({"seconds": seconds})).is(200).json();
        let ids: Vec<u64> =
            told.as_array().expect("a list").iter().filter_map(|one| one["id"].as_u64()).collect();
        (ids, told[0]["left"].as_u64().unwrap_or_default())
    };
    let (first, left) = open(&bob, 60);
    let (second, longer) = open(&ada, 600);
    assert_eq!((first.len(), &first), (2, &second));
    assert!(left <= 60 && longer > 590, "{left} {longer}");
    assert_eq!(site.get("/v1/analytics", &[&ada]).is(200).json().as_array().map(Vec::len), Some(2));
    let gone = json!({"name": "gone", "panes": [{"by": ["file"], "filter": {"dataset": "tank/none"}}]});
    site.post(ALL, &[&bob], &gone).is(200);
    site.post(&path("gone", "/open"), &[&bob], &json!({})).is(404);

    // By the command line: of drill-downs that run.
    let cli = |words: &[&str]| site.daemon.run(&[&["analytics", "worksheet"], words].concat());
    assert_eq!(cli(&["save", "mine", "1", "2", "-x", "bytes"]).status, 0);
    assert_eq!(cli(&["save", "mine", "1"]).status, 1, "there is one already");
    assert_eq!(cli(&["save", "mine", "1", "-F"]).status, 0);
    assert_eq!(cli(&["save", "mine", "99"]).status, 1);
    let shown = cli(&["list", "-H"]).done();
    assert!(shown.lines().any(|line| line.starts_with("mine\t1\t")), "{shown}");
    assert_eq!(cli(&["show", "mine", "-H"]).done(), "1\toperations\tclient,operation\tprotocol=nfs\t-\t-\n");
    let of_one = ["alert", "mine", "1", "bytes", "64M", "-v", "192.0.2.7", "-v", "WRITE", "-t", "30s"];
    cli(&of_one).done();
    assert!(cli(&["show", "mine", "-H"]).done().ends_with("\tbytes>67108864 30s 192.0.2.7 WRITE\n"));
    cli(&["alert", "mine", "1", "p99", "20ms"]).done();
    assert!(cli(&["show", "mine", "-H"]).done().ends_with("\tp99>20000 60s\n"));
    for (wrong, why) in [
        (&["alert", "mine", "2", "p99", "20ms"][..], "there is no pane 2: 'mine' has 1"),
        (&["alert", "mine", "1", "bytes", "1", "-v", "192.0.2.7"], "the pane is by 2"),
        (&["alert", "mine", "1", "p99", "20ms", "-v", "a", "-v", "b"], "latencies are of a whole pane"),
        (&["alert", "mine", "1", "operations", "1", "-t", "9s"], "an alert looks at 10 to 3600 seconds"),
        (&["alert", "none", "1", "operations", "1"], "there is none of this name"),
    ] {
        let ran = cli(wrong);
        assert!(ran.status == 1 && ran.err.contains(why), "{wrong:?}: {}", ran.err);
    }
    assert_eq!(cli(&["alert", "mine", "1", "p99", "20"]).status, 2);
    assert!(cli(&["show", "mine", "-H"]).done().ends_with("\tp99>20000 60s\n"));
    cli(&["alert", "mine", "1", "off"]).done();
    assert!(cli(&["show", "mine", "-H"]).done().ends_with("\t-\n"));
    let ran = cli(&["run", "mine", "-t", "1s"]).done();
    assert!(ran.starts_with("protocol=nfs\n") && ran.contains("(all)"), "{ran}");
    assert_eq!(cli(&["delete", "mine"]).status, 0);
    site.post(&path(NAME, "/remove"), &[&bob], &json!({})).is(200);
    assert_eq!(site.get(ALL, &[&ada]).is(200).json().as_array().map(Vec::len), Some(1));
    site.daemon.stop();
}

/// Says when it is dropped that somebody is to stop, after a failure too.
struct Told<'a>(&'a AtomicBool);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// The alert of the pane that is open.
fn open(daemon: &Daemon) -> Option<Value> {
    let all = alert(daemon, &["list"]);
    let of_pane = |one: &&Value| one["what"]["pane-above"].is_object();
    all.as_array().expect("a list").iter().find(of_pane).map(|one| one["what"]["pane-above"].clone())
}

#[test]
fn an_alert_of_a_pane_is_told_once_and_over_with_its_cause() {
    let scratch = Scratch::new("pane-alert");
    let sink = Sink::start(&scratch, "http", "posts", &[]);
    let mut daemon = Daemon::start_with(&scratch, "state", &["--checks-every", "1s"]);
    let share = served(&daemon, &scratch, 256);
    notify(&daemon, &format!("add posts webhook --url http://127.0.0.1:{}/", sink.port));
    let pane = |above: u64, values: Value| {
        let alert = json!({"measure": "operations", "above": above, "seconds": 10, "values": values});
        json!({"by": ["operation"], "filter": {"dataset": "tank/a"}, "alert": alert})
    };
    // What is of other operations counts for nothing, nor do as many as it allows.
    let new = json!({"name": "busy", "panes": [pane(5, json!(["WRITE"])), pane(1_000_000, json!(null)), pane(5, json!(["RMDIR"]))]});
    assert_eq!(daemon.ask("POST", ALL, Some(&new.to_string())).0, 200);
    for wrong in [
        json!({"measure": "operations", "above": 1, "seconds": 9}),
        json!({"measure": "p99", "above": 1, "seconds": 60, "values": ["WRITE"]}),
        json!({"measure": "bytes", "above": 1, "seconds": 60, "values": ["a", "b"]}),
    ] {
        let wrong = json!({"name": "wrong", "panes": [{"by": ["operation"], "alert": wrong}]});
        assert_eq!(daemon.ask("POST", ALL, Some(&wrong.to_string())).0, 400, "{wrong}");
    }

    // It runs though nobody has opened it, is shown as that, and is ended by nobody.
    let running = || daemon.ask("GET", "/v1/analytics", None).1[0].clone();
    until("the drill-down runs", || running()["watched"] == true);
    let id = running()["id"].as_u64().expect("a number");
    assert_eq!(
        daemon.ask("GET", "/v1/analytics", None).1.as_array().map(Vec::len),
        Some(1),
        "one for all panes"
    );
    for what in ["end", "remove"] {
        assert_eq!(daemon.ask("POST", &format!("/v1/analytics/{id}/{what}"), None).0, 409, "{what}");
    }
    assert!(daemon.run(&["analytics", "list"]).done().contains("on for a worksheet"));

    let blocks = Blocks { block: 4096, size: 1 << 20, is_random: true };
    let write = Work::Write { blocks, is_sync: false };
    // Somebody writes until it is told, however long a busy machine takes to look.
    let is_told = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _told = Told(&is_told);
        scope.spawn(|| {
            while !is_told.load(Relaxed) {
                share.run(write, &Crowd::new(2, Duration::from_secs(2))).expect("written");
            }
        });
        until("the alert is raised", || open(&daemon).is_some());
    });
    let told = open(&daemon).expect("it is open");
    assert_eq!(
        (&told["worksheet"], &told["pane"], &told["values"]),
        (&json!("busy"), &json!(1), &json!(["WRITE"]))
    );
    assert!(told["value"].as_u64().is_some_and(|value| value > 5), "{told}");
    until("it is over by itself", || open(&daemon).is_none());
    until("both turns are told", || sink.all().len() >= 2);
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(sink.all().len(), 2, "{:#?}", sink.all());

    // Without an alert it ends by itself as any other, and who looks after alerts says so.
    let fewer = json!({"panes": [{"by": ["operation"], "filter": {"dataset": "tank/a"}}]});
    assert_eq!(daemon.ask("POST", &format!("{ALL}/busy/change"), Some(&fewer.to_string())).0, 200);
    let check = || {
        let all = alert(&daemon, &["checks"]);
        let found =
            all.as_array().expect("a list").iter().find(|check| check["name"] == "analytics").cloned();
        found.unwrap_or_default()
    };
    until("nothing is left to look at", || check()["state"] == "off");
    assert!(running()["left"].as_u64().is_some_and(|left| left <= 120), "{}", running());
    daemon.stop();
}

#[test]
fn what_a_kept_pane_finds_is_there_after_a_kill_until_nobody_keeps_it() {
    let scratch = Scratch::new("pane-kept");
    let mut daemon = Daemon::start(&scratch);
    let share = served(&daemon, &scratch, 256);
    let pane = |kept: bool| {
        let filter = json!({"dataset": "tank/a", "protocol": "nfs"});
        json!({"by": ["file", "operation"], "filter": filter, "kept": kept})
    };
    let both = json!({"name": "writers", "panes": [{"by": ["client"]}, pane(true)]});
    assert_eq!(daemon.ask("POST", ALL, Some(&both.to_string())).0, 200);
    let many = json!({"name": "many", "panes": vec![pane(true); 8]});
    assert_eq!(daemon.ask("POST", ALL, Some(&many.to_string())).0, 409, "eight are kept at the most");
    let history =
        |daemon: &Daemon, what: &str| daemon.ask("GET", &format!("{ALL}/writers/history{what}"), None);
    for (what, status) in
        [("", 422), ("?pane=0", 404), ("?pane=3", 404), ("?pane=2&from=9&to=8", 422), ("?pane=x", 400)]
    {
        assert_eq!(history(&daemon, what).0, status, "{what}");
    }
    let (status, none) = history(&daemon, "?pane=2");
    assert_eq!(
        (status, &none["total"]["operations"], none["drill_down"]["watched"] == true),
        (200, &json!(0), true)
    );

    let blocks = Blocks { block: 4096, size: 1 << 20, is_random: true };
    let write = Work::Write { blocks, is_sync: false };
    let crowd = Crowd::new(2, Duration::from_secs(3));
    share.run(write, &crowd).expect("written");
    let writes = |daemon: &Daemon| {
        let (status, found) = history(daemon, "?pane=2");
        assert_eq!(status, 200, "{found}");
        let keys = found["keys"].as_array().cloned().unwrap_or_default();
        let of = |key: &Value| {
            key["values"][1] == "WRITE"
                && key["values"][0].as_str().is_some_and(|it| it.starts_with("tank/a:/"))
        };
        let sums = keys.iter().filter(|key| of(key)).filter_map(|key| key["sum"]["operations"].as_u64());
        (sums.sum::<u64>(), found)
    };
    // All that the drill-down has is there, once: asked for again and again.
    let found_now = |daemon: &Daemon| {
        let (_, found) = writes(daemon);
        let path = format!("/v1/analytics/{}", found["drill_down"]["id"]);
        daemon.ask("GET", &path, None).1["total"].clone()
    };
    until("all of it is there", || writes(&daemon).1["total"] == found_now(&daemon) && writes(&daemon).0 > 0);
    let (before, found) = writes(&daemon);
    assert!(found["rows"][0]["seconds"] == 60 && found["rows"][0]["latencies"][0].is_array(), "{found}");

    // A kill takes away what the drill-down had, and nothing of that.
    daemon.kill();
    let mut daemon = Daemon::start(&scratch);
    let (after, found) = writes(&daemon);
    assert_eq!((after, &found["keys"][0]["filter"]), (before, &Value::Null));
    let server = format!("{}:{}", daemon.host, daemon.port).parse().expect("an address");
    Share::new(server, "/srv/a").run(write, &crowd).expect("written");
    until("what comes then is added", || writes(&daemon).0 > before);
    let month = history(&daemon, "?pane=2&from=0").1;
    assert_eq!(month["rows"][0]["seconds"], 86_400);
    let shown = daemon.run(&["analytics", "worksheet", "history", "writers", "2", "-t", "1d"]).done();
    assert!(shown.contains("WRITE") && shown.contains("(all)"), "{shown}");
    assert_ne!(daemon.run(&["analytics", "worksheet", "history", "writers", "1"]).status, 0);

    // What it has found stays when what it looks at is gone, and cannot be looked at any more.
    let (before, _) = writes(&daemon);
    daemon.zfs("destroy tank/a").done();
    daemon.kill();
    let mut daemon = Daemon::start(&scratch);
    let (after, found) = writes(&daemon);
    assert_eq!((after, &found["drill_down"]["id"]), (before, &json!(0)));

    // Once nobody keeps it, it is gone.
    let change = |daemon: &Daemon, panes: Value| {
        let change = json!({"panes": panes});
        assert_eq!(daemon.ask("POST", &format!("{ALL}/writers/change"), Some(&change.to_string())).0, 200);
    };
    let other = json!({"by": ["user"], "kept": true});
    change(&daemon, json!([other, pane(false)]));
    assert_eq!(history(&daemon, "").0, 200);
    daemon.kill();
    let mut daemon = Daemon::start(&scratch);
    change(&daemon, json!([other, pane(true)]));
    assert_eq!(writes(&daemon).0, 0);
    daemon.stop();
}
