//! `cistern svc`: services that look after the data by themselves.

mod plan;
mod schedule;
mod spec;
mod tier;
mod value;
mod words;

pub use spec::{absence, keep, kept, shown_absence};
pub use words::{relation, span};

use crate::client::Client;
use crate::command::Io;
use crate::fail::{Stop, no_command, usage};
use crate::table::{self, plain};
use crate::{clock, getopt};
use api_types::{
    PolicySleeps, PolicyWake, Service, ServiceAsk, ServiceClock, ServiceCommand, ServiceCreate, ServiceLog,
    ServicePlan, ServiceReverse, ServiceReversed, ServiceSet, ServiceSpec, SleepingPolicy, SyncTarget,
    routes,
};

pub const USAGE: &str = "\
usage: cistern svc list [-H] [-p] [--json]
       cistern svc show NAME [--json]
       cistern svc create auto-snap NAME --target DATASET … --level LEVEL … [options] [--disabled]
       cistern svc create auto-sync NAME --from DATASET --to DATASET --schedule WHEN [options] [--disabled]
       cistern svc create auto-tier NAME --from DATASET --to PLACE --schedule WHEN [options] [--disabled]
       cistern svc create auto-scrub | auto-trim NAME --schedule WHEN [--pool POOL …] [--window HH:MM-HH:MM] [--disabled]
       cistern svc create script NAME --schedule WHEN [limits] [--disabled] -- PROGRAM [ARGUMENT …]
       cistern svc set NAME [options]
       cistern svc enable | disable | run | clear | remove NAME
       cistern svc reverse NAME [--discard]
       cistern svc wake NAME@DATASET
       cistern svc log NAME [-H] [-p] [--json]
       cistern svc plan NAME [--days N] [--json]
       cistern svc clock [agree]

Services: snapshots, replication, tiering, scrubs, trims and programs of one's own, by schedule. 'set' changes what is given and leaves the rest.
'run' has a service look at everything now; what is not due is not done. 'clear' is for one in maintenance, once its cause is
gone. 'plan' says what a service would do now, or in the next days, and why. A service that is removed leaves its snapshots.
'reverse' has a service replicate from what was promoted back to its former source; --discard gives up what only that has.
A service lives in the pool whose data it is about, and moves with it; one of several pools, and a program, in this machine. What a
stream brought sleeps, and is listed as NAME@DATASET: 'wake' says that this dataset is no replica any more.

auto-snap
  --target DATASET    what it looks after; several by several options
  --recursive         with all that is below
  --exclude DATASET   but for this and what is below it
  --level LEVEL       NAME=KEEP or NAME:WHEN=KEEP. The names frequent (each 15 minutes), hourly, daily, weekly, monthly and
                      yearly say when. KEEP is a number, an age, or both: 24, 30d, 100,90d; with least=N so many stay
  --budget SPACE      what all snapshots of a dataset may take: 20% of what it uses and could use, or 50G; none
  --snapshots N       how many of a dataset this service may have at most
  --skip-unchanged    none of what has not changed
  --naming NAMES      utc, zfs-auto-snapshot, or a template with {level} and {time}
  --lock AGE          what is made is locked for so long: nobody destroys it; none
  --stale-after AGE   the newest snapshot of what has changed may be this old; never

auto-sync
  --from DATASET      what is replicated; --recursive and --exclude as above. peer://name/pool/dataset is pulled from another
                      appliance, and ssh://user@host:port/pool/dataset from a host with OpenZFS, to a dataset of this machine
  --to DATASET        the replica, in another pool of this machine; peer://name/pool/dataset on another appliance (cistern
                      peer --help), or ssh://user@host:port/pool/dataset on a host with OpenZFS; it refuses writes
  --host-key WHICH    by SSH: known, or accept-new, which is the one that the host shows at first
  --keep KEEP         of the replica's snapshots: so many, and those of an age: 24, 30d, 24,30d
  --absence BOUNDS    what the source keeps for a replica that takes nothing: a time, space, or both: 30d, 100G; none
  --limit RATE        bytes a second, perhaps in some hours: 50M, 5M@08:00-18:00; several by several options; none
  --lag AGE           an alert is raised for a replica that lags by more: 1h; none
  --stuck-after AGE   a stream that moves no byte for so long is broken off

