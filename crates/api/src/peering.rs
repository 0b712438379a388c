//! What other appliances ask of this one ([`peers::wire`]), on connections of their own: whoever
//! has come by them has shown a certificate.
//!
//! Invariants:
//! - Who is no peer may only try a code, and is told nothing else.
//! - What a peer may do, [`Guest`] says; a peer that is removed may do nothing from its next
//!   request on.
//! - What a peer changes here, is sent, or was refused when it wanted to, is in the audit log with
//!   its name.
//! - A request is small but for streams, and comes soon; a stream is on a thread of its own.

mod sources;

use crate::app::{Shared, apart, patient};
use crate::audit::{Auditor, Deed};
use crate::caller::known;
use crate::flow::Incoming;
use crate::https::{Comer, Neighbours};
use crate::peer_words::not_paired;
use crate::problem::{Refusal, refuse};
use api_types::{FailureClass, Peer, PeerRelation, Problem, kind};
use appliance::replication::{Claim, Fault, Guest, Taken, Time};
use axum::body::{Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Json, Router};
use engine_api::{HandleKey, Identity};
use peers::Book;
use peers::wire::{self, Adopt, Confirm, Destroy, Failed, Hello, Original, Pair, REQUEST_MAX, Receive};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::Read;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stdx::behalf::{Actor, Way};
use stdx::patience::hurried;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// How long a request may take to come.
const PATIENCE: Duration = Duration::from_secs(30);
/// What is taken of a stream that nobody wants any more, so that its sender hears why.
const LEFT: u64 = 64 << 20;
const LEFT_PATIENCE: Duration = Duration::from_secs(10);
/// Connections of peers count as one account's: no account of people has this number.
const ACCOUNT: u32 = u32::MAX;

#[derive(Clone)]
struct Peering {
    app: Shared,
    book: Arc<Book>,
    auditor: Auditor,
    streams: sources::Streams,
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let Failure(failed) = self;
        let status = StatusCode::from_u16(failed.problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, Json(failed)).into_response()
    }
}

/// Why something was not done, as it is sent.
struct Failure(Failed);

impl Failure {
    fn of(class: FailureClass, Refusal(problem): Refusal) -> Failure {
        Failure(Failed { class, problem })
    }
}

impl From<Fault> for Failure {
    fn from((class, why): Fault) -> Failure {
        Failure::of(class, why.into())
    }
}

/// What has no room, or no thread, has it later.
impl From<Refusal> for Failure {
    fn from(why: Refusal) -> Failure {
        let Refusal(Problem { kind: of, .. }) = &why;
        let class = match of.as_str() {
            kind::BAD_REQUEST => FailureClass::NeedsPerson,
            _ => FailureClass::Retriable,
        };
        Failure::of(class, why)
    }
}

type Answer<T> = Result<Json<T>, Failure>;

/// How other appliances are served, where any may be known.
pub fn neighbours(
    app: &Shared,
    book: Option<Arc<Book>>,
    auditor: Auditor,
) -> Result<Option<Neighbours>, String> {
    let Some(book) = book else { return Ok(None) };
    let config = peers::tls::server(book.identity()).map_err(|error| error.to_string())?;
    Ok(Some(Neighbours { config, router: router(app.clone(), book, auditor) }))
}

/// Everything that a peer may ask.
fn router(app: Shared, book: Arc<Book>, auditor: Auditor) -> Router {
    Router::new()
        .route(wire::HELLO, post(hello))
        .route(wire::LOOK, post(look))
        .route(wire::RECEIVE, post(receive))
        .route(wire::ORIGINAL, post(original))
        .route(wire::RELATIONS, post(relations))
        .route(wire::PROMOTED, post(promoted))
        .route(wire::ABORT, post(abort))
        .route(wire::DESTROY, post(destroy))
        .route(wire::ADOPT, post(adopt))
        .route(wire::SOURCE_NAMES, post(sources::names))
        .route(wire::SOURCE_READ, post(sources::read))
        .route(wire::SOURCE_CHANGE, post(sources::change))
        .route(wire::SOURCE_MAKE, post(sources::make))
        .route(wire::SOURCE_REST, post(sources::rest))
        .route(wire::SOURCE_SEND, post(sources::send))
        .route(wire::PAIR, post(pair))
        .route(wire::CONFIRM, post(confirm))
        .fallback(nothing)
        .with_state(Peering { app, book, auditor, streams: sources::streams() })
}

async fn nothing() -> Failure {
    refuse(kind::BAD_REQUEST, "peers are not asked that").into()
}

async fn body<T: DeserializeOwned>(request: Request) -> Result<T, Failure> {
    let unread = |why: String| Failure::from(refuse(kind::BAD_REQUEST, format!("request: {why}")));
    let bytes: Bytes = match timeout(PATIENCE, to_bytes(request.into_body(), REQUEST_MAX)).await {
        Ok(bytes) => bytes.map_err(|error| unread(error.to_string()))?,
        Err(_) => return Err(unread("it does not come".into())),
    };
    serde_json::from_slice(&bytes).map_err(|error| unread(error.to_string()))
}

