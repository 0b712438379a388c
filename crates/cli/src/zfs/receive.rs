//! `zfs receive`

use crate::client::{CallError, Piece};
use crate::command::Cx;
use crate::fail::{Noun, Outcome, Stop, fail, usage};
use crate::human::nicebytes;
use crate::{ask, getopt, props};
use api_types::{AbortReceive, Changed, Receive, StreamEvent, kind, routes};
use std::io::IsTerminal;

const FROM_TERMINAL: &str =
    "Error: Backup stream can not be read from a terminal.\nYou must redirect standard input.";

pub fn receive(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "o:x:dehMnuvFsAc", &[])?;
    let target = options.one("missing snapshot argument")?.clone();
    if options.has("A") {
        return abort(cx, &options, &target);
    }
    let mut props = Vec::new();
    for text in options.values("o") {
        props::add(&mut props, props::assignment(text, "missing '=' for property=value argument")?)?;
    }
    let mut exclude: Vec<String> = Vec::new();
    for name in options.values("x") {
        if name.contains('=') {
            return usage("invalid character '=' in property argument");
        }
        if exclude.iter().any(|other| other == name) || props.iter().any(|prop| prop.name == name) {
            return usage(format!("property '{name}' specified multiple times"));
        }
        exclude.push(name.to_owned());
    }
    if options.has("d") && options.has("e") {
        return usage("invalid option combination: -d and -e are mutually exclusive");
    }
    let origin = props.iter().position(|prop| prop.name == "origin").map(|at| props.remove(at).value);
    ask::takes_input(cx.io)?;
    let input = std::io::stdin();
    if input.is_terminal() {
        return fail(FROM_TERMINAL);
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
        resumable: options.has("s"),
        heal: options.has("c"),
        origin,
        props,
        exclude,
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
            Piece::Event(StreamEvent::Note(note)) => cx.complain(&note)?,
            Piece::Event(StreamEvent::Received { bytes, nanos }) => done(cx, bytes, nanos)?,
            Piece::Event(StreamEvent::Done(warnings)) => status = cx.warn(&warnings)?,
            Piece::Event(StreamEvent::Failed(problem)) => {
                cx.io.out.flush()?;
                status = cx.refused("cannot receive", CallError::Refused(problem), Noun::Dataset)?;
            }
            Piece::Data(_) | Piece::Event(_) => {}
        }
        Ok(())
    })?;
    Ok(status)
}

/// `-A`
fn abort(cx: &mut Cx<'_>, options: &getopt::Parsed, target: &str) -> Outcome {
    if ["d", "e", "n", "s", "u"].iter().any(|letter| options.has(letter)) {
        return usage("invalid option");
    }
    let request = AbortReceive { history: cx.history.clone() };
    match cx.client.post::<Changed>(&routes::at(routes::DATASET_ABORT_RECEIVE, target), &request) {
        Ok(_) => Ok(0),
        Err(error) => {
            let problem = error.problem()?;
            if problem.kind == kind::NOT_FOUND {
                return usage(format!("cannot open '{target}': dataset does not exist"));
            }
            // A sentence of its own: no command stands before it.
            fail(problem.detail)
        }
    }
}

fn done(cx: &mut Cx<'_>, bytes: u64, nanos: u64) -> Result<(), Stop> {
    let seconds = nanos.max(1) as f64 / 1e9;
    let rate = nicebytes((bytes as f64 / seconds) as u64);
    writeln!(cx.io.out, "received {} stream in {seconds:.2} seconds ({rate}/sec)", nicebytes(bytes))?;
    Ok(cx.io.out.flush()?)
}
