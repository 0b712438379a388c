//! `zpool trim`: disks are told which of their space is free, in the background; and `initialize`:
//! all of it is written to.
//!
//! Facts from OpenZFS's cmd/zpool/zpool_main.c (`zpool_do_trim`, `zpool_do_initialize`) and
//! lib/libzfs/libzfs_pool.c (`check_trim_errs`, `zpool_initialize_one`).

use super::add::known;
use super::pools;
use crate::command::Cx;
use crate::fail::{Noun, Outcome, Stop, fail, sentence, usage};
use crate::{getopt, jobs, vdevs};
use api_types::{
    InitializeCommand, PoolInitialize, PoolStatus, PoolTrim, SweepState, TrimCommand, VdevStatus, kind,
    routes,
};
use serde::Serialize;
use std::time::Duration;
use stdx::number;

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
    let rate = |text| number::parse(text).or_else(|why| usage(format!("invalid value for rate: {why}")));
    let rate = options.value("r").map_or(Ok(0), rate)?;
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
            let Some(guids) = named(cx, &pool, devices, "trim")? else { return Ok(1) };
            if secure {
                for device in devices {
                    cx.complain(&format!("cannot trim '{device}': {NOT_SUPPORTED}"))?;
                }
                return Ok(1);
            }
            send(cx, &pool, PoolTrim { guids, ..request }, wait)
        }
    }
}

const NOT_SUPPORTED: &str = "trim operations are not supported by this device";

/// All disks of a pool that can be trimmed.
fn whole(cx: &mut Cx<'_>, pool: &PoolStatus, request: &PoolTrim, (secure, wait): (bool, bool)) -> Outcome {
    let able = |vdev: &&VdevStatus| {
        vdev.trim.supported
            && match request.command {
                TrimCommand::Start => true,
                TrimCommand::Suspend => vdev.trim.state == SweepState::Running,
                TrimCommand::Cancel => matches!(vdev.trim.state, SweepState::Running | SweepState::Suspended),
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

fn leaves(vdev: &VdevStatus) -> Vec<&VdevStatus> {
    match vdev.children.as_slice() {
        [] => vec![vdev],
        children => children.iter().flat_map(leaves).collect(),
    }
}

fn send(cx: &mut Cx<'_>, pool: &PoolStatus, request: PoolTrim, wait: bool) -> Outcome {
    let of: How<'_> = &|vdev| vdev.trim.state;
    ask(cx, routes::POOL_TRIM, pool, &request, wait.then_some((&request.guids[..], of)))
}

/// Tells how a disk is.
type How<'a> = &'a dyn Fn(&VdevStatus) -> SweepState;

/// Has it begun, or stopped; with `until` waits until these disks are not at it any more, by what
/// tells how they are.
fn ask(
    cx: &mut Cx<'_>,
    route: &'static str,
    pool: &PoolStatus,
    request: &impl Serialize,
    until: Option<(&[u64], How<'_>)>,
) -> Outcome {
    if let Err(error) = jobs::run(cx, &routes::at(route, &pool.name), request) {
        let problem = error.problem()?;
        return match problem.kind.as_str() {
            kind::REFUSED => fail(problem.detail),
            _ => fail(sentence("operation failed", &problem, Noun::Pool)),
        };
    }
    let Some((guids, of)) = until else { return Ok(0) };
    let at_it = |vdev: &VdevStatus| guids.contains(&vdev.guid) && of(vdev) == SweepState::Running;
    while let Some(pool) = known(cx, &pool.name)?
        && leaves(&pool.root).into_iter().any(at_it)
    {
        cx.client.pause(ASK_EVERY)?;
    }
    Ok(0)
}

/// The guids of these disks; `None`, and a complaint, where one is none of the pool's.
fn named(
    cx: &mut Cx<'_>,
    pool: &PoolStatus,
    devices: &[String],
    verb: &str,
) -> Result<Option<Vec<u64>>, Stop> {
    let mut guids = Vec::new();
    for device in devices {
        match vdevs::find(pool, device).filter(|vdev| vdev.children.is_empty()) {
            Some(vdev) => guids.push(vdev.guid),
            None => {
                cx.complain(&format!("cannot {verb} '{device}': no such device in pool"))?;
                return Ok(None);
            }
        }
    }
    Ok(Some(guids))
}

pub fn initialize(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "acsuwz", &["cancel", "suspend", "uninit", "wait", "all", "zero"])?;
    let is = |short: &str, long: &str| options.has(short) || options.has(long);
    let asked = [
        ("c", "cancel", InitializeCommand::Cancel),
        ("s", "suspend", InitializeCommand::Suspend),
        ("u", "uninit", InitializeCommand::Forget),
    ];
    let mut asked = asked.into_iter().filter(|(short, long, _)| is(short, long));
    let command = asked.next().map_or(InitializeCommand::Start, |(_, _, command)| command);
    if let Some((other, ..)) = asked.next() {
        return usage(format!("-{other} cannot be combined with other options"));
    }
    let (all, wait, zero) = (is("a", "all"), is("w", "wait"), is("z", "zero"));
    if all && !options.operands.is_empty() {
        return usage("-a cannot be combined with individual pools or vdevs");
    }
    if !all && options.operands.is_empty() {
        return usage("missing pool name argument");
    }
    for (option, given, words) in [("w", wait, "-c, -sor -u"), ("z", zero, "-c, -s or -u")] {
        if given && command != InitializeCommand::Start {
            return usage(format!("-{option} cannot be used with {words}"));
        }
    }
    let request =
        PoolInitialize { command, value: zero.then_some(0), history: cx.history.clone(), guids: vec![] };
    let (names, devices) = options.operands.split_at(options.operands.len().min(1));
    let (found, mut status) = pools(cx, names)?;
    for pool in found {
        let guids = match devices {
            [] => leaves(&pool.root).into_iter().map(|vdev| vdev.guid).collect(),
            devices => match named(cx, &pool, devices, "initialize")? {
                Some(guids) => guids,
                None => return Ok(1),
            },
        };
        let request = PoolInitialize { guids, ..request.clone() };
        let of: How<'_> = &|vdev| vdev.initialize.state;
        let until = wait.then_some((&request.guids[..], of));
        status |= ask(cx, routes::POOL_INITIALIZE, &pool, &request, until)?;
    }
    Ok(status)
}
