//! What is wrong with what a service is to do, in words.

use super::{PolicyFault, PolicySleeps, ServiceFault};
use crate::autosnap::SnapFault;
use crate::autosync::SyncFault;
use crate::autotier::TierFault;
use crate::schedule::{ScheduleFault, ScheduleField};

impl ServiceFault {
    /// For people; may have several lines.
    pub fn words(&self) -> String {
        service(self)
    }
}

impl PolicyFault {
    /// For people; may have several lines.
    pub fn words(&self) -> String {
        match self {
            PolicyFault::TooLong { bytes, limit } => {
                format!("it has {bytes} bytes, and a dataset keeps {limit} at most")
            }
            PolicyFault::Form { why } => format!("it is nothing that 'cistern svc' writes: {why}"),
            PolicyFault::Version { found, known } => {
                format!("it has version {found}, and this program knows {known} alone")
            }
            PolicyFault::Id { id } => format!("'{id}' is no name of a service"),
            PolicyFault::NotOfData { id } => {
                format!(
                    "service {id}: no dataset keeps programs, replication, tiering, locks, or scrubs and trims of \
                    other pools"
                )
            }
            PolicyFault::Name { id, name } => format!("service {id}: '{name}' is no dataset at or below it"),
            PolicyFault::Service { id, fault } => format!("service {id}: {}", service(fault)),
        }
    }
}

impl PolicySleeps {
    /// For people; may have several lines.
    pub fn words(&self) -> String {
        match self {
            PolicySleeps::Replica => {
                "a stream brought it, and a replica needs none: 'cistern svc wake' when it is one no more"
                    .to_owned()
            }
            PolicySleeps::IdTaken => "another service has this name".to_owned(),
            PolicySleeps::TooMany => "there are too many services".to_owned(),
            PolicySleeps::Malformed { fault } => format!("it needs a person: {}", fault.words()),
            PolicySleeps::NotKept { why } => format!("it cannot be kept: {why}"),
        }
    }
}

fn service(fault: &ServiceFault) -> String {
    match fault {
        ServiceFault::Snap { faults } => faults.iter().map(snap).collect::<Vec<_>>().join("\n"),
        ServiceFault::Sync { faults } => faults.iter().map(sync).collect::<Vec<_>>().join("\n"),
        ServiceFault::Tier { faults } => faults.iter().map(tier).collect::<Vec<_>>().join("\n"),
        ServiceFault::Schedule { fault } => format!("the schedule: {}", schedule(fault)),
        ServiceFault::Window => {
            "the window: minutes are from 0 to 1,439, and it does not end when it begins".to_owned()
        }
        ServiceFault::Program => {
            "the program is an absolute path, and no argument has a character NUL".to_owned()
        }
        ServiceFault::Limits => {
            "a program's limits are 1 to 86,400 seconds, 16M to 64G of memory, up to 1M of \
            output and 1 to 4,096 processes"
                .to_owned()
        }
    }
}

fn snap(fault: &SnapFault) -> String {
    match fault {
        SnapFault::Schedule { level, fault } => format!("level {level}: {}", schedule(fault)),
        SnapFault::LevelName { level } => {
            format!("'{level}' is no name of a level: lower case letters, digits, '-' and '_', at most 32")
        }
        SnapFault::LevelTwice { level } => format!("there are two levels {level}"),
        SnapFault::KeepsNothing { level } => format!("level {level} keeps nothing"),
        SnapFault::NoLevels => "there is no level".to_owned(),
        SnapFault::TooManyLevels { limit } => format!("there are more than {limit} levels"),
        SnapFault::NoTargets => "there is no target".to_owned(),
        SnapFault::TooManyTargets { limit } => format!("there are more than {limit} targets"),
        SnapFault::Template { template } => {
            format!(
                "'{template}' is no template: it has {{level}} and {{time}}, and what a snapshot's name may have"
            )
        }
        SnapFault::Percent { percent } => format!("a budget of {percent}%: it is from 1% to 100%"),
        SnapFault::Lock { low, high } => format!("a lock lasts for {low} to {high} seconds"),
        SnapFault::SnapshotBudget { budget, low, high } => {
            format!("a budget of {budget} snapshots: with these levels it is from {low} to {high}")
        }
    }
}

