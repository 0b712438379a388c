//! What was there before a rule came: listed in `crates/xtask/debts.txt` with a figure each, and
//! only ever less.
//!
//! A line is `RULE SUBJECT FIGURE`. What is found and not listed, or more than is listed, is a
//! breach. So is a line that promises more than there is: whoever mends something lowers it, by
//! `cargo run -p xtask -- tidy --lower`.

use std::collections::BTreeMap;
use std::path::Path;

/// What breaks a rule, and by how much: lines of a function, modules of a circle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub rule: &'static str,
    /// Without blanks.
    pub subject: String,
    pub figure: usize,
}

impl Finding {
    pub fn new(rule: &'static str, subject: String, figure: usize) -> Finding {
        Finding { rule, subject, figure }
    }
}

pub const FILE: &str = "crates/xtask/debts.txt";

type Debts = BTreeMap<(String, String), usize>;

pub fn load(root: &Path) -> Result<Debts, String> {
    let path = root.join(FILE);
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse(&text)
}

pub fn parse(text: &str) -> Result<Debts, String> {
    let mut debts = Debts::new();
    for (number, line) in
        text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
    {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [rule, subject, figure] = words[..] else {
            return Err(format!("{FILE}:{}: not RULE SUBJECT FIGURE: {line}", number + 1));
        };
        let figure = figure.parse().map_err(|_| format!("{FILE}:{}: no figure: {figure}", number + 1))?;
        debts.insert((rule.to_owned(), subject.to_owned()), figure);
    }
    Ok(debts)
}

/// Where what is found and what is listed differ, a line each.
pub fn compare(findings: &[Finding], debts: &Debts) -> Vec<String> {
    let found = figures(findings);
    let mut problems = Vec::new();
    for ((rule, subject), figure) in &found {
        match debts.get(&(rule.clone(), subject.clone())) {
            None => problems.push(format!("{rule}: {subject} ({figure})")),
            Some(listed) if listed < figure => {
                problems.push(format!("{rule}: {subject} ({figure}, and no more than {listed} were left)"));
            }
            Some(_) => {}
        }
    }
    for ((rule, subject), listed) in debts {
        let figure = found.get(&(rule.clone(), subject.clone())).copied().unwrap_or(0);
        if figure < *listed {
            problems.push(format!("{FILE}: {rule} {subject} is {figure} now, not {listed}: tidy --lower"));
        }
    }
    problems
}

/// The list as it may be from now on: nothing new, and nothing higher.
pub fn lowered(text: &str, findings: &[Finding]) -> Result<String, String> {
    let (found, debts) = (figures(findings), parse(text)?);
    let comments = text.lines().filter(|line| line.starts_with('#'));
    let mut lines: Vec<String> = comments.map(str::to_owned).collect();
    for (key, listed) in debts {
        let figure = found.get(&key).copied().unwrap_or(0).min(listed);
        if figure > 0 {
            lines.push(format!("{} {} {figure}", key.0, key.1));
        }
    }
    Ok(lines.join("\n") + "\n")
}

/// Several of one name in one file count as the worst of them.
fn figures(findings: &[Finding]) -> Debts {
    let mut figures = Debts::new();
    for Finding { rule, subject, figure } in findings {
        let known = figures.entry(((*rule).to_owned(), subject.clone())).or_default();
        *known = (*known).max(*figure);
    }
    figures
}
