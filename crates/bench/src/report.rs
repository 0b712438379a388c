//! The results as tables, and their places in docs/performance.md.

use std::fmt::Write;

use load::Fail;

use crate::chart;
use crate::results::{Figure, Results};

/// Heading, notes and tables.
pub fn part(results: &Results) -> String {
    format!("\n### {}\n\n{}", results.title, body(results))
}

fn body(results: &Results) -> String {
    let mut text = String::new();
    if !results.rows.is_empty() {
        text += &rates(results);
        if results.has_latencies() {
            text.push('\n');
            text += &latencies(results);
        }
    }
    if !results.figures.is_empty() {
        text += if results.rows.is_empty() { "" } else { "\n" };
        text += &figures(&results.figures);
    }
    for note in &results.notes {
        let _ = writeln!(text, "\n{note}.");
    }
    text
}

/// A few digits that mean something.
pub fn number(value: f64) -> String {
    match value {
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn rates(results: &Results) -> String {
    let names = results.contenders();
    let peers = names.get(1..).unwrap_or_default();
    let mut text = format!("| rate | unit | {} |", names.join(" | "));
    for peer in peers {
        let _ = write!(text, " ÷ {peer} |");
    }
    let _ = writeln!(text, " goal |\n|---|---|{}---|", "---:|".repeat(names.len() + peers.len()));
    for row in &results.rows {
        let rate = |name: &&str| row.cell(name).map(|cell| cell.rate);
        let _ = write!(text, "| {} | {} |", row.name, row.unit);
        for name in &names {
            let _ = write!(text, " {} |", rate(name).map_or("–".to_owned(), |rate| format!("{rate:.0}")));
        }
        let ours = names.first().and_then(rate);
        for peer in peers {
            let ratio = ours.zip(rate(peer)).filter(|(_, theirs)| *theirs > 0.0);
            let _ = write!(
                text,
                " {} |",
                ratio.map_or("–".to_owned(), |(ours, theirs)| format!("{:.2}", ours / theirs))
            );
        }
        let _ = writeln!(text, " {} |", row.goal.map_or(String::new(), |goal| goal.to_string()));
    }
    text
}

fn latencies(results: &Results) -> String {
    let names = results.contenders();
    let mut text = String::from("| p50 / p99 / p99.9 in µs; processor time per operation in µs |");
    for name in &names {
        let _ = write!(text, " {name} | cpu |");
    }
    let _ = writeln!(text, "\n|---|{}", "---|---:|".repeat(names.len()));
    for row in &results.rows {
        let _ = write!(text, "| {} |", row.name);
        for name in &names {
            let shown = row.cell(name).map(|cell| (cell.latencies.map(number).join(" / "), number(cell.cpu)));
            let (latencies, cpu) = shown.unwrap_or_else(|| ("–".to_owned(), "–".to_owned()));
            let _ = write!(text, " {latencies} | {cpu} |");
        }
        text.push('\n');
    }
    text
}

fn figures(figures: &[Figure]) -> String {
    let mut text = String::from("| | Cistern | goal |\n|---|---:|---|\n");
    for Figure { name, value, goal } in figures {
        let _ = writeln!(text, "| {name} | {value} | {goal} |");
    }
    text
}

/// The page with these results between its marks `<!-- bench PART -->` and `<!-- end -->`.
pub fn put(page: &str, results: &Results) -> Result<String, Fail> {
    let mark = format!("<!-- bench {} -->\n", results.part);
    let missing = || format!("docs/performance.md has no place for {}", results.part);
    let (before, rest) = page.split_once(&mark).ok_or_else(missing)?;
    let (_, after) = rest.split_once("<!-- end -->").ok_or_else(missing)?;
    let mut text = format!("{before}{mark}{}.\n\n", results.about);
    if chart::draw(results).is_some() {
        let _ = writeln!(text, "![{}](charts/{}.svg)\n", results.title, results.part);
    }
    Ok(format!("{text}{}<!-- end -->{after}", body(results)))
}
