//! Local mounts and shares.

use crate::app::{App, Body, Shared, answer, blocking, parse};
use crate::problem::Refusal;
use crate::words::failure;
use api_types::{Mount, MountOutcome, MountRequest, Share, ShareRequest, UnmountRequest};
use appliance::{MountAsked, Outcome};
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

/// What was done for all.
fn of_all(outcome: Outcome) -> MountOutcome {
    MountOutcome { done: outcome.done, failed: outcome.failed.into_iter().map(failure).collect() }
}

/// What was done for one.
fn of_one(dataset: String) -> MountOutcome {
    MountOutcome { done: vec![dataset], failed: Vec::new() }
}

pub async fn mount(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<MountRequest>(body);
    blocking(app, move |app| run_mount(app, request?)).await
}

fn run_mount(app: &App, request: MountRequest) -> Result<MountOutcome, Refusal> {
    let MountRequest { all, dataset, mountpoint, options, overlay } = request;
    if all {
        return Ok(of_all(app.appliance.mount_all_pools(&options, overlay)));
    }
    let asked = MountAsked { dataset, mountpoint, options, overlay };
    app.appliance.mount(&asked)?;
    Ok(of_one(asked.dataset))
}

pub async fn unmount(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<UnmountRequest>(body);
    blocking(app, move |app| {
        let request = request?;
        match request.all {
            true => Ok(of_all(app.appliance.unmount_all_pools())),
            false => Ok(of_one(app.appliance.unmount(&request.target)?)),
        }
    })
    .await
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
    blocking(app, move |app| {
        let request = request?;
        match request.all {
            true => Ok(of_all(app.appliance.share_all())),
            false => Ok(of_one(app.appliance.share(&request.target)?)),
        }
    })
    .await
}

pub async fn unshare(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<ShareRequest>(body);
    blocking(app, move |app| {
        let request = request?;
        match request.all {
            true => Ok(of_all(app.appliance.unshare_all())),
            false => Ok(of_one(app.appliance.unshare(&request.target)?)),
        }
    })
    .await
}
