use std::collections::BTreeSet;

use api_types::{
    AlertSettings, AutoSnapPolicy, AutoSyncPolicy, Dimension, MailRoute, PaneAlert, PaneMeasure,
    PaneStatistic, RequestFilter, Role, Schedule, ScriptLimits, ScriptPolicy, Secret, ServiceSpec, Severity,
    SnapBudget, SnapKeep, SnapLevel, SnapNaming, SnapTarget, SpaceBudget, SyncAbsence, SyncKeep, SyncOrigin,
    SyncTarget, UpkeepPolicy, When, Window, WorksheetPane,
};
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

fn webhook(url: &str, form: WebhookForm) -> RouteTarget {
    RouteTarget::Webhook(WebhookRoute { url: url.into(), form, ..WebhookRoute::default() })
}

fn random_route(random: &mut Prng) -> Route {
    let target = match random.below(3) {
        0 => RouteTarget::default(),
        1 => RouteTarget::Mail(MailRoute {
            server: "mail".into(),
            to: vec!["a@b".into(); random.below(3) as usize],
            roots: random.chance(1, 2).then(|| TEXTS.concat() + "\n\n"),
            ..MailRoute::default()
        }),
        _ => webhook(pick(random, &["https://a:1/…", "http://b/…"]), WebhookForm::Slack),
    };
    Route { target, least: Severity::Error, disabled: random.chance(1, 2), secret: None }
}

fn random_service(random: &mut Prng, kind: u64) -> Service {
    let when = match random.below(3) {
        0 => When::Hour { step: 1, minute: 0 },
        1 => When::Month { day: 31, hour: 3, minute: random.below(60) as u8 },
        _ => When::Cron { pattern: "*/5 * * * *".into() },
    };
    let schedule = Schedule { when, zone: random.chance(1, 2).then(|| "Europe/Berlin".into()) };
    let window = random.chance(1, 2).then_some(Window { from: 1_320, until: 360 });
    let upkeep = UpkeepPolicy { pools: vec!["p".into()], schedule: schedule.clone(), window };
    let spec = match kind {
        0 => ServiceSpec::AutoScrub(upkeep),
        1 => ServiceSpec::AutoTrim(upkeep),
        2 => ServiceSpec::Script(ScriptPolicy {
            program: "/bin/true".into(),
            arguments: TEXTS.map(str::to_owned).to_vec(),
            schedule,
            limits: ScriptLimits::default(),
        }),
        _ => ServiceSpec::AutoSnap(AutoSnapPolicy {
            targets: vec![SnapTarget { dataset: "p/a".into(), ..SnapTarget::default() }; 2],
            levels: vec![SnapLevel {
                name: "x".into(),
                schedule,
                keep: SnapKeep { count: Some(random.below(9) as u32), age: None, at_least: 1 },
            }],
            budget: SnapBudget { space: Some(SpaceBudget::Bytes { bytes: 1 << 40 }), snapshots: 9 },
            skip_unchanged: random.chance(1, 2),
            naming: SnapNaming::Template { template: "{level}-{time}".into() },
            stale_after: random.chance(1, 2).then_some(86_400),
            lock: random.chance(1, 2).then_some(86_400),
        }),
    };
    Service::new(random.chance(1, 2), spec)
}

fn random_worksheet(random: &mut Prng) -> Worksheet {
    let pane = |random: &mut Prng| {
        let file = random.chance(1, 2).then(|| TEXTS.concat());
        let alert = random.chance(1, 2).then(|| PaneAlert {
            measure: PaneMeasure::Bytes,
            above: random.below(1 << 40),
            seconds: 60,
            values: random.chance(1, 2).then(|| TEXTS.map(str::to_owned).to_vec()),
        });
        let filter = RequestFilter { file, slower_us: Some(random.below(9)), ..RequestFilter::default() };
        WorksheetPane {
            statistic: PaneStatistic::Classes,
            by: vec![Dimension::Device],
            filter,
            alert,
            kept: random.chance(1, 2),
        }
    };
    Worksheet { panes: (0..=random.below(3)).map(|_| pane(random)).collect() }
}

