//! The bodies of webhooks: what each receiver wants to read.
//!
//! Facts of the forms: Slack's "incoming webhooks" and Mattermost's of the same shape, PagerDuty's
//! Events API v2, ntfy's "publish as JSON".

use api_types::{AlertTurn, Severity, WebhookForm};
use serde_json::{Value, json};

use crate::message::Message;
use crate::text::stamp;

/// Characters of a text that chats and pagers are sent.
const LONGEST: usize = 3_000;
/// Of one line: PagerDuty's bound of a summary.
const SUMMARY: usize = 1_024;

/// What a form takes beside the message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside<'a> {
    /// Of the route.
    pub secret: Option<&'a str>,
    /// The last part of the URL's path.
    pub topic: &'a str,
    pub template: Option<&'a str>,
}

/// The body, as JSON.
pub fn body(form: WebhookForm, message: &Message, beside: Beside<'_>) -> String {
    match form {
        WebhookForm::Json => whole(message).to_string(),
        WebhookForm::Slack | WebhookForm::Mattermost => chat(form, message).to_string(),
        WebhookForm::Pagerduty => pager(message, beside.secret.unwrap_or_default()).to_string(),
        WebhookForm::Ntfy => ntfy(message, beside.topic).to_string(),
        WebhookForm::Template => filled(beside.template.unwrap_or_default(), message),
    }
}

/// Whether a template is JSON once it is filled in.
pub fn is_template(template: &str) -> bool {
    let message = Message::test("\"\\", "\n", 0);
    serde_json::from_str::<Value>(&filled(template, &message)).is_ok()
}

/// What the alerts of one trouble have in common, on this host: to put them together.
fn dedup(message: &Message) -> String {
    match &message.about {
        Some(turn) => format!("{}/alert-{}-{}", message.host, turn.alert.id, turn.alert.since),
        None => format!("{}/{}", message.host, message.id),
    }
}

fn turn(message: &Message) -> &'static str {
    let nothing = if is_report(message) { "report" } else { "several" };
    message.about.as_ref().map_or(nothing, |turn| turn.turn.word())
}

/// A report is no trouble, whatever it tells of.
fn is_report(message: &Message) -> bool {
    message.pages.is_some()
}

fn is_over(message: &Message) -> bool {
    message.about.as_ref().is_some_and(|turn| turn.turn == AlertTurn::Cleared)
}

fn whole(message: &Message) -> Value {
    json!({
        "id": message.id,
        "key": dedup(message),
        "host": message.host,
        "turn": turn(message),
        "severity": message.severity.word(),
        "time": stamp(message.at),
        "title": message.title,
        "text": message.text,
        "alert": message.about.as_ref().map(|turn| &turn.alert),
    })
}

fn chat(form: WebhookForm, message: &Message) -> Value {
    let colour = match message.severity {
        _ if is_over(message) => "#2e7d32",
        _ if is_report(message) => "#3b82f6",
        Severity::Warning => "#f9a825",
        Severity::Error => "#ef6c00",
        Severity::Critical => "#c62828",
    };
    let title = cut(&message.title, SUMMARY);
    let line = format!("{}: {title}", message.host);
    // Slack takes these three as the beginning of its own marks.
    let escaped = |text: &str| match form {
        WebhookForm::Slack => text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"),
        _ => text.to_owned(),
    };
    json!({
        "text": escaped(&line),
        "attachments": [{
            "color": colour,
            "fallback": line,
            "title": escaped(&title),
            "text": escaped(&cut(&message.text, LONGEST)),
            "footer": message.id,
            "ts": message.at,
        }],
    })
}

fn pager(message: &Message, key: &str) -> Value {
    let subject = message.about.as_ref().map(|turn| turn.alert.subject.as_str());
    json!({
        "routing_key": key,
        "event_action": if is_over(message) { "resolve" } else { "trigger" },
        "dedup_key": dedup(message),
        "payload": {
            "summary": cut(&format!("{}: {}", message.host, message.title), SUMMARY),
            "source": message.host,
            "severity": message.severity.word(),
            "timestamp": stamp(message.at),
            "component": subject,
            "custom_details": { "text": cut(&message.text, LONGEST), "id": message.id },
        },
    })
}

fn ntfy(message: &Message, topic: &str) -> Value {
    let (priority, tag) = match message.severity {
        _ if is_over(message) => (2, "white_check_mark"),
        _ if is_report(message) => (2, "bar_chart"),
        Severity::Warning => (3, "warning"),
        Severity::Error => (4, "x"),
        Severity::Critical => (5, "rotating_light"),
    };
    json!({
        "topic": topic,
        "title": cut(&format!("{}: {}", message.host, message.title), 250),
        "message": cut(&message.text, LONGEST),
        "priority": priority,
        "tags": [tag],
    })
}

fn filled(template: &str, message: &Message) -> String {
    let alert = message.about.as_ref().map(|turn| &turn.alert);
    let values = [
        ("{title}", message.title.clone()),
        ("{text}", cut(&message.text, LONGEST)),
        ("{advice}", alert.map(|alert| alert.advice.clone()).unwrap_or_default()),
        ("{severity}", message.severity.word().to_owned()),
        ("{subject}", alert.map(|alert| alert.subject.clone()).unwrap_or_default()),
        ("{turn}", turn(message).to_owned()),
        ("{host}", message.host.clone()),
        ("{key}", dedup(message)),
        ("{time}", stamp(message.at)),
    ];
    let mut text = String::new();
    let mut rest = template;
    // In one walk: what is filled in is not looked at again.
    while let Some(at) = rest.find('{') {
        let (before, here) = rest.split_at(at);
        text.push_str(before);
        match values.iter().find(|(name, _)| here.starts_with(name)) {
            Some((name, value)) => {
                let quoted = Value::from(value.as_str()).to_string();
                text.push_str(&quoted[1..quoted.len() - 1]);
                rest = &here[name.len()..];
            }
            None => {
                text.push('{');
                rest = &here[1..];
            }
        }
    }
    text + rest
}

/// At most so many characters.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
