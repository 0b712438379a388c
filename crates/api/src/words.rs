//! What failures and warnings of the appliance are to a client: a refusal as data, and which kind
//! of problem it is.

use api_types::{PeerFault, Problem, Warnings, kind};
use appliance::{Failure, NotMountable, NotRestored, NotServed, Release, RemoteFault, Verb, Warning};
use engine_api::Error;
use engine_api::refusal::{Action, FileFault, JobFault, MountFault, Reason, ReceiveFault, Refused, Stream};

use crate::problem::{Refusal, kind_of, refuse, refused};
use crate::{peer_words, replica_words, service_words};

/// Younger snapshots and bookmarks that a refused rollback names.
const YOUNGER_MAX: usize = 32;

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Refusal {
        let (kind, why) = match failure {
            Failure::Engine(error) => return error.into(),
            Failure::NoSuchPool { pool } => (kind::NOT_FOUND, Refused::because(Reason::NoPoolNamed { pool })),
            Failure::NoSuchDataset { dataset: name } => {
                (kind::NOT_FOUND, Refused::new(Action::Open { name }, Reason::NoDataset))
            }
            Failure::NotMountable { dataset, verb, why } => {
                (kind::REFUSED, Refused::new(action(verb, dataset), not_mountable(why)))
            }
            Failure::NotLegacy { dataset, mountpoint } => {
                (kind::REFUSED, mount(dataset, MountFault::NotLegacy { mountpoint }))
            }
            Failure::RelativeMountpoint { dataset, mountpoint: path } => {
                (kind::INVALID, mount(dataset, MountFault::NotAbsolute { path }))
            }
            Failure::PartlyReceived { dataset } => {
                (kind::REFUSED, mount(dataset, MountFault::PartlyReceived))
            }
            Failure::Remount { mountpoint: path, why: why @ Error::Refused(_), .. } => {
                (kind::REFUSED, Refused::new(Action::Remount { path }, reason(why)))
            }
            Failure::Mount { dataset, mountpoint, why } | Failure::Remount { dataset, mountpoint, why } => {
                (kind_of(&why), not_mounted(dataset, mountpoint, why))
            }
            Failure::MountCancelled { dataset } => (kind::CANCELLED, mount(dataset, JobFault::Cancelled)),
            Failure::NothingToRemount { dataset } => (kind::REFUSED, mount(dataset, MountFault::NotMounted)),
            Failure::Unmount { what, why } => (kind_of(&why), not_unmounted(what, why)),
            Failure::NotAMountpoint { path } => (kind::REFUSED, unmount(path, MountFault::NotMountpoint)),
            Failure::NotCurrentlyMounted { dataset } => {
                (kind::REFUSED, unmount(dataset, MountFault::NotMounted))
            }
            Failure::Share { dataset, verb, why } => {
                let (kind, why) = told(why.into());
                return refused(&kind, Refused::new(action(verb, dataset), part(why)));
            }
            Failure::LegacyShare { dataset, verb } => {
                (kind::REFUSED, Refused::new(action(verb, dataset), MountFault::LegacyShare))
            }
            Failure::AlreadyShared { dataset: name } => {
                (kind::EXISTS, Refused::new(Action::Share { name }, MountFault::AlreadyShared))
            }
            Failure::NotCurrentlyShared { dataset: name } => {
                (kind::REFUSED, Refused::new(Action::Unshare { name }, MountFault::NotShared))
            }
            Failure::MountpointInUse { at: path, why } => {
                let why = match why {
                    Error::NotEmpty => MountFault::NotEmpty.into(),
                    why => reason(why),
                };
                (kind::REFUSED, Refused::new(Action::UseMountpoint { path }, why))
            }
            Failure::Suspended { pool, how } => {
                let action = match how {
                    Release::Export => Action::Export { pool },
                    Release::Destroy => Action::Destroy { name: pool },
                };
                (kind::REFUSED, Refused::new(action, Reason::Suspended))
            }
            Failure::MountsOfPool { pool, why } => {
                let (kind, why) = told((*why).into());
                let pool = Refused::new(Action::Destroy { name: pool }, MountFault::StayMounted);
                return refused(&kind, Refused::several(vec![why, pool]));
            }
            Failure::YoungerExist { snapshot, younger: mut names } => {
                names.truncate(YOUNGER_MAX);
                let more = names.len() == YOUNGER_MAX;
                let why = Reason::YoungerExist { names, more };
                (kind::REFUSED, Refused::new(Action::RollbackTo { snapshot }, why))
            }
            Failure::ClonesExist { snapshot, clones: names } => {
                let why = Reason::ClonesExist { names };
                (kind::REFUSED, Refused::new(Action::RollbackTo { snapshot }, why))
            }
            Failure::NoSnapshots => (kind::INVALID, Refused::because(Reason::NoSnapshotsNamed)),
            Failure::SeveralPools => (kind::INVALID, Refused::because(Reason::SeveralPools)),
            Failure::HealsAlone => {
                let receive = Action::Receive { stream: Stream::Any };
                (kind::REFUSED, Refused::new(receive, ReceiveFault::HealsAlone))
            }
            Failure::NotCancellable { job } => {
                (kind::REFUSED, Refused::new(Action::CancelJob { job }, JobFault::NotCancellable))
            }
            Failure::JobEnded { job } => {
                (kind::REFUSED, Refused::new(Action::CancelJob { job }, JobFault::Ended))
            }
            Failure::File { name, why } => (kind_of_file(&why), Refused::new(Action::OpenFile { name }, why)),
            Failure::Restore { name, why } => not_restored(name, why),
            Failure::Service(why) => return not_served(why),
            Failure::Replica(why) => return refuse(kind::REFUSED, replica_words::not_replicated(&why)),
        };
        refused(kind, why)
    }
}

