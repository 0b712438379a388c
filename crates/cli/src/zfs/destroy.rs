//! `zfs destroy`: the daemon knows what goes along, and why something cannot go; here are the
//! options and what is printed.

use super::check_name;
use crate::command::Cx;
use crate::fail::{Noun, Outcome, Stop, fail, sentence};
use crate::{getopt, human, jobs};
use api_types::{DatasetDestroy, DestroyPlan, kind, routes};
use stdx::names::is_at_or_below;

pub fn destroy(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "vpndfrR", &[])?;
    let name = options.one("missing dataset argument")?.clone();
    let request = DatasetDestroy {
        recursive: options.has("r") || options.has("R"),
        clones: options.has("R"),
        defer: options.has("d"),
        history: cx.history.clone(),
    };
    let print = Print {
        verbose: options.has("v") || options.has("p"),
        parsable: options.has("p"),
        dry_run: options.has("n"),
    };
    if name.contains('#') && !name.contains('@') {
        return bookmark(cx, &name, &request, print.dry_run);
    }
    if request.defer && !name.contains('@') {
        return fail(format!("cannot open '{name}': missing '@' delimiter in snapshot name"));
    }
    // Ranges and lists of snapshots are no names.
    let head = name.split('@').next().unwrap_or_default();
    check_name(head)?;
    let is_root = !name.contains(['/', '@']);
    if is_root && !request.recursive {
        return fail(format!(
            "cannot destroy '{name}': operation does not apply to pools\n\
             use 'zfs destroy -r {name}' to destroy all datasets in the pool\n\
             use 'zpool destroy {name}' to destroy the pool itself"
        ));
    }
    let flags = format!("recursive={}&clones={}&defer={}", request.recursive, request.clones, request.defer);
    let path = format!("{}?{flags}", routes::at(routes::DATASET_DESTROY, &name));
    let plan = match cx.client.get::<DestroyPlan>(&path) {
        Ok(plan) => plan,
        Err(error) => {
            let problem = error.problem()?;
            let what = match problem.kind == kind::NOT_FOUND {
                true => format!("cannot open '{head}'"),
                false => format!("cannot destroy '{name}'"),
            };
            return fail(sentence(&what, &problem, Noun::Dataset));
        }
    };
    print.plan(cx, &plan, &name)?;
    if print.dry_run {
        return Ok(0);
    }
    run(cx, &name, &request)
}

fn run(cx: &mut Cx<'_>, name: &str, request: &DatasetDestroy) -> Outcome {
    match jobs::run(cx, &routes::at(routes::DATASET_DESTROY, name), request) {
        Ok(result) => cx.warn(&result.warnings),
        Err(error) => {
            let problem = error.problem()?;
            let what = match name.contains('@') && problem.kind == kind::DENIED {
                true => "cannot destroy snapshots".to_owned(),
                false => format!("cannot destroy '{name}'"),
            };
            fail(sentence(&what, &problem, Noun::Dataset))
        }
    }
}

fn bookmark(cx: &mut Cx<'_>, name: &str, request: &DatasetDestroy, dry_run: bool) -> Outcome {
    let unfit = [(dry_run, "dryrun"), (request.defer, "defer destroy"), (request.recursive, "recursive")];
    if let Some((_, what)) = unfit.into_iter().find(|(asked, _)| *asked) {
        cx.complain(&format!("{what} is not supported with bookmark"))?;
        // As OpenZFS ends here.
        return Ok(255);
    }
    if !super::select::exists(cx, name)? {
        return fail(format!("bookmark '{name}' does not exist."));
    }
    run(cx, name, request)
}

/// What `-v`, `-p` and `-n` ask for.
struct Print {
    verbose: bool,
    parsable: bool,
    dry_run: bool,
}

impl Print {
    fn plan(&self, cx: &mut Cx<'_>, plan: &DestroyPlan, name: &str) -> Result<(), Stop> {
        if !self.verbose {
            return Ok(());
        }
        let verb = match (self.parsable, self.dry_run) {
            (true, _) => "destroy\t",
            (false, true) => "would destroy ",
            (false, false) => "will destroy ",
        };
        let lines = |names: &[&String]| names.iter().map(|one| format!("{verb}{one}\n")).collect::<String>();
        let all: Vec<&String> = plan.names.iter().collect();
        let Some((head, _)) = name.split_once('@') else {
            return Ok(write!(cx.io.out, "{}", lines(&all))?);
        };
        // Clones are told last, as OpenZFS does where it destroys them; here they are told of
        // before, too.
        let is_asked = |one: &&String| one.split_once('@').is_some_and(|(of, _)| is_at_or_below(of, head));
        let (asked, clones): (Vec<&String>, Vec<&String>) = all.into_iter().partition(is_asked);
        write!(cx.io.out, "{}", lines(&asked))?;
        match (self.parsable, self.dry_run) {
            (true, _) => writeln!(cx.io.out, "reclaim\t{}", plan.bytes)?,
            (false, true) => writeln!(cx.io.out, "would reclaim {}", human::nicebytes(plan.bytes))?,
            (false, false) => writeln!(cx.io.out, "will reclaim {}", human::nicebytes(plan.bytes))?,
        }
        Ok(write!(cx.io.out, "{}", lines(&clones))?)
    }
}
