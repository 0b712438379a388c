use super::*;
use api_types::refusal::{Action, NameFault, PropertyFault, Reason, Refused};

fn problem(kind: &str, detail: &str) -> Problem {
    Problem {
        kind: kind.into(),
        title: String::new(),
        status: 409,
        detail: detail.into(),
        refused: None,
        second_factors: None,
        service_fault: None,
        exit: 1,
    }
}

#[test]
fn sentences_are_said_once() {
    let say = |problem: &Problem| sentence("cannot create 'tank'", problem, Noun::Pool);
    assert_eq!(say(&problem(kind::EXISTS, "already exists")), "cannot create 'tank': pool already exists");
    let refused = |why: Refused| Problem {
        refused: Some(Box::new(why.clone())),
        ..problem(kind::REFUSED, &why.to_string())
    };
    let name = || "tank".to_owned();
    let whole = refused(Refused::new(Action::Open { name: name() }, NameFault::PoolReserved));
    assert_eq!(say(&whole), "cannot open 'tank': name is reserved\npool name may have been omitted");
    let part = refused(Refused::because(Reason::ImportingWait));
    assert_eq!(say(&part), "cannot create 'tank': pool is being imported, try again later");
    let value = PropertyFault::Value { message: "no such host".into() };
    let share = Action::SetTo { property: "sharenfs".into(), value: "x".into() };
    assert_eq!(
        say(&refused(Refused::new(share, value))),
        "cannot create 'tank': property 'sharenfs' cannot be set to 'x': no such host"
    );
    assert_eq!(say(&problem(kind::INVALID, "bad ashift")), "cannot create 'tank': bad ashift");
}

#[test]
fn a_refusal_of_a_daemon_of_another_version_is_told_in_its_words() {
    let read = |refused: &str| -> Problem {
        let detail = r#"{"type":"/problems/refused","title":"Refused","status":409,"detail":"cannot paint 't': wet","exit":1"#;
        serde_json::from_str(&format!("{detail}{refused}}}")).unwrap()
    };
    let known =
        read(r#","refused":{"action":{"do":"create","name":"t!"},"reason":{"name":{"character":"!"}}}"#);
    let name = "t!".to_owned();
    assert_eq!(*known.refused.unwrap(), Refused::new(Action::Create { name }, NameFault::Character('!')));
    for unknown in ["", r#","refused":null"#, r#","refused":{"action":{"do":"paint"},"reason":"wet"}"#] {
        let problem = read(unknown);
        assert_eq!(problem.refused, None);
        assert_eq!(sentence("cannot paint 't'", &problem, Noun::Dataset), "cannot paint 't': wet");
    }
    let late = problem(kind::INVALID, "too late");
    assert_eq!(sentence("cannot paint 't'", &late, Noun::Dataset), "cannot paint 't': too late");
}
