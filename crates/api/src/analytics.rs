//! What drill-downs are asked for, and what they have found, in words: names are looked up when
//! somebody asks.

use analytics::{BUCKETS, Place, RANGE, Row, Sum, Value, begin_of};
use api_types::{
    DIMENSIONS, Dimension, DrillDown as Told, DrillDownFound, DrillDownKey, DrillDownRequest, DrillDownRow,
    RequestFilter, RequestSum, kind,
};
use engine_api::{Place as Where, PlaceName};

use crate::app::App;
use crate::problem::{Refusal, refuse};
use crate::trace::{Names, filter};

/// Begins one; what is asked for is judged first.
pub fn begin(app: &App, request: DrillDownRequest, owner: String) -> Result<Told, Refusal> {
    let by = &request.by;
    let twice = (1..by.len()).any(|at| by[..at].contains(&by[at]));
    if by.is_empty() || by.len() > DIMENSIONS || twice {
        let text = format!("one to {DIMENSIONS} dimensions are wanted, and none of them twice");
        return Err(refuse(kind::BAD_REQUEST, text));
    }
    let filter = filter(app, &request.filter)?;
    app.drill_downs.begin(&app.program.observer(), request, filter, owner)
}

/// What one has found, with rows that end later than `from`.
pub fn found(app: &App, id: u64, from: u64) -> Result<DrillDownFound, Refusal> {
    let kept = app.drill_downs.one(id)?;
    let found = kept.drill_down.found(from);
    let mut others = found.total;
    for place in &found.places {
        others = others.less(&place.sum);
    }
    let wanted = found.places.iter().flat_map(|place| place.key.iter().filter_map(place_of));
    let mut names = Names::default();
    names.look_up(app, wanted);
    let key = |place: &Place| key(&kept.request, place, &names);
    Ok(DrillDownFound {
        keys: found.places.iter().map(key).collect(),
        total: sum(&found.total),
        others: sum(&others),
        rows: found.rows.into_iter().map(row).collect(),
        buckets: (0..BUCKETS).map(begin_of).collect(),
        drill_down: kept.told(),
    })
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

fn key(request: &DrillDownRequest, place: &Place, names: &Names) -> DrillDownKey {
    let (mut values, mut filter) = (Vec::new(), Some(request.filter.clone()));
    for (dimension, value) in request.by.iter().zip(&place.key) {
        let name = place_of(value).and_then(|place| names.of(&place)).cloned().unwrap_or_default();
        values.push(text(*dimension, value, &name));
        filter = filter.and_then(|filter| narrowed(filter, *dimension, value, name));
    }
    DrillDownKey { number: place.number, values, filter, sum: sum(&place.sum), missing: place.missing }
}

const UNKNOWN: &str = "-";

fn text(dimension: Dimension, value: &Value, name: &PlaceName) -> String {
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
    }
}

/// What takes these alone of what a filter takes; `None`: that cannot be said.
fn narrowed(
    filter: RequestFilter,
    dimension: Dimension,
    value: &Value,
    name: PlaceName,
) -> Option<RequestFilter> {
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
    })
}
