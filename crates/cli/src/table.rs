//! Rows in columns.

use crate::clock;
use crate::command::Io;
use crate::fail::Stop;
use serde::Serialize;

/// Prints rows in columns as wide as their longest field, below a head; or bare for programs: a tab
/// between fields, and no head (`-H`).
pub fn print<const N: usize>(
    io: &mut Io<'_>,
    head: [&str; N],
    rows: Vec<[String; N]>,
    bare: bool,
) -> Result<(), Stop> {
    if bare {
        return Ok(rows.iter().try_for_each(|row| writeln!(io.out, "{}", row.join("\t")))?);
    }
    let rows: Vec<[String; N]> = std::iter::once(head.map(str::to_owned)).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    for row in &rows {
        let fields = row.iter().zip(&widths).map(|(field, width)| format!("{field:<width$}"));
        let line = fields.collect::<Vec<_>>().join("  ");
        writeln!(io.out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// What the daemon said, for programs (`--json`).
pub fn json(io: &mut Io<'_>, what: &impl Serialize) -> Result<(), Stop> {
    let text = serde_json::to_string_pretty(what).map_err(|error| Stop::Fail(error.to_string()))?;
    Ok(writeln!(io.out, "{text}")?)
}

/// A time in seconds since 1970, `-` for none; exactly so for programs (`-p`).
pub fn time(seconds: Option<u64>, is_exact: bool) -> String {
    match seconds {
        None => "-".to_owned(),
        Some(seconds) if is_exact => seconds.to_string(),
        Some(seconds) => clock::stamp(seconds),
    }
}

/// A text that others have chosen, on one line: no character of it moves a terminal's cursor.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_longest_field_and_bare_rows_have_tabs() {
        let printed = |bare| {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let mut io = Io {
                out: &mut out,
                err: &mut err,
                colour: false,
                progress: false,
                asks: true,
                title: |_| (),
            };
            let rows = [["\u{e9}t\u{e9}", ""], ["b", "22"]].map(|row| row.map(str::to_owned)).to_vec();
            print(&mut io, ["A", "B"], rows, bare).expect("printed");
            String::from_utf8(out).expect("text")
        };
        assert_eq!(printed(false), "A    B\n\u{e9}t\u{e9}\nb    22\n");
        assert_eq!(printed(true), "\u{e9}t\u{e9}\t\nb\t22\n");
        assert_eq!(plain("a\x1b[2Jb\n"), "a?[2Jb?");
    }
}
