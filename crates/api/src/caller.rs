//! Who asks: on the Unix socket the user of the program at its other end, as the kernel says it
//! (SO_PEERCRED, SO_PEERGROUPS); over HTTPS the account whose session or token a request shows.
//!
//! Who asks goes with each request, and with the work that these start on blocking threads: into
//! the histories of pools, and to where it is decided what may be done (`engine`'s `rights`).
//!
//! Invariant: both doors end in the same [`Actor`]. Nothing behind them asks by which one somebody
//! came, but what is about accounts and the audit log.

use api_types::{By, Role};
use machine::{Credential, Identity};
use std::net::IpAddr;
use std::sync::Arc;
use stdx::behalf::{self, Actor, Rank, Way};
use stdx::premise::{self, Premise};

/// Who sends a request, and how it came.
#[derive(Clone, Debug)]
pub struct Asker {
    pub actor: Arc<Actor>,
    came: Came,
}

#[derive(Clone, Debug)]
enum Came {
    Socket,
    /// `None`: nobody is logged in.
    Https(IpAddr, Option<Arc<Identity>>),
}

const NOBODY: u32 = 65534;

impl Asker {
    /// By the Unix socket.
    pub fn local(actor: Arc<Actor>) -> Asker {
        Asker { actor, came: Came::Socket }
    }

    /// By HTTPS, with a session or token.
    pub fn known(identity: Identity, address: IpAddr) -> Asker {
        let rank = match identity.role {
            Role::Administrator => Rank::Administrator,
            Role::Operator => Rank::Operator,
            Role::ReadOnly => Rank::Reader,
        };
        // An account is in no group of this machine.
        let (groups, within) = (Vec::new(), identity.dataset.clone());
        let actor = Actor { user: identity.uid, groups, rank, within, way: Way::Management };
        Asker { actor: Arc::new(actor), came: Came::Https(address, Some(Arc::new(identity))) }
    }

    /// By HTTPS, and nobody knows who.
    pub fn stranger(address: IpAddr) -> Asker {
        Asker { actor: Arc::new(nobody()), came: Came::Https(address, None) }
    }

    pub fn is_stranger(&self) -> bool {
        matches!(self.came, Came::Https(_, None))
    }

    /// The account; `None` on the socket, and for a stranger.
    pub fn identity(&self) -> Option<&Identity> {
        match &self.came {
            Came::Https(_, identity) => identity.as_deref(),
            Came::Socket => None,
        }
    }

    /// Where the other end is; `None` on the socket.
    pub fn address(&self) -> Option<IpAddr> {
        match self.came {
            Came::Https(address, _) => Some(address),
            Came::Socket => None,
        }
    }

    /// By what it was let in.
    pub fn by(&self) -> By {
        match &self.came {
            Came::Socket => By::Socket { uid: self.actor.user },
            Came::Https(_, None) => By::Nobody,
            Came::Https(_, Some(identity)) => match identity.by {
                Credential::Session { id, .. } => By::Session { id },
                Credential::Token { id, .. } => By::Token { id },
                Credential::Shell { session } => By::Session { id: session },
            },
        }
    }
}

fn nobody() -> Actor {
    Actor { user: NOBODY, groups: vec![NOBODY], rank: Rank::Guest, within: None, way: Way::Management }
}

tokio::task_local! {
    static ASKER: Arc<Actor>;
    static PREMISE: Premise;
}

/// Has it known who asks while something is done.
pub async fn known<T>(asker: Arc<Actor>, work: impl Future<Output = T>) -> T {
    ASKER.scope(asker, work).await
}

/// Who asks in this task. Where that is not known, it is nobody who may do anything.
pub fn asker() -> Arc<Actor> {
    ASKER.try_with(Clone::clone).unwrap_or_else(|_| Arc::new(nobody()))
}

/// Has the change that something makes rely on a premise.
pub async fn relying<T>(premise: Premise, work: impl Future<Output = T>) -> T {
    PREMISE.scope(premise, work).await
}

/// Work for another thread, to be done for who asks in this task, on what he relies on.
pub fn on_behalf<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    // Where there is none, it relies on nothing.
    let (asker, premise) = (asker(), PREMISE.try_with(Clone::clone).ok());
    move || behalf::on_behalf_of(asker, || premise::relying_on(premise, work))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(role: Role, dataset: Option<&str>) -> Identity {
        let by = Credential::Token { id: 3, name: "t".into() };
        Identity { user: "ada".into(), uid: 2_000_000_000, role, by, dataset: dataset.map(str::to_owned) }
    }

    #[test]
    fn a_role_is_a_rank_and_a_token_for_a_dataset_is_no_administrator() {
        let address = IpAddr::from([192, 0, 2, 1]);
        let rank = |role| Asker::known(identity(role, None), address).actor.rank;
        assert_eq!(
            [Role::ReadOnly, Role::Operator, Role::Administrator].map(rank),
            [Rank::Reader, Rank::Operator, Rank::Administrator]
        );
        let held = Asker::known(identity(Role::Administrator, Some("tank/a")), address);
        assert_eq!(held.actor.within.as_deref(), Some("tank/a"));
        assert!(!held.actor.is_administrator() && !held.is_stranger());
        assert_eq!((held.by(), held.address()), (By::Token { id: 3 }, Some(address)));
        let stranger = Asker::stranger(address);
        assert!(stranger.is_stranger() && stranger.actor.rank == Rank::Guest);
        assert_eq!(stranger.by(), By::Nobody);
    }
}
