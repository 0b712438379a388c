//! `cistern zinject`: faults of devices on demand, in the options, tables and messages of OpenZFS's
//! zinject.
//!
//! A fault lasts until it is cancelled, or the daemon ends. Those of blocks (`-t`, `-b`) hit the
//! blocks that are on disk when they are asked for. Faults of labels (`-L`) and of the engine
//! itself (`-p`, `-P`, `-E`) are not built, and are refused by name.
//!
//! Facts: OpenZFS's cmd/zinject/zinject.c.

mod blocks;
mod list;

use crate::client::Client;
use crate::command::{Io, end};
use crate::fail::{Stop, fail, usage};
use crate::getopt::{self, Parsed};
use crate::vdevs;
use api_types::{
    ActiveFault, Condemn, DeviceFault, Fault, FaultCancel, FaultEffect, FaultIo, PoolStatus, VdevStatus,
    routes,
};

const USAGE: &str = "usage:

\tzinject

\t\tList all active injection records.

\tzinject -c <id|all>

\t\tClear the particular record (if given a numeric ID), or
\t\tall records if 'all' is specified.

\tzinject -d device [-e errno] [-T <read|write|flush|trim|all>] [-f frequency] pool

\t\tInject a fault into a particular device.
\t\t'errno' can be 'nxio' (the default), 'io', 'corrupt' (wrong
\t\tbytes) or 'noop' (successfully do nothing).
\t\t'frequency' is a value between 0.0001 and 100.0 that limits
\t\tdevice error injection to a percentage of the IOs.

\tzinject -d device -A <degrade|fault> pool
\t\tPerform a specific action on a particular device.

\tzinject -d device -D latency[:lanes] pool

\t\tAdd an artificial delay of 'latency' milliseconds to IO
\t\trequests on a particular device.

\tzinject -I pool

\t\tHave the pool's devices ignore flushes, as hardware does
\t\twhose cache does not keep what it promises.

\tzinject -b objset:object:level:blkid [-e errno] [-a] pool

\t\tInject an error into pool 'pool' with the numeric bookmark
\t\tspecified by the tuple. Each number is in hexadecimal.

\tzinject <-t type> [-C dvas] [-e errno] [-l level] [-r range] [-a]
\t\t[-f frequency] <object>

\t\tInject an error into the blocks that an object has on disk.
\t\t-t data\tA file, by its path below a local mount.
\t\t-t dnode\tThe dnode of a file or directory.
\t\t-t <mos>\tObjects of the pool itself; 'object' is the pool:
\t\t\tmos, mosdir, config, bpobj, spacemap, metaslab, errlog.
\t\t-e\t'io' (the default) or 'checksum'.
\t\t-C\tOnly these copies of each block, from 0 (as '0,2').
\t\t-l\tBlocks at this level, 0 where none is given.
\t\t-r\tOnly these bytes of a file, as 'start[,end]'.
\t\t-a\tDrop what is in memory first; also without an object.

examples:
  cistern zinject -t data -e checksum -a /tank/file
  cistern zinject -d /dev/sdb -e io -T read -f 10 tank
  cistern zinject -d /dev/sdb -D 50:1 tank
  cistern zinject -c all
";

/// A rate of the interface is of a million.
const ALWAYS: u32 = 1_000_000;

/// Runs it and gives its exit status.
pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> i32 {
    let done = try_run(args, client, io);
    end(io, done, |io, text| {
        let line = if text.is_empty() { String::new() } else { format!("{text}\n") };
        let _ = write!(io.err, "{line}{USAGE}");
        1
    })
}

