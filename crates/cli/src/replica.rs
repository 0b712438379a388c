//! `cistern replica`: datasets that are replicas, and fail-over.

use crate::client::Client;
use crate::command::Io;
use crate::fail::{Stop, no_command};
use crate::human::nicebytes;
use crate::{getopt, table};
use api_types::{
    Replica, ReplicaLive, ReplicaLoss, ReplicaPromote, ReplicaPromoted, ReplicaTest, ReplicaTested,
    ServiceSpec, routes,
};

pub const USAGE: &str = "\
usage: cistern replica list [-H] [-p] [--json]
       cistern replica lost DATASET [--json]
       cistern replica test DATASET CLONE [--json]
       cistern replica promote DATASET [--force] [--json]

Replicas are what auto-sync services keep of other datasets. 'lost' says what of the source would be lost if a replica, and those
below it, took its place now. 'test' makes clones of their newest snapshots, which 'zfs destroy -r' takes away; nothing else
changes. 'promote' has them take the place of their sources: they can be written to, and clients go on with the file handles and
disks that they had, as far as 'list' says so. After it, 'cistern svc reverse' has the service replicate the other way.

  --force             a source that is here and in use is taken out first: it is read-only from then on
  -H, -p              for programs: without a head, times in seconds since 1970
  --json              what the daemon says, as JSON

examples:
  cistern replica lost backup/home
  cistern replica test backup/home backup/trial
  cistern replica promote backup/home
";

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let rest = args.get(1..).unwrap_or_default();
    match args.first().map(String::as_str) {
        Some("list") => list(rest, client, io),
        Some("lost") => lost(rest, client, io),
        Some("test") => test(rest, client, io),
        Some("promote") => promote(rest, client, io),
        Some("help" | "--help" | "-h") => Ok(write!(io.out, "{USAGE}")?),
        other => no_command(other),
    }
}

const NO_DATASET: &str = "missing name of a replica";

fn time(at: Option<i64>, is_exact: bool) -> String {
    table::time(at.and_then(|at| u64::try_from(at).ok()), is_exact)
}

fn list(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "Hpj", &["json"])?;
    options.none()?;
    let replicas: Vec<Replica> = client.get(routes::REPLICAS)?;
    if options.has("j") {
        return table::json(io, &replicas);
    }
    let row = |replica: &Replica| {
        [
            table::plain(&replica.dataset),
            table::plain(&replica.service),
            table::plain(replica.source.as_deref().unwrap_or("-")),
            time(replica.at, options.has("p")),
            if replica.keeps_clients { "go on" } else { "start anew" }.to_owned(),
        ]
    };
    const HEAD: [&str; 5] = ["REPLICA", "SERVICE", "SOURCE HERE", "NEWEST SNAPSHOT", "CLIENTS"];
    table::print(io, HEAD, replicas.iter().map(row).collect(), options.has("H"))
}

fn lost(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "j", &["json"])?;
    let dataset = options.one(NO_DATASET)?;
    let path = format!("{}?dataset={}", routes::REPLICA_LOSSES, routes::segment(dataset));
    let losses: Vec<ReplicaLoss> = client.get(&path)?;
    if options.has("j") {
        return table::json(io, &losses);
    }
    for loss in &losses {
        writeln!(io.out, "{}", table::plain(&words(loss)))?;
    }
    Ok(())
}

/// What would be lost, of one dataset.
fn words(loss: &ReplicaLoss) -> String {
    let ReplicaLoss { dataset, source, snapshot, at, written, newer } = loss;
    let has = match (snapshot, at) {
        (Some(snapshot), at) => format!("{dataset} has @{snapshot} of {}", time(*at, false)),
        (None, _) => format!("{dataset} has no snapshot"),
    };
    let Some(source) = source else {
        return format!("{has}; its source is not here: what that has since then would be lost");
    };
    let Some(written) = written else {
        return format!("{has} that {source} has as well: all of {source} would be lost");
    };
    let bytes = (*written > 0).then(|| format!("{} of {source}", nicebytes(*written)));
    let snapshots = newer.iter().map(|name| format!("{source}@{name}"));
    match bytes.into_iter().chain(snapshots).collect::<Vec<_>>() {
        lost if lost.is_empty() => format!("{has}: nothing of {source} would be lost"),
        lost => format!("{has}: lost would be {}", lost.join(", ")),
    }
}

fn test(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "j", &["json"])?;
    let [dataset, name] = options.operands.as_slice() else {
        return Err(Stop::Usage("a replica and the name of a clone are wanted".into()));
    };
    let asked = ReplicaTest { dataset: dataset.clone(), name: name.clone() };
    let made: ReplicaTested = client.post(routes::REPLICA_TEST, &asked)?;
    if options.has("j") {
        return table::json(io, &made);
    }
    for clone in &made.clones {
        writeln!(io.out, "{}", table::plain(clone))?;
    }
    warn(&made.warnings.sentences, io)
}

fn promote(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse_as(args, "jf", &[("json", "j"), ("force", "f")])?;
    let dataset = options.one(NO_DATASET)?;
    let asked = ReplicaPromote { dataset: dataset.to_owned(), force: options.has("f") };
    let done: ReplicaPromoted = client.post(routes::REPLICA_PROMOTE, &asked)?;
    if options.has("j") {
        return table::json(io, &done);
    }
    for original in &done.taken_out {
        writeln!(io.out, "taken out  {}", table::plain(original))?;
    }
    for ReplicaLive { dataset, keeps_clients } in &done.promoted {
        let clients = if *keeps_clients { "go on" } else { "start anew" };
        writeln!(io.out, "promoted   {}: clients of its source {clients}", table::plain(dataset))?;
    }
    if let Some(service) = &done.disabled {
        let spec: ServiceSpec = client.get(&routes::at(routes::SERVICE_SPEC, service))?;
        let pulls = matches!(&spec, ServiceSpec::AutoSync(policy) if !policy.origin.is_here());
        let service = table::plain(service);
        let next = match pulls {
            true => "it pulled what is promoted now".to_owned(),
            false => format!("'cistern svc reverse {service}' has it replicate back"),
        };
        writeln!(io.out, "disabled   service {service}: {next}")?;
    }
    warn(&done.warnings.sentences, io)
}

pub fn warn(warnings: &[String], io: &mut Io<'_>) -> Result<(), Stop> {
    warnings.iter().try_for_each(|warning| Ok(writeln!(io.err, "{}", table::plain(warning))?))
}
