//! `zfs hold`, `release`, `holds`

use super::select::{self, Selection};
use crate::clock;
use crate::command::Cx;
use crate::fail::{Noun, Outcome, sentence, usage};
use crate::getopt;
use api_types::{Changed, Hold, HoldRequest, kind, routes};

pub fn hold(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    run(cx, args, true)
}

pub fn release(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    run(cx, args, false)
}

fn run(cx: &mut Cx<'_>, args: &[String], holding: bool) -> Outcome {
    let options = getopt::parse(args, if holding { "rt" } else { "r" }, &[])?;
    let Some((tag, snapshots)) = options.operands.split_first().filter(|(_, rest)| !rest.is_empty()) else {
        return usage("");
    };
    if holding && tag.starts_with('.') {
        return usage("tag may not start with '.'");
    }
    let (route, what) = match holding {
        true => (routes::HOLDS, "cannot hold snapshot"),
        false => (routes::RELEASES, "cannot release hold from snapshot"),
    };
    let mut status = 0;
    for snapshot in snapshots {
        let Some((head, _)) = snapshot.split_once('@') else {
            cx.complain(&format!("'{snapshot}' is not a snapshot"))?;
            status = 1;
            continue;
        };
        let request = HoldRequest {
            snapshots: vec![snapshot.clone()],
            tag: tag.clone(),
            recursive: options.has("r"),
            history: cx.history.clone(),
        };
        if let Err(error) = cx.client.post::<Changed>(route, &request) {
            let problem = error.problem()?;
            let begin = match problem.kind.as_str() {
                kind::NOT_FOUND => format!("cannot open '{head}'"),
                kind::DENIED if holding => "cannot hold".to_owned(),
                kind::DENIED => "cannot release".to_owned(),
                _ => format!("{what} '{snapshot}'"),
            };
            cx.complain(&sentence(&begin, &problem, Noun::Dataset))?;
            status = 1;
        }
    }
    Ok(status)
}

pub fn holds(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "rHp", &[])?;
    if options.operands.is_empty() {
        return usage("");
    }
    let (mut rows, mut status, mut any) = (Vec::new(), 0, false);
    for operand in &options.operands {
        let Some((head, short)) = operand.split_once('@') else {
            cx.complain(&format!("'{operand}' is not a snapshot"))?;
            status = 1;
            continue;
        };
        let root = if options.has("r") { head } else { operand };
        let depth = if options.has("r") { None } else { Some(0) };
        let (operands, kinds) = (vec![root.to_owned()], vec!["snapshot"]);
        let selection = Selection { operands, depth, kinds, props: "type".into(), ..Selection::default() };
        let (found, missing) = select::select(cx, &selection)?;
        status |= missing;
        for one in found.iter().filter(|one| one.name.split_once('@').is_some_and(|(_, name)| name == short))
        {
            any = true;
            let held: Vec<Hold> = cx.client.get(&routes::at(routes::DATASET_HOLDS, &one.name))?;
            rows.extend(held.into_iter().map(|hold| (one.name.clone(), hold)));
        }
    }
    print(cx, &rows, options.has("H"), options.has("p"))?;
    if !any {
        cx.complain("no datasets available")?;
    }
    Ok(status)
}

fn print(
    cx: &mut Cx<'_>,
    rows: &[(String, Hold)],
    scripted: bool,
    parsable: bool,
) -> Result<(), crate::fail::Stop> {
    let time = |time: u64| if parsable { time.to_string() } else { clock::date(time) };
    if scripted {
        for (name, hold) in rows {
            writeln!(cx.io.out, "{name}\t{}\t{}", hold.tag, time(hold.time))?;
        }
        return Ok(());
    }
    let names = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let tags = rows.iter().map(|(_, hold)| hold.tag.chars().count()).max().unwrap_or(0);
    writeln!(cx.io.out, "{:<names$}  {:<tags$}  TIMESTAMP", "NAME", "TAG")?;
    for (name, hold) in rows {
        writeln!(cx.io.out, "{name:<names$}  {:<tags$}  {}", hold.tag, time(hold.time))?;
    }
    Ok(())
}
