//! Services as the data that they are about keeps them: one user property of a dataset.
//!
//! A service whose data is of one pool lives there, at its *home*: the dataset above all its
//! targets, or the pool's root for a scrub or a trim. OpenZFS carries the property along and does
//! not look at it, so import, rename, `send -p` and `send -R` take the service with the data. The
//! value is JSON:
//!
//! ```text
//!   {"version":1,"services":{"home":{"spec":{"kind":"auto-snap","targets":[{"dataset":""}],…}}}}
//! ```
//!
//! Names of datasets are those below the home: `""` is the home itself, `a/b` is below it. So they
//! stay right when the home or its pool is renamed, and on a replica.
//!
//! Invariants: reading is total, a value or a fault, whoever wrote it. No value that was read names
//! a dataset that is not the home or below it, or a program: programs belong to the machine. What
//! is written is read as the same.

use std::collections::BTreeMap;

use api_types::{PolicyFault, ServiceSpec, SnapTarget};
use serde::{Deserialize, Serialize};

use crate::instance::is_id;
use crate::names::is_part;

/// The user property.
pub const PROPERTY: &str = "cistern:services";
/// Bytes of its value: `ZAP_MAXVALUELEN` counts a terminator, too.
const LONGEST: usize = 8_191;
/// Of the form that is written.
const VERSION: u32 = 1;
/// Bytes of what a fault says of the JSON.
const LONGEST_WHY: usize = 200;

/// The services of a home, by their ids.
pub type Policies = BTreeMap<String, Policy>;

/// What a home keeps of a service: all names in it are below the home.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    pub spec: ServiceSpec,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Value {
    version: u32,
    services: Policies,
}

#[derive(Deserialize)]
struct Head {
    version: u32,
}

/// What a value says.
///
/// # Errors
/// What is wrong with it. What it says beyond that is not believed either.
pub fn parse(value: &str) -> Result<Policies, PolicyFault> {
    if value.len() > LONGEST {
        return Err(PolicyFault::TooLong { bytes: value.len() as u64, limit: LONGEST as u64 });
    }
    let form = |error: serde_json::Error| {
        let why = error.to_string().chars().filter(|char| !char.is_control()).take(LONGEST_WHY).collect();
        PolicyFault::Form { why }
    };
    // What is of another version may have another form.
    let Head { version } = serde_json::from_str(value).map_err(form)?;
    if version != VERSION {
        return Err(PolicyFault::Version { found: version, known: VERSION });
    }
    let Value { services, .. } = serde_json::from_str(value).map_err(form)?;
    for (id, policy) in &services {
        if !is_id(id) {
            return Err(PolicyFault::Id { id: id.chars().take(LONGEST_WHY).collect() });
        }
        if !may_be_kept(&policy.spec) {
            return Err(PolicyFault::NotOfData { id: id.clone() });
        }
        for name in names(&policy.spec) {
            if !is_below(name) {
                return Err(PolicyFault::Name { id: id.clone(), name: name.to_owned() });
            }
        }
    }
    Ok(services)
}

/// The value that says this.
///
/// # Errors
/// [`PolicyFault::TooLong`].
pub fn write(services: &Policies) -> Result<String, PolicyFault> {
    let value = Value { version: VERSION, services: services.clone() };
    let text = serde_json::to_string(&value).map_err(|error| PolicyFault::Form { why: error.to_string() })?;
    match text.len() {
        ..=LONGEST => Ok(text),
        bytes => Err(PolicyFault::TooLong { bytes: bytes as u64, limit: LONGEST as u64 }),
    }
}

/// The home that a service has by its names; `None`: its data is not of one pool, or it is no
/// matter of data.
pub fn home_of(spec: &ServiceSpec) -> Option<String> {
    match spec {
        // Who may set a dataset's properties may not lock by them.
        ServiceSpec::AutoSnap(policy) if policy.lock.is_some() => None,
        ServiceSpec::AutoSnap(policy) => {
            let mut names = policy.targets.iter().map(|target| target.dataset.as_str());
            let first = names.next().filter(|name| !name.is_empty())?.to_owned();
            names.try_fold(first, |above, name| common(&above, name))
        }
        ServiceSpec::AutoScrub(policy) | ServiceSpec::AutoTrim(policy) => match policy.pools.as_slice() {
            [pool] if !pool.is_empty() && !pool.contains('/') => Some(pool.clone()),
            _ => None,
        },
        // Two places have to do with it, or none.
        ServiceSpec::AutoSync(_) | ServiceSpec::AutoTier(_) | ServiceSpec::Script(_) => None,
    }
}

