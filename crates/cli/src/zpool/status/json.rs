//! `zpool status -j`: the same as one document.
//!
//! Source: cmd/zpool/zpool_main.c (`status_callback_json`, `vdev_stats_nvlist`,
//! `scan_status_nvlist`, `removal_status_nvlist`, `dedup_stats_nvlist`, `vdev_aux_str`).

use super::super::{Place, pool_info, pool_key, vdev_info};
use super::values::{bytes, count, time};
use super::{Format, MESSAGES, is_healthy, leaf_is_healthy, rebuild};
use crate::command::Cx;
use crate::fail::Stop;
use crate::json::Json;
use crate::{ddt, vdevs};
use api_types::{
    Checkpoint, DedupBucket, DedupTables, ErrorScrubStatus, PoolStatus, Removal, RemovalState, ScanKind,
    ScanState, ScanStatus, SweepState, SweepStatus, VdevStatus, routes,
};

pub(super) fn print(
    cx: &mut Cx<'_>,
    format: &Format,
    pools: &[PoolStatus],
    time: Option<String>,
) -> Result<(), Stop> {
    let as_int = format.json.as_int;
    let mut all = Json::object();
    for pool in pools.iter().filter(|pool| !format.explain || !is_healthy(pool)) {
        let mut item = pool_info(pool, false, as_int);
        if let Some(condition) = &pool.condition {
            item.put("status", &*condition.status());
            item.put("action", condition.action());
            if let Some(msgid) = condition.msgid() {
                item.put("msgid", msgid);
                item.put("moreinfo", format!("{MESSAGES}{msgid}"));
            }
        }
        let mut scan = pool.scan.as_ref().map_or_else(Json::object, |scan| scan_stats(format, scan));
        let last = pool.scan.as_ref().map_or(0, |scan| scan.start);
        if let Some(errors) = pool.error_scrub.as_ref().filter(|errors| errors.start > last) {
            error_scrub(format, errors, &mut scan);
        }
        if let Some(rebuilds) = rebuild::json(format, pool) {
            scan.put("rebuild_stats", rebuilds);
        }
        if scan != Json::object() {
            item.put("scan_stats", scan);
        }
        if let Some(removal) = &pool.removal {
            item.put("removal_stats", removal_stats(format, pool, removal));
        }
        if let Some(checkpoint) = &pool.checkpoint {
            item.put("checkpoint_stats", checkpoint_stats(format, checkpoint));
        }
        let mut tree = Json::object();
        vdev_stats(format, &pool.root, &pool.name, Place::Normal, None, &mut tree);
        sections(format, pool, &mut tree, &mut item);
        if format.dedup {
            item.put("dedup_stats", dedup_stats(format, &pool.dedup));
        }
        item.put("error_count", count(format, pool.data_errors));
        if pool.data_errors > 0 && format.verbose {
            let names: Vec<String> = cx.client.get(&routes::at(routes::POOL_ERRORS, &pool.name))?;
            item.put("errlist", Json::List(names.into_iter().map(Json::Text).collect()));
        }
        all.put(pool_key(pool, format.json.by_guid), item);
    }
    let mut document = Json::document(&cx.command).with("pools", all);
    if let Some(time) = time {
        document.put("time", time);
    }
    Ok(writeln!(cx.io.out, "{document}")?)
}

/// `scan_stats` (cmd/zpool/zpool_main.c, `scan_status_nvlist`).
fn scan_stats(format: &Format, scan: &ScanStatus) -> Json {
    let (bytes, time) = (|value| bytes(format, value), |value| time(format, value));
    let function = if scan.kind == ScanKind::Scrub { "SCRUB" } else { "RESILVER" };
    let state = match scan.state {
        ScanState::Running | ScanState::Paused => "SCANNING",
        ScanState::Finished => "FINISHED",
        ScanState::Canceled => "CANCELED",
    };
    let mut item = Json::object().with("function", function).with("state", state);
    item.put("start_time", time(scan.start));
    item.put("end_time", time(scan.end));
    item.put("to_examine", bytes(scan.to_examine));
    item.put("examined", bytes(scan.examined));
    item.put("skipped", bytes(scan.skipped));
    item.put("processed", bytes(scan.processed));
    item.put("errors", count(format, scan.errors));
    item.put("bytes_per_scan", bytes(scan.pass_examined));
    item.put("pass_start", Json::number(scan.pass_start, format.json.as_int));
    item.put("scrub_pause", time(scan.paused));
    item.put("scrub_spent_paused", Json::number(scan.spent_paused, format.json.as_int));
    item.put("issued_bytes_per_scan", bytes(scan.pass_issued));
    item.put("issued", bytes(scan.issued));
    item
}

