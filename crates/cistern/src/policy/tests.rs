use engine_api::{PropKind, Source};
use stdx::behalf::{Actor, on_behalf_of};

use super::*;

const CLEAR: &str = "user=joe,secret=twelve_letters";

fn policy(name: &str) -> DaemonPolicy {
    let nowhere = std::env::temp_dir().join(format!("cistern-policy-{name}-{}", std::process::id()));
    DaemonPolicy::new(Memory::load(&nowhere).expect("there is no list"))
}

fn admitted(property: &str, value: &str) -> Result<String> {
    let mut props = [PropertyChange { name: property.into(), value: value.into() }];
    policy("admit").admit(&mut props)?;
    let [prop] = props;
    Ok(prop.value)
}

#[test]
fn a_share_that_nobody_could_use_is_refused() {
    assert!(admitted("sharenfs", "no_such_option").is_err());
    assert_eq!(admitted("sharenfs", "ro"), Ok("ro".into()));
    let error = admitted(iscsi::PROPERTY, "user=joe,secret=twelve_letters,nonsense=1").unwrap_err();
    assert!(!error.to_string().contains("twelve_letters"), "{error}");
    assert_eq!(admitted("com.example:any", "no_such_option"), Ok("no_such_option".into()));
}

#[test]
fn a_secret_is_kept_sealed_and_shown_to_who_asks_for_it_alone() {
    let kept = admitted(iscsi::PROPERTY, CLEAR).expect("a share");
    assert!(kept.starts_with("user=joe,sealed=") && !kept.contains("twelve_letters"), "{kept}");
    let mut shown = PropValue {
        name: iscsi::PROPERTY.into(),
        value: kept.clone(),
        kind: PropKind::Text,
        source: Source::Local,
        received: Some(kept.clone()),
    };
    policy("show").show(&mut shown);
    let secret = kept.strip_prefix("user=joe,sealed=").expect("as above");
    assert!(!shown.value.contains(secret), "{shown:?}");
    assert!(shown.received.as_ref().is_some_and(|value| !value.contains(secret)));
    let (value, received) = (kept.clone(), Some(kept.clone()));
    let mut revealed = PropValue { value, received, ..shown };
    policy("reveal").reveal(&mut revealed);
    assert_eq!((revealed.value.as_str(), revealed.received.as_deref()), (CLEAR, Some(CLEAR)));
    let line = format!("zfs set {}={CLEAR} tank/v", iscsi::PROPERTY);
    assert!(!policy("recorded").recorded(&line).contains("twelve_letters"));
}

#[test]
fn what_clients_know_a_dataset_by_is_set_by_services_alone_and_shown_without_its_key() {
    let value = format!("live 1 2 {}", "5a".repeat(32));
    let error = admitted(IDENTITY, &value).unwrap_err();
    assert!(!error.to_string().contains("5a5a"), "{error}");
    let service = Actor { way: Way::Service, ..Actor::itself() };
    assert_eq!(on_behalf_of(Arc::new(service), || admitted(IDENTITY, &value)), Ok(value.clone()));
    let (kind, source) = (PropKind::Text, Source::Local);
    let mut shown =
        PropValue { name: IDENTITY.into(), value: value.clone(), kind, source, received: Some(value) };
    policy("known").show(&mut shown);
    assert_eq!((shown.value.as_str(), shown.received.as_deref()), ("live 1 2", Some("live 1 2")));
}

#[test]
fn only_what_moves_a_pool_is_written_down() {
    assert!(moves(&Change::RemoveVdev { guid: 1 }));
    assert!(moves(&Change::SetPoolProperties { props: Vec::new() }));
    assert!(!moves(&Change::OnlineVdev { guid: 1, expand: false }));
    assert!(!moves(&Change::SetProperties { name: "tank".into(), props: Vec::new() }));
}

#[test]
fn what_a_dataset_keeps_of_services_makes_sense_or_is_refused() {
    let property = services::property::PROPERTY;
    for (value, why) in [
        ("", "nothing that 'cistern svc' writes"),
        ("daily", "nothing that 'cistern svc' writes"),
        (r#"{"version":2,"services":{}}"#, "has version 2"),
        (
            r#"{"version":1,"services":{"a":{"spec":{"kind":"script","program":"/bin/sh","schedule":{"when":{"every":"day"}}}}}}"#,
            "no dataset keeps programs",
        ),
    ] {
        let refused = admitted(property, value).unwrap_err().to_string();
        assert!(refused.contains(why) && refused.contains("'cistern svc' sets services"), "{refused}");
    }
    let value = r#"{"version":1,"services":{}}"#;
    assert_eq!(admitted(property, value).expect("it makes sense"), value);
}
