//! Who may send which request, at the door of each route.
//!
//! A route is for strangers as well, for everybody who is known, for a rank, or for whom
//! permissions were delegated to. That a caller has those that his request takes is decided where
//! it is carried out, for only there it is known what it comes to (`engine`'s `rights`). What
//! somebody else than an administrator sends is small, and comes soon: until it is whole it holds
//! nothing but a connection and its bytes, for which there is so much room.

use crate::caller::Asker;
use crate::denied::{Unserved, unauthenticated};
use crate::problem::refuse;
use crate::shares::{Shares, Turn};
use api_types::{Role, kind, routes};
use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::Request;
use axum::http::Method;
use machine::Credential;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use stdx::behalf::Rank;
use tokio::time::timeout;

/// Largest request, in bytes, of who is known and no administrator, and how long it may take to
/// come; but for streams. So many bodies are there at a time, of one of them and of all, until they
/// are answered.
const GUESTS: Limits = Limits { body: 256 << 10, patience: Duration::from_secs(30), of_one: 16, of_all: 128 };
/// Likewise of strangers, and of those from one place.
const STRANGERS: Limits =
    Limits { body: 16 << 10, patience: Duration::from_secs(10), of_one: 16, of_all: 256 };

/// Largest request of anybody, in bytes, but for streams: far above any list of names that makes
/// sense.
pub const BODY_MAX: usize = 1 << 20;

struct Limits {
    body: usize,
    patience: Duration,
    of_one: usize,
    of_all: usize,
}

/// Whom a route is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Who is not logged in, too.
    Stranger,
    /// Whoever is known.
    Anyone,
    /// Who has the permissions that the request takes; administrators have all.
    Delegated,
    /// Who manages the account that it is about (`handlers::accounts`).
    Account,
    Reader,
    Operator,
    Administrator,
}

impl Right {
    /// As the description of the interface has it.
    pub fn name(self) -> &'static str {
        match self {
            Right::Stranger => "stranger",
            Right::Anyone => "anyone",
            Right::Delegated => "delegated",
            Right::Account => "account",
            Right::Reader => "reader",
            Right::Operator => "operator",
            Right::Administrator => "administrator",
        }
    }

    /// Whether the route is for him, as far as that can be told here.
    fn is_for(self, asker: &Asker) -> bool {
        let actor = &asker.actor;
        match self {
            Right::Stranger | Right::Anyone | Right::Delegated | Right::Account => true,
            Right::Reader => actor.rank >= Rank::Reader,
            Right::Operator => actor.is_operator(),
            Right::Administrator => actor.is_administrator(),
        }
    }

    /// A token that only reads sends nothing else, whatever is delegated to its user; but it may
    /// end itself, which is all that a token may do about its account.
    fn may_send(self, asker: &Asker, verb: &Method) -> bool {
        let only_reads = asker.identity().is_some_and(|identity| {
            identity.role == Role::ReadOnly && matches!(identity.by, Credential::Token { .. })
        });
        !only_reads || self == Right::Account || [Method::GET, Method::HEAD].contains(verb)
    }
}

/// Room for the bodies of requests.
#[derive(Clone)]
pub struct Bodies {
    guests: Arc<Shares<u32>>,
    strangers: Arc<Shares<IpAddr>>,
}

impl Default for Bodies {
    fn default() -> Bodies {
        Bodies {
            guests: Arc::new(Shares::new(GUESTS.of_all, GUESTS.of_one)),
            strangers: Arc::new(Shares::new(STRANGERS.of_all, STRANGERS.of_one)),
        }
    }
}

/// A request that was let in, and the room that its body takes until it is answered.
pub type Admitted = (Request, Option<Turn>);

