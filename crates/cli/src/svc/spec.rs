//! What a service is to do, from the options of a command line, and back in lines.

use super::schedule::{self, age, level, shown_age, shown_level, shown_window, window};
use super::tier;
use super::value::{bytes, number, schedule_of, shown_place, ssh_place, zone};
use crate::fail::{Stop, usage};
use crate::getopt::{self, Parsed};
use crate::human::nicebytes;
use api_types::{
    AutoSnapPolicy, AutoSyncPolicy, AutoTierPolicy, Schedule, ScriptLimits, ScriptPolicy, ServiceSpec,
    SnapBudget, SnapNaming, SnapTarget, SpaceBudget, SshHost, SshHostKey, SshTarget, SyncAbsence, SyncKeep,
    SyncLimit, SyncOrigin, SyncTarget, TierAction, TierChoice, TierTarget, UpkeepPolicy, When,
};

/// Options with an argument, as getopt has them.
const LETTERS: &str = "t:e:l:b:n:g:a:S:p:w:s:m:c:o:z:f:i:k:x:u:y:r:L:A:B:C:D:E:F:I:M:R:K:";
const LONG: [(&str, &str); 38] = [
    ("limit", "r"),
    ("lag", "L"),
    ("target", "t"),
    ("exclude", "e"),
    ("level", "l"),
    ("budget", "b"),
    ("snapshots", "n"),
    ("naming", "g"),
    ("stale-after", "a"),
    ("schedule", "S"),
    ("pool", "p"),
    ("window", "w"),
    ("seconds", "s"),
    ("memory", "m"),
    ("processes", "c"),
    ("output", "o"),
    ("zone", "z"),
    ("from", "f"),
    ("to", "i"),
    ("keep", "k"),
    ("absence", "x"),
    ("stuck-after", "u"),
    ("host-key", "y"),
    ("older-than", "A"),
    ("newer-than", "B"),
    ("min-size", "C"),
    ("max-size", "D"),
    ("max-depth", "E"),
    ("folder", "F"),
    ("include", "I"),
    ("list", "M"),
    ("rate", "R"),
    ("lock", "K"),
    ("move", "move"),
    ("plain", "plain"),
    ("recursive", "recursive"),
    ("skip-unchanged", "skip-unchanged"),
    ("disabled", "disabled"),
];

/// Options by their letters; what a program is given stands behind `--`.
pub fn parse(args: &[String]) -> Result<Parsed, Stop> {
    getopt::parse_as(args, LETTERS, &LONG)
}

