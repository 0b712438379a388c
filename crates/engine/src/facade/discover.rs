//! Pools that are not imported: what `zpool import` says of them (cmd/zpool/zpool_main.c).

use ::pool::spa::config::Host;
use ::pool::spa::create::Surroundings;
use ::pool::spa::import::{Peeked, Unsupported, peek};
use ::pool::spa::labels::{Candidate, FoundPool};
use ::pool::spa::status::{found_state, found_vdev_state, vdev_name};
use engine_api::{ImportCondition, Importable, Result, UnknownFeature, VdevStatus};
use ondisk::feature;
use ondisk::label::config::PoolState;
use refusal::{Action, ImportFault, Reason, Refused};
use storage::{VdevConfig, VdevKind, VdevState};

use super::convert::{blank_vdev, health};

pub(super) fn importable(around: &Surroundings, found: &FoundPool, host: &Host) -> Importable {
    let Peeked { tree, damaged, unsupported } = peek(around, found);
    let state = match (&unsupported, damaged) {
        (Some(_), _) => VdevState::Unavail,
        (None, true) => VdevState::Faulted,
        (None, false) => found_state(found, &tree),
    };
    let config = &found.config;
    let foreign = config.state == PoolState::Active && config.host.id != 0 && config.host.id != host.id;
    let condition = match &unsupported {
        Some(Unsupported::Version) => ImportCondition::UnknownVersion,
        Some(Unsupported::Features(guids)) => {
            ImportCondition::UnknownFeatures { features: guids.iter().map(|guid| unknown(guid)).collect() }
        }
        None => of_state(state, foreign),
    };
    let note = match unsupported {
        Some(Unsupported::Version) => Some("newer version".to_owned()),
        Some(Unsupported::Features(_)) => Some("unsupported feature(s)".to_owned()),
        None => note(state, false),
    };
    let tops = tree.children.iter().filter(|top| !matches!(top.kind, VdevKind::Hole | VdevKind::Indirect));
    let children = tops.map(|top| vdev(found, top)).collect();
    Importable {
        name: config.name.clone(),
        guid: found.guid,
        health: health(state),
        vdevs: VdevStatus {
            name: config.name.clone(),
            kind: "root".into(),
            children,
            note,
            ..blank_vdev(found.guid, health(state))
        },
        condition,
        exported: config.state == PoolState::Exported,
        destroyed: config.state == PoolState::Destroyed,
        hostid: (config.host.id != 0).then_some(config.host.id),
        hostname: (config.host.id != 0).then(|| config.host.name.clone()),
    }
}

fn unknown(guid: &str) -> UnknownFeature {
    let description = feature::by_guid(guid).map(|known| known.description.to_owned());
    UnknownFeature { guid: guid.to_owned(), description }
}

fn of_state(state: VdevState, foreign: bool) -> ImportCondition {
    match state {
        VdevState::Online if foreign => ImportCondition::Foreign,
        VdevState::Online => ImportCondition::Ready,
        VdevState::Degraded => ImportCondition::Degraded,
        VdevState::Faulted => ImportCondition::Damaged,
        VdevState::Unavail | VdevState::Offline | VdevState::Removed => ImportCondition::Unavailable,
    }
}

/// What `zpool import` writes behind a vdev that is not well (`print_import_config`).
fn note(state: VdevState, is_leaf: bool) -> Option<String> {
    let words = match state {
        VdevState::Faulted => "corrupted data",
        VdevState::Unavail if is_leaf => "cannot open",
        VdevState::Unavail => "insufficient replicas",
        _ => return None,
    };
    Some(words.to_owned())
}

fn vdev(found: &FoundPool, config: &VdevConfig) -> VdevStatus {
    let state = found_vdev_state(found, config);
    VdevStatus {
        name: vdev_name(&config.kind, config.path.as_deref(), config.guid, config.id),
        kind: config.kind.name().to_owned(),
        is_log: config.is_log,
        class: config.bias.name().map(str::to_owned),
        path: config.path.clone(),
        ashift: config.ashift.unwrap_or(0) as u32,
        note: note(state, config.kind.is_leaf()),
        children: config.children.iter().map(|child| vdev(found, child)).collect(),
        ..blank_vdev(config.guid, health(state))
    }
}

/// The pool meant by a name or a guid, among those that were destroyed or among the others.
pub(super) fn choose(found: Vec<FoundPool>, which: &str, destroyed: bool) -> Result<FoundPool> {
    let by_guid = which.parse::<u64>().ok();
    let mut matching: Vec<FoundPool> = found
        .into_iter()
        .filter(|pool| pool.config.name == which || Some(pool.guid) == by_guid)
        .filter(|pool| (pool.config.state == PoolState::Destroyed) == destroyed)
        .collect();
    let fault = match matching.len() {
        0 => ImportFault::NotFound,
        1 => return Ok(matching.remove(0)),
        _ => ImportFault::Several,
    };
    Err(Refused::new(Action::Import { pool: which.to_owned() }, fault).into())
}

/// `zpool labelclear` keeps its hands off pools that somebody may want.
pub(super) fn refuse_labelclear(path: &str, found: &Candidate, force: bool) -> Result<()> {
    let state = match found.config.state {
        // Labels of spares and cache devices name no pool.
        PoolState::Destroyed | PoolState::Spare | PoolState::L2cache => return Ok(()),
        _ if force => return Ok(()),
        PoolState::Active => "potentially active",
        PoolState::Exported => "exported",
    };
    let (path, state, pool) = (path.to_owned(), state.to_owned(), found.config.name.clone());
    let action = Action::ClearLabel { path: path.clone() };
    Err(Refused::new(action, Reason::NotClearable { path, state, pool, can_force: true }).into())
}
