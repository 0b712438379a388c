//! `zfs send`

use super::name_fault;
use crate::client::{CallError, Piece};
use crate::command::Cx;
use crate::fail::{Noun, Outcome, Stop, fail, sentence, usage};
use crate::getopt;
use crate::human::{nicebytes, nicenum};
use api_types::{SendRequest, StreamEvent, kind, routes};
use std::collections::HashMap;
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

/// Long options, and the letters that they stand for.
const LONG: [(&str, &str); 18] = [
    ("replicate", "R"),
    ("skip-missing", "s"),
    ("redact", "d"),
    ("props", "p"),
    ("parsable", "P"),
    ("dedup", "D"),
    ("proctitle", "V"),
    ("verbose", "v"),
    ("dryrun", "n"),
    ("large-block", "L"),
    ("embed", "e"),
    ("resume", "t"),
    ("compressed", "c"),
    ("raw", "w"),
    ("backup", "b"),
    ("holds", "h"),
    ("saved", "S"),
    ("exclude", "X"),
];

fn has_any(options: &getopt::Parsed, letters: &[&str]) -> bool {
    letters.iter().any(|letter| options.has(letter))
}

/// Datasets that are left out, with all below them.
fn excluded(options: &getopt::Parsed) -> Result<Vec<String>, Stop> {
    let names: Vec<String> =
        options.values("X").flat_map(|list| list.split(',')).map(str::to_owned).collect();
    if let Some(name) = names.iter().find(|name| name_fault(name).is_some() || !name.contains('/')) {
        return usage(format!("-X {name}: not a valid non-root dataset name."));
    }
    if !names.is_empty() && !options.has("R") {
        return fail("Cannot specify dataset exclusion (-X) on a non-recursive send.");
    }
    Ok(names)
}

/// What is sent; refused where options do not go together, in OpenZFS's order.
fn subject(options: &getopt::Parsed) -> Result<String, Stop> {
    let resumes = options.has("t");
    if resumes && has_any(options, &["i", "I", "R", "p", "b", "h", "S", "d"]) {
        return usage("invalid flags combined with -t");
    }
    let name = match options.operands.as_slice() {
        [] if resumes => String::new(),
        [] => return usage("missing snapshot argument"),
        [name] if !resumes => name.clone(),
        _ => return usage("too many arguments"),
    };
    if options.has("S") {
        if has_any(options, &["i", "I", "R", "p", "b", "h", "L", "e", "c", "w", "d"]) {
            return usage("incompatible flags combined with saved send flag");
        }
        if name.contains('@') {
            return usage("saved send must specify the dataset with partially-received state");
        }
    }
    if options.has("w") && options.has("d") {
        return fail("Error: raw sends may not be redacted.");
    }
    Ok(name)
}

/// Bookmarks cannot be sent.
fn point_fault(name: &str) -> Option<String> {
    match name.contains('#') {
        true => Some("bookmark delimiter '#' is not expected here".into()),
        false => name_fault(name).filter(|_| !name.is_empty()),
    }
}

/// What goes with snapshots of one dataset, or with none.
fn check_many(options: &getopt::Parsed, name: &str) -> Result<(), Stop> {
    if options.has("s") && !options.has("R") {
        return usage("skip-missing flag can only be used in conjunction with replicate");
    }
    if has_any(options, &["R", "I"]) {
        let from = options.value("i").or(options.value("I"));
        if from.is_some_and(|from| from.contains('#')) {
            return fail("Error: multiple snapshots cannot be sent from a bookmark.");
        }
        if options.has("d") {
            return fail("Error: multiple snapshots cannot be sent redacted.");
        }
        if !name.contains('@') {
            return fail("Error: Unsupported flag with filesystem or bookmark.");
        }
    }
    if options.has("d") {
        return fail("zfs send --redact: not supported by this version of Cistern yet");
    }
    Ok(())
}