/// A new service of a kind: the operands are the kind, the name, and of a script the program.
pub fn made(kind: &str, options: &Parsed) -> Result<ServiceSpec, Stop> {
    let schedule = Schedule { when: When::Day { hour: 0, minute: 0 }, zone: None };
    let wants = |option: &str, text: &str| match options.has(option) {
        true => Ok(()),
        false => usage(text),
    };
    let rest = options.operands.get(2..).unwrap_or_default();
    if !matches!(kind, "script") && !rest.is_empty() {
        return usage("too many arguments");
    }
    let empty = match kind {
        "auto-snap" => {
            wants("t", "a target is wanted: --target DATASET")?;
            wants("l", "a level is wanted: --level daily=30")?;
            ServiceSpec::AutoSnap(AutoSnapPolicy {
                targets: Vec::new(),
                levels: Vec::new(),
                budget: SnapBudget::default(),
                skip_unchanged: false,
                naming: SnapNaming::default(),
                stale_after: None,
                lock: None,
            })
        }
        "auto-sync" => {
            wants(
                "f",
                "what is replicated is wanted: --from DATASET, peer://NAME/DATASET or ssh://HOST/DATASET",
            )?;
            wants("i", "a replica is wanted: --to DATASET")?;
            wants("S", "a schedule is wanted: --schedule 15m")?;
            ServiceSpec::AutoSync(AutoSyncPolicy {
                source: SnapTarget {
                    dataset: String::new(),
                    guid: None,
                    recursive: false,
                    exclude: Vec::new(),
                },
                origin: SyncOrigin::Here,
                target: SyncTarget::Pool { dataset: String::new() },
                schedule,
                keep: SyncKeep::default(),
                absence: SyncAbsence::default(),
                limits: Vec::new(),
                lag: None,
                stuck_after: 600,
            })
        }
        "auto-tier" => {
            wants("f", "what is copied is wanted: --from DATASET")?;
            wants("i", "a target is wanted: --to DATASET, /FOLDER or ssh://HOST/FOLDER")?;
            wants("S", "a schedule is wanted: --schedule daily@02:30")?;
            ServiceSpec::AutoTier(AutoTierPolicy {
                source: SnapTarget::default(),
                folder: String::new(),
                target: TierTarget::Dataset { dataset: String::new() },
                schedule,
                action: TierAction::Copy,
                choose: TierChoice::default(),
                rate: None,
                plain: false,
                stuck_after: 600,
            })
        }
        "auto-scrub" | "auto-trim" | "script" => {
            wants("S", "a schedule is wanted: --schedule daily@02:30")?;
            let upkeep = UpkeepPolicy { pools: Vec::new(), schedule: schedule.clone(), window: None };
            match (kind, rest.split_first()) {
                ("auto-scrub", _) => ServiceSpec::AutoScrub(upkeep),
                ("auto-trim", _) => ServiceSpec::AutoTrim(upkeep),
                (_, Some((program, arguments))) => ServiceSpec::Script(ScriptPolicy {
                    program: program.clone(),
                    arguments: arguments.to_vec(),
                    schedule,
                    limits: ScriptLimits::default(),
                }),
                (_, None) => return usage("a program is wanted: -- /usr/local/bin/program"),
            }
        }
        other => {
            return usage(format!(
                "'{other}' is no kind of service: auto-snap, auto-sync, auto-tier, auto-scrub, auto-trim or script"
            ));
        }
    };
    apply(empty, options)
}

/// With what is given in place of what was there; of a script the program, too, where one is.
pub fn changed(before: ServiceSpec, options: &Parsed) -> Result<ServiceSpec, Stop> {
    let mut before = before;
    match (&mut before, options.operands.get(1..).and_then(<[String]>::split_first)) {
        (ServiceSpec::Script(policy), Some((program, arguments))) => {
            (policy.program, policy.arguments) = (program.clone(), arguments.to_vec());
        }
        (_, Some(_)) => return usage("too many arguments"),
        (_, None) => {}
    }
    apply(before, options)
}

fn apply(spec: ServiceSpec, options: &Parsed) -> Result<ServiceSpec, Stop> {
    let (mut spec, letters) = (spec, options.options.iter().map(|option| option.name.as_str()));
    let allowed: &[&str] = match &spec {
        ServiceSpec::AutoSnap(_) => {
            &["t", "e", "l", "b", "n", "g", "a", "K", "z", "recursive", "skip-unchanged"]
        }
        ServiceSpec::AutoScrub(_) | ServiceSpec::AutoTrim(_) => &["S", "p", "w", "z"],
        ServiceSpec::AutoSync(_) => &["f", "i", "e", "S", "k", "x", "r", "L", "u", "y", "z", "recursive"],
        ServiceSpec::AutoTier(_) => &tier::ALLOWED,
        ServiceSpec::Script(_) => &["S", "s", "m", "c", "o", "z"],
    };
    if let Some(other) = letters.into_iter().find(|name| *name != "disabled" && !allowed.contains(name)) {
        let name = LONG.iter().find(|(_, letter)| *letter == other).map_or(other, |(name, _)| name);
        return usage(format!("--{name} is for another kind of service"));
    }
    match &mut spec {
        ServiceSpec::AutoSnap(policy) => snapshots(policy, options)?,
        ServiceSpec::AutoScrub(policy) | ServiceSpec::AutoTrim(policy) => {
            schedule_of(&mut policy.schedule, options)?;
            if options.has("p") {
                policy.pools = options.values("p").filter(|pool| *pool != "all").map(str::to_owned).collect();
            }
            if let Some(text) = options.value("w") {
                policy.window = window(text)?;
            }
        }
        ServiceSpec::AutoSync(policy) => sync(policy, options)?,
        ServiceSpec::AutoTier(policy) => tier::apply(policy, options)?,
        ServiceSpec::Script(policy) => {
            schedule_of(&mut policy.schedule, options)?;
            limits(&mut policy.limits, options)?;
        }
    }
    Ok(spec)
}

