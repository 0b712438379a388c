//! The peers of this machine, and how two appliances become peers.

use super::accounts::Answer;
use crate::app::{Body, Shared, parse, patient};
use crate::denied::Unserved;
use crate::path::Path;
use crate::peer_words::{check_peer, not_paired};
use crate::problem::{Refusal, refuse};
use api_types::{
    Peer, PeerAdd, PeerChange, PeerChecked, PeerIdentity, PeerInvite, PeerInvited, PeerJoin, PeerRelation,
    kind,
};
use axum::Json;
use axum::extract::State;
use peers::{Book, Refused};

/// Asks the book on a blocking thread. What waits for the other side takes none of the places of
/// accounts.
async fn ask<T: Send + 'static>(
    app: Shared,
    work: impl FnOnce(&Book) -> Result<T, Refused> + Send + 'static,
) -> Result<T, Unserved> {
    let book = app.peers()?.clone();
    let done = patient(app, move |_| Ok(work(&book))).await?;
    done.map_err(not_paired)
}

/// Asked of the peer, for it alone knows what its sources have.
pub async fn relations(State(app): State<Shared>, Path(name): Path<String>) -> Answer<Vec<PeerRelation>> {
    ask(app, move |book| {
        book.one(&name)?;
        book.relations(&name).map_err(|why| Refused::Unanswered(name, Box::new(why)))
    })
    .await
    .map(Json)
}

pub async fn own(State(app): State<Shared>) -> Answer<PeerIdentity> {
    ask(app, |book| Ok(book.own())).await.map(Json)
}

pub async fn list(State(app): State<Shared>) -> Answer<Vec<Peer>> {
    ask(app, Book::all).await.map(Json)
}

pub async fn one(State(app): State<Shared>, Path(name): Path<String>) -> Answer<Peer> {
    ask(app, move |book| book.one(&name)).await.map(Json)
}

pub async fn add(State(app): State<Shared>, body: Body) -> Answer<Peer> {
    let new: PeerAdd = needed(body)?;
    ask(app, move |book| book.add(new)).await.map(Json)
}

/// A body that says nothing is no question.
fn needed<T: serde::de::DeserializeOwned>(body: Body) -> Result<T, Refusal> {
    let given: serde_json::Value = parse(body)?;
    serde_json::from_value(given).map_err(|error| refuse(kind::BAD_REQUEST, format!("request body: {error}")))
}

pub async fn change(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Answer<Peer> {
    let change: PeerChange = parse(body)?;
    ask(app, move |book| book.change(&name, change)).await.map(Json)
}

pub async fn remove(State(app): State<Shared>, Path(name): Path<String>) -> Answer<()> {
    ask(app, move |book| book.remove(&name)).await.map(Json)
}

pub async fn invite(State(app): State<Shared>, body: Body) -> Answer<PeerInvited> {
    let wanted: PeerInvite = parse(body)?;
    ask(app, move |book| book.invite(wanted)).await.map(Json)
}

pub async fn join(State(app): State<Shared>, body: Body) -> Answer<Peer> {
    let join: PeerJoin = parse(body)?;
    ask(app, move |book| book.join(join)).await.map(Json)
}

/// That it does not answer is an answer.
pub async fn check(State(app): State<Shared>, Path(name): Path<String>) -> Answer<PeerChecked> {
    let checked = ask(app, move |book| {
        book.one(&name)?;
        Ok(check_peer(book, &name))
    });
    checked.await.map(Json)
}