pub fn send(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse_as(args, "i:I:RsDpVvnPLeht:cwbd:SX:", &LONG)?;
    if options.values("i").count() + options.values("I").count() > 1 {
        return usage("");
    }
    if options.has("D") {
        cx.complain(DEDUP)?;
    }
    let exclude = excluded(&options)?;
    let snapshot = subject(&options)?;
    let dry_run = options.has("n");
    if !dry_run && std::io::stdout().is_terminal() {
        return fail(TO_TERMINAL);
    }
    let (resumes, saved) = (options.has("t"), options.has("S"));
    if !resumes && !saved {
        check_many(&options, &snapshot)?;
    }
    if let Some(why) = point_fault(&snapshot) {
        return fail(format!("cannot open '{snapshot}': {why}"));
    }
    let source = if has_any(&options, &["R", "I"]) { source_of_many } else { source };
    let from = options.value("i").or(options.value("I"));
    let from = from.map(|from| source(cx, from, &snapshot)).transpose()?;
    let raw = options.has("w");
    // OpenZFS ends so when what it resumes fails.
    let failed = if resumes { 255 } else { 1 };
    let request = SendRequest {
        snapshot: snapshot.clone(),
        token: options.value("t").map(str::to_owned),
        saved,
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
        exclude,
        dry_run,
    };
    let mut watch = Watch::new(snapshot, &options);
    let (client, mut status) = (cx.client.clone(), 0);
    client.flow::<Stop>(routes::SEND, &request, None, &mut |piece| {
        match piece {
            Piece::Data(bytes) => {
                cx.io.out.write_all(bytes)?;
                watch.passed(cx, bytes.len() as u64)?;
            }
            Piece::Event(StreamEvent::Token(says)) if watch.says_more => watch.say(cx, &says)?,
            Piece::Event(StreamEvent::Planned { snapshot, from, size }) => {
                watch.planned(cx, &snapshot, from.as_deref(), size)?;
            }
            Piece::Event(StreamEvent::Skipped { dataset, is_new }) => watch.skipped(cx, &dataset, is_new)?,
            Piece::Event(StreamEvent::Begins(snapshot)) => watch.begins(cx, snapshot)?,
            Piece::Event(StreamEvent::Visited(blocks)) => watch.blocks = blocks,
            Piece::Event(StreamEvent::Done(_)) => watch.total(cx)?,
            Piece::Event(StreamEvent::Failed(problem)) => {
                let problem = CallError::Refused(problem).problem()?;
                let warning = if problem.kind == kind::DENIED { "warning: " } else { "" };
                let what = format!("{warning}cannot send '{}'", watch.snapshot);
                cx.complain(&sentence(&what, &problem, Noun::Dataset))?;
                status = failed;
            }
            Piece::Event(_) => {}
        }
        Ok(())
    })?;
    Ok(status)
}

/// The full name of what the stream of one snapshot starts from.
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

/// The same of what many snapshots start from: one of the same dataset, or what that is a clone of.
fn source_of_many(cx: &mut Cx<'_>, from: &str, snapshot: &str) -> Result<String, Stop> {
    let head = snapshot.split('@').next().unwrap_or_default();
    let Some((of, short)) = from.split_once('@') else { return Ok(format!("{head}@{from}")) };
    if super::select::origin(cx, head)? == from {
        return Ok(from.to_owned());
    }
    if !of.is_empty() && of != head {
        return usage("incremental source must be in same filesystem");
    }
    if short.contains(['@', '/']) {
        return usage("invalid incremental source");
    }
    Ok(format!("{head}@{short}"))
}

/// Says what is sent, and how far that is.
struct Watch {
    snapshot: String,
    parsable: bool,
    is_verbose: bool,
    /// Something is said at all.
    says_more: bool,
    tells_progress: bool,
    /// That is told with the number of blocks that were looked at.
    tells_blocks: bool,
    /// The process is called after it.
    is_title: bool,
    /// Several streams are planned together.
    is_many: bool,
    dry_run: bool,
    /// Bytes that streams will have, by snapshot; those of all, until that is told.
    sizes: HashMap<String, u64>,
    size: Option<u64>,
    bytes: u64,
    blocks: u64,
    told: Instant,
}

