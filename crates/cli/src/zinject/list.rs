//! The tables of faults in force.

use crate::client::Client;
use crate::command::Io;
use crate::fail::Stop;
use api_types::{ActiveFault, BlockFault, DeviceFault, Fault, FaultEffect, FaultIo, routes};

use super::blocks::{range_words, type_name};

pub fn list(client: &Client, io: &mut Io<'_>) -> Result<i32, Stop> {
    let faults: Vec<ActiveFault> = client.get(routes::FAULTS)?;
    if faults.is_empty() {
        writeln!(io.out, "No handlers registered.")?;
        writeln!(io.out, "Run 'zinject -h' for usage information.")?;
        return Ok(0);
    }
    let blocks = faults.iter().filter_map(|active| match &active.fault {
        Fault::Blocks(fault) => Some((active, fault)),
        Fault::Device(_) => None,
    });
    let devices = || {
        faults.iter().filter_map(|active| match &active.fault {
            Fault::Device(fault) => Some((active, fault)),
            Fault::Blocks(_) => None,
        })
    };
    let is_delay = |(_, fault): &(&ActiveFault, &DeviceFault)| matches!(fault.effect, FaultEffect::Delay(_));
    table(blocks.map(|(active, fault)| block_row(active, fault)), BLOCKS, io)?;
    let plain = devices().filter(|fault| !is_delay(fault));
    table(plain.map(|(active, fault)| device_row(active, fault)), DEVICES, io)?;
    table(devices().filter(is_delay).map(|(active, fault)| delay_row(active, fault)), DELAYS, io)?;
    writeln!(io.out)?;
    Ok(0)
}

const BLOCKS: [&str; 2] = [
    " ID  POOL             OBJSET  OBJECT  TYPE      LVL  DVAs  RANGE            MATCH   INJECT         ",
    "---  ---------------  ------  ------  --------  ---  ----  ---------------  ------  ------",
];
const DEVICES: [&str; 2] = [
    " ID  POOL             GUID              TYPE   ERROR       FREQ       MATCH   INJECT",
    "---  ---------------  ----------------  -----  ----------  ---------  ------  ------",
];
const DELAYS: [&str; 2] = [
    " ID  POOL             GUID              DELAY (ms)  LANES  FREQ       MATCH   INJECT",
    "---  ---------------  ----------------  ----------  -----  ---------  ------  ------",
];

/// Nothing where there are no rows.
fn table(rows: impl Iterator<Item = String>, head: [&str; 2], io: &mut Io<'_>) -> Result<(), Stop> {
    for (n, row) in rows.enumerate() {
        if n == 0 {
            head.iter().try_for_each(|line| writeln!(io.out, "{line}"))?;
        }
        writeln!(io.out, "{row}")?;
    }
    Ok(())
}

fn block_row(active: &ActiveFault, fault: &BlockFault) -> String {
    let BlockFault { pool, objset, object, level, copies, .. } = fault;
    let ActiveFault { id, matched, injected, .. } = active;
    let (kind, range) = (type_name(fault.kind), range_words(fault.range));
    format!(
        "{id:3}  {pool:<15}  {objset:<6}  {object:<6}  {kind:<8}  {level:<3}  {copies:#04x}  {range:<15}  \
         {matched:6}  {injected:6}"
    )
}

fn device_row(active: &ActiveFault, fault: &DeviceFault) -> String {
    let (DeviceFault { pool, guid, .. }, ActiveFault { id, matched, injected, .. }) = (fault, active);
    let (kind, error, rate) = (io_name(fault.io), error_name(fault.effect), percent(fault.rate));
    format!("{id:3}  {pool:<15}  {guid:x}  {kind:<5}  {error:<10}  {rate:8.4}%  {matched:6}  {injected:6}")
}

fn delay_row(active: &ActiveFault, fault: &DeviceFault) -> String {
    let (DeviceFault { pool, guid, .. }, ActiveFault { id, matched, injected, .. }) = (fault, active);
    let ms = match fault.effect {
        FaultEffect::Delay(nanos) => nanos / 1_000_000,
        _ => 0,
    };
    let (lanes, rate) = (1, percent(fault.rate));
    format!("{id:3}  {pool:<15}  {guid:x}  {ms:10}  {lanes:5}  {rate:8.4}%  {matched:6}  {injected:6}")
}

fn percent(rate: u32) -> f64 {
    f64::from(rate) / 1e4
}

pub fn io_name(io: FaultIo) -> &'static str {
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
