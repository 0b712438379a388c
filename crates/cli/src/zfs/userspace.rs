//! `zfs userspace`, `groupspace`, `projectspace`
//!
//! Source: cmd/zfs/zfs_main.c (`zfs_do_userspace`).

use std::cmp::Ordering;

use super::select;
use crate::accounts::Accounts;
use crate::command::Cx;
use crate::fail::{Noun, Outcome, Stop, fail, sentence, usage};
use crate::getopt::{self, Parsed};
use crate::human::{nicebytes, nicenum};
use api_types::{SpaceUse, Spender, kind, routes};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Type,
    Name,
    Used,
    Quota,
    ObjUsed,
    ObjQuota,
}

const FIELDS: [(&str, Field); 6] = [
    ("type", Field::Type),
    ("name", Field::Name),
    ("used", Field::Used),
    ("quota", Field::Quota),
    ("objused", Field::ObjUsed),
    ("objquota", Field::ObjQuota),
];

/// One line.
struct Row {
    of: Spender,
    name: Option<String>,
    space: SpaceUse,
}

pub fn users(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    run(cx, args, Spender::User)
}

pub fn groups(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    run(cx, args, Spender::Group)
}

pub fn projects(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    run(cx, args, Spender::Project)
}

fn run(cx: &mut Cx<'_>, args: &[String], of: Spender) -> Outcome {
    let options = getopt::parse(args, "nHpo:s:S:t:i", &[])?;
    if of == Spender::Project
        && let Some(wrong) = options.options.iter().find(|option| "nti".contains(&option.name))
    {
        return usage(format!("invalid option '{}'", wrong.name));
    }
    let keys = sort_keys(&options)?;
    let operand = options.one("missing dataset name")?;
    let fields = options.value("o").map_or_else(|| Ok(FIELDS.map(|(_, field)| field).to_vec()), fields);
    let types = options.value("t").map_or_else(|| Ok(vec![of]), types);
    let (fields, types) = match (fields.map_err(|name| (name, 'o')), types.map_err(|name| (name, 't'))) {
        (Ok(fields), Ok(types)) => (fields, types),
        // As OpenZFS ends here: without its usage.
        (Err((name, option)), _) | (_, Err((name, option))) => {
            cx.complain(&format!("invalid type '{name}' for -{option} option"))?;
            return Ok(255);
        }
    };
    let Some(dataset) = select::at_path(cx, operand)? else { return Ok(1) };
    let accounts = if options.has("n") { Accounts::default() } else { Accounts::around(&cx.client) };
    let mut rows = Vec::new();
    for of in types {
        let path = format!("{}?of={}", routes::at(routes::DATASET_SPACE_USE, &dataset), of.name());
        let found: Vec<SpaceUse> = match cx.client.get(&path) {
            Ok(found) => found,
            Err(error) => {
                let problem = error.problem()?;
                return fail(match problem.kind == kind::DENIED {
                    true => format!("cannot get used/quota for {dataset}: permission denied"),
                    false => sentence(&format!("cannot open '{dataset}'"), &problem, Noun::Dataset),
                });
            }
        };
        rows.extend(found.into_iter().map(|space| {
            let name =
                (of != Spender::Project).then(|| accounts.name(of == Spender::User, space.id)).flatten();
            Row { of, name: name.map(str::to_owned), space }
        }));
    }
    if rows.is_empty() {
        return Ok(0);
    }
    rows.sort_by(|a, b| compare(a, b, &keys));
    print(cx, &rows, &fields, options.has("H"), options.has("p"))?;
    Ok(0)
}

fn fields(list: &str) -> Result<Vec<Field>, &str> {
    let field = |name| FIELDS.iter().find(|(known, _)| *known == name).map(|(_, field)| *field).ok_or(name);
    list.split(',').map(field).collect()
}

/// SIDs have no names here: their types are known, and nobody is of them.
fn types(list: &str) -> Result<Vec<Spender>, &str> {
    let mut types = Vec::new();
    for name in list.split(',') {
        match name {
            "posixuser" => types.push(Spender::User),
            "posixgroup" => types.push(Spender::Group),
            "smbuser" | "smbgroup" => {}
            "all" => types.extend([Spender::User, Spender::Group]),
            other => return Err(other),
        }
    }
    types.sort_by_key(|of| of.name());
    types.dedup();
    Ok(types)
}

