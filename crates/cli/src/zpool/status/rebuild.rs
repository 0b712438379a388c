//! What `zpool status` says of sequential resilvers (cmd/zpool/zpool_main.c,
//! `print_rebuild_status_impl`).

use super::super::{Place, vdev_info};
use super::Format;
use super::scan::{HONEST, days};
use super::values::{bytes, count, time};
use crate::clock;
use crate::human::{nicebytes, nicetime};
use crate::json::Json;
use crate::vdevs;
use api_types::{PoolStatus, RebuildState, RebuildStatus};

/// What stands behind `scan: `, of the top-level vdev of this name.
pub fn lines(rebuild: &RebuildStatus, name: &str) -> String {
    let rebuilt = nicebytes(rebuild.rebuilt);
    match rebuild.state {
        RebuildState::Finished => {
            let (took, end) = (days(rebuild.took / 1000), clock::ctime(rebuild.end));
            format!("resilvered ({name}) {rebuilt} in {took} with {} errors on {end}", rebuild.errors)
        }
        RebuildState::Canceled => format!("resilver ({name}) canceled on {}", clock::ctime(rebuild.end)),
        RebuildState::Running => {
            let start = clock::ctime(rebuild.start);
            format!("resilver ({name}) in progress since {start}\n\t{}", progress(rebuild))
        }
    }
}

fn progress(rebuild: &RebuildStatus) -> String {
    let rate = |bytes: u64| bytes / (rebuild.pass_took + 1) * 1000;
    let at = |rate: u64| if rate == 0 { String::new() } else { format!(" at {}/s", nicebytes(rate)) };
    let (scan_rate, all) = (rate(rebuild.pass_scanned), nicebytes(rebuild.to_scan));
    let line = format!(
        "{} / {all} scanned{}, {} / {all} issued{}\n",
        nicebytes(rebuild.scanned),
        at(scan_rate),
        nicebytes(rebuild.issued),
        at(rate(rebuild.pass_issued))
    );
    let percent = (rebuild.scanned as f64 * 100.0 / (rebuild.to_scan + 1) as f64).min(100.0);
    let line = format!("{line}\t{} resilvered, {percent:.2}% done", nicebytes(rebuild.rebuilt));
    match rebuild.to_scan.checked_sub(rebuild.scanned) {
        Some(left) if scan_rate >= HONEST => format!("{line}, {} to go", days(left / scan_rate)),
        _ => format!("{line}, no estimated completion time"),
    }
}

/// `rebuild_stats`; `None` if there never was one.
pub(super) fn json(format: &Format, pool: &PoolStatus) -> Option<Json> {
    let mut all = Json::object();
    for top in &pool.root.children {
        let Some(rebuild) = &top.rebuild else { continue };
        let name = vdevs::name(top, format.naming);
        let mut item = vdev_info(
            top,
            &name,
            top.class.as_deref().map_or(Place::Normal, Place::titled),
            format.json.as_int,
        );
        let state = match rebuild.state {
            RebuildState::Running => "ACTIVE",
            RebuildState::Canceled => "CANCELED",
            RebuildState::Finished => "COMPLETE",
        };
        let span = |milliseconds: u64| match format.literal {
            true => count(format, milliseconds * 1_000_000),
            false => Json::Text(nicetime(milliseconds * 1_000_000)),
        };
        item.put("state", state);
        item.put("start_time", time(format, rebuild.start));
        item.put("end_time", time(format, rebuild.end));
        item.put("scan_time", span(rebuild.took));
        item.put("scanned", bytes(format, rebuild.scanned));
        item.put("issued", bytes(format, rebuild.issued));
        item.put("rebuilt", bytes(format, rebuild.rebuilt));
        item.put("to_scan", bytes(format, rebuild.to_scan));
        item.put("errors", count(format, rebuild.errors));
        item.put("pass_time", span(rebuild.pass_took));
        item.put("pass_scanned", bytes(format, rebuild.pass_scanned));
        item.put("pass_issued", bytes(format, rebuild.pass_issued));
        item.put("pass_skipped", bytes(format, 0));
        all.put(name, item);
    }
    (all != Json::object()).then_some(all)
}

#[cfg(test)]
mod tests;
