//! `zpool add`

use super::create::show_vdevs;
use super::pools;
use crate::fail::{Noun, Outcome, Stop, fail, sentence, usage};
use crate::program::Cx;
use crate::vdevs::{self, Naming};
use crate::{getopt, jobs};
use api_types::{Pool, PoolAdd, kind, routes};

pub fn add(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "afgLnPo:", &[])?;
    let Some((name, devices)) = options.operands.split_first() else {
        return usage("missing pool name argument");
    };
    if devices.is_empty() {
        return usage("missing vdev specification");
    }
    let layout = vdevs::parse(devices)?;
    let request = PoolAdd {
        vdevs: layout.data,
        logs: layout.logs,
        cache: layout.cache,
        force: options.has("f"),
        history: cx.history.clone(),
    };
    if options.has("n") {
        let Some(pool) = known(cx, name)? else { return Ok(1) };
        let naming = Naming { guid: options.has("g"), path: options.has("P"), follow: options.has("L") };
        return show(cx, &pool, &request, naming);
    }
    match jobs::run(cx, &routes::at(routes::POOL_VDEVS, name), &request) {
        Ok(result) => cx.warn(&result.warnings),
        Err(error) => {
            let problem = error.problem()?;
            if problem.kind == kind::NOT_FOUND {
                return fail(format!("cannot open '{name}': no such pool"));
            }
            fail(sentence(&format!("cannot add to '{name}'"), &problem, Noun::Pool))
        }
    }
}

/// `-n`: what there is, and what would come.
fn show(cx: &mut Cx<'_>, pool: &Pool, request: &PoolAdd, naming: Naming) -> Outcome {
    writeln!(cx.io.out, "would update '{}' to the following configuration:\n", pool.name)?;
    writeln!(cx.io.out, "\t{}", pool.name)?;
    for top in vdevs::normal(&pool.root) {
        writeln!(cx.io.out, "\t  {}", vdevs::name(top, naming))?;
        for side in &top.children {
            writeln!(cx.io.out, "\t    {}", vdevs::name(side, naming))?;
        }
    }
    show_vdevs(cx, &request.vdevs, &request.logs, &request.cache)?;
    Ok(0)
}

/// The pool of this name; complains where there is none.
pub(super) fn known(cx: &mut Cx<'_>, name: &str) -> Result<Option<Pool>, Stop> {
    Ok(pools(cx, &[name.to_owned()])?.0.pop())
}
