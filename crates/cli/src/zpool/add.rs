//! `zpool add`

use super::create::{refuse_mismatches, show_vdevs};
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
        spares: layout.spares,
        ashift: ashift(&options)?,
        force: options.has("f"),
        history: cx.history.clone(),
    };
    let dry_run = options.has("n");
    if dry_run || (!request.force && !request.vdevs.is_empty()) {
        let Some(pool) = known(cx, name)? else { return Ok(1) };
        if !request.force {
            let mut found = vdevs::mismatches(&request.vdevs);
            if found.is_empty() {
                found.extend(vdevs::mismatch_with(&pool, &request.vdevs));
            }
            refuse_mismatches(&found)?;
        }
        if !dry_run {
            return send(cx, name, &request);
        }
        let naming = Naming { guid: options.has("g"), path: options.has("P"), follow: options.has("L") };
        return show(cx, &pool, &request, naming);
    }
    send(cx, name, &request)
}

/// `-o ashift=N`, the only property that new vdevs have.
pub(super) fn ashift(options: &getopt::Parsed) -> Result<Option<u64>, Stop> {
    let mut ashift = None;
    for text in options.values("o") {
        let prop = crate::props::assignment(text, "missing '=' for -o option")?;
        if prop.name != "ashift" {
            return usage("");
        }
        ashift = vdevs::ashift(&prop.value)?;
    }
    Ok(ashift)
}

fn send(cx: &mut Cx<'_>, name: &str, request: &PoolAdd) -> Outcome {
    match jobs::run(cx, &routes::at(routes::POOL_VDEVS, name), request) {
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
    show_vdevs(cx, (&request.vdevs, &request.logs), &request.cache, &request.spares)?;
    Ok(0)
}

/// The pool of this name; complains where there is none.
pub(super) fn known(cx: &mut Cx<'_>, name: &str) -> Result<Option<Pool>, Stop> {
    Ok(pools(cx, &[name.to_owned()])?.0.pop())
}
