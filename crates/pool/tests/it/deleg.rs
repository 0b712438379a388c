//! Delegated permissions on disk: written as OpenZFS does, read whoever wrote them, and gone with
//! their datasets.

use std::collections::BTreeSet;
use std::sync::Arc;

use api_types::{Delegation, Grant, Grantee, VdevSpec};
use pool::change::Change;
use pool::dsl::deleg::Place;
use pool::spa::create::{CreateSpec, create};
use pool::spa::import::{ImportSpec, import};
use pool::spa::labels::search;
use pool::{Pool, PoolError};
use stdx::behalf::{Actor, Rank, Way, on_behalf_of};

use crate::create::spec;
use crate::support::{Delegations, Dir, around, cut_partitions, fixture, zdb, zdb_accepts};

const SIZE: u64 = 256 << 20;
const JOE: u32 = 1001;
const STAFF: u32 = 50;

fn fresh(dir: &Dir) -> Arc<Pool> {
    let leaf = VdevSpec::Leaf(dir.image("a.img", SIZE));
    create(&around(), &spec("tank", vec![leaf])).unwrap()
}

fn make(name: &str) -> Change {
    Change::CreateFilesystem { name: name.into(), parents: false, props: Vec::new() }
}

fn grant(who: Grantee, reach: &str, permissions: &[&str]) -> Vec<Grant> {
    let permissions =
        (!permissions.is_empty()).then(|| permissions.iter().map(|&name| name.into()).collect());
    vec![Grant { who, local: reach.contains('l'), descendent: reach.contains('d'), permissions }]
}

fn allow(pool: &Pool, name: &str, who: Grantee, reach: &str, permissions: &[&str]) {
    let grants = grant(who, reach, permissions);
    pool.dsl.commit(Change::Allow { name: name.into(), grants }, "").unwrap();
}

fn unallow(pool: &Pool, name: &str, recursive: bool, who: Grantee, reach: &str, permissions: &[&str]) {
    let grants = grant(who, reach, permissions);
    pool.dsl.commit(Change::Unallow { name: name.into(), grants, recursive }, "").unwrap();
}

fn caller(user: u32, groups: &[u32]) -> Actor {
    Actor { user, groups: groups.to_vec(), rank: Rank::Guest, within: None, way: Way::Management }
}

/// Whether joe may, at a dataset or snapshot.
fn joe(pool: &Pool, name: &str, permission: &str) -> bool {
    pool.dsl.may(Place::At(name), permission, &caller(JOE, &[JOE, STAFF])).unwrap()
}

fn user() -> Grantee {
    Grantee::User(JOE.into())
}

fn set(name: &str) -> Grantee {
    Grantee::Set(name.into())
}

fn export(dir: &Dir, pool: Arc<Pool>) {
    pool.export().unwrap();
    drop(pool);
    zdb_accepts(dir, "tank");
}

fn again(dir: &Dir) -> Arc<Pool> {
    let around = around();
    let found = search(&around.env, &[dir.path()]).remove(0);
    import(&around, &found, &ImportSpec::default()).unwrap()
}

fn tree(dir: &Dir) -> Arc<Pool> {
    let pool = fresh(dir);
    for name in ["tank/a", "tank/a/b", "tank/c"] {
        pool.dsl.commit(make(name), "").unwrap();
    }
    let names = vec!["tank/a@s".into()];
    pool.dsl.commit(Change::Snapshot { names, recursive: false, props: Vec::new() }, "").unwrap();
    pool
}