fn watch(random: &mut Prng, state: &mut State) {
    if random.chance(4, 5) {
        let full_warning = random.below(3) as u8 + 70;
        let ups = random.chance(1, 2).then(|| "main@localhost".into());
        state.alerts = Some(AlertSettings { full_warning, ups, ..AlertSettings::default() });
    }
    if random.chance(4, 5) {
        let names: Vec<&str> = ["a", "B.c_d-1", "ops"].into_iter().filter(|_| random.chance(1, 2)).collect();
        state.route = Some(names.into_iter().map(|name| (name.into(), random_route(random))).collect());
    }
    if random.chance(4, 5) {
        let kinds: Vec<u64> = (0..4).filter(|_| random.chance(1, 2)).collect();
        let service = |kind| (format!("s-{kind}"), random_service(random, kind));
        state.service = Some(kinds.into_iter().map(service).collect());
    }
    if random.chance(4, 5) {
        let names: Vec<&str> =
            ["who writes", "\"] \u{e9}", "c"].into_iter().filter(|_| random.chance(1, 2)).collect();
        let worksheet = |name: &str| (name.to_owned(), random_worksheet(random));
        state.worksheet = Some(names.into_iter().map(worksheet).collect());
    }
}

pub fn random_state(random: &mut Prng) -> State {
    let mut state = State { version: VERSION, ..State::default() };
    watch(random, &mut state);
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
    state.alerts.get_or_insert_default();
    state.route.get_or_insert_default();
    state.service.get_or_insert_default();
    state.worksheet.get_or_insert_default();
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
        Step::Alerts { settings, .. } => state.alerts = Some(settings),
        step => carry_named(state, step),
    }
    assert!(has_administrator(state) || !had_administrator, "{step}");
    *state = told(std::mem::take(state));
}

