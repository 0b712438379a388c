//! Sources that other appliances pull from here.
//!
//! Invariants:
//! - What a peer may read, [`Guest`] says, of what is allowed as it asks. A stream goes on for no
//!   more than a second after that was taken away.
//! - A peer has no more than [`OF_ONE`] streams at a time, and all together have [`OF_ALL`]: others
//!   have the rest of the threads for streams. Who takes nothing of one for a quarter of an hour is
//!   cut off, as the client of any stream is (`crate::connection`).

use super::{Answer, Desk, Failure, Peering, actor, body};
use crate::app::apart;
use crate::caller::known;
use crate::flow::{Outgoing, Stream};
use crate::https::Comer;
use crate::problem::refuse;
use crate::shares::{Shares, Turn};
use api_types::{ClaimFault, FailureClass, Fingerprint, Peer, SyncStep, kind};
use appliance::NotServed;
use appliance::replication::{Fault, Guest, Offered};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use engine_api::SendEvent;
use peers::Book;
use peers::wire::{self, Fetch, Make, Names, Read, Rest, Step, Told};
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};
use stdx::patience::hurried;
use tokio::sync::oneshot;

/// Streams to one peer, and to all.
const OF_ONE: usize = 8;
const OF_ALL: usize = 64;
/// How often it is looked whether a peer may still read what it is sent.
const LOOK: Duration = Duration::from_secs(1);

/// Places for streams that are sent to peers.
pub type Streams = Arc<Shares<Fingerprint>>;

pub fn streams() -> Streams {
    Arc::new(Shares::new(OF_ALL, OF_ONE))
}

pub async fn names(
    State(peering): State<Peering>,
    Extension(comer): Extension<Comer>,
    request: Request,
) -> Answer<Vec<(String, u64)>> {
    let Names { dataset, guid } = body(request).await?;
    let names = peering.with(comer, move |guest, _| guest.names(&dataset, guid)).await?;
    Ok(Json(names.into_iter().map(|it| (it.name, it.guid)).collect()))
}

pub async fn read(
    State(peering): State<Peering>,
    Extension(comer): Extension<Comer>,
    request: Request,
) -> Answer<Offered> {
    let Read { claim, counts, anew } = body(request).await?;
    peering.with(comer, move |guest, now| guest.read(&claim, (counts, anew), now)).await.map(Json)
}

pub async fn change(
    State(peering): State<Peering>,
    Extension(comer): Extension<Comer>,
    request: Request,
) -> Answer<()> {
    let Step { claim, step, at } = body(request).await?;
    let target = (wire::SOURCE_CHANGE, shown(&claim.dataset, &step));
    peering.doing(comer, target, move |guest| guest.change(&claim, &step, at)).await.map(Json)
}

pub async fn make(
    State(peering): State<Peering>,
    Extension(comer): Extension<Comer>,
    request: Request,
) -> Answer<()> {
    let Make { wanted, at } = body(request).await?;
    let names: Vec<String> = wanted.iter().map(|(of, name)| format!("{}@{name}", of.dataset)).collect();
    let target = (wire::SOURCE_MAKE, format!("make {}", names.join(" ")));
    peering.doing(comer, target, move |guest| guest.make_together(&wanted, at)).await.map(Json)
}

pub async fn rest(
    State(peering): State<Peering>,
    Extension(comer): Extension<Comer>,
    request: Request,
) -> Answer<bool> {
    let Rest { claim, token } = body(request).await?;
    peering.with(comer, move |guest, _| guest.has_rest(&claim, &token)).await.map(Json)
}

