//! The rounds: every contender in turn, each group from a machine at rest.

use std::time::Duration;

use load::{Crowd, Fail, Outcome, Work};

use crate::contenders::{All, Contender};
use crate::options::Options;
use crate::results::{Cell, Results, Row};
use crate::suite::{self, Before, Group, Part};

pub fn part(
    part: &Part,
    contenders: &[Contender],
    all: &All,
    options: &Options,
    about: &str,
) -> Result<Results, Fail> {
    let mut results = Results {
        part: part.name.to_owned(),
        title: part.title.to_owned(),
        about: about.to_owned(),
        notes: all.left_out(part.place),
        ..Results::default()
    };
    for contender in contenders {
        contender.forget_file()?;
    }
    for group in part.groups {
        if !group.rows.iter().any(|row| row.name.contains(&options.only)) {
            continue;
        }
        eprintln!("bench: {}: {}", part.name, group.rows[0].name);
        let (rows, failures) = rounds(group, contenders, all, options);
        results.rows.extend(rows);
        results.notes.extend(failures);
    }
    Ok(results)
}

/// The rows of a group with the medians of all rounds, and what failed.
fn rounds(group: &Group, contenders: &[Contender], all: &All, options: &Options) -> (Vec<Row>, Vec<String>) {
    // By contender, then by row.
    let mut cells: Vec<Vec<Vec<Cell>>> = vec![vec![Vec::new(); group.rows.len()]; contenders.len()];
    let mut failures = Vec::new();
    for round in 0..options.rounds {
        // Nobody always comes first.
        for turn in 0..contenders.len() {
            let i = (turn + round) % contenders.len();
            let measured = once(group, &contenders[i], all, options.span, &mut cells[i]);
            if let Err(error) = measured {
                let what = format!("{} failed at '{}': {error}", contenders[i].name, group.rows[0].name);
                eprintln!("bench: {what}");
                if !failures.contains(&what) {
                    failures.push(what);
                }
            }
        }
    }
    let row = |(n, row): (usize, &suite::Row)| Row {
        name: row.name.to_owned(),
        unit: if row.is_stream() { "MB/s" } else { "/s" }.to_owned(),
        goal: row.goal,
        cells: contenders
            .iter()
            .zip(&cells)
            .map(|(c, cells)| (c.name.clone(), Cell::median(&cells[n])))
            .collect(),
    };
    (group.rows.iter().enumerate().map(row).collect(), failures)
}

fn once(
    group: &Group,
    contender: &Contender,
    all: &All,
    span: Duration,
    cells: &mut [Vec<Cell>],
) -> Result<(), Fail> {
    all.prepare(contender, group.before)?;
    all.settle()?;
    let mut made = u64::MAX;
    for (row, cells) in group.rows.iter().zip(cells) {
        let before = contender.processor_time();
        let outcome = run(contender, row.work, &row.crowd(span), &mut made)?;
        let cpu = contender.processor_time().saturating_sub(before);
        cells.push(Cell::new(&outcome, row.is_stream(), cpu.as_secs_f64()));
    }
    if group.before == Before::NoFile {
        // It may have been cut short.
        contender.forget_file()?;
    }
    Ok(())
}

/// `made`: how many files the `Create` of this group has made, for those rows that use them.
fn run(contender: &Contender, work: Work, crowd: &Crowd, made: &mut u64) -> Result<Outcome, Fail> {
    let work = match work {
        Work::Stat { files } => Work::Stat { files: files.min(*made) },
        Work::Unlink { files } => Work::Unlink { files: files.min(*made) },
        other => other,
    };
    // All that was made has to go.
    let crowd = match work {
        Work::Unlink { .. } => Crowd { span: Duration::MAX, ..*crowd },
        _ => *crowd,
    };
    let outcome = contender.run(work, &crowd)?;
    if let Work::Create { .. } = work {
        *made = outcome.operations;
    }
    Ok(outcome)
}
