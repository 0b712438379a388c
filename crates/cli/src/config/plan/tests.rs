use std::collections::BTreeSet;

use api_types::Role;
use stdx::prng::Prng;

use super::*;
use crate::config::state::VERSION;

const TEXTS: [&str; 6] = ["", "a", "\"\\ ]\n[end]", "\u{1}\u{7f}\u{e9}", "'''", "#"];

fn pick<'a>(random: &mut Prng, from: &[&'a str]) -> &'a str {
    from[random.below(from.len() as u64) as usize]
}

fn random_dataset(random: &mut Prng, kind: Kind) -> Dataset {
    let mut dataset = Dataset { kind, ..Dataset::default() };
    let mut put = |name: &str, values: &[&str]| {
        if random.chance(1, 2) {
            dataset.properties.insert(name.into(), pick(random, values).into());
        }
    };
    put("compression", &["on", "off", "lz4", "zstd-3"]);
    put("reservation", &["1000", "2000", "3000"]);
    put("com.example:note", &TEXTS);
    match kind {
        Kind::Filesystem => {
            put("quota", &["none", "5000", "6000"]);
            put("mountpoint", &["/a", "none", "/\u{e9} b"]);
            put("userquota@7", &["10", "20"]);
        }
        Kind::Volume => {
            put("refreservation", &["none", "100", "200"]);
            put(ISCSI, &["on", "off", "target=iqn.a,user=u,secret=correcthorse", "lun=1,target=iqn.b"]);
            dataset.volsize = Some(16384 * (1 + random.below(3)));
        }
    }
    for who in ["user 7 local", "everyone descendent", "creator", "@set"] {
        let names = ["mount", "snapshot", "send"].into_iter().filter(|_| random.chance(1, 4));
        let names: BTreeSet<String> = names.map(str::to_owned).collect();
        if !names.is_empty() {
            dataset.allow.insert(who.into(), names);
        }
    }
    dataset
}

pub fn random_state(random: &mut Prng) -> State {
    let mut state = State { version: VERSION, ..State::default() };
    state.log = random.chance(1, 2).then(|| pick(random, &["info", "off"]).into());
    for (name, default) in [("a", 1), ("b", 2), ("c", u64::MAX)] {
        state.known.insert(name.into(), Known { default, min: 0, max: u64::MAX });
        if random.chance(1, 3) {
            state.tunable.insert(name.into(), default - 1);
        }
    }
    for (number, name) in (7..).zip(["ada", "bob", "_c.d-1"]) {
        if random.chance(1, 2) {
            let role = [Role::ReadOnly, Role::Operator, Role::Administrator][random.below(3) as usize];
            let account = Account { role, uid: Some(number), disabled: random.chance(1, 2) };
            state.user.insert(name.into(), account);
        }
    }
    state.dataset.insert("p".into(), random_dataset(random, Kind::Filesystem));
    for name in ["p/a", "p/a-b", "p/a/c", "p/d", "p/d/e"] {
        let parent = name.rsplit_once('/').map_or("", |(parent, _)| parent);
        if random.chance(2, 3) && state.dataset.contains_key(parent) {
            state.dataset.insert(name.into(), random_dataset(random, Kind::Filesystem));
        }
    }
    for name in ["p/v", "p/a/v"] {
        let parent = name.rsplit_once('/').map_or("", |(parent, _)| parent);
        if random.chance(2, 3) && state.dataset.contains_key(parent) {
            state.dataset.insert(name.into(), random_dataset(random, Kind::Volume));
        }
    }
    state
}

/// What an appliance tells of itself: what is at its default is not set.
fn told(mut state: State) -> State {
    for dataset in state.dataset.values_mut() {
        dataset.properties.retain(|name, value| unset_value(name).is_none_or(|unset| unset != *value));
    }
    state.tunable.retain(|name, value| state.known[name].default != *value);
    state
}