fn carry_named(state: &mut State, step: Step) {
    let (routes, services) = (state.route.as_mut().expect("told"), state.service.as_mut().expect("told"));
    let worksheets = state.worksheet.as_mut().expect("told");
    match step {
        Step::AddRoute { name, is } => {
            assert!(!is.lacks_url() && routes.insert(name, is.public()).is_none());
        }
        Step::ChangeRoute { name, is, .. } => assert!(routes.insert(name, is.public()).is_some()),
        Step::RemoveRoute { name } => assert!(routes.remove(&name).is_some()),
        Step::AddService { name, is } => assert!(services.insert(name, is).is_none()),
        Step::ChangeService { name, before, is } => assert_eq!(services.insert(name, *is), Some(before)),
        Step::RemoveService { name } => assert!(services.remove(&name).is_some()),
        Step::AddWorksheet { name, is } => assert!(worksheets.insert(name, is).is_none()),
        Step::ChangeWorksheet { name, before, is } => {
            assert_eq!(worksheets.insert(name, is), Some(before));
        }
        Step::RemoveWorksheet { name } => assert!(worksheets.remove(&name).is_some()),
        other => panic!("{other}"),
    }
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
                    matches!(
                        obstacle,
                        Obstacle::Smaller { .. } | Obstacle::NoAdministrator | Obstacle::NoUrl { .. }
                    )
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
        // What a file leaves open stays.
        let open = before.clone();
        expected.alerts = wanted.alerts.clone().or(open.alerts);
        expected.route = wanted.route.clone().or(open.route);
        expected.service = wanted.service.clone().or(open.service);
        expected.worksheet = wanted.worksheet.clone().or(open.worksheet);
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

fn routes(list: &[(&str, Route)]) -> State {
    let route = list.iter().map(|(name, route)| ((*name).to_owned(), route.clone())).collect();
    State { route: Some(route), ..State::default() }
}

fn services(list: &[(&str, &Service)]) -> State {
    let service = list.iter().map(|(name, service)| ((*name).to_owned(), (*service).clone())).collect();
    State { service: Some(service), ..State::default() }
}

/// Steps, then what is in the way.
fn lines(current: &State, wanted: &State) -> Vec<String> {
    let found = compare(current, wanted);
    let json = serde_json::to_string(&found.clone().public()).expect("JSON");
    assert!(!json.contains("hook7") && !json.contains("key7"), "{json}");
    let steps = found.steps.iter().map(ToString::to_string);
    steps.chain(found.obstacles.iter().map(ToString::to_string)).collect()
}

#[test]
fn a_route_keeps_what_lets_it_in_and_is_made_with_what_a_person_writes() {
    let slack = |url: &str| Route { target: webhook(url, WebhookForm::Slack), ..Route::default() };
    let pager = |secret: Option<&str>| Route {
        target: webhook("https://pd/v2", WebhookForm::Pagerduty),
        secret: secret.map(|text| Secret(text.to_owned())),
        ..Route::default()
    };
    let (none, there) = (routes(&[]), routes(&[("r", slack("https://a/…"))]));
    let whole = routes(&[("r", slack("https://a/hook7"))]);
    assert_eq!(
        lines(&none, &there),
        ["route r: the file has not its whole URL, which is told to nobody: write it there"]
    );
    assert_eq!(lines(&none, &whole), ["route r: add, slack:https://a/…"]);
    assert_eq!(lines(&there, &whole), [""; 0], "it has that URL, as far as it is told");
    let disabled = Route { disabled: true, ..slack("https://a/hook7") };
    let found = compare(&there, &routes(&[("r", disabled)]));
    assert_eq!(found.steps[0].to_string(), "route r: set disabled=on (is off)");
    let keeps = |step: &Step| matches!(step, Step::ChangeRoute { is, .. } if is.lacks_url());
    assert!(keeps(&found.steps[0]), "{found:?}");
    assert_eq!(
        lines(&there, &routes(&[("r", slack("https://b/hook7"))])),
        ["route r: set target.webhook.url=https://b/… (is https://a/…)"]
    );
    let elsewhere = lines(&there, &routes(&[("r", slack("https://b/…"))]));
    assert!(elsewhere.iter().any(|line| line.ends_with("write it there")), "{elsewhere:?}");
    assert_eq!(
        lines(&none, &routes(&[("p", pager(None))])),
        ["route p: PagerDuty takes a routing key: write it into the file as its 'secret'"]
    );
    assert_eq!(
        lines(&none, &routes(&[("p", pager(Some("key7")))])),
        ["route p: add, pagerduty:https://pd/…"]
    );
    assert_eq!(lines(&there, &State::default()), [""; 0], "a file may say nothing of routes");
    assert_eq!(lines(&there, &none), ["route r: remove, with its secret"]);
}

#[test]
fn a_service_is_made_set_and_taken_away_and_stays_of_its_kind() {
    let mut random = Prng::new(1);
    let (snap, scrub) = (random_service(&mut random, 3), random_service(&mut random, 0));
    let mut spec = snap.spec.clone();
    if let ServiceSpec::AutoSnap(policy) = &mut spec {
        policy.budget.snapshots = 10;
        policy.targets[0].guid = Some(7);
    }
    let set = Service::new(!snap.disabled, spec);
    let there = services(&[("s", &snap)]);
    let steps = lines(&there, &services(&[("s", &set)]));
    assert!(steps.len() == 1 && steps[0].starts_with("service s: set disabled="), "{steps:?}");
    assert!(steps[0].ends_with("spec.budget.snapshots=10 (is 9)"), "{steps:?}");
    let sync = |guid| {
        ServiceSpec::AutoSync(AutoSyncPolicy {
            source: SnapTarget { dataset: "tank".into(), guid, recursive: true, exclude: Vec::new() },
            origin: SyncOrigin::Here,
            target: SyncTarget::Pool { dataset: "backup/tank".into() },
            schedule: Schedule { when: When::Hour { step: 1, minute: 0 }, zone: None },
            keep: SyncKeep::default(),
            absence: SyncAbsence::default(),
            limits: Vec::new(),
            lag: None,
            stuck_after: 600,
        })
    };
    let (here, file) = (Service::new(false, sync(Some(7))), Service::new(false, sync(None)));
    assert_eq!(lines(&services(&[("s", &here)]), &services(&[("s", &file)])), [""; 0]);
    let kinds = lines(&there, &services(&[("s", &scrub)]));
    assert_eq!(kinds, ["service s: is auto-snap and cannot become auto-scrub"]);
    assert_eq!(lines(&there, &services(&[])), ["service s: remove; what it has made stays"]);
    assert_eq!(lines(&there, &State::default()), [""; 0], "a file may say nothing of services");
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

#[test]
fn a_worksheet_is_kept_changed_and_taken_away_and_a_file_may_say_nothing_of_them() {
    let mut random = Prng::new(5);
    let worksheets = |list: &[&Worksheet]| {
        let named = list.iter().map(|one| ("who writes".to_owned(), (*one).clone())).collect();
        State { worksheet: Some(named), ..State::default() }
    };
    let mut one = Worksheet { panes: random_worksheet(&mut random).panes.drain(..1).collect() };
    one.panes[0].alert = None;
    let mut watched = one.clone();
    watched.panes[0].alert =
        Some(PaneAlert { measure: PaneMeasure::P99, above: 5, seconds: 60, values: None });
    let (none, there) = (worksheets(&[]), worksheets(&[&one]));
    let added = "worksheet who writes: add, 1 pane with 0 alerts";
    assert_eq!(lines(&none, &there), [added]);
    let changed = lines(&there, &worksheets(&[&watched]));
    assert!(
        changed.len() == 1 && changed[0].starts_with("worksheet who writes: 1 pane with 1 alert, set panes=")
    );
    assert_eq!(lines(&there, &none), ["worksheet who writes: remove, with its alerts"]);
    assert_eq!(lines(&there, &State::default()), [""; 0]);
}
