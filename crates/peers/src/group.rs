//! Groups of appliances: who knows one member comes to know all.
//!
//! Each appliance keeps for itself who is in a group. Whoever asks a peer is told of the others of
//! the group that both are in, and makes those known that it does not know.
//!
//! Invariants:
//! - A member is believed about who is in the group, and about nothing else: whom it tells of may
//!   send nothing here.
//! - What is known of a peer is never changed by others; an address that was not known is added.

use api_types::{Fingerprint, Peer};

use crate::wire::Member;

/// Who is told to a peer: the others of its group.
pub fn members(peer: &Peer, all: Vec<Peer>) -> Vec<Member> {
    let Some(group) = &peer.group else { return Vec::new() };
    let others = all.into_iter().filter(|other| other.group.as_ref() == Some(group));
    let others = others.filter(|other| other.fingerprint != peer.fingerprint);
    let member = |other: Peer| Member {
        group: group.clone(),
        name: other.name,
        fingerprint: other.fingerprint,
        address: other.address,
    };
    others.map(member).collect()
}

/// What follows from what a member has told.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Known from now on.
    pub new: Vec<Peer>,
    /// Known, with an address now.
    pub found: Vec<Peer>,
}

/// `group`: that of who has told it; `own`: what this machine shows; `now`: seconds since 1970.
pub fn told(group: &str, members: Vec<Member>, all: &[Peer], own: Fingerprint, now: i64) -> Told {
    let mut told = Told::default();
    for member in members.into_iter().filter(|it| it.group == group && it.fingerprint != own) {
        let is_it = |peer: &&Peer| peer.fingerprint == member.fingerprint;
        if told.new.iter().any(|peer| is_it(&peer)) {
            continue;
        }
        match (all.iter().find(is_it), member.address) {
            (Some(peer), Some(address)) if peer.address.is_none() && peer.group.as_deref() == Some(group) => {
                told.found.push(Peer { address: Some(address), ..peer.clone() });
            }
            (Some(_), _) => {}
            (None, address) => {
                let is_taken = |name: &str| all.iter().chain(&told.new).any(|peer| peer.name == name);
                // Another one is called so here.
                let name = match is_taken(&member.name) {
                    true => format!("{}-{}", member.name, short(member.fingerprint)),
                    false => member.name,
                };
                told.new.push(Peer {
                    name,
                    fingerprint: member.fingerprint,
                    address,
                    grants: Vec::new(),
                    reads: Vec::new(),
                    added: now,
                    group: Some(group.to_owned()),
                });
            }
        }
    }
    told
}

/// As much of it as tells a few apart.
fn short(fingerprint: Fingerprint) -> String {
    fingerprint.0[..3].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
