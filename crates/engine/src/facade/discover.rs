//! Pools that are not imported: what `zpool import` says of them, in OpenZFS's words
//! (cmd/zpool/zpool_main.c).

use ::pool::spa::config::Host;
use ::pool::spa::create::Surroundings;
use ::pool::spa::import::{Peeked, Unsupported, peek};
use ::pool::spa::labels::{Candidate, FoundPool};
use ::pool::spa::status::{found_state, found_vdev_state, vdev_name};
use engine_api::{Importable, Result, VdevStatus};
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
    let (status, action) = match &unsupported {
        Some(why) => refusal(why),
        None => {
            let (status, action) = words(state, foreign);
            (status.map(str::to_owned), action)
        }
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
        status,
        action: action.to_owned(),
        exported: config.state == PoolState::Exported,
        destroyed: config.state == PoolState::Destroyed,
        hostid: (config.host.id != 0).then_some(config.host.id),
        hostname: (config.host.id != 0).then(|| config.host.name.clone()),
    }
}

/// What `show_import` says of a pool that only other software can import.
fn refusal(why: &Unsupported) -> (Option<String>, &'static str) {
    match why {
        Unsupported::Version => (
            Some("The pool is formatted using an incompatible version.".to_owned()),
            "The pool cannot be imported.  Access the pool on a system running newer\n\tsoftware, or recreate the \
             pool from backup.",
        ),
        Unsupported::Features(guids) => {
            let mut text =
                "The pool uses the following feature(s) not supported on this system:\n".to_owned();
            for guid in guids {
                match feature::by_guid(guid) {
                    Some(known) => text += &format!("\t{guid} ({})\n", known.description),
                    None => text += &format!("\t{guid}\n"),
                }
            }
            (
                Some(text),
                "The pool cannot be imported. Access the pool on a system that supports\n\tthe required \
                 feature(s), or recreate the pool from backup.",
            )
        }
    }
}

fn words(state: VdevState, foreign: bool) -> (Option<&'static str>, &'static str) {
    match state {
        VdevState::Online if foreign => (
            Some("The pool was last accessed by another system."),
            "The pool can be imported using its name or numeric identifier and\n\tthe '-f' flag.",
        ),
        VdevState::Online => (None, "The pool can be imported using its name or numeric identifier."),
        VdevState::Degraded => (
            Some("One or more devices are missing from the system."),
            "The pool can be imported despite missing or damaged devices.  The\n\tfault tolerance of the pool may be compromised if imported.",
        ),
        VdevState::Faulted => (
            Some("The pool metadata is incomplete or corrupted."),
            "The pool cannot be imported due to damaged devices or data.",
        ),
        VdevState::Unavail | VdevState::Offline | VdevState::Removed => (
            Some("One or more devices are missing from the system."),
            "The pool cannot be imported. Attach the missing\n\tdevices and try again.",
        ),
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
