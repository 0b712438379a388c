//! Local mounts and shares.

use crate::app::{App, Body, Shared, answer, blocking, parse};
use crate::words::failure;
use api_types::{Mount, MountOutcome, MountRequest, Share, ShareRequest, UnmountRequest};
use appliance::Outcome;
use axum::extract::State;
use axum::response::Response;

pub async fn mounted(State(app): State<Shared>) -> Response {
    answer(Ok(mounts(&app)))
}

fn mounts(app: &App) -> Vec<Mount> {
    let mounts = app.appliance.local.mounted().into_iter();
    let mut mounts: Vec<Mount> = mounts
        .map(|mount| Mount { dataset: mount.dataset, mountpoint: mount.mountpoint, options: mount.options })
        .collect();
    mounts.sort_by(|a, b| a.mountpoint.cmp(&b.mountpoint));
    mounts
}

fn told(outcome: Outcome) -> MountOutcome {
    MountOutcome { done: outcome.done, failed: outcome.failed.into_iter().map(failure).collect() }
}

pub async fn mount(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<MountRequest>(body);
    blocking(app, move |app| Ok(told(app.appliance.mount(&request?)?))).await
}

pub async fn unmount(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<UnmountRequest>(body);
    blocking(app, move |app| Ok(told(app.appliance.unmount(&request?)?))).await
}

pub async fn shared(State(app): State<Shared>) -> Response {
    blocking(app, |app| {
        let mut shares: Vec<Share> = app
            .appliance
            .local
            .shared()
            .into_iter()
            .map(|share| Share { dataset: share.dataset, path: share.path, options: share.options })
            .collect();
        shares.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(shares)
    })
    .await
}

pub async fn share(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<ShareRequest>(body);
    blocking(app, move |app| Ok(told(app.appliance.share(&request?)?))).await
}

pub async fn unshare(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<ShareRequest>(body);
    blocking(app, move |app| Ok(told(app.appliance.unshare(&request?)?))).await
}