fn snapshots(policy: &mut AutoSnapPolicy, options: &Parsed) -> Result<(), Stop> {
    if options.has("t") {
        let target = |name: &str| SnapTarget { dataset: name.to_owned(), ..SnapTarget::default() };
        policy.targets = options.values("t").map(target).collect();
    }
    if options.has("t") || options.has("recursive") {
        policy.targets.iter_mut().for_each(|target| target.recursive = options.has("recursive"));
    }
    for name in options.values("e") {
        let above = |target: &&mut SnapTarget| name.starts_with(&format!("{}/", target.dataset));
        match policy.targets.iter_mut().find(above) {
            Some(target) => target.exclude.push(name.to_owned()),
            None => return usage(format!("'{name}' is below no target")),
        }
    }
    if options.has("l") {
        policy.levels =
            options.values("l").map(|text| level(text, zone(options))).collect::<Result<_, Stop>>()?;
    } else if let Some(name) = zone(options) {
        policy.levels.iter_mut().for_each(|level| level.schedule.zone = Some(name.to_owned()));
    }
    if let Some(text) = options.value("b") {
        policy.budget.space = budget(text)?;
    }
    if let Some(text) = options.value("n") {
        policy.budget.snapshots = number(text, "number of snapshots")?;
    }
    if options.has("skip-unchanged") {
        policy.skip_unchanged = true;
    }
    if let Some(text) = options.value("g") {
        policy.naming = match text {
            "utc" => SnapNaming::Utc,
            "zfs-auto-snapshot" => SnapNaming::ZfsAutoSnapshot,
            template => SnapNaming::Template { template: template.to_owned() },
        };
    }
    if let Some(text) = options.value("a") {
        policy.stale_after = match (text, age(text)) {
            ("never", _) => None,
            (_, Some(age)) => Some(age),
            (_, None) => return usage(format!("'{text}' is no age: 2h, 3d or never")),
        };
    }
    if let Some(text) = options.value("K") {
        policy.lock = match (text, age(text)) {
            ("none", _) => None,
            (_, Some(age)) => Some(age),
            (_, None) => return usage(format!("'{text}' is no time: 7d or none")),
        };
    }
    Ok(())
}

fn limits(limits: &mut ScriptLimits, options: &Parsed) -> Result<(), Stop> {
    if let Some(text) = options.value("s") {
        limits.seconds = number(text, "number of seconds")?;
    }
    if let Some(text) = options.value("m") {
        limits.memory = bytes(text)?;
    }
    if let Some(text) = options.value("c") {
        limits.processes = number(text, "number of processes")?;
    }
    if let Some(text) = options.value("o") {
        limits.output = u32::try_from(bytes(text)?).unwrap_or(u32::MAX);
    }
    Ok(())
}

fn budget(text: &str) -> Result<Option<SpaceBudget>, Stop> {
    if text == "none" {
        return Ok(None);
    }
    match text.strip_suffix('%').map(str::parse) {
        Some(Ok(percent)) => Ok(Some(SpaceBudget::Percent { percent })),
        Some(Err(_)) => usage(format!("'{text}' is no budget: 20%, 50G or none")),
        None => Ok(Some(SpaceBudget::Bytes { bytes: bytes(text)? })),
    }
}

/// A rate, perhaps of hours of the day: `10M` or `2M@08:00-18:00`.
fn limit(text: &str) -> Result<SyncLimit, Stop> {
    let (rate, hours) = text.split_once('@').map_or((text, None), |(rate, hours)| (rate, Some(hours)));
    Ok(SyncLimit { bytes: bytes(rate)?, window: hours.map(window).transpose()?.flatten() })
}

