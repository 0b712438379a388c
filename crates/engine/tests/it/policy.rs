//! What the program around the engine has to say is asked for before anything is done, and heard
//! afterwards.

use std::sync::{Arc, Mutex};

use engine::{LocalEngine, Options};
use engine_api::{
    Change, DatasetFilter, DatasetInfo, Engine, Error, ImportOptions, Policy, Pool, PoolSpec, PropValue,
    PropertyChange, ReceiveRequest, Result, Secrets, SendRequest,
};
use env::Env;
use stdx::behalf::{self, Actor, Rank};

use crate::disks::{Dir, new_pool, prop};

const SEALED: &str = "com.example:sealed";

/// Refuses values "bad", seals those of one property, shows what is sealed in capitals, and keeps
/// passwords out of histories.
#[derive(Debug, Default)]
struct Strict {
    told: Mutex<Vec<Change>>,
}

impl Strict {
    fn told(&self) -> Vec<Change> {
        std::mem::take(&mut *self.told.lock().unwrap())
    }
}

impl Policy for Strict {
    fn admit(&self, props: &mut [PropertyChange]) -> Result<()> {
        if props.iter().any(|prop| prop.value == "bad") {
            return Err(refused());
        }
        for prop in props.iter_mut().filter(|prop| prop.name == SEALED) {
            prop.value = format!("sealed {}", prop.value);
        }
        Ok(())
    }

    fn recorded(&self, command: &str) -> String {
        command.replace("password", "***")
    }

    fn show(&self, prop: &mut PropValue) {
        if prop.name == SEALED {
            prop.value = prop.value.to_uppercase();
        }
    }

    fn reveal(&self, prop: &mut PropValue) {
        if prop.name == SEALED {
            prop.value = prop.value.replace("sealed ", "");
        }
    }

    fn committed(&self, change: &Change) {
        self.told.lock().unwrap().push(change.clone());
    }
}

fn refused() -> Error {
    Error::Invalid("the policy".into())
}

fn set(name: &str, property: &str, value: &str) -> Change {
    Change::SetProperties { name: name.into(), props: vec![prop(property, value)] }
}

fn make(name: &str, props: Vec<PropertyChange>) -> Change {
    Change::CreateFilesystem { name: name.into(), parents: false, props }
}

fn of(name: &str) -> DatasetFilter {
    let (roots, props) = (vec![name.into()], vec![SEALED.into()]);
    DatasetFilter { roots, depth: Some(0), alone: false, kinds: Vec::new(), props }
}

/// The value of the first property of the first dataset.
fn first(found: Result<Vec<DatasetInfo>>) -> Result<String> {
    let prop = found?.remove(0).props.into_iter().next();
    Ok(prop.map(|prop| prop.value).unwrap_or_default())
}

fn value(pool: &dyn Pool, name: &str) -> String {
    first(pool.datasets(&of(name))).unwrap()
}

fn with_secrets(pool: &dyn Pool) -> Result<String> {
    first(pool.datasets_page(&of("ours"), Secrets::Shown, None, usize::MAX).map(|page| page.datasets))
}

fn history(pool: &dyn Pool) -> String {
    pool.history(false).unwrap().into_iter().map(|record| record.text + "\n").collect()
}

fn with_policy(dir: &Dir) -> (Arc<Strict>, Arc<LocalEngine>, Arc<dyn Pool>) {
    let policy = Arc::new(Strict::default());
    let engine = LocalEngine::new(Env::real(), Options { policy: policy.clone(), ..Options::default() });
    let pool = new_pool(&engine, &dir.0);
    (policy, engine, pool)
}

