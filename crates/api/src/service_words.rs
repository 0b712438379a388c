//! What is asked of a service in vain, and how its program ended, in words.

use api_types::{NotNow, ScriptEnd, ServiceCommand, ServiceState, SyncRefusal};

/// Why a replica is not written to, and what would help.
pub fn not_synced(dataset: &str, why: &SyncRefusal) -> String {
    match why {
        SyncRefusal::NoReplica => {
            format!("{dataset} is there, and is no replica: rename or destroy it, or name another target")
        }
        SyncRefusal::OtherReplica { relation } => {
            format!("{dataset} is the replica of another service or source: {relation}")
        }
        SyncRefusal::ReplicaGone => {
            format!("the replica {dataset} is gone: 'cistern svc clear' has all of it sent anew")
        }
        SyncRefusal::NoCommonBase => {
            format!(
                "{dataset} has no snapshot that its source has as well: destroy it, and all of it is sent anew"
            )
        }
        SyncRefusal::Diverged { snapshot } => {
            format!("{dataset}@{snapshot} is not of the source: destroy it, and what follows can be received")
        }
        SyncRefusal::NotReadOnly => {
            format!("{dataset} may be written to: a replica has readonly=on until it is promoted")
        }
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
