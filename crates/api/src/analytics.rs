//! What drill-downs are asked for, and what they have found, in words: names are looked up when
//! somebody asks.

use analytics::{BUCKETS, Place, RANGE, Row, Sum, Value, begin_of};
use api_types::{
    DIMENSIONS, Dimension, DrillDown as Told, DrillDownDataset, DrillDownFound, DrillDownKey,
    DrillDownRequest, DrillDownRow, PaneAlert, PaneMeasure, RequestFilter, RequestSum, Worksheet,
    WorksheetPane, kind,
};
use engine_api::{Place as Where, PlaceName};

use crate::app::App;
use crate::devices::Device;
use crate::problem::{Refusal, refuse};
use crate::trace::{Names, filter};

/// Begins one; what is asked for is judged first.
pub fn begin(app: &App, request: DrillDownRequest, owner: String) -> Result<Told, Refusal> {
    check(&request.by)?;
    let filter = filter(app, &request.filter)?;
    app.drill_downs.begin(&app.program.observer(), request, filter, owner)
}

pub fn refused(text: impl Into<String>) -> Refusal {
    refuse(kind::BAD_REQUEST, text.into())
}

/// Refuses dimensions that make no sense together.
pub fn check(by: &[Dimension]) -> Result<(), Refusal> {
    let twice = (1..by.len()).any(|at| by[..at].contains(&by[at]));
    match by.is_empty() || by.len() > DIMENSIONS || twice {
        true => Err(refused(format!("one to {DIMENSIONS} dimensions are wanted, and none of them twice"))),
        false => Ok(()),
    }
}

/// Has the drill-downs of a worksheet run, each of which others may have begun: one for each pane.
pub fn open(
    app: &App,
    worksheet: &Worksheet,
    seconds: Option<u64>,
    owner: &str,
) -> Result<Vec<Told>, Refusal> {
    let run = |pane: &WorksheetPane| {
        let request = DrillDownRequest { by: pane.by.clone(), filter: pane.filter.clone(), seconds };
        match app.drill_downs.extended(&request, false) {
            Some(told) => Ok(told),
            None => begin(app, request, owner.to_owned()),
        }
    };
    worksheet.panes.iter().map(run).collect()
}

/// Has the drill-down of a pane run for so many seconds from now on, for what always needs it.
pub fn watch(app: &App, pane: &WorksheetPane, seconds: u64, owner: String) -> Result<Told, Refusal> {
    let request =
        DrillDownRequest { by: pane.by.clone(), filter: pane.filter.clone(), seconds: Some(seconds) };
    if let Some(told) = app.drill_downs.extended(&request, true) {
        return Ok(told);
    }
    let begun = begin(app, request.clone(), owner)?;
    Ok(app.drill_downs.extended(&request, true).unwrap_or(begun))
}

/// What one has found, with rows that end later than `from`.
pub fn found(app: &App, id: u64, from: u64) -> Result<DrillDownFound, Refusal> {
    let kept = app.drill_downs.one(id)?;
    let found = kept.drill_down.found(from);
    let mut others = found.total;
    for place in &found.places {
        others = others.less(&place.sum);
    }
    let all = found.places.iter().chain(&found.datasets);
    let wanted = all.flat_map(|place| place.key.iter().filter_map(place_of));
    let mut names = Names::default();
    names.look_up(app, wanted);
    names.look_up_devices(app, found.places.iter().flat_map(|place| place.key.iter().filter_map(device_of)));
    let key = |place: &Place| key(&kept.request, place, &names);
    Ok(DrillDownFound {
        keys: found.places.iter().map(key).collect(),
        total: sum(&found.total),
        others: sum(&others),
        datasets: found
            .datasets
            .iter()
            .map(|place| dataset(&kept.request, place, &found.places, &names))
            .collect(),
        rows: found.rows.into_iter().map(row).collect(),
        buckets: buckets(),
        drill_down: kept.told(),
    })
}

/// Where the buckets of latencies begin, in nanoseconds.
pub fn buckets() -> Vec<u64> {
    (0..BUCKETS).map(begin_of).collect()
}

