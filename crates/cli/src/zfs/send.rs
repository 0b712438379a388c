//! `zfs send`

use crate::client::{CallError, Piece};
use crate::fail::{Noun, Outcome, Stop, sentence, usage};
use crate::getopt;
use crate::human::nicebytes;
use crate::program::Cx;
use api_types::{Send, StreamEvent, routes};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

const TO_TERMINAL: &str =
    "Error: Stream can not be written to a terminal.\nYou must redirect standard output.";
const NO_TYPE: &str = "Warning: incremental source didn't specify type, assuming snapshot. \
                       Use '@' or '#' prefix to avoid ambiguity.";
const DEDUP: &str = "WARNING: deduplicated send is no longer supported.  A regular,\n\
                     non-deduplicated stream will be generated.\n";
/// How often progress is told.
const EVERY: Duration = Duration::from_secs(1);

pub fn send(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "i:I:RsDpVvnPLeht:cwbd:SUX:", &[])?;
    for letter in ["I", "R", "s", "p", "V", "h", "t", "b", "d", "S", "U", "X"] {
        if options.has(letter) {
            return Err(Stop::Fail(format!(
                "zfs send -{letter}: not supported by this version of Cistern yet"
            )));
        }
    }
    let snapshot = match options.operands.as_slice() {
        [] => return usage("missing snapshot argument"),
        [snapshot] => snapshot.clone(),
        _ => return usage("too many arguments"),
    };
    if options.values("i").count() > 1 {
        return usage("");
    }
    if options.has("D") {
        cx.complain(DEDUP)?;
    }
    let dry_run = options.has("n");
    if !dry_run && std::io::stdout().is_terminal() {
        cx.complain(TO_TERMINAL)?;
        return Ok(1);
    }
    let from = options.value("i").map(|from| source(cx, from, &snapshot)).transpose()?;
    let raw = options.has("w");
    let request = Send {
        snapshot: snapshot.clone(),
        from,
        large_blocks: raw || options.has("L"),
        embed: raw || options.has("e"),
        compress: raw || options.has("c"),
        dry_run,
    };
    let parsable = options.has("P");
    let mut watch = Watch {
        snapshot,
        parsable,
        is_verbose: parsable || options.has("v"),
        tells_progress: options.has("v"),
        dry_run,
        bytes: 0,
        told: Instant::now(),
    };
    let (client, mut status) = (cx.client.clone(), 0);
    client.flow::<Stop>(routes::SEND, &request, None, &mut |piece| {
        match piece {
            Piece::Data(bytes) => {
                cx.io.out.write_all(bytes)?;
                watch.passed(cx, bytes.len() as u64)?;
            }
            Piece::Event(StreamEvent::Sending { snapshot, from, size }) => {
                watch.begins(cx, &snapshot, from.as_deref(), size)?;
            }
            Piece::Event(StreamEvent::Failed(problem)) => {
                let problem = CallError::Refused(problem).problem()?;
                cx.complain(&sentence(
                    &format!("cannot send '{}'", watch.snapshot),
                    &problem,
                    Noun::Dataset,
                ))?;
                status = 1;
            }
            Piece::Event(_) => {}
        }
        Ok(())
    })?;
    Ok(status)
}

/// The full name of what an incremental stream starts from.
fn source(cx: &mut Cx<'_>, from: &str, snapshot: &str) -> Result<String, Stop> {
    let head = snapshot.split('@').next().unwrap_or_default();
    if from.starts_with(['@', '#']) {
        return Ok(format!("{head}{from}"));
    }
    if !from.contains(['@', '#']) {
        cx.complain(NO_TYPE)?;
        return Ok(format!("{head}@{from}"));
    }
    Ok(from.to_owned())
}

/// Says what is sent, and how far that is.
struct Watch {
    snapshot: String,
    parsable: bool,
    is_verbose: bool,
    tells_progress: bool,
    dry_run: bool,
    bytes: u64,
    told: Instant,
}

impl Watch {
    fn begins(&mut self, cx: &mut Cx<'_>, snapshot: &str, from: Option<&str>, size: u64) -> Result<(), Stop> {
        self.told = Instant::now();
        if !self.is_verbose {
            return Ok(());
        }
        let line = match (from, self.parsable) {
            (Some(from), true) => format!("incremental\t{from}\t{snapshot}\t{size}"),
            (None, true) => format!("full\t{snapshot}\t{size}"),
            (from, false) => {
                let what = from.map_or_else(
                    || format!("full send of {snapshot}"),
                    |from| format!("send from {from} to {snapshot}"),
                );
                if size == 0 { what } else { format!("{what} estimated size is {}", nicebytes(size)) }
            }
        };
        let total = match self.parsable {
            true => format!("size\t{size}"),
            false => format!("total estimated size is {}", nicebytes(size)),
        };
        let to: &mut dyn Write = if self.dry_run { &mut *cx.io.out } else { &mut *cx.io.err };
        writeln!(to, "{line}\n{total}")?;
        if self.tells_progress && !self.parsable && !self.dry_run {
            cx.complain(&format!("TIME        SENT   SNAPSHOT {snapshot}"))?;
        }
        Ok(())
    }

    fn passed(&mut self, cx: &mut Cx<'_>, bytes: u64) -> Result<(), Stop> {
        self.bytes += bytes;
        if !self.tells_progress || self.told.elapsed() < EVERY {
            return Ok(());
        }
        self.told = Instant::now();
        let time = crate::clock::time();
        match self.parsable {
            true => cx.complain(&format!("{time}\t{}\t{}", self.bytes, self.snapshot)),
            false => cx.complain(&format!("{time}   {:>5}   {}", nicebytes(self.bytes), self.snapshot)),
        }
    }
}