/// A model of the appliance, which refuses what the appliance would.
fn carry(state: &mut State, step: &Step) {
    let has_administrator = |state: &State| state.user.values().any(Account::is_administrator);
    let had_administrator = has_administrator(state);
    match step.clone() {
        Step::Create { dataset, is } => {
            let parent = dataset.rsplit_once('/').expect("it is no pool").0;
            assert!(
                state.dataset.get(parent).is_some_and(|parent| parent.kind == Kind::Filesystem),
                "{dataset}"
            );
            assert!(state.dataset.insert(dataset, is).is_none());
        }
        Step::Grow { dataset, from, to } => {
            let dataset = state.dataset.get_mut(&dataset).expect("it is there");
            assert!(dataset.volsize.replace(to) == Some(from) && from < to);
            for name in RESERVATIONS {
                // It follows the size.
                dataset.properties.entry(name.into()).and_modify(|value| *value = "77".into());
            }
        }
        Step::Set { dataset, property, value, .. } => {
            state.dataset.get_mut(&dataset).expect("it is there").properties.insert(property, value);
        }
        Step::Unset { dataset, property, .. } => {
            state
                .dataset
                .get_mut(&dataset)
                .expect("it is there")
                .properties
                .remove(&property)
                .expect("it is set");
        }
        Step::Allow { dataset, who, permissions } => {
            state
                .dataset
                .get_mut(&dataset)
                .expect("it is there")
                .allow
                .entry(who)
                .or_default()
                .extend(permissions);
        }
        Step::Unallow { dataset, who, permissions } => {
            let allow = &mut state.dataset.get_mut(&dataset).expect("it is there").allow;
            allow.get_mut(&who).expect("it has some").retain(|name| !permissions.contains(name));
            allow.retain(|_, names| !names.is_empty());
        }
        Step::AddUser { name, account } => assert!(state.user.insert(name, account).is_none()),
        Step::ChangeUser { name, account, .. } => assert!(state.user.insert(name, account).is_some()),
        Step::RemoveUser { name } => assert!(state.user.remove(&name).is_some()),
        Step::Tune { name, value, .. } | Step::Untune { name, value, .. } => {
            state.tunable.insert(name, value);
        }
        Step::Log { filter, .. } => state.log = Some(filter),
    }
    assert!(has_administrator(state) || !had_administrator, "{step}");
    *state = told(std::mem::take(state));
}

#[test]
fn a_plan_that_is_done_leaves_what_was_wanted() {
    let (mut planned, mut refused) = (0, 0);
    for seed in 0..3_000 {
        let mut random = Prng::new(seed);
        let (before, wanted) = (told(random_state(&mut random)), random_state(&mut random));
        let (steps, untouched) = match plan(&before, &wanted) {
            Ok(planned) => planned,
            Err(obstacles) => {
                refused += 1;
                // Here nothing else can stand in the way.
                let is_known = |obstacle: &Obstacle| {
                    matches!(obstacle, Obstacle::Smaller { .. } | Obstacle::NoAdministrator)
                };
                assert!(!obstacles.is_empty() && obstacles.iter().all(is_known), "{seed}: {obstacles:?}");
                continue;
            }
        };
        planned += 1;
        // Without what takes away: nothing is lost, and what is left to do is that.
        let mut gentle = before.clone();
        steps.iter().filter(|step| !step.takes_away()).for_each(|step| carry(&mut gentle, step));
        let (left, _) = plan(&gentle, &wanted).expect("nothing stands in the way");
        assert!(left.iter().all(Step::takes_away), "{seed}: {left:?}");
        assert!(before.dataset.keys().all(|name| gentle.dataset.contains_key(name)), "{seed}");
        assert!(before.user.keys().all(|name| gentle.user.contains_key(name)), "{seed}");

        let mut after = before.clone();
        steps.iter().for_each(|step| carry(&mut after, step));
        assert_eq!(plan(&after, &wanted), Ok((Vec::new(), untouched.clone())), "{seed}");
        let mut expected = told(wanted.clone());
        expected.log = expected.log.or(before.log.clone());
        for (name, dataset) in &before.dataset {
            expected.dataset.entry(name.clone()).or_insert_with(|| dataset.clone());
        }
        for left in &untouched {
            if let Untouched::Administrator { name } = left {
                expected.user.insert(name.clone(), before.user[name].clone());
            }
        }
        if before.log.is_none() {
            expected.log = None;
        }
        assert_eq!(after, expected, "{seed}");
        // Wherever it stops, it goes on from there.
        let stop = random.below(steps.len() as u64 + 1) as usize;
        let mut halfway = before.clone();
        steps[..stop].iter().for_each(|step| carry(&mut halfway, step));
        let (rest, _) = plan(&halfway, &wanted).expect("nothing stands in the way");
        rest.iter().for_each(|step| carry(&mut halfway, step));
        assert_eq!(halfway, expected, "{seed}");
    }
    assert!(planned > 500 && refused > 100, "{planned} and {refused}");
}

