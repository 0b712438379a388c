//! Panes of worksheets that are kept: their drill-downs always run, and what they find is added to
//! what was found before, once a minute ([`machine::findings`]).
//!
//! Invariants: a second is added once, after it is over. What cannot be added is tried again, as
//! long as the drill-down has it; that is told in the log, once until it works again.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;

use api_types::{
    DrillDown, DrillDownCost, DrillDownFound, DrillDownKey, DrillDownRow, PaneHistoryQuery, RequestSum,
    Worksheet, WorksheetPane, kind,
};
use machine::findings::{Part, Row};
use sockets::lock;

use crate::analytics;
use crate::app::App;
use crate::drill_downs::wall;
use crate::pane_history::PaneHistory;
use crate::problem::{Refusal, refuse};

/// Seconds that a drill-down goes on when nobody says any more that its pane is there.
const LEASH: u64 = 180;
/// What is shown where nobody says of which time.
const USUAL: u64 = 3_600;
/// Keys of an answer at the most.
const KEYS: usize = 64;

/// Has the drill-downs of all panes that are kept run, and adds what they have found.
pub fn note(app: &App) {
    let Some(panes) = &app.panes else { return };
    match try_note(app, panes) {
        Ok(()) => panes.is_failing.store(false, Relaxed),
        Err(why) if !panes.is_failing.swap(true, Relaxed) => {
            tracing::warn!(why, "what kept panes find is not added to what they found");
        }
        Err(_) => {}
    }
}

fn try_note(app: &App, panes: &PaneHistory) -> Result<(), String> {
    let accounts = app.accounts().map_err(|why| why.refusal().0.detail)?;
    let worksheets = accounts.machine().worksheets().map_err(|fault| fault.to_string())?;
    // Who asks for it meanwhile waits, so that no second is added twice.
    let mut until = lock(&panes.until);
    // A request that ended in the last second may not be noted yet.
    let now = wall().saturating_sub(1);
    let (mut all, mut found, mut fault) = (Vec::new(), Vec::new(), None);
    for worksheet in worksheets {
        for pane in worksheet.panes.iter().filter(|pane| pane.kept) {
            let known = known(pane);
            if all.contains(&known) {
                continue;
            }
            let from = until.get(&known).copied().unwrap_or(0);
            match rows(app, &worksheet.name, pane, (from, now)) {
                Ok(rows) => found.push((known.clone(), rows)),
                // One that does not run costs the others nothing.
                Err(why) => fault = fault.or(Some(format!("worksheet {}: {}", worksheet.name, why.0.detail))),
            }
            all.push(known);
        }
    }
    panes.store.add(now, &all, &found).map_err(|fault| fault.to_string())?;
    until.retain(|known, _| all.contains(known));
    for (known, _) in found {
        // A clock that is set back has no second added twice.
        let until = until.entry(known).or_default();
        *until = now.max(*until);
    }
    fault.map_or(Ok(()), Err)
}

/// What a pane found, as a drill-down of that time would show it.
pub fn read(app: &App, worksheet: &Worksheet, asked: PaneHistoryQuery) -> Result<DrillDownFound, Refusal> {
    let number = asked.pane.unwrap_or(1);
    let at = number.checked_sub(1).and_then(|at| worksheet.panes.get(usize::try_from(at).ok()?));
    let pane = at.ok_or_else(|| refuse(kind::NOT_FOUND, format!("it has no pane {number}")))?;
    if !pane.kept {
        let text = "what this pane finds is not kept: change the worksheet so that it is";
        return Err(refuse(kind::INVALID, text));
    }
    let now = wall();
    let to = asked.to.unwrap_or(now);
    let from = asked.from.unwrap_or(to.saturating_sub(USUAL));
    if from > to {
        return Err(refuse(kind::INVALID, "it ends before it begins"));
    }
    let Some(panes) = &app.panes else {
        return Err(refuse(kind::UNAVAILABLE, "what panes find cannot be kept: the log says why"));
    };
    // Up to now.
    note(app);
    let failed = |fault| refuse(kind::UNAVAILABLE, format!("what it found cannot be read: {fault}"));
    let rows = panes.store.read(&known(pane), (from, to.saturating_add(1)), now).map_err(failed)?;
    let (keys, told) = keyed(&rows);
    let mut total = RequestSum::default();
    rows.iter().for_each(|row| total.add(&row.total));
    let mut others = total;
    keys.iter().for_each(|key| others.take(&key.sum));
    let began = rows.first().map_or(from, |row| row.second);
    // What cannot run any more, for its file is gone say, has found what it has.
    let running = analytics::watch(app, pane, LEASH, owner(&worksheet.name)).ok();
    let drill_down = DrillDown { began, ..running.unwrap_or_else(|| over(worksheet, pane)) };
    let buckets = analytics::buckets();
    Ok(DrillDownFound { drill_down, keys, total, others, datasets: Vec::new(), rows: told, buckets })
}

