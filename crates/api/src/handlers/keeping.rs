//! Versions of the machine's state in a pool.

use super::pools::{Asked, query};
use crate::app::{App, Body, Shared, blocking, posted};
use crate::keeper::{Kept, StateKeeper};
use crate::problem::{Refusal, refuse};
use api_types::{KeepFailure, KeepIn, Keeping, StateRestore, StateVersionsQuery, kind};
use axum::extract::State;
use axum::response::Response;

fn keeper(app: &App) -> Result<&dyn StateKeeper, Refusal> {
    app.keeper().ok_or_else(|| refuse(kind::UNAVAILABLE, "this program keeps no state in pools"))
}

fn told(Kept { keeping, failure }: Kept) -> Keeping {
    let failure = failure.map(|(since, error)| {
        let Refusal(problem) = error.into();
        KeepFailure { since, problem }
    });
    Keeping { failure, ..keeping }
}

pub async fn show(State(app): State<Shared>) -> Response {
    blocking(app, |app| Ok(told(keeper(app)?.status()?))).await
}

pub async fn keep(State(app): State<Shared>, body: Body) -> Response {
    posted(app, body, |app, asked: KeepIn| {
        let kept = keeper(app)?.keep(&asked)?;
        tracing::info!(pool = asked.pool, "versions of the machine's state go there from now on");
        Ok(told(kept))
    })
    .await
}

pub async fn versions(State(app): State<Shared>, asked: Asked<StateVersionsQuery>) -> Response {
    blocking(app, move |app| {
        let StateVersionsQuery { pool } = query(asked)?;
        Ok(keeper(app)?.versions(pool.as_deref())?)
    })
    .await
}

pub async fn restore(State(app): State<Shared>, body: Body) -> Response {
    posted(app, body, |app, asked: StateRestore| {
        let restored = keeper(app)?.restore(&asked)?;
        if restored.staged {
            let number = restored.version.number;
            tracing::warn!(pool = asked.pool, number, "the next start restores the machine's state");
        }
        Ok(restored)
    })
    .await
}

pub async fn cancel(State(app): State<Shared>) -> Response {
    blocking(app, |app| Ok(told(keeper(app)?.cancel()?))).await
}
