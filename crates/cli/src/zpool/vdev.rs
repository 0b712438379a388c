//! What is done to single devices of a pool: `zpool remove`, `online`, `offline`, `attach`,
//! `detach`, `replace`, `clear`; `reopen`, and `reguid`.

use super::add::{ashift, known};
use super::pools;
use super::scan::await_end;
use crate::client::CallError;
use crate::command::{Cx, refusal};
use crate::fail::{Noun, Outcome, Stop, fail, usage};
use crate::{getopt, jobs, vdevs};
use api_types::{
    Health, NewDevice, PoolAttach, PoolClear, PoolOffline, PoolOnline, PoolReguid, PoolReopen, PoolVdev,
    VdevStatus, routes,
};

pub fn remove(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "npsw", &[])?;
    let Some((name, devices)) = options.operands.split_first() else {
        return usage("missing pool name argument");
    };
    if options.has("s") {
        return fail("cannot cancel removal: operation is not in progress");
    }
    if devices.is_empty() {
        return usage("missing device");
    }
    let dry_run = options.has("n");
    each(cx, name, devices, "remove", &|cx, vdev| {
        if dry_run { Ok(()) } else { send(cx, routes::POOL_REMOVE, name, vdev) }
    })
}

pub fn online(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "e", &["power"])?;
    let (name, devices) = options.first_and_more(["missing pool name", "missing device name"])?;
    let expand = options.has("e");
    let act = |cx: &mut Cx<'_>, vdev: &VdevStatus| {
        let request = PoolOnline { guid: vdev.guid, expand, history: cx.history.clone() };
        jobs::run(cx, &routes::at(routes::POOL_ONLINE, name), &request).map(drop)
    };
    let (verb, mut status) = (if expand { "expand" } else { "online" }, 0);
    for device in devices {
        let done = one(cx, (name, device), &format!("cannot {verb} {device}"), &act)?;
        status |= if done == 0 { tell_state(cx, name, device, expand)? } else { done };
    }
    Ok(status)
}

/// A device that could not be used is online all the same, as far as that goes.
fn tell_state(cx: &mut Cx<'_>, pool: &str, device: &str, expand: bool) -> Result<i32, Stop> {
    let Some(pool) = known(cx, pool)? else { return Ok(1) };
    let health = vdevs::find(&pool, device).map_or(Health::Online, |vdev| vdev.health);
    let hint = match health {
        Health::Online | Health::Degraded => return Ok(0),
        Health::Faulted => "use 'zpool clear' to restore a faulted device",
        _ => "use 'zpool replace' to replace devices that are no longer present",
    };
    writeln!(cx.io.out, "warning: device '{device}' onlined, but remains in faulted state\n{hint}")?;
    if expand {
        writeln!(cx.io.out, "warning: failed to expand usable space on unhealthy device '{device}'")?;
    }
    Ok(0)
}

pub fn offline(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "ft", &["power"])?;
    let (name, devices) = options.first_and_more(["missing pool name", "missing device name"])?;
    let (temporary, fault) = (options.has("t"), options.has("f"));
    each(cx, name, devices, "offline", &|cx, vdev| {
        let request = PoolOffline { guid: vdev.guid, temporary, fault, history: cx.history.clone() };
        jobs::run(cx, &routes::at(routes::POOL_OFFLINE, name), &request).map(drop)
    })
}

pub fn attach(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "fswo:", &[])?;
    let (name, device, new) = match options.operands.as_slice() {
        [] => return usage("missing pool name argument"),
        [_] => return usage("missing <device> specification"),
        [_, _] => return usage("missing <new_device> specification"),
        [name, device, new] => (name, device, new),
        _ => return usage("too many arguments"),
    };
    let what = format!("cannot attach {new} to {device}");
    let new = new_device(cx, Some(new), &options)?;
    let status = one(cx, (name, device), &what, &|cx, vdev| put(cx, routes::POOL_ATTACH, name, vdev, &new))?;
    if options.has("w") && status == 0 {
        await_end(cx, name, "resilver")?;
    }
    Ok(status)
}

pub fn detach(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "", &[])?;
    let (name, device) = options.two(["missing pool name argument", "missing <device> specification"])?;
    let what = format!("cannot detach {device}");
    one(cx, (name, device), &what, &|cx, vdev| send(cx, routes::POOL_DETACH, name, vdev))
}

pub fn replace(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "fswo:", &[])?;
    let (name, device, new) = match options.operands.as_slice() {
        [] => return usage("missing pool name argument"),
        [_] => return usage("missing <device> specification"),
        [name, device] => (name, device, None),
        [name, device, new] => (name, device, Some(new)),
        _ => return usage("too many arguments"),
    };
    let what = format!("cannot replace {device} with {}", new.unwrap_or(device));
    let new = new_device(cx, new, &options)?;
    let status = one(cx, (name, device), &what, &|cx, vdev| put(cx, routes::POOL_REPLACE, name, vdev, &new))?;
    if options.has("w") && status == 0 {
        await_end(cx, name, "replace")?;
    }
    Ok(status)
}