#[test]
fn a_permission_counts_where_it_was_given() {
    let dir = Dir::new("deleg-reach");
    let pool = tree(&dir);
    allow(&pool, "tank/a", user(), "l", &["snapshot"]);
    allow(&pool, "tank/a", user(), "d", &["rename"]);
    allow(&pool, "tank/a", Grantee::Group(STAFF.into()), "ld", &["hold"]);
    allow(&pool, "tank", Grantee::Everyone, "d", &["quota"]);
    let may = |name, permission| joe(&pool, name, permission);
    let at =
        |permission| ["tank", "tank/a", "tank/a@s", "tank/a/b", "tank/c"].map(|name| may(name, permission));
    assert_eq!(at("snapshot"), [false, true, false, false, false]);
    assert_eq!(at("rename"), [false, false, true, true, false]);
    assert_eq!(at("hold"), [false, true, true, true, false]);
    assert_eq!(at("quota"), [false, true, true, true, true]);
    assert_eq!(at("destroy"), [false; 5]);
    let other = caller(JOE + 1, &[]);
    assert_eq!(pool.dsl.may(Place::At("tank/a"), "snapshot", &other), Ok(false));
    assert_eq!(pool.dsl.may(Place::At("tank/a"), "quota", &other), Ok(true));
    assert_eq!(pool.dsl.may(Place::SnapshotOf("tank/a"), "snapshot", &caller(JOE, &[])), Ok(false));
    assert_eq!(pool.dsl.may(Place::SnapshotOf("tank/a"), "rename", &caller(JOE, &[])), Ok(true));
    let missing = pool.dsl.may(Place::At("tank/none"), "snapshot", &other);
    assert_eq!(missing, Err(PoolError::NotFound));
    export(&dir, pool);
}

#[test]
fn the_nearest_definition_of_a_set_counts() {
    let dir = Dir::new("deleg-sets");
    let pool = tree(&dir);
    allow(&pool, "tank", set("@some"), "", &["snapshot", "hold"]);
    allow(&pool, "tank/a", set("@some"), "", &["send", "@more"]);
    allow(&pool, "tank/a", set("@more"), "", &["userprop", "@some"]);
    allow(&pool, "tank", user(), "ld", &["@some"]);
    // Given at the root only, the set is looked for from there on.
    assert!(joe(&pool, "tank/a", "snapshot") && !joe(&pool, "tank/a", "send"));
    allow(&pool, "tank/a", user(), "ld", &["@some"]);
    for name in ["tank/a", "tank/a/b"] {
        assert!(joe(&pool, name, "send") && joe(&pool, name, "userprop"), "{name}");
        assert!(!joe(&pool, name, "snapshot") && !joe(&pool, name, "hold"), "{name}");
    }
    assert!(joe(&pool, "tank/c", "snapshot") && !joe(&pool, "tank/c", "send"));
    unallow(&pool, "tank/a", false, set("@some"), "", &[]);
    assert!(joe(&pool, "tank/a/b", "snapshot") && !joe(&pool, "tank/a/b", "send"));
    // What has no definition gives nothing.
    allow(&pool, "tank/c", user(), "ld", &["@nowhere"]);
    assert!(!joe(&pool, "tank/c", "send"));
    export(&dir, pool);
}

#[test]
fn creators_get_what_is_kept_for_them() {
    let dir = Dir::new("deleg-creators");
    let pool = tree(&dir);
    allow(&pool, "tank", Grantee::Creator, "", &["snapshot", "@own"]);
    allow(&pool, "tank/a", Grantee::Creator, "", &["hold"]);
    allow(&pool, "tank", set("@own"), "", &["rollback"]);
    let made_by = |user, name: &str| {
        on_behalf_of(Arc::new(caller(user, &[])), || pool.dsl.commit(make(name), "").unwrap());
    };
    let new = |permission| pool.dsl.may(Place::NewBelow("tank/a"), permission, &caller(JOE, &[])).unwrap();
    let wanted = ["snapshot", "hold", "rollback", "destroy"];
    assert_eq!(wanted.map(new), [true, true, true, false]);
    made_by(JOE, "tank/a/new");
    assert_eq!(wanted.map(|permission| joe(&pool, "tank/a/new", permission)), [true, true, true, false]);
    made_by(JOE + 1, "tank/a/other");
    assert_eq!(wanted.map(|permission| joe(&pool, "tank/a/other", permission)), [false; 4]);
    // For himself, and there alone.
    pool.dsl.commit(make("tank/a/new/below"), "").unwrap();
    assert_eq!(wanted.map(|permission| joe(&pool, "tank/a/new/below", permission)), [false; 4]);
    let clone = Change::Clone {
        snapshot: "tank/a@s".into(),
        name: "tank/clone".into(),
        parents: false,
        props: Vec::new(),
    };
    on_behalf_of(Arc::new(caller(JOE, &[])), || pool.dsl.commit(clone, "").unwrap());
    assert_eq!(wanted.map(|permission| joe(&pool, "tank/clone", permission)), [true, false, true, false]);
    // Renaming takes along what is a dataset's own.
    let (from, to) = ("tank/a/new".to_owned(), "tank/c/new".to_owned());
    pool.dsl.commit(Change::Rename { from, to, parents: false, recursive: false }, "").unwrap();
    assert!(joe(&pool, "tank/c/new", "hold"));
    export(&dir, pool);
}