fn shown_limit(limit: &SyncLimit) -> String {
    let hours = limit.window.as_ref().map_or_else(String::new, |it| format!(" at {}", shown_window(it)));
    format!("{}/s{hours}", nicebytes(limit.bytes))
}

/// Which snapshots of a replica stay: `24`, `30d` or `24,30d`.
pub fn keep(text: &str) -> Result<SyncKeep, Stop> {
    let mut keep = SyncKeep { count: 1, age: None };
    for part in text.split(',') {
        match (part.parse(), age(part)) {
            (Ok(count), _) => keep.count = count,
            (_, Some(age)) => keep.age = Some(age),
            _ => return usage(format!("'{part}' does not say what is kept: 24, 30d or 24,30d")),
        }
    }
    Ok(keep)
}

pub fn kept(keep: &SyncKeep) -> String {
    let young = keep.age.map_or_else(String::new, |age| format!(" and those of {}", shown_age(age)));
    format!("the newest {}{young}", keep.count)
}

fn sync(policy: &mut AutoSyncPolicy, options: &Parsed) -> Result<(), Stop> {
    schedule_of(&mut policy.schedule, options)?;
    if let Some(text) = options.value("f") {
        let (origin, dataset) = source(text)?;
        policy.origin = origin;
        (policy.source.dataset, policy.source.guid) = (dataset, None);
    }
    policy.source.recursive |= options.has("recursive");
    if options.has("e") {
        policy.source.exclude = options.values("e").map(str::to_owned).collect();
    }
    if let Some(text) = options.value("i") {
        policy.target = target(text)?;
    }
    if let Some(text) = options.value("y") {
        let host_key = match (&mut policy.origin, &mut policy.target) {
            (SyncOrigin::Ssh(place), _) => &mut place.host_key,
            (_, SyncTarget::Ssh(there)) => &mut there.host_key,
            _ => return usage("--host-key is for a source or a target ssh://HOST/DATASET"),
        };
        *host_key = match text {
            "accept-new" => SshHostKey::AcceptNew,
            "known" => SshHostKey::Known,
            _ => return usage(format!("'{text}' is not 'accept-new' or 'known'")),
        };
    }
    if let Some(text) = options.value("k") {
        policy.keep = keep(text)?;
    }
    if let Some(text) = options.value("x") {
        policy.absence = absence(text)?;
    }
    if options.has("r") {
        let limits = options.values("r").filter(|text| *text != "none");
        policy.limits = limits.map(limit).collect::<Result<_, _>>()?;
    }
    if let Some(text) = options.value("L") {
        policy.lag = match (text, age(text)) {
            ("none", _) => None,
            (_, Some(seconds)) => Some(seconds),
            _ => return usage(format!("'{text}' is no time: 1h, or none")),
        };
    }
    if let Some(text) = options.value("u") {
        match age(text).and_then(|seconds| u32::try_from(seconds).ok()) {
            Some(seconds) => policy.stuck_after = seconds,
            None => return usage(format!("'{text}' is no time: 10m")),
        }
    }
    Ok(())
}

/// `pool/dataset`, `peer://name/pool/dataset`, or `ssh://user@host:port/pool/dataset`. The form
/// `host:pool/dataset` of others would be ambiguous: names of pools have colons, too.
fn target(text: &str) -> Result<SyncTarget, Stop> {
    if let Some(rest) = text.strip_prefix("peer://") {
        let named = rest.split_once('/').filter(|(peer, _)| !peer.is_empty());
        let Some((peer, dataset)) = named else {
            return usage(format!("'{text}' is no dataset of a peer: peer://name/pool/dataset"));
        };
        return Ok(SyncTarget::Peer { peer: peer.to_owned(), dataset: dataset.to_owned() });
    }
    let Some(rest) = text.strip_prefix("ssh://") else {
        return Ok(SyncTarget::Pool { dataset: text.to_owned() });
    };
    let placed = rest.split_once('/').and_then(|(place, dataset)| Some((ssh_place(place)?, dataset)));
    let Some(((user, host, port), dataset)) = placed else {
        return usage(format!("'{text}' is no target: ssh://user@host:port/pool/dataset"));
    };
    let dataset = dataset.to_owned();
    Ok(SyncTarget::Ssh(SshTarget { host, user, port, dataset, host_key: SshHostKey::default() }))
}

