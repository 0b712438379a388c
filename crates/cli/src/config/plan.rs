//! How an appliance differs from a file, and the steps that change that: a pure function of both.
//!
//! Invariants: no step destroys a dataset or makes one smaller, and none takes anything away but
//! those that say so (`takes_away`). Each step can be done when those before it are. When all are
//! done, no step is left.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use api_types::{AlertSettings, DEFAULT_VOLBLOCKSIZE, PropertyDef, RouteTarget, WebhookForm, WebhookRoute};
use serde::Serialize;
use serde_json::Value;

use super::state::{
    Account, Dataset, Kind, Known, Route, Service, State, Worksheet, revealed, shown, unset_value,
};
use crate::alert::shown as shown_value;
use crate::notify::place;
use crate::props::{Domain, ISCSI};
use crate::table::plain;

/// Space that is kept, and follows a volume's size where nobody says otherwise.
const RESERVATIONS: [&str; 2] = ["refreservation", "reservation"];

/// One change, which is done or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Step {
    /// With all but its mapping and what is delegated.
    Create {
        dataset: String,
        is: Dataset,
    },
    Grow {
        dataset: String,
        from: u64,
        to: u64,
    },
    Set {
        dataset: String,
        property: String,
        before: Option<String>,
        value: String,
    },
    /// It is inherited again, or has its default.
    Unset {
        dataset: String,
        property: String,
        before: String,
    },
    Allow {
        dataset: String,
        who: String,
        permissions: Vec<String>,
    },
    Unallow {
        dataset: String,
        who: String,
        permissions: Vec<String>,
    },
    AddUser {
        name: String,
        account: Account,
    },
    ChangeUser {
        name: String,
        before: Account,
        account: Account,
    },
    RemoveUser {
        name: String,
    },
    Tune {
        name: String,
        before: u64,
        value: u64,
    },
    /// Back to its default.
    Untune {
        name: String,
        before: u64,
        value: u64,
    },
    Log {
        before: String,
        filter: String,
    },
    Alerts {
        before: AlertSettings,
        settings: AlertSettings,
    },
    AddRoute {
        name: String,
        is: Route,
    },
    /// It keeps its secret, and a URL that is the same as far as it is told.
    ChangeRoute {
        name: String,
        before: Route,
        is: Route,
    },
    RemoveRoute {
        name: String,
    },
    AddService {
        name: String,
        is: Service,
    },
    ChangeService {
        name: String,
        before: Service,
        is: Box<Service>,
    },
    RemoveService {
        name: String,
    },
    AddWorksheet {
        name: String,
        is: Worksheet,
    },
    ChangeWorksheet {
        name: String,
        before: Worksheet,
        is: Worksheet,
    },
    RemoveWorksheet {
        name: String,
    },
}

/// Why a file cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "obstacle", rename_all = "kebab-case")]
pub enum Obstacle {
    NoPool {
        pool: String,
    },
    NoParent {
        dataset: String,
        parent: String,
    },
    Kind {
        dataset: String,
        is: Kind,
        wanted: Kind,
    },
    Fixed {
        dataset: String,
        property: String,
        is: String,
        wanted: String,
    },
    Smaller {
        dataset: String,
        is: u64,
        wanted: u64,
    },
    Encrypted {
        dataset: String,
    },
    NoSecret {
        dataset: String,
    },
    UidTaken {
        name: String,
        uid: u32,
        by: String,
    },
    /// The daemon keeps one where there was one.
    NoAdministrator,
    NoTunable {
        name: String,
    },
    OutOfRange {
        tunable: String,
        value: u64,
        min: u64,
        max: u64,
    },
    /// Of a webhook that is to be made, or to go to another host.
    NoUrl {
        route: String,
    },
    NoRoutingKey {
        route: String,
    },
    ServiceKind {
        service: String,
        is: String,
        wanted: String,
    },
}

/// A difference that no step changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "untouched", rename_all = "kebab-case")]
pub enum Untouched {
    /// The file does not have it.
    Pool {
        pool: String,
    },
    Dataset {
        dataset: String,
    },
    /// The file has none.
    Administrator {
        name: String,
    },
    /// Only a stream makes such a value.
    Received {
        dataset: String,
        property: String,
        is: Option<String>,
        wanted: Option<String>,
    },
}

