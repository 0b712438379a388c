use api_types::{AlertCheckName as Check, AlertKind};

use super::*;
use crate::Moment;
use crate::book::{Book, Finding};
use crate::outbox::{Batch, Note};

/// Raised, and over.
fn messages() -> [Message; 2] {
    let mut book = Book::new(Vec::new(), 1);
    let what = AlertKind::ServiceFailed { service: "<x> & \"y\"\n".into(), why: "\\ {title}".into() };
    let now = Moment { wall: 1_795_855_205, steady: 0 };
    let raised = book.report(&Finding::new(Severity::Error, what.clone()), now).expect("raised");
    let over = book.withdraw(&crate::kinds::key(&what), now).expect("over");
    [raised, over].map(|turn| {
        Message::of(&Batch { notes: vec![Note { row: None, turn }], lost: 0, round: 1 }, "nas", now.wall)
    })
}

fn json(form: WebhookForm, message: &Message, beside: Beside<'_>) -> Value {
    serde_json::from_str(&body(form, message, beside)).expect("JSON")
}

#[test]
fn every_form_is_json_and_has_what_its_receiver_wants() {
    let [raised, over] = messages();
    let beside = Beside { secret: Some("key"), topic: "storage", template: None };
    let all = json(WebhookForm::Json, &raised, beside);
    assert_eq!(
        (&all["turn"], &all["severity"], &all["alert"]["id"]),
        (&"raised".into(), &"error".into(), &1.into())
    );
    let slack = json(WebhookForm::Slack, &raised, beside);
    let text = slack["text"].as_str().expect("text");
    assert!(text.contains("&lt;x&gt; &amp; \"y\""), "{text}");
    assert!(slack["attachments"][0]["color"].is_string());
    let chat = json(WebhookForm::Mattermost, &raised, beside);
    assert!(chat["text"].as_str().expect("text").contains("<x> &"));
    let (begins, ends) =
        (json(WebhookForm::Pagerduty, &raised, beside), json(WebhookForm::Pagerduty, &over, beside));
    assert_eq!((&begins["event_action"], &ends["event_action"]), (&"trigger".into(), &"resolve".into()));
    assert_eq!(begins["dedup_key"], ends["dedup_key"], "so that the one ends the other");
    assert_eq!((&begins["routing_key"], &begins["payload"]["severity"]), (&"key".into(), &"error".into()));
    let ntfy = json(WebhookForm::Ntfy, &raised, beside);
    assert_eq!((&ntfy["topic"], &ntfy["priority"]), (&"storage".into(), &4.into()));
    assert_eq!(json(WebhookForm::Ntfy, &over, beside)["priority"], 2);
}

#[test]
fn only_pagerduty_has_the_secret_in_its_body() {
    let beside = Beside { secret: Some("s3cr3t"), topic: "t", template: Some("{\"a\": \"{title}\"}") };
    for message in messages() {
        for form in WebhookForm::ALL {
            let has = body(form, &message, beside).contains("s3cr3t");
            assert_eq!(has, form == WebhookForm::Pagerduty, "{form:?}");
        }
    }
}

#[test]
fn a_template_is_filled_in_once_and_stays_json_whatever_is_filled_in() {
    let [raised, _] = messages();
    let template = "{\"t\": \"{title}\", \"x\": \"{text} {nothing}\", \"s\": \"{severity}/{host}/{turn}\"}";
    assert!(is_template(template));
    let filled =
        json(WebhookForm::Template, &raised, Beside { template: Some(template), ..Beside::default() });
    assert_eq!(filled["s"], "error/nas/raised");
    let text = filled["x"].as_str().expect("text");
    assert!(text.contains("\\ {title}") && text.ends_with("{nothing}"), "{text}");
    for bad in ["", "{title}", "{\"a\": {text}}", "[\"{title}\""] {
        assert!(!is_template(bad), "{bad}");
    }
}

#[test]
fn what_is_long_is_cut() {
    let [mut raised, _] = messages();
    raised.text = "ä".repeat(100_000);
    raised.title = "ö".repeat(10_000);
    for form in [WebhookForm::Slack, WebhookForm::Pagerduty, WebhookForm::Ntfy] {
        assert!(body(form, &raised, Beside::default()).len() < 50_000, "{form:?}");
    }
}

#[test]
fn several_are_told_as_one() {
    let mut book = Book::new(Vec::new(), 1);
    let finding =
        |n| Finding::new(Severity::Error, AlertKind::PoolFull { pool: format!("p{n}"), percent: 90 });
    let findings: Vec<Finding> = (0..9).map(finding).collect();
    let now = Moment { wall: 5, steady: 0 };
    let turns = book.observe(Check::Pools, &findings, &|_| None, now);
    let notes = turns.into_iter().map(|turn| Note { row: None, turn }).collect();
    let message = Message::of(&Batch { notes, lost: 0, round: 1 }, "nas", 5);
    let told = json(WebhookForm::Json, &message, Beside::default());
    assert_eq!((&told["turn"], &told["alert"]), (&"several".into(), &Value::Null));
    assert_eq!(json(WebhookForm::Pagerduty, &message, Beside::default())["event_action"], "trigger");
}