/// What [`target`] takes, as a source.
fn source(text: &str) -> Result<(SyncOrigin, String), Stop> {
    Ok(match target(text)? {
        SyncTarget::Pool { dataset } => (SyncOrigin::Here, dataset),
        SyncTarget::Peer { peer, dataset } => (SyncOrigin::Peer { peer }, dataset),
        SyncTarget::Ssh(there) => (SyncOrigin::Ssh(there.place()), there.dataset),
    })
}

fn shown_source(origin: &SyncOrigin, dataset: &str) -> String {
    match origin {
        SyncOrigin::Here => dataset.to_owned(),
        SyncOrigin::Peer { peer } => format!("peer://{peer}/{dataset}"),
        SyncOrigin::Ssh(SshHost { host, user, port, .. }) => {
            format!("{}/{dataset}", shown_place(user.as_deref(), host, *port))
        }
    }
}

/// As [`target`] takes it.
fn shown_target(target: &SyncTarget) -> String {
    match target {
        SyncTarget::Pool { dataset } => dataset.clone(),
        SyncTarget::Peer { peer, dataset } => format!("peer://{peer}/{dataset}"),
        SyncTarget::Ssh(SshTarget { host, user, port, dataset, .. }) => {
            format!("{}/{dataset}", shown_place(user.as_deref(), host, *port))
        }
    }
}

/// What is kept for a replica that takes nothing.
pub fn absence(text: &str) -> Result<SyncAbsence, Stop> {
    let mut absence = SyncAbsence { seconds: None, bytes: None };
    for part in text.split(',').filter(|part| *part != "none") {
        match age(part) {
            Some(age) => absence.seconds = Some(age),
            None => absence.bytes = Some(bytes(part)?),
        }
    }
    Ok(absence)
}

pub fn shown_absence(absence: SyncAbsence) -> String {
    let SyncAbsence { seconds, bytes } = absence;
    let bounds: Vec<String> = seconds.map(shown_age).into_iter().chain(bytes.map(nicebytes)).collect();
    if bounds.is_empty() { "without bounds".to_owned() } else { bounds.join(" or ") }
}

fn shown_sync(policy: &AutoSyncPolicy) -> Vec<(&'static str, String)> {
    let SnapTarget { dataset, recursive, exclude, .. } = &policy.source;
    let below = if *recursive { " and all below" } else { "" };
    let but = if exclude.is_empty() { "" } else { " but " };
    let mut lines = vec![
        ("from", format!("{}{below}{but}{}", shown_source(&policy.origin, dataset), exclude.join(", "))),
        ("to", shown_target(&policy.target)),
        ("schedule", schedule::shown(&policy.schedule)),
        ("keep", kept(&policy.keep)),
        ("absence", shown_absence(policy.absence)),
        ("stuck after", shown_age(policy.stuck_after.into())),
    ];
    let host_key = match (&policy.origin, &policy.target) {
        (SyncOrigin::Ssh(SshHost { host_key, .. }), _) | (_, SyncTarget::Ssh(SshTarget { host_key, .. })) => {
            Some(host_key)
        }
        _ => None,
    };
    if let Some(host_key) = host_key {
        let word = match host_key {
            SshHostKey::AcceptNew => "accept-new",
            SshHostKey::Known => "known",
        };
        lines.insert(2, ("host key", word.to_owned()));
    }
    if !policy.limits.is_empty() {
        let limits: Vec<String> = policy.limits.iter().map(shown_limit).collect();
        lines.push(("limits", limits.join(", ")));
    }
    lines.extend(policy.lag.map(|lag| ("lag", format!("an alert after {}", shown_age(lag)))));
    lines
}

