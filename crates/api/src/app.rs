//! What every handler shares, and the hop from the runtime to a blocking thread.

use crate::caller::{asker, on_behalf};
use crate::jobs::{Jobs, Reporter};
use crate::local::LocalMounts;
use crate::problem::{of_error, problem};
use api_types::{JobResult, PROBLEM_MEDIA_TYPE, Problem, kind};
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine_api::{Engine, Error, Pool};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::sync::Semaphore;

/// How long a request that starts a job waits for its end before it answers with the job running.
const PATIENCE: Duration = Duration::from_millis(250);

/// Requests that are in the engine at one time, of those that may have to wait for a pool, and of
/// those that do not: they are answered whatever becomes of the others.
const PATIENT: usize = 64;
const PROMPT: usize = 16;
/// Likewise of guests, who are no administrators: they have a part of their own, and wait for each
/// other alone.
const GUESTS: usize = 16;
/// Together.
pub const BLOCKING: usize = PATIENT + PROMPT + GUESTS;
/// Streams, and requests that wait for what is to happen: each has a thread of its own.
const APART: usize = 256;
const GUESTS_APART: usize = 32;

pub struct App {
    pub engine: Arc<dyn Engine>,
    pub local: Arc<dyn LocalMounts>,
    pub jobs: Arc<Jobs>,
    pub room: Room,
    pub auto_mount: bool,
    pub version: String,
}

/// Who may work on requests.
pub struct Room {
    patient: Semaphore,
    prompt: Semaphore,
    guests: Semaphore,
    apart: Arc<Semaphore>,
    guests_apart: Arc<Semaphore>,
}

impl Room {
    pub fn new() -> Room {
        Room {
            patient: Semaphore::new(PATIENT),
            prompt: Semaphore::new(PROMPT),
            guests: Semaphore::new(GUESTS),
            apart: Arc::new(Semaphore::new(APART)),
            guests_apart: Arc::new(Semaphore::new(GUESTS_APART)),
        }
    }
}

impl Room {
    /// Where who asks in this task waits for his turn.
    fn of<'a>(&'a self, administrators: &'a Semaphore) -> &'a Semaphore {
        if asker().is_administrator { administrators } else { &self.guests }
    }

    fn apart(&self) -> (&Arc<Semaphore>, usize) {
        match asker().is_administrator {
            true => (&self.apart, APART),
            false => (&self.guests_apart, GUESTS_APART),
        }
    }
}

/// How handlers see it.
pub type Shared = Arc<App>;
/// A body as axum hands it over, or why it did not.
pub type Body = Result<Bytes, BytesRejection>;

impl App {
    pub fn pool(&self, name: &str) -> Result<Arc<dyn Pool>, Problem> {
        self.engine.pool(name).map_err(|error| match error {
            Error::NotFound => problem(kind::NOT_FOUND, format!("no such pool: {name}")),
            other => of_error(&other),
        })
    }

    /// The pool that a dataset, snapshot or bookmark of that name lies in.
    pub fn pool_of(&self, dataset: &str) -> Result<Arc<dyn Pool>, Problem> {
        let end = dataset.find(['/', '@', '#']).unwrap_or(dataset.len());
        self.pool(&dataset[..end])
    }
}

/// Wraps a problem so that axum can send it.
pub struct Refusal(pub Problem);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, axum::Json(self.0)).into_response();
        let media_type = header::HeaderValue::from_static(PROBLEM_MEDIA_TYPE);
        response.headers_mut().insert(header::CONTENT_TYPE, media_type);
        response
    }
}

pub fn answer<T: Serialize>(outcome: Result<T, Problem>) -> Response {
    match outcome {
        Ok(value) => axum::Json(value).into_response(),
        Err(why) => Refusal(why).into_response(),
    }
}

/// The body as JSON; an empty one is the type's default.
pub fn parse<T: DeserializeOwned + Default>(body: Body) -> Result<T, Problem> {
    let bytes = body.map_err(|rejection| problem(kind::BAD_REQUEST, rejection.body_text()))?;
    if bytes.is_empty() {
        return Ok(T::default());
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| problem(kind::BAD_REQUEST, format!("request body: {error}")))
}

/// Runs `work`, which may have to wait for a pool, on a blocking thread, and sends what it gives.
pub async fn blocking<T: Serialize + Send + 'static>(
    app: Shared,
    work: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
) -> Response {
    let own = app.clone();
    let _permit = own.room.of(&own.room.patient).acquire().await;
    hop(app, work).await
}

/// As [`blocking`], for work that waits for nothing, and is not to wait for those that do.
pub async fn prompt<T: Serialize + Send + 'static>(
    app: Shared,
    work: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
) -> Response {
    let own = app.clone();
    let _permit = own.room.of(&own.room.prompt).acquire().await;
    hop(app, work).await
}

/// Runs `work`, which may take as long as its client wants, on a thread of its own.
pub fn apart(app: Shared, work: impl FnOnce(&App) + Send + 'static) -> Result<(), Problem> {
    let (room, most) = app.room.apart();
    let Ok(permit) = room.clone().try_acquire_owned() else {
        return Err(problem(kind::BUSY, format!("{most} streams are under way already; try again later")));
    };
    let thread = thread::Builder::new().name("api-stream".to_owned()).spawn(on_behalf(move || {
        let _permit = permit;
        work(&app);
    }));
    thread.map(drop).map_err(|error| problem(kind::BUSY, format!("no thread to be had: {error}")))
}

async fn hop<T: Serialize + Send + 'static>(
    app: Shared,
    work: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
) -> Response {
    match tokio::task::spawn_blocking(on_behalf(move || work(&app))).await {
        Ok(outcome) => answer(outcome),
        Err(panic) => Refusal(problem(kind::INTERNAL, format!("a fault of ours: {panic}"))).into_response(),
    }
}

/// Parses the body, starts `work` as a job and sends the job, ended where it was quick.
pub async fn job<T: DeserializeOwned + Default + Send + 'static>(
    app: Shared,
    kind: &'static str,
    body: Body,
    target: impl FnOnce(&T) -> String,
    work: impl FnOnce(&App, &T, &Reporter) -> Result<JobResult, Problem> + Send + 'static,
) -> Response {
    let request: T = match parse(body) {
        Ok(request) => request,
        Err(why) => return Refusal(why).into_response(),
    };
    let target = target(&request);
    tracing::info!(kind, target, "job");
    let worker = Arc::clone(&app);
    match app.jobs.start(kind, &target, move |reporter| work(&worker, &request, reporter)) {
        Ok(started) => {
            let now = app.jobs.wait(started.id, PATIENCE, false).await.unwrap_or(started);
            (StatusCode::ACCEPTED, axum::Json(now)).into_response()
        }
        Err(why) => Refusal(why).into_response(),
    }
}
