//! The peers of this machine: what is known of each, and how one becomes one.
//!
//! Invariant: at most one code is out at a time. It makes one peer, or none.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use api_types::{
    Fingerprint, Peer, PeerAdd, PeerChange, PeerFault, PeerGrant, PeerIdentity, PeerInvite, PeerInvited,
    PeerJoin, PeerRead, PeerRelation, Secret, SnapTarget,
};
use appliance::replication::is_dataset;
use machine::{Denied, Fault, Machine, Outside};
use sockets::lock;

use crate::group;
use crate::identity::{self, Identity};
use crate::link::{Link, Unanswered};
use crate::pairing::{self, GOOD_FOR, Key, Side, TRIES};
use crate::remote::Remote;
use crate::source::Sources;
use crate::wire::{self, Confirm, Hello, Member, Original, Pair};

/// Bytes of an address.
const LONGEST_ADDRESS: usize = 300;
/// Grants of a peer, of each kind.
const MOST_GRANTS: usize = 64;
/// Snapshots that a grant may keep.
const MOST_KEPT: u32 = 10_000;

/// Why something was not done.
#[derive(Debug)]
pub enum Refused {
    Denied(Denied),
    /// That is no `HOST:PORT`.
    Address,
    /// That is no dataset below the root of a pool, or nothing would be kept there.
    Grant(String),
    /// That is no dataset.
    Read(String),
    TooManyGrants,
    /// It would be a peer of itself.
    Itself,
    /// The other side does not take the code, or is not the one that it belongs to.
    WrongCode,
    /// No code is out, or it was tried too often, or too late.
    NoCode,
    /// Who does not answer as it should.
    Unanswered(String, Box<Unanswered>),
}

impl From<Denied> for Refused {
    fn from(why: Denied) -> Refused {
        Refused::Denied(why)
    }
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Refused {
        Refused::Denied(Denied::Fault(fault))
    }
}

/// A code that is out.
struct Invite {
    wanted: PeerInvite,
    code: String,
    until: i64,
    tries: u32,
    /// Who has sent a message, and the key that it leads to.
    waiting: Option<(Fingerprint, Key)>,
}

/// See the module.
pub struct Book {
    machine: Arc<Machine>,
    outside: Arc<dyn Outside>,
    identity: Arc<Identity>,
    /// Version of this program.
    program: String,
    invite: Mutex<Option<Invite>>,
}

impl std::fmt::Debug for Book {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Book").field("identity", &self.identity.fingerprint).finish_non_exhaustive()
    }
}

impl Book {
    pub fn open(machine: Arc<Machine>, outside: Arc<dyn Outside>, program: String) -> Result<Book, Fault> {
        let identity = Arc::new(Identity::of(&machine.peer_key(identity::make)?)?);
        Ok(Book { machine, outside, identity, program, invite: Mutex::default() })
    }

    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    pub fn own(&self) -> PeerIdentity {
        let now = self.outside.now();
        let invited_until = lock(&self.invite).as_ref().map(|it| it.until).filter(|until| *until > now);
        PeerIdentity { fingerprint: self.identity.fingerprint, invited_until }
    }

    pub fn all(&self) -> Result<Vec<Peer>, Refused> {
        Ok(self.machine.peers()?)
    }

    pub fn one(&self, name: &str) -> Result<Peer, Refused> {
        Ok(self.machine.peer(name)?.ok_or(Denied::NotFound)?)
    }

    /// Whoever shows this certificate.
    pub fn known(&self, fingerprint: Fingerprint) -> Result<Option<Peer>, Fault> {
        self.machine.peer_with(fingerprint)
    }

    pub fn add(&self, new: PeerAdd) -> Result<Peer, Refused> {
        let PeerAdd { name, fingerprint, address, grants, group } = new;
        let (reads, added) = (Vec::new(), self.outside.now());
        self.put(Peer { name, fingerprint, address, grants, reads, added, group })
    }

    fn put(&self, peer: Peer) -> Result<Peer, Refused> {
        check(&peer)?;
        if peer.fingerprint == self.identity.fingerprint {
            return Err(Refused::Itself);
        }
        self.machine.add_peer(&peer)?;
        Ok(peer)
    }

    pub fn change(&self, name: &str, change: PeerChange) -> Result<Peer, Refused> {
        let mut peer = self.one(name)?;
        let PeerChange { address, grants, reads, group } = change;
        peer.address = address.or(peer.address);
        peer.grants = grants.unwrap_or(peer.grants);
        peer.reads = reads.unwrap_or(peer.reads);
        peer.group = group.or(peer.group).filter(|group| !group.is_empty());
        check(&peer)?;
        self.machine.change_peer(&peer)?;
        Ok(peer)
    }

    /// It is refused from now on; what it has here stays.
    pub fn remove(&self, name: &str) -> Result<(), Refused> {
        Ok(self.machine.remove_peer(name, self.outside.now())?)
    }

