//! `zpool history`

use super::pools;
use crate::command::Cx;
use crate::fail::{Noun, Outcome, Stop};
use crate::{clock, getopt};
use api_types::{HistoryRecord, routes};

pub fn history(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "il", &[])?;
    let internal = options.has("i");
    let (found, mut status) = pools(cx, &options.operands)?;
    if found.is_empty() && options.operands.is_empty() {
        cx.complain("no pools available")?;
        return Ok(0);
    }
    for pool in found {
        let path = format!("{}?internal={internal}", routes::at(routes::POOL_HISTORY, &pool.name));
        match cx.client.get::<Vec<HistoryRecord>>(&path) {
            Ok(records) => {
                writeln!(cx.io.out, "History for '{}':", pool.name)?;
                for record in records.iter().filter(|record| internal || !record.internal) {
                    print(cx, record, options.has("l"))?;
                }
                writeln!(cx.io.out)?;
            }
            Err(error) => {
                let what = format!("cannot get history for '{}'", pool.name);
                status = cx.refused(&what, error, Noun::Pool)?;
            }
        }
    }
    Ok(status)
}

fn print(cx: &mut Cx<'_>, record: &HistoryRecord, long: bool) -> Result<(), Stop> {
    write!(cx.io.out, "{} ", clock::stamp(record.time))?;
    match record.txg {
        Some(txg) if record.internal => write!(cx.io.out, "[txg:{txg}] {}", record.text)?,
        _ => write!(cx.io.out, "{}", record.text)?,
    }
    if long {
        write!(cx.io.out, " [")?;
        if let Some(user) = &record.user {
            // Another machine has other users.
            let user = if cx.client.socket().is_none() { user.clone() } else { with_name(user) };
            write!(cx.io.out, "user {user} ")?;
        }
        if let Some(host) = record.host.as_ref().filter(|host| !host.is_empty()) {
            write!(cx.io.out, "on {host}")?;
        }
        write!(cx.io.out, "]")?;
    }
    Ok(writeln!(cx.io.out)?)
}

/// `0 (root)` for `0` and for `root`, where this machine knows the user; else what was recorded.
fn with_name(user: &str) -> String {
    let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let entry = known.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, uid) = (fields.next()?, fields.nth(1)?);
        (name == user || uid == user).then(|| format!("{uid} ({name})"))
    });
    entry.unwrap_or_else(|| user.to_owned())
}
