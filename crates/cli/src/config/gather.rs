//! What an appliance is set to, as it answers.
//!
//! Each list is of one moment, and the lists are not of the same one: who changes something
//! meanwhile is in some of them, and not in others.

use std::collections::BTreeMap;

use api_types::refusal::Reason;
use api_types::{
    AlertRoute, DatasetInfo, DatasetKind, DatasetQuery, Delegation, IDENTITY, LogFilter, Me, PropValue, Role,
    RouteStatus, ServiceState, Source, SpaceUse, Spender, Tunable, User, is_of_machine, kind, routes,
};

use super::state::{
    Account, Dataset, Kind, Known, Place, Route, Service, State, VERSION, Worksheet, canonical, grantees,
    place, shown, unset_value,
};
use crate::client::{CallError, Client};
use crate::command::Io;
use crate::fail::{Stop, fail};
use crate::table::plain;
use crate::zfs::is_permission;

/// Properties of encryption, told only of what is encrypted.
const OF_KEYS: [&str; 3] = ["encryption", "keyformat", "pbkdf2iters"];

/// Asks for all of it, with the secrets of mappings where they are wanted. What is not known is
/// said.
pub fn gather(client: &Client, with_secrets: bool, io: &mut Io<'_>) -> Result<State, Stop> {
    must_be_administrator(client)?;
    let LogFilter { filter } = client.get(routes::LOG)?;
    let mut state = State { version: VERSION, log: Some(filter), ..State::default() };
    for Tunable { name, value, default, min, max, .. } in client.get::<Vec<Tunable>>(routes::TUNABLES)? {
        if value != default {
            state.tunable.insert(name.clone(), value);
        }
        state.known.insert(name, Known { default, min, max });
    }
    for User { name, role, uid, disabled, .. } in client.get::<Vec<User>>(routes::USERS)? {
        state.user.insert(name, Account { role, uid: Some(uid), disabled });
    }
    state.alerts = Some(client.get(routes::ALERT_SETTINGS)?);
    let told = client.get::<Vec<RouteStatus>>(routes::ALERT_ROUTES)?.into_iter().map(|status| status.route);
    let route = |AlertRoute { name, target, least, disabled, .. }| {
        (name, Route { target, least, disabled, secret: None })
    };
    state.route = Some(told.map(route).collect());
    let services: Vec<api_types::Service> = client.get(routes::SERVICES)?;
    let service = |service: api_types::Service| {
        (service.id, Service::new(service.state == ServiceState::Disabled, service.spec))
    };
    state.service = Some(services.into_iter().map(service).collect());
    let worksheets: Vec<api_types::Worksheet> = client.get(routes::WORKSHEETS)?;
    let worksheet = |api_types::Worksheet { name, panes, .. }| (name, Worksheet { panes });
    state.worksheet = Some(worksheets.into_iter().map(worksheet).collect());
    let datasets: Vec<DatasetInfo> = match with_secrets {
        true => client.post(routes::DATASET_SECRETS, &DatasetQuery::default())?,
        false => client.get(routes::DATASETS)?,
    };
    let mut altroots = BTreeMap::new();
    // What a pool keeps of the machine's state is nothing that an appliance is set to.
    for info in datasets.into_iter().filter(|info| !is_of_machine(&info.name)) {
        let pool = info.name.split('/').next().unwrap_or(&info.name);
        if !altroots.contains_key(pool) {
            altroots.insert(pool.to_owned(), altroot(client, pool)?);
        }
        let mut dataset = dataset(&info, &altroots[pool], io)?;
        if dataset.kind == Kind::Filesystem {
            add_quotas(client, &info.name, &mut dataset, io)?;
        }
        add_grants(client, &info.name, &mut dataset, io)?;
        state.dataset.insert(info.name, dataset);
    }
    Ok(state)
}

/// Others see a part of it, which would pass for all.
fn must_be_administrator(client: &Client) -> Result<(), Stop> {
    let me: Me = client.get(routes::ME)?;
    if me.role == Some(Role::Administrator) && me.dataset.is_none() {
        return Ok(());
    }
    let who = me.name.map_or_else(|| format!("user number {}", me.uid), |name| format!("'{name}'"));
    fail(format!(
        "permission denied: {who} may see only a part of the configuration; administrators see all of it"
    ))
}

/// The folder below which a pool is mounted for the time being; empty for none.
fn altroot(client: &Client, pool: &str) -> Result<String, Stop> {
    let path = format!("{}?names=altroot", routes::at(routes::POOL_PROPERTIES, pool));
    let props: Vec<PropValue> = client.get(&path)?;
    let root = props.into_iter().map(|prop| prop.value).find(|value| value.starts_with('/'));
    Ok(root.map_or_else(String::new, |root| root.trim_end_matches('/').to_owned()))
}

