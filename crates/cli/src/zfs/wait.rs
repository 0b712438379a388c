//! `zfs wait`: until nothing of an activity is left. Source: cmd/zfs/zfs_main.c (`zfs_do_wait`).

use std::time::Duration;

use crate::client::CallError;
use crate::command::{Cx, refusal};
use crate::fail::{Noun, Outcome, usage};
use crate::getopt;
use api_types::{DeletedFiles, kind, routes};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(200);

pub fn wait(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "t:", &[])?;
    for list in options.values("t") {
        if let Some(other) = list.split(',').find(|activity| *activity != "deleteq") {
            return usage(format!("invalid activity '{other}'"));
        }
    }
    let name = options.one("missing 'filesystem' argument")?;
    let path = routes::at(routes::DATASET_DELETED, name);
    let mut looked = false;
    loop {
        match cx.client.get::<DeletedFiles>(&path) {
            Ok(deleted) if deleted.files == 0 => return Ok(0),
            Ok(_) => looked = true,
            // What is gone has nothing left to wait for.
            Err(CallError::Refused(problem)) if looked && problem.kind == kind::NOT_FOUND => return Ok(0),
            Err(error) => return Err(refusal(&format!("cannot open '{name}'"), error, Noun::Dataset)),
        }
        cx.client.pause(PAUSE)?;
    }
}