/// All that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Comparison {
    pub steps: Vec<Step>,
    pub untouched: Vec<Untouched>,
    pub obstacles: Vec<Obstacle>,
}

impl Comparison {
    /// Without what is secret.
    pub fn public(self) -> Comparison {
        Comparison { steps: self.steps.iter().map(Step::public).collect(), ..self }
    }

    pub fn is_equal(&self) -> bool {
        self.steps.is_empty() && self.untouched.is_empty() && self.obstacles.is_empty()
    }
}

/// The steps from `current` to `wanted`, in order, and what they leave; else all that stands in the
/// way.
pub fn plan(current: &State, wanted: &State) -> Result<(Vec<Step>, Vec<Untouched>), Vec<Obstacle>> {
    let Comparison { steps, untouched, obstacles } = compare(current, wanted);
    if obstacles.is_empty() { Ok((steps, untouched)) } else { Err(obstacles) }
}

/// How two differ.
pub fn compare(current: &State, wanted: &State) -> Comparison {
    let mut found = Comparison::default();
    let pools: BTreeSet<&str> = wanted.dataset.keys().map(|name| pool_of(name)).collect();
    let missing = pools.iter().filter(|pool| !current.dataset.contains_key(**pool));
    found.obstacles.extend(missing.map(|pool| Obstacle::NoPool { pool: (*pool).to_owned() }));
    for (name, dataset) in &wanted.dataset {
        if current.dataset.contains_key(pool_of(name)) {
            found.compare_dataset(name, current, wanted, dataset);
        }
    }
    found.find_others(current, wanted, &pools);
    found.compare_users(current, wanted);
    found.compare_machine(current, wanted);
    found.compare_routes(current, wanted);
    found.compare_services(current, wanted);
    found.compare_worksheets(current, wanted);
    found.steps.sort_by_key(|step| (rank(step), number(step)));
    found
}

fn pool_of(name: &str) -> &str {
    name.split_once('/').map_or(name, |(pool, _)| pool)
}

/// What has to be done first. Steps of one rank stay in their order: datasets before those below.
fn rank(step: &Step) -> u8 {
    let falls = |before: &Option<String>, value: &str| {
        let bytes = |text: &str| text.parse::<u64>().unwrap_or(0);
        before.as_deref().is_some_and(|before| bytes(value) < bytes(before))
    };
    match step {
        // A number that is taken stops all before anything else is done.
        Step::AddUser { .. } => 0,
        // Space that is given up has room for what follows, and lets quotas fall.
        Step::Unset { .. } => 1,
        Step::Set { property, before, value, .. }
            if RESERVATIONS.contains(&property.as_str()) && falls(before, value) =>
        {
            1
        }
        Step::Set { property, .. } if property == ISCSI => 4,
        Step::Create { .. } | Step::Grow { .. } | Step::Set { .. } => 2,
        Step::Allow { .. } => 3,
        Step::Tune { .. }
        | Step::Log { .. }
        | Step::Alerts { .. }
        | Step::AddRoute { .. }
        | Step::ChangeRoute { .. }
        | Step::AddService { .. }
        | Step::ChangeService { .. }
        | Step::AddWorksheet { .. }
        | Step::ChangeWorksheet { .. } => 5,
        Step::Unallow { .. }
        | Step::Untune { .. }
        | Step::RemoveRoute { .. }
        | Step::RemoveService { .. }
        | Step::RemoveWorksheet { .. } => 6,
        // There is always an administrator; and who does all this may lose his own rights by it.
        Step::ChangeUser { account, .. } if account.is_administrator() => 7,
        Step::ChangeUser { .. } => 8,
        Step::RemoveUser { .. } => 9,
    }
}

/// In which order accounts are added: one gets no number below those that others had before, and
/// who takes whatever is free comes last.
fn number(step: &Step) -> u32 {
    match step {
        Step::AddUser { account, .. } => account.uid.unwrap_or(u32::MAX),
        _ => 0,
    }
}

