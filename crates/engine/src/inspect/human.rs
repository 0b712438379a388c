//! Numbers, times and tables for people.

use std::io::{self, Write};

const UNITS: [&str; 7] = ["", "K", "M", "G", "T", "P", "E"];

/// A count of bytes in at most five characters, as `zdb` has it: 1.50G, 24K, 512, 10.0K.
pub fn bytes(number: u64) -> String {
    let index = (63 - number.max(1).leading_zeros() as usize) / 10;
    let unit = UNITS[index];
    let divisor = 1u64 << (10 * index);
    if number.is_multiple_of(divisor) {
        return format!("{}{unit}", number / divisor);
    }
    let value = number as f64 / divisor as f64;
    let with = |digits: usize| format!("{value:.digits$}{unit}");
    [2, 1].into_iter().map(with).find(|text| text.len() <= 5).unwrap_or_else(|| with(0))
}

/// Seconds since 1970 as date and time, UTC: `2026-11-21 05:22:27`.
pub fn time(secs: u64) -> String {
    let (year, month, day) = date(secs / 86_400);
    let rest = secs % 86_400;
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60)
}

/// The Gregorian date, counted in years that begin in March, so that the leap day is the last.
fn date(days: u64) -> (u64, u64, u64) {
    // The first of March of year 0 is 719468 days before 1970.
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

/// Seconds as minutes and hours: `1:02:03`, `4:05`.
pub fn duration(secs: u64) -> String {
    let (hours, minutes, secs) = (secs / 3600, secs / 60 % 60, secs % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{secs:02}") } else { format!("{minutes}:{secs:02}") }
}

/// Rows under a head, columns as wide as they need be. Columns whose head starts with `>` are
/// aligned right.
pub struct Table {
    rows: Vec<Vec<String>>,
    right: Vec<bool>,
}

impl Table {
    pub fn new(heads: &[&str]) -> Table {
        let right = heads.iter().map(|head| head.starts_with('>')).collect();
        let head = heads.iter().map(|head| head.trim_start_matches('>').to_owned()).collect();
        Table { rows: vec![head], right }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub fn write(&self, indent: usize, out: &mut dyn Write) -> io::Result<()> {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.right.len()).map(width).collect();
        for row in &self.rows {
            let mut line = " ".repeat(indent);
            for (column, cell) in row.iter().enumerate() {
                let gap = " ".repeat(widths[column].saturating_sub(cell.chars().count()));
                let (before, after) =
                    if self.right[column] { (gap, String::new()) } else { (String::new(), gap) };
                line += &format!("{before}{cell}{after}  ");
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