#[test]
fn what_is_delegated_is_kept_shown_to_zdb_and_goes_with_its_dataset() {
    let dir = Dir::new("deleg-disk");
    let pool = tree(&dir);
    allow(&pool, "tank/a", user(), "ld", &["snapshot", "rdonly", "@some"]);
    allow(&pool, "tank/a", Grantee::Everyone, "l", &["hold"]);
    allow(&pool, "tank/a", set("@some"), "", &["send"]);
    allow(&pool, "tank/a/b", user(), "ld", &["snapshot"]);
    let at =
        |name: &str, grants: Vec<Vec<Grant>>| Delegation { dataset: name.into(), grants: grants.concat() };
    let expected = [
        at("tank/a/b", vec![grant(user(), "d", &["snapshot"]), grant(user(), "l", &["snapshot"])]),
        at(
            "tank/a",
            vec![
                grant(user(), "d", &["@some"]),
                grant(user(), "l", &["@some"]),
                grant(Grantee::Everyone, "l", &["hold"]),
                grant(set("@some"), "", &["send"]),
                grant(user(), "d", &["readonly", "snapshot"]),
                grant(user(), "l", &["readonly", "snapshot"]),
            ],
        ),
    ];
    assert_eq!(pool.dsl.delegations("tank/a/b").unwrap(), expected);
    export(&dir, pool);
    let seen = zdb(&dir, &["-dddd", "tank"]);
    for word in
        ["DSL permissions", "ul$1001 = ", "Ud$1001 = ", "el$ = ", "s-$@some = ", "@some = 0", "snapshot = 0"]
    {
        assert!(seen.contains(word), "{word}");
    }

    let pool = again(&dir);
    assert_eq!(pool.dsl.delegations("tank/a/b").unwrap(), expected);
    unallow(&pool, "tank/a", true, user(), "ld", &["snapshot"]);
    assert!(!joe(&pool, "tank/a/b", "snapshot") && joe(&pool, "tank/a/b", "readonly"));
    unallow(&pool, "tank/a", false, user(), "d", &[]);
    assert!(joe(&pool, "tank/a", "readonly") && !joe(&pool, "tank/a/b", "readonly"));
    // Nothing of nobody is nothing to take back.
    unallow(&pool, "tank/c", false, user(), "ld", &["hold"]);
    let notes: Vec<String> = pool.dsl.history(true).unwrap().into_iter().map(|record| record.text).collect();
    for note in
        ["permission update tank/a (", "permission remove tank/a/b (", "permission who remove tank/a ("]
    {
        assert!(notes.iter().any(|text| text.starts_with(note)), "{note}: {notes:?}");
    }
    let names = vec!["tank/a/b".into(), "tank/a@s".into(), "tank/a".into()];
    pool.dsl.commit(Change::Destroy { names, defer: false }, "").unwrap();
    export(&dir, pool);
    assert!(!zdb(&dir, &["-dddd", "tank"]).contains("DSL permissions"));
}