impl Comparison {
    fn compare_dataset(&mut self, name: &str, current: &State, wanted: &State, dataset: &Dataset) {
        let block = |of: &Dataset| of.created.get("volblocksize").and_then(|block| block.parse().ok());
        let is = current.dataset.get(name);
        let block = is.and_then(block).or_else(|| block(dataset)).unwrap_or(DEFAULT_VOLBLOCKSIZE).max(1);
        // A volume has whole blocks.
        let size = dataset.volsize.map(|size| size.checked_next_multiple_of(block).unwrap_or(size));
        let nothing = Dataset::default();
        match is {
            None => self.create(name, current, wanted, &Dataset { volsize: size, ..dataset.clone() }),
            Some(is) if is.kind != dataset.kind => {
                let (dataset, is, wanted) = (name.to_owned(), is.kind, dataset.kind);
                self.obstacles.push(Obstacle::Kind { dataset, is, wanted });
                return;
            }
            Some(is) => self.change(name, is, &Dataset { volsize: size, ..dataset.clone() }),
        }
        let is = is.unwrap_or(&nothing);
        self.compare_mapping(name, is, dataset);
        self.compare_grants(name, is, dataset);
        let names = is.received.keys().chain(dataset.received.keys());
        let mut names: Vec<&String> =
            names.filter(|name| is.received.get(*name) != dataset.received.get(*name)).collect();
        names.sort_unstable();
        names.dedup();
        let of = |map: &BTreeMap<String, String>, name: &str| map.get(name).map(|value| shown(name, value));
        self.untouched.extend(names.into_iter().map(|property| Untouched::Received {
            dataset: name.to_owned(),
            property: property.clone(),
            is: of(&is.received, property),
            wanted: of(&dataset.received, property),
        }));
    }

    fn create(&mut self, name: &str, current: &State, wanted: &State, dataset: &Dataset) {
        let parent = name.rsplit_once('/').map_or("", |(parent, _)| parent);
        let is_there =
            |state: &State| state.dataset.get(parent).is_some_and(|is| is.kind == Kind::Filesystem);
        if !is_there(current) && !is_there(wanted) {
            self.obstacles.push(Obstacle::NoParent { dataset: name.to_owned(), parent: parent.to_owned() });
        }
        if dataset.created.get("encryption").is_some_and(|value| value != "off") {
            self.obstacles.push(Obstacle::Encrypted { dataset: name.to_owned() });
        }
        let mut is = Dataset { received: BTreeMap::new(), allow: BTreeMap::new(), ..dataset.clone() };
        is.properties.remove(ISCSI);
        self.steps.push(Step::Create { dataset: name.to_owned(), is });
    }

    fn change(&mut self, name: &str, is: &Dataset, dataset: &Dataset) {
        for (property, wanted) in &dataset.created {
            let is = is.created.get(property).cloned().unwrap_or_else(|| unset_at_creation(property));
            if is != *wanted {
                let (dataset, property, wanted) = (name.to_owned(), property.clone(), wanted.clone());
                self.obstacles.push(Obstacle::Fixed { dataset, property, is, wanted });
            }
        }
        let mut grows = false;
        if let (Some(from), Some(to)) = (is.volsize, dataset.volsize) {
            grows = from < to;
            let name = || name.to_owned();
            if grows {
                self.steps.push(Step::Grow { dataset: name(), from, to });
            } else if from > to {
                self.obstacles.push(Obstacle::Smaller { dataset: name(), is: from, wanted: to });
            }
        }
        for (property, value) in dataset.properties.iter().filter(|(property, _)| *property != ISCSI) {
            let before = is.properties.get(property).cloned().or_else(|| unset_value(property));
            let follows = grows && RESERVATIONS.contains(&property.as_str());
            if before.as_ref() == Some(value) && !follows {
                continue;
            }
            // With the size it has become another one than it was.
            let before = before.filter(|_| !follows);
            let (dataset, property, value) = (name.to_owned(), property.clone(), value.clone());
            self.steps.push(Step::Set { dataset, property, before, value });
        }
        for (property, before) in &is.properties {
            if !dataset.properties.contains_key(property) {
                let (dataset, property, before) = (name.to_owned(), property.clone(), before.clone());
                self.steps.push(Step::Unset { dataset, property, before });
            }
        }
    }

