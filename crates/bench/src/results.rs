//! What was measured, and how it is kept: a text file a part, a line a fact, fields between tabs.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use load::{Fail, Outcome};

/// Folders of results: beside peers, and beside another build.
pub const MEASURED: &str = "results";
pub const COMPARED: &str = "compared";

/// Of one part.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Results {
    pub part: String,
    pub title: String,
    /// Machine, day, rounds.
    pub about: String,
    /// Who was left out, and why; which row failed.
    pub notes: Vec<String>,
    pub rows: Vec<Row>,
    pub figures: Vec<Figure>,
}

/// One measurement of all contenders; the first is ours.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub name: String,
    /// `MB/s` or `/s`
    pub unit: String,
    /// The ratio to the first peer that is to be reached.
    pub goal: Option<f64>,
    /// `None`: it failed.
    pub cells: Vec<(String, Option<Cell>)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// In the row's unit.
    pub rate: f64,
    /// p50, p99 and p99.9 in microseconds; zeros where only the rate was measured.
    pub latencies: [f64; 3],
    /// Processor time of one operation in microseconds; likewise.
    pub cpu: f64,
}

/// A figure without a peer.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    pub name: String,
    pub value: String,
    pub goal: String,
}

impl Cell {
    /// Nothing but the rate.
    pub fn rate(rate: f64) -> Cell {
        Cell { rate, latencies: [0.0; 3], cpu: 0.0 }
    }

    /// `cpu` in seconds, of the whole load.
    pub fn new(outcome: &Outcome, is_stream: bool, cpu: f64) -> Cell {
        let micros = |per_mille| outcome.latency(per_mille).as_secs_f64() * 1e6;
        Cell {
            rate: if is_stream { outcome.throughput() / 1e6 } else { outcome.rate() },
            latencies: [500, 990, 999].map(micros),
            cpu: cpu * 1e6 / outcome.operations.max(1) as f64,
        }
    }

    /// Each figure's median over the rounds that did not fail.
    pub fn median(rounds: &[Cell]) -> Option<Cell> {
        let middle = |get: &dyn Fn(&Cell) -> f64| median(rounds.iter().map(get).collect());
        Some(Cell {
            rate: middle(&|cell| cell.rate)?,
            latencies: [
                middle(&|cell| cell.latencies[0])?,
                middle(&|cell| cell.latencies[1])?,
                middle(&|cell| cell.latencies[2])?,
            ],
            cpu: middle(&|cell| cell.cpu)?,
        })
    }

    /// Half of each figure from here, half from there.
    fn mean_with(&self, other: &Cell) -> Cell {
        Cell {
            rate: self.rate.midpoint(other.rate),
            latencies: std::array::from_fn(|n| self.latencies[n].midpoint(other.latencies[n])),
            cpu: self.cpu.midpoint(other.cpu),
        }
    }
}

pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

impl Row {
    /// Nothing but our rate and what it is to be compared with, under that name.
    pub fn beside(name: &str, unit: &str, goal: Option<f64>, ours: f64, (other, theirs): (&str, f64)) -> Row {
        let cells = [("Cistern", ours), (other, theirs)];
        Row {
            name: name.to_owned(),
            unit: unit.to_owned(),
            goal,
            cells: cells.map(|(who, rate)| (who.to_owned(), Some(Cell::rate(rate)))).to_vec(),
        }
    }

    fn has_latencies(&self) -> bool {
        self.cells.iter().flat_map(|(_, cell)| cell).any(|cell| cell.latencies[0] > 0.0)
    }

    pub fn cell(&self, contender: &str) -> Option<&Cell> {
        self.cells.iter().find(|(name, _)| name == contender).and_then(|(_, cell)| cell.as_ref())
    }
}

impl Results {
    /// The same rows, each figure the mean of both; a cell that one does not have has failed.
    pub fn mean_with(mut self, other: &Results) -> Results {
        for row in &mut self.rows {
            let same = other.rows.iter().find(|theirs| theirs.name == row.name);
            for (who, cell) in &mut row.cells {
                let theirs = same.and_then(|row| row.cell(who));
                *cell = cell.zip(theirs).map(|(mine, theirs)| mine.mean_with(theirs));
            }
        }
        let new = other.notes.iter().filter(|note| !self.notes.contains(note));
        self.notes.extend(new.cloned().collect::<Vec<_>>());
        self
    }