pub fn reguid(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "g:", &[])?;
    let name = options.one("missing pool name")?;
    let guid = |text: &str| text.parse::<u64>().or_else(|_| usage(format!("invalid GUID: {text}")));
    let guid = options.value("g").map(guid).transpose()?;
    if known(cx, name)?.is_none() {
        return Ok(1);
    }
    let request = PoolReguid { guid, history: cx.history.clone() };
    match jobs::run(cx, &routes::at(routes::POOL_REGUID, name), &request) {
        Ok(_) => Ok(0),
        Err(error) => Err(refusal(&format!("cannot reguid '{name}'"), error, Noun::Pool)),
    }
}

/// `-n` is taken and means nothing: a disk that is back is resilvered, and the daemon takes it by
/// itself.
pub fn reopen(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "n", &[])?;
    let (found, mut status) = pools(cx, &options.operands)?;
    for pool in found {
        let request = PoolReopen { history: cx.history.clone() };
        if let Err(error) = jobs::run(cx, &routes::at(routes::POOL_REOPEN, &pool.name), &request) {
            status = cx.refused(&format!("cannot reopen '{}'", pool.name), error, Noun::Pool)?;
        }
    }
    Ok(status)
}

pub fn clear(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "FnX", &["power"])?;
    let (name, device) = match options.operands.as_slice() {
        [] => return usage("missing pool name"),
        [name] => (name, None),
        [name, device] => (name, Some(device)),
        _ => return usage("too many arguments"),
    };
    let send = |cx: &mut Cx<'_>, guid: Option<u64>| {
        let request = PoolClear { guid, history: cx.history.clone() };
        jobs::run(cx, &routes::at(routes::POOL_CLEAR, name), &request).map(drop)
    };
    match device {
        Some(device) => {
            let what = format!("cannot clear errors for {device}");
            one(cx, (name, device), &what, &|cx, vdev| send(cx, Some(vdev.guid)))
        }
        None => {
            if known(cx, name)?.is_none() {
                return Ok(1);
            }
            let refused = |error| refusal(&format!("cannot clear errors for {name}"), error, Noun::Pool);
            send(cx, None).map(|()| 0).map_err(refused)
        }
    }
}

/// The device of this name, or as it is at its place, with the options that go with one.
fn new_device(cx: &Cx<'_>, name: Option<&String>, options: &getopt::Parsed) -> Result<NewDevice, Stop> {
    let path = |name: &String| cx.client.must_be_here(&cx.command).and_then(|()| vdevs::device(name));
    Ok(NewDevice {
        path: name.map(path).transpose()?,
        force: options.has("f"),
        ashift: ashift(options)?,
        sequential: options.has("s"),
    })
}

type Act<'a> = &'a dyn Fn(&mut Cx<'_>, &VdevStatus) -> Result<(), CallError>;

fn send(cx: &mut Cx<'_>, route: &'static str, pool: &str, vdev: &VdevStatus) -> Result<(), CallError> {
    let request = PoolVdev { guid: vdev.guid, history: cx.history.clone() };
    jobs::run(cx, &routes::at(route, pool), &request).map(drop)
}

fn put(
    cx: &mut Cx<'_>,
    route: &'static str,
    pool: &str,
    vdev: &VdevStatus,
    new: &NewDevice,
) -> Result<(), CallError> {
    let request = PoolAttach { guid: vdev.guid, new: new.clone(), history: cx.history.clone() };
    jobs::run(cx, &routes::at(route, pool), &request).map(drop)
}

/// Does the same with each device.
fn each(cx: &mut Cx<'_>, pool: &str, devices: &[String], verb: &str, act: Act<'_>) -> Outcome {
    let mut status = 0;
    for device in devices {
        status |= one(cx, (pool, device), &format!("cannot {verb} {device}"), act)?;
    }
    Ok(status)
}

/// Does it with one device; `what` begins the complaint.
fn one(cx: &mut Cx<'_>, (pool, device): (&str, &str), what: &str, act: Act<'_>) -> Outcome {
    let Some(pool) = known(cx, pool)? else { return Ok(1) };
    let Some(vdev) = vdevs::find(&pool, device) else {
        cx.complain(&format!("{what}: no such device in pool"))?;
        return Ok(1);
    };
    match act(cx, vdev) {
        Ok(()) => Ok(0),
        Err(error) => cx.refused(what, error, Noun::Pool),
    }
}