auto-tier
  --from DATASET      the file system whose files are copied; --folder FOLDER: what is below that folder of it
  --to PLACE          a mounted file system, /a/folder of this machine, or ssh://user@host:port/folder of a host with rsync
  --move              what is at the target goes from the source; --keep AGE: once it has not changed for so long
  --older-than AGE, --newer-than AGE
                      last modified so long ago or longer, or less long ago; none
  --min-size SIZE, --max-size SIZE, --max-depth N
                      of files, and how deep they lie: 1 is in the folder itself; none
  --include PATTERN   only what has such a name, or with a slash such a path: '*.raw', 'photos/**'; --list FILE: one a line
  --exclude PATTERN   but for this, and what is below it
  --rate SPEED        bytes a second: 20M; none
  --plain             neither ACLs nor extended attributes
  --stuck-after AGE   an rsync that moves no byte for so long is ended

auto-sync, auto-tier, auto-scrub, auto-trim, script
  --schedule WHEN     5s (auto-sync alone), 15m, 2h, hourly, daily@02:30, 'weekly@sunday 03:00', 'monthly@1 04:00', yearly@01-01, or a pattern
                      of cron: '30 2 * * mon-fri'
  --pool POOL         all pools, unless some are named
  --window HOURS      work runs from then until then: 22:00-06:00; none
  --seconds N, --memory SIZE, --processes N, --output SIZE
                      limits of a program: it is ended when it takes more

  --zone ZONE         of all times: Europe/Berlin; the machine's, unless one is named
  --disabled          it does not begin yet
  -H, -p              for programs: without a head, times in seconds since 1970
  --json              what the daemon says, as JSON

examples:
  cistern svc create auto-snap home --target tank/home --recursive --level hourly=24 --level daily=30 --budget 20%
  cistern svc create auto-snap db --target tank/db --level often:10m=36 --level night:daily@02:30=90d,least=3
  cistern svc create auto-scrub scrub --schedule 'monthly@1 03:00' --window 22:00-06:00
  cistern svc create auto-tier cold --from tank/home --to backup/cold --schedule daily@02:30 --move --older-than 90d
  cistern svc create script report --schedule daily@07:00 --seconds 60 -- /usr/local/bin/report --short
  cistern svc plan home --days 7
";

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let rest = args.get(1..).unwrap_or_default();
    match args.first().map(String::as_str) {
        Some("list") => list(rest, client, io),
        Some("show") => show(rest, client, io),
        Some("create") => create(rest, client),
        Some("set") => set(rest, client),
        Some("enable") => ask(rest, client, ServiceCommand::Enable),
        Some("disable") => ask(rest, client, ServiceCommand::Disable),
        Some("run") => ask(rest, client, ServiceCommand::Run),
        Some("clear") => ask(rest, client, ServiceCommand::Clear),
        Some("reverse") => reverse(rest, client, io),
        Some("wake") => wake(rest, client),
        Some("remove") => {
            let options = getopt::parse(rest, "", &[])?;
            let name = options.one(NO_NAME)?;
            Ok(client.post::<()>(&routes::at(routes::SERVICE_REMOVE, name), &())?)
        }
        Some("log") => log(rest, client, io),
        Some("plan") => plan(rest, client, io),
        Some("clock") => clock_of(rest, client, io),
        Some("help" | "--help" | "-h") => Ok(write!(io.out, "{USAGE}")?),
        other => no_command(other),
    }
}

const NO_NAME: &str = "missing name of a service";

/// A time in the local time zone, or in seconds for programs.
fn time(at: i64, is_exact: bool) -> String {
    match u64::try_from(at) {
        Ok(seconds) if !is_exact => clock::stamp(seconds),
        _ => at.to_string(),
    }
}

