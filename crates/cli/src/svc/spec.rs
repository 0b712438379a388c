//! What a service is to do, from the options of a command line, and back in lines.

use super::schedule::{self, age, level, shown_age, shown_level, shown_window, when, window};
use crate::fail::{Stop, usage};
use crate::getopt::{self, Parsed};
use crate::human::nicebytes;
use api_types::{
    AutoSnapPolicy, AutoSyncPolicy, Schedule, ScriptLimits, ScriptPolicy, ServiceSpec, SnapBudget,
    SnapNaming, SnapTarget, SpaceBudget, SyncAbsence, SyncKeep, SyncTarget, UpkeepPolicy, When,
};

/// Options with an argument, as getopt has them.
const LETTERS: &str = "t:e:l:b:n:g:a:S:p:w:s:m:c:o:z:f:i:k:x:u:";
const LONG: [(&str, &str); 23] = [
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
            })
        }
        "auto-sync" => {
            wants("f", "what is replicated is wanted: --from DATASET")?;
            wants("i", "a replica is wanted: --to DATASET")?;
            wants("S", "a schedule is wanted: --schedule 15m")?;
            ServiceSpec::AutoSync(AutoSyncPolicy {
                source: SnapTarget {
                    dataset: String::new(),
                    guid: None,
                    recursive: false,
                    exclude: Vec::new(),
                },
                target: SyncTarget::Pool { dataset: String::new() },
                schedule,
                keep: SyncKeep::default(),
                absence: SyncAbsence::default(),
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
                "'{other}' is no kind of service: auto-snap, auto-sync, auto-scrub, auto-trim or script"
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
        ServiceSpec::AutoSnap(_) => &["t", "e", "l", "b", "n", "g", "a", "z", "recursive", "skip-unchanged"],
        ServiceSpec::AutoScrub(_) | ServiceSpec::AutoTrim(_) => &["S", "p", "w", "z"],
        ServiceSpec::AutoSync(_) => &["f", "i", "e", "S", "k", "x", "u", "z", "recursive"],
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
        ServiceSpec::Script(policy) => {
            schedule_of(&mut policy.schedule, options)?;
            limits(&mut policy.limits, options)?;
        }
    }
    Ok(spec)
}

fn zone(options: &Parsed) -> Option<&str> {
    options.value("z")
}

fn schedule_of(schedule: &mut Schedule, options: &Parsed) -> Result<(), Stop> {
    if let Some(text) = options.value("S") {
        schedule.when = when(text)?;
    }
    if let Some(name) = zone(options) {
        schedule.zone = Some(name.to_owned());
    }
    Ok(())
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

fn number(text: &str, what: &str) -> Result<u32, Stop> {
    text.parse().or_else(|_| usage(format!("'{text}' is no {what}")))
}

fn bytes(text: &str) -> Result<u64, Stop> {
    stdx::number::parse(text).or_else(|_| usage(format!("'{text}' is no size: 512M, 20G")))
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

fn sync(policy: &mut AutoSyncPolicy, options: &Parsed) -> Result<(), Stop> {
    schedule_of(&mut policy.schedule, options)?;
    if let Some(dataset) = options.value("f") {
        (policy.source.dataset, policy.source.guid) = (dataset.to_owned(), None);
    }
    policy.source.recursive |= options.has("recursive");
    if options.has("e") {
        policy.source.exclude = options.values("e").map(str::to_owned).collect();
    }
    if let Some(dataset) = options.value("i") {
        policy.target = SyncTarget::Pool { dataset: dataset.to_owned() };
    }
    if let Some(text) = options.value("k") {
        policy.keep = SyncKeep { count: 1, age: None };
        for part in text.split(',') {
            match (part.parse(), age(part)) {
                (Ok(count), _) => policy.keep.count = count,
                (_, Some(age)) => policy.keep.age = Some(age),
                _ => return usage(format!("'{part}' does not say what is kept: 24, 30d or 24,30d")),
            }
        }
    }
    if let Some(text) = options.value("x") {
        policy.absence = SyncAbsence { seconds: None, bytes: None };
        for part in text.split(',').filter(|part| *part != "none") {
            match age(part) {
                Some(age) => policy.absence.seconds = Some(age),
                None => policy.absence.bytes = Some(bytes(part)?),
            }
        }
    }
    if let Some(text) = options.value("u") {
        match age(text).and_then(|seconds| u32::try_from(seconds).ok()) {
            Some(seconds) => policy.stuck_after = seconds,
            None => return usage(format!("'{text}' is no time: 10m")),
        }
    }
    Ok(())
}

fn shown_sync(policy: &AutoSyncPolicy) -> Vec<(&'static str, String)> {
    let SnapTarget { dataset, recursive, exclude, .. } = &policy.source;
    let below = if *recursive { " and all below" } else { "" };
    let but = if exclude.is_empty() { "" } else { " but " };
    let kept = policy.keep.age.map_or_else(String::new, |age| format!(" and those of {}", shown_age(age)));
    let SyncAbsence { seconds, bytes } = policy.absence;
    let bounds: Vec<String> = seconds.map(shown_age).into_iter().chain(bytes.map(nicebytes)).collect();
    vec![
        ("from", format!("{dataset}{below}{but}{}", exclude.join(", "))),
        ("to", policy.target.dataset().to_owned()),
        ("schedule", schedule::shown(&policy.schedule)),
        ("keep", format!("the newest {}{kept}", policy.keep.count)),
        ("absence", if bounds.is_empty() { "without bounds".to_owned() } else { bounds.join(" or ") }),
        ("stuck after", shown_age(policy.stuck_after.into())),
    ]
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
    fn what_makes_no_sense_is_refused() {
        for bad in [
            "auto-snap a --level daily=1",
            "auto-snap a --target tank",
            "auto-sync a --from tank --schedule 15m",
            "auto-sync a --from tank --to b/a --schedule 15m --keep x",
            "auto-sync a --from tank --to b/a --schedule 15m --level daily=1",
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
