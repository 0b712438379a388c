//! `cistern zinject`: faults of devices on demand, in the options, tables and messages of OpenZFS's zinject.
//!
//! A fault lasts until it is cancelled, or the daemon ends. Faults of objects (`-t`, `-b`), of labels (`-L`) and of the
//! engine itself (`-p`, `-P`, `-E`) are not built, and are refused by name.
//!
//! Facts: OpenZFS's cmd/zinject/zinject.c.

use crate::client::Client;
use crate::fail::{Stop, fail, usage};
use crate::getopt::{self, Parsed};
use crate::program::Io;
use crate::vdevs;
use api_types::{ActiveFault, Condemn, DeviceFault, FaultCancel, FaultEffect, FaultIo, Pool, Vdev, routes};
use std::path::Path;

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

examples:
  cistern zinject -d /dev/sdb -e io -T read -f 10 tank
  cistern zinject -d /dev/sdb -D 50:1 tank
  cistern zinject -c all
";

/// A rate of the interface is of a million.
const ALWAYS: u32 = 1_000_000;

/// Runs it and gives its exit status.
pub fn run(args: &[String], socket: &Path, io: &mut Io<'_>) -> i32 {
    match try_run(args, &Client::new(socket), io) {
        Ok(status) | Err(Stop::Exit(status)) => status,
        Err(Stop::Usage(text)) => {
            let text = if text.is_empty() { text } else { format!("{text}\n") };
            let _ = write!(io.err, "{text}{USAGE}");
            1
        }
        Err(Stop::Fail(text)) => {
            let _ = writeln!(io.err, "{text}");
            1
        }
        Err(Stop::Output(_)) => 1,
    }
}

fn try_run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<i32, Stop> {
    if args.is_empty() {
        return list(client, io);
    }
    let options = getopt::parse(args, "aA:b:c:C:d:D:e:E:f:Fg:hIl:L:mp:P:qr:s:T:t:u", &[])?;
    if options.has("h") {
        io.out.write_all(USAGE.as_bytes())?;
        return Ok(1);
    }
    for (option, what) in [
        ("t", "faults of objects (-t)"),
        ("b", "faults of blocks (-b)"),
        ("L", "faults of labels (-L)"),
        ("p", "panics (-p)"),
        ("P", "delays of imports and exports (-P)"),
        ("E", "delays of the pipeline (-E)"),
    ] {
        if options.has(option) {
            return fail(format!("zinject: {what} are not supported by this version of Cistern yet"));
        }
    }
    match (options.value("c"), options.value("d"), options.has("I")) {
        (Some(which), None, false) => cancel(which, &options, client, io),
        (Some(_), ..) => usage("cancel (-c) incompatible with any other options"),
        (None, Some(device), false) => on_device(device, &options, client, io),
        (None, None, true) => ignore_flushes(&options, client, io),
        (None, Some(_), true) => usage("hardware failure (-I) incompatible with other options"),
        (None, None, false) => {
            usage("at least one of '-b', '-d', '-t', '-I', '-p', or '-P' must be specified")
        }
    }
}

