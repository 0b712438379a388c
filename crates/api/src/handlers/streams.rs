//! Sending and receiving streams.

use crate::app::{App, Body as Json, Shared, blocking, commit, parse};
use crate::flow::{self, Incoming, Outgoing};
use crate::path::Path;
use crate::problem::{Refusal, refused};
use crate::words::warnings;
use api_types::{AbortReceive, Receive, SendRequest, StreamEvent, Warnings, kind};
use appliance::ReceiveTold;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use engine_api::refusal::{Action, Refused, SendFault};
use engine_api::{Change, Pool, ReceiveEvent, ReceiveRequest, SendEvent};
use std::sync::Arc;

pub async fn receive(State(app): State<Shared>, body: Body) -> Response {
    flow::run(app, body, run_receive)
}

fn run_receive(
    app: &App,
    request: Receive,
    stream: &mut Incoming,
    out: &Outgoing,
) -> Result<Warnings, Refusal> {
    let no_mount = request.no_mount;
    let request = ReceiveRequest {
        target: request.target,
        keep_path: request.keep_path,
        keep_tail: request.keep_tail,
        force: request.force,
        dry_run: request.dry_run,
        verbose: request.verbose,
        origin: request.origin,
        props: request.props,
        marks: Vec::new(),
        exclude: request.exclude,
        skip_holds: request.skip_holds,
        resumable: request.resumable,
        heal: request.heal,
        single: false,
        history: request.history,
    };
    let told = app.appliance.receive(&request, no_mount, stream, &mut |told| {
        out.tell(&match told {
            ReceiveTold::Event(ReceiveEvent::Line(line)) => StreamEvent::Line(line),
            ReceiveTold::Event(ReceiveEvent::Done { bytes, nanos }) => StreamEvent::Received { bytes, nanos },
            ReceiveTold::Note(note) => StreamEvent::Note(note),
        });
    })?;
    Ok(warnings(told))
}

pub async fn abort(State(app): State<Shared>, Path(name): Path<String>, body: Json) -> Response {
    let request = parse::<AbortReceive>(body);
    blocking(app, move |app| {
        let change = Change::AbortReceive { name: name.clone() };
        commit(&*app.pool_of(&name)?, &change, &request?.history)
    })
    .await
}

pub async fn send(State(app): State<Shared>, body: Body) -> Response {
    flow::run(app, body, run_send)
}

fn run_send(
    app: &App,
    request: SendRequest,
    _nothing: &mut Incoming,
    out: &Outgoing,
) -> Result<Warnings, Refusal> {
    let pool = match &request.token {
        None => app.pool_of(&request.snapshot)?,
        Some(token) => sender_of(app, token, out)?,
    };
    let sent = pool.send(&request, &mut out.stream(), &mut |event| {
        out.tell(&match event {
            SendEvent::Token(says) => StreamEvent::Token(says),
            SendEvent::Planned { snapshot, from, size } => StreamEvent::Planned { snapshot, from, size },
            SendEvent::Skipped { dataset, is_new } => StreamEvent::Skipped { dataset, is_new },
            SendEvent::Begins(name) => StreamEvent::Begins(name),
            SendEvent::Visited(blocks) => StreamEvent::Visited(blocks),
        });
    });
    sent.map(|()| Warnings::default()).map_err(Refusal::from)
}

/// The pool that a stream came from, if it is here. What the token says is told in any case:
/// receivers ask for that.
fn sender_of(app: &App, token: &str, out: &Outgoing) -> Result<Arc<dyn Pool>, Refusal> {
    let token = app.engine().read_token(token)?;
    let snapshot = &token.snapshot;
    app.pool_of(snapshot).map_err(|_| {
        out.tell(&StreamEvent::Token(token.shown.clone()));
        let gone = SendFault::TokenOf { name: snapshot.clone(), exists: false };
        refused(kind::REFUSED, Refused::new(Action::ResumeSend, gone))
    })
}
