//! `zfs get` and `zpool get`: rows of name, property, value, received, source.

use crate::command::Cx;
use crate::fail::{Stop, usage};
use crate::getopt::Parsed;
use crate::json::Json;
use crate::props::{self, Column, Domain};
use api_types::{PropValue, Source};

/// A column of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Name,
    Property,
    Value,
    Received,
    Source,
}

impl Field {
    fn title(self) -> &'static str {
        match self {
            Field::Name => "NAME",
            Field::Property => "PROPERTY",
            Field::Value => "VALUE",
            Field::Received => "RECEIVED",
            Field::Source => "SOURCE",
        }
    }
}

/// How to print.
pub struct Format {
    pub domain: Domain,
    pub fields: Vec<Field>,
    /// `-s`: only values from these.
    pub sources: Option<Vec<String>>,
    pub scripted: bool,
    pub literal: bool,
    pub json: bool,
    pub as_int: bool,
}

/// One thing that has properties.
pub struct Subject {
    pub name: String,
    /// What JSON says about it beside its properties.
    pub info: Json,
    pub props: Vec<PropValue>,
}

impl Format {
    /// From the options that both commands share.
    pub fn of(domain: Domain, options: &Parsed) -> Result<Format, Stop> {
        let json = options.has("j");
        let as_int = options.has("json-int");
        if as_int && !json {
            return usage("'--json-int' only works with '-j' option");
        }
        let mut fields = vec![Field::Name, Field::Property, Field::Value, Field::Source];
        if let Some(list) = options.value("o") {
            fields = parse_fields(domain, list)?;
        }
        Ok(Format {
            domain,
            fields,
            sources: options.value("s").map(parse_sources).transpose()?,
            scripted: options.has("H"),
            literal: options.has("p") || as_int,
            json,
            as_int,
        })
    }

    fn wanted(&self, prop: &PropValue) -> bool {
        let kind = match prop.source {
            Source::None => "none",
            Source::Default => "default",
            Source::Local => "local",
            Source::Inherited(_) => "inherited",
            Source::Received => "received",
            Source::Temporary => "temporary",
        };
        self.sources.as_ref().is_none_or(|sources| sources.iter().any(|source| source == kind))
    }
}

fn parse_fields(domain: Domain, list: &str) -> Result<Vec<Field>, Stop> {
    let mut fields = Vec::new();
    for name in list.split(',') {
        let field = match name {
            "name" => Field::Name,
            "property" => Field::Property,
            "value" => Field::Value,
            "received" if domain == Domain::Dataset => Field::Received,
            "source" => Field::Source,
            "all" if fields.is_empty() && list == "all" => {
                let mut all =
                    vec![Field::Name, Field::Property, Field::Value, Field::Received, Field::Source];
                all.retain(|field| domain == Domain::Dataset || *field != Field::Received);
                return Ok(all);
            }
            "all" => return usage("\"all\" conflicts with specific fields given to -o option"),
            other => return usage(format!("invalid column name '{other}'")),
        };
        if fields.len() == 5 {
            return usage("too many fields given to -o option");
        }
        fields.push(field);
    }
    Ok(fields)
}

fn parse_sources(list: &str) -> Result<Vec<String>, Stop> {
    const KNOWN: [&str; 6] = ["local", "default", "inherited", "received", "temporary", "none"];
    match list.split(',').find(|name| !KNOWN.contains(name)) {
        Some(name) => usage(format!("invalid source '{name}'")),
        None => Ok(list.split(',').map(str::to_owned).collect()),
    }
}

/// The properties asked for, in their order; `None` is "all".
pub fn parse_list(domain: Domain, list: &str) -> Result<Option<Vec<Column>>, Stop> {
    if list == "all" { Ok(None) } else { props::columns(domain, list).map(Some) }
}

/// What the daemon is to be asked for.
pub fn query_names(wanted: Option<&[Column]>) -> String {
    let names = wanted.unwrap_or_default().iter().map(|one| one.name.as_str()).filter(|name| *name != "name");
    names.collect::<Vec<_>>().join(",")
}

/// The subject's values for the properties asked for; one that doesn't apply is a dash.
fn select(subject: &Subject, wanted: Option<&[Column]>) -> Vec<PropValue> {
    let Some(wanted) = wanted else {
        return subject.props.iter().filter(|prop| prop.name != "name").cloned().collect();
    };
    let pick = |one: &Column| {
        let mut none = PropValue {
            name: one.name.clone(),
            value: String::new(),
            kind: api_types::PropKind::Text,
            source: Source::None,
            received: None,
        };
        if one.name == "name" {
            none.value.clone_from(&subject.name);
        }
        subject.props.iter().find(|prop| prop.name == one.name).cloned().unwrap_or(none)
    };
    wanted.iter().map(pick).collect()
}

