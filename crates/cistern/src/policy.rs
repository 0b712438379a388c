//! What this daemon has to say about what is asked of its pools.
//!
//! A share that no client could use is refused when it is made, not when it is mounted; so is a
//! value of the property by which datasets keep services, where it makes no sense. Secrets of
//! shares are sealed before they are kept, and no part of a history; they are shown to nobody but
//! an administrator who asks for them. What clients know a replica's original by is set by services
//! alone, and shown without what seals handles. After a change the list of pools and the cache
//! files say where the pools are now, and shares that were withdrawn follow what the change says of
//! sharing.

use std::sync::{Arc, OnceLock, Weak};

use engine::LocalEngine;
use engine_api::refusal::{Action, PropertyFault, Refused};
use engine_api::{Change, Engine, Error, IDENTITY, Policy, PropValue, PropertyChange, Result, without_key};
use stdx::behalf::{Way, actor};

use crate::remember::Memory;
use crate::withdrawn::Withdrawn;

/// See the module.
#[derive(Debug)]
pub struct DaemonPolicy {
    pub memory: Memory,
    pub withdrawn: Withdrawn,
    /// Whose policy it is. The engine keeps its policy, and not the other way round.
    engine: OnceLock<Weak<LocalEngine>>,
}

impl DaemonPolicy {
    pub fn new(memory: Memory) -> DaemonPolicy {
        DaemonPolicy { memory, withdrawn: Withdrawn::default(), engine: OnceLock::new() }
    }

    /// Tells it whose policy it is. To be called once, before anything is asked of the engine.
    pub fn belongs_to(&self, engine: &Arc<LocalEngine>) {
        self.engine.get_or_init(|| Arc::downgrade(engine));
    }

    /// Writes down which pools are imported, for the next start and in the cache files.
    pub fn write_down(&self) {
        let Some(engine) = self.engine.get().and_then(Weak::upgrade) else { return };
        self.memory.save(|| engine.pools());
        engine.write_cache_files();
    }
}

impl Policy for DaemonPolicy {
    fn admit(&self, props: &mut [PropertyChange]) -> Result<()> {
        for prop in props.iter_mut().filter(|prop| prop.name == iscsi::PROPERTY) {
            iscsi::parse_share(&prop.value)
                .map_err(|why| not_to_be_set(&prop.name, iscsi::without_secrets(&prop.value), why))?;
            prop.value = iscsi::sealed(&prop.value);
        }
        for prop in props.iter().filter(|prop| prop.name == services::property::PROPERTY) {
            services::property::parse(&prop.value).map_err(|fault| {
                let why = format!("{}; 'cistern svc' sets services", fault.words());
                not_to_be_set(&prop.name, shortened(&prop.value), why)
            })?;
        }
        // Whoever could set it would have the clients of another dataset.
        if let Some(prop) = props.iter().find(|prop| prop.name == IDENTITY)
            && actor().way != Way::Service
        {
            let why = "replication sets it; 'cistern replica promote' makes it count".to_owned();
            return Err(not_to_be_set(&prop.name, shortened(&without_key(&prop.value)), why));
        }
        for prop in props.iter().filter(|prop| prop.name == "sharenfs") {
            nfs::parse_sharenfs(&prop.value)
                .map_err(|why| not_to_be_set(&prop.name, prop.value.clone(), why))?;
        }
        Ok(())
    }

    fn recorded(&self, command: &str) -> String {
        iscsi::without_secrets(command)
    }

    fn show(&self, prop: &mut PropValue) {
        if prop.name == iscsi::PROPERTY {
            prop.value = iscsi::without_secrets(&prop.value);
            prop.received = prop.received.take().map(|value| iscsi::without_secrets(&value));
        }
        if prop.name == IDENTITY {
            prop.value = without_key(&prop.value);
            prop.received = prop.received.take().map(|value| without_key(&value));
        }
    }

    fn reveal(&self, prop: &mut PropValue) {
        if prop.name == iscsi::PROPERTY {
            prop.value = iscsi::unsealed(&prop.value);
            prop.received = prop.received.take().map(|value| iscsi::unsealed(&value));
        }
    }

    fn committed(&self, change: &Change) {
        self.withdrawn.follow(change);
        if moves(change) {
            self.write_down();
        }
    }
}

/// A value as a sentence may have it.
fn shortened(value: &str) -> String {
    value.chars().take(80).collect()
}

fn not_to_be_set(property: &str, value: String, message: String) -> Error {
    let property = property.to_owned();
    Refused::new(Action::SetTo { property, value }, PropertyFault::Value { message }).into()
}

/// Whether the pool is to be found by other disks afterwards, by another guid or in another cache
/// file.
fn moves(change: &Change) -> bool {
    matches!(
        change,
        Change::AddVdevs { .. }
            | Change::RemoveVdev { .. }
            | Change::AttachVdev { .. }
            | Change::DetachVdev { .. }
            | Change::ReplaceVdev { .. }
            | Change::Reguid { .. }
            | Change::SetPoolProperties { .. }
    )
}

#[cfg(test)]
mod tests;
