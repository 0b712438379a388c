//! Answers as tables. Columns of the main nouns are chosen by [`TABLES`]; of all others they are
//! the members of the answer itself.
//!
//! Invariants: a row is a line; no text of an answer moves the cursor; what an answer may have, has
//! bounds.

use serde_json::Value;

use crate::command::Io;
use crate::fail::Stop;
use crate::{clock, human, table};

/// Columns of a table that is derived, and rows of a single object.
const MOST_COLUMNS: usize = 10;
const MOST_ROWS: usize = 1000;
/// Objects inside objects.
const DEEPEST: usize = 6;
/// A cell of a derived table.
const WIDEST: usize = 60;

#[derive(Clone, Copy)]
enum Form {
    Plain,
    Bytes,
    Time,
}
use Form::{Bytes, Plain, Time};

/// A head, the way to the value, and how it is shown. `props.used` is the one of that name.
type Column = (&'static str, &'static str, Form);

const TABLES: &[(&str, &[Column])] = &[
    (
        "pool",
        &[
            ("NAME", "name", Plain),
            ("HEALTH", "health", Plain),
            ("SIZE", "root.size", Bytes),
            ("ALLOC", "root.allocated", Bytes),
            ("ERRORS", "data_errors", Plain),
            ("STATUS", "status", Plain),
        ],
    ),
    ("dataset", DATASET),
    ("filesystem", DATASET),
    (
        "volume",
        &[
            ("NAME", "name", Plain),
            ("VOLSIZE", "props.volsize", Bytes),
            ("USED", "props.used", Bytes),
            ("REFER", "props.referenced", Bytes),
        ],
    ),
    (
        "snapshot",
        &[
            ("NAME", "name", Plain),
            ("USED", "props.used", Bytes),
            ("REFER", "props.referenced", Bytes),
            ("CREATED", "props.creation", Time),
        ],
    ),
    ("bookmark", &[("NAME", "name", Plain), ("CREATED", "props.creation", Time)]),
    (
        "job",
        &[
            ("ID", "id", Plain),
            ("KIND", "kind", Plain),
            ("TARGET", "target", Plain),
            ("STATE", "state", Plain),
            ("STEP", "progress.step", Plain),
        ],
    ),
    (
        "tunable",
        &[
            ("NAME", "name", Plain),
            ("VALUE", "value", Plain),
            ("DEFAULT", "default", Plain),
            ("ABOUT", "about", Plain),
        ],
    ),
    (
        "user",
        &[
            ("NAME", "name", Plain),
            ("ROLE", "role", Plain),
            ("DISABLED", "disabled", Plain),
            ("LAST LOGIN", "last_login", Time),
        ],
    ),
    (
        "service",
        &[
            ("NAME", "id", Plain),
            ("KIND", "spec.kind", Plain),
            ("STATE", "state", Plain),
            ("NEXT RUN", "next.at", Time),
        ],
    ),
    (
        "token",
        &[
            ("ID", "id", Plain),
            ("USER", "user", Plain),
            ("NAME", "name", Plain),
            ("ROLE", "role", Plain),
            ("EXPIRES", "expires", Time),
        ],
    ),
];
const DATASET: &[Column] = &[
    ("NAME", "name", Plain),
    ("USED", "props.used", Bytes),
    ("AVAIL", "props.available", Bytes),
    ("REFER", "props.referenced", Bytes),
    ("MOUNTPOINT", "props.mountpoint", Plain),
];

const VDEV: &[Column] = &[
    ("HEALTH", "health", Plain),
    ("SIZE", "size", Bytes),
    ("ALLOC", "allocated", Bytes),
    ("READ", "read_errors", Plain),
    ("WRITE", "write_errors", Plain),
    ("CKSUM", "checksum_errors", Plain),
    ("GUID", "guid", Plain),
];

/// Prints the answer about a noun.
pub fn print(io: &mut Io<'_>, noun: &str, answer: &Value) -> Result<(), Stop> {
    let noun = noun.trim_end_matches('s');
    match answer {
        Value::Null => Ok(()),
        Value::Array(items) if items.is_empty() => Ok(writeln!(io.err, "there is none")?),
        Value::Array(items) if items.iter().any(Value::is_object) => {
            let known = TABLES.iter().find(|(known, _)| *known == noun).map(|(_, columns)| *columns);
            let rows = match known.filter(|columns| has(items, columns)) {
                Some(columns) => chosen(items, columns),
                None => derived(items),
            };
            // Items that are all parts within parts make no table.
            if rows.first().is_some_and(|head| head.len() < 2) && items.iter().any(has_parts) {
                return parts(io, answer);
            }
            aligned(io, &rows)
        }
        Value::Array(items) => Ok(items.iter().try_for_each(|item| writeln!(io.out, "{}", cell(item)))?),
        Value::Object(members) if noun == "pool" && members.contains_key("root") => pool(io, answer),
        Value::Object(_) => parts(io, answer),
        other => Ok(writeln!(io.out, "{}", cell(other))?),
    }
}