#[test]
fn nobody_has_anything_where_delegation_is_off_or_unknown() {
    let dir = Dir::new("deleg-off");
    let pool = tree(&dir);
    allow(&pool, "tank", user(), "ld", &["snapshot"]);
    assert!(joe(&pool, "tank/a", "snapshot"));
    let set = |value: &str| {
        let props = vec![("delegation".to_owned(), value.to_owned())];
        pool.dsl.commit(Change::SetPoolProperties { props }, "").unwrap();
    };
    set("off");
    assert!(!joe(&pool, "tank/a", "snapshot"));
    set("on");
    assert!(joe(&pool, "tank/a", "snapshot"));
    export(&dir, pool);

    let dir = Dir::new("deleg-old");
    let leaf = VdevSpec::Leaf(dir.image("a.img", SIZE));
    let pool =
        create(&around(), &CreateSpec { version: 7, features: Vec::new(), ..spec("tank", vec![leaf]) })
            .unwrap();
    let change = Change::Allow { name: "tank".into(), grants: grant(user(), "ld", &["snapshot"]) };
    let refused = pool.dsl.commit(change, "").unwrap_err();
    let why = "cannot set permissions on 'tank': pool must be upgraded";
    assert!(matches!(refused, PoolError::Refused(_)), "{refused:?}");
    assert_eq!(refused.to_string(), why);
    assert!(!joe(&pool, "tank", "snapshot"));
    export(&dir, pool);
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let dir = Dir::new("deleg-refused");
    let pool = tree(&dir);
    let long = format!("@{}", "x".repeat(63));
    let bad: &[(Grantee, &str, &[&str])] = &[
        (user(), "ld", &["snapshot", "mounted"]),
        (user(), "ld", &["scrub"]),
        (user(), "ld", &["mlslabel"]),
        (user(), "ld", &["@"]),
        (user(), "ld", &[&long]),
        (user(), "ld", &["@a/b"]),
        (user(), "", &["snapshot"]),
        (set("some"), "", &["snapshot"]),
        (set("@"), "", &["snapshot"]),
        (set(&long), "", &["snapshot"]),
    ];
    let why = "cannot set permissions on 'tank/a': invalid permission";
    for (who, reach, permissions) in bad {
        let grants = grant(who.clone(), reach, permissions);
        let refused = pool.dsl.commit(Change::Allow { name: "tank/a".into(), grants }, "");
        assert_eq!(refused.unwrap_err().to_string(), why, "{who:?} {permissions:?}");
    }
    let none = vec![Grant { who: user(), local: true, descendent: true, permissions: Some(Vec::new()) }];
    let refused = pool.dsl.commit(Change::Allow { name: "tank/a".into(), grants: none }, "");
    assert_eq!(refused.unwrap_err().to_string(), why);
    assert_eq!(pool.dsl.delegations("tank/a").unwrap(), []);
    export(&dir, pool);
}

#[test]
fn limits_bind_whom_they_were_not_given_to() {
    let dir = Dir::new("deleg-limits");
    let pool = tree(&dir);
    let props = vec![("filesystem_limit".to_owned(), "1".to_owned()), ("snapshot_limit".into(), "1".into())];
    pool.dsl.commit(Change::SetProperties { name: "tank/a".into(), props }, "").unwrap();
    let snapshot =
        |name: &str| Change::Snapshot { names: vec![name.into()], recursive: false, props: Vec::new() };
    let as_joe =
        |change: Change| on_behalf_of(Arc::new(caller(JOE, &[])), || pool.dsl.commit(change, "").map(drop));
    assert!(as_joe(make("tank/a/x")).is_err() && as_joe(snapshot("tank/a@t")).is_err());
    // Who may set the limit may exceed it, and an administrator.
    allow(&pool, "tank/a", user(), "l", &["filesystem_limit"]);
    assert_eq!(as_joe(make("tank/a/x")), Ok(()));
    assert!(as_joe(snapshot("tank/a@t")).is_err());
    assert!(pool.dsl.commit(snapshot("tank/a@t"), "").is_ok());
    // One further up still counts.
    let props = vec![("filesystem_limit".to_owned(), "4".to_owned())];
    pool.dsl.commit(Change::SetProperties { name: "tank".into(), props }, "").unwrap();
    assert!(as_joe(make("tank/a/y")).is_err());
    // Promoting brings snapshots along; below what both are below it brings none.
    let clone = |from: &str, name: &str| Change::Clone {
        snapshot: from.into(),
        name: name.into(),
        parents: false,
        props: Vec::new(),
    };
    let promote = |name: &str| Change::Promote { name: name.into() };
    let limit = |name: &str, number: &str| {
        let props = vec![("snapshot_limit".to_owned(), number.to_owned())];
        pool.dsl.commit(Change::SetProperties { name: name.into(), props }, "").unwrap();
    };
    pool.dsl.commit(clone("tank/a@t", "tank/c/new"), "").unwrap();
    limit("tank", "0");
    limit("tank/c", "1");
    let refused = as_joe(promote("tank/c/new")).unwrap_err().to_string();
    assert_eq!(refused, "cannot promote 'tank/c/new': out of space");
    limit("tank/c", "2");
    assert_eq!(as_joe(promote("tank/c/new")), Ok(()));
    pool.dsl.commit(promote("tank/a"), "").unwrap();
    limit("tank/c", "0");
    allow(&pool, "tank/c", user(), "l", &["snapshot_limit"]);
    assert_eq!(as_joe(promote("tank/c/new")), Ok(()));
    export(&dir, pool);
}

