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
    for letter in ["V", "d", "S", "U", "X"] {
        if options.has(letter) {
            return Err(Stop::Fail(format!(
                "zfs send -{letter}: not supported by this version of Cistern yet"
            )));
        }
    }
    let token = options.value("t").map(str::to_owned);
    if token.is_some() && ["i", "I", "R", "p", "b", "h"].iter().any(|letter| options.has(letter)) {
        return usage("invalid flags combined with -t");
    }
    let snapshot = match options.operands.as_slice() {
        [] if token.is_some() => String::new(),
        [] => return usage("missing snapshot argument"),
        [snapshot] if token.is_none() => snapshot.clone(),
        _ => return usage("too many arguments"),
    };
    if options.values("i").count() + options.values("I").count() > 1 {
        return usage("");
    }
    if options.has("s") && !options.has("R") {
        return usage("skip-missing flag can only be used in conjunction with replicate");
    }
    if options.has("R") || options.has("I") {
        let from = options.value("i").or(options.value("I"));
        if from.is_some_and(|from| from.contains('#')) {
            cx.complain("Error: multiple snapshots cannot be sent from a bookmark.")?;
            return Ok(1);
        }
        if !snapshot.contains('@') {
            cx.complain("Error: Unsupported flag with filesystem or bookmark.")?;
            return Ok(1);
        }
    }
    if options.has("D") {
        cx.complain(DEDUP)?;
    }
    let dry_run = options.has("n");
    if !dry_run && std::io::stdout().is_terminal() {
        cx.complain(TO_TERMINAL)?;
        return Ok(1);
    }
    let from =
        options.value("i").or(options.value("I")).map(|from| source(cx, from, &snapshot)).transpose()?;
    let raw = options.has("w");
    // OpenZFS ends so when what it resumes fails.
    let failed = if token.is_some() { 255 } else { 1 };
    let request = Send {
        snapshot: snapshot.clone(),
        token,
        from,
        large_blocks: raw || options.has("L"),
        embed: raw || options.has("e"),
        compress: raw || options.has("c"),
        intermediates: options.has("I"),
        replicate: options.has("R"),
        props: options.has("p"),
        backup: options.has("b"),
        holds: options.has("h"),
        skip_missing: options.has("s"),
        dry_run,
    };
    let parsable = options.has("P");
    let mut watch = Watch {
        snapshot,
        parsable,
        is_verbose: parsable || options.has("v"),
        tells_progress: options.has("v"),
        dry_run,
        size: None,
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
            Piece::Event(StreamEvent::Token(says)) if watch.is_verbose => watch.say(cx, &says)?,
            Piece::Event(StreamEvent::Planned { snapshot, from, size }) => {
                watch.planned(cx, &snapshot, from.as_deref(), size)?;
            }
            Piece::Event(StreamEvent::Missing(name)) => {
                cx.complain(&format!("WARNING: could not send {name}: does not exist"))?;
                status = 1;
            }
            Piece::Event(StreamEvent::Begins(snapshot)) => watch.begins(cx, snapshot)?,
            Piece::Event(StreamEvent::Done { .. }) => watch.total(cx)?,
            Piece::Event(StreamEvent::Failed(problem)) => {
                let problem = CallError::Refused(problem).problem()?;
                cx.complain(&sentence(
                    &format!("cannot send '{}'", watch.snapshot),
                    &problem,
                    Noun::Dataset,
                ))?;
                status = failed;
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
    /// Bytes that all streams will have, until that is told.
    size: Option<u64>,
    bytes: u64,
    told: Instant,
}

impl Watch {
    fn planned(
        &mut self,
        cx: &mut Cx<'_>,
        snapshot: &str,
        from: Option<&str>,
        size: u64,
    ) -> Result<(), Stop> {
        self.size = Some(self.size.unwrap_or(0) + size);
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
        self.say(cx, &line)
    }

    fn say(&self, cx: &mut Cx<'_>, line: &str) -> Result<(), Stop> {
        let to: &mut dyn Write = if self.dry_run { &mut *cx.io.out } else { &mut *cx.io.err };
        Ok(writeln!(to, "{line}")?)
    }

    /// Everything is planned.
    fn total(&mut self, cx: &mut Cx<'_>) -> Result<(), Stop> {
        match self.size.take() {
            Some(size) if self.is_verbose && self.parsable => self.say(cx, &format!("size\t{size}")),
            Some(size) if self.is_verbose => {
                self.say(cx, &format!("total estimated size is {}", nicebytes(size)))
            }
            _ => Ok(()),
        }
    }

    fn begins(&mut self, cx: &mut Cx<'_>, snapshot: String) -> Result<(), Stop> {
        self.total(cx)?;
        (self.told, self.bytes, self.snapshot) = (Instant::now(), 0, snapshot);
        if self.tells_progress && !self.parsable {
            cx.complain(&format!("TIME        SENT   SNAPSHOT {}", self.snapshot))?;
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
