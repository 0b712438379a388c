//! `zpool trim`: disks are told which of their space is free, in the background.
//!
//! Facts from OpenZFS's cmd/zpool/zpool_main.c (`zpool_do_trim`) and lib/libzfs/libzfs_pool.c (`check_trim_errs`).

use super::add::known;
use super::pools;
use crate::fail::{Noun, Outcome, Stop, fail, sentence, usage};
use crate::program::Cx;
use crate::{getopt, human, jobs, vdevs};
use api_types::{Pool, PoolTrim, TrimCommand, TrimState, Vdev, kind, routes};
use std::time::Duration;

/// How often a pool is asked whether it is done.
const ASK_EVERY: Duration = Duration::from_millis(500);

pub fn trim(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "acdr:sw", &["cancel", "secure", "suspend", "wait", "all"])?;
    let is = |short: &str, long: &str| options.has(short) || options.has(long);
    let (cancel, suspend) = (is("c", "cancel"), is("s", "suspend"));
    let command = match (cancel, suspend) {
        (true, true) => return usage("-c cannot be combined with other options"),
        (true, _) => TrimCommand::Cancel,
        (_, true) => TrimCommand::Suspend,
        _ => TrimCommand::Start,
    };
    for (option, given) in [("d", is("d", "secure")), ("r", options.has("r"))] {
        if given && command != TrimCommand::Start {
            return usage(format!("-{option} cannot be combined with the -c or -s options"));
        }
    }
    let rate = match options.value("r") {
        None => 0,
        Some(text) => match human::bytes(text) {
            Some(rate) => rate,
            None => return usage(format!("invalid value for rate: bad numeric value '{text}'")),
        },
    };
    let (all, wait) = (is("a", "all"), is("w", "wait"));
    let request = PoolTrim { command, rate, history: cx.history.clone(), ..PoolTrim::default() };
    let secure = is("d", "secure");
    match options.operands.split_first() {
        None if !all => usage("missing pool name argument"),
        _ if wait && command != TrimCommand::Start => usage("-w cannot be used with -c or -s options"),
        Some(_) if all => usage("-a cannot be combined with individual zpools or vdevs"),
        None => {
            let (found, mut status) = pools(cx, &[])?;
            for pool in found {
                status |= whole(cx, &pool, &request, (secure, wait))?;
            }
            Ok(status)
        }
        Some((name, devices)) => {
            let Some(pool) = known(cx, name)? else { return Ok(1) };
            if devices.is_empty() {
                return whole(cx, &pool, &request, (secure, wait));
            }
            let mut guids = Vec::new();
            let mut status = 0;
            for device in devices {
                match vdevs::find(&pool, device).filter(|vdev| vdev.children.is_empty()) {
                    Some(_) if secure => {
                        cx.complain(&format!("cannot trim '{device}': {NOT_SUPPORTED}"))?;
                        status = 1;
                    }
                    Some(vdev) => guids.push(vdev.guid),
                    None => {
                        cx.complain(&format!("cannot trim '{device}': no such device in pool"))?;
                        return Ok(1);
                    }
                }
            }
            Ok(status | send(cx, &pool, PoolTrim { guids, ..request }, wait)?)
        }
    }
}

const NOT_SUPPORTED: &str = "trim operations are not supported by this device";

/// All disks of a pool that can be trimmed.
fn whole(cx: &mut Cx<'_>, pool: &Pool, request: &PoolTrim, (secure, wait): (bool, bool)) -> Outcome {
    let able = |vdev: &&Vdev| {
        vdev.trim.supported
            && match request.command {
                TrimCommand::Start => true,
                TrimCommand::Suspend => vdev.trim.state == TrimState::Running,
                TrimCommand::Cancel => matches!(vdev.trim.state, TrimState::Running | TrimState::Suspended),
            }
    };
    let leaves = leaves(&pool.root);
    if secure || !leaves.iter().any(|vdev| vdev.trim.supported) {
        return fail("cannot trim: no devices in pool support trim operations");
    }
    let guids: Vec<u64> = leaves.into_iter().filter(able).map(|vdev| vdev.guid).collect();
    if guids.is_empty() {
        return fail(format!("cannot trim '{}': there is no active trim", pool.name));
    }
    send(cx, pool, PoolTrim { guids, ..request.clone() }, wait)
}

fn leaves(vdev: &Vdev) -> Vec<&Vdev> {
    match vdev.children.as_slice() {
        [] => vec![vdev],
        children => children.iter().flat_map(leaves).collect(),
    }
}

fn send(cx: &mut Cx<'_>, pool: &Pool, request: PoolTrim, wait: bool) -> Outcome {
    if let Err(error) = jobs::run(cx, &routes::at(routes::POOL_TRIM, &pool.name), &request) {
        let problem = error.problem()?;
        return match problem.kind.as_str() {
            kind::REFUSED => fail(problem.detail),
            _ => fail(sentence("operation failed", &problem, Noun::Pool)),
        };
    }
    while wait && is_running(cx, &pool.name, &request.guids)? {
        std::thread::sleep(ASK_EVERY);
    }
    Ok(0)
}

fn is_running(cx: &mut Cx<'_>, pool: &str, guids: &[u64]) -> Result<bool, Stop> {
    let Some(pool) = known(cx, pool)? else { return Ok(false) };
    let active = |vdev: &Vdev| guids.contains(&vdev.guid) && vdev.trim.state == TrimState::Running;
    Ok(leaves(&pool.root).into_iter().any(active))
}
