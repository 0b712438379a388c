//! Pools that OpenZFS wrote: every path of their manifests, through a read-only import.

use engine::facade::{LocalEngine, Options};
use engine_api::{Engine, ImportOptions};
use env::Env;

use crate::manifest::Fixture;

fn reads_whole(name: &str, pool: &str) {
    let fixture = Fixture::unpack(name);
    let engine = LocalEngine::new(Env::real(), Options::default());
    let options =
        ImportOptions { search: vec![fixture.images()], readonly: true, ..ImportOptions::default() };
    let imported = engine.import(pool, &options).unwrap();
    let wrong = fixture.check(&*imported);
    assert!(
        wrong.is_empty(),
        "{} of {} paths: {:#?}",
        wrong.len(),
        fixture.paths(),
        &wrong[..wrong.len().min(40)]
    );
    engine.export(pool, false).unwrap();
}

#[test]
fn a_single_disk_with_everything() {
    reads_whole("single-default", "g_single");
}

#[test]
fn a_mirror() {
    reads_whole("mirror2", "g_mirror2");
}

#[test]
fn a_stripe_of_mirrors() {
    reads_whole("stripe-of-mirrors", "g_som");
}

#[test]
fn snapshots_and_clones() {
    reads_whole("snapshots", "g_snap");
}
