//! `zpool prefetch` and `zpool ddtprune`: tables of deduplication.
//!
//! Source: cmd/zpool/zpool_main.c (`zpool_do_prefetch`, `zpool_do_ddt_prune`).

use super::pools;
use crate::command::Cx;
use crate::fail::{Noun, Outcome, usage};
use crate::{getopt, jobs};
use api_types::{PoolRelease, routes};

pub fn prefetch(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "t:", &[])?;
    let name = options.one("missing pool name argument")?;
    if options.value("t") != Some("ddt") {
        return usage("unsupported prefetch type");
    }
    if pools(cx, std::slice::from_ref(name))?.1 != 0 {
        return Ok(1);
    }
    match jobs::run(cx, &routes::at(routes::POOL_PREFETCH, name), &PoolRelease::default()) {
        Ok(_) => Ok(0),
        Err(error) => {
            cx.refused(&format!("cannot prefetch ddt in '{name}'"), error, Noun::Pool)?;
            Ok(255)
        }
    }
}

/// No pool has tables whose entries have an age: OpenZFS refuses those without the feature
/// `fast_dedup`.
pub fn prune(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "d:p:", &[])?;
    if let [.., last] = options.options.as_slice()
        && let Some(other) = options.options.iter().find(|option| option.name != last.name)
    {
        return usage(format!("-{} cannot be combined with -{} option", last.name, other.name));
    }
    for option in &options.options {
        let (most, what) = if option.name == "d" { (u64::MAX, "days") } else { (100, "percentage") };
        if !option.value.parse().is_ok_and(|amount: u64| amount > 0 && amount <= most) {
            return usage(format!("invalid {what} value"));
        }
    }
    if options.options.is_empty() {
        return usage("missing amount option (-d|-p <value>)");
    }
    let name = options.one("missing pool argument")?;
    if pools(cx, std::slice::from_ref(name))?.1 == 0 {
        let why = "operation not supported on this type of pool";
        cx.complain(&format!("cannot prune dedup table on '{name}': {why}"))?;
    }
    Ok(255)
}
