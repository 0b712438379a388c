//! What is wrong with what a service is to do, in words.

use api_types::{
    NotNow, ScheduleFault, ScheduleField, ScriptEnd, ServiceCommand, ServiceFault, ServiceState, SnapFault,
};

pub fn fault(fault: &ServiceFault) -> String {
    match fault {
        ServiceFault::Snap { faults } => faults.iter().map(snap).collect::<Vec<_>>().join("\n"),
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
        SnapFault::SnapshotBudget { budget, low, high } => {
            format!("a budget of {budget} snapshots: with these levels it is from {low} to {high}")
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

pub fn not_now(NotNow { state, command }: NotNow) -> String {
    let state = match state {
        ServiceState::Disabled => "is disabled",
        ServiceState::Online => "is online",
        ServiceState::Running => "runs",
        ServiceState::Degraded => "is degraded",
        ServiceState::Maintenance => "is in maintenance: clear it first",
    };
    let command = match command {
        ServiceCommand::Enable => "enabled",
        ServiceCommand::Disable => "disabled",
        ServiceCommand::Run => "run",
        ServiceCommand::Clear => "cleared",
    };
    format!("it cannot be {command} now, for it {state}")
}

pub fn ended(program: &str, end: &ScriptEnd) -> String {
    match end {
        ScriptEnd::Exited { status } => format!("{program} ended with status {status}"),
        ScriptEnd::Signal { signal } => format!("{program} was ended by signal {signal}"),
        ScriptEnd::TimedOut { seconds } => {
            format!("{program} was ended: it took longer than {seconds} seconds")
        }
        ScriptEnd::TooManyProcesses { processes } => {
            format!("{program} was ended: it had more than {processes} processes")
        }
        ScriptEnd::Stopped => format!("{program} was ended, for its service stopped"),
        ScriptEnd::NotStarted { message } => format!("{program} cannot be run: {message}"),
    }
}
