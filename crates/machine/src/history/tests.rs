use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::*;

/// A folder that goes with its value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("cistern-history-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("history")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn some(pairs: &[(&str, f64)]) -> Vec<(String, f64)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

const DAY: u64 = 86_400;
const BEGIN: u64 = 1_800_000_000;

#[test]
fn a_year_stays_within_its_bytes_and_can_be_read_in_every_resolution() {
    let folder = Folder::new();
    let (mut history, opened) = History::open(&folder.file()).expect("made");
    assert_eq!(opened, Opened::New);
    let end = BEGIN + 365 * DAY;
    // A value that says when it was noted: the days since the beginning.
    let value = |time: u64| (time - BEGIN) as f64 / DAY as f64;
    let mut time = BEGIN;
    while time <= end {
        history.note(time, &some(&[("a", value(time)), ("b", 7.0)])).expect("noted");
        // Every minute in the middle of the year, for the test is to end.
        time += if time > end - 2 * DAY { EVERY } else { 60 };
    }
    let taken = fs::metadata(folder.file()).expect("there");
    assert_eq!(taken.len(), FILE_BYTES);
    assert!(taken.blocks() * 512 <= FILE_BYTES + (64 << 10), "{} blocks", taken.blocks());
    let read = |from, to, points| history.read(&["a", "b"], (from, to), (end, points)).expect("read");
    for (from, to, step) in
        [(end - 3600, end - 10, 10), (end - 3 * DAY, end - 60, 60), (end - 300 * DAY, end - 3600, 3600)]
    {
        let part = read(from, to, 10_000);
        assert_eq!((part.step, part.first), (step, from));
        let count = ((to - from) / step + 1) as usize;
        assert_eq!((part.values[0].len(), part.values[1].len()), (count, count));
        for (number, found) in part.values[0].iter().enumerate() {
            let middle = value(from + number as u64 * step) + step as f64 / 2.0 / DAY as f64;
            let found = found.unwrap_or_else(|| panic!("none at {number}"));
            assert!((found - middle).abs() < 2.0 * step as f64 / DAY as f64, "{found}, not {middle}");
        }
        assert!(part.values[1].iter().all(|found| *found == Some(7.0)));
    }
    // Fewer values are of a coarser ring; of the coarsest, the newest.
    assert_eq!(read(end - 3600, end, 100).step, 60);
    let few = read(BEGIN, end - 3600, 10);
    assert_eq!((few.step, few.first, few.values[0].len()), (3600, end - 10 * 3600, 10));
    // What was noted more than a day ago is not there any more in the finest ring.
    assert_eq!(history.row(RINGS[0], end - 2 * DAY).expect("read"), None);
}

#[test]
fn what_is_damaged_costs_itself() {
    let folder = Folder::new();
    let (mut history, _) = History::open(&folder.file()).expect("made");
    for n in 0..10 {
        history.note(BEGIN + n * EVERY, &some(&[("a", n as f64)])).expect("noted");
    }
    drop(history);
    let (mut history, opened) = History::open(&folder.file()).expect("opened");
    assert_eq!((opened, history.names().collect::<Vec<_>>()), (Opened::AsItWas, vec!["a"]));
    // A row that was half written.
    history.file.write_all_at(&[1; 20], History::place(RINGS[0], BEGIN + 3 * EVERY) + 20).expect("spoilt");
    let part = history.read(&["a"], (BEGIN, BEGIN + 90), (BEGIN + 100, 100)).expect("read");
    let there: Vec<usize> = (0..10).filter(|n| part.values[0][*n].is_some()).collect();
    assert_eq!(there, [0, 1, 2, 4, 5, 6, 7, 8, 9]);
    // Clocks may go back, and far ahead.
    history.note(BEGIN - 5 * DAY, &some(&[("a", 1.0)])).expect("noted");
    history.note(u64::from(u32::MAX), &some(&[("a", 1.0)])).expect("noted");
    history.note(BEGIN + 100, &some(&[("a", 2.0)])).expect("noted");
    drop(history);
    // A head that is no head, and a file that was cut off.
    for spoil in [|file: &File| file.write_all_at(b"x", 100), |file: &File| file.set_len(FILE_BYTES / 2)] {
        let file = OpenOptions::new().write(true).open(folder.file()).expect("opened");
        spoil(&file).expect("spoilt");
        let (mut history, opened) = History::open(&folder.file()).expect("opened");
        let kept = folder.file().with_extension("damaged");
        assert_eq!((opened, history.names().count()), (Opened::Damaged { kept: kept.clone() }, 0));
        assert!(kept.exists());
        history.note(BEGIN, &some(&[("b", 1.0)])).expect("noted");
    }
}

#[test]
fn series_beyond_the_bound_are_left_out() {
    let folder = Folder::new();
    let (mut history, _) = History::open(&folder.file()).expect("made");
    let many: Vec<(String, f64)> = (0..100).map(|n| (format!("s{n}"), f64::from(n))).collect();
    let long = ("x".repeat(NAME_BYTES + 1), 1.0);
    history.note(BEGIN, &[&[long], &many[..]].concat()).expect("noted");
    history.note(BEGIN + EVERY, &many).expect("noted");
    assert_eq!(history.names().count(), SERIES);
    let part = history.read(&["s0", "s63", "s64"], (BEGIN, BEGIN + EVERY), (BEGIN + 20, 100)).expect("read");
    assert_eq!(part.values, [[Some(0.0); 2], [Some(63.0); 2], [None; 2]]);
}

#[test]
fn a_time_that_cannot_be_has_nothing() {
    let folder = Folder::new();
    let (mut history, _) = History::open(&folder.file()).expect("made");
    history.note(BEGIN, &some(&[("a", 3.0)])).expect("noted");
    for asked in [(u64::MAX, u64::MAX), (BEGIN + DAY, u64::MAX), (0, u64::MAX), (0, 0)] {
        for now in [0, BEGIN, u64::MAX] {
            let part = history.read(&["a"], asked, (now, 100)).expect("read");
            assert!(part.values[0].len() <= 100 && part.values[0].iter().all(Option::is_none), "{asked:?}");
        }
    }
}

#[test]
fn an_hour_in_which_the_program_was_not_there_has_what_was_noted() {
    let folder = Folder::new();
    let (mut history, _) = History::open(&folder.file()).expect("made");
    let begin = BEGIN / 3600 * 3600;
    for n in 0..30 {
        history.note(begin + n * EVERY, &some(&[("a", 3.0)])).expect("noted");
    }
    drop(history);
    // It is killed, and is back two hours later.
    let (mut history, _) = History::open(&folder.file()).expect("opened");
    let back = begin + 2 * 3600 + 1;
    history.note(back, &some(&[("a", 5.0)])).expect("noted");
    let part = history.read(&["a"], (begin, back), (begin + 800 * DAY, 100)).expect("read");
    assert_eq!((part.step, part.first), (3600, begin));
    assert_eq!(part.values, [[Some(3.0), None, None]]);
}