/// The dataset that both are, or are below.
fn common(one: &str, other: &str) -> Option<String> {
    let both = one.split('/').zip(other.split('/')).take_while(|(one, other)| one == other);
    let names: Vec<&str> = both.map(|(name, _)| name).collect();
    (!names.is_empty()).then(|| names.join("/"))
}

/// A policy as its home keeps it; `None`: something in it is not below the home.
pub fn at_home(spec: &ServiceSpec, home: &str) -> Option<ServiceSpec> {
    let mut spec = spec.clone();
    match &mut spec {
        ServiceSpec::AutoSnap(policy) => {
            for target in &mut policy.targets {
                target.dataset = below(&target.dataset, home)?;
                // The home is known by where this is kept.
                target.guid = target.guid.filter(|_| !target.dataset.is_empty());
                for name in &mut target.exclude {
                    *name = below(name, home)?;
                }
            }
        }
        ServiceSpec::AutoScrub(policy) | ServiceSpec::AutoTrim(policy) => policy.pools.clear(),
        ServiceSpec::AutoSync(_) | ServiceSpec::AutoTier(_) | ServiceSpec::Script(_) => return None,
    }
    Some(spec)
}

/// A policy with the names that it has while its home, with this guid, is called so.
pub fn away(spec: &ServiceSpec, home: &str, guid: u64) -> ServiceSpec {
    let mut spec = spec.clone();
    let whole = |name: &str| if name.is_empty() { home.to_owned() } else { format!("{home}/{name}") };
    match &mut spec {
        ServiceSpec::AutoSnap(policy) => {
            for target in &mut policy.targets {
                let SnapTarget { dataset, guid: own, exclude, .. } = target;
                if dataset.is_empty() {
                    *own = Some(guid);
                }
                *dataset = whole(dataset);
                exclude.iter_mut().for_each(|name| *name = whole(name));
            }
        }
        ServiceSpec::AutoScrub(policy) | ServiceSpec::AutoTrim(policy) => {
            policy.pools = vec![home.to_owned()];
        }
        ServiceSpec::AutoSync(_) | ServiceSpec::AutoTier(_) | ServiceSpec::Script(_) => {}
    }
    spec
}

/// A policy that a replica's owner makes his own: the guids in it are of the original.
pub fn adopted(policy: &Policy) -> Policy {
    let mut policy = Policy { disabled: false, ..policy.clone() };
    if let ServiceSpec::AutoSnap(snap) = &mut policy.spec {
        snap.targets.iter_mut().for_each(|target| target.guid = None);
    }
    policy
}

fn below(name: &str, home: &str) -> Option<String> {
    match name.strip_prefix(home)? {
        "" => Some(String::new()),
        rest => Some(rest.strip_prefix('/')?.to_owned()),
    }
}

fn may_be_kept(spec: &ServiceSpec) -> bool {
    match spec {
        ServiceSpec::AutoSnap(policy) => policy.lock.is_none(),
        ServiceSpec::AutoScrub(policy) | ServiceSpec::AutoTrim(policy) => policy.pools.is_empty(),
        ServiceSpec::AutoSync(_) | ServiceSpec::AutoTier(_) | ServiceSpec::Script(_) => false,
    }
}

/// All datasets that a policy names.
fn names(spec: &ServiceSpec) -> Vec<&str> {
    match spec {
        ServiceSpec::AutoSnap(policy) => {
            let targets = policy.targets.iter();
            targets
                .flat_map(|target| {
                    std::iter::once(target.dataset.as_str()).chain(target.exclude.iter().map(String::as_str))
                })
                .collect()
        }
        ServiceSpec::AutoScrub(_)
        | ServiceSpec::AutoTrim(_)
        | ServiceSpec::AutoSync(_)
        | ServiceSpec::AutoTier(_)
        | ServiceSpec::Script(_) => Vec::new(),
    }
}

/// Whether a name is the home or below it, in the one form that it has.
fn is_below(name: &str) -> bool {
    name.is_empty() || name.split('/').all(is_part)
}

#[cfg(test)]
mod tests;