/// Lets a request in, or refuses it.
pub async fn admit(
    (right, bodies): (Right, &Bodies),
    asker: &Asker,
    request: Request,
) -> Result<Admitted, Unserved> {
    if asker.is_stranger() && right != Right::Stranger {
        return Err(unauthenticated());
    }
    if !right.is_for(asker) || !right.may_send(asker, request.method()) {
        return Err(refuse(kind::DENIED, "permission denied").into());
    }
    let is_stream = routes::is_stream(request.uri().path());
    if asker.actor.is_administrator() || is_stream || request.body().is_end_stream() {
        return Ok((request, None));
    }
    bodies.whole(asker, request).await.map(|(request, room)| (request, Some(room)))
}

impl Bodies {
    /// The request with all of its body, and the room that it takes until it is answered.
    async fn whole(&self, asker: &Asker, request: Request) -> Result<(Request, Turn), Unserved> {
        let stranger = asker.address().filter(|_| asker.is_stranger());
        let limits = if stranger.is_some() { STRANGERS } else { GUESTS };
        let (head, body) = request.into_parts();
        let unread = |why: String| Unserved::from(refuse(kind::BAD_REQUEST, format!("request body: {why}")));
        let come = async {
            let room = match stranger {
                Some(address) => self.strangers.wait(sockets::place(address)).await,
                None => self.guests.wait(asker.actor.user).await,
            };
            let room = room.ok_or_else(no_room)?;
            let bytes = to_bytes(body, limits.body).await.map_err(|error| unread(error.to_string()))?;
            Ok::<_, Unserved>((bytes, room))
        };
        match timeout(limits.patience, come).await {
            Ok(come) => come.map(|(bytes, room)| (Request::from_parts(head, Body::from(bytes)), room)),
            Err(_) => Err(unread("it does not come".into())),
        }
    }
}

fn no_room() -> Unserved {
    Unserved::no_room("too many requests are on their way")
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Identity;
    use stdx::behalf::Actor;

    const ALL: [Right; 7] = [
        Right::Stranger,
        Right::Anyone,
        Right::Delegated,
        Right::Account,
        Right::Reader,
        Right::Operator,
        Right::Administrator,
    ];

    fn known(role: Role, by: Credential, dataset: Option<&str>) -> Asker {
        let (user, dataset) = ("ada".to_owned(), dataset.map(str::to_owned));
        Asker::known(Identity { user, uid: 7, role, by, dataset }, IpAddr::from([192, 0, 2, 1]))
    }

    fn session() -> Credential {
        Credential::Session { id: 1, csrf: "c".into() }
    }

    fn token() -> Credential {
        Credential::Token { id: 1, name: "t".into() }
    }

    #[test]
    fn a_route_is_for_its_rank_and_those_above() {
        let count = |asker: &Asker| ALL.iter().filter(|right| right.is_for(asker)).count();
        let guest = Asker::local(Arc::new(Actor { rank: Rank::Guest, ..Actor::itself() }));
        assert_eq!(count(&guest), 4);
        assert_eq!(count(&known(Role::ReadOnly, session(), None)), 5);
        assert_eq!(count(&known(Role::Operator, session(), None)), 6);
        assert_eq!(count(&known(Role::Administrator, token(), None)), 7);
        // Whatever the rank, who is held to a dataset has no way to pools and accounts.
        assert_eq!(count(&known(Role::Operator, token(), Some("tank/a"))), 5);
        assert_eq!(count(&known(Role::Administrator, token(), Some("tank/a"))), 5);
    }

    #[test]
    fn a_token_that_reads_only_gets() {
        let reads = known(Role::ReadOnly, token(), None);
        let may_send = |asker: &Asker, verb| Right::Delegated.may_send(asker, &verb);
        assert!(may_send(&reads, Method::GET) && may_send(&reads, Method::HEAD));
        assert!(!may_send(&reads, Method::POST) && !may_send(&reads, Method::DELETE));
        assert!(Right::Account.may_send(&reads, &Method::POST), "it may end itself");
        assert!(may_send(&known(Role::ReadOnly, session(), None), Method::POST), "it may be delegated");
        assert!(may_send(&known(Role::Operator, token(), None), Method::POST));
    }
}