    /// Of a volume, how it is served; a file system may have the property for those below it.
    fn compare_mapping(&mut self, name: &str, is: &Dataset, dataset: &Dataset) {
        let Some(wanted) = dataset.properties.get(ISCSI) else { return };
        let before = is.properties.get(ISCSI);
        match revealed(wanted, before.map(String::as_str)) {
            None => self.obstacles.push(Obstacle::NoSecret { dataset: name.to_owned() }),
            Some(value) if before == Some(&value) => {}
            Some(value) => {
                let (dataset, property) = (name.to_owned(), ISCSI.to_owned());
                self.steps.push(Step::Set { dataset, property, before: before.cloned(), value });
            }
        }
    }

    fn compare_grants(&mut self, name: &str, is: &Dataset, dataset: &Dataset) {
        let nothing = Default::default();
        let mut whose: Vec<&String> = is.allow.keys().chain(dataset.allow.keys()).collect();
        whose.sort_unstable();
        whose.dedup();
        for who in whose {
            let of = |map: &'_ Dataset| map.allow.get(who).unwrap_or(&nothing).clone();
            let (has, wanted) = (of(is), of(dataset));
            let (dataset, who) = (name.to_owned(), who.clone());
            let more: Vec<String> = wanted.difference(&has).cloned().collect();
            let less: Vec<String> = has.difference(&wanted).cloned().collect();
            if !more.is_empty() {
                self.steps.push(Step::Allow {
                    dataset: dataset.clone(),
                    who: who.clone(),
                    permissions: more,
                });
            }
            if !less.is_empty() {
                self.steps.push(Step::Unallow { dataset, who, permissions: less });
            }
        }
    }

    /// Datasets that the file does not have; a pool that it does not have is told once.
    fn find_others(&mut self, current: &State, wanted: &State, pools: &BTreeSet<&str>) {
        for name in current.dataset.keys().filter(|name| !wanted.dataset.contains_key(*name)) {
            let untouched = match pools.contains(pool_of(name)) {
                true => Untouched::Dataset { dataset: name.clone() },
                false if pool_of(name) == name => Untouched::Pool { pool: name.clone() },
                false => continue,
            };
            self.untouched.push(untouched);
        }
    }

    fn compare_users(&mut self, current: &State, wanted: &State) {
        let mut owners: BTreeMap<u32, BTreeSet<&String>> = BTreeMap::new();
        let users = current.user.iter().chain(&wanted.user);
        for (name, uid) in users.filter_map(|(name, account)| Some((name, account.uid?))) {
            owners.entry(uid).or_default().insert(name);
        }
        for (name, account) in &wanted.user {
            let is = current.user.get(name);
            if let Some(uid) = account.uid
                && let Some(by) = owners[&uid].iter().find(|other| **other != name)
            {
                let (name, by) = (name.clone(), (*by).clone());
                self.obstacles.push(Obstacle::UidTaken { name, uid, by });
            }
            let (name, account) = (name.clone(), account.clone());
            match is {
                None => self.steps.push(Step::AddUser { name, account }),
                Some(is) => {
                    let account = Account { uid: account.uid.or(is.uid), ..account };
                    if *is != account {
                        self.steps.push(Step::ChangeUser { name, before: is.clone(), account });
                    }
                }
            }
        }
        let has_administrator = |state: &State| state.user.values().any(Account::is_administrator);
        let keeps = has_administrator(current) && !has_administrator(wanted);
        let gone = current.user.iter().filter(|(name, _)| !wanted.user.contains_key(*name));
        let (kept, gone): (Vec<_>, Vec<_>) = gone.partition(|(_, is)| keeps && is.is_administrator());
        if keeps && kept.is_empty() {
            self.obstacles.push(Obstacle::NoAdministrator);
        }
        self.untouched
            .extend(kept.iter().map(|(name, _)| Untouched::Administrator { name: (*name).clone() }));
        self.steps.extend(gone.iter().map(|(name, _)| Step::RemoveUser { name: (*name).clone() }));
    }