fn list(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "Hpj", &["json"])?;
    options.none()?;
    let services: Vec<Service> = client.get(routes::SERVICES)?;
    if options.has("j") {
        return table::json(io, &services);
    }
    let is_exact = options.has("p");
    let at = |at: Option<i64>| at.map_or_else(|| "-".to_owned(), |at| time(at, is_exact));
    let row = |service: &Service| {
        [
            service.id.clone(),
            service.spec.kind().word().to_owned(),
            service.state.word().to_owned(),
            at(service.last.as_ref().map(|last| last.ended)),
            at(service.next.as_ref().map(|next| next.at)),
            plain(&words::next(service)),
        ]
    };
    const HEAD: [&str; 6] = ["NAME", "KIND", "STATE", "LAST RUN", "NEXT RUN", "WHY"];
    let sleeping: Vec<SleepingPolicy> = client.get(routes::SERVICE_POLICIES)?;
    let rows = services.iter().map(row).chain(sleeping.iter().map(asleep));
    table::print(io, HEAD, rows.collect(), options.has("H"))?;
    warn(client, io)
}

/// What a dataset keeps and is not at work.
fn asleep(policy: &SleepingPolicy) -> [String; 6] {
    let SleepingPolicy { dataset, id, spec, why } = policy;
    let state = if matches!(why, PolicySleeps::Malformed { .. }) { "maintenance" } else { "asleep" };
    [
        plain(&format!("{}@{dataset}", id.as_deref().unwrap_or(""))),
        spec.as_ref().map_or("-", |spec| spec.kind().word()).to_owned(),
        state.to_owned(),
        "-".to_owned(),
        "-".to_owned(),
        plain(&why.words().replace('\n', "; ")),
    ]
}

fn wake(args: &[String], client: &Client) -> Result<(), Stop> {
    let options = getopt::parse(args, "", &[])?;
    let name = options.one("missing NAME@DATASET of what sleeps")?;
    let Some((id, dataset)) = name.split_once('@') else {
        return usage("NAME@DATASET is wanted, as 'cistern svc list' shows it");
    };
    let asked = PolicyWake { dataset: dataset.to_owned(), id: id.to_owned() };
    Ok(client.post::<()>(routes::SERVICE_POLICY_WAKE, &asked)?)
}

/// A clock that is not believed concerns all of them.
fn warn(client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let clock: ServiceClock = client.get(routes::SERVICE_CLOCK)?;
    if let Some(dispute) = clock.dispute {
        writeln!(io.err, "{}", words::dispute(&dispute))?;
    }
    Ok(())
}

fn show(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "j", &["json"])?;
    let name = options.one(NO_NAME)?;
    let service: Service = client.get(&routes::at(routes::SERVICE, name))?;
    if options.has("j") {
        return table::json(io, &service);
    }
    let mut lines = vec![
        ("name", service.id.clone()),
        ("kind", service.spec.kind().word().to_owned()),
        ("state", format!("{} since {}", service.state.word(), time(service.since, false))),
        ("cause", words::cause(&service.cause)),
    ];
    lines.extend(spec::shown(&service.spec));
    let away = if service.away { ", which is not here" } else { "" };
    let home =
        service.home.as_ref().map_or_else(|| "this machine".to_owned(), |home| format!("{home}{away}"));
    lines.push(("kept by", home));
    lines.push(("covers", words::covers(&service)));
    if let Some(sync) = &service.sync {
        let clock: ServiceClock = client.get(routes::SERVICE_CLOCK)?;
        let replicas = sync.replicas.iter();
        lines.extend(replicas.map(|one| ("replica", words::replica(one, clock.believed))));
        lines.extend(sync.sending.iter().map(|one| ("sending", words::sending(one))));
    }
    lines.extend(service.tier.iter().map(|status| ("at work", words::tier(status))));
    lines.push(("last", service.last.as_ref().map_or_else(|| "-".to_owned(), words::run)));
    let next =
        service.next.as_ref().map(|next| format!("{}, {}", time(next.at, false), words::next(&service)));
    lines.push(("next", next.unwrap_or_else(|| "-".to_owned())));
    let failures = service.last.iter().flat_map(|last| &last.failures).map(words::failure);
    lines.extend(failures.map(|failure| ("failure", failure)));
    lines.extend(service.findings.iter().map(|finding| ("note", words::finding(finding))));
    lines.extend(service.skipped.iter().map(|skipped| ("skipped", words::skipped(skipped))));
    let slow = service.waits_for.iter();
    lines.extend(
        slow.map(|slow| ("waits", format!("for pool {} since {}", slow.pool, time(slow.since, false)))),
    );
    lines.extend(service.clock.iter().map(|dispute| ("clock", words::dispute(dispute))));
    Ok(lines.iter().try_for_each(|(name, value)| writeln!(io.out, "{name:<12}{}", plain(value)))?)
}