/// As whom a peer's wishes are carried out: what it may, was decided before.
fn actor() -> Arc<Actor> {
    Arc::new(Actor { way: Way::Service, ..Actor::itself() })
}

impl Peering {
    /// Asks something for a peer, on a blocking thread.
    async fn with<T: Send + 'static>(
        &self,
        comer: Comer,
        work: impl FnOnce(&Guest<'_>, Time) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Failure> {
        let peer = self.peer(comer).await?;
        let work = patient(self.app.clone(), move |app| {
            let Peer { name, grants, reads, .. } = &peer;
            let guest = Guest { engine: app.engine(), name, grants, reads };
            let now = app.now();
            Ok(hurried(|| work(&guest, now)))
        });
        Ok(known(actor(), work).await??)
    }

    /// Does something for a peer that changes something here, and notes it: whether or not the peer
    /// hears of it.
    async fn doing<T: Send + 'static>(
        &self,
        comer: Comer,
        (path, target): (&'static str, String),
        work: impl FnOnce(&Guest<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Failure> {
        let desk = Desk { auditor: self.auditor.clone(), address: comer.address, path };
        let done = self.with(comer, move |guest, _| {
            let done = work(guest);
            Ok(desk.note(guest.name, &target, done))
        });
        done.await?
    }

    /// Who has come, if that is a peer.
    async fn peer(&self, comer: Comer) -> Result<Peer, Failure> {
        let (book, fingerprint) = (self.book.clone(), comer.fingerprint);
        let found = patient(self.app.clone(), move |_| Ok(book.known(fingerprint)));
        let found = known(actor(), found).await?.map_err(|fault| {
            tracing::error!(%fault, "which peers there are is not known");
            Failure::from(refuse(kind::UNAVAILABLE, "which peers there are is not known"))
        })?;
        match found {
            Some(peer) if comer.place.let_in(ACCOUNT) => Ok(peer),
            Some(_) => Err(refuse(kind::UNAVAILABLE, "there are too many connections of peers").into()),
            None => {
                let why = refuse(kind::UNAUTHENTICATED, "this machine does not know the one that asks");
                Err(Failure::of(FailureClass::NeedsPerson, why))
            }
        }
    }
}

/// Where it is noted what a peer does.
struct Desk {
    auditor: Auditor,
    address: IpAddr,
    path: &'static str,
}

impl Desk {
    /// How it ended.
    fn note<T>(&self, who: &str, target: &str, done: Result<T, Fault>) -> Result<T, Failure> {
        let done = done.map_err(Failure::from);
        let status = done.as_ref().map_or_else(|Failure(failed)| failed.problem.status, |_| 200);
        self.tell(who, target, status);
        done
    }

    fn tell(&self, who: &str, target: &str, status: u16) {
        self.auditor.note_peer(Deed { who, address: self.address, path: self.path, target, status });
    }
}

async fn hello(
    State(peering): State<Peering>,
    Extension(comer): Extension<Comer>,
    request: Request,
) -> Answer<Hello> {
    let peer = peering.peer(comer).await?;
    let _: Hello = body(request).await?;
    paired(peering, move |book| Ok(book.answer(peer)?)).await
}

async fn look(
    State(peering): State<Peering>,
    Extension(comer): Extension<Comer>,
    request: Request,
) -> Result<Response, Failure> {
    let claim: Claim = body(request).await?;
    let found = peering.with(comer, move |guest, _| guest.look(&claim)).await?;
    Ok(Json(found).into_response())
}

async fn original(
    State(peering): State<Peering>,
    Extension(comer): Extension<Comer>,
    request: Request,
) -> Answer<bool> {
    let peer = peering.peer(comer).await?;
    let Original { service, guid } = body(request).await?;
    let work = patient(peering.app.clone(), move |app| {
        let services = app.services().ok_or_else(|| refuse(kind::UNAVAILABLE, "there are no services"))?;
        Ok(hurried(|| app.appliance.is_original(services, (&peer.name, &peer.reads), &service, guid))?)
    });
    Ok(Json(known(actor(), work).await?))
}

async fn relations(
    State(peering): State<Peering>,
    Extension(comer): Extension<Comer>,
    request: Request,
) -> Answer<Vec<PeerRelation>> {
    let peer = peering.peer(comer).await?;
    let (): () = body(request).await?;
    let work = patient(peering.app.clone(), move |app| {
        let services = app.services().ok_or_else(|| refuse(kind::UNAVAILABLE, "there are no services"))?;
        Ok(services.relations(&peer.name))
    });
    Ok(Json(known(actor(), work).await?))
}

async fn promoted(
    State(peering): State<Peering>,
    Extension(comer): Extension<Comer>,
    request: Request,
) -> Result<Response, Failure> {
    let claim: Claim = body(request).await?;
    let live = peering.with(comer, move |guest, _| guest.promoted(&claim)).await?;
    Ok(Json(live).into_response())
}

async fn abort(
    State(peering): State<Peering>,
    Extension(comer): Extension<Comer>,
    request: Request,
) -> Answer<()> {
    let claim: Claim = body(request).await?;
    let target = (wire::ABORT, claim.dataset.clone());
    peering.doing(comer, target, move |guest| guest.abort(&claim)).await.map(Json)
}

async fn destroy(
    State(peering): State<Peering>,
    Extension(comer): Extension<Comer>,
    request: Request,
) -> Answer<()> {
    let Destroy { claim, snapshot, guid } = body(request).await?;
    let target = (wire::DESTROY, format!("{}@{snapshot}", claim.dataset));
    peering.doing(comer, target, move |guest| guest.destroy(&claim, &snapshot, guid)).await.map(Json)
}

async fn adopt(
    State(peering): State<Peering>,
    Extension(comer): Extension<Comer>,
    request: Request,
) -> Answer<()> {
    let Adopt { claim, pool_guid, dataset_guid, key } = body(request).await?;
    let identity = Identity { pool_guid, dataset_guid, key: key.map(HandleKey::from_bytes) };
    let target = (wire::ADOPT, claim.dataset.clone());
    peering.doing(comer, target, move |guest| guest.adopt(&claim, identity)).await.map(Json)
}

async fn receive(
    State(peering): State<Peering>,
    Extension(comer): Extension<Comer>,
    request: Request,
) -> Answer<()> {
    let desk = Desk { auditor: peering.auditor.clone(), address: comer.address, path: wire::RECEIVE };
    let peer = peering.peer(comer).await?;
    let mut incoming = Incoming::of(request.into_body(), PATIENCE);
    let (tell, told) = oneshot::channel();
    let begun = known(actor(), async {
        apart(peering.app.clone(), move |app| {
            let Peer { name, grants, reads, .. } = &peer;
            let guest = Guest { engine: app.engine(), name, grants, reads };
            let done = incoming.request().map_err(Failure::from).and_then(|request: Receive| {
                let Receive { claim, props, at } = request;
                tracing::info!(peer = peer.name, dataset = claim.dataset, "a stream of a peer");
                let now = app.now();
                let mut tell = |taken: Taken<'_>| match taken {
                    Taken::Received { is_new: true } => {
                        desk.tell(name, &format!("{}, new", claim.dataset), 200);
                    }
                    Taken::Received { is_new: false } => desk.tell(name, &claim.dataset, 200),
                    Taken::Destroyed { snapshot } => desk.tell(name, &format!("{snapshot}, destroyed"), 200),
                };
                let done = hurried(|| guest.receive(&claim, (props, at), (&mut incoming, &mut tell), now));
                match done {
                    Ok(()) => Ok(()),
                    failed => desk.note(name, &claim.dataset, failed),
                }
            });
            let is_over = done.is_ok();
            // Who asked may have gone.
            drop(tell.send(done));
            if !is_over {
                pass_over(&mut incoming);
            }
        })
    });
    begun.await?;
    let lost = || Failure::from(refuse(kind::INTERNAL, "a fault of ours; the log says more"));
    told.await.map_err(|_| lost())?.map(Json)
}

/// Reads what still comes, within bounds.
fn pass_over(incoming: &mut Incoming) {
    let (mut buffer, mut left, begun) = (vec![0; 64 << 10], LEFT, Instant::now());
    while let Ok(len @ 1..) = incoming.read(&mut buffer) {
        left = left.saturating_sub(len as u64);
        if left == 0 || begun.elapsed() > LEFT_PATIENCE {
            return;
        }
    }
}

/// Of the book, on behalf of whoever has come.
async fn paired<T: Serialize + Send + 'static>(
    peering: Peering,
    work: impl FnOnce(&Book) -> Result<T, peers::Refused> + Send + 'static,
) -> Answer<T> {
    let book = peering.book.clone();
    let done = known(actor(), patient(peering.app, move |_| Ok(work(&book)))).await?;
    done.map(Json).map_err(|why| Failure::of(FailureClass::NeedsPerson, not_paired(why).refusal()))
}

async fn pair(
    State(peering): State<Peering>,
    Extension(comer): Extension<Comer>,
    request: Request,
) -> Answer<Pair> {
    let theirs: Pair = body(request).await?;
    paired(peering, move |book| book.pair(comer.fingerprint, &theirs)).await
}

async fn confirm(
    State(peering): State<Peering>,
    Extension(comer): Extension<Comer>,
    request: Request,
) -> Answer<Confirm> {
    let theirs: Confirm = body(request).await?;
    let desk = Desk { auditor: peering.auditor.clone(), address: comer.address, path: wire::CONFIRM };
    paired(peering, move |book| {
        let proof = book.confirm(comer.fingerprint, &theirs)?;
        if let Some(peer) = book.known(comer.fingerprint)? {
            desk.tell(&peer.name, "a peer by a code", 200);
        }
        Ok(proof)
    })
    .await
}
