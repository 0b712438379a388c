//! Local mounts and shares.

use crate::app::{App, Body, Shared, answer, blocking, parse};
use crate::handlers::datasets::find;
use crate::local::{LocalMount, MountSpec};
use crate::mounting::{self, Candidate, mount_failure, not_mountable, unmount_failure, value};
use crate::problem::{of_error, problem};
use api_types::{Mount, MountOutcome, MountRequest, Problem, Share, ShareRequest, UnmountRequest, kind};
use axum::extract::State;
use axum::response::Response;
use engine_api::{DatasetKind, Error};

pub async fn mounted(State(app): State<Shared>) -> Response {
    answer(Ok(mounts(&app)))
}

fn mounts(app: &App) -> Vec<Mount> {
    let mut mounts: Vec<Mount> = app
        .local
        .mounted()
        .into_iter()
        .map(|mount| Mount { dataset: mount.dataset, mountpoint: mount.mountpoint, options: mount.options })
        .collect();
    mounts.sort_by(|a, b| a.mountpoint.cmp(&b.mountpoint));
    mounts
}

pub async fn mount(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<MountRequest>(body);
    blocking(app, move |app| run_mount(app, &request?)).await
}

fn run_mount(app: &App, request: &MountRequest) -> Result<MountOutcome, Problem> {
    if request.all {
        let mut outcome = MountOutcome::default();
        for pool in app.engine.pools() {
            let told = |_: &str, _, _| {};
            let (done, failed) =
                mounting::mount_all(app, &pool.name(), &request.options, request.overlay, told);
            outcome.done.extend(done);
            outcome.failed.extend(failed);
        }
        return Ok(outcome);
    }
    let info = find(app, &request.dataset, DatasetKind::Filesystem)?;
    let mut one = Candidate::of(&info);
    let remounts = request.options.iter().any(|option| option == "remount");
    let has_place = !request.mountpoint.is_empty();
    // mount(8) remounts whatever is mounted.
    if !(has_place && remounts) {
        if has_place {
            one = mounting::legacy_at(one, &request.mountpoint)?;
        }
        if let Some(why) = not_mountable(&one, "mount") {
            return Err(why);
        }
    }
    if value(&info, "inconsistent") == Some("1") {
        const PART: &str = "Contains partially-completed state from \"zfs receive -s\", \
                            which can be resumed with \"zfs send -t\"";
        return Err(problem(kind::REFUSED, format!("cannot mount '{}': {PART}", one.dataset)));
    }
    if remounts {
        let options: Vec<String> =
            request.options.iter().filter(|option| *option != "remount").cloned().collect();
        app.local.remount(&one.dataset, &options).map_err(|error| {
            let told = match error {
                Error::NotFound => Error::Refused("not currently mounted".into()),
                other => other,
            };
            problem(&of_error(&told).kind, mount_failure(&one.dataset, &one.mountpoint, &told))
        })?;
        return Ok(MountOutcome { done: vec![one.dataset], failed: Vec::new() });
    }
    if app.local.mounted().iter().any(|mount| mount.dataset == one.dataset) {
        return Err(problem(kind::BUSY, mount_failure(&one.dataset, &one.mountpoint, &Error::Busy)));
    }
    let spec = MountSpec {
        dataset: one.dataset.clone(),
        mountpoint: one.mountpoint.clone(),
        options: request.options.clone(),
        overlay: request.overlay || one.overlay,
    };
    app.local.mount(&spec).map_err(|error| {
        problem(&of_error(&error).kind, mount_failure(&one.dataset, &one.mountpoint, &error))
    })?;
    Ok(MountOutcome { done: vec![one.dataset], failed: Vec::new() })
}

pub async fn unmount(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<UnmountRequest>(body);
    blocking(app, move |app| run_unmount(app, &request?)).await
}

