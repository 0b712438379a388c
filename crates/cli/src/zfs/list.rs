//! `zfs list`

use super::select::{self, Selection};
use crate::command::Cx;
use crate::fail::{Outcome, Stop, usage};
use crate::getopt::{self, Parsed};
use crate::json::Json;
use crate::propget;
use crate::props::{self, Column, Domain};
use crate::term::{Tone, paint};
use api_types::{DatasetInfo, DatasetKind, PoolStatus, PropValue, Source, routes};

const DEFAULT: &str = "name,used,available,referenced,mountpoint";

/// How to print.
struct Format {
    columns: Vec<Column>,
    scripted: bool,
    literal: bool,
    json: bool,
    as_int: bool,
}

pub fn list(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "jHS:d:o:prs:t:", &["json", "json-int"])?;
    let format = Format {
        columns: props::columns(Domain::Dataset, options.value("o").unwrap_or(DEFAULT))?,
        scripted: options.has("H"),
        literal: options.has("p") || options.has("json-int"),
        json: options.has("j"),
        as_int: options.has("json-int"),
    };
    if format.as_int && !format.json {
        return usage("'--json-int' only works with '-j' option");
    }
    let keys = sort_keys(&options)?;
    let mut asked: Vec<&str> = format.columns.iter().map(|column| column.name.as_str()).collect();
    asked.extend(keys.iter().map(|(name, _)| name.as_str()));
    asked.retain(|name| *name != "name");
    asked.sort_unstable();
    asked.dedup();
    let props = if asked.is_empty() { "type".to_owned() } else { asked.join(",") };
    let mut kinds = select::kinds(options.value("t"))?;
    let depth = select::depth(&options, &kinds)?;
    let by_property = options.value("t").is_none() && depth != Some(0) && options.value("o") != Some("space");
    let shown = if by_property { showing_snapshots(cx)? } else { Vec::new() };
    if !shown.is_empty() {
        kinds = vec!["filesystem", "volume", "snapshot"];
    }
    let selection =
        Selection { operands: options.operands.clone(), depth, within: options.has("d"), kinds, props };
    let (mut found, status) = select::select(cx, &selection)?;
    if !shown.is_empty() {
        let is_shown =
            |name: &str| name.split(['/', '@']).next().is_some_and(|pool| shown.iter().any(|of| of == pool));
        found.retain(|dataset| dataset.kind != DatasetKind::Snapshot || is_shown(&dataset.name));
    }
    if !keys.is_empty() {
        select::sort(&mut found, &keys);
    }
    match format.json {
        // Half a document would be taken for a whole one.
        true if status != 0 => {}
        true => print_json(cx, &format, &found)?,
        false if found.is_empty() => {}
        false => print(cx, &format, &found)?,
    }
    if found.is_empty() && status == 0 && !format.scripted {
        cx.complain("no datasets available")?;
    }
    Ok(status)
}

/// The pools whose snapshots are listed with the rest: property `listsnapshots`.
fn showing_snapshots(cx: &mut Cx<'_>) -> Result<Vec<String>, Stop> {
    let pools: Vec<PoolStatus> = cx.client.get(routes::POOLS)?;
    let mut shown = Vec::new();
    for pool in pools {
        let path = format!("{}?names=listsnapshots", routes::at(routes::POOL_PROPERTIES, &pool.name));
        // One that is exported meanwhile has no snapshots to show.
        let values: Vec<PropValue> = cx.client.get(&path).unwrap_or_default();
        if values.iter().any(|prop| prop.value == "on") {
            shown.push(pool.name);
        }
    }
    Ok(shown)
}

/// `-s` and `-S`, in the order given.
fn sort_keys(options: &Parsed) -> Result<Vec<(String, bool)>, Stop> {
    let keys = options.options.iter().filter(|option| matches!(option.name.as_str(), "s" | "S"));
    keys.map(|option| match props::column(Domain::Dataset, &option.value) {
        Some(column) => Ok((column.name, option.name == "S")),
        None => usage(format!("invalid property '{}'", option.value)),
    })
    .collect()
}

fn value(format: &Format, dataset: &DatasetInfo, column: &Column) -> (String, Source) {
    if column.name == "name" {
        return (dataset.name.clone(), Source::None);
    }
    match dataset.props.iter().find(|prop| prop.name == column.name) {
        Some(prop) => (props::show(Domain::Dataset, prop, format.literal), prop.source.clone()),
        None => ("-".into(), Source::None),
    }
}

fn print(cx: &mut Cx<'_>, format: &Format, datasets: &[DatasetInfo]) -> Result<(), Stop> {
    let row = |dataset: &DatasetInfo| {
        format.columns.iter().map(|column| value(format, dataset, column).0).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = datasets.iter().map(row).collect();
    if format.scripted {
        for row in rows {
            writeln!(cx.io.out, "{}", row.join("\t"))?;
        }
        return Ok(());
    }
    let width = |(at, column): (usize, &Column)| {
        let widest = rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        widest.max(column.min_width())
    };
    let widths: Vec<usize> = format.columns.iter().enumerate().map(width).collect();
    let titles: Vec<String> = format.columns.iter().map(Column::heading).collect();
    let heading = props::line(&format.columns, &titles, &widths);
    writeln!(cx.io.out, "{}", paint(cx.io.colour, Tone::Bold, &heading))?;
    for row in &rows {
        writeln!(cx.io.out, "{}", props::line(&format.columns, row, &widths))?;
    }
    Ok(())
}

fn print_json(cx: &mut Cx<'_>, format: &Format, datasets: &[DatasetInfo]) -> Result<(), Stop> {
    let mut all = Json::object();
    for dataset in datasets {
        let mut values = Json::object();
        for column in format.columns.iter().filter(|column| column.name != "name") {
            let (shown, source) = value(format, dataset, column);
            values.put(&column.name, propget::json_prop(&shown, &source, format.as_int));
        }
        all.put(&dataset.name, info(dataset, format.as_int).with("properties", values));
    }
    let document = Json::document(&cx.command).with("datasets", all);
    Ok(writeln!(cx.io.out, "{document}")?)
}

/// What every JSON output says of a dataset (cmd/zfs/zfs_main.c, `fill_dataset_info`).
pub fn info(dataset: &DatasetInfo, as_int: bool) -> Json {
    let pool = dataset.name.split(['/', '@', '#']).next().unwrap_or_default();
    let mut info = Json::object()
        .with("name", dataset.name.as_str())
        .with("type", dataset.kind.name().to_uppercase())
        .with("pool", pool)
        .with("createtxg", Json::number(dataset.createtxg, as_int));
    if dataset.kind == DatasetKind::Snapshot
        && let Some((filesystem, snapshot)) = dataset.name.split_once('@')
    {
        info.put("dataset", filesystem);
        info.put("snapshot_name", snapshot);
    }
    info
}