/// A mountpoint as the pool has it.
fn without_altroot(mountpoint: &str, altroot: &str) -> String {
    match mountpoint.strip_prefix(altroot) {
        Some("") if !altroot.is_empty() => "/".to_owned(),
        Some(below) if below.starts_with('/') => below.to_owned(),
        _ => mountpoint.to_owned(),
    }
}

fn dataset(info: &DatasetInfo, altroot: &str, io: &mut Io<'_>) -> Result<Dataset, Stop> {
    let kind = if info.kind == DatasetKind::Volume { Kind::Volume } else { Kind::Filesystem };
    let mut dataset = Dataset { kind, ..Dataset::default() };
    let is_off = |prop: &PropValue| ["", "off"].contains(&prop.value.as_str());
    let is_encrypted = info.props.iter().any(|prop| prop.name == "encryption" && !is_off(prop));
    for prop in &info.props {
        // What a newer daemon has and this program does not know stays as it is, but for secrets.
        let form = |value: &str| match prop.name.as_str() {
            "mountpoint" => without_altroot(value, altroot),
            name => canonical(name, value).unwrap_or_else(|_| shown(name, value)),
        };
        let is_of_keys = OF_KEYS.contains(&prop.name.as_str());
        match place(&prop.name) {
            Place::Created if !prop.value.is_empty() && (is_encrypted || !is_of_keys) => {
                dataset.created.insert(prop.name.clone(), form(&prop.value));
            }
            Place::Properties => add_property(&info.name, prop, form, &mut dataset, io)?,
            Place::Nowhere if prop.name == "volsize" => {
                let why = || Stop::Fail(format!("the daemon tells no size of '{}'", info.name));
                dataset.volsize = Some(prop.value.parse().map_err(|_| why())?);
            }
            Place::Created | Place::Nowhere => {}
        }
    }
    Ok(dataset)
}

fn add_property(
    name: &str,
    prop: &PropValue,
    form: impl Fn(&str) -> String,
    dataset: &mut Dataset,
    io: &mut Io<'_>,
) -> Result<(), Stop> {
    // Replication sets it, and nobody else can.
    if prop.name == IDENTITY {
        return Ok(());
    }
    if let Some(value) = &prop.received {
        dataset.received.insert(prop.name.clone(), form(value));
    }
    if prop.source == Source::Temporary {
        let property = &prop.name;
        writeln!(io.err, "{name}: what {property} is set to is not known while a mount says otherwise")?;
    }
    let value = form(&prop.value);
    if prop.source == Source::Local && unset_value(&prop.name).is_none_or(|unset| unset != value) {
        dataset.properties.insert(prop.name.clone(), value);
    }
    Ok(())
}

/// What users, groups and projects may use at most, which is set like a property.
fn add_quotas(client: &Client, name: &str, dataset: &mut Dataset, io: &mut Io<'_>) -> Result<(), Stop> {
    for of in [Spender::User, Spender::Group, Spender::Project] {
        let path = format!("{}?of={}", routes::at(routes::DATASET_SPACE_USE, name), of.name());
        let found: Vec<SpaceUse> = match client.get(&path) {
            Ok(found) => found,
            Err(CallError::Refused(problem)) => {
                let is_uncounted =
                    problem.refused.is_some_and(|refused| refused.reason == Reason::NotApplicable);
                if !is_uncounted && problem.kind != kind::KEY_NOT_LOADED && problem.kind != kind::UNSUPPORTED
                {
                    return fail(format!("cannot read quotas of '{name}': {}", problem.title));
                }
                if !is_uncounted {
                    writeln!(io.err, "{}: quotas of its {}s are not known", plain(name), of.name())?;
                }
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        for spender in found {
            let quotas = [("quota", spender.quota), ("objquota", spender.objects_quota)];
            for (stem, limit) in quotas {
                if let Some(limit) = limit.filter(|limit| *limit != 0) {
                    let property = format!("{}{stem}@{}", of.name(), spender.id);
                    dataset.properties.insert(property, limit.to_string());
                }
            }
        }
    }
    Ok(())
}

fn add_grants(client: &Client, name: &str, dataset: &mut Dataset, io: &mut Io<'_>) -> Result<(), Stop> {
    let found: Vec<Delegation> = client.get(&routes::at(routes::DATASET_PERMISSIONS, name))?;
    let own = found.into_iter().filter(|found| found.dataset == name).flat_map(|found| found.grants);
    for grant in own {
        let (known, unknown): (Vec<String>, Vec<String>) =
            grant.permissions.iter().flatten().cloned().partition(|name| is_permission(name));
        for permission in unknown {
            let (name, permission) = (plain(name), plain(&permission));
            writeln!(io.err, "{name}: permission '{permission}' is not known, and left out")?;
        }
        for who in grantees(&grant) {
            dataset.allow.entry(who).or_default().extend(known.iter().cloned());
        }
    }
    dataset.allow.retain(|_, permissions| !permissions.is_empty());
    Ok(())
}
