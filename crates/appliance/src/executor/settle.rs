//! Services follow what the datasets of a pool keep: they begin, change and end with it.
//!
//! Of two policies with the same id the one that is at work stays so; after a restart, the one that
//! was. Everything else that is found and cannot be at work *sleeps*, and says why. A service whose
//! home is not here is *away*: it does nothing, and what it remembers waits for it.

use std::collections::BTreeSet;

use api_types::{
    PolicyFault, PolicySleeps, ServiceCommand, ServiceLog, ServiceLogEntry, ServiceSpec, ServiceState,
    SleepingPolicy,
};
use services::instance::{Home, Instance};
use services::property::{self, Policies, Policy};
use services::time::Time;

use super::home::{self, Found};
use super::shelf::{Kept, Memory, ShelfFault};
use super::work::{Lodging, Working};
use super::{Services, State};

/// Policies of a pool that sleep and are told.
const MOST_TOLD: usize = 256;

impl Services {
    /// Takes what the datasets of a pool keep. Whether a service begins by that, which may want to
    /// know of datasets that nobody has asked for.
    pub(super) fn settle(&self, state: &mut State, pool: u64, kept: &home::Kept, now: Time) -> bool {
        let home::Kept { found, is_whole, .. } = kept;
        let mut sleeping = Vec::new();
        let mut own: Vec<(&Found, Policies)> = Vec::new();
        for at in found {
            let (mine, theirs) = (at.own.as_deref(), at.received.as_deref());
            for (value, is_received) in [(mine, false), (theirs, true)] {
                match value.map(property::parse) {
                    None => {}
                    Some(Err(fault)) => sleeping.push(unread(at, fault)),
                    Some(Ok(policies)) if !is_received => own.push((at, policies)),
                    Some(Ok(policies)) => {
                        let here = own.last().filter(|(it, _)| it.guid == at.guid).map(|(_, here)| here);
                        let asleep =
                            policies.iter().filter(|(id, _)| !here.is_some_and(|it| it.contains_key(*id)));
                        sleeping.extend(
                            asleep.map(|(id, policy)| asleep_at(at, id, policy, PolicySleeps::Replica)),
                        );
                    }
                }
            }
        }
        let there: BTreeSet<(u64, &String)> =
            own.iter().flat_map(|(at, policies)| policies.keys().map(|id| (at.guid, id))).collect();
        if *is_whole {
            let unread = sleeping.iter().filter(|it| matches!(it.why, PolicySleeps::Malformed { .. }));
            let kept: BTreeSet<u64> = unread.filter_map(|it| guid_of(found, &it.dataset)).collect();
            self.leave(state, pool, &there, &kept);
        }
        let here =
            |state: &State| state.services.values().filter(|it| !it.is_away()).map(|it| it.edition).collect();
        let before: BTreeSet<u64> = here(state);
        for (at, policies) in &own {
            for (id, policy) in policies {
                if let Err(why) = self.lodge(state, Home { pool, dataset: at.guid }, (at, id, policy), now) {
                    sleeping.push(asleep_at(at, id, policy, why));
                }
            }
        }
        sleeping.truncate(MOST_TOLD);
        state.sleeping.insert(pool, sleeping);
        here(state) != before
    }

    /// Services of a pool end whose homes keep them no more; where it cannot be read whether they
    /// do (`kept`), they are away.
    fn leave(&self, state: &mut State, pool: u64, there: &BTreeSet<(u64, &String)>, kept: &BTreeSet<u64>) {
        let is_gone = |service: &&mut Working| {
            let home = service.instance.home.filter(|home| home.pool == pool);
            home.is_some_and(|home| !there.contains(&(home.dataset, &service.instance.id)))
        };
        let mut ended = Vec::new();
        for service in state.services.values_mut().filter(is_gone) {
            service.leave();
            if service.instance.home.is_some_and(|home| !kept.contains(&home.dataset)) {
                ended.push(service.instance.id.clone());
            }
        }
        for id in ended {
            if let Err(fault) = self.shelf.remove(&id) {
                tracing::error!(id, ?fault, "this service is gone, and what was kept of it was not removed");
            }
            tracing::info!(id, "no dataset keeps this service any more");
            state.services.remove(&id);
            self.announce(&id, None);
        }
    }

