//! What is asked of a service in vain, and how its program ended, in words.

use api_types::{NotNow, RsyncEnd, ScriptEnd, ServiceCommand, ServiceState, SyncRefusal, TierRefusal};
use appliance::RemoteFault;

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

/// Why another host did not do something, and what would help.
pub fn remote(host: &str, why: &RemoteFault) -> String {
    match why {
        RemoteFault::NoProgram { why } => format!("ssh cannot be run, which openssh-client has: {why}"),
        RemoteFault::Unreachable { said } => format!("{host} cannot be reached: {said}"),
        RemoteFault::HostKey { known, said } => {
            format!(
                "{host} does not show the key that {known} has of it: {said}: if its key is right, put it there"
            )
        }
        RemoteFault::Login { user, key } => {
            let user = user.as_deref().unwrap_or("this user");
            format!("{host} does not let {user} in: add this line to ~/.ssh/authorized_keys there: {key}")
        }
        RemoteFault::Silent { seconds } => format!("{host} has not answered for {seconds} seconds"),
        RemoteFault::NoCommand { said } => format!("{host} has no command 'zfs' for this user: {said}"),
        RemoteFault::NoSuchPool { pool } => format!("{host} has no pool '{pool}' now"),
        RemoteFault::Denied { said } => {
            format!("{host} does not permit it: {said}: 'zfs allow' there gives a user what is wanted")
        }
        RemoteFault::Refused { said } => format!("{host} did not do it: {said}"),
        RemoteFault::Another { snapshot } => {
            format!("{host} has something else by now under the name {snapshot}")
        }
        RemoteFault::Unintelligible { line } => {
            format!("{host} answers what 'zfs' does not: {line}")
        }
    }
}

/// Why no file is copied or moved, and what would help.
pub fn not_tiered(why: &TierRefusal) -> String {
    match why {
        TierRefusal::NotMounted { dataset } => {
            format!("{dataset} is not mounted, and rsync sees only what is: 'zfs mount {dataset}'")
        }
        TierRefusal::NoSnapshotFolder { dataset } => {
            format!("no path leads to snapshots of {dataset}: it has snapdir=disabled")
        }
        TierRefusal::SourceIsReplica { dataset } => {
            format!("{dataset} is a replica, and could receive nothing after a snapshot of its own")
        }
        TierRefusal::TargetIsReplica { dataset } => {
            format!("{dataset} is a replica, and refuses writes")
        }
        TierRefusal::NoFolder { path } => {
            format!("there is no folder '{path}', or a symbolic link leads there")
        }
        TierRefusal::Inside { path } => format!("the target {path} is in the source"),
    }
}

/// What rsync(1) says of its statuses, and what it said itself.
pub fn rsync_ended(end: &RsyncEnd, said: &str) -> String {
    let end = match end {
        RsyncEnd::Exited { status } => {
            let meaning = match status {
                1 => "it was used wrongly",
                2 => "the rsyncs do not understand each other",
                3 => "a folder is not there, or may not be used",
                4 => "the other rsync cannot do that",
                5 => "the other rsync did not begin",
                10 => "the connection failed",
                11 => "a file could not be read or written, for want of space or rights",
                12 => "the connection was lost",
                20 => "it was ended by a signal",
                22 => "there was not enough memory",
                23 => "some files could not be copied",
                24 => "some files vanished meanwhile",
                30 | 35 => "the other side did not answer in time",
                126 | 127 => "the other side has no rsync",
                255 => "SSH failed",
                _ => "it failed",
            };
            format!("rsync ended with status {status}: {meaning}")
        }
        RsyncEnd::Signal { signal } => format!("rsync was ended by signal {signal}"),
        RsyncEnd::Stuck { seconds } => format!("rsync was ended: no byte moved for {seconds} seconds"),
        RsyncEnd::Stopped => "rsync was ended, for its service stopped".to_owned(),
        RsyncEnd::NotStarted { message } => format!("rsync cannot be run: {message}"),
    };
    let said = said.trim();
    if said.is_empty() { end } else { format!("{end}; it said: {}", said.replace('\n', "; ")) }
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