fn try_run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<i32, Stop> {
    if args.is_empty() {
        return list::list(client, io);
    }
    let options = getopt::parse(args, "aA:b:c:C:d:D:e:E:f:Fg:hIl:L:mp:P:qr:s:T:t:u", &[])?;
    if options.has("h") {
        io.out.write_all(USAGE.as_bytes())?;
        return Ok(1);
    }
    for (option, what) in [
        ("L", "faults of labels (-L)"),
        ("p", "panics (-p)"),
        ("P", "delays of imports and exports (-P)"),
        ("E", "delays of the pipeline (-E)"),
        ("u", "unloading pools (-u)"),
        ("m", "mounting again (-m)"),
    ] {
        if options.has(option) {
            return fail(format!("zinject: {what} are not supported by this version of Cistern yet"));
        }
    }
    let of_blocks = ["b", "t", "C", "l", "r"].into_iter().find(|option| options.has(option));
    match (options.value("c"), options.value("d"), options.has("I"), of_blocks) {
        (Some(which), ..) => cancel(which, &options, client, io),
        (None, Some(_), _, Some(_)) => usage("device (-d) incompatible with data error injection"),
        (None, Some(device), false, None) => on_device(device, &options, client, io),
        (None, None, true, None) => ignore_flushes(&options, client, io),
        (None, _, true, _) => usage("hardware failure (-I) incompatible with other options"),
        (None, None, false, None) if options.has("a") && options.operands.is_empty() => drop_cache(client),
        (None, None, false, Some(_)) if options.has("b") => blocks::raw(&options, client, io),
        (None, None, false, Some(_)) if options.has("t") => blocks::of_type(&options, client, io),
        (None, None, false, _) => {
            usage("at least one of '-b', '-d', '-t', '-a', '-p', '-I' or '-u' must be specified")
        }
    }
}

/// `-a`
fn drop_cache(client: &Client) -> Result<i32, Stop> {
    client.post::<()>(routes::CACHE_DROP, &())?;
    Ok(0)
}

fn cancel(which: &str, options: &Parsed, client: &Client, io: &mut Io<'_>) -> Result<i32, Stop> {
    if options.options.len() > 1 {
        return usage("cancel (-c) incompatible with any other options");
    }
    if !options.operands.is_empty() {
        return usage("extraneous argument to '-c'");
    }
    let off = |id: u64| -> Result<(), Stop> {
        let answer = client.post::<Vec<ActiveFault>>(routes::FAULT_CANCEL, &FaultCancel { id });
        answer.map(drop).or_else(|error| {
            let problem = error.problem()?;
            fail(format!("failed to remove handler {id}: {}", problem.detail))
        })
    };
    if which == "all" {
        let faults: Vec<ActiveFault> = client.get(routes::FAULTS)?;
        faults.iter().try_for_each(|fault| off(fault.id))?;
        writeln!(io.out, "removed all registered handlers")?;
        return Ok(0);
    }
    let Ok(id) = which.parse() else {
        return usage(format!("invalid handle id '{which}': must be an unsigned integer or 'all'"));
    };
    off(id)?;
    writeln!(io.out, "removed handler {id}")?;
    Ok(0)
}

fn on_device(device: &str, options: &Parsed, client: &Client, io: &mut Io<'_>) -> Result<i32, Stop> {
    let [name] = options.operands.as_slice() else {
        return usage("device (-d) injection requires a single pool name");
    };
    let pool = pool(client, name)?;
    let Some(vdev) = vdevs::find(&pool, device) else {
        return fail(format!("cannot find device '{device}' in pool '{name}'"));
    };
    if let Some(action) = options.value("A") {
        let fault = match action.to_ascii_lowercase().as_str() {
            "degrade" => false,
            "fault" => true,
            _ => return usage(format!("invalid action '{action}': must be 'degrade' or 'fault'")),
        };
        let request = Condemn { guid: vdev.guid, fault };
        client.post::<()>(&routes::at(routes::POOL_CONDEMN, name), &request)?;
        return Ok(0);
    }
    let effect = effect(options)?;
    let io_kind = options.value("T").map_or(Ok(FaultIo::All), io_kind)?;
    if effect == FaultEffect::Corrupt && !matches!(io_kind, FaultIo::Read) {
        return fail("device corrupt errors require io type read");
    }
    let rate = rate(options)?;
    let fault = DeviceFault { pool: name.clone(), guid: vdev.guid, io: io_kind, effect, rate };
    register(Fault::Device(fault), options, client, io)
}

/// `-I`
fn ignore_flushes(options: &Parsed, client: &Client, io: &mut Io<'_>) -> Result<i32, Stop> {
    if options.has("s") || options.has("g") {
        return fail("zinject: -I for a time (-s, -g) is not supported by this version of Cistern yet");
    }
    let [name] = options.operands.as_slice() else {
        return usage("hardware failure (-I) injection requires a single pool name");
    };
    let mut leaves = Vec::new();
    leaves_of(&pool(client, name)?.root, &mut leaves);
    for guid in leaves {
        let (pool, effect) = (name.clone(), FaultEffect::Ignore);
        let fault = DeviceFault { pool, guid, io: FaultIo::Flush, effect, rate: ALWAYS };
        register(Fault::Device(fault), options, client, io)?;
    }
    Ok(0)
}