/// A dataset with its files, of which these have places.
fn dataset(request: &DrillDownRequest, of: &Place, places: &[Place], names: &Names) -> DrillDownDataset {
    let value = &of.key[0];
    let is_of = |place: &&Place| {
        place.key.iter().any(|part| matches!(part, Value::File(guids, _) | Value::Dataset(guids) if Value::Dataset(*guids) == *value))
    };
    let (mut keys, mut others) = (Vec::new(), of.sum);
    for place in places.iter().filter(is_of) {
        keys.push(place.number);
        // It may have had its place for longer than the dataset has.
        others = others.beyond(&place.sum);
    }
    DrillDownDataset {
        name: text(Dimension::Dataset, value, names),
        filter: narrowed(request.filter.clone(), Dimension::Dataset, value, names),
        sum: sum(&of.sum),
        missing: of.missing,
        keys,
        others: sum(&others),
    }
}

/// What an alert looks at, of so many seconds until now, if it has run for so long.
pub fn measured(found: &DrillDownFound, alert: &PaneAlert, now: u64) -> Option<u64> {
    let from = now.checked_sub(alert.seconds)?;
    if found.drill_down.began > from {
        return None;
    }
    let rows = found.rows.iter().filter(|row| row.second >= from);
    let wanted = |key: &&DrillDownKey| alert.values.as_ref().is_some_and(|values| key.values == *values);
    let number = found.keys.iter().find(wanted).map(|key| key.number);
    let of = |row: &DrillDownRow| match (&alert.values, number) {
        (None, _) => row.total,
        (Some(_), number) => {
            let cell = row.cells.iter().find(|(known, _)| Some(*known) == number);
            cell.map(|(_, sum)| *sum).unwrap_or_default()
        }
    };
    Some(match alert.measure {
        PaneMeasure::Operations => rows.map(|row| of(row).operations).sum::<u64>() / alert.seconds.max(1),
        PaneMeasure::Bytes => rows.map(|row| of(row).bytes).sum::<u64>() / alert.seconds.max(1),
        PaneMeasure::P99 => percentile(rows, 99, &found.buckets) / 1_000,
    })
}

/// Nanoseconds at which the bucket begins that so many of a hundred requests do not exceed.
fn percentile<'a>(rows: impl Iterator<Item = &'a DrillDownRow>, percent: u64, buckets: &[u64]) -> u64 {
    let mut counts = vec![0_u64; buckets.len()];
    for (bucket, count) in rows.flat_map(|row| &row.latencies) {
        if let Some(sum) = counts.get_mut(usize::from(*bucket)) {
            *sum += u64::from(*count);
        }
    }
    let mut left = (counts.iter().sum::<u64>() * percent).div_ceil(100);
    for (begin, count) in buckets.iter().zip(counts) {
        if left > 0 && count >= left {
            return *begin;
        }
        left = left.saturating_sub(count);
    }
    0
}

fn sum(sum: &Sum) -> RequestSum {
    let Sum { operations, bytes, time } = *sum;
    RequestSum { operations, bytes, time }
}

fn row(row: Row) -> DrillDownRow {
    let Row { second, seconds, total, cells, latencies } = row;
    let cells = cells.iter().map(|(number, cell)| (*number, sum(cell))).collect();
    DrillDownRow { second, seconds, total: sum(&total), cells, latencies }
}

/// What a value is a name of.
fn place_of(value: &Value) -> Option<Where> {
    let (guids, object) = match value {
        Value::Dataset(guids) => (*guids, None),
        Value::File(guids, object) => (*guids, Some(*object)),
        _ => return None,
    };
    Some(Where { pool_guid: guids.0, dataset_guid: guids.1, object })
}

fn device_of(value: &Value) -> Option<Device> {
    match value {
        Value::Device(device) => Some(*device),
        _ => None,
    }
}

/// What it is called now.
fn name_of(value: &Value, names: &Names) -> PlaceName {
    place_of(value).and_then(|place| names.of(&place)).cloned().unwrap_or_default()
}