    /// Has a policy at work.
    fn lodge(
        &self,
        state: &mut State,
        home: Home,
        (at, id, policy): (&Found, &String, &Policy),
        now: Time,
    ) -> Result<(), PolicySleeps> {
        let spec = property::away(&policy.spec, &at.dataset, at.guid);
        let lodging = || Lodging {
            policy: policy.clone(),
            dataset: at.dataset.clone(),
            is_promoted: at.received.is_some(),
        };
        let kept = match state.services.get_mut(id) {
            Some(service) if is_it(service, home, at, policy) => {
                let is_new = service.instance.home != Some(home);
                service.instance.home = Some(home);
                if service.lodging.as_ref().is_none_or(|it| it.dataset != at.dataset) {
                    service.instance.spec = spec;
                }
                service.come(lodging(), now);
                return if is_new { self.shelf.set(&service.kept(), &[]).map_err(sleeps) } else { Ok(()) };
            }
            // What is away gives way, for its home may never come back.
            Some(service) if service.instance.home != Some(home) && !service.is_away() => {
                return Err(PolicySleeps::IdTaken);
            }
            Some(service) if service.instance.home == Some(home) => service.kept(),
            Some(_) | None => {
                let instance = Instance::new(id, spec.clone(), now);
                let fault = PolicyFault::Id { id: id.clone() };
                let instance = instance.ok_or(PolicySleeps::Malformed { fault })?;
                Kept { instance, memory: Memory::default() }
            }
        };
        self.begin_at(state, kept, (home, spec), lodging(), now)
    }

    /// A service that is new here, or is set to something else.
    fn begin_at(
        &self,
        state: &mut State,
        mut kept: Kept,
        (home, spec): (Home, ServiceSpec),
        lodging: Lodging,
        now: Time,
    ) -> Result<(), PolicySleeps> {
        let id = kept.instance.id.clone();
        (kept.instance.spec, kept.instance.home) = (spec, Some(home));
        kept.instance.restarted(now);
        if (kept.instance.state == ServiceState::Disabled) != lodging.policy.disabled {
            let command =
                if lodging.policy.disabled { ServiceCommand::Disable } else { ServiceCommand::Enable };
            kept.instance.command(command, now).expect("both are allowed in every state");
        }
        let working = Working::new(state.edition + 1, kept, &|name| self.world.zone(name));
        let mut working = match working {
            Ok(working) => working,
            Err(fault) => {
                if let Some(service) = state.services.get_mut(&id) {
                    service.leave();
                }
                return Err(PolicySleeps::Malformed { fault: PolicyFault::Service { id, fault } });
            }
        };
        let entry = ServiceLog { at: now, entry: ServiceLogEntry::Set };
        self.shelf.set(&working.kept(), &[entry]).map_err(sleeps)?;
        state.edition += 1;
        working.come(lodging, now);
        working.hasten(now);
        let status = working.instance.state;
        if let Some(before) = state.services.insert(id.clone(), working) {
            before.stop.cancel();
        }
        self.announce(&id, Some(status));
        Ok(())
    }
}

/// Whether a service is what a home keeps, so that nothing about it changes.
fn is_it(service: &Working, home: Home, at: &Found, policy: &Policy) -> bool {
    let is_disabled = service.instance.state == ServiceState::Disabled;
    let of_machine = service.instance.home.is_none();
    let is_here = |spec: &ServiceSpec| property::home_of(spec).as_ref() == Some(&at.dataset);
    let name = service.lodging.as_ref().map_or(at.dataset.as_str(), |it| it.dataset.as_str());
    (service.instance.home == Some(home) || (of_machine && is_here(&service.instance.spec)))
        && is_disabled == policy.disabled
        && property::at_home(&service.instance.spec, name).is_some_and(|spec| {
            property::adopted(&Policy { disabled: false, spec }) == property::adopted(policy)
        })
}

fn sleeps(fault: ShelfFault) -> PolicySleeps {
    match fault {
        ShelfFault::TooMany => PolicySleeps::TooMany,
        other => PolicySleeps::NotKept { why: other.why() },
    }
}

fn guid_of(found: &[Found], dataset: &str) -> Option<u64> {
    found.iter().find(|at| at.dataset == dataset).map(|at| at.guid)
}

fn unread(at: &Found, fault: PolicyFault) -> SleepingPolicy {
    let why = PolicySleeps::Malformed { fault };
    SleepingPolicy { dataset: at.dataset.clone(), id: None, spec: None, why }
}

fn asleep_at(at: &Found, id: &str, policy: &Policy, why: PolicySleeps) -> SleepingPolicy {
    let spec = property::away(&policy.spec, &at.dataset, at.guid);
    SleepingPolicy { dataset: at.dataset.clone(), id: Some(id.to_owned()), spec: Some(spec), why }
}
