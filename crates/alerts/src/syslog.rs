//! A message as a line of syslog, by RFC 5424.

use api_types::{AlertTurn, Severity};

use crate::message::Message;
use crate::text::stamp;

/// Facility `daemon`.
const FACILITY: u32 = 3;
/// Bytes of a line: what every receiver of UDP should take.
const LONGEST: usize = 2_048;
/// Bounds of RFC 5424.
const HOST: usize = 255;

/// One line, without an end.
pub fn line(message: &Message) -> String {
    let host: String = message.host.chars().filter(char::is_ascii_graphic).take(HOST).collect();
    let host = if host.is_empty() { "-".to_owned() } else { host };
    let (turn, subject) = match &message.about {
        Some(turn) => (turn.turn.word(), turn.alert.subject.as_str()),
        None => ("several", ""),
    };
    let data = format!(
        "[alert@32473 id=\"{}\" turn=\"{turn}\" severity=\"{}\" subject=\"{}\"]",
        escaped(&message.id),
        message.severity.word(),
        escaped(subject)
    );
    let (priority, text) = (priority(message), text(message));
    let mut line = format!("<{priority}>1 {} {host} cistern - alert {data} {text}", stamp(message.at));
    line.truncate(line.floor_char_boundary(LONGEST));
    line
}

/// The same for `/dev/log`, where who listens knows host and time, and takes the older form.
pub fn local_line(message: &Message) -> String {
    let (priority, severity) = (priority(message), message.severity.word());
    let mut line = format!("<{priority}>cistern: {severity}: {} ({})", text(message), message.id);
    line.truncate(line.floor_char_boundary(LONGEST));
    line
}

fn priority(message: &Message) -> u32 {
    let is_over = message.about.as_ref().is_some_and(|turn| turn.turn == AlertTurn::Cleared);
    let severity = match (is_over, message.severity) {
        (true, _) => 5,
        (false, Severity::Warning) => 4,
        (false, Severity::Error) => 3,
        (false, Severity::Critical) => 2,
    };
    FACILITY * 8 + severity
}

/// On one line.
fn text(message: &Message) -> String {
    let first = message.text.lines().next().unwrap_or_default();
    let text = format!("{}: {first}", message.title);
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect()
}

/// As a value of structured data.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for char in text.chars().take(200) {
        match char {
            '"' | '\\' | ']' => out.extend(['\\', char]),
            char if char.is_control() => out.push(' '),
            char => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests;
