//! `zfs receive`

use crate::client::{CallError, Piece};
use crate::fail::{Noun, Outcome, Stop, sentence, usage};
use crate::human::nicebytes;
use crate::program::Cx;
use crate::{getopt, props};
use api_types::{Receive, StreamEvent, routes};
use std::io::IsTerminal;

const FROM_TERMINAL: &str =
    "Error: Backup stream can not be read from a terminal.\nYou must redirect standard input.";

pub fn receive(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "o:x:dehMnuvFsA", &[])?;
    for letter in ["s", "A"] {
        if options.has(letter) {
            return Err(Stop::Fail(format!(
                "zfs receive -{letter}: not supported by this version of Cistern yet"
            )));
        }
    }
    let target = match options.operands.as_slice() {
        [] => return usage("missing snapshot argument"),
        [target] => target.clone(),
        _ => return usage("too many arguments"),
    };
    let mut props = Vec::new();
    for text in options.values("o") {
        props::add(&mut props, props::assignment(text, "missing '=' for property=value argument")?)?;
    }
    if options.has("d") && options.has("e") {
        return usage("invalid option combination: -d and -e are mutually exclusive");
    }
    let origin = props.iter().position(|prop| prop.name == "origin").map(|at| props.remove(at).value);
    let input = std::io::stdin();
    if input.is_terminal() {
        cx.complain(FROM_TERMINAL)?;
        return Ok(1);
    }
    let request = Receive {
        target,
        keep_path: options.has("d") || options.has("e"),
        keep_tail: options.has("e"),
        force: options.has("F"),
        dry_run: options.has("n"),
        verbose: options.has("v"),
        no_mount: options.has("u"),
        skip_holds: options.has("h"),
        origin,
        props,
        exclude: options.values("x").map(str::to_owned).collect(),
        history: cx.history.clone(),
    };
    let client = cx.client.clone();
    let mut status = 0;
    client.flow::<Stop>(routes::RECEIVE, &request, Some(Box::new(input)), &mut |piece| {
        match piece {
            Piece::Event(StreamEvent::Line(line)) => {
                writeln!(cx.io.out, "{line}")?;
                cx.io.out.flush()?;
            }
            Piece::Event(StreamEvent::Received { bytes, nanos }) => done(cx, bytes, nanos)?,
            Piece::Event(StreamEvent::Done { warnings }) => status = cx.warn(&warnings)?,
            Piece::Event(StreamEvent::Failed(problem)) => {
                let problem = CallError::Refused(problem).problem()?;
                cx.io.out.flush()?;
                cx.complain(&sentence("cannot receive", &problem, Noun::Dataset))?;
                status = 1;
            }
            Piece::Data(_) | Piece::Event(_) => {}
        }
        Ok(())
    })?;
    Ok(status)
}

fn done(cx: &mut Cx<'_>, bytes: u64, nanos: u64) -> Result<(), Stop> {
    let seconds = nanos.max(1) as f64 / 1e9;
    let rate = nicebytes((bytes as f64 / seconds) as u64);
    writeln!(cx.io.out, "received {} stream in {seconds:.2} seconds ({rate}/sec)", nicebytes(bytes))?;
    Ok(cx.io.out.flush()?)
}