    /// Gives out a code, in place of one that is out.
    pub fn invite(&self, wanted: PeerInvite) -> Result<PeerInvited, Refused> {
        check_address(wanted.address.as_deref())?;
        check_grants(&wanted.grants)?;
        if self.machine.peer(&wanted.name)?.is_some() {
            return Err(Denied::Exists.into());
        }
        let code = pairing::code(|bytes| self.outside.fill(bytes));
        let until = self.outside.now() + GOOD_FOR;
        let told = PeerInvited { code: Secret(code.clone()), until };
        *lock(&self.invite) = Some(Invite { wanted, code, until, tries: 0, waiting: None });
        Ok(told)
    }

    /// Somebody has typed a code, right or wrong: his message, and ours.
    pub fn pair(&self, from: Fingerprint, theirs: &Pair) -> Result<Pair, Refused> {
        let mut out = lock(&self.invite);
        let Some(invite) = &mut *out else { return Err(Refused::NoCode) };
        if invite.until <= self.outside.now() || invite.tries >= TRIES {
            *out = None;
            return Err(Refused::NoCode);
        }
        invite.tries += 1;
        let (begun, message) = pairing::begin(Side::Invites, &invite.code, from, self.identity.fingerprint);
        let key = begun.finish(&theirs.message).ok_or(Refused::WrongCode)?;
        invite.waiting = Some((from, key));
        Ok(Pair { message })
    }

    /// He shows that he has the code, and so do we.
    pub fn confirm(&self, from: Fingerprint, theirs: &Confirm) -> Result<Confirm, Refused> {
        let mut out = lock(&self.invite);
        let Some(invite) = &mut *out else { return Err(Refused::NoCode) };
        let waiting = invite.waiting.take().filter(|(who, _)| *who == from);
        let Some((_, key)) = waiting.filter(|(_, key)| key.is_proved(Side::Joins, &theirs.proof)) else {
            if invite.tries >= TRIES {
                *out = None;
            }
            return Err(Refused::WrongCode);
        };
        let proof = key.proof(Side::Invites);
        let PeerInvite { name, address, grants, group } = invite.wanted.clone();
        *out = None;
        let (reads, added) = (Vec::new(), self.outside.now());
        self.put(Peer { name, fingerprint: from, address, grants, reads, added, group })?;
        Ok(Confirm { proof })
    }

    /// Becomes a peer of who has given out a code.
    pub fn join(&self, join: PeerJoin) -> Result<Peer, Refused> {
        let PeerJoin { name, address, code: Secret(code), grants, group } = join;
        check_address(Some(&address))?;
        check_grants(&grants)?;
        if self.machine.peer(&name)?.is_some() {
            return Err(Denied::Exists.into());
        }
        let own = self.identity.fingerprint;
        let shown = Link::new(address.clone(), None, self.identity.clone()).greet();
        let shown = shown.map_err(unanswered)?;
        let mut link = Link::new(address.clone(), Some(shown), self.identity.clone());
        let (begun, message) = pairing::begin(Side::Joins, &code, own, shown);
        let theirs: Pair = link.ask(wire::PAIR, &Pair { message }).map_err(unanswered)?;
        let key = begun.finish(&theirs.message).ok_or(Refused::WrongCode)?;
        let question = Confirm { proof: key.proof(Side::Joins) };
        let theirs: Confirm = link.ask(wire::CONFIRM, &question).map_err(unanswered)?;
        if !key.is_proved(Side::Invites, &theirs.proof) {
            return Err(Refused::WrongCode);
        }
        let (address, reads, added) = (Some(address), Vec::new(), self.outside.now());
        let peer = self.put(Peer { name, fingerprint: shown, address, grants, reads, added, group })?;
        // Who else is in the group, it is told at once, or when it is next asked.
        if peer.group.is_some()
            && let Err(why) = self.check(&peer.name)
        {
            tracing::warn!(peer = peer.name, ?why, "who else is in its group is not known yet");
        }
        Ok(peer)
    }

    /// What this machine says of itself to a peer that it asks.
    fn hello(&self) -> Hello {
        Hello {
            version: wire::VERSION,
            program: self.program.clone(),
            time: self.outside.now(),
            grants: Vec::new(),
            reads: Vec::new(),
            members: Vec::new(),
        }
    }

    /// What it says to a peer that asks.
    pub fn answer(&self, peer: Peer) -> Result<Hello, Fault> {
        let members = group::members(&peer, self.machine.peers()?);
        Ok(Hello { grants: peer.grants, reads: peer.reads, members, ..self.hello() })
    }

    /// Takes in whom a member of a group has told of.
    fn meet(&self, name: &str, members: Vec<Member>) -> Result<(), Refused> {
        let Some(group) = self.one(name)?.group else { return Ok(()) };
        let own = self.identity.fingerprint;
        let told = group::told(&group, members, &self.all()?, own, self.outside.now());
        // One that cannot be known here keeps no other from being known.
        let mut taken = Ok(());
        for peer in told.new {
            let added = check(&peer).and_then(|()| Ok(self.machine.introduce_peer(&peer)?));
            match added {
                Ok(true) => tracing::info!(peer = peer.name, group, by = name, "a new member of a group"),
                Ok(false) => {}
                Err(why) => taken = Err(why),
            }
        }
        for peer in told.found {
            let changed = check(&peer).and_then(|()| Ok(self.machine.change_peer(&peer)?));
            taken = taken.and(changed);
        }
        taken
    }