/// The drill-down of a pane, where it does not run.
fn over(worksheet: &Worksheet, pane: &WorksheetPane) -> DrillDown {
    DrillDown {
        id: 0,
        by: pane.by.clone(),
        filter: pane.filter.clone(),
        owner: owner(&worksheet.name),
        running: false,
        began: 0,
        left: 0,
        watched: false,
        cost: DrillDownCost { requests: 0, time: 0, bytes: 0 },
    }
}

fn owner(worksheet: &str) -> String {
    format!("worksheet {worksheet}, which keeps it")
}

/// What is said of a pane's drill-down, and of no other. Later versions say the same of it: what
/// they can filter by besides is not in it.
fn known(pane: &WorksheetPane) -> String {
    serde_json::json!([pane.by, pane.filter]).to_string()
}

/// What a pane's drill-down has found in whole seconds from one to another.
fn rows(
    app: &App,
    worksheet: &str,
    pane: &WorksheetPane,
    (from, to): (u64, u64),
) -> Result<Vec<Row>, Refusal> {
    let told = analytics::watch(app, pane, LEASH, owner(worksheet))?;
    let DrillDownFound { keys, rows, .. } = analytics::found(app, told.id, from)?;
    let mut found: Vec<Row> = Vec::new();
    for row in rows.into_iter().filter(|row| row.second >= from && row.second < to) {
        let part = |(number, sum): &(u64, RequestSum)| {
            let key = keys.iter().find(|key| key.number == *number)?;
            Some(Part { values: key.values.clone(), begins: key.begins.clone(), sum: *sum })
        };
        found.push(Row {
            second: row.second,
            seconds: row.seconds,
            total: row.total,
            parts: row.cells.iter().filter_map(part).collect(),
            latencies: row.latencies.iter().map(|(bucket, count)| (*bucket, (*count).into())).collect(),
        });
    }
    Ok(found)
}

/// Rows by numbers of keys, the heaviest of which come first.
fn keyed(rows: &[Row]) -> (Vec<DrillDownKey>, Vec<DrillDownRow>) {
    let mut keys: Vec<DrillDownKey> = Vec::new();
    let mut numbers: HashMap<&[String], usize> = HashMap::new();
    let mut told = Vec::new();
    for row in rows {
        let mut cells = Vec::new();
        for Part { values, begins, sum } in &row.parts {
            let at = *numbers.entry(values).or_insert_with(|| {
                let (values, begins) = (values.clone(), begins.clone());
                let (number, sum) = (keys.len() as u64 + 1, RequestSum::default());
                keys.push(DrillDownKey { number, values, begins, filter: None, sum, missing: 0 });
                keys.len() - 1
            });
            keys[at].sum.add(sum);
            cells.push((at as u64 + 1, *sum));
        }
        let latency = |(bucket, count): &(u8, u64)| (*bucket, u32::try_from(*count).unwrap_or(u32::MAX));
        told.push(DrillDownRow {
            second: row.second,
            seconds: row.seconds,
            total: row.total,
            cells,
            latencies: row.latencies.iter().map(latency).collect(),
        });
    }
    keys.sort_by_key(|key| std::cmp::Reverse((key.sum.operations, key.sum.bytes)));
    keys.truncate(KEYS);
    let numbers: Vec<u64> = keys.iter().map(|key| key.number).collect();
    told.iter_mut().for_each(|row| row.cells.retain(|(number, _)| numbers.contains(number)));
    (keys, told)
}
