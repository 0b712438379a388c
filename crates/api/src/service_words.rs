//! What is asked of a service in vain, and how its program ended, in words.

use api_types::{NotNow, ScriptEnd, ServiceCommand, ServiceState};

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
