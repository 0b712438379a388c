//! Clients of older versions: what their command lines asked, recorded by `tests/clients/record`,
//! is asked again, and has to be answered as they know it.
//!
//! An answer may have more members than it had, and other values. What was there is there, of the
//! same kind, and statuses are the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::daemon::{Daemon, Scratch, say, text};

const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/clients");
/// Until a pool is in the state in which it was recorded.
const PATIENCE: Duration = Duration::from_secs(20);
/// Numbers from here on are drawn, not counted: whoever names one names that of today.
const DRAWN: u64 = 1 << 40;

/// A request of then, and its answer.
struct Row {
    verb: String,
    path: String,
    body: Value,
    status: u16,
    answer: Value,
}

impl Row {
    fn of(line: &str) -> Row {
        let mut row: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let text = |name: &str| row[name].as_str().expect("text").to_owned();
        let (verb, path) = (text("verb"), text("path"));
        let status = row["status"].as_u64().and_then(|status| u16::try_from(status).ok()).expect("a status");
        Row { verb, path, body: row["body"].take(), status, answer: row["answer"].take() }
    }
}

/// Today's numbers, by those of then.
type Numbers = BTreeMap<u64, u64>;

/// What of an answer of today is not as it was; learns numbers.
fn differs(then: &Value, now: &Value, at: &str, numbers: &mut Numbers) -> Option<String> {
    match (then, now) {
        (Value::Null, _) | (_, Value::Null) => None,
        (Value::Object(then), Value::Object(now)) => {
            then.iter().find_map(|(name, then)| match now.get(name) {
                Some(now) => differs(then, now, &format!("{at}.{name}"), numbers),
                None if then.is_null() => None,
                None => Some(format!("{at}.{name} is gone")),
            })
        }
        (Value::Array(then), Value::Array(now)) => {
            then.iter().zip(now).find_map(|(then, now)| differs(then, now, &format!("{at}[]"), numbers))
        }
        (Value::String(then), Value::String(now)) => {
            (at.ends_with(".state") && then != now).then(|| format!("{at} was {then:?}, and is {now:?}"))
        }
        (Value::Number(then), Value::Number(now)) => {
            if let (Some(then), Some(now)) = (then.as_u64(), now.as_u64())
                && then >= DRAWN
            {
                numbers.insert(then, now);
            }
            None
        }
        (Value::Bool(_), Value::Bool(_)) => None,
        _ => Some(format!("{at} was {then}, and is {now}")),
    }
}

/// Text of then, with today's numbers.
fn with_numbers(text: &str, numbers: &Numbers) -> String {
    numbers
        .iter()
        .fold(text.to_owned(), |text, (then, now)| text.replace(&then.to_string(), &now.to_string()))
}

/// Sends a request of then. A job that it begins is waited for.
fn again(daemon: &Daemon, row: &Row, disks: &str, numbers: &mut Numbers) -> Result<(), String> {
    let body = row.body.to_string().replace("DISKS", disks);
    let body = (!row.body.is_null()).then(|| with_numbers(&body, numbers));
    let path = with_numbers(&row.path, numbers);
    let (status, mut answer) = daemon.ask(&row.verb, &path, body.as_deref());
    while status == 202 && answer["state"] == "running" {
        answer = daemon.ask("GET", &format!("/v1/jobs/{}?wait_ms=5000", answer["id"]), None).1;
    }
    if status != row.status {
        return Err(format!("{} {path} was {}, and is {status}: {answer}", row.verb, row.status));
    }
    match differs(&row.answer, &answer, "answer", numbers) {
        Some(difference) => Err(format!("{} {path}: {difference}", row.verb)),
        None => Ok(()),
    }
}

#[test]
fn clients_of_older_versions_are_answered_as_they_know_it() {
    let all = fs::read_dir(RECORDS).expect("the records").map(|entry| entry.expect("an entry").path());
    let records: Vec<_> = all.filter(|path| path.extension().is_some_and(|it| it == "jsonl")).collect();
    assert!(records.len() >= 2, "two versions at least: {records:?}");
    for record in records {
        replay(&record);
    }
}

fn replay(record: &Path) {
    let version = text(record.file_stem().expect("a name").as_ref());
    let scratch = Scratch::new(&format!("clients-{version}"));
    for name in ["a", "b", "c", "d", "e", "f"] {
        scratch.image(name, 128);
    }
    let disks = text(&scratch.path("disks"));
    let mut daemon = Daemon::start_with(&scratch, "state", &["--search", &disks]);
    let mut numbers = Numbers::new();
    let rows = fs::read_to_string(record).expect("a record");
    let rows: Vec<Row> = rows.lines().map(Row::of).collect();
    for (number, row) in rows.iter().enumerate() {
        let began = Instant::now();
        loop {
            match again(&daemon, row, &disks, &mut numbers) {
                Ok(()) => break,
                // What a pool does by itself may take longer today.
                Err(_) if row.verb == "GET" && began.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                Err(why) => panic!("{version}, line {}: {why}", number + 1),
            }
        }
    }
    say(&format!("{version}: {} requests", rows.len()));
    assert!(rows.len() > 100, "{version}: too few to say much");
    daemon.stop();
}

#[test]
fn what_an_old_client_misses_is_seen() {
    let then = serde_json::json!({"a": 1, "list": [{"b": "x"}], "guid": 9_000_000_000_000_u64});
    let mut numbers = Numbers::new();
    let mut told = |now: &Value| differs(&then, now, "answer", &mut numbers);
    let now =
        serde_json::json!({"a": 2, "list": [{"b": "y", "new": 1}], "guid": 8_000_000_000_000_u64, "c": 1});
    assert_eq!(told(&now), None);
    assert_eq!(
        told(&serde_json::json!({"a": 1, "list": [{}], "guid": 1})),
        Some("answer.list[].b is gone".into())
    );
    assert!(told(&serde_json::json!({"a": "1", "list": [], "guid": 1})).is_some());
    assert_eq!(with_numbers("x 9000000000000", &numbers), "x 1");
}