fn sync(fault: &SyncFault) -> String {
    match fault {
        SyncFault::Schedule { fault } => format!("the schedule: {}", schedule(fault)),
        SyncFault::Dataset { dataset } => {
            format!("'{dataset}' is no dataset that can be replicated, or be a replica")
        }
        SyncFault::Overlap => "the replica would be in its source, or the source in its replica".to_owned(),
        SyncFault::NothingHere => "neither the source nor the target is a dataset of this machine".to_owned(),
        SyncFault::Host { host } => format!("'{host}' is no name or address of a host"),
        SyncFault::User { user } => format!("'{user}' is no name of a user"),
        SyncFault::Peer { peer } => format!("'{peer}' is no name of a peer"),
        SyncFault::Keep { low, high } => format!("from {low} to {high} snapshots of a replica can be kept"),
        SyncFault::Absence => "an absence has an end after some time, some bytes, or none".to_owned(),
        SyncFault::StuckAfter { low, high } => {
            format!("a stream is stuck after {low} to {high} seconds without a byte")
        }
        SyncFault::Limit { low, most } => format!(
            "a limit is {low} bytes a second or more, in a window of the day that is not empty; there are at most {most}"
        ),
        SyncFault::Lag => "a replica lags after some time".to_owned(),
    }
}

fn tier(fault: &TierFault) -> String {
    match fault {
        TierFault::Schedule { fault } => format!("the schedule: {}", schedule(fault)),
        TierFault::Dataset { dataset } => format!("'{dataset}' is no file system's name"),
        TierFault::Recursive => "files are of one file system, and not of those below it".to_owned(),
        TierFault::Path { path } => {
            format!(
                "'{path}' is no folder: a target's begins with '/', a source's does not, and none has '.' or '..'"
            )
        }
        TierFault::Host { host } => format!("'{host}' is no name or address of a host"),
        TierFault::User { user } => format!("'{user}' is no name of a user"),
        TierFault::Same => "the target is the source".to_owned(),
        TierFault::Pattern { pattern } => format!("'{pattern}' is no pattern"),
        TierFault::TooManyPatterns { limit } => format!("there are more than {limit} patterns"),
        TierFault::ChoosesNothing => "nothing is of such an age, size or depth".to_owned(),
        TierFault::Rate { low } => format!("a rate is {low} bytes a second at least"),
        TierFault::StuckAfter { low, high } => {
            format!("rsync is stuck after {low} to {high} seconds without a byte")
        }
    }
}

fn schedule(fault: &ScheduleFault) -> String {
    match fault {
        ScheduleFault::OutOfRange { field, value, low, high } => {
            format!("{} {value} is not from {low} to {high}", field_word(*field))
        }
        ScheduleFault::FieldCount { found } => format!("a pattern has five fields, not {found}"),
        ScheduleFault::TooLong { limit } => format!("a pattern has at most {limit} bytes"),
        ScheduleFault::Word { field, word } => format!("'{word}' says nothing of the {}", field_word(*field)),
        ScheduleFault::TooOften => "each few seconds is too often for such a service".to_owned(),
        ScheduleFault::Never => "no day matches".to_owned(),
        ScheduleFault::Zone { name } => format!("there is no time zone '{name}'"),
    }
}

fn field_word(field: ScheduleField) -> &'static str {
    match field {
        ScheduleField::Step => "step",
        ScheduleField::Minute => "minute",
        ScheduleField::Hour => "hour",
        ScheduleField::Day => "day",
        ScheduleField::Month => "month",
        ScheduleField::Weekday => "weekday",
    }
}