impl Watch {
    fn new(snapshot: String, options: &getopt::Parsed) -> Watch {
        let (parsable, verbose, is_title) = (options.has("P"), options.has("v"), options.has("V"));
        let is_many = has_any(options, &["R", "I"]);
        Watch {
            snapshot,
            parsable,
            is_verbose: parsable || verbose || is_title && is_many,
            says_more: parsable || verbose || is_title,
            tells_progress: verbose,
            // OpenZFS forgets how often it was asked to be verbose when it sends many.
            tells_blocks: options.values("v").count() >= 2 && !is_many,
            is_title,
            is_many,
            dry_run: options.has("n"),
            sizes: HashMap::new(),
            size: None,
            bytes: 0,
            blocks: 0,
            told: Instant::now(),
        }
    }

    fn skipped(&self, cx: &mut Cx<'_>, dataset: &str, is_new: bool) -> Result<(), Stop> {
        let snapshot = self.snapshot.split_once('@').map_or("", |(_, short)| short);
        let why = format!("snapshot {snapshot} does not exist");
        match is_new {
            true if self.says_more => cx.complain(&format!("skipping dataset {dataset}: {why}")),
            true => Ok(()),
            false => cx.complain(&format!("WARNING: skipping dataset {dataset} and its children: {why}")),
        }
    }

    fn planned(
        &mut self,
        cx: &mut Cx<'_>,
        snapshot: &str,
        from: Option<&str>,
        size: u64,
    ) -> Result<(), Stop> {
        self.size = Some(self.size.unwrap_or(0) + size);
        self.sizes.insert(snapshot.to_owned(), size);
        if !self.is_verbose {
            return Ok(());
        }
        let from =
            if self.is_many { from.and_then(|from| short_of(from, snapshot, self.parsable)) } else { from };
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
                // OpenZFS has two pieces of code that say it.
                let size = if self.is_many { nicebytes(size) } else { nicenum(size) };
                self.say(cx, &format!("total estimated size is {size}"))
            }
            _ => Ok(()),
        }
    }

    fn begins(&mut self, cx: &mut Cx<'_>, snapshot: String) -> Result<(), Stop> {
        self.total(cx)?;
        (self.told, self.bytes, self.blocks, self.snapshot) = (Instant::now(), 0, 0, snapshot);
        self.call_process(cx);
        let blocks = if self.tells_blocks { "   BLOCKS    " } else { "" };
        if self.tells_progress && !self.parsable {
            cx.complain(&format!("TIME        SENT   {blocks}SNAPSHOT {}", self.snapshot))?;
        }
        Ok(())
    }

    fn passed(&mut self, cx: &mut Cx<'_>, bytes: u64) -> Result<(), Stop> {
        self.bytes += bytes;
        if self.told.elapsed() < EVERY {
            return Ok(());
        }
        self.told = Instant::now();
        self.call_process(cx);
        if !self.tells_progress {
            return Ok(());
        }
        let (time, Watch { bytes, blocks, snapshot, .. }) = (crate::clock::time(), &*self);
        cx.complain(&match (self.tells_blocks, self.parsable) {
            (true, true) => format!("{time}\t{bytes}\t{blocks}\t{snapshot}"),
            (true, false) => format!("{time}   {:>5}    {blocks:>8}    {snapshot}", nicenum(*bytes)),
            (false, true) => format!("{time}\t{bytes}\t{snapshot}"),
            (false, false) => format!("{time}   {:>5}   {snapshot}", nicebytes(*bytes)),
        })
    }

    /// `-V`
    fn call_process(&self, cx: &Cx<'_>) {
        if !self.is_title {
            return;
        }
        let size = self.sizes.get(&self.snapshot).copied().unwrap_or(0);
        let percent = self.bytes.checked_div(size / 100).unwrap_or(100).min(100);
        let (bytes, size) = (nicenum(self.bytes), nicenum(size));
        (cx.io.title)(&format!("zfs: sending {} ({percent}%: {bytes}/{size})", self.snapshot));
    }
}

/// How a snapshot of the same dataset is called where many are sent. What a clone begins with is
/// not told at all.
fn short_of<'a>(from: &'a str, snapshot: &str, parsable: bool) -> Option<&'a str> {
    let (head, _) = snapshot.split_once('@')?;
    let short = from.strip_prefix(head).filter(|short| short.starts_with('@'))?;
    Some(if parsable { &short[1..] } else { short })
}
