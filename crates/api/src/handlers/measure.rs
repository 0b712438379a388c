//! Counters, advice and estimates.

use super::pools::{Asked, query};
use crate::app::{Body, Shared, blocking, long, posted, prompt, prompted};
use crate::path::Path;
use crate::problem::refuse;
use crate::{convert, metrics, statistics};
use api_types::{AdviceQuestion, DedupEstimateQuery, LogFilter, SeriesQuery, kind};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use stdx::patience::hurried;

pub async fn statistics(State(app): State<Shared>) -> Response {
    prompt(app, |app| Ok(hurried(|| statistics::of(app, &statistics::pools(app))))).await
}

pub async fn history(State(app): State<Shared>, asked: Asked<SeriesQuery>) -> Response {
    prompt(app, move |app| {
        let asked = query(asked)?;
        let none = || refuse(kind::UNAVAILABLE, "there is no history; see the log");
        app.history.as_ref().ok_or_else(none)?.read(&asked)
    })
    .await
}

pub async fn metrics(State(app): State<Shared>) -> Response {
    match prompted(app, |app| Ok(hurried(|| metrics::exposition(app)))).await {
        Ok(text) => ([(header::CONTENT_TYPE, metrics::MEDIA_TYPE)], text).into_response(),
        Err(why) => why.into_response(),
    }
}

pub async fn cache(State(app): State<Shared>) -> Response {
    blocking(app, |app| Ok(convert::counts(app.engine().cache_counts()))).await
}

pub async fn drop_cache(State(app): State<Shared>) -> Response {
    blocking(app, |app| {
        app.engine().diagnostics().drop_cache();
        Ok(())
    })
    .await
}

pub async fn disks(State(app): State<Shared>) -> Response {
    blocking(app, |app| Ok(app.program.disks()?)).await
}

pub async fn iscsi_sessions(State(app): State<Shared>) -> Response {
    blocking(app, |app| Ok(app.program.iscsi_sessions())).await
}

pub async fn log_filter(State(app): State<Shared>) -> Response {
    blocking(app, |app| Ok(LogFilter { filter: app.program.log_filter(None)? })).await
}

pub async fn set_log_filter(State(app): State<Shared>, body: Body) -> Response {
    posted(app, body, |app, LogFilter { filter }| {
        let filter = app.program.log_filter(Some(&filter))?;
        tracing::info!(filter, "what is logged was changed");
        Ok(LogFilter { filter })
    })
    .await
}

pub async fn log(State(app): State<Shared>, Path(name): Path<String>) -> Response {
    blocking(app, move |app| Ok(convert::counts(app.pool(&name)?.log_counts()))).await
}

pub async fn iostat(State(app): State<Shared>, Path(name): Path<String>) -> Response {
    blocking(app, move |app| Ok(app.pool(&name)?.vdev_tallies())).await
}

pub async fn advice(
    State(app): State<Shared>,
    Path(name): Path<String>,
    asked: Asked<AdviceQuestion>,
) -> Response {
    long(app, move |app| {
        let question = query(asked)?;
        Ok(app.pool(&name)?.advise(&question)?)
    })
    .await
}

pub async fn dedup_estimate(
    State(app): State<Shared>,
    Path(name): Path<String>,
    asked: Asked<DedupEstimateQuery>,
) -> Response {
    long(app, move |app| {
        let DedupEstimateQuery { dataset } = query(asked)?;
        let dataset = if dataset.is_empty() { name.clone() } else { dataset };
        Ok(app.pool(&name)?.estimate_dedup(&dataset)?)
    })
    .await
}