fn state(datasets: &[(&str, Dataset)]) -> State {
    let dataset = datasets.iter().map(|(name, dataset)| ((*name).to_owned(), dataset.clone())).collect();
    State { dataset, ..State::default() }
}

fn fs(properties: &[(&str, &str)]) -> Dataset {
    let properties = properties.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    Dataset { properties, ..Dataset::default() }
}

fn volume(size: u64, properties: &[(&str, &str)]) -> Dataset {
    Dataset { kind: Kind::Volume, volsize: Some(size), ..fs(properties) }
}

#[test]
fn all_that_stands_in_the_way_is_told_together() {
    let fixed = |value: &str| Dataset {
        created: [("casesensitivity".to_owned(), value.to_owned())].into(),
        ..Dataset::default()
    };
    let sealed = Dataset { created: [("encryption".into(), "aes-256-gcm".into())].into(), ..fs(&[]) };
    let hidden = volume(16384, &[(ISCSI, "user=u,secret=********")]);
    let uid = |uid| Account { uid: Some(uid), ..Account::default() };
    let mut current = state(&[
        ("p", fs(&[])),
        ("p/c", fixed("sensitive")),
        ("p/k", fs(&[])),
        ("p/s", volume(32768, &[])),
        ("p/v", volume(16384, &[])),
    ]);
    current.user = [("ada".to_owned(), uid(7))].into();
    let mut wanted = state(&[
        ("none", fs(&[])),
        ("none/a", fs(&[])),
        ("p", fs(&[])),
        ("p/c", fixed("mixed")),
        ("p/e", sealed),
        ("p/k", volume(16384, &[])),
        ("p/m/x", fs(&[])),
        ("p/s", volume(16384, &[])),
        ("p/v", hidden),
    ]);
    wanted.user = [("bob".to_owned(), uid(7)), ("cy".to_owned(), uid(9)), ("di".to_owned(), uid(9))].into();
    current.known.insert("some".into(), Known { default: 5, min: 1, max: 9 });
    wanted.tunable = [("nothing".to_owned(), 1), ("some".to_owned(), 10)].into();
    let obstacles = plan(&current, &wanted).expect_err("it cannot be had");
    let told: Vec<String> = obstacles.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "there is no pool 'none': make it by 'zpool create', or import it",
            "p/c: has casesensitivity=sensitive since it was made, and cannot get mixed",
            "p/e: no encrypted dataset is made from a file, for that has no key",
            "p/k: is a file system and cannot become a volume",
            "p/m/x: 'p/m' is no file system, neither here nor in the file",
            "p/s: has 32768 bytes, and is not made smaller: the file says 16384",
            "p/v: its CHAP secret is not in the file: write it there, or export with --secrets",
            "user bob: ada has the number 7",
            "user cy: di has the number 9",
            "user di: cy has the number 9",
            "there is no tunable 'nothing'",
            "tunable some: 10 is not between 1 and 9",
        ]
    );
}