/// What a service is set to do, line by line.
pub fn shown(spec: &ServiceSpec) -> Vec<(&'static str, String)> {
    match spec {
        ServiceSpec::AutoSnap(policy) => shown_snapshots(policy),
        ServiceSpec::AutoScrub(policy) | ServiceSpec::AutoTrim(policy) => {
            let pools = if policy.pools.is_empty() { "all".to_owned() } else { policy.pools.join(", ") };
            let mut lines = vec![("pools", pools), ("schedule", schedule::shown(&policy.schedule))];
            lines.extend(policy.window.iter().map(|window| ("window", shown_window(window))));
            lines
        }
        ServiceSpec::AutoSync(policy) => shown_sync(policy),
        ServiceSpec::AutoTier(policy) => tier::shown(policy),
        ServiceSpec::Script(policy) => {
            let ScriptLimits { seconds, memory, output, processes } = policy.limits;
            let words: Vec<&str> =
                [&policy.program].into_iter().chain(&policy.arguments).map(String::as_str).collect();
            let limits = format!(
                "{}, {} of memory, {processes} processes, {} of output",
                shown_age(seconds.into()),
                nicebytes(memory),
                nicebytes(output.into())
            );
            vec![
                ("program", words.join(" ")),
                ("schedule", schedule::shown(&policy.schedule)),
                ("limits", limits),
            ]
        }
    }
}

