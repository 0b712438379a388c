//! What is told of services, in words.

use super::time;
use api_types::{
    BudgetOver, ClockDispute, FailureClass, LastRun, NextRun, RunReason, ScriptEnd, Service, ServiceFailure,
    ServiceLogEntry, ServiceSpec, SnapDestroyReason, SnapFinding, SnapKeptReason, SnapNextReason,
    SnapSkipReason, SnapSkipped, StateCause, SyncRefusal, SyncReplica, SyncSending, SyncSide, SyncStep,
    TierRefusal, TierStage, TierStatus,
};

use super::schedule::shown_age;
use crate::human::nicebytes;

pub fn count(number: u64, one: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{number} {one}{end}")
}

fn reason(reason: &RunReason) -> String {
    match reason {
        RunReason::Scheduled => "scheduled".to_owned(),
        RunReason::CatchUp { missed } => format!("to catch up with {}", count(*missed + 1, "missed time")),
        RunReason::Retry { failures } => format!("again after {}", count((*failures).into(), "failure")),
        RunReason::Asked => "asked for".to_owned(),
    }
}

/// What it does next.
pub fn next(service: &Service) -> String {
    match (&service.next, &service.next_look) {
        (None, _) if service.away => "the dataset that keeps it is not here".to_owned(),
        (None, _) => "-".to_owned(),
        (Some(next), Some(look)) if next.reason == RunReason::Scheduled => {
            let why = match &look.reason {
                SnapNextReason::Due { level } => format!("{level} is due"),
                SnapNextReason::Expiry { level } => format!("a snapshot of {level} becomes too old"),
                SnapNextReason::Retry => "what failed may be tried again".to_owned(),
                SnapNextReason::Thinning => "there is more to thin out".to_owned(),
                SnapNextReason::Review => "nothing is due: it is looked at anyway".to_owned(),
            };
            format!("{}: {why}", look.dataset)
        }
        (Some(next), _) => reason(&next.reason),
    }
}

pub fn cause(cause: &StateCause) -> String {
    match cause {
        StateCause::Asked => "an administrator said so".to_owned(),
        StateCause::Began { reason: why } => format!("it began: {}", reason(why)),
        StateCause::Ended => "the last run ended well".to_owned(),
        StateCause::Failed { failure: why, failed } => match failed {
            0 | 1 => failure(why),
            more => format!("{} and {}", failure(why), count(more - 1, "more failure")),
        },
        StateCause::Interrupted => "the program ended while it ran".to_owned(),
    }
}

pub fn failure(failure: &ServiceFailure) -> String {
    let class = match failure.class {
        FailureClass::Retriable => "is tried again",
        FailureClass::NeedsPerson => "has to be looked at",
        FailureClass::Fatal => "is dangerous",
    };
    format!("{}: {} ({class})", failure.subject, failure.problem)
}

pub fn covers(service: &Service) -> String {
    match service.spec {
        ServiceSpec::AutoSnap(_) | ServiceSpec::AutoSync(_) | ServiceSpec::AutoTier(_) => {
            count(service.covers, "dataset")
        }
        ServiceSpec::AutoScrub(_) | ServiceSpec::AutoTrim(_) => count(service.covers, "pool"),
        ServiceSpec::Script(_) => count(service.covers, "program"),
    }
}

pub fn run(run: &LastRun) -> String {
    let mut text = format!("{}, {}: {} done", time(run.ended, false), reason(&run.reason), run.done);
    if run.destroyed > 0 {
        text += &format!(", {} destroyed", run.destroyed);
    }
    if run.failed > 0 {
        text += &format!(", {} failed", run.failed);
    }
    text
}

/// Why the next run is when it is, or why there is none.
pub fn relation(cause_of_state: &StateCause, next: Option<&NextRun>) -> String {
    match (cause_of_state, next) {
        (StateCause::Failed { .. } | StateCause::Interrupted, _) | (_, None) => cause(cause_of_state),
        (_, Some(next)) => reason(&next.reason),
    }
}

/// How far a replica is. `now`: by the clock of services.
pub fn replica(replica: &SyncReplica, now: i64) -> String {
    let SyncReplica { dataset, target, snapshot, current } = replica;
    let Some(snapshot) = snapshot else { return format!("{dataset} to {target}: nothing is there yet") };
    let lag = match current {
        Some(at) => format!("lags {}", span(now.saturating_sub(*at))),
        None => "of unknown age".to_owned(),
    };
    format!("{dataset} to {target}: {lag}, newest {snapshot}")
}

/// How far tiering is, how fast, and for how long still.
pub fn tier(status: &TierStatus) -> String {
    let TierStatus { stage, files, of_files, bytes, of_bytes, removed, seconds } = *status;
    let removed = if removed == 0 { String::new() } else { format!(", {removed} removed at the source") };
    match stage {
        TierStage::Choosing => {
            format!("choosing: {}, {} so far", count(of_files, "file"), nicebytes(of_bytes))
        }
        TierStage::Copying | TierStage::Comparing | TierStage::Removing => {
            let word = match stage {
                TierStage::Comparing => "comparing",
                TierStage::Removing => "removing",
                TierStage::Copying | TierStage::Choosing => "copying",
            };
            let rate = bytes / seconds.max(1);
            let left = match of_bytes.saturating_sub(bytes).checked_div(rate) {
                Some(left) => format!(", about {} left", span(left.cast_signed())),
                None => String::new(),
            };
            let (bytes, of_bytes, rate) = (nicebytes(bytes), nicebytes(of_bytes), nicebytes(rate));
            format!("{word}: {files} of {of_files} files, {bytes} of {of_bytes}, {rate}/s{left}{removed}")
        }
    }
}

