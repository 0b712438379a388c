use refusal::{Action, MountFault, Refused};

use super::*;
use crate::{Changed, StreamEvent};

fn warnings() -> Warnings {
    let refused = Refused::new(Action::Mount { name: "t/a".into() }, MountFault::Privileges);
    let reasons = vec![
        Warning::Refused(Box::new(refused)),
        Warning::MountedByRootAlone,
        Warning::StaleMount { dataset: "t/b".into() },
        Warning::Other,
    ];
    let sentences = (0..reasons.len()).map(|number| format!("sentence {number}")).collect();
    Warnings { sentences, reasons }
}

#[test]
fn data_comes_back_and_stands_beside_the_sentences() {
    let changed = Changed { txg: 7, warnings: warnings() };
    let wire = serde_json::to_value(&changed).unwrap();
    assert_eq!(wire["warnings"][3], "sentence 3");
    assert_eq!(wire["warned"][1], "mounted-by-root-alone");
    assert_eq!(wire["warned"][2], serde_json::json!({ "stale-mount": { "dataset": "t/b" } }));
    assert_eq!(serde_json::from_value::<Changed>(wire).unwrap(), changed);
    let done = StreamEvent::Done(warnings());
    let wire = serde_json::to_value(&done).unwrap();
    assert_eq!(wire["done"]["warnings"][0], "sentence 0");
    assert_eq!(serde_json::from_value::<StreamEvent>(wire).unwrap(), done);
}

#[test]
fn an_older_program_says_sentences_alone_and_a_newer_one_may_say_more() {
    let older = r#"{"txg":7,"warnings":["it is not mounted"]}"#;
    let older: Changed = serde_json::from_str(older).unwrap();
    assert_eq!(older.warnings.sentences, ["it is not mounted"]);
    assert_eq!(older.warnings.reasons, []);
    let newer = r#"{"txg":7,"warnings":["a","b"],"warned":[{"melted":{}},"mounted-by-root-alone"]}"#;
    let newer: Changed = serde_json::from_str(newer).unwrap();
    assert_eq!(newer.warnings.reasons, [Warning::Other, Warning::MountedByRootAlone]);
}
