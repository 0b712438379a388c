//! `zfs wait`: until nothing of an activity is left. Source: cmd/zfs/zfs_main.c (`zfs_do_wait`).

use std::time::Duration;

use crate::command::Cx;
use crate::fail::{Noun, Outcome, sentence, usage};
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
    let name = match options.operands.as_slice() {
        [] => return usage("missing 'filesystem' argument"),
        [name] => name.clone(),
        _ => return usage("too many arguments"),
    };
    let path = routes::at(routes::DATASET_DELETED, &name);
    let mut looked = false;
    loop {
        match cx.client.get::<DeletedFiles>(&path) {
            Ok(deleted) if deleted.files == 0 => return Ok(0),
            Ok(_) => looked = true,
            Err(error) => {
                let problem = error.problem()?;
                // What is gone has nothing left to wait for.
                if looked && problem.kind == kind::NOT_FOUND {
                    return Ok(0);
                }
                cx.complain(&sentence(&format!("cannot open '{name}'"), &problem, Noun::Dataset))?;
                return Ok(1);
            }
        }
        std::thread::sleep(PAUSE);
    }
}