fn create(args: &[String], client: &Client) -> Result<(), Stop> {
    let options = spec::parse(args)?;
    let [kind, name, ..] = options.operands.as_slice() else {
        return usage(
            "a kind and a name are wanted: auto-snap, auto-sync, auto-tier, auto-scrub, auto-trim or script",
        );
    };
    let spec = spec::made(kind, &options)?;
    let request = ServiceCreate { id: name.clone(), spec, enabled: !options.has("disabled") };
    client.post::<Service>(routes::SERVICES, &request)?;
    Ok(())
}

fn set(args: &[String], client: &Client) -> Result<(), Stop> {
    let options = spec::parse(args)?;
    let Some(name) = options.operands.first() else { return usage(NO_NAME) };
    if options.options.is_empty() && options.operands.len() == 1 {
        return usage("nothing is to be changed");
    }
    let path = routes::at(routes::SERVICE_SPEC, name);
    let before: ServiceSpec = client.get(&path)?;
    let spec = spec::changed(before, &options)?;
    client.post::<Service>(&path, &ServiceSet { spec })?;
    Ok(())
}

fn ask(args: &[String], client: &Client, command: ServiceCommand) -> Result<(), Stop> {
    let options = getopt::parse(args, "", &[])?;
    let name = options.one(NO_NAME)?;
    client.post::<Service>(&routes::at(routes::SERVICE_COMMAND, name), &ServiceAsk { command })?;
    Ok(())
}

fn reverse(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse_as(args, "d", &[("discard", "d")])?;
    let name = options.one(NO_NAME)?;
    let asked = ServiceReverse { discard: options.has("d") };
    let done: ServiceReversed = client.post(&routes::at(routes::SERVICE_REVERSE, name), &asked)?;
    if let ServiceSpec::AutoSync(policy) = &done.service.spec
        && let SyncTarget::Peer { peer, dataset } = &policy.target
    {
        let (source, below) =
            (&policy.source.dataset, if policy.source.recursive { " --recursive" } else { "" });
        writeln!(
            io.out,
            "{source} waits as the replica of what was promoted on {peer}. There, as PEER is what this appliance is called:\n  \
             cistern svc create auto-sync {name} --from {dataset}{below} --to peer://PEER/{source} --schedule WHEN\n\
             and here, if it may not send there yet:\n  cistern peer allow {peer} {source}"
        )?;
    }
    crate::replica::warn(&done.warnings.sentences, io)
}

fn log(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "Hpj", &["json"])?;
    let name = options.one(NO_NAME)?;
    let lines: Vec<ServiceLog> = client.get(&routes::at(routes::SERVICE_LOG, name))?;
    if options.has("j") {
        return table::json(io, &lines);
    }
    let row = |line: &ServiceLog| [time(line.at, options.has("p")), plain(&words::entry(&line.entry))];
    table::print(io, ["TIME", "WHAT"], lines.iter().map(row).collect(), options.has("H"))
}

fn plan(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse_as(args, "jd:", &[("json", "j"), ("days", "d")])?;
    let name = options.one(NO_NAME)?;
    let days: u32 = match options.value("d").map(|days| (days, days.parse())) {
        None => 0,
        Some((_, Ok(days))) if days <= 366 => days,
        Some((days, _)) => return usage(format!("'{days}' is no number of days up to 366")),
    };
    let plan: ServicePlan = client.get(&format!("{}?days={days}", routes::at(routes::SERVICE_PLAN, name)))?;
    match options.has("j") {
        true => table::json(io, &plan),
        false => plan::print(&plan, io),
    }
}

fn clock_of(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "", &[])?;
    let clock: ServiceClock = match options.operands.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => client.get(routes::SERVICE_CLOCK)?,
        ["agree"] => client.post(routes::SERVICE_CLOCK_AGREE, &())?,
        [other, ..] => return no_command(Some(other)),
    };
    match &clock.dispute {
        Some(dispute) => writeln!(io.out, "{}", words::dispute(dispute))?,
        None => writeln!(io.out, "services go by the machine's clock: {}", time(clock.believed, false))?,
    }
    Ok(())
}