fn error_scrub(format: &Format, scrub: &ErrorScrubStatus, scan: &mut Json) {
    let state = match scrub.state {
        ScanState::Running | ScanState::Paused => "ERRORSCRUBBING",
        ScanState::Finished => "FINISHED",
        ScanState::Canceled => "CANCELED",
    };
    scan.put("err_scrub_func", "ERRORSCRUB");
    scan.put("err_scrub_state", state);
    scan.put("err_scrub_start_time", time(format, scrub.start));
    scan.put("err_scrub_end_time", time(format, scrub.end));
    scan.put("err_scrub_examined", count(format, scrub.examined));
    scan.put("err_scrub_to_examine", count(format, scrub.to_examine));
    scan.put("err_scrub_pause", Json::number(scrub.paused, format.json.as_int));
}

/// `checkpoint_stats` (`checkpoint_status_nvlist`).
fn checkpoint_stats(format: &Format, checkpoint: &Checkpoint) -> Json {
    let state = if checkpoint.discarding { "DISCARDING" } else { "EXISTS" };
    let stats = Json::object().with("state", state.to_owned());
    let stats = stats.with("start_time", time(format, checkpoint.time));
    stats.with("space", bytes(format, checkpoint.space))
}

/// `removal_stats`; what was removed is no vdev of the pool any more, and has a name only.
fn removal_stats(format: &Format, pool: &PoolStatus, removal: &Removal) -> Json {
    let top = pool.root.children.iter().find(|top| !removal.name.is_empty() && top.name == removal.name);
    let mut item = match top {
        Some(top) => {
            let place = top.class.as_deref().map_or(Place::Normal, Place::titled);
            vdev_info(top, &vdevs::name(top, format.naming), place, format.json.as_int)
        }
        None => Json::object().with("name", format!("indirect-{}", removal.vdev)),
    };
    let state = match removal.state {
        RemovalState::Running => "SCANNING",
        RemovalState::Finished => "FINISHED",
        RemovalState::Canceled => "CANCELED",
    };
    item.put("state", state);
    item.put("removing_vdev", Json::number(removal.vdev, format.json.as_int));
    item.put("start_time", time(format, removal.start));
    item.put("end_time", time(format, removal.end));
    item.put("to_copy", bytes(format, removal.to_copy));
    item.put("copied", bytes(format, removal.copied));
    item.with("mapping_memory", bytes(format, removal.mapping))
}

/// Log and cache devices and spares are members of their own, beside the tree; with
/// `--json-flat-vdevs`, in it.
fn sections(format: &Format, pool: &PoolStatus, tree: &mut Json, item: &mut Json) {
    let mut sections = Json::object();
    let classes = vdevs::classes(&pool.root).into_iter().map(|(title, vdevs)| (Place::titled(title), vdevs));
    let extras =
        [(Place::Cache, pool.cache.iter().collect::<Vec<_>>()), (Place::Spare, pool.spares.iter().collect())];
    for (place, vdevs) in classes.chain(extras) {
        let mut section = Json::object();
        for vdev in vdevs.into_iter().filter(|vdev| !format.unhealthy || !leaf_is_healthy(vdev)) {
            let into = if format.json.flat { &mut *tree } else { &mut section };
            vdev_stats(format, vdev, &vdevs::name(vdev, format.naming), place, None, into);
        }
        if section != Json::object() {
            sections.put(place.section(), section);
        }
    }
    item.put("vdevs", std::mem::replace(tree, Json::object()));
    if let Json::Object(members) = sections {
        members.into_iter().for_each(|(name, section)| item.put(name, section));
    }
}