pub fn tier_refusal(refusal: &TierRefusal) -> String {
    match refusal {
        TierRefusal::NotMounted { dataset } => format!("{dataset} is not mounted"),
        TierRefusal::NoSnapshotFolder { dataset } => format!("{dataset} has snapdir=disabled"),
        TierRefusal::SourceIsReplica { dataset } | TierRefusal::TargetIsReplica { dataset } => {
            format!("{dataset} is a replica")
        }
        TierRefusal::NoFolder { path } => format!("there is no folder '{path}'"),
        TierRefusal::Inside { path } => format!("{path} is in the source"),
    }
}

/// What is sent, how fast, and for how long still.
pub fn sending(sending: &SyncSending) -> String {
    let SyncSending { snapshot, bytes, size, seconds, .. } = sending;
    let rate = bytes / (*seconds).max(1);
    let left = match size.saturating_sub(*bytes).checked_div(rate) {
        Some(left) => format!(", about {} left", span(left.cast_signed())),
        None => String::new(),
    };
    format!("{snapshot}: {} of {}, {}/s{left}", nicebytes(*bytes), nicebytes(*size), nicebytes(rate))
}

pub fn span(seconds: i64) -> String {
    let seconds = seconds.max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A step of a plan: what is done, and to what.
pub fn step(step: &SyncStep, dataset: &str, target: &str) -> String {
    match step {
        SyncStep::Snapshot { snapshot } => format!("make     {dataset}@{snapshot}"),
        SyncStep::Hold { snapshot } => format!("hold     {dataset}@{snapshot}"),
        SyncStep::Release { snapshot } => format!("release  {dataset}@{snapshot}"),
        SyncStep::Send { snapshot, from: Some(from) } => {
            format!("send     {dataset}@{snapshot}  to {target}, from {from}")
        }
        SyncStep::Send { snapshot, from: None } => {
            format!("send     {dataset}@{snapshot}  to {target}, all of it")
        }
        SyncStep::Resume => format!("send     the rest of what broke off  to {target}"),
        SyncStep::Abort => format!("abort    what {target} has received in part"),
        SyncStep::Stamp { snapshot, .. } => format!("note     {target}@{snapshot}  as this service's"),
        SyncStep::Bookmark { snapshot } => format!("bookmark {dataset}@{snapshot}"),
        SyncStep::Destroy { side: SyncSide::Source, name, .. } => format!("destroy  {dataset}{name}"),
        SyncStep::Destroy { side: SyncSide::Replica, name, .. } => format!("destroy  {target}{name}"),
    }
}

pub fn refusal(refusal: &SyncRefusal) -> String {
    match refusal {
        SyncRefusal::NoReplica => "it is there, and is no replica".to_owned(),
        SyncRefusal::OtherReplica { relation } => format!("it is another's replica: {relation}"),
        SyncRefusal::ReplicaGone => "the replica is gone".to_owned(),
        SyncRefusal::NoCommonBase => "both have no snapshot in common".to_owned(),
        SyncRefusal::Diverged { snapshot } => format!("it has a snapshot of its own: {snapshot}"),
        SyncRefusal::NotReadOnly => "it may be written to".to_owned(),
    }
}

pub fn dispute(dispute: &ClockDispute) -> String {
    let ClockDispute { wall, believed, agrees_at, .. } = *dispute;
    let until = match agrees_at {
        Some(at) => format!("until {}", time(at, false)),
        None => "until an administrator says 'cistern svc clock agree'".to_owned(),
    };
    let (wall, believed) = (time(wall, false), time(believed, false));
    format!("the machine's clock says {wall} and is not believed {until}: services go by {believed}")
}

pub fn finding(finding: &SnapFinding) -> String {
    match finding {
        SnapFinding::EveryMinute { level } => format!("level {level} is due in every minute"),
        SnapFinding::KeepContradicts { level } => format!("level {level} keeps at least more than at most"),
        SnapFinding::KeptForever { level } => {
            format!("nothing but the budget ends snapshots of level {level}")
        }
        SnapFinding::TargetsOverlap { dataset, other } => {
            format!("target {dataset} is in target {other}, too: the longer name decides")
        }
        SnapFinding::TargetGone { dataset } => format!("there is no dataset {dataset}"),
        SnapFinding::TargetRenamed { from, to } => format!("{from} is {to} now"),
        SnapFinding::BudgetCannotBeHeld { dataset, over } => format!("{dataset}: {}", budget_over(over)),
        SnapFinding::LevelGone { dataset, level, snapshots } => {
            format!(
                "{dataset} has {} of level {level}, which is gone",
                count((*snapshots).into(), "snapshot")
            )
        }
        SnapFinding::TimeUnbelievable { dataset, snapshots } => {
            format!("{dataset} has {} of a time that cannot be", count((*snapshots).into(), "snapshot"))
        }
    }
}

fn budget_over(over: &BudgetOver) -> String {
    let much = match (over.bytes, over.snapshots) {
        (Some(bytes), _) => nicebytes(bytes),
        (None, snapshots) => count(snapshots.unwrap_or(0).into(), "snapshot"),
    };
    let why = [
        (over.kept_at_least, "kept at least"),
        (over.held, "held"),
        (over.cloned, "cloned"),
        (over.needed, "needed"),
        (over.others, "of others"),
    ];
    let why: Vec<String> =
        why.iter().filter(|(number, _)| *number > 0).map(|(number, why)| format!("{number} {why}")).collect();
    let why = if why.is_empty() { String::new() } else { format!(": {}", why.join(", ")) };
    format!("the budget cannot be held, by {much}{why}")
}

pub fn skipped(skipped: &SnapSkipped) -> String {
    let level = skipped.level.as_ref().map_or_else(String::new, |level| format!(" {level}"));
    format!("{}{level}: {}", skipped.dataset, skip_reason(skipped.reason))
}

pub fn skip_reason(reason: SnapSkipReason) -> String {
    match reason {
        SnapSkipReason::Unchanged => "nothing has changed".to_owned(),
        SnapSkipReason::Receiving => "a stream is being received".to_owned(),
        SnapSkipReason::Replica => "it is a replica".to_owned(),
        SnapSkipReason::NotWritable => "the pool cannot be written to".to_owned(),
        SnapSkipReason::NoSpace => "there is no space".to_owned(),
        SnapSkipReason::SnapshotBudget { snapshots, budget } => {
            format!("there are {snapshots} snapshots of {budget} that there may be, and none can go")
        }
        SnapSkipReason::BackOff { until, failures } => {
            format!("after {} not before {}", count(failures.into(), "failure"), time(until, false))
        }
        SnapSkipReason::Stopped => "it failed, and has to be looked at".to_owned(),
    }
}

pub fn destroy_reason(reason: SnapDestroyReason) -> String {
    match reason {
        SnapDestroyReason::Count { keep } => format!("{keep} newer ones are kept"),
        SnapDestroyReason::Age { age, limit } => {
            format!("it is older than {}, by {}", shown_age(limit), shown_age(age.saturating_sub(limit)))
        }
        SnapDestroyReason::SnapshotBudget { snapshots, budget } => {
            format!("there are {snapshots} snapshots of {budget} that there may be")
        }
        SnapDestroyReason::SpaceBudget { used, budget } => {
            format!("snapshots take {} of {}", nicebytes(used), nicebytes(budget))
        }
    }
}

pub fn kept_reason(reason: &SnapKeptReason) -> String {
    match reason {
        SnapKeptReason::Held { holds } => format!("it has {}", count((*holds).into(), "hold")),
        SnapKeptReason::Cloned { clones } => format!("it has {}", count((*clones).into(), "clone")),
        SnapKeptReason::Needed { by } => format!("{by} needs it"),
        SnapKeptReason::AtLeast { at_least } => format!("{at_least} stay at least"),
        SnapKeptReason::BackOff { until, failures } => {
            format!("after {} not before {}", count((*failures).into(), "failure"), time(*until, false))
        }
        SnapKeptReason::Stopped => "it failed, and has to be looked at".to_owned(),
    }
}

pub fn entry(entry: &ServiceLogEntry) -> String {
    match entry {
        ServiceLogEntry::State { state: now, cause: why } => format!("{}: {}", now.word(), cause(why)),
        ServiceLogEntry::Ended { run: ended } => {
            let failures: Vec<String> = ended.failures.iter().map(failure).collect();
            let failures =
                if failures.is_empty() { String::new() } else { format!("; {}", failures.join("; ")) };
            format!("run {}{failures}", run(ended))
        }
        ServiceLogEntry::Program { end, output } => {
            let output = output.trim_end();
            let output = if output.is_empty() { String::new() } else { format!(": {output}") };
            format!("program {}{output}", ended(end))
        }
        ServiceLogEntry::Set => "set".to_owned(),
        ServiceLogEntry::Clock { dispute: Some(it) } => dispute(it),
        ServiceLogEntry::Clock { dispute: None } => "the machine's clock is believed again".to_owned(),
    }
}

fn ended(end: &ScriptEnd) -> String {
    match end {
        ScriptEnd::Exited { status } => format!("ended with status {status}"),
        ScriptEnd::Signal { signal } => format!("was ended by signal {signal}"),
        ScriptEnd::TimedOut { seconds } => format!("was ended after {seconds} seconds"),
        ScriptEnd::TooManyProcesses { processes } => format!("was ended: more than {processes} processes"),
        ScriptEnd::Stopped => "was ended: the service stopped".to_owned(),
        ScriptEnd::NotStarted { message } => format!("could not be run: {message}"),
    }
}
