//! Counts of all parts of the appliance, gathered at one moment for whoever asks.

use std::collections::HashSet;

use api_types::{DiskStatistics, PoolStatus, Statistics, VdevStatus};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;

use crate::app::{App, Shared};

/// Counts the answers of all requests that come to the table.
pub async fn counted(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let answer = next.run(request).await;
    app.tally.answer(answer.status().as_u16());
    answer
}

/// All counts as they are now.
pub fn of(app: &App, pools: &[PoolStatus]) -> Statistics {
    let (file_systems, volumes) = app.engine().activity();
    Statistics {
        run: app.tally.run(),
        uptime: app.tally.uptime(),
        file_systems,
        volumes,
        disks: pools.iter().flat_map(disks).collect(),
        program: app.program.statistics(),
        api: app.tally.answers(),
        jobs: app.tally.jobs(),
    }
}

/// All pools, by name.
pub fn pools(app: &App) -> Vec<PoolStatus> {
    let mut pools: Vec<_> = app.engine().pools().iter().map(|pool| pool.status()).collect();
    pools.sort_by(|a, b| a.name.cmp(&b.name));
    pools
}

/// The disks of a pool, each once: a spare in use is a disk of the tree.
fn disks(pool: &PoolStatus) -> Vec<DiskStatistics> {
    let mut found = Vec::new();
    for top in &pool.root.children {
        let class = if top.is_log { "log" } else { top.class.as_deref().unwrap_or("data") };
        leaves(pool, top, class, &mut found);
    }
    pool.cache.iter().for_each(|disk| leaves(pool, disk, "cache", &mut found));
    pool.spares.iter().for_each(|disk| leaves(pool, disk, "spare", &mut found));
    let mut names = HashSet::new();
    found.retain(|disk| names.insert(disk.name.clone()));
    found
}

fn leaves(pool: &PoolStatus, vdev: &VdevStatus, class: &str, found: &mut Vec<DiskStatistics>) {
    if !vdev.children.is_empty() {
        vdev.children.iter().for_each(|child| leaves(pool, child, class, found));
        return;
    }
    found.push(DiskStatistics {
        pool: pool.name.clone(),
        name: vdev.path.clone().unwrap_or_else(|| vdev.name.clone()),
        class: class.to_owned(),
        health: vdev.health,
        read_errors: vdev.read_errors,
        write_errors: vdev.write_errors,
        checksum_errors: vdev.checksum_errors,
        io: vdev.io,
    });
}