    fn compare_machine(&mut self, current: &State, wanted: &State) {
        for (name, &value) in &wanted.tunable {
            let Some(&Known { default, min, max }) = current.known.get(name) else {
                self.obstacles.push(Obstacle::NoTunable { name: name.clone() });
                continue;
            };
            let before = *current.tunable.get(name).unwrap_or(&default);
            if !(min..=max).contains(&value) {
                self.obstacles.push(Obstacle::OutOfRange { tunable: name.clone(), value, min, max });
            } else if before != value {
                self.steps.push(Step::Tune { name: name.clone(), before, value });
            }
        }
        for (name, &before) in current.tunable.iter().filter(|(name, _)| !wanted.tunable.contains_key(*name))
        {
            let value = current.known.get(name).map_or(before, |known| known.default);
            self.steps.push(Step::Untune { name: name.clone(), before, value });
        }
        if let (Some(before), Some(filter)) = (&current.log, &wanted.log)
            && before != filter
        {
            self.steps.push(Step::Log { before: before.clone(), filter: filter.clone() });
        }
        if let (Some(before), Some(settings)) = (&current.alerts, &wanted.alerts)
            && before != settings
        {
            self.steps.push(Step::Alerts { before: before.clone(), settings: settings.clone() });
        }
    }

    fn compare_routes(&mut self, current: &State, wanted: &State) {
        let (Some(there), Some(wanted)) = (&current.route, &wanted.route) else { return };
        for (name, route) in wanted {
            let before = there.get(name);
            // A webhook keeps its URL while it goes to the same host.
            let keeps = before.is_some_and(|it| url(it).is_some() && url(it) == url(&route.public()));
            let is = if keeps { route.public() } else { route.clone() };
            if is.lacks_url() && !keeps {
                self.obstacles.push(Obstacle::NoUrl { route: name.clone() });
                continue;
            }
            let name = name.clone();
            match before {
                None if takes_key(&is) && is.secret.is_none() => {
                    self.obstacles.push(Obstacle::NoRoutingKey { route: name });
                }
                None => self.steps.push(Step::AddRoute { name, is }),
                Some(before) => {
                    let is = Route { secret: None, ..is };
                    if *before != is {
                        self.steps.push(Step::ChangeRoute { name, before: before.clone(), is });
                    }
                }
            }
        }
        let gone = there.keys().filter(|name| !wanted.contains_key(*name));
        self.steps.extend(gone.map(|name| Step::RemoveRoute { name: name.clone() }));
    }

    fn compare_services(&mut self, current: &State, wanted: &State) {
        let (Some(there), Some(wanted)) = (&current.service, &wanted.service) else { return };
        for (name, service) in wanted {
            let (name, is) = (name.clone(), service.clone());
            match there.get(&name) {
                None => self.steps.push(Step::AddService { name, is }),
                Some(before) if before.spec.kind() != is.spec.kind() => {
                    let (is, wanted) =
                        (before.spec.kind().word().to_owned(), is.spec.kind().word().to_owned());
                    self.obstacles.push(Obstacle::ServiceKind { service: name, is, wanted });
                }
                Some(before) if *before != is => {
                    self.steps.push(Step::ChangeService { name, before: before.clone(), is: Box::new(is) });
                }
                Some(_) => {}
            }
        }
        let gone = there.keys().filter(|name| !wanted.contains_key(*name));
        self.steps.extend(gone.map(|name| Step::RemoveService { name: name.clone() }));
    }

    fn compare_worksheets(&mut self, current: &State, wanted: &State) {
        let (Some(there), Some(wanted)) = (&current.worksheet, &wanted.worksheet) else { return };
        for (name, is) in wanted {
            let (name, is) = (name.clone(), is.clone());
            match there.get(&name) {
                None => self.steps.push(Step::AddWorksheet { name, is }),
                Some(before) if *before != is => {
                    self.steps.push(Step::ChangeWorksheet { name, before: before.clone(), is });
                }
                Some(_) => {}
            }
        }
        let gone = there.keys().filter(|name| !wanted.contains_key(*name));
        self.steps.extend(gone.map(|name| Step::RemoveWorksheet { name: name.clone() }));
    }
}

/// Where a webhook goes.
fn url(route: &Route) -> Option<&str> {
    match &route.target {
        RouteTarget::Webhook(webhook) => Some(&webhook.url),
        RouteTarget::Mail(_) | RouteTarget::Syslog(_) => None,
    }
}

/// Whether the daemon takes such a route with a secret alone.
fn takes_key(route: &Route) -> bool {
    matches!(route.target, RouteTarget::Webhook(WebhookRoute { form: WebhookForm::Pagerduty, .. }))
}

/// A property of creation that an appliance does not tell is at its default.
fn unset_at_creation(property: &str) -> String {
    Domain::Dataset.definition(property).map(PropertyDef::default_text).unwrap_or_default()
}