/// Prints all subjects.
pub fn print(
    cx: &mut Cx<'_>,
    format: &Format,
    key: &str,
    subjects: &[Subject],
    wanted: Option<&[Column]>,
) -> Result<(), Stop> {
    let selected: Vec<(&Subject, Vec<PropValue>)> = subjects
        .iter()
        .map(|subject| {
            let mut props = select(subject, wanted);
            props.retain(|prop| format.wanted(prop));
            (subject, props)
        })
        .collect();
    if format.json {
        return print_json(cx, format, key, &selected);
    }
    let mut rows = Vec::new();
    for (subject, props) in &selected {
        for prop in props {
            rows.push(
                format.fields.iter().map(|field| cell(format, subject, prop, *field)).collect::<Vec<_>>(),
            );
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    if format.scripted {
        for row in rows {
            writeln!(cx.io.out, "{}", row.join("\t"))?;
        }
        return Ok(());
    }
    let widths = widths(format, &rows, &selected, wanted);
    let titles: Vec<String> = format.fields.iter().map(|field| field.title().to_owned()).collect();
    for row in std::iter::once(&titles).chain(&rows) {
        print_row(cx, row, &widths)?;
    }
    Ok(())
}

fn print_row(cx: &mut Cx<'_>, row: &[String], widths: &[usize]) -> Result<(), Stop> {
    let last = row.len() - 1;
    for (text, width) in row.iter().zip(widths).take(last) {
        write!(cx.io.out, "{text:<width$}  ")?;
    }
    Ok(writeln!(cx.io.out, "{}", row[last])?)
}

fn cell(format: &Format, subject: &Subject, prop: &PropValue, field: Field) -> String {
    match field {
        Field::Name => subject.name.clone(),
        Field::Property => prop.name.clone(),
        Field::Value => props::show(format.domain, prop, format.literal),
        Field::Received => prop.received.clone().map_or_else(
            || "-".into(),
            |value| props::show(format.domain, &PropValue { value, ..prop.clone() }, format.literal),
        ),
        Field::Source => props::source(&prop.source),
    }
}

/// Widths as `zprop_print_headers` computes them: from everything asked for, not from the rows that
/// are left.
fn widths(
    format: &Format,
    rows: &[Vec<String>],
    selected: &[(&Subject, Vec<PropValue>)],
    wanted: Option<&[Column]>,
) -> Vec<usize> {
    let name_width = selected.iter().map(|(subject, _)| subject.name.chars().count()).max().unwrap_or(0);
    let all: Vec<Column>;
    let columns: &[Column] = match wanted {
        Some(columns) => columns,
        None => {
            let known = selected.iter().flat_map(|(_, props)| props);
            all = known.filter_map(|prop| props::column(format.domain, &prop.name)).collect();
            &all
        }
    };
    let measure = |(at, field): (usize, &Field)| {
        let least = match field {
            Field::Value => columns.iter().map(Column::min_width).max().unwrap_or(0),
            Field::Source if name_width > 4 => name_width + "inherited from".len(),
            _ => 0,
        };
        let values = rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        values.max(least).max(field.title().len())
    };
    format.fields.iter().enumerate().map(measure).collect()
}

fn print_json(
    cx: &mut Cx<'_>,
    format: &Format,
    key: &str,
    selected: &[(&Subject, Vec<PropValue>)],
) -> Result<(), Stop> {
    let mut all = Json::object();
    for (subject, props) in selected.iter().filter(|(_, props)| !props.is_empty()) {
        let mut values = Json::object();
        for prop in props {
            values.put(&prop.name, json_value(format, prop));
        }
        all.put(&subject.name, subject.info.clone().with("properties", values));
    }
    let document = Json::document(&cx.command).with(key, all);
    Ok(writeln!(cx.io.out, "{document}")?)
}

/// A value with its source, as every JSON output has it (lib/libzfs/libzfs_util.c,
/// `zprop_nvlist_one_property`).
pub fn json_value(format: &Format, prop: &PropValue) -> Json {
    let shown = props::show(format.domain, prop, format.literal);
    json_prop(&shown, &prop.source, format.as_int)
}

/// The same from a value that is ready to print.
pub fn json_prop(shown: &str, source: &Source, as_int: bool) -> Json {
    let (kind, data) = match source {
        Source::None => ("NONE", "-"),
        Source::Default => ("DEFAULT", "-"),
        Source::Local => ("LOCAL", "-"),
        Source::Inherited(from) => ("INHERITED", from.as_str()),
        Source::Received => ("RECEIVED", "-"),
        Source::Temporary => ("TEMPORARY", "-"),
    };
    let source = Json::object().with("type", kind).with("data", data);
    Json::object().with("value", Json::value(shown, as_int)).with("source", source)
}
