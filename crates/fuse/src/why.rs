//! Why a mount was not made, changed or taken away, for whoever wanted it.

use engine_api::refusal::{MountFault, Reason};
use mounter::{Fault, Silence};
use std::io;
use stdx::os_error::words;

pub fn os(error: &io::Error) -> Reason {
    Reason::Os { message: words(error) }
}

pub fn why(fault: &Fault) -> Reason {
    match fault {
        Fault::Os(error) => os(error),
        Fault::NoHelper => MountFault::NoHelper.into(),
        Fault::NotForAll => MountFault::NotForAll.into(),
        Fault::RootAlone => MountFault::RemountByRoot.into(),
        Fault::NotEmpty => MountFault::NotEmpty.into(),
        Fault::NotOurs => MountFault::NotMounted.into(),
        Fault::Kept => MountFault::Kept.into(),
        Fault::Link => MountFault::SymbolicLink.into(),
        Fault::Broker(silence) => why_silent(silence),
    }
}

fn why_silent(silence: &Silence) -> Reason {
    let fault = match silence {
        Silence::Unreachable { socket, error } => {
            MountFault::NoBroker { socket: socket.display().to_string(), message: words(error) }
        }
        Silence::Busy => MountFault::BrokerBusy,
        Silence::Stranger => MountFault::BrokerOfOther,
        Silence::Version | Silence::Odd => MountFault::BrokerVersion,
    };
    fault.into()
}
