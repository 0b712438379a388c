use api_types::{AlertCheckName as Check, AlertKind, ClearCause};

use super::*;
use crate::Moment;
use crate::book::{Book, Finding};
use crate::outbox::Note;

const NOW: i64 = 1_795_855_205;

fn notes(count: usize) -> Vec<Note> {
    let mut book = Book::new(Vec::new(), 1);
    let finding = |n| {
        let severity = Severity::ALL[n % 3];
        Finding::new(severity, AlertKind::PoolFull { pool: format!("pool{n}"), percent: 90 })
    };
    let findings: Vec<Finding> = (0..count).map(finding).collect();
    let now = |steady| Moment { wall: NOW, steady };
    let mut turns = book.observe(Check::Pools, &findings, &|_| None, now(0));
    let over = |_: &AlertKind| Some(ClearCause::WithinLimits);
    book.observe(Check::Pools, &findings[1..], &over, now(1));
    turns.extend(book.observe(Check::Pools, &findings[1..], &over, now(200)));
    turns.into_iter().map(|turn| Note { row: None, turn }).collect()
}

#[test]
fn a_message_says_what_since_when_and_what_to_do_and_has_the_same_id_each_time() {
    let notes = notes(1);
    let batch = |note: &Note| Batch { notes: vec![note.clone()], lost: 0, round: 1 };
    let raised = Message::of(&batch(&notes[0]), "nas", NOW);
    assert_eq!(raised.title, "pool pool0 is 90 % full");
    assert!(raised.text.contains("What to do: ") && raised.text.contains("Since: 2026-11-28 08:40 UTC"));
    assert_eq!(raised.id, format!("alert-1-{NOW}-raised-warning"));
    assert_eq!(Message::of(&batch(&notes[0]), "nas", NOW + 99).id, raised.id);
    let over = Message::of(&batch(&notes[1]), "nas", NOW);
    assert_eq!(over.title, "over: pool pool0 is 90 % full");
    assert!(over.text.contains("Over since ") && over.text.contains("within its limits again"));
    assert_ne!(over.id, raised.id);
}

#[test]
fn a_thousand_are_one_message_with_the_worst_first_and_the_rest_counted() {
    let notes = notes(1_000);
    let message = Message::of(&Batch { notes, lost: 7, round: 1 }, "nas", NOW);
    assert_eq!(message.severity, Severity::Critical);
    assert_eq!(message.title, "1000 alerts, 0 worse, 1 over");
    let lines: Vec<&str> = message.text.lines().collect();
    assert!(lines[2].contains("  critical  ") && lines.len() < 60, "{}", message.text);
    assert!(message.text.contains("… and 951 more."), "{}", message.text);
    assert!(message.text.contains("7 more are not in this message"));
    assert!(message.text.len() < 8_192);
}