fn list(client: &Client, io: &mut Io<'_>) -> Result<i32, Stop> {
    let faults: Vec<ActiveFault> = client.get(routes::FAULTS)?;
    let is_delay = |fault: &&ActiveFault| matches!(fault.fault.effect, FaultEffect::Delay(_));
    if faults.is_empty() {
        writeln!(io.out, "No handlers registered.")?;
        writeln!(io.out, "Run 'zinject -h' for usage information.")?;
        return Ok(0);
    }
    let mut plain = faults.iter().filter(|fault| !is_delay(fault)).peekable();
    if plain.peek().is_some() {
        writeln!(
            io.out,
            "{:>3}  {:<15}  {:<16}  {:<5}  {:<10}  {:<9}  {:<6}  {:<6}",
            "ID", "POOL", "GUID", "TYPE", "ERROR", "FREQ", "MATCH", "INJECT"
        )?;
        writeln!(
            io.out,
            "---  ---------------  ----------------  -----  ----------  ---------  ------  ------"
        )?;
    }
    for ActiveFault { id, fault, matched, injected } in plain {
        let DeviceFault { pool, guid, .. } = fault;
        let (kind, error, rate) = (io_name(fault.io), error_name(fault.effect), percent(fault.rate));
        writeln!(
            io.out,
            "{id:3}  {pool:<15}  {guid:x}  {kind:<5}  {error:<10}  {rate:8.4}%  {matched:6}  {injected:6}"
        )?;
    }
    let mut delays = faults.iter().filter(is_delay).peekable();
    if delays.peek().is_some() {
        writeln!(
            io.out,
            "{:>3}  {:<15}  {:<16}  {:<10}  {:<5}  {:<9}  {:<6}  {:<6}",
            "ID", "POOL", "GUID", "DELAY (ms)", "LANES", "FREQ", "MATCH", "INJECT"
        )?;
        writeln!(
            io.out,
            "---  ---------------  ----------------  ----------  -----  ---------  ------  ------"
        )?;
    }
    for ActiveFault { id, fault, matched, injected } in delays {
        let FaultEffect::Delay(nanos) = fault.effect else { continue };
        let (DeviceFault { pool, guid, .. }, ms, rate) = (fault, nanos / 1_000_000, percent(fault.rate));
        writeln!(
            io.out,
            "{id:3}  {pool:<15}  {guid:x}  {ms:10}  {:5}  {rate:8.4}%  {matched:6}  {injected:6}",
            1
        )?;
    }
    writeln!(io.out)?;
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
        let answer: Result<Vec<ActiveFault>, _> = client.post(routes::FAULT_CANCEL, &FaultCancel { id });
        match answer {
            Ok(_) => Ok(()),
            Err(error) => {
                let problem = error.problem()?;
                fail(format!("failed to remove handler {id}: {}", problem.detail))
            }
        }
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
    let io_kind = match options.value("T") {
        None => FaultIo::All,
        Some(word) => io_kind(word)?,
    };
    if effect == FaultEffect::Corrupt && !matches!(io_kind, FaultIo::Read) {
        return fail("device corrupt errors require io type read");
    }
    let rate = rate(options)?;
    let fault = DeviceFault { pool: name.clone(), guid: vdev.guid, io: io_kind, effect, rate };
    register(&fault, options.has("q"), client, io)
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
        register(&fault, options.has("q"), client, io)?;
    }
    Ok(0)
}

fn leaves_of(vdev: &Vdev, into: &mut Vec<u64>) {
    if vdev.children.is_empty() {
        into.push(vdev.guid);
    }
    vdev.children.iter().for_each(|child| leaves_of(child, into));
}

fn pool(client: &Client, name: &str) -> Result<Pool, Stop> {
    match client.get(&routes::at(routes::POOL, name)) {
        Ok(pool) => Ok(pool),
        Err(error) => {
            error.problem()?;
            fail(format!("cannot open '{name}': no such pool"))
        }
    }
}

fn register(fault: &DeviceFault, quiet: bool, client: &Client, io: &mut Io<'_>) -> Result<i32, Stop> {
    let added: ActiveFault = match client.post(routes::FAULTS, fault) {
        Ok(added) => added,
        Err(error) => return fail(error.problem()?.detail),
    };
    if quiet {
        writeln!(io.out, "{}", added.id)?;
        return Ok(0);
    }
    writeln!(io.out, "Added handler {} with the following properties:", added.id)?;
    writeln!(io.out, "  pool: {}", fault.pool)?;
    writeln!(io.out, "  vdev: {:x}", fault.guid)?;
    writeln!(io.out, "iotype: {}", io_name(fault.io))?;
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

fn percent(rate: u32) -> f64 {
    f64::from(rate) / 1e4
}

fn io_name(io: FaultIo) -> &'static str {
    match io {
        FaultIo::Read => "read",
        FaultIo::Write => "write",
        FaultIo::Flush => "flush",
        FaultIo::Trim => "trim",
        FaultIo::All => "all",
    }
}

fn error_name(effect: FaultEffect) -> &'static str {
    match effect {
        FaultEffect::Io => "io",
        FaultEffect::Missing => "nxio",
        FaultEffect::Corrupt => "corrupt",
        FaultEffect::Ignore => "noop",
        FaultEffect::Delay(_) => "-",
    }
}
