use serde_json::{Value, from_value, json, to_value};

use crate::{
    Condition, Errata, FailMode, ImportCondition, Importable, PoolStatus, SuspendCause, UnknownFeature,
};

/// A pool's status as it is sent, but for what is wrong with it.
fn well() -> Value {
    let io = json!({
        "read_ops": 0, "write_ops": 0, "read_bytes": 0, "write_bytes": 0, "read_nanos": 0, "write_nanos": 0
    });
    let root = json!({
        "name": "tank", "kind": "root", "guid": u64::MAX, "health": "ONLINE", "ashift": 12, "read_errors": 0,
        "write_errors": 0, "checksum_errors": 0, "allocated": 0, "size": 0, "io": io, "children": []
    });
    json!({
        "name": "tank", "guid": u64::MAX, "health": "ONLINE", "txg": 4, "root": root, "data_errors": 0,
        "readonly": false
    })
}

fn with(members: &[(&str, Value)]) -> Option<Condition> {
    let mut status = well();
    members.iter().for_each(|(name, value)| status[*name] = value.clone());
    from_value::<PoolStatus>(status).expect("a status").condition
}

/// What is said of a pool that is not imported, likewise.
fn found() -> Value {
    json!({
        "name": "tank", "guid": 1, "health": "ONLINE", "vdevs": well()["root"], "exported": true, "destroyed": false
    })
}

#[test]
fn it_goes_over_the_wire_with_its_words_and_back() {
    let logs = Condition::UnreplayableLogs { datasets: vec!["tank".into()] };
    for (condition, json) in [
        (
            Condition::Suspended { cause: SuspendCause::Io, failmode: FailMode::Continue },
            json!({"suspended": {"cause": "io", "failmode": "continue"}}),
        ),
        (logs, json!({"unreplayable-logs": {"datasets": ["tank"]}})),
        (Condition::DeviceUnavailable, json!("device-unavailable")),
        (Condition::Errata(Errata::NoIvSets), json!({"errata": "no-iv-sets"})),
        (Condition::LegacyVersion, json!("legacy-version")),
    ] {
        let mut status = from_value::<PoolStatus>(well()).expect("a status");
        status.condition = Some(condition.clone());
        let sent = to_value(&status).expect("it can be written");
        assert_eq!(sent["condition"], json);
        assert_eq!(sent["status"], *condition.status());
        assert_eq!(sent["action"], condition.action());
        assert_eq!(sent["msgid"], json!(condition.msgid()));
        assert_eq!((&sent["name"], &sent["guid"]), (&json!("tank"), &json!(u64::MAX)));
        assert_eq!(from_value::<PoolStatus>(sent).expect("it can be read"), status);
    }
}

#[test]
fn a_pool_that_is_well_has_neither_condition_nor_words() {
    let status = from_value::<PoolStatus>(well()).expect("a status");
    assert_eq!(status.condition, None);
    let sent = to_value(&status).expect("it can be written");
    for name in ["condition", "status", "action", "msgid"] {
        assert_eq!(sent.get(name), Some(&Value::Null), "{name}");
    }
    assert_eq!(from_value::<PoolStatus>(sent).expect("it can be read"), status);
}

#[test]
fn what_is_not_known_is_told_in_its_words() {
    let words = [("status", json!("It is tired.")), ("action", json!("Let it sleep."))];
    let other =
        Condition::Other { status: "It is tired.".into(), action: "Let it sleep.".into(), msgid: None };
    assert_eq!(with(&words).as_ref(), Some(&other), "a program that knows no conditions yet");
    for condition in [json!("tired"), json!({"tired": {"hours": 3}}), json!({"errata": "new"})] {
        let told = with(&[&words[..], &[("condition", condition), ("later", json!([1]))]].concat());
        assert_eq!(told.as_ref(), Some(&other));
    }
    assert_eq!((&*other.status(), other.action(), other.msgid()), ("It is tired.", "Let it sleep.", None));
}

#[test]
fn that_of_a_pool_to_import_goes_over_the_wire_too() {
    let read = |members: &Value| {
        let mut found = found();
        for (name, value) in members.as_object().expect("members") {
            found[name] = value.clone();
        }
        from_value::<Importable>(found).expect("a pool")
    };
    let features = vec![UnknownFeature { guid: "org.a:one".into(), description: None }];
    for (condition, json) in [
        (ImportCondition::Ready, json!("ready")),
        (
            ImportCondition::UnknownFeatures { features },
            json!({"unknown-features": {"features": [{"guid": "org.a:one", "description": null}]}}),
        ),
    ] {
        let pool = read(&json!({"condition": json, "action": ""}));
        assert_eq!(pool.condition, condition);
        let sent = to_value(&pool).expect("it can be written");
        assert_eq!(sent["condition"], json);
        assert_eq!(
            (&sent["status"], &sent["action"]),
            (&json!(condition.status()), &json!(condition.action()))
        );
        assert_eq!(from_value::<Importable>(sent).expect("it can be read"), pool);
    }
    let other = ImportCondition::Other { status: None, action: "Let it sleep.".into() };
    for members in
        [json!({"action": "Let it sleep."}), json!({"condition": "tired", "action": "Let it sleep."})]
    {
        assert_eq!(read(&members).condition, other);
    }
}
