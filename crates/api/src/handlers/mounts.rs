//! Local mounts and shares.

use crate::app::{App, Body, Shared, answer, blocking, posted};
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
    posted(app, body, |app, asked: MountRequest| Ok(told(app.appliance.mount(&asked)?))).await
}

pub async fn unmount(State(app): State<Shared>, body: Body) -> Response {
    posted(app, body, |app, asked: UnmountRequest| Ok(told(app.appliance.unmount(&asked)?))).await
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
    posted(app, body, |app, asked: ShareRequest| Ok(told(app.appliance.share(&asked)?))).await
}

pub async fn unshare(State(app): State<Shared>, body: Body) -> Response {
    posted(app, body, |app, asked: ShareRequest| Ok(told(app.appliance.unshare(&asked)?))).await
}
