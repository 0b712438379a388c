//! What an appliance is set to, as data: of one that runs, or as a file wants it.
//!
//! Invariants: a value that means the same as another is the same text (`canonical`); a map has
//! each name once, in order, so that a dataset comes before those below it.

use std::collections::{BTreeMap, BTreeSet};

use api_types::{
    AlertSettings, DatasetKind, Edit, Grant, Grantee, PropType, Role, RouteTarget, Secret, ServiceSpec,
    Setting, Severity, WorksheetPane, is_dataset_at_property, is_user_property,
};
use serde::{Deserialize, Serialize};
use stdx::number;

use crate::props::{Domain, ISCSI};
use crate::zfs::is_permission;

/// Longest value of a property, in bytes (`ZAP_MAXVALUELEN` counts a terminator, too).
const LONGEST_VALUE: usize = 8191;
/// What stands for a secret that is not told; no secret is as short.
pub const WITHHELD: &str = "********";
/// Options of a mapping that are secret, whose secret each is, and how the daemon shows it.
const SECRETS: [(&str, &str, &str); 2] =
    [("secret", "user", "sealed"), ("mutual_secret", "mutual_user", "mutual_sealed")];

/// Properties that are set, and no part of `properties`: the size of a volume has a place of its
/// own, the version of a file system follows from the pool.
const OTHERWISE: [&str; 2] = ["volsize", "version"];

/// What datasets keep of services (`services::property`): a file has services under their names.
const SERVICES: &str = "cistern:services";

/// Of the form that this program reads and writes.
pub const VERSION: u32 = 1;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct State {
    pub version: u32,
    /// What the daemon logs; a file may leave it open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// Those that were turned.
    pub tunable: BTreeMap<String, u64>,
    #[serde(deserialize_with = "super::file::users")]
    pub user: BTreeMap<String, Account>,
    /// From where on something is an alert; a file may leave it open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alerts: Option<AlertSettings>,
    /// Whom alerts are told; a file may leave it open.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "super::file::routes")]
    pub route: Option<BTreeMap<String, Route>>,
    /// What looks after the data; a file may leave it open.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "super::file::services")]
    pub service: Option<BTreeMap<String, Service>>,
    /// Drill-downs that are kept, with their alerts; a file may leave them open.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "super::file::worksheets")]
    pub worksheet: Option<BTreeMap<String, Worksheet>>,
    #[serde(deserialize_with = "super::file::datasets")]
    pub dataset: BTreeMap<String, Dataset>,
    /// All tunables that an appliance has; no file has them.
    #[serde(skip)]
    pub known: BTreeMap<String, Known>,
    /// The last table of a file. A file that ends before it was not written whole.
    #[serde(skip_serializing)]
    pub end: Option<End>,
}

/// What a tunable is unless it is turned, and may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    pub default: u64,
    pub min: u64,
    pub max: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Account {
    pub role: Role,
    /// `None`: whatever is free.
    pub uid: Option<u32>,
    pub disabled: bool,
}

impl Account {
    /// And can log in.
    pub fn is_administrator(&self) -> bool {
        self.role == Role::Administrator && !self.disabled
    }
}

/// A route of alerts. What lets it in, its secret and the path of a webhook's URL, only people
/// write into a file; a route that is there keeps what it has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Route {
    pub target: RouteTarget,
    pub least: Severity,
    pub disabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<Secret>,
}

/// What stands for the rest of a URL that is not told.
const UNTOLD: &str = "/…";

impl Route {
    /// Without what lets it in: a URL as the daemon tells it.
    pub fn public(&self) -> Route {
        let mut route = Route { secret: None, ..self.clone() };
        if let RouteTarget::Webhook(webhook) = &mut route.target
            && let Some((scheme, rest)) = webhook.url.split_once("://")
        {
            let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
            webhook.url = format!("{scheme}://{host}{UNTOLD}");
        }
        route
    }

    /// Whether it is a webhook whose URL is not told whole.
    pub fn lacks_url(&self) -> bool {
        matches!(&self.target, RouteTarget::Webhook(webhook) if webhook.url.ends_with(UNTOLD))
    }

    /// Whether it has what lets it in, in the clear.
    pub fn tells_secret(&self) -> bool {
        *self != self.public()
    }
}

/// A worksheet of analytics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Worksheet {
    pub panes: Vec<WorksheetPane>,
}

/// A service, and whether it is at work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    #[serde(default)]
    pub disabled: bool,
    pub spec: ServiceSpec,
}

