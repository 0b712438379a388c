//! Shells of the console: opened, read, typed into, closed.

use super::accounts::Answer;
use super::pools::{Asked, query};
use crate::app::{Body, Shared, parse};
use crate::audit::{EndNote, Said};
use crate::caller::Asker;
use crate::denied::Unserved;
use crate::feed::EVENT_STREAM;
use crate::flow::Pieces;
use crate::path::Path;
use crate::problem::refuse;
use crate::shells::line::Reach;
use crate::shells::{Found, Shell};
use api_types::{ShellEnd, ShellEvent, ShellInput, ShellOpened, ShellOutputQuery, ShellSize, kind};
use axum::body::{Body as AnswerBody, Bytes};
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// How often a reader is sent something though nothing happens, and how long he may take nothing.
const QUIET: Duration = Duration::from_secs(15);
const STUCK: Duration = Duration::from_secs(60);

pub async fn open(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    reach: Option<Extension<Reach>>,
    body: Body,
) -> Response {
    let opened = begin(&app, &asker, reach, body).await;
    let said = opened.as_ref().ok().map(|shell| Said { target: Some(shell.id.clone()), ..Said::default() });
    let mut answer = match opened {
        Ok(shell) => Json(ShellOpened { id: shell.id.clone() }).into_response(),
        Err(why) => why.into_response(),
    };
    answer.extensions_mut().insert(said.unwrap_or_default());
    answer
}

async fn begin(
    app: &Shared,
    asker: &Asker,
    reach: Option<Extension<Reach>>,
    body: Body,
) -> Result<Arc<Shell>, Unserved> {
    let size: ShellSize = parse(body)?;
    let Some(Extension(reach)) = reach else {
        return Err(refuse(kind::BAD_REQUEST, "a shell is for the console; here, use 'cistern shell'").into());
    };
    app.shells.open(asker, size, reach, EndNote::of_this()).await
}

pub async fn output(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    Path(id): Path<String>,
    asked: Asked<ShellOutputQuery>,
) -> Result<Response, Unserved> {
    let ShellOutputQuery { after } = query(asked)?;
    let shell = app.shells.find(&id, &asker)?;
    let (to, pieces) = mpsc::channel(1);
    tokio::spawn(tell(shell, after, to));
    let media_type = HeaderValue::from_static(EVENT_STREAM);
    let headers =
        [(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((headers, AnswerBody::new(Pieces(pieces))).into_response())
}

/// Sends what a shell shows to one reader, until one of the two has gone.
async fn tell(shell: Arc<Shell>, after: u64, to: mpsc::Sender<Bytes>) {
    let (reader, mut at) = (shell.attach(), after);
    let mut news = shell.news();
    loop {
        news.borrow_and_update();
        let (event, is_last) = match shell.look(reader, at) {
            Found::Output(piece) => {
                at = piece.next;
                let event = ShellEvent::Output { at: piece.at, next: piece.next, text: piece.text };
                (Some(event), false)
            }
            Found::Taken => (Some(ShellEvent::Taken), true),
            Found::Ended(why) => (Some(ShellEvent::Ended { why }), true),
            Found::Nothing => match timeout(QUIET, news.changed()).await {
                Ok(Ok(())) => continue,
                // The sender is the shell's, which lives.
                Ok(Err(_)) | Err(_) => (None, false),
            },
        };
        // Plain data always has a form in JSON.
        let text = event.map_or_else(
            || ":\n\n".to_owned(),
            |event| format!("data: {}\n\n", serde_json::to_string(&event).unwrap_or_default()),
        );
        let is_sent = matches!(timeout(STUCK, to.send(text.into())).await, Ok(Ok(())));
        if !is_sent || is_last {
            return;
        }
        shell.was_read();
    }
}

pub async fn input(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    Path(id): Path<String>,
    body: Body,
) -> Answer<()> {
    let ShellInput { text } = parse(body)?;
    app.shells.find(&id, &asker)?.type_text(&text).await.map(Json)
}

pub async fn size(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    Path(id): Path<String>,
    body: Body,
) -> Answer<()> {
    let size: ShellSize = parse(body)?;
    app.shells.find(&id, &asker)?.resize(size).map(Json)
}

pub async fn close(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    Path(id): Path<String>,
) -> Answer<()> {
    app.shells.find(&id, &asker)?.end(ShellEnd::Closed);
    Ok(Json(()))
}
