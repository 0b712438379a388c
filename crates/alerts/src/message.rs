//! What is told of a batch: one message, whatever its route makes of it.
//!
//! A message has an id that is the same each time it is sent: a daemon that is killed between the
//! answer of the other end and its own note of it sends it again, and who receives both can drop
//! one.

use api_types::{Alert, AlertTurn, Severity};

use crate::book::Turn;
use crate::outbox::Batch;
use crate::text::utc;

/// Alerts that a digest names; how many more there are is told.
const NAMED: usize = 50;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Letters, digits, `.` and `-`.
    pub id: String,
    pub host: String,
    pub severity: Severity,
    /// What the message is about: an alert and its turn; `None`: several, or a test.
    pub about: Option<Turn>,
    /// When it was made, in seconds since 1970.
    pub at: i64,
    /// One line.
    pub title: String,
    /// Lines.
    pub text: String,
    /// Of the weekly report: what mail has in place of `text`.
    pub pages: Option<Pages>,
}

/// What is told in full, as text and as HTML; either says all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pages {
    pub text: String,
    /// Pictures are named in it by `cid:` and their name.
    pub html: String,
    pub pictures: Vec<Inline>,
}

/// A picture of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inline {
    /// Letters and digits.
    pub name: String,
    pub png: Vec<u8>,
}

impl Message {
    /// Of a batch, which has a note or more.
    pub fn of(batch: &Batch, host: &str, at: i64) -> Message {
        match batch.notes.as_slice() {
            [note] if batch.lost == 0 => Message::single(&note.turn, host, at),
            _ => Message::digest(batch, host, at),
        }
    }

    /// What 'send a test' sends.
    pub fn test(route: &str, host: &str, at: i64) -> Message {
        Message {
            id: format!("test-{at}"),
            host: host.to_owned(),
            severity: Severity::Warning,
            about: None,
            at,
            title: format!("test of route {route}"),
            text: format!(
                "Somebody asked for a test of route {route}. Nothing is wrong. Alerts of {host} come by this way.\n"
            ),
            pages: None,
        }
    }

    fn single(turn: &Turn, host: &str, at: i64) -> Message {
        let alert = &turn.alert;
        let (id, since) = (alert.id, alert.since);
        Message {
            id: format!("alert-{id}-{since}-{}-{}", turn.turn.word(), alert.severity.word()),
            host: host.to_owned(),
            severity: alert.severity,
            about: Some(turn.clone()),
            at,
            title: title(turn),
            text: body(turn),
            pages: None,
        }
    }

    fn digest(batch: &Batch, host: &str, at: i64) -> Message {
        let count = |turn: AlertTurn| batch.notes.iter().filter(|note| note.turn.turn == turn).count();
        let (raised, worse, over) =
            (count(AlertTurn::Raised), count(AlertTurn::Worsened), count(AlertTurn::Cleared));
        let mut turns: Vec<&Turn> = batch.notes.iter().map(|note| &note.turn).collect();
        // The worst first; of the same, as they came.
        turns.sort_by_key(|turn| (turn.turn == AlertTurn::Cleared, std::cmp::Reverse(turn.alert.severity)));
        let still = turns.iter().filter(|turn| turn.turn != AlertTurn::Cleared);
        let severity = still.map(|turn| turn.alert.severity).max().unwrap_or_default();
        let mut text = format!("{raised} alerts were raised, {worse} got worse, {over} are over.\n\n");
        for turn in turns.iter().take(NAMED) {
            text.push_str(&format!(
                "{}  {}  {}\n",
                utc(moment(turn)),
                turn.alert.severity.word(),
                title(turn)
            ));
        }
        let more = turns.len().saturating_sub(NAMED);
        if more > 0 {
            text.push_str(&format!("… and {more} more.\n"));
        }
        if batch.lost > 0 {
            text.push_str(&format!("{} more are not in this message: too many waited.\n", batch.lost));
        }
        text.push_str("\nAll of them: cistern alert list\n");
        let (first, last) = (batch.notes.first(), batch.notes.last());
        let id = |note: Option<&crate::outbox::Note>| note.map_or(0, |note| note.turn.alert.id);
        Message {
            id: format!("digest-{}-{}-{}", id(first), id(last), first.map_or(0, |note| moment(&note.turn))),
            host: host.to_owned(),
            severity,
            about: None,
            at,
            title: format!("{raised} alerts, {worse} worse, {over} over"),
            text,
            pages: None,
        }
    }
}

/// When it happened.
pub fn moment(turn: &Turn) -> i64 {
    match (&turn.turn, &turn.alert.cleared) {
        (AlertTurn::Cleared, Some(cleared)) => cleared.at,
        (AlertTurn::Raised, _) => turn.alert.since,
        _ => turn.alert.last_seen,
    }
}

fn title(turn: &Turn) -> String {
    let Alert { title, .. } = &turn.alert;
    match turn.turn {
        AlertTurn::Raised => title.clone(),
        AlertTurn::Worsened => format!("worse: {title}"),
        AlertTurn::Cleared => format!("over: {title}"),
    }
}

fn body(turn: &Turn) -> String {
    let alert = &turn.alert;
    let mut text = format!("{}\n", alert.text);
    match &alert.cleared {
        Some(cleared) => text.push_str(&format!("\nOver since {}: {}.\n", utc(cleared.at), cleared.why)),
        None => text.push_str(&format!("\nWhat to do: {}\n", alert.advice)),
    }
    text.push_str(&format!(
        "\nSeverity: {}\nSince: {}\nAlert: {} (cistern alert show {})\n",
        alert.severity.word(),
        utc(alert.since),
        alert.id,
        alert.id
    ));
    if alert.flapping {
        text.push_str("It comes and goes, and counts as over when it was away for half an hour.\n");
    }
    text
}

#[cfg(test)]
mod tests;