/// What is refused before a byte was sent, is refused as anything is.
pub async fn send(
    State(peering): State<Peering>,
    Extension(comer): Extension<Comer>,
    request: Request,
) -> Result<Response, Failure> {
    let fingerprint = comer.fingerprint;
    let desk = Desk { auditor: peering.auditor.clone(), address: comer.address, path: wire::SOURCE_SEND };
    let peer = peering.peer(comer).await?;
    let Fetch { claim, content } = body(request).await?;
    let Some(turn) = peering.streams.take(fingerprint) else {
        return Err(refuse(kind::BUSY, "as many streams are sent to peers as may be; try again later").into());
    };
    let (out, pieces) = Outgoing::new();
    let (tell, begun) = oneshot::channel();
    let book = peering.book.clone();
    let apart = known(actor(), async {
        apart(peering.app.clone(), move |app| {
            let _turn: Turn = turn;
            let Peer { name, grants, reads, .. } = &peer;
            let guest = Guest { engine: app.engine(), name, grants, reads };
            tracing::info!(peer = name, dataset = claim.dataset, "a stream for a peer");
            let allowed = Allowed { book: &book, fingerprint, dataset: &claim.dataset };
            let mut stream = Watched::new(out.stream(), &allowed);
            let mut begin = Some(tell);
            let mut told = |event| {
                let SendEvent::Planned { snapshot, size, .. } = event else { return };
                desk.tell(name, &format!("send {snapshot}"), 200);
                out.tell(&Told::Planned { snapshot, size });
                // Who asked may have gone.
                begin.take().map(|begin| begin.send(Ok(())));
            };
            let sent = hurried(|| guest.send(&claim, &content, &mut stream, &mut told));
            let sent = sent.and_then(|()| stream.flush().map_err(|_| broken()));
            let sent = if stream.is_taken_away { Err(not_readable(&claim.dataset)) } else { sent };
            drop(stream);
            let failed = match sent {
                Ok(()) => Ok(()),
                failed => desk.note(name, &format!("send {}", claim.dataset), failed),
            };
            match (failed, begin) {
                (Ok(()), _) => out.tell(&Told::Done),
                (Err(Failure(failed)), None) => out.tell(&Told::Failed(Box::new(failed))),
                (Err(failure), Some(begin)) => drop(begin.send(Err(failure))),
            }
        })
    });
    apart.await?;
    begun
        .await
        .map_err(|_| Failure::from(refuse(kind::INTERNAL, "a fault of ours; the log says more")))??;
    Ok(pieces.into_response())
}

/// A step, as a record has it.
fn shown(dataset: &str, step: &SyncStep) -> String {
    match step {
        SyncStep::Snapshot { snapshot } => format!("make {dataset}@{snapshot}"),
        SyncStep::Hold { snapshot } => format!("hold {dataset}@{snapshot}"),
        SyncStep::Release { snapshot } => format!("release {dataset}@{snapshot}"),
        SyncStep::Bookmark { snapshot } => format!("bookmark {dataset}@{snapshot}"),
        SyncStep::Destroy { name, .. } => format!("destroy {dataset}{name}"),
        SyncStep::Send { .. } | SyncStep::Resume | SyncStep::Abort | SyncStep::Stamp { .. } => {
            dataset.to_owned()
        }
    }
}

fn not_readable(dataset: &str) -> Fault {
    let why = ClaimFault::NotReadable { dataset: dataset.to_owned() };
    (FailureClass::NeedsPerson, NotServed::Claim(why).into())
}

/// Nobody is there who would be told.
fn broken() -> Fault {
    (FailureClass::Retriable, NotServed::Stopped.into())
}

/// What a peer is being sent.
struct Allowed<'a> {
    book: &'a Book,
    fingerprint: Fingerprint,
    dataset: &'a str,
}

impl Allowed<'_> {
    /// Whether it may still read it. What is not known now is looked at again.
    fn holds(&self) -> bool {
        match self.book.known(self.fingerprint) {
            Ok(Some(peer)) => Guest::read_of(&peer.reads, self.dataset).is_some(),
            Ok(None) => false,
            Err(_) => true,
        }
    }
}

/// A stream that ends once its receiver may not have it any more.
struct Watched<'a> {
    to: Stream<'a>,
    allowed: &'a Allowed<'a>,
    looked: Instant,
    is_taken_away: bool,
}

impl<'a> Watched<'a> {
    fn new(to: Stream<'a>, allowed: &'a Allowed<'a>) -> Watched<'a> {
        Watched { to, allowed, looked: Instant::now(), is_taken_away: false }
    }
}

impl Write for Watched<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.looked.elapsed() >= LOOK {
            self.is_taken_away |= !self.allowed.holds();
            self.looked = Instant::now();
        }
        if self.is_taken_away {
            return Err(ErrorKind::PermissionDenied.into());
        }
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
