//! `zpool checkpoint` (`zpool_do_checkpoint` in cmd/zpool/zpool_main.c).

use super::add::known;
use super::scan::await_end;
use crate::command::{Cx, refusal};
use crate::fail::{Noun, Outcome, fail, usage};
use crate::{getopt, jobs};
use api_types::{PoolCheckpoint, routes};

/// For whoever names a dataset.
const INSTEAD: &str = "'zpool checkpoint' doesn't work on datasets. To save the state of a dataset from a specific \
                       point in time please use 'zfs snapshot'";

pub fn checkpoint(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse_as(args, "dw", &[("discard", "d"), ("wait", "w")])?;
    let (discard, wait) = (options.has("d"), options.has("w"));
    if wait && !discard {
        return usage("--wait only valid when --discard also specified");
    }
    let name = options.one("missing pool argument")?;
    if name.contains('/') {
        cx.complain(&format!("cannot open '{name}': invalid character '/' in pool name"))?;
        return fail(INSTEAD);
    }
    if known(cx, name)?.is_none() {
        return Ok(1);
    }
    let request = PoolCheckpoint { discard, history: cx.history.clone() };
    if let Err(error) = jobs::run(cx, &routes::at(routes::POOL_CHECKPOINT, name), &request) {
        let what = if discard { "discard checkpoint in" } else { "checkpoint" };
        return Err(refusal(&format!("cannot {what} '{name}'"), error, Noun::Pool));
    }
    if wait {
        await_end(cx, name, "discard")?;
    }
    Ok(0)
}
