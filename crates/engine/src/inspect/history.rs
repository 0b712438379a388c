//! The pool's history: commands, and what became of them.

use std::io::{self, Write};

use super::open::Opened;
use super::{CLEAN, PROBLEMS, human, text};

pub fn show(opened: &Opened, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<i32> {
    let records = match opened.pool.dsl.history(true) {
        Ok(records) => records,
        Err(error) => {
            writeln!(err, "cistern inspect: history: {error}")?;
            return Ok(PROBLEMS);
        }
    };
    for record in records {
        let when = human::time(record.time).replacen(' ', ".", 1);
        let txg = record.txg.map_or(String::new(), |txg| format!("[txg:{txg}] "));
        let mark = if record.internal { "  " } else { "" };
        writeln!(out, "{when} {mark}{txg}{}", text::printable(record.text.as_bytes()))?;
    }
    Ok(CLEAN)
}