impl Step {
    /// Whether something is lost by it: it is done only where that was asked for.
    pub fn takes_away(&self) -> bool {
        matches!(
            self,
            Step::Unset { .. }
                | Step::Unallow { .. }
                | Step::RemoveUser { .. }
                | Step::Untune { .. }
                | Step::RemoveRoute { .. }
                | Step::RemoveService { .. }
                | Step::RemoveWorksheet { .. }
        )
    }

    /// Without what is secret.
    pub fn public(&self) -> Step {
        let mut step = self.clone();
        match &mut step {
            Step::Set { property, before, value, .. } => {
                *value = shown(property, value);
                *before = before.take().map(|before| shown(property, &before));
            }
            Step::Unset { property, before, .. } => *before = shown(property, before),
            Step::AddRoute { is, .. } | Step::ChangeRoute { is, .. } => *is = is.public(),
            _ => {}
        }
        step
    }
}

/// In words, on one line, without what is secret.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.public() {
            Step::Create { dataset, is } => {
                let size = is.volsize.map(|size| format!(" of {size} bytes")).unwrap_or_default();
                let pairs = is.created.iter().chain(&is.properties);
                let pairs: String = pairs.map(|(name, value)| format!(" {name}={value}")).collect();
                let with = if pairs.is_empty() { "" } else { " with" };
                format!("{dataset}: make a {}{size}{with}{pairs}", words_of(is.kind))
            }
            Step::Grow { dataset, from, to } => format!("{dataset}: grow from {from} to {to} bytes"),
            Step::Set { dataset, property, before, value } => {
                let before = before.map(|before| format!(" (is {before})")).unwrap_or_default();
                format!("{dataset}: set {property}={value}{before}")
            }
            Step::Unset { dataset, property, before } => {
                let again = if unset_value(&property).is_some() { "reset" } else { "inherit" };
                format!("{dataset}: {again} {property} (is {before})")
            }
            Step::Allow { dataset, who, permissions } => {
                format!("{dataset}: allow {who}: {}", permissions.join(","))
            }
            Step::Unallow { dataset, who, permissions } => {
                format!("{dataset}: take from {who}: {}", permissions.join(","))
            }
            Step::AddUser { name, account } => format!(
                "user {name}: add, {}; cannot log in until 'cistern user change {name} --password'",
                account_words(&account)
            ),
            Step::ChangeUser { name, before, account } => {
                format!("user {name}: {} (is {})", account_words(&account), account_words(&before))
            }
            Step::RemoveUser { name } => format!("user {name}: remove, with sessions and tokens"),
            Step::Tune { name, before, value } => format!("tunable {name}: {value} (is {before})"),
            Step::Untune { name, before, value } => format!("tunable {name}: back to {value} (is {before})"),
            Step::Log { before, filter } => format!("log: {filter} (is {before})"),
            Step::Alerts { before, settings } => {
                format!("alerts: set {}", differences(&before, &settings))
            }
            Step::AddRoute { name, is } => {
                format!("route {name}: add, {}{}", place(&is.target), off(is.disabled))
            }
            Step::ChangeRoute { name, before, is } => {
                format!("route {name}: set {}", differences(&before, &is))
            }
            Step::RemoveRoute { name } => format!("route {name}: remove, with its secret"),
            Step::AddService { name, is } => {
                format!("service {name}: add, {}{}", is.spec.kind().word(), off(is.disabled))
            }
            Step::ChangeService { name, before, is } => {
                format!("service {name}: set {}", differences(&before, &is))
            }
            Step::RemoveService { name } => {
                format!("service {name}: remove; what it has made stays")
            }
            Step::AddWorksheet { name, is } => {
                format!("worksheet {name}: add, {}", panes(&is))
            }
            Step::ChangeWorksheet { name, before, is } => {
                format!("worksheet {name}: {}, set {}", panes(&is), differences(&before, &is))
            }
            Step::RemoveWorksheet { name } => format!("worksheet {name}: remove, with its alerts"),
        };
        f.write_str(&plain(&text))
    }
}

fn panes(worksheet: &Worksheet) -> String {
    let alerts = worksheet.panes.iter().filter(|pane| pane.alert.is_some()).count();
    let count = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    format!("{} with {}", count(worksheet.panes.len(), "pane"), count(alerts, "alert"))
}