impl Service {
    /// Without the guids of its targets, which are of one machine.
    pub fn new(disabled: bool, mut spec: ServiceSpec) -> Service {
        match &mut spec {
            ServiceSpec::AutoSnap(policy) => policy.targets.iter_mut().for_each(|target| target.guid = None),
            ServiceSpec::AutoSync(policy) => policy.source.guid = None,
            ServiceSpec::AutoTier(policy) => policy.source.guid = None,
            ServiceSpec::AutoScrub(_) | ServiceSpec::AutoTrim(_) | ServiceSpec::Script(_) => {}
        }
        Service { disabled, spec }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    #[default]
    Filesystem,
    Volume,
}

impl From<Kind> for DatasetKind {
    fn from(kind: Kind) -> DatasetKind {
        match kind {
            Kind::Filesystem => DatasetKind::Filesystem,
            Kind::Volume => DatasetKind::Volume,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dataset {
    pub kind: Kind,
    /// Bytes of a volume.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "super::file::size")]
    pub volsize: Option<u64>,
    /// Properties that are given when it is made, and never again.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "super::file::created")]
    pub created: BTreeMap<String, String>,
    /// Those that are set here.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "super::file::properties")]
    pub properties: BTreeMap<String, String>,
    /// What a stream said; in force where nothing is set here.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "super::file::properties")]
    pub received: BTreeMap<String, String>,
    /// Permissions by whom they are for, see [`grants`].
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "super::file::grantees")]
    pub allow: BTreeMap<String, BTreeSet<String>>,
}

impl Dataset {
    /// What is wrong with it, whatever an appliance has.
    pub fn fault(&self) -> Option<String> {
        match (self.kind, self.volsize) {
            (Kind::Volume, None) => return Some("a volume needs a volsize".into()),
            (Kind::Volume, Some(0)) => return Some("a volume has a size".into()),
            (Kind::Filesystem, Some(_)) => return Some("a file system has no volsize".into()),
            _ => {}
        }
        let kind = DatasetKind::from(self.kind);
        let is_of = |name: &String| match Domain::Dataset.definition(name) {
            Some(def) => def.is_of(kind),
            None => is_user_property(name) || self.kind == Kind::Filesystem,
        };
        let name = self.created.keys().chain(self.properties.keys()).find(|name| !is_of(name))?;
        Some(format!("no {} has the property '{name}'", kind.name()))
    }
}

/// What a file says of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In `created`.
    Created,
    /// In `properties`.
    Properties,
    /// Nothing: it is computed, has a place of its own, or is another machine's.
    Nowhere,
}

/// Where a file has a property; names that are not those of listings are in no file.
pub fn place(name: &str) -> Place {
    let is_quota = |(stem, id): (&str, &str)| stem.ends_with("quota") && is_number(id);
    match Domain::Dataset.definition(name) {
        Some(def) if def.name != name || !def.is_listed() || OTHERWISE.contains(&name) => Place::Nowhere,
        Some(def) => match def.edit() {
            Edit::AtCreation => Place::Created,
            Edit::Always => Place::Properties,
            Edit::Never => Place::Nowhere,
        },
        None if name == SERVICES => Place::Nowhere,
        None if is_user_property(name) => Place::Properties,
        None if is_dataset_at_property(name) && name.split_once('@').is_some_and(is_quota) => {
            Place::Properties
        }
        None => Place::Nowhere,
    }
}

/// A number in the one form that it has.
fn is_number(text: &str) -> bool {
    text.parse::<u64>().is_ok_and(|number| number.to_string() == text)
}

/// What a property of a dataset itself reads while it is not set. `None`: that depends on those
/// above it.
pub fn unset_value(name: &str) -> Option<String> {
    match Domain::Dataset.definition(name) {
        Some(def) => (def.setting == Setting::Own).then(|| def.default_text()),
        None => is_dataset_at_property(name).then(|| "none".to_owned()),
    }
}

/// A value in the one form that all of its meaning have.
///
/// # Errors
/// In words what is wrong with it.
pub fn canonical(name: &str, value: &str) -> Result<String, String> {
    if value.len() > LONGEST_VALUE || value.contains('\0') {
        return Err(format!("a value of '{name}' has at most {LONGEST_VALUE} bytes, and no NUL"));
    }
    let number = |none: Option<u64>| match value {
        "none" if none.is_some() => Ok(value.to_owned()),
        value => Ok(match number::parse(value)? {
            number if Some(number) == none => "none".to_owned(),
            number => number.to_string(),
        }),
    };
    let Some(def) = Domain::Dataset.definition(name) else {
        return match () {
            () if name == ISCSI => mapping(value),
            () if is_dataset_at_property(name) => number(Some(0)),
            () => Ok(value.to_owned()),
        };
    };
    match def.kind {
        PropType::Text(_) => Ok(value.to_owned()),
        PropType::Number(_) => number(None).and_then(|text| match text.parse() {
            Ok(number) if !def.admits(number) => Err(format!("'{name}' must be {}", def.values)),
            _ => Ok(text),
        }),
        PropType::Limit(none) => number(Some(none)),
        PropType::Choice(..) => match def.number_of(value).and_then(|number| def.word_of(number)) {
            Some(word) => Ok(word.to_owned()),
            None => Err(format!("'{name}' must be one of '{}'", def.values)),
        },
    }
}

/// Options of a mapping: those with a value, and others.
fn options(mapping: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    mapping.split(',').map(|option| match option.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (option, None),
    })
}

