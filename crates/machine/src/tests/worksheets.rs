//! Worksheets, kept and found again.

use api_types::{Dimension, PaneAlert, PaneMeasure, PaneStatistic, RequestFilter, Worksheet, WorksheetPane};

use super::*;

fn pane(by: Dimension) -> WorksheetPane {
    let filter = RequestFilter { client: Some("192.0.2.1".into()), ..RequestFilter::default() };
    WorksheetPane {
        statistic: PaneStatistic::Latencies,
        by: vec![by, Dimension::Served],
        filter,
        alert: None,
        kept: false,
    }
}

fn worksheet(name: &str, panes: Vec<WorksheetPane>) -> Worksheet {
    Worksheet { name: name.into(), panes, changed: START as u64, by: "ada".into() }
}

#[test]
fn they_are_kept_as_they_were_under_any_name_that_is_text() {
    let (machine, world, folder) = machine();
    let before = machine.contents().expect("read");
    let names = ["slow \"writes\"", "<b>&amp;</b>", "a/b", "..a", "\u{202e}trap\u{200b}", "\u{4e2d}"];
    for name in names {
        machine.add_worksheet(&worksheet(name, vec![pane(Dimension::File)])).expect(name);
    }
    assert_ne!(machine.contents().expect("read").digest, before.digest, "backups have them");
    for bad in ["", "  ", ".", "..", "a\nb", "\u{7f}", &"x".repeat(65)] {
        let added = machine.add_worksheet(&worksheet(bad, vec![pane(Dimension::File)]));
        assert!(matches!(refusal(added), Denied::BadName(_)), "{bad:?}");
    }
    let changed = Worksheet {
        changed: START as u64 + 7,
        by: "bob".into(),
        ..worksheet("a/b", vec![pane(Dimension::Client), pane(Dimension::Size)])
    };
    machine.change_worksheet(&changed).expect("changed");
    drop(machine);
    let (machine, _) = open(&folder, &world);
    assert_eq!(machine.worksheet("a/b"), Ok(changed));
    assert_eq!(machine.worksheets().expect("read").len(), names.len());
    machine.remove_worksheet("a/b").expect("removed");
    assert_eq!(machine.worksheet("a/b"), Err(Denied::NotFound));
}

#[test]
fn they_are_bounded_in_number_panes_and_bytes() {
    let (machine, ..) = machine();
    for number in 0..64 {
        machine.add_worksheet(&worksheet(&number.to_string(), vec![pane(Dimension::User)])).expect("added");
    }
    let more = |name: &str| worksheet(name, vec![pane(Dimension::User)]);
    assert_eq!(refusal(machine.add_worksheet(&more("more"))), Denied::TooMany(Limit::Worksheets));
    assert_eq!(refusal(machine.add_worksheet(&more("7"))), Denied::Exists);
    assert_eq!(refusal(machine.change_worksheet(&more("more"))), Denied::NotFound);
    assert_eq!(refusal(machine.remove_worksheet("more")), Denied::NotFound);
    let many = worksheet("7", vec![pane(Dimension::User); 9]);
    assert_eq!(refusal(machine.change_worksheet(&many)), Denied::TooMany(Limit::Panes));
    let filter = RequestFilter { file: Some("/x".repeat(10_000)), ..RequestFilter::default() };
    let long = worksheet("7", vec![WorksheetPane { filter, ..pane(Dimension::User) }]);
    assert_eq!(refusal(machine.change_worksheet(&long)), Denied::TooMany(Limit::Panes));
    assert_eq!(machine.worksheet("7"), Ok(more("7")), "what was refused has changed nothing");
}

#[test]
fn alerts_are_bounded_over_all_worksheets() {
    let (machine, ..) = machine();
    let alert = PaneAlert { measure: PaneMeasure::P99, above: 10_000, seconds: 30, values: None };
    let watched = WorksheetPane { alert: Some(alert), ..pane(Dimension::Client) };
    machine.add_worksheet(&worksheet("a", vec![watched.clone(); 5])).expect("added");
    let more = |count| worksheet("b", vec![watched.clone(); count]);
    assert_eq!(refusal(machine.add_worksheet(&more(4))), Denied::TooMany(Limit::PanesWatched));
    machine.add_worksheet(&more(3)).expect("added");
    machine.change_worksheet(&more(3)).expect("its own do not count twice");
    assert_eq!(refusal(machine.change_worksheet(&more(4))), Denied::TooMany(Limit::PanesWatched));
    machine.add_worksheet(&worksheet("c", vec![pane(Dimension::User)])).expect("one without an alert");
}
