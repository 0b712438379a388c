//! `zpool add`

use super::create::{classes, refuse_mismatches, show_vdev};
use super::{naming, pools};
use crate::command::Cx;
use crate::fail::{Noun, Outcome, Stop, fail, sentence, usage};
use crate::vdevs::{self, Naming};
use crate::{getopt, jobs};
use api_types::{NewVdevs, PoolAdd, PoolStatus, VdevStatus, kind, routes};

pub fn add(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "afgLnPo:", &[])?;
    let missing = ["missing pool name argument", "missing vdev specification"];
    let (name, devices) = options.first_and_more(missing)?;
    cx.client.must_be_here(&cx.command)?;
    let layout = vdevs::parse(devices)?;
    let (dry_run, force, ashift) = (options.has("n"), options.has("f"), ashift(&options)?);
    let redundant = [&layout.data[..], &layout.special, &layout.dedup].concat();
    if dry_run || (!force && !redundant.is_empty()) {
        let Some(pool) = known(cx, name)? else { return Ok(1) };
        if !force {
            let mut found = vdevs::mismatches(&redundant);
            if found.is_empty() {
                found.extend(vdevs::mismatch_with(&pool, &redundant));
            }
            refuse_mismatches(&found)?;
        }
        if dry_run {
            return show(cx, &pool, &layout, naming(&options));
        }
    }
    let request = PoolAdd { vdevs: NewVdevs { ashift, ..layout }, force, history: cx.history.clone() };
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

/// `-n`: what there is, and what would come. Vdevs have their numbers only among data, as
/// `print_vdev_tree` has it.
fn show(cx: &mut Cx<'_>, pool: &PoolStatus, layout: &NewVdevs, naming: Naming) -> Outcome {
    writeln!(cx.io.out, "would update '{0}' to the following configuration:\n\n\t{0}", pool.name)?;
    let apart = vdevs::classes(&pool.root);
    for (title, new) in classes(layout) {
        let old: Vec<&VdevStatus> = match title {
            "" => vdevs::normal(&pool.root).collect(),
            "cache" => pool.cache.iter().collect(),
            "spares" => pool.spares.iter().collect(),
            title => {
                apart.iter().filter(|(class, _)| *class == title).flat_map(|(_, it)| it.clone()).collect()
            }
        };
        if !(title.is_empty() || old.is_empty() && new.is_empty()) {
            writeln!(cx.io.out, "\t{title}")?;
        }
        for vdev in old {
            let name = vdevs::name(vdev, naming);
            let shown = if title.is_empty() { &name[..] } else { unnumbered(vdev, &name) };
            writeln!(cx.io.out, "\t  {shown}")?;
            for side in &vdev.children {
                writeln!(cx.io.out, "\t    {}", vdevs::name(side, naming))?;
            }
        }
        for vdev in &new {
            show_vdev(cx, vdev, 2)?;
        }
    }
    Ok(0)
}

/// `mirror` of `mirror-1`.
fn unnumbered<'a>(vdev: &VdevStatus, name: &'a str) -> &'a str {
    let numbered = vdev.path.is_none().then(|| name.rsplit_once('-')).flatten();
    numbered.map_or(name, |(kind, _)| kind)
}

/// The pool of this name; complains where there is none.
pub(super) fn known(cx: &mut Cx<'_>, name: &str) -> Result<Option<PoolStatus>, Stop> {
    Ok(pools(cx, &[name.to_owned()])?.0.pop())
}