fn shown_snapshots(policy: &AutoSnapPolicy) -> Vec<(&'static str, String)> {
    let target = |target: &SnapTarget| {
        let below = if target.recursive { " and all below" } else { "" };
        let but = if target.exclude.is_empty() { "" } else { " but " };
        ("target", format!("{}{below}{but}{}", target.dataset, target.exclude.join(", ")))
    };
    let mut lines: Vec<_> = policy.targets.iter().map(target).collect();
    lines.extend(policy.levels.iter().map(|level| ("level", shown_level(level))));
    let space = match policy.budget.space {
        None => String::new(),
        Some(SpaceBudget::Percent { percent }) => format!("{percent}% and "),
        Some(SpaceBudget::Bytes { bytes }) => format!("{} and ", nicebytes(bytes)),
    };
    lines.push(("budget", format!("{space}{} snapshots of a dataset", policy.budget.snapshots)));
    let naming = match &policy.naming {
        SnapNaming::Utc => "utc",
        SnapNaming::ZfsAutoSnapshot => "zfs-auto-snapshot",
        SnapNaming::Template { template } => template,
    };
    lines.push(("naming", naming.to_owned()));
    lines.extend(policy.skip_unchanged.then(|| ("unchanged", "skipped".to_owned())));
    lines.extend(policy.lock.map(|age| ("lock", format!("for {}", shown_age(age)))));
    lines.extend(policy.stale_after.map(|age| ("stale", format!("after {}", shown_age(age)))));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn spec(text: &str) -> Result<ServiceSpec, Stop> {
        let options = parse(&words(text))?;
        made(&options.operands[0], &options)
    }

    #[test]
    fn options_make_a_service_and_change_only_what_they_name() {
        let snap = "auto-snap home --target tank/home --recursive --exclude tank/home/tmp --level hourly=24 \
                    --level daily=30d,least=2 --budget 20% --snapshots 200 --stale-after 2h";
        let made = spec(snap).expect("a service");
        let ServiceSpec::AutoSnap(policy) = &made else { panic!("{made:?}") };
        assert_eq!(policy.targets[0].exclude, ["tank/home/tmp"]);
        assert!(policy.targets[0].recursive && policy.levels.len() == 2);
        assert_eq!(
            policy.budget,
            SnapBudget { space: Some(SpaceBudget::Percent { percent: 20 }), snapshots: 200 }
        );
        assert_eq!(policy.stale_after, Some(7_200));
        let options = parse(&words("home --budget 50G --skip-unchanged")).expect("options");
        let ServiceSpec::AutoSnap(after) = changed(made.clone(), &options).expect("a service") else {
            panic!("another kind")
        };
        assert_eq!(after.budget.space, Some(SpaceBudget::Bytes { bytes: 50 << 30 }));
        assert!(after.skip_unchanged && after.levels == policy.levels && after.targets == policy.targets);
    }

    #[test]
    fn a_replication_is_made_and_shown() {
        let made = spec(
            "auto-sync away --from tank/home --recursive --exclude tank/home/tmp --to backup/home --schedule 15m \
             --keep 24,30d --absence 30d,100G",
        );
        let made = made.expect("a service");
        let lines: Vec<String> =
            shown(&made).into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            lines,
            [
                "from=tank/home and all below but tank/home/tmp",
                "to=backup/home",
                "schedule=15m",
                "keep=the newest 24 and those of 30d",
                "absence=30d or 100G",
                "stuck after=10m",
            ]
        );
        let options = parse(&words("away --keep 3 --absence none --stuck-after 2m")).expect("options");
        let ServiceSpec::AutoSync(after) = changed(made, &options).expect("a service") else {
            panic!("another kind")
        };
        assert_eq!(after.keep, SyncKeep { count: 3, age: None });
        assert_eq!(after.absence, SyncAbsence { seconds: None, bytes: None });
        assert!(after.stuck_after == 120 && after.source.recursive);
    }

    #[test]
    fn a_target_on_another_host_is_read_and_shown_in_the_same_form() {
        for text in [
            "ssh://nas/dozer/home",
            "ssh://backup@nas.example:2222/dozer/a:b c",
            "ssh://[fe80::1]/dozer/x",
            "ssh://root@[::1]:22/dozer/x",
            "pool:x/home",
        ] {
            assert_eq!(shown_target(&target(text).expect("a target")), text);
        }
        let SyncTarget::Ssh(there) = target("ssh://backup@nas:2222/dozer/home").expect("a target") else {
            panic!("it is on another host")
        };
        assert_eq!((there.user.as_deref(), there.host.as_str()), (Some("backup"), "nas"));
        assert_eq!((there.port.map(u16::from), there.dataset.as_str()), (Some(2222), "dozer/home"));
        for bad in ["ssh://nas", "ssh://nas:0/a/b", "ssh://nas:x/a/b", "ssh://[::1/a/b", "ssh://[::1]2/a/b"] {
            assert!(target(bad).is_err(), "{bad}");
        }
        let made = spec("auto-sync a --from tank --to ssh://nas/b/a --schedule 15m --host-key known");
        let ServiceSpec::AutoSync(policy) = made.expect("a service") else { panic!("another kind") };
        assert!(matches!(policy.target, SyncTarget::Ssh(SshTarget { host_key: SshHostKey::Known, .. })));
        assert!(shown_sync(&policy).contains(&("host key", "known".to_owned())));
    }

    #[test]
    fn a_source_on_another_host_is_read_and_shown_in_the_same_form() {
        let made = spec(
            "auto-sync home --from ssh://root@nas:2222/tank/home --recursive --to dozer/home --schedule 15m \
             --host-key known",
        );
        let ServiceSpec::AutoSync(policy) = made.expect("a service") else { panic!("another kind") };
        assert_eq!(policy.source.dataset, "tank/home");
        let SyncOrigin::Ssh(place) = &policy.origin else { panic!("{policy:?}") };
        assert_eq!((place.host.as_str(), place.host_key), ("nas", SshHostKey::Known));
        let lines = shown_sync(&policy);
        assert!(
            lines.contains(&("from", "ssh://root@nas:2222/tank/home and all below".to_owned())),
            "{lines:?}"
        );
        assert!(lines.contains(&("host key", "known".to_owned())));
        let options = parse(&words("home --from tank/home")).expect("options");
        let ServiceSpec::AutoSync(after) =
            changed(ServiceSpec::AutoSync(policy), &options).expect("a service")
        else {
            panic!("another kind")
        };
        assert_eq!((after.origin, after.source.dataset.as_str()), (SyncOrigin::Here, "tank/home"));
    }

    #[test]
    fn a_source_on_a_peer_is_read_and_shown_in_the_same_form() {
        let made = spec("auto-sync home --from peer://far/tank/home --to dozer/home --schedule 15m");
        let ServiceSpec::AutoSync(policy) = made.expect("a service") else { panic!("another kind") };
        assert_eq!(policy.origin, SyncOrigin::Peer { peer: "far".to_owned() });
        assert_eq!(policy.source.dataset, "tank/home");
        assert!(shown_sync(&policy).contains(&("from", "peer://far/tank/home".to_owned())));
        for bad in ["peer://far", "peer:///tank"] {
            let made = spec(&format!("auto-sync home --from {bad} --to dozer/home --schedule 15m"));
            assert!(matches!(made, Err(Stop::Usage(_))), "{bad}");
        }
    }

    #[test]
    fn a_tiering_is_made_shown_and_changed() {
        let made = spec(
            "auto-tier cold --from tank/home --folder /photos/ --to ssh://keeper@nas:2222/srv/cold \
             --schedule daily@02:30 --move --keep 30d --older-than 90d --min-size 1M --max-depth 3 \
             --include *.raw --include *.tif --exclude cache/ --rate 20M",
        );
        let made = made.expect("a service");
        let lines: Vec<String> =
            shown(&made).into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            lines,
            [
                "from=tank/home, folder photos",
                "to=ssh://keeper@nas:2222/srv/cold",
                "action=move what has not changed for 30d",
                "files=older than 90d, 1M at least, 3 deep at most",
                "include=*.raw *.tif",
                "exclude=cache/",
                "schedule=daily@02:30",
                "rate=20M/s",
                "stuck after=10m",
            ]
        );
        let options = parse(&words("cold --older-than none --max-depth none --rate none --to backup/cold"));
        let ServiceSpec::AutoTier(after) = changed(made, &options.expect("options")).expect("a service")
        else {
            panic!("another kind")
        };
        assert_eq!(after.choose.older_than, None);
        assert_eq!((after.choose.max_depth, after.rate, after.choose.min_size), (None, None, Some(1 << 20)));
        assert_eq!(after.target, TierTarget::Dataset { dataset: "backup/cold".to_owned() });
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for bad in [
            "auto-tier a --from tank --schedule daily",
            "auto-tier a --from tank --to /x --schedule daily --keep 3d",
            "auto-tier a --from tank --to /x --schedule daily --level daily=1",
            "auto-tier a --from tank --to /x --schedule daily --older-than x",
            "auto-tier a --from tank --to /x --schedule daily --list /nowhere",
            "auto-snap a --level daily=1",
            "auto-snap a --target tank",
            "auto-sync a --from tank --schedule 15m",
            "auto-sync a --from tank --to b/a --schedule 15m --keep x",
            "auto-sync a --from tank --to b/a --schedule 15m --level daily=1",
            "auto-sync a --from tank --to b/a --schedule 15m --host-key known",
            "auto-sync a --from tank --to ssh://nas/b/a --schedule 15m --host-key any",
            "auto-snap a --target tank --level daily=1 --window 1:00-2:00",
            "auto-snap a --target tank --level daily=1 --exclude other/x",
            "auto-snap a --target tank --level daily=1 --budget x%",
            "auto-scrub a",
            "auto-scrub a b --schedule daily",
            "script a --schedule daily",
            "cron a --schedule daily",
        ] {
            assert!(spec(bad).is_err(), "{bad}");
        }
        let script =
            spec("script a --schedule daily@07:00 --seconds 60 -- /bin/x --short").expect("a service");
        let ServiceSpec::Script(policy) = script else { panic!("another kind") };
        assert_eq!((policy.program.as_str(), &policy.arguments[..]), ("/bin/x", &["--short".to_owned()][..]));
        assert_eq!(policy.limits.seconds, 60);
    }
}