#[test]
fn a_change_is_judged_altered_and_told() {
    let dir = Dir::new("policy-changes");
    let (policy, engine, pool) = with_policy(&dir);
    pool.commit(&set("ours", SEALED, "x"), "zfs set password=x ours").unwrap();
    assert_eq!(value(&*pool, "ours"), "SEALED X");
    assert_eq!(with_secrets(&*pool), Ok("x".into()));
    let reader = Actor { rank: Rank::Reader, ..Actor::itself() };
    let refused_to = behalf::on_behalf_of(reader.into(), || with_secrets(&*pool));
    assert_eq!(refused_to, Err(Error::Denied));
    assert_eq!(policy.told(), [set("ours", SEALED, "sealed x")], "what was done, not what was asked for");
    assert!(history(&*pool).contains("zfs set ***=x ours"), "{}", history(&*pool));
    for change in [set("ours", SEALED, "bad"), make("ours/a", vec![prop("com.example:a", "bad")])] {
        assert_eq!(pool.commit(&change, "zfs refused").err(), Some(refused()));
    }
    let bad = || vec![prop("com.example:a", "bad")];
    let volume = Change::CreateVolume { name: "ours/v".into(), parents: false, sparse: true, props: bad() };
    let snapshot = Change::Snapshot { names: vec!["ours@s".into()], recursive: false, props: bad() };
    let clone =
        Change::Clone { snapshot: "ours@s".into(), name: "ours/c".into(), parents: false, props: bad() };
    for change in [volume, snapshot, clone] {
        assert_eq!(pool.commit(&change, "zfs refused").err(), Some(refused()), "{change:?}");
    }
    assert_eq!(value(&*pool, "ours"), "SEALED X");
    assert!(policy.told().is_empty(), "nothing was done");
    assert!(!history(&*pool).contains("zfs refused"));
    let failed = pool.commit(&set("ours/nowhere", SEALED, "x"), "");
    assert!(failed.is_err() && policy.told().is_empty(), "it has failed");
    let fs_props = vec![prop("com.example:a", "bad")];
    let spec = PoolSpec { name: "other".into(), fs_props, ..PoolSpec::default() };
    assert_eq!(engine.create(&spec).err(), Some(refused()));
    engine.export("ours", false).unwrap();
    let options = ImportOptions {
        search: vec![dir.0.display().to_string()],
        history: "zpool import password".into(),
        ..ImportOptions::default()
    };
    let pool = engine.import("ours", &options).unwrap();
    assert!(history(&*pool).contains("zpool import ***"), "{}", history(&*pool));
    drop(pool);
    engine.export("ours", false).unwrap();
}

#[test]
fn what_a_receive_is_asked_for_is_judged_too() {
    let dir = Dir::new("policy-receive");
    let (policy, engine, pool) = with_policy(&dir);
    pool.commit(&make("ours/a", Vec::new()), "").unwrap();
    let names = vec!["ours/a@s".into()];
    pool.commit(&Change::Snapshot { names, recursive: false, props: Vec::new() }, "").unwrap();
    assert_eq!(policy.told().len(), 2);
    let request = SendRequest { snapshot: "ours/a@s".into(), ..SendRequest::default() };
    let mut stream = Vec::new();
    pool.send(&request, &mut stream, &mut |_| {}).unwrap();
    let receive = |value: &str| {
        let (target, history) = ("ours/b".into(), "zfs receive password".into());
        let props = vec![prop(SEALED, value)];
        let request = ReceiveRequest { target, props, history, ..ReceiveRequest::default() };
        pool.receive(&request, &mut &stream[..], &mut |_| {})
    };
    assert_eq!(receive("bad").err(), Some(refused()));
    assert!(pool.open_fs("ours/b").is_err(), "nothing was received");
    receive("y").unwrap();
    assert_eq!(value(&*pool, "ours/b"), "SEALED Y");
    assert!(history(&*pool).contains("zfs receive ***"), "{}", history(&*pool));
    engine.export("ours", false).unwrap();
}

#[test]
fn what_the_engine_does_by_itself_is_not_judged() {
    let dir = Dir::new("policy-itself");
    let (policy, engine, pool) = with_policy(&dir);
    let props = vec![prop("volsize", "8M")];
    let volume = Change::CreateVolume { name: "ours/v".into(), parents: false, sparse: true, props };
    pool.commit(&volume, "").unwrap();
    assert_eq!(policy.told().len(), 1);
    let volume = pool.open_volume("ours/v").unwrap();
    volume.set_note("com.example:note", "bad").unwrap();
    assert_eq!(volume.note("com.example:note").unwrap(), "bad");
    assert!(policy.told().is_empty());
    drop(volume);
    engine.export("ours", false).unwrap();
}