fn leaves_of(vdev: &VdevStatus, into: &mut Vec<u64>) {
    if vdev.children.is_empty() {
        into.push(vdev.guid);
    }
    vdev.children.iter().for_each(|child| leaves_of(child, into));
}

fn pool(client: &Client, name: &str) -> Result<PoolStatus, Stop> {
    client.get(&routes::at(routes::POOL, name)).or_else(|error| {
        error.problem()?;
        fail(format!("cannot open '{name}': no such pool"))
    })
}

fn register(fault: Fault, options: &Parsed, client: &Client, io: &mut Io<'_>) -> Result<i32, Stop> {
    let added: ActiveFault = match client.post(routes::FAULTS, &fault) {
        Ok(added) => added,
        Err(error) => return fail(error.problem()?.detail),
    };
    if options.has("a") {
        drop_cache(client)?;
    }
    if options.has("q") {
        writeln!(io.out, "{}", added.id)?;
        return Ok(0);
    }
    writeln!(io.out, "Added handler {} with the following properties:", added.id)?;
    match &added.fault {
        Fault::Device(fault) => {
            writeln!(io.out, "  pool: {}", fault.pool)?;
            writeln!(io.out, "  vdev: {:x}", fault.guid)?;
            writeln!(io.out, "iotype: {}", list::io_name(fault.io))?;
        }
        Fault::Blocks(fault) => blocks::describe(fault, io)?,
    }
    Ok(0)
}

fn effect(options: &Parsed) -> Result<FaultEffect, Stop> {
    if let Some(delay) = options.value("D") {
        let (latency, lanes) = delay.split_once(':').unwrap_or((delay, "1"));
        let good_lanes = lanes.parse::<u32>().is_ok_and(|lanes| lanes > 0);
        let ms = latency.parse::<u64>().ok().filter(|ms| *ms > 0 && good_lanes);
        let nanos = ms.and_then(|ms| ms.checked_mul(1_000_000));
        return match nanos {
            Some(nanos) => Ok(FaultEffect::Delay(nanos)),
            None => usage(format!("invalid i/o delay value: '{delay}'")),
        };
    }
    match options.value("e").map(str::to_ascii_lowercase).as_deref() {
        None | Some("nxio") => Ok(FaultEffect::Missing),
        Some("io") => Ok(FaultEffect::Io),
        Some("corrupt") => Ok(FaultEffect::Corrupt),
        Some("noop") => Ok(FaultEffect::Ignore),
        Some("checksum" | "decompress" | "decrypt" | "dtl" | "io-prefail") => {
            fail("device error type must be one of: io nxio corrupt noop")
        }
        Some(other) => usage(format!(
            "invalid error type '{other}': must be one of: io decompress decrypt nxio dtl corrupt noop io-prefail"
        )),
    }
}

fn io_kind(word: &str) -> Result<FaultIo, Stop> {
    match word.to_ascii_lowercase().as_str() {
        "read" => Ok(FaultIo::Read),
        "write" => Ok(FaultIo::Write),
        "flush" => Ok(FaultIo::Flush),
        "trim" => Ok(FaultIo::Trim),
        "all" => Ok(FaultIo::All),
        _ => usage(format!(
            "invalid I/O type '{word}': must be 'read', 'write', 'free', 'claim', 'flush' or 'all'"
        )),
    }
}

/// `-f`: a percentage.
fn rate(options: &Parsed) -> Result<u32, Stop> {
    let Some(text) = options.value("f") else { return Ok(ALWAYS) };
    match text.trim_end_matches('%').parse::<f64>() {
        Err(_) => fail("invalid value: frequency value must be in the range [0.0001, 100.0]"),
        Ok(percent) if (0.0001..=100.0).contains(&percent) => Ok((percent * 1e4).round() as u32),
        Ok(_) => fail("out of range: frequency value must be in the range [0.0001, 100.0]"),
    }
}