#[test]
fn space_is_given_up_before_it_is_taken() {
    let current = state(&[("p", fs(&[("quota", "100")])), ("p/a", fs(&[("reservation", "90")]))]);
    let wanted = state(&[
        ("p", fs(&[("quota", "50")])),
        ("p/a", fs(&[("reservation", "10")])),
        ("p/b", fs(&[("reservation", "20")])),
    ]);
    let (steps, _) = plan(&current, &wanted).expect("it can be had");
    let told: Vec<String> = steps.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "p/a: set reservation=10 (is 90)",
            "p: set quota=50 (is 100)",
            "p/b: make a file system with reservation=20",
        ]
    );
}

#[test]
fn accounts_are_added_by_number_and_there_is_always_an_administrator() {
    let account = |role, uid| Account { role, uid, disabled: false };
    let (administrator, reader) = (Role::Administrator, Role::ReadOnly);
    let (mut current, mut wanted) = (state(&[]), state(&[]));
    current.user = [("ada", administrator, Some(1)), ("bob", reader, Some(2)), ("cy", reader, Some(3))]
        .map(|(name, role, uid)| (name.to_owned(), account(role, uid)))
        .into();
    wanted.user = [
        ("ada", reader, Some(1)),
        ("bob", administrator, Some(2)),
        ("di", reader, None),
        ("ed", reader, Some(9)),
        ("flo", reader, Some(8)),
    ]
    .map(|(name, role, uid)| (name.to_owned(), account(role, uid)))
    .into();
    let told: Vec<String> = compare(&current, &wanted).steps.iter().map(ToString::to_string).collect();
    let subjects: Vec<&str> =
        told.iter().filter_map(|step| step.split_once(':')).map(|(who, _)| who).collect();
    assert_eq!(subjects, ["user flo", "user ed", "user di", "user bob", "user ada", "user cy"], "{told:?}");
    // Where the file has none, those that are not in it stay; without them it cannot be had.
    wanted.user.remove("bob");
    let told = compare(&current, &wanted).untouched;
    assert_eq!(told, []);
    assert_eq!(compare(&current, &wanted).obstacles, [Obstacle::NoAdministrator]);
    wanted.user.remove("ada");
    let told = compare(&current, &wanted);
    assert!(told.obstacles.is_empty());
    assert_eq!(told.untouched, [Untouched::Administrator { name: "ada".into() }]);
}

#[test]
fn words_have_no_secret_and_stay_on_their_line() {
    let current = state(&[
        ("p", fs(&[("a:b", "1\n2")])),
        ("p/v", volume(16384, &[(ISCSI, "user=u,secret=oldoldoldold")])),
    ]);
    let wanted = state(&[
        ("p", fs(&[("a:b", "\u{1b}[2J")])),
        ("p/v", volume(16384, &[(ISCSI, "user=u,secret=newnewnewnew")])),
    ]);
    let (steps, _) = plan(&current, &wanted).expect("it can be had");
    let told: Vec<String> = steps.iter().map(ToString::to_string).collect();
    let mapping = "user=u,secret=********";
    assert_eq!(
        told,
        ["p: set a:b=?[2J (is 1?2)".to_owned(), format!("p/v: set {ISCSI}={mapping} (is {mapping})")]
    );
    let json = serde_json::to_string(&compare(&current, &wanted).public()).expect("JSON");
    assert!(!json.contains("newnew") && !json.contains("oldold"), "{json}");
}

#[test]
fn what_the_file_does_not_have_is_told_once() {
    let current = state(&[("p", fs(&[])), ("p/a", fs(&[])), ("q", fs(&[])), ("q/a", fs(&[]))]);
    let found = compare(&current, &state(&[("p", fs(&[]))]));
    let told: Vec<String> = found.untouched.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["p/a: not in the file, stays as it is", "pool q: not in the file, stays as it is"]);
    assert!(found.steps.is_empty() && found.obstacles.is_empty());
    let came = Dataset { received: [("atime".to_owned(), "off".to_owned())].into(), ..fs(&[]) };
    let found = compare(&current, &state(&[("p", came), ("p/a", fs(&[])), ("q", fs(&[])), ("q/a", fs(&[]))]));
    assert_eq!(found.untouched.len(), 1);
    assert!(found.steps.is_empty() && !found.is_equal());
}
