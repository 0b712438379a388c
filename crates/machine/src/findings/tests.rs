//! What a pane found over a year, and how much of it is kept.

use std::fs;

use api_types::RequestSum;
use stdx::prng::Prng;

use super::*;

const NOW: u64 = 1_800_000_000;

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("cistern-findings-{}-{name}", std::process::id()));
    drop(fs::remove_dir_all(&path));
    fs::create_dir_all(&path).expect("a folder");
    path
}

fn sum(operations: u64) -> RequestSum {
    RequestSum { operations, bytes: 4096 * operations, time: 1_000 * operations }
}

/// A second in which each of these keys came so often.
fn second(at: u64, keys: &[(&str, u64)]) -> Row {
    let part = |(name, operations): &(&str, u64)| Part {
        values: vec![(*name).to_owned()],
        begins: vec![None],
        sum: sum(*operations),
    };
    let total = keys.iter().map(|(_, operations)| operations).sum();
    Row {
        second: at,
        seconds: 1,
        total: sum(total),
        parts: keys.iter().map(part).collect(),
        latencies: vec![(3, total)],
    }
}

fn total(rows: &[Row]) -> u64 {
    rows.iter().map(|row| row.total.operations).sum()
}

#[test]
fn what_was_found_is_there_after_a_restart_as_fine_as_it_is_kept() {
    let folder = folder("steps");
    let path = folder.join("analytics.db");
    let all = ["a".to_owned(), "b".to_owned()];
    let (findings, opened) = Findings::open(&path).expect("it is new");
    assert_eq!(opened, Opened::New);
    // An hour, each minute of which has a request of one key a second, and of another one.
    for minute in 0..60 {
        let from = NOW + 60 * minute;
        let rows = (0..60).map(|at| second(from + at, &[("x", 1), ("y", 2)])).collect();
        findings.add(from + 60, &all, &[("a".to_owned(), rows)]).expect("it is added");
    }
    drop(findings);
    let (findings, opened) = Findings::open(&path).expect("it is there");
    assert_eq!(opened, Opened::AsItWas);
    let read = |from, to, now| findings.read("a", (from, to), now).expect("it is read");
    let end = NOW + 3_600;
    let minutes = read(NOW, end, end);
    assert_eq!((minutes.len(), total(&minutes)), (60, 3 * 3_600));
    let first = &minutes[0];
    assert_eq!((first.seconds, first.second % 60, first.parts[0].sum), (60, 0, sum(120)));
    assert_eq!(first.parts[0].values, ["y"]);
    assert_eq!(first.latencies, [(3, 180)]);
    // A month, and a year: hours and days of the same requests.
    for (span, seconds) in [(30 * DAY, 3_600), (365 * DAY, DAY)] {
        let rows = read(end - span, end, end);
        assert!(rows.iter().all(|row| row.seconds == seconds), "{span}");
        assert_eq!(total(&rows), 3 * 3_600, "{span}");
    }
    assert!(findings.read("b", (NOW, end), end).expect("it is read").is_empty());

    // Two days later minutes are gone, and hours are there; then hours; then days.
    for (later, left) in [(2 * DAY, 3_600), (40 * DAY, DAY), (400 * DAY, 0)] {
        findings.add(end + later, &all, &[]).expect("it is added");
        for (seconds, _) in STEPS {
            let sql = "SELECT count(*) FROM rows WHERE seconds = ?1";
            let count: i64 =
                findings.db().query_row(sql, [seconds as i64], |row| row.get(0)).expect("a number");
            assert_eq!(count > 0, left > 0 && seconds >= left, "{later} {seconds}");
        }
    }
    fs::remove_dir_all(folder).expect("it is ours");
}

#[test]
fn what_no_pane_keeps_any_more_is_gone_and_what_is_damaged_is_kept_beside() {
    let folder = folder("gone");
    let path = folder.join("analytics.db");
    let (findings, _) = Findings::open(&path).expect("it is new");
    let both = ["a".to_owned(), "b".to_owned()];
    let found = both.clone().map(|pane| (pane, vec![second(NOW, &[("x", 1)])]));
    findings.add(NOW + 60, &both, &found).expect("it is added");
    findings.add(NOW + 120, &both[1..], &[]).expect("it is added");
    let read = |pane| findings.read(pane, (NOW, NOW + 60), NOW + 60).expect("it is read").len();
    assert_eq!((read("a"), read("b")), (0, 1));
    drop(findings);
    fs::write(&path, [7; 9_000]).expect("it is written");
    let (findings, opened) = Findings::open(&path).expect("another one is begun");
    assert_eq!(opened, Opened::Damaged { kept: folder.join("analytics.db.damaged") });
    assert!(findings.read("b", (NOW, NOW + 60), NOW + 60).expect("it is read").is_empty());
    fs::remove_dir_all(folder).expect("it is ours");
}

/// Totals are exact, whatever keys come; a row has a bound.
#[test]
fn a_row_has_the_heaviest_of_any_keys_within_its_bound() {
    let mut prng = Prng::new(5);
    let mut row = Row { second: NOW, seconds: 60, ..Row::default() };
    let mut wanted = 0;
    for at in 0..400 {
        let long = "n".repeat(prng.below(400) as usize);
        let names: Vec<String> = (0..30).map(|_| format!("{}{long}", prng.below(200))).collect();
        let mut keys: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        keys.push(("heavy", 40));
        wanted += 70;
        row.absorb(&second(NOW + at, &keys));
        let text: usize = row.parts.iter().flat_map(|part| &part.values).map(String::len).sum();
        assert!(row.parts.len() <= KEYS && text <= TEXT, "{} {text}", row.parts.len());
    }
    assert_eq!((row.total, row.parts[0].sum), (sum(wanted), sum(400 * 40)));
    let told: u64 = row.parts.iter().map(|part| part.sum.operations).sum();
    assert!(told <= wanted);
}