fn joined(options: impl Iterator<Item = (String, Option<String>)>) -> String {
    let option = |(name, value): (String, Option<String>)| match value {
        Some(value) => format!("{name}={value}"),
        None => name,
    };
    options.map(option).collect::<Vec<_>>().join(",")
}

/// A mapping as files have it: its secrets are in the clear, or withheld.
fn mapping(value: &str) -> Result<String, String> {
    let mut list = Vec::new();
    for (name, value) in options(value) {
        let clear = SECRETS.iter().find(|(_, _, sealed)| *sealed == name).map(|(clear, ..)| *clear);
        if clear.is_some() && value != Some(WITHHELD) {
            return Err("a secret is written as itself: secret=… or mutual_secret=…".into());
        }
        list.push((clear.unwrap_or(name).to_owned(), value.map(str::to_owned)));
    }
    Ok(joined(list.into_iter()))
}

/// A value that may be shown.
pub fn shown(name: &str, value: &str) -> String {
    if name != ISCSI {
        return value.to_owned();
    }
    let hide = |(name, value): (&str, Option<&str>)| {
        let is_secret = SECRETS.iter().any(|(secret, _, sealed)| [*secret, *sealed].contains(&name));
        (name.to_owned(), value.map(|value| if is_secret { WITHHELD } else { value }.to_owned()))
    };
    joined(options(value).map(hide))
}

/// Whether a mapping has a secret, in the clear or withheld.
pub fn has_secret(name: &str, value: &str) -> bool {
    let is_secret = |option: &str| SECRETS.iter().any(|(secret, ..)| *secret == option);
    name == ISCSI && options(value).any(|(option, _)| is_secret(option))
}

/// Whether a mapping has a secret in the clear.
pub fn tells_secret(name: &str, value: &str) -> bool {
    name == ISCSI && shown(name, value) != value
}

/// A mapping with the secrets that it withholds, as the one that is there has them for the same
/// user. `None`: it has none.
pub fn revealed(wanted: &str, there: Option<&str>) -> Option<String> {
    let of = |text: &str, wanted: &str| {
        options(text).find(|(name, _)| *name == wanted).and_then(|(_, value)| value).map(str::to_owned)
    };
    let mut list = Vec::new();
    for (name, value) in options(wanted) {
        let whose = SECRETS.iter().find(|(secret, ..)| *secret == name).map(|(_, user, _)| *user);
        let value = match (whose, value) {
            (Some(user), Some(WITHHELD)) => {
                let there = there.filter(|there| of(there, user) == of(wanted, user))?;
                Some(of(there, name).filter(|secret| secret != WITHHELD)?)
            }
            (_, value) => value.map(str::to_owned),
        };
        list.push((name.to_owned(), value));
    }
    Some(joined(list.into_iter()))
}

/// Whom a grant is for, as files have it: `user 1000 local`, `group 5 descendent`, `everyone
/// local`, `creator`, `@set`; twice where it is for both.
pub fn grantees(grant: &Grant) -> Vec<String> {
    let who = match &grant.who {
        Grantee::User(id) => format!("user {id}"),
        Grantee::Group(id) => format!("group {id}"),
        Grantee::Everyone => "everyone".to_owned(),
        Grantee::Creator => return vec!["creator".to_owned()],
        Grantee::Set(name) => return vec![name.clone()],
    };
    let both = [(grant.local, "local"), (grant.descendent, "descendent")];
    both.iter().filter(|(is, _)| *is).map(|(_, place)| format!("{who} {place}")).collect()
}

/// The other way. `None`: it is none of these.
pub fn grant(who: &str, permissions: &BTreeSet<String>) -> Option<Grant> {
    let permissions = Some(permissions.iter().cloned().collect());
    let none = Grant { who: Grantee::Creator, local: false, descendent: false, permissions };
    if who == "creator" {
        return Some(none);
    }
    if who.starts_with('@') {
        return is_permission(who).then(|| Grant { who: Grantee::Set(who.to_owned()), ..none });
    }
    let (whom, place) = who.rsplit_once(' ')?;
    let who = match whom.split_once(' ') {
        None if whom == "everyone" => Grantee::Everyone,
        Some(("user", id)) if is_number(id) => Grantee::User(id.parse().ok()?),
        Some(("group", id)) if is_number(id) => Grantee::Group(id.parse().ok()?),
        _ => return None,
    };
    let (local, descendent) = (place == "local", place == "descendent");
    (local || descendent).then_some(Grant { who, local, descendent, ..none })
}

#[cfg(test)]
mod tests;