    /// Whether any row tells more than rates.
    pub fn has_latencies(&self) -> bool {
        self.rows.iter().any(Row::has_latencies)
    }

    /// Everybody who was in any row, ours first.
    pub fn contenders(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in self.rows.iter().flat_map(|row| &row.cells) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// The geometric mean of the rates of the first divided by those of the second, over rows that
    /// have both.
    pub fn mean_ratio(&self) -> Option<f64> {
        let [ours, theirs, ..] = self.contenders()[..] else { return None };
        let ratio =
            |row: &Row| Some(row.cell(ours)?.rate / row.cell(theirs).filter(|cell| cell.rate > 0.0)?.rate);
        let logs: Vec<f64> = self.rows.iter().filter_map(ratio).map(f64::ln).collect();
        (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
    }

    /// In a folder of that name.
    pub fn save(&self, dir: &Path, name: &str) -> Result<(), Fail> {
        let folder = dir.join(name);
        fs::create_dir_all(&folder)?;
        Ok(fs::write(folder.join(format!("{}.tsv", self.part)), self.encode())?)
    }

    pub fn encode(&self) -> String {
        let mut text = format!("part\t{}\ntitle\t{}\nabout\t{}\n", self.part, self.title, self.about);
        for note in &self.notes {
            let _ = writeln!(text, "note\t{}", note.replace(['\t', '\n'], " "));
        }
        for row in &self.rows {
            let goal = row.goal.map_or(String::new(), |goal| goal.to_string());
            let _ = writeln!(text, "row\t{}\t{}\t{goal}", row.name, row.unit);
            for (name, cell) in &row.cells {
                let Some(Cell { rate, latencies: [p50, p99, p999], cpu }) = cell else {
                    let _ = writeln!(text, "failed\t{name}");
                    continue;
                };
                let _ = writeln!(text, "cell\t{name}\t{rate}\t{p50}\t{p99}\t{p999}\t{cpu}");
            }
        }
        for figure in &self.figures {
            let _ = writeln!(text, "figure\t{}\t{}\t{}", figure.name, figure.value, figure.goal);
        }
        text
    }

    pub fn decode(text: &str) -> Result<Results, Fail> {
        let mut results = Results::default();
        for line in text.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            match fields.as_slice() {
                ["part", part] => results.part = part.to_string(),
                ["title", title] => results.title = title.to_string(),
                ["about", about] => results.about = about.to_string(),
                ["note", note] => results.notes.push(note.to_string()),
                ["row", name, unit, goal] => results.rows.push(Row {
                    name: name.to_string(),
                    unit: unit.to_string(),
                    goal: goal.parse().ok(),
                    cells: Vec::new(),
                }),
                ["failed", name] => results.last_row()?.cells.push((name.to_string(), None)),
                ["cell", name, rate, p50, p99, p999, cpu] => {
                    let cell = Cell {
                        rate: rate.parse()?,
                        latencies: [p50.parse()?, p99.parse()?, p999.parse()?],
                        cpu: cpu.parse()?,
                    };
                    results.last_row()?.cells.push((name.to_string(), Some(cell)));
                }
                ["figure", name, value, goal] => results.figures.push(Figure {
                    name: name.to_string(),
                    value: value.to_string(),
                    goal: goal.to_string(),
                }),
                _ => return Err(format!("no line of results: {line}").into()),
            }
        }
        Ok(results)
    }

    fn last_row(&mut self) -> Result<&mut Row, Fail> {
        self.rows.last_mut().ok_or_else(|| "a cell before its row".into())
    }
}

/// All that is kept in this folder of these parts, in their order.
pub fn load_all(dir: &Path, parts: &[String]) -> Result<Vec<Results>, Fail> {
    let mut all = Vec::new();
    for part in parts {
        let path = dir.join(MEASURED).join(format!("{part}.tsv"));
        if path.exists() {
            all.push(Results::decode(&fs::read_to_string(path)?)?);
        }
    }
    if all.is_empty() {
        return Err(format!("there are no results in {}", dir.display()).into());
    }
    Ok(all)
}