    /// Asks a peer what it says of itself; gives that, and by how many seconds its clock is ahead.
    /// Whom it tells of is known from then on.
    pub fn check(&self, name: &str) -> Result<(Hello, i64), Unanswered> {
        let mut link = self.link(name)?;
        let begun = self.outside.now();
        let mut hello: Hello = link.ask(wire::HELLO, &self.hello())?;
        if hello.version != wire::VERSION {
            return Err(PeerFault::Version { theirs: hello.version }.into());
        }
        // As it was about the middle of the question.
        let now = begun + (self.outside.now() - begun) / 2;
        let ahead = hello.time.saturating_sub(now);
        // What is wrong with that is not wrong with the peer's answer: it is seen in the log.
        if let Err(why) = self.meet(name, std::mem::take(&mut hello.members)) {
            tracing::warn!(peer = name, ?why, "a peer tells of others that cannot be known here");
        }
        Ok((hello, ahead))
    }

    /// Whether the source of a replica, which a peer's service sends here, is in use there.
    pub fn original(&self, peer: &str, service: &str, guid: u64) -> Result<bool, Unanswered> {
        self.link(peer)?.ask(wire::ORIGINAL, &Original { service: service.to_owned(), guid })
    }

    /// What a peer replicates to this machine.
    pub fn relations(&self, peer: &str) -> Result<Vec<PeerRelation>, Unanswered> {
        self.link(peer)?.ask(wire::RELATIONS, &())
    }

    fn link(&self, name: &str) -> Result<Link, PeerFault> {
        let found = self.machine.peer(name).map_err(|fault| {
            tracing::error!(%fault, "which peers there are is not known");
            PeerFault::NoIdentity
        })?;
        let peer = found.ok_or(PeerFault::Unknown)?;
        let address = peer.address.ok_or(PeerFault::NoAddress)?;
        Ok(Link::new(address, Some(peer.fingerprint), self.identity.clone()))
    }

    /// The sources on a peer that a service pulls.
    pub fn sources(&self, peer: &str, service: &str, source: &SnapTarget) -> Sources {
        Sources::new(peer.to_owned(), service.to_owned(), source.clone(), self.link(peer))
    }

    /// The replicas that a service has with a peer: replica → guid of its source.
    pub fn remote(&self, peer: &str, service: &str, sources: BTreeMap<String, u64>) -> Remote {
        Remote::new(peer.to_owned(), service.to_owned(), sources, self.link(peer))
    }
}

/// Of one that has no name here yet.
fn unanswered(why: Unanswered) -> Refused {
    Refused::Unanswered("the other side".to_owned(), Box::new(why))
}

fn check(peer: &Peer) -> Result<(), Refused> {
    check_address(peer.address.as_deref())?;
    check_grants(&peer.grants)?;
    check_reads(&peer.reads)
}

fn check_address(address: Option<&str>) -> Result<(), Refused> {
    match address.is_some_and(|address| !is_address(address)) {
        true => Err(Refused::Address),
        false => Ok(()),
    }
}

fn check_reads(reads: &[PeerRead]) -> Result<(), Refused> {
    if reads.len() > MOST_GRANTS {
        return Err(Refused::TooManyGrants);
    }
    match reads.iter().find(|read| !is_dataset(&read.dataset)) {
        Some(bad) => Err(Refused::Read(bad.dataset.clone())),
        None => Ok(()),
    }
}

fn check_grants(grants: &[PeerGrant]) -> Result<(), Refused> {
    if grants.len() > MOST_GRANTS {
        return Err(Refused::TooManyGrants);
    }
    let is_bad = |grant: &&PeerGrant| {
        !is_dataset(&grant.dataset)
            || !grant.dataset.contains('/')
            || grant.keep.is_some_and(|keep| !(1..=MOST_KEPT).contains(&keep.count))
    };
    match grants.iter().find(is_bad) {
        Some(bad) => Err(Refused::Grant(bad.dataset.clone())),
        None => Ok(()),
    }
}

/// Whether that is a `HOST:PORT`, with an address of IPv6 in brackets.
fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = match bare {
        Some(bare) => bare.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            let good = |it: u8| it.is_ascii_alphanumeric() || b"-._".contains(&it);
            !host.is_empty() && host.bytes().all(good)
        }
    };
    text.len() <= LONGEST_ADDRESS && is_host && port.parse::<u16>().is_ok_and(|port| port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for good in ["nas:8443", "nas.example.org:1", "192.0.2.7:443", "[::1]:8443"] {
            assert!(is_address(good), "{good}");
        }
        for bad in
            ["", "nas", "nas:", "nas:0", ":1", "::1", "[nas]:1", "[::1]", "a b:1", "nas:65536", "a/b:1"]
        {
            assert!(!is_address(bad), "{bad}");
        }
    }
}