fn key(request: &DrillDownRequest, place: &Place, names: &Names) -> DrillDownKey {
    let (mut values, mut filter) = (Vec::new(), Some(request.filter.clone()));
    for (dimension, value) in request.by.iter().zip(&place.key) {
        values.push(text(*dimension, value, names));
        filter = filter.and_then(|filter| narrowed(filter, *dimension, value, names));
    }
    let begin = |value: &Value| match value {
        Value::Offset(from) | Value::AtLeast(from) => Some(*from),
        _ => None,
    };
    let begins = place.key.iter().take(values.len()).map(begin).collect();
    DrillDownKey {
        number: place.number,
        values,
        begins,
        filter,
        sum: sum(&place.sum),
        missing: place.missing,
    }
}

const UNKNOWN: &str = "-";

fn text(dimension: Dimension, value: &Value, names: &Names) -> String {
    let name = name_of(value, names);
    let dataset = || name.dataset.as_deref().unwrap_or("(gone)");
    match value {
        Value::Nothing => UNKNOWN.to_owned(),
        Value::Protocol(protocol) => protocol.name().to_owned(),
        Value::Text(text) => text.to_string(),
        Value::Operation(operation) => (*operation).to_owned(),
        Value::User(user) => user.to_string(),
        Value::Dataset(_) => dataset().to_owned(),
        Value::File(_, object) => match &name.path {
            Some(path) => format!("{}:{}", dataset(), String::from_utf8_lossy(path)),
            None => format!("{}:<{object}>", dataset()),
        },
        Value::Offset(from) => format!("{}M", from >> 20),
        Value::AtLeast(from) if dimension == Dimension::Latency => match from {
            0..10_000 => format!("{from}us"),
            10_000..10_000_000 => format!("{}ms", from / 1_000),
            _ => format!("{}s", from / 1_000_000),
        },
        Value::AtLeast(from) => match from {
            0..1_024 => format!("{from}B"),
            1_024..1_048_576 => format!("{}K", from >> 10),
            _ => format!("{}M", from >> 20),
        },
        Value::Served(served) => served.name().to_owned(),
        Value::Device(device) => names.device(device),
    }
}

/// What takes these alone of what a filter takes; `None`: that cannot be said.
fn narrowed(
    filter: RequestFilter,
    dimension: Dimension,
    value: &Value,
    names: &Names,
) -> Option<RequestFilter> {
    let name = name_of(value, names);
    let least = |known: Option<u64>, least: u64| Some(known.unwrap_or(0).max(least));
    let most = |known: Option<u64>, most: u64| Some(known.unwrap_or(u64::MAX).min(most));
    Some(match value {
        Value::Nothing => return None,
        Value::Protocol(protocol) => RequestFilter { protocol: Some(*protocol), ..filter },
        Value::Text(text) if dimension == Dimension::Client => {
            RequestFilter { client: Some(text.to_string()), ..filter }
        }
        Value::Text(text) => RequestFilter { user: Some(text.to_string()), ..filter },
        Value::Operation(operation) => RequestFilter { operation: Some((*operation).to_owned()), ..filter },
        Value::User(user) => RequestFilter { user: Some(user.to_string()), ..filter },
        Value::Dataset(_) => RequestFilter { dataset: Some(name.dataset?), ..filter },
        Value::File(..) => {
            let file = Some(String::from_utf8(name.path?).ok()?);
            RequestFilter { dataset: Some(name.dataset?), file, ..filter }
        }
        Value::Offset(from) => RequestFilter {
            offset_from: least(filter.offset_from, *from),
            offset_to: most(filter.offset_to, from + RANGE),
            ..filter
        },
        Value::AtLeast(from) if dimension == Dimension::Latency => RequestFilter {
            slower_us: least(filter.slower_us, *from),
            faster_us: most(filter.faster_us, (2 * from).max(1) - 1),
            ..filter
        },
        Value::AtLeast(from) => RequestFilter {
            min_bytes: least(filter.min_bytes, *from),
            max_bytes: most(filter.max_bytes, (2 * from).max(1) - 1),
            ..filter
        },
        Value::Served(served) => RequestFilter { served: Some(*served), ..filter },
        Value::Device(device) => RequestFilter { device: Some(names.of_device(device)?.clone()), ..filter },
    })
}

#[cfg(test)]
mod tests;