fn off(disabled: bool) -> &'static str {
    if disabled { ", disabled" } else { "" }
}

/// What is another value in the second: `a.b=2 (is 1)`. A list counts as one value.
fn differences(before: &impl Serialize, is: &impl Serialize) -> String {
    let mut found = Vec::new();
    match (serde_json::to_value(before), serde_json::to_value(is)) {
        (Ok(before), Ok(is)) => add_differences("", &before, &is, &mut found),
        // What JSON cannot have is nothing of ours.
        (Err(error), _) | (_, Err(error)) => found.push(error.to_string()),
    }
    found.join(", ")
}

fn add_differences(name: &str, before: &Value, is: &Value, found: &mut Vec<String>) {
    match (before, is) {
        (Value::Object(old), Value::Object(new)) => {
            let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for key in names {
                let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or(Value::Null);
                let dot = if name.is_empty() { "" } else { "." };
                add_differences(&format!("{name}{dot}{key}"), &of(old), &of(new), found);
            }
        }
        _ if before != is => found.push(format!("{name}={} (is {})", shown_value(is), shown_value(before))),
        _ => {}
    }
}

fn words_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Filesystem => "file system",
        Kind::Volume => "volume",
    }
}

fn account_words(account: &Account) -> String {
    let uid = account.uid.map(|uid| format!(", number {uid}")).unwrap_or_default();
    format!("{}{uid}{}", account.role.word(), if account.disabled { ", disabled" } else { "" })
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Obstacle::NoPool { pool } => {
                format!("there is no pool '{pool}': make it by 'zpool create', or import it")
            }
            Obstacle::NoParent { dataset, parent } => {
                format!("{dataset}: '{parent}' is no file system, neither here nor in the file")
            }
            Obstacle::Kind { dataset, is, wanted } => {
                format!("{dataset}: is a {} and cannot become a {}", words_of(*is), words_of(*wanted))
            }
            Obstacle::Fixed { dataset, property, is, wanted } => {
                format!("{dataset}: has {property}={is} since it was made, and cannot get {wanted}")
            }
            Obstacle::Smaller { dataset, is, wanted } => {
                format!("{dataset}: has {is} bytes, and is not made smaller: the file says {wanted}")
            }
            Obstacle::Encrypted { dataset } => {
                format!("{dataset}: no encrypted dataset is made from a file, for that has no key")
            }
            Obstacle::NoSecret { dataset } => {
                format!(
                    "{dataset}: its CHAP secret is not in the file: write it there, or export with --secrets"
                )
            }
            Obstacle::UidTaken { name, uid, by } => format!("user {name}: {by} has the number {uid}"),
            Obstacle::NoAdministrator => "the file has no administrator, and none would be left".to_owned(),
            Obstacle::NoTunable { name } => format!("there is no tunable '{name}'"),
            Obstacle::OutOfRange { tunable, value, min, max } => {
                format!("tunable {tunable}: {value} is not between {min} and {max}")
            }
            Obstacle::NoUrl { route } => {
                format!(
                    "route {route}: the file has not its whole URL, which is told to nobody: write it there"
                )
            }
            Obstacle::NoRoutingKey { route } => {
                format!(
                    "route {route}: PagerDuty takes a routing key: write it into the file as its 'secret'"
                )
            }
            Obstacle::ServiceKind { service, is, wanted } => {
                format!("service {service}: is {is} and cannot become {wanted}")
            }
        };
        f.write_str(&plain(&text))
    }
}

impl fmt::Display for Untouched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Untouched::Pool { pool } => format!("pool {pool}: not in the file, stays as it is"),
            Untouched::Dataset { dataset } => format!("{dataset}: not in the file, stays as it is"),
            Untouched::Administrator { name } => {
                format!("user {name}: not in the file, stays as it is, for the file has no administrator")
            }
            Untouched::Received { dataset, property, is, wanted } => {
                let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
                let (is, wanted) = (word(is), word(wanted));
                format!(
                    "{dataset}: a stream brought {is} for {property}, in the file {wanted}; 'apply' cannot set that"
                )
            }
        };
        f.write_str(&plain(&text))
    }
}

#[cfg(test)]
pub mod tests;
