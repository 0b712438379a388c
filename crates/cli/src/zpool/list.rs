//! `zpool list`

use super::{JsonOptions, Place, Repeat, naming, pool_info, pool_key, pools, timestamp, vdev_info};
use crate::command::Cx;
use crate::fail::{Outcome, Stop};
use crate::human::nicenum;
use crate::json::Json;
use crate::props::{self, Column, Domain};
use crate::vdevs::{self, Naming};
use crate::{getopt, propget};
use api_types::{PoolStatus, PropValue, Source, VdevStatus, routes};

const DEFAULT: &str =
    "name,size,allocated,free,checkpoint,expandsize,fragmentation,capacity,dedupratio,health,altroot";

/// How to print.
struct Format {
    columns: Vec<Column>,
    scripted: bool,
    literal: bool,
    verbose: bool,
    naming: Naming,
    json: JsonOptions,
}

/// A pool with the values asked for.
struct Row {
    pool: PoolStatus,
    props: Vec<PropValue>,
}

pub fn list(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "gjHLo:pPT:v", &JsonOptions::LONG[..3])?;
    let json = JsonOptions::of(&options)?;
    let format = Format {
        columns: props::columns(Domain::Pool, options.value("o").unwrap_or(DEFAULT))?,
        scripted: options.has("H"),
        literal: options.has("p") || json.as_int,
        verbose: options.has("v"),
        naming: naming(&options),
        json,
    };
    let mut names = options.operands.clone();
    let mut repeat = Repeat::take(&mut names)?;
    let mut first = true;
    loop {
        let time = timestamp(options.value("T"))?;
        let (found, status) = pools(cx, &names)?;
        if found.is_empty() {
            if names.is_empty() && !format.scripted && !format.json.json {
                writeln!(cx.io.out, "no pools available")?;
            }
            if names.is_empty() && format.json.json {
                let document = Json::document(&cx.command).with("pools", Json::object());
                writeln!(cx.io.out, "{document}")?;
            }
            return Ok(status);
        }
        let rows = rows(cx, &format, found)?;
        match format.json.json {
            true => print_json(cx, &format, &rows, time)?,
            false => {
                if let Some(time) = time {
                    writeln!(cx.io.out, "{time}")?;
                }
                print(cx, &format, &rows, first || format.verbose)?;
            }
        }
        first = false;
        if !repeat.next(cx)? {
            return Ok(status);
        }
    }
}

fn rows(cx: &mut Cx<'_>, format: &Format, pools: Vec<PoolStatus>) -> Result<Vec<Row>, Stop> {
    let names = propget::query_names(Some(&format.columns));
    let mut rows = Vec::new();
    for pool in pools {
        let path =
            format!("{}?names={}", routes::at(routes::POOL_PROPERTIES, &pool.name), routes::segment(&names));
        let props = if names.is_empty() { Vec::new() } else { cx.client.get(&path)? };
        rows.push(Row { pool, props });
    }
    Ok(rows)
}

fn value(format: &Format, row: &Row, column: &Column) -> (String, Source) {
    if column.name == "name" {
        return (row.pool.name.clone(), Source::None);
    }
    match row.props.iter().find(|prop| prop.name == column.name) {
        Some(prop) => (props::show(Domain::Pool, prop, format.literal), prop.source.clone()),
        None => ("-".into(), Source::None),
    }
}

fn print(cx: &mut Cx<'_>, format: &Format, rows: &[Row], heading: bool) -> Result<(), Stop> {
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| format.columns.iter().map(|column| value(format, row, column).0).collect())
        .collect();
    let widths = widths(format, rows, &cells);
    if heading && !format.scripted {
        let titles: Vec<String> = format.columns.iter().map(Column::heading).collect();
        print_line(cx, format, &titles, &widths)?;
    }
    for (row, cells) in rows.iter().zip(&cells) {
        print_line(cx, format, cells, &widths)?;
        if format.verbose {
            print_vdevs(cx, format, &row.pool, &widths)?;
        }
    }
    Ok(())
}

