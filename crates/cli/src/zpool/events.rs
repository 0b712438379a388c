//! `zpool events`

use crate::command::Cx;
use crate::fail::{Outcome, Stop, usage};
use crate::{clock, getopt};
use api_types::{EventsCleared, EventsQuery, Zevent, ZeventValue, routes};

/// How long one request of `-f` waits.
const WAIT_MS: u64 = 25_000;

pub fn events(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "vHfc", &[])?;
    let pool = match options.operands.as_slice() {
        [] => None,
        [pool] if super::create::name_fault(pool).is_some() => {
            return usage(format!("invalid pool name '{pool}'"));
        }
        [pool] => Some(pool.as_str()),
        _ => return usage("too many arguments"),
    };
    if options.has("c") {
        if pool.is_some() || ["v", "H", "f"].iter().any(|other| options.has(other)) {
            return usage("invalid options combined with -c");
        }
        let EventsCleared { cleared } = cx.client.post(routes::EVENTS_CLEAR, &())?;
        writeln!(cx.io.out, "cleared {cleared} events")?;
        return Ok(0);
    }
    let (scripted, verbose, follow) = (options.has("H"), options.has("v"), options.has("f"));
    if !scripted {
        writeln!(cx.io.out, "{:<30} CLASS", "TIME")?;
    }
    let mut asked = EventsQuery::default();
    loop {
        let path = format!("{}?after={}&wait_ms={}", routes::EVENTS, asked.after, asked.wait_ms);
        let found: Vec<Zevent> = cx.client.get(&path)?;
        for event in found.iter().filter(|event| concerns(event, pool)) {
            print(cx, event, scripted)?;
            if verbose {
                print_payload(cx, event)?;
            }
        }
        cx.io.out.flush()?;
        if !follow {
            return Ok(0);
        }
        let last = found.last().map_or(asked.after, |event| event.eid);
        asked = EventsQuery { after: last, wait_ms: WAIT_MS };
    }
}

/// An event of no pool concerns all.
fn concerns(event: &Zevent, pool: Option<&str>) -> bool {
    let of = event.payload.iter().find(|(name, _)| name == "pool");
    match (pool, of) {
        (Some(pool), Some((_, ZeventValue::Text(name)))) => name == pool,
        _ => true,
    }
}

fn print(cx: &mut Cx<'_>, event: &Zevent, scripted: bool) -> Result<(), Stop> {
    let separator = if scripted { '\t' } else { ' ' };
    let time = clock::event(event.time.0, event.time.1);
    Ok(writeln!(cx.io.out, "{time}{separator}{}", event.class)?)
}

fn print_payload(cx: &mut Cx<'_>, event: &Zevent) -> Result<(), Stop> {
    writeln!(cx.io.out, "{:8}version = 0x0\n{:8}class = \"{}\"", "", "", event.class)?;
    for (name, value) in &event.payload {
        match value {
            ZeventValue::Text(text) => writeln!(cx.io.out, "{:8}{name} = \"{text}\"", "")?,
            ZeventValue::Number(state) if matches!(name.as_str(), "vdev_state" | "vdev_laststate") => {
                writeln!(cx.io.out, "{:8}{name} = \"{}\" (0x{state:x})", "", state_name(*state))?;
            }
            ZeventValue::Number(number) => writeln!(cx.io.out, "{:8}{name} = 0x{number:x}", "")?,
        }
    }
    writeln!(cx.io.out, "{:8}time = 0x{:x} 0x{:x} ", "", event.time.0, event.time.1)?;
    writeln!(cx.io.out, "{:8}eid = 0x{:x}", "", event.eid)?;
    Ok(writeln!(cx.io.out)?)
}

/// `zpool_state_to_name`
fn state_name(state: u64) -> &'static str {
    match state {
        1 | 2 => "OFFLINE",
        3 => "REMOVED",
        4 => "UNAVAIL",
        5 => "FAULTED",
        6 => "DEGRADED",
        7 => "ONLINE",
        _ => "UNKNOWN",
    }
}