/// What we say is delegated at a dataset and above, as OpenZFS would: dataset, key, name.
fn as_openzfs_tells(pool: &Pool, name: &str) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for Delegation { dataset, grants } in pool.dsl.delegations(name).unwrap() {
        for Grant { who, local, permissions, .. } in grants {
            let reach = if local { 'l' } else { 'd' };
            for permission in permissions.unwrap() {
                let of_sets = permission.starts_with('@');
                let letter = |letter: char| if of_sets { letter.to_ascii_uppercase() } else { letter };
                let key = match &who {
                    Grantee::User(id) => format!("{}{reach}${id}", letter('u')),
                    Grantee::Group(id) => format!("{}{reach}${id}", letter('g')),
                    Grantee::Everyone => format!("{}{reach}$", letter('e')),
                    Grantee::Creator => format!("{}-$", letter('c')),
                    Grantee::Set(set) => format!("{}-${set}", letter('s')),
                };
                lines.insert(format!("{dataset} {key} {permission}"));
            }
        }
    }
    lines
}

/// Every question that the tree gives rise to, as OpenZFS is asked it, and our answer.
fn questions(pool: &Pool, names: &[&str]) -> Vec<(String, bool)> {
    let callers: [(u32, &[u32]); 6] =
        [(JOE, &[JOE]), (JOE, &[JOE, STAFF]), (7, &[STAFF]), (7, &[7, 8, STAFF]), (7, &[7]), (0, &[0])];
    let permissions =
        ["snapshot", "hold", "send", "rollback", "readonly", "userprop", "quota", "allow", "create"];
    let mut asked = Vec::new();
    for name in names {
        for permission in permissions {
            for (user, groups) in callers {
                let ours = pool.dsl.may(Place::At(name), permission, &caller(user, groups)).unwrap();
                let list: Vec<String> = groups.iter().map(u32::to_string).collect();
                asked.push((format!("may {name} {permission} {user} {}", list.join(",")), ours));
            }
        }
    }
    asked
}

/// Has OpenZFS tell and judge all of it, and compares.
fn openzfs_agrees(openzfs: &Delegations, dir: &Dir, pool: Arc<Pool>, image: &str, names: &[&str]) {
    let told: Vec<BTreeSet<String>> = names.iter().map(|name| as_openzfs_tells(&pool, name)).collect();
    let asked = questions(&pool, names);
    let allowed = asked.iter().filter(|(_, is_allowed)| *is_allowed).count();
    assert!(allowed > 20 && asked.len() - allowed > 20, "{allowed} of {}: no test", asked.len());
    let pool_name = names[0].split('/').next().unwrap();
    pool.export().unwrap();
    drop(pool);
    let heads = names.iter().filter(|name| !name.contains('@'));
    let mut lines: Vec<String> = heads.clone().map(|name| format!("get {name}")).collect();
    lines.extend(asked.iter().map(|(question, _)| question.clone()));
    let answers = openzfs.obey(&dir.image_path(image).to_string_lossy(), &lines);
    let mut answers = answers.iter();
    for (name, ours) in names.iter().zip(&told).filter(|(name, _)| !name.contains('@')) {
        let theirs: BTreeSet<String> = answers.by_ref().take_while(|line| *line != "end").cloned().collect();
        assert_eq!(&theirs, ours, "OpenZFS of {name}, and we");
    }
    let wrong: Vec<&String> = asked
        .iter()
        .filter(|(_, ours)| answers.next().map(String::as_str) != Some(if *ours { "yes" } else { "no" }))
        .map(|(question, _)| question)
        .collect();
    assert!(wrong.is_empty() && answers.next().is_none(), "OpenZFS says otherwise: {wrong:?}");
    zdb_accepts(dir, pool_name);
}