fn widths(format: &Format, rows: &[Row], cells: &[Vec<String>]) -> Vec<usize> {
    let measure = |(at, column): (usize, &Column)| {
        if at == 0 && format.verbose {
            let name = |row: &Row| vdevs::pool_width(&row.pool, format.naming);
            return rows.iter().map(name).max().unwrap_or(0).max(9);
        }
        let values = cells.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        values.max(column.min_width())
    };
    format.columns.iter().enumerate().map(measure).collect()
}

fn print_line(cx: &mut Cx<'_>, format: &Format, cells: &[String], widths: &[usize]) -> Result<(), Stop> {
    if format.scripted {
        return Ok(writeln!(cx.io.out, "{}", cells.join("\t"))?);
    }
    Ok(writeln!(cx.io.out, "{}", props::line(&format.columns, cells, widths))?)
}

/// The tree, then what stands beside it, each kind under a heading.
fn print_vdevs(cx: &mut Cx<'_>, format: &Format, pool: &PoolStatus, widths: &[usize]) -> Result<(), Stop> {
    for top in vdevs::normal(&pool.root) {
        print_vdev(cx, format, top, 2, Place::Normal, widths)?;
    }
    let classes = vdevs::classes(&pool.root);
    let classes = classes.into_iter().map(|(title, vdevs)| (title, Place::titled(title), vdevs));
    let extras = [
        ("cache", Place::Cache, pool.cache.iter().collect::<Vec<_>>()),
        ("spare", Place::Spare, pool.spares.iter().collect()),
    ];
    for (title, place, vdevs) in classes.chain(extras) {
        if !vdevs.is_empty() {
            print_title(cx, format, title, widths)?;
        }
        for vdev in vdevs {
            print_vdev(cx, format, vdev, 2, place, widths)?;
        }
    }
    Ok(())
}

/// A heading and dashes: none for altroot, which no vdev has, and the last not aligned. As OpenZFS
/// 2.1 has it, also for scripts.
fn print_title(cx: &mut Cx<'_>, format: &Format, title: &str, widths: &[usize]) -> Result<(), Stop> {
    write!(cx.io.out, "{title:<width$}", width = widths[0])?;
    let shown = widths.iter().zip(&format.columns).filter(|(_, column)| column.name != "altroot");
    let shown: Vec<usize> = shown.map(|(width, _)| *width).collect();
    if let [_, middle @ .., _] = shown.as_slice() {
        for width in middle {
            write!(cx.io.out, "  {:>width$}", "-")?;
        }
        write!(cx.io.out, "  -")?;
    }
    Ok(writeln!(cx.io.out)?)
}

/// A vdev's value for a column; only some have space of their own.
fn vdev_value(format: &Format, vdev: &VdevStatus, place: Place, column: &str) -> String {
    let top = vdev.size > 0;
    let size = |bytes: u64| match bytes {
        0 => "-".to_owned(),
        bytes if format.literal => bytes.to_string(),
        bytes => nicenum(bytes),
    };
    let counted = |bytes: u64| if format.literal { bytes.to_string() } else { nicenum(bytes) };
    let percent = if format.literal { "" } else { "%" };
    match column {
        "size" => size(if vdev.physical > 0 { vdev.physical } else { vdev.size }),
        "allocated" if top => counted(vdev.allocated),
        "free" if top => counted(vdev.size.saturating_sub(vdev.allocated)),
        "fragmentation" if top => vdev.fragmentation.map_or("-".into(), |part| format!("{part}{percent}")),
        "capacity" if top => capacity(format, vdev),
        "expandsize" => size(vdev.expandable),
        "checkpoint" => size(vdev.checkpoint),
        "health" if place == Place::Spare => vdevs::spare_state(vdev).to_owned(),
        "health" => vdev.health.name().to_owned(),
        _ => "-".into(),
    }
}