fn not_restored(name: String, why: NotRestored) -> (&'static str, Refused) {
    let action = Action::RestoreFile { name };
    match why {
        NotRestored::File(why) => (kind_of_file(&why), Refused::new(action, why)),
        NotRestored::Engine(why) => (kind_of(&why), Refused::new(action, reason(why))),
        NotRestored::Cancelled => (kind::CANCELLED, Refused::new(action, JobFault::Cancelled)),
    }
}

fn kind_of_file(why: &FileFault) -> &'static str {
    match why {
        FileFault::Missing { .. } => kind::NOT_FOUND,
        FileFault::Exists { .. } => kind::EXISTS,
        FileFault::Name
        | FileFault::Link { .. }
        | FileFault::NotDirectory { .. }
        | FileFault::NotFile { .. }
        | FileFault::NotSnapshot => kind::INVALID,
    }
}

fn not_served(why: NotServed) -> Refusal {
    match why {
        NotServed::Unknown { id } => refuse(kind::NOT_FOUND, format!("no such service: {id}")),
        NotServed::Exists { id } => refuse(kind::EXISTS, format!("there is a service '{id}'")),
        NotServed::BadId { id } => {
            let why = "lower case letters, digits and '-', at most 32";
            refuse(kind::INVALID, format!("'{id}' is no name of a service: {why}"))
        }
        NotServed::OtherKind { id } => {
            refuse(kind::INVALID, format!("'{id}' is another kind of service, and stays that"))
        }
        NotServed::Fault(fault) => {
            let Refusal(problem) = refuse(kind::INVALID, fault.words());
            Refusal(Problem { service_fault: Some(Box::new(fault)), ..problem })
        }
        NotServed::NotNow(why) => refuse(kind::REFUSED, service_words::not_now(why)),
        NotServed::Away { id } => {
            let why = "the dataset that keeps it is not here, or was not looked at yet";
            refuse(kind::REFUSED, format!("service '{id}' is away: {why}"))
        }
        NotServed::Policy { dataset, fault } => {
            let why = fault.words();
            refuse(kind::INVALID, format!("what '{dataset}' keeps of services makes no sense: {why}"))
        }
        NotServed::NotAsleep { dataset, id } => {
            refuse(kind::NOT_FOUND, format!("no stream brought a service '{id}' to '{dataset}'"))
        }
        NotServed::TooMany => refuse(kind::TOO_MANY, "there are too many services already"),
        NotServed::NoShelf => {
            refuse(kind::UNAVAILABLE, "the machine's database could not be opened; see the log")
        }
        NotServed::NotKept { why } => refuse(kind::UNAVAILABLE, format!("it cannot be kept: {why}")),
        NotServed::StillRuns { id } => refuse(
            kind::BUSY,
            format!("service '{id}' is disabled, and what it was at has not ended: ask again"),
        ),
        NotServed::Slow { pool } => {
            refuse(kind::BUSY, format!("pool '{pool}' has not answered for a minute"))
        }
        NotServed::Script { program, end } => refuse(kind::REFUSED, service_words::ended(&program, &end)),
        NotServed::Sync { dataset, why } => refuse(kind::REFUSED, service_words::not_synced(&dataset, &why)),
        NotServed::Peer { peer, why } => refuse(peer_kind(&why), peer_words::not_asked(&peer, &why)),
        NotServed::Told { peer, problem } => {
            let detail = format!("{peer} says: {}", problem.detail);
            Refusal(Problem { detail, ..*problem })
        }
        NotServed::Claim(why) => refuse(kind::DENIED, peer_words::not_claimed(&why)),
        NotServed::Remote { host, why } => {
            let kind = match why {
                RemoteFault::Unreachable { .. } | RemoteFault::Silent { .. } => kind::UNAVAILABLE,
                _ => kind::REFUSED,
            };
            refuse(kind, service_words::remote(&host, &why))
        }
        NotServed::Tier { why } => refuse(kind::REFUSED, service_words::not_tiered(&why)),
        NotServed::Rsync { end, said } => refuse(kind::REFUSED, service_words::rsync_ended(&end, &said)),
        NotServed::NotWrittenOut { path, message } => {
            refuse(kind::UNAVAILABLE, format!("what was copied to {path} may not be durable: {message}"))
        }
        NotServed::OtherContent { files } => {
            let why = "of the same size and time, but of other content, and stay at the source";
            refuse(kind::REFUSED, format!("{files} files are at the target {why}"))
        }
        NotServed::LeftOut { files } => {
            let why = "their paths are too long, or their attributes cannot be read";
            refuse(kind::REFUSED, format!("{files} files and folders were left out: {why}"))
        }
        NotServed::Stuck { seconds } => {
            refuse(kind::BUSY, format!("no byte moved for {seconds} seconds: the stream was broken off"))
        }
        NotServed::ParentFirst { parent } => {
            refuse(kind::BUSY, format!("the replica above it comes first, and is not whole yet: {parent}"))
        }
        NotServed::Stopped => refuse(kind::BUSY, "it was stopped, and goes on where it was"),
        NotServed::Restless { rounds } => {
            refuse(kind::BUSY, format!("after {rounds} rounds there was still something to do"))
        }
        NotServed::Defect => refuse(kind::INTERNAL, "a fault of ours; the log says more"),
    }
}