/// `-s` and `-S`, in the order given; then type and name.
fn sort_keys(options: &Parsed) -> Result<Vec<(Field, bool)>, Stop> {
    let given = options.options.iter().filter(|option| matches!(option.name.as_str(), "s" | "S"));
    let key = |name: &str| FIELDS[..4].iter().find(|(known, _)| *known == name).map(|(_, field)| *field);
    let mut keys = given
        .map(|option| match key(&option.value) {
            Some(field) => Ok((field, option.name == "S")),
            None => usage(format!("invalid field '{}'", option.value)),
        })
        .collect::<Result<Vec<_>, _>>()?;
    keys.extend([(Field::Type, false), (Field::Name, false)]);
    Ok(keys)
}

/// In the order of the types' bits.
fn rank(of: Spender) -> u8 {
    match of {
        Spender::Group => 0,
        Spender::User => 1,
        Spender::Project => 2,
    }
}

fn compare(a: &Row, b: &Row, keys: &[(Field, bool)]) -> Ordering {
    let by = |(field, reverse): &(Field, bool)| {
        let ordering = match field {
            Field::Type => rank(a.of).cmp(&rank(b.of)),
            Field::Name => match (&a.name, &b.name) {
                (Some(a), Some(b)) => a.cmp(b),
                // A number is what both have, as far as OpenZFS looks: a name counts for none.
                (a_name, b_name) => {
                    let number = |name: &Option<String>, row: &Row| {
                        if name.is_some() { 0 } else { row.space.id }
                    };
                    number(a_name, a).cmp(&number(b_name, b))
                }
            },
            Field::Used => a.space.used.unwrap_or(0).cmp(&b.space.used.unwrap_or(0)),
            Field::Quota => a.space.quota.unwrap_or(0).cmp(&b.space.quota.unwrap_or(0)),
            Field::ObjUsed | Field::ObjQuota => Ordering::Equal,
        };
        if *reverse { ordering.reverse() } else { ordering }
    };
    keys.iter().map(by).find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
}

fn cell(row: &Row, field: Field, parsable: bool) -> String {
    let number = |value: Option<u64>, is_quota: bool, nice: fn(u64) -> String| match value {
        None => "-".into(),
        Some(value) if parsable => value.to_string(),
        Some(0) if is_quota => "none".into(),
        Some(value) => nice(value),
    };
    match field {
        Field::Type => match row.of {
            Spender::User => "POSIX User".into(),
            Spender::Group => "POSIX Group".into(),
            Spender::Project => "Project".into(),
        },
        Field::Name => row.name.clone().unwrap_or_else(|| row.space.id.to_string()),
        Field::Used => number(row.space.used, false, nicebytes),
        Field::Quota => number(row.space.quota, true, nicebytes),
        Field::ObjUsed => number(row.space.objects_used, false, nicenum),
        Field::ObjQuota => number(row.space.objects_quota, true, nicenum),
    }
}

fn print(
    cx: &mut Cx<'_>,
    rows: &[Row],
    fields: &[Field],
    scripted: bool,
    parsable: bool,
) -> Result<(), Stop> {
    let line = |row: &Row| fields.iter().map(|field| cell(row, *field, parsable)).collect::<Vec<_>>();
    let lines: Vec<Vec<String>> = rows.iter().map(line).collect();
    if scripted {
        for line in lines {
            writeln!(cx.io.out, "{}", line.join("\t"))?;
        }
        return Ok(());
    }
    let title = |field: &Field| {
        let found = FIELDS.iter().find(|(_, known)| known == field);
        found.map_or_else(String::new, |(name, _)| name.to_uppercase())
    };
    let titles: Vec<String> = fields.iter().map(title).collect();
    let width = |at: usize| lines.iter().chain([&titles]).map(|line| line[at].chars().count()).max();
    let widths: Vec<usize> = (0..fields.len()).map(|at| width(at).unwrap_or(0)).collect();
    for line in [&titles].into_iter().chain(&lines) {
        let cells = line.iter().zip(fields).zip(&widths).map(|((text, field), width)| match field {
            Field::Type | Field::Name => format!("{text:<width$}"),
            _ => format!("{text:>width$}"),
        });
        writeln!(cx.io.out, "{}", cells.collect::<Vec<_>>().join("  "))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