/// A vdev's capacity comes in three digits, a pool's in whole percent.
fn capacity(format: &Format, vdev: &VdevStatus) -> String {
    let permyriad = (u128::from(vdev.allocated) * 10_000 / u128::from(vdev.size)) as u64;
    let percent = permyriad as f64 / 100.0;
    match permyriad {
        _ if format.literal => (permyriad / 100).to_string(),
        0..1_000 => format!("{percent:.2}%"),
        1_000..10_000 => format!("{percent:.1}%"),
        _ => format!("{percent:.0}%"),
    }
}

fn print_vdev(
    cx: &mut Cx<'_>,
    format: &Format,
    vdev: &VdevStatus,
    depth: usize,
    place: Place,
    widths: &[usize],
) -> Result<(), Stop> {
    let name = vdevs::name(vdev, format.naming);
    match format.scripted {
        true => write!(cx.io.out, "\t{name}")?,
        false => write!(cx.io.out, "{:depth$}{name:<pad$}", "", pad = widths[0].saturating_sub(depth))?,
    }
    // A vdev has no altroot, and the last column of a line that has nothing to say is left away.
    let shown = format
        .columns
        .iter()
        .zip(widths)
        .filter(|(column, _)| !matches!(column.name.as_str(), "name" | "altroot"));
    for (column, width) in shown {
        let value = vdev_value(format, vdev, place, &column.name);
        match format.scripted {
            true => write!(cx.io.out, "\t{value}")?,
            false => write!(cx.io.out, "  {value:>width$}")?,
        }
    }
    writeln!(cx.io.out)?;
    for child in &vdev.children {
        print_vdev(cx, format, child, depth + 2, place, widths)?;
    }
    Ok(())
}

fn print_json(cx: &mut Cx<'_>, format: &Format, rows: &[Row], time: Option<String>) -> Result<(), Stop> {
    let mut all = Json::object();
    for row in rows {
        let mut values = Json::object();
        for column in format.columns.iter().filter(|column| column.name != "name") {
            let (shown, source) = value(format, row, column);
            values.put(&column.name, propget::json_prop(&shown, &source, format.json.as_int));
        }
        let mut item = pool_info(&row.pool, true, format.json.as_int).with("properties", values);
        if format.verbose {
            put_vdevs(format, &row.pool, &mut item);
        }
        all.put(pool_key(&row.pool, format.json.by_guid), item);
    }
    let mut document = Json::document(&cx.command).with("pools", all);
    if let Some(time) = time {
        document.put("time", time);
    }
    Ok(writeln!(cx.io.out, "{document}")?)
}

fn put_vdevs(format: &Format, pool: &PoolStatus, item: &mut Json) {
    item.put("vdevs", json_vdevs(format, vdevs::normal(&pool.root), Place::Normal));
    for (title, vdevs) in vdevs::classes(&pool.root) {
        let place = Place::titled(title);
        item.put(place.section(), json_vdevs(format, vdevs.into_iter(), place));
    }
    let cache = json_vdevs(format, pool.cache.iter(), Place::Cache);
    let spares = json_vdevs(format, pool.spares.iter(), Place::Spare);
    for (place, section) in [(Place::Cache, cache), (Place::Spare, spares)] {
        if section != Json::object() {
            item.put(place.section(), section);
        }
    }
}

fn json_vdevs<'a>(format: &Format, vdevs: impl Iterator<Item = &'a VdevStatus>, place: Place) -> Json {
    let mut all = Json::object();
    for vdev in vdevs {
        let name = vdevs::name(vdev, format.naming);
        let mut values = Json::object();
        for column in format.columns.iter().filter(|column| column.name != "name") {
            let shown = vdev_value(format, vdev, place, &column.name);
            values.put(&column.name, propget::json_prop(&shown, &Source::None, format.json.as_int));
        }
        let mut item = vdev_info(vdev, &name, place, format.json.as_int).with("properties", values);
        if !vdev.children.is_empty() {
            item.put("vdevs", json_vdevs(format, vdev.children.iter(), place));
        }
        all.put(name, item);
    }
    all
}