fn run_unmount(app: &App, request: &UnmountRequest) -> Result<MountOutcome, Problem> {
    let mut mounts = app.local.mounted();
    // Deepest path first: a mount holds the one above it.
    mounts.sort_by(|a, b| b.mountpoint.cmp(&a.mountpoint));
    if request.all {
        let mut outcome = MountOutcome::default();
        let keeps = |mount: &LocalMount| {
            let info = find(app, &mount.dataset, DatasetKind::Filesystem);
            info.is_ok_and(|info| Candidate::of(&info).is_mounted_by_hand())
        };
        for mount in mounts.into_iter().filter(|mount| !keeps(mount)) {
            match app.local.unmount(&mount.dataset, false) {
                Ok(()) | Err(Error::NotFound) => outcome.done.push(mount.dataset),
                Err(error) => outcome.failed.push(unmount_failure(&mount.mountpoint, &error)),
            }
        }
        return Ok(outcome);
    }
    let target = request.target.as_str();
    let cannot = |why: &str| problem(kind::REFUSED, format!("cannot unmount '{target}': {why}"));
    let dataset = if target.starts_with('/') {
        let found = app.local.mounted_at(target).map_err(|error| of_error(&error))?;
        found.ok_or_else(|| cannot("not a mountpoint"))?
    } else if mounts.iter().any(|mount| mount.dataset == target) {
        target.to_owned()
    } else {
        find(app, target, DatasetKind::Filesystem)?;
        return Err(cannot("not currently mounted"));
    };
    // Other file systems may be mounted inside; they go first, and come back where the one asked
    // for stays.
    mounting::unmount_all(app, &dataset)?;
    Ok(MountOutcome { done: vec![dataset], failed: Vec::new() })
}

pub async fn shared(State(app): State<Shared>) -> Response {
    blocking(app, |app| {
        let mut shares: Vec<Share> = app
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
    blocking(app, move |app| run_share(app, &request?, true)).await
}

pub async fn unshare(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<ShareRequest>(body);
    blocking(app, move |app| run_share(app, &request?, false)).await
}

/// `share` and `unshare` differ in the verb and in which of the file systems it applies to.
fn run_share(app: &App, request: &ShareRequest, share: bool) -> Result<MountOutcome, Problem> {
    let shared = app.local.shared();
    let act = |dataset: &str| match share {
        true => app.local.share(dataset),
        false => app.local.unshare(dataset),
    };
    let verb = if share { "share" } else { "unshare" };
    if request.all {
        let mut outcome = MountOutcome::default();
        for dataset in targets_of_all(app, share) {
            match act(&dataset) {
                Ok(()) => outcome.done.push(dataset),
                Err(error) => outcome.failed.push(format!("cannot {verb} '{dataset}': {error}")),
            }
        }
        return Ok(outcome);
    }
    let target = shared
        .iter()
        .find(|one| one.path == request.target)
        .map_or_else(|| request.target.clone(), |one| one.dataset.clone());
    let info = find(app, &target, DatasetKind::Filesystem)?;
    let refuse = |kind: &str, why: &str| Err(problem(kind, format!("cannot {verb} '{target}': {why}")));
    if value(&info, "sharenfs").unwrap_or("off") == "off" {
        let hint = match share {
            true => {
                "use exports(5) or smb.conf(5) to share this filesystem, or set the sharenfs or sharesmb property"
            }
            false => "use exports(5) or smb.conf(5) to unshare this filesystem",
        };
        return refuse(kind::REFUSED, &format!("legacy share\n{hint}"));
    }
    if let Some(why) = share.then(|| not_mountable(&Candidate::of(&info), verb)).flatten() {
        return Err(why);
    }
    match (share, shared.iter().any(|one| one.dataset == target)) {
        (true, true) => return refuse(kind::EXISTS, "filesystem already shared"),
        (false, false) => return refuse(kind::REFUSED, "not currently shared"),
        (true, false) | (false, true) => {}
    }
    act(&target).map_err(|error| {
        let told = of_error(&error);
        problem(&told.kind, format!("cannot {verb} '{target}': {told}"))
    })?;
    Ok(MountOutcome { done: vec![target], failed: Vec::new() })
}

fn targets_of_all(app: &App, share: bool) -> Vec<String> {
    match share {
        true => app.local.withdrawn(),
        false => app.local.shared().into_iter().map(|one| one.dataset).collect(),
    }
}