fn vdev_stats(
    format: &Format,
    vdev: &VdevStatus,
    name: &str,
    place: Place,
    parent: Option<&str>,
    into: &mut Json,
) {
    let mut item = vdev_info(vdev, name, place, format.json.as_int);
    if let Some(parent) = parent.filter(|_| format.json.flat) {
        item.put("parent", parent);
    }
    if place == Place::Spare {
        if let Some(user) = &vdev.used_by {
            if vdev.note.as_deref() != Some("currently in use") {
                item.put("used_by", user.as_str());
            }
            item.put("aux", "SPARED");
        } else if let Some(aux) = aux(vdev) {
            item.put("aux", aux);
        }
        into.put(name, item);
        return;
    }
    let spaces = [
        ("alloc_space", vdev.allocated),
        ("total_space", vdev.size),
        ("checkpoint_space", vdev.checkpoint),
        ("ex_dev_size", vdev.expandable),
        ("phys_space", vdev.physical),
    ];
    for (name, space) in spaces.into_iter().filter(|(_, space)| *space > 0) {
        item.put(name, bytes(format, space));
    }
    item.put("read_errors", count(format, vdev.read_errors));
    item.put("write_errors", count(format, vdev.write_errors));
    item.put("checksum_errors", count(format, vdev.checksum_errors));
    if vdev.children.is_empty() {
        // None is ever counted.
        item.put("slow_ios", count(format, 0));
    }
    if let Some(aux) = aux(vdev) {
        item.put("aux", aux);
    }
    if vdev.children.is_empty() {
        if format.initialize {
            let names = ["init_state", "initialized", "to_initialize", "init_time", "init_errors"];
            sweep_stats(format, vdev, &vdev.initialize, names, "UNINITIALIZED", &mut item);
        }
        if format.trim && vdev.trim.supported {
            let names = ["trim_state", "trimmed", "to_trim", "trim_time", "trim_errors"];
            sweep_stats(format, vdev, &vdev.trim, names, "UNTRIMMED", &mut item);
        }
        if format.trim {
            item.put("trim_notsup", Json::number(u64::from(!vdev.trim.supported), format.json.as_int));
        }
    }
    let mut children = Json::object();
    let below = if parent.is_none() && place == Place::Normal {
        vdevs::normal(vdev).collect()
    } else {
        vdev.children.iter().collect::<Vec<_>>()
    };
    for child in below.into_iter().filter(|child| !format.unhealthy || !leaf_is_healthy(child)) {
        let child_name = vdevs::name(child, format.naming);
        // A flat tree has them here as well.
        if format.json.flat {
            vdev_stats(format, child, &child_name, place, Some(name), into);
        }
        vdev_stats(format, child, &child_name, place, Some(name), &mut children);
    }
    if children != Json::object() {
        item.put("vdevs", children);
    }
    into.put(name, item);
}

/// The constant for what is wrong with a vdev.
fn aux(vdev: &VdevStatus) -> Option<&'static str> {
    match vdev.note.as_deref()? {
        "cannot open" => Some("OPEN_FAILED"),
        "corrupted data" => Some("CORRUPT_DATA"),
        "insufficient replicas" => Some("NO_REPLICAS"),
        "too many errors" => Some("ERR_EXCEEDED"),
        "external device fault" => Some("EXTERNAL"),
        _ => None,
    }
}

/// How far a disk is trimmed or initialized. `names`: of its state, of the bytes done and to be
/// done, of when, and of errors.
fn sweep_stats(
    format: &Format,
    vdev: &VdevStatus,
    sweep: &SweepStatus,
    names: [&str; 5],
    never: &str,
    item: &mut Json,
) {
    let state = match sweep.state {
        SweepState::Never => return item.put(names[0], never),
        SweepState::Running => "ACTIVE",
        SweepState::Canceled => "CANCELED",
        SweepState::Suspended => "SUSPENDED",
        SweepState::Complete => "COMPLETE",
    };
    item.put(names[0], state);
    item.put(names[1], bytes(format, vdev.physical / 100 * u64::from(sweep.percent)));
    item.put(names[2], bytes(format, vdev.physical));
    item.put(names[3], time(format, sweep.time));
    item.put(names[4], count(format, 0));
}

fn dedup_stats(format: &Format, tables: &DedupTables) -> Json {
    let stats = Json::object().with("obj_count", count(format, tables.entries));
    if tables.entries == 0 {
        return stats.with("ddt_object_stats", Json::object());
    }
    let mut histogram = Json::object();
    for bucket in &tables.buckets {
        histogram.put(bucket.references.max(1).ilog2().to_string(), bucket_stats(format, bucket));
    }
    let total = bucket_stats(format, &ddt::total(&tables.buckets));
    stats
        .with("dspace", count(format, tables.on_disk))
        .with("mspace", count(format, tables.in_core))
        .with("ddt_stats", Json::object().with("total", total).with("histogram", histogram))
}

fn bucket_stats(format: &Format, bucket: &DedupBucket) -> Json {
    Json::object()
        .with("blocks", count(format, bucket.blocks))
        .with("logical_size", bytes(format, bucket.lsize))
        .with("physical_size", bytes(format, bucket.psize))
        .with("deflated_size", bytes(format, bucket.dsize))
        .with("ref_blocks", count(format, bucket.ref_blocks))
        .with("ref_lsize", bytes(format, bucket.ref_lsize))
        .with("ref_psize", bytes(format, bucket.ref_psize))
        .with("ref_dsize", bytes(format, bucket.ref_dsize))
}