/// What a pool says of itself, then its vdevs, each below the one that it is a part of.
fn pool(io: &mut Io<'_>, answer: &Value) -> Result<(), Stop> {
    const TREES: [&str; 3] = ["root", "cache", "spares"];
    let mut rest = answer.clone();
    rest.as_object_mut().into_iter().for_each(|members| members.retain(|name, _| !TREES.contains(&&**name)));
    parts(io, &rest)?;
    let heads = std::iter::once("VDEV").chain(VDEV.iter().map(|(head, ..)| *head));
    let mut rows = vec![heads.map(str::to_owned).collect()];
    vdevs(&answer["root"], 0, &mut rows);
    for list in &TREES[1..] {
        let all = answer[*list].as_array().filter(|all| !all.is_empty());
        rows.extend(all.map(|_| vec![(*list).to_owned()]));
        all.into_iter().flatten().for_each(|vdev| vdevs(vdev, 1, &mut rows));
    }
    writeln!(io.out)?;
    aligned(io, &rows)
}

fn vdevs(vdev: &Value, depth: usize, rows: &mut Vec<Vec<String>>) {
    if rows.len() >= MOST_ROWS || depth >= DEEPEST {
        return;
    }
    let name = format!("{:indent$}{}", "", cell(&vdev["name"]), indent = 2 * depth);
    let cells = VDEV.iter().map(|(_, path, form)| formed(at(vdev, path), *form));
    rows.push(std::iter::once(name).chain(cells).collect());
    let below = vdev["children"].as_array().into_iter().flatten();
    below.for_each(|vdev| vdevs(vdev, depth + 1, rows));
}

fn has_parts(item: &Value) -> bool {
    item.as_object()
        .is_some_and(|members| members.values().any(|value| value.is_object() || value.is_array()))
}

fn parts(io: &mut Io<'_>, answer: &Value) -> Result<(), Stop> {
    let mut rows = Vec::new();
    flatten(String::new(), answer, 0, &mut rows);
    aligned(io, &rows)
}

/// Whether the answer is one that the columns are of.
fn has(items: &[Value], columns: &[Column]) -> bool {
    columns.first().is_some_and(|(_, path, _)| items.iter().all(|item| !at(item, path).is_null()))
}

fn chosen(items: &[Value], columns: &[Column]) -> Vec<Vec<String>> {
    let shown =
        |(_, path, form): &Column| matches!(form, Plain) || items.iter().any(|it| !at(it, path).is_null());
    let columns: Vec<&Column> = columns.iter().filter(|column| shown(column)).collect();
    let row = |item| columns.iter().map(|(_, path, form)| formed(at(item, path), *form)).collect();
    let head = columns.iter().map(|(head, ..)| (*head).to_owned()).collect();
    std::iter::once(head).chain(items.iter().map(row)).collect()
}

fn derived(items: &[Value]) -> Vec<Vec<String>> {
    let mut names: Vec<&String> = Vec::new();
    let members = items.iter().take(MOST_ROWS).flat_map(|item| item.as_object().into_iter().flatten());
    for (name, value) in members {
        if names.len() < MOST_ROWS && !value.is_object() && !value.is_array() && !names.contains(&name) {
            names.push(name);
        }
    }
    names.sort_by_key(|name| (name.as_str() != "name" && name.as_str() != "id", *name));
    names.truncate(MOST_COLUMNS);
    let row = |item: &Value| names.iter().map(|name| short(cell(&item[name.as_str()]))).collect();
    let head = names.iter().map(|name| short(table::plain(&name.to_uppercase()))).collect();
    std::iter::once(head).chain(items.iter().map(row)).collect()
}

/// As much of a text as a cell takes.
pub fn short(text: String) -> String {
    match text.char_indices().nth(WIDEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Rows of a name and a value: `root.children.0.health`.
fn flatten(name: String, value: &Value, depth: usize, rows: &mut Vec<Vec<String>>) {
    if rows.len() >= MOST_ROWS {
        return;
    }
    let below = |part: &str| if name.is_empty() { part.to_owned() } else { format!("{name}.{part}") };
    match value {
        Value::Object(members) if depth < DEEPEST => {
            members.iter().for_each(|(part, value)| flatten(below(part), value, depth + 1, rows));
        }
        Value::Array(items) if depth < DEEPEST && items.iter().any(|it| it.is_object() || it.is_array()) => {
            for (number, value) in items.iter().enumerate() {
                let part = value["name"].as_str().map_or_else(|| number.to_string(), str::to_owned);
                flatten(below(&part), value, depth + 1, rows);
            }
        }
        Value::Null => {}
        value => rows.push(vec![table::plain(&name), cell(value)]),
    }
}

/// What a path leads to.
fn at<'a>(item: &'a Value, path: &str) -> &'a Value {
    let step = |value: &'a Value, part: &str| match value {
        Value::Array(all) => {
            let found = all.iter().find(|it| it["name"] == part).map(|it| it.get("value").unwrap_or(it));
            found.unwrap_or(&Value::Null)
        }
        value => &value[part],
    };
    path.split('.').fold(item, step)
}

fn formed(value: &Value, form: Form) -> String {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
    match (form, number) {
        (Bytes, Some(bytes)) => human::nicebytes(bytes),
        (Time, Some(seconds)) => clock::stamp(seconds),
        _ => cell(value),
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) if text.is_empty() => "-".to_owned(),
        Value::String(text) => table::plain(text),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Array(items) => items.iter().map(cell).collect::<Vec<_>>().join(","),
        other => table::plain(&other.to_string()),
    }
}

/// Rows in columns that are as wide as their longest cell.
pub fn aligned(io: &mut Io<'_>, rows: &[Vec<String>]) -> Result<(), Stop> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        writeln!(io.out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}