fn peer_kind(why: &PeerFault) -> &'static str {
    match why {
        PeerFault::Unknown => kind::NOT_FOUND,
        PeerFault::NoAddress => kind::INVALID,
        PeerFault::Unreachable { .. } | PeerFault::Silent { .. } | PeerFault::NoIdentity => kind::UNAVAILABLE,
        PeerFault::OtherKey { .. } | PeerFault::Stranger => kind::DENIED,
        PeerFault::Version { .. } | PeerFault::Garbled => kind::UNSUPPORTED,
    }
}

fn action(verb: Verb, name: String) -> Action {
    match verb {
        Verb::Mount => Action::Mount { name },
        Verb::Share => Action::Share { name },
        Verb::Unshare => Action::Unshare { name },
    }
}

fn not_mountable(why: NotMountable) -> MountFault {
    match why {
        NotMountable::LegacyMountpoint => MountFault::LegacyMountpoint,
        NotMountable::NoMountpoint => MountFault::NoMountpoint,
        NotMountable::CanmountOff => MountFault::CanmountOff,
    }
}

fn mount(name: String, why: impl Into<Reason>) -> Refused {
    Refused::new(Action::Mount { name }, why)
}

fn unmount(name: String, why: impl Into<Reason>) -> Refused {
    Refused::new(Action::UnmountFilesystem { name }, why)
}

fn not_mounted(dataset: String, mountpoint: String, error: Error) -> Refused {
    match error {
        Error::Busy => mount(dataset, MountFault::AlreadyMounted),
        Error::NotEmpty => mount(mountpoint, MountFault::NotEmpty),
        Error::Denied | Error::NotPermitted => mount(dataset, MountFault::Privileges),
        error => mount(dataset, reason(error)),
    }
}

fn not_unmounted(what: String, error: Error) -> Refused {
    match error {
        Error::Busy => unmount(what, MountFault::InUse),
        Error::NotFound => unmount(what, MountFault::NotMounted),
        error => unmount(what, reason(error)),
    }
}

/// Why a part of something was not done.
fn reason(error: Error) -> Reason {
    match error {
        Error::Refused(why) => part(*why),
        Error::KeyNotLoaded => Reason::KeyNotLoaded,
        Error::NoSpace => Reason::NoSpace,
        Error::Suspended => Reason::Suspended,
        error => Reason::Failed { message: error.to_string() },
    }
}

fn part(why: Refused) -> Reason {
    match why.action {
        None => why.reason,
        Some(_) => Reason::Because(Box::new(why)),
    }
}

/// The kind of a problem, and what it tells.
fn told(Refusal(problem): Refusal) -> (String, Refused) {
    let message = problem.to_string();
    let failed = || Refused::because(Reason::Failed { message });
    (problem.kind, problem.refused.map_or_else(failed, |why| *why))
}

/// What a client is told of a failure.
pub fn problem(failure: Failure) -> Problem {
    let Refusal(problem) = failure.into();
    problem
}

/// A failure in words.
pub fn failure(failure: Failure) -> String {
    let Refusal(told) = failure.into();
    told.to_string()
}

/// Warnings in words and as data.
pub fn warnings(warnings: Vec<Warning>) -> Warnings {
    let (sentences, reasons) = warnings.into_iter().map(warned).unzip();
    Warnings { sentences, reasons }
}

fn warned(what: Warning) -> (String, api_types::Warning) {
    use api_types::Warning as Told;
    match what {
        Warning::Failed(why) => {
            let Refusal(problem) = why.into();
            (problem.to_string(), problem.refused.map_or(Told::Other, Told::Refused))
        }
        Warning::MountedByRootAlone => {
            let words = "filesystem successfully created, but it may only be mounted by root";
            (words.to_owned(), Told::MountedByRootAlone)
        }
        Warning::StaleMount { dataset } => {
            let words = format!("the mount of '{dataset}' may show for a minute what was there before");
            (words, Told::StaleMount { dataset })
        }
        Warning::Received(text) => (text, Told::Other),
    }
}

#[cfg(test)]
mod tests;
