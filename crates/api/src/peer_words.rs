//! Why a peer is not asked, or does not do what it is asked for, in words, with what helps.

use api_types::{ClaimFault, PeerChecked, PeerFault, kind};
use peers::{Book, Refused};

use crate::denied::Unserved;
use crate::problem::{Refusal, refuse};

/// Asks a peer what it says of itself, and waits for it. That it does not answer is an answer.
pub fn check_peer(book: &Book, name: &str) -> PeerChecked {
    match book.check(name) {
        Ok((hello, ahead)) => PeerChecked {
            problem: None,
            version: Some(hello.program),
            ahead: Some(ahead),
            grants: hello.grants,
            reads: hello.reads,
        },
        Err(why) => {
            let (_, why) = peers::fault(name, why);
            let Refusal(problem) = why.into();
            let (grants, reads) = (Vec::new(), Vec::new());
            PeerChecked { problem: Some(Box::new(problem)), version: None, ahead: None, grants, reads }
        }
    }
}

pub fn not_asked(peer: &str, why: &PeerFault) -> String {
    match why {
        PeerFault::Unknown => format!("no peer is called '{peer}': 'cistern peer list' shows them"),
        PeerFault::NoAddress => {
            format!("where '{peer}' listens is not known: 'cistern peer set {peer} --address HOST:PORT'")
        }
        PeerFault::Unreachable { why } => format!("'{peer}' cannot be reached: {why}"),
        PeerFault::OtherKey { fingerprint } => format!(
            "what answers as '{peer}' shows another certificate, {fingerprint}: if that is right, remove the \
             peer and add it again"
        ),
        PeerFault::Stranger => {
            format!(
                "'{peer}' does not know this machine: 'cistern peer add' there, with what 'cistern peer id' shows here"
            )
        }
        PeerFault::Version { theirs } => {
            format!(
                "'{peer}' speaks version {theirs} of the protocol: the older of the two has to be upgraded"
            )
        }
        PeerFault::Garbled => format!("'{peer}' does not answer as a peer does"),
        PeerFault::Silent { seconds } => format!("'{peer}' has not answered for {seconds} seconds"),
        PeerFault::NoIdentity => {
            "there are no peers: the machine's database could not be opened; see the log".to_owned()
        }
    }
}

pub fn not_claimed(why: &ClaimFault) -> String {
    match why {
        ClaimFault::NotGranted { dataset } => {
            format!(
                "this peer may keep no replicas at '{dataset}': 'cistern peer allow' on the machine that has it"
            )
        }
        ClaimFault::NotReadable { dataset } => {
            format!(
                "this peer may not read '{dataset}': 'cistern peer allow --read' on the machine that has it"
            )
        }
        ClaimFault::MakesNone { dataset } => {
            format!("this peer may make no snapshots of '{dataset}', and destroy none")
        }
        ClaimFault::NothingMade { dataset } => format!(
            "'{dataset}' has no snapshot yet: it is sent once there is one, or 'cistern peer allow --read \
             --snapshots' there lets this appliance make some"
        ),
        ClaimFault::TooLong { dataset, most } => {
            format!("'{dataset}' has more than {most} datasets, or snapshots and bookmarks")
        }
        ClaimFault::TooMany { dataset, most } => {
            format!("this peer has {most} snapshots, holds or bookmarks of '{dataset}', and gets no more")
        }
        ClaimFault::Service => "that is no name of a service".to_owned(),
        ClaimFault::Name { name } => format!("'{name}' is no name of a dataset"),
        ClaimFault::NotOfRelation { name } => format!("'{name}' is not of this service and source"),
        ClaimFault::AppendOnly => {
            "this peer may only append: what goes is decided where the replica is".to_owned()
        }
    }
}

/// Why two did not become peers.
pub fn not_paired(why: Refused) -> Unserved {
    let refused = |kind: &str, detail: String| refuse(kind, detail).into();
    match why {
        Refused::Denied(why) => why.into(),
        Refused::Address => refused(kind::INVALID, "where a peer listens is given as HOST:PORT".to_owned()),
        Refused::Grant(dataset) => refused(
            kind::INVALID,
            format!(
                "'{dataset}' is no place for replicas: a dataset below the root of a pool is, and one or more snapshots are kept"
            ),
        ),
        Refused::Read(dataset) => {
            refused(kind::INVALID, format!("'{dataset}' is no dataset that a peer could read"))
        }
        Refused::TooManyGrants => refused(
            kind::TOO_MANY,
            "a peer may keep replicas in no more places, and read no more, than it does already".to_owned(),
        ),
        Refused::Itself => refused(kind::INVALID, "that is this machine".to_owned()),
        Refused::WrongCode => refused(
            kind::DENIED,
            "the code is wrong, or whoever answers there is not the one that has shown it".to_owned(),
        ),
        Refused::NoCode => {
            refused(kind::DENIED, "no code is good any more: 'cistern peer invite' shows another".to_owned())
        }
        Refused::Unanswered(who, why) => {
            let (_, why) = peers::fault(&who, *why);
            Refusal::from(why).into()
        }
    }
}