#[test]
fn openzfs_reads_what_is_delegated_here_and_judges_alike() {
    let (dir, openzfs) = (Dir::new("deleg-judged"), Delegations::build("deleg-judge"));
    let pool = tree(&dir);
    allow(&pool, "tank", Grantee::Everyone, "d", &["quota"]);
    allow(&pool, "tank", set("@some"), "", &["snapshot", "hold"]);
    allow(&pool, "tank", Grantee::Creator, "", &["send", "@some"]);
    allow(&pool, "tank", Grantee::Group(STAFF.into()), "l", &["@some", "create"]);
    allow(&pool, "tank/a", set("@some"), "", &["send", "@more"]);
    allow(&pool, "tank/a", set("@more"), "", &["userprop", "@some", "rollback"]);
    allow(&pool, "tank/a", user(), "ld", &["@some", "rdonly"]);
    allow(&pool, "tank/a/b", user(), "l", &["allow"]);
    allow(&pool, "tank/a/b", Grantee::Group(STAFF.into()), "d", &["hold"]);
    allow(&pool, "tank/c", user(), "d", &["@some"]);
    allow(&pool, "tank/c", Grantee::Everyone, "ld", &["@nowhere"]);
    allow(&pool, "tank/c", Grantee::User(0), "l", &["snapshot"]);
    on_behalf_of(Arc::new(caller(JOE, &[JOE])), || pool.dsl.commit(make("tank/c/own"), "").unwrap());
    let names = ["tank", "tank/a", "tank/a@s", "tank/a/b", "tank/c", "tank/c/own"];
    openzfs_agrees(&openzfs, &dir, pool, "a.img", &names);
    // What was taken back is gone for it, too.
    let pool = again(&dir);
    unallow(&pool, "tank/a", true, user(), "ld", &["@some", "rdonly"]);
    unallow(&pool, "tank", false, set("@some"), "", &["hold"]);
    unallow(&pool, "tank/c", false, Grantee::User(0), "l", &[]);
    openzfs_agrees(&openzfs, &dir, pool, "a.img", &names);
    let pool = again(&dir);
    let props = vec![("delegation".to_owned(), "off".to_owned())];
    pool.dsl.commit(Change::SetPoolProperties { props }, "").unwrap();
    export(&dir, pool);
    let image = dir.image_path("a.img");
    assert_eq!(openzfs.obey(&image.to_string_lossy(), &["may tank/c quota 7 7".into()]), ["no"]);
}

#[test]
fn what_openzfs_delegates_in_a_pool_of_its_own_counts_here() {
    let (dir, openzfs) = (Dir::new("deleg-theirs"), Delegations::build("deleg-writer"));
    fixture(&dir, "snapshots");
    cut_partitions(&dir);
    let image = dir.image_path("disk0.img");
    let obey = |lines: &[&str]| {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        openzfs.obey(&image.to_string_lossy(), &lines)
    };
    obey(&[
        "set g_snap s-$@some snapshot hold",
        "set g_snap ed$ quota",
        "set g_snap C-$ @some",
        "set g_snap c-$ send",
        "set g_snap/fs ul$1001 rollback allow create",
        "set g_snap/fs Ud$1001 @some",
        "set g_snap/fs gd$50 readonly userprop",
        "set g_snap/fs S-$@more @some",
        "set g_snap/fs Gl$50 @more",
    ]);
    let names = ["g_snap", "g_snap/fs", "g_snap/fs@s01"];
    let pool = again(&dir);
    let told = as_openzfs_tells(&pool, "g_snap/fs");
    assert_eq!(told.len(), 13, "{told:#?}");
    assert!(joe(&pool, "g_snap/fs", "rollback") && joe(&pool, "g_snap/fs@s01", "hold"));
    assert!(!joe(&pool, "g_snap/fs@s01", "rollback"));
    openzfs_agrees(&openzfs, &dir, pool, "disk0.img", &names);
    // Each goes on with what the other wrote.
    obey(&["unset g_snap/fs ul$1001", "unset g_snap/fs gd$50 userprop", "unset g_snap s-$@some hold"]);
    let pool = again(&dir);
    assert_eq!(as_openzfs_tells(&pool, "g_snap/fs").len(), 8);
    assert!(!joe(&pool, "g_snap/fs", "rollback") && !joe(&pool, "g_snap/fs@s01", "hold"));
    unallow(&pool, "g_snap/fs", false, Grantee::Group(STAFF.into()), "d", &["readonly"]);
    allow(&pool, "g_snap", set("@some"), "", &["rollback"]);
    openzfs_agrees(&openzfs, &dir, pool, "disk0.img", &names);
}
