//! The whole collection beside the repository: each pool is held against its manifest and each
//! stream is received, here or in the test that is named; what must wait is refused by name.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use engine::{LocalEngine, Options};
use engine_api::{Engine, ImportOptions, ReceiveRequest, SendRequest};
use env::Env;

use crate::manifest::Fixture;
use crate::streams::{Receiver, Sender};

const COLLECTION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/pools");

/// Archives, and who compares them with their manifests.
const POOLS: [(&str, &str); 16] = [
    ("checkpointed", "collection"),
    ("dedup", "collection"),
    ("dirty-zil", "fixtures"),
    ("dirty-zil-slog", "fixtures"),
    ("encrypted", "collection"),
    ("mirror-damaged", "collection"),
    ("mirror2", "fixtures"),
    ("pool-legacy-v28", "old_versions"),
    ("raidz1-3disk", "fixtures"),
    ("raidz2-5disk", "fixtures"),
    ("removed", "fixtures"),
    ("single-default", "fixtures"),
    ("snapshots", "fixtures"),
    ("special", "fixtures"),
    ("stripe-of-mirrors", "fixtures"),
    ("zvols", "volumes"),
];

/// Streams by archive: those of `collection` apart, `streams` receives them.
const STREAMS: [(&str, &[&str]); 4] = [
    (
        "encrypted",
        &["plain-ccm128-s2", "w-ccm128-s1", "w-gcm256-s1", "w-i-gcm256-s1-s2", "w-vol", "wR-gcm256-s2"],
    ),
    ("pool-legacy-v28", &["v28-R", "v28-full", "v28-i", "v28-zv8k"]),
    (
        "snapshots",
        &[
            "I-s10-s20",
            "L-big",
            "Lec-big",
            "R-I-s01-s20",
            "R-a",
            "R-fs2",
            "b-a",
            "big-plain",
            "bookmark-b04-s05",
            "bookmark-b18-s20",
            "c-full-s20",
            "clone1-from-origin",
            "e-big",
            "full-s10",
            "h-s03",
            "i-s10-s11",
            "i-s14-s16",
            "p-a",
            "vol-i-v1-v2",
            "vol-v1",
            "w-big",
        ],
    ),
    ("zvols", &["v16k-c", "v4k-i", "v4k-s1"]),
];

fn archives() -> Option<Vec<String>> {
    let names = std::fs::read_dir(Path::new(COLLECTION)).ok()?;
    let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter_map(|name| name.strip_suffix(".tar.zst").map(str::to_owned)).collect();
    names.sort();
    Some(names)
}

#[test]
fn nothing_in_the_collection_is_passed_over() {
    let Some(archives) = archives() else { return };
    let known: Vec<&str> = POOLS.iter().map(|(archive, _)| *archive).collect();
    assert_eq!(archives, known);
    for archive in archives {
        let mut tar = Command::new("tar");
        let tar = tar.arg("--zstd").arg("-tf").arg(format!("{COLLECTION}/{archive}.tar.zst"));
        let listed = String::from_utf8(tar.output().unwrap().stdout).unwrap();
        let stream = |line: &str| Some(line.rsplit('/').next()?.strip_suffix(".zsend")?.to_owned());
        let found: BTreeSet<String> = listed.lines().filter_map(stream).collect();
        let known = STREAMS.iter().find(|(of, _)| *of == archive).map_or(&[][..], |(_, streams)| streams);
        assert_eq!(found, known.iter().map(|stream| (*stream).to_owned()).collect(), "{archive}");
    }
}

/// Imported so that nothing is written, whatever a manifest speaks of is there.
fn equals_its_manifest(name: &str, pool: &str) {
    let Some(fixture) = Fixture::unpack_shared(name) else { return };
    let engine = LocalEngine::new(Env::real(), Options::default());
    let options =
        ImportOptions { search: vec![fixture.images()], readonly: true, ..ImportOptions::default() };
    let imported = engine.import(pool, &options).unwrap();
    let wrong = fixture.check(&*imported);
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), fixture.paths());
    engine.export(pool, false).unwrap();
}

#[test]
fn a_deduplicated_pool() {
    equals_its_manifest("dedup", "g_dedup");
}

#[test]
fn a_pool_with_a_checkpoint() {
    equals_its_manifest("checkpointed", "g_ckpt");
}

#[test]
fn a_mirror_of_which_one_side_is_garbage() {
    equals_its_manifest("mirror-damaged", "g_dam_mirror");
}

/// What is not encrypted of a pool that knows encryption is read; of the rest, and of streams of
/// it, is said what they are.
#[test]
fn encrypted_datasets_wait() {
    let Some(fixture) = Fixture::unpack_shared("encrypted") else { return };
    let to = Receiver::new("collection-encrypted", fixture);
    let engine = LocalEngine::new(Env::real(), Options::default());
    let search = vec![to.fixture.images()];
    let options = ImportOptions { search, readonly: true, ..ImportOptions::default() };
    let imported = engine.import("g_enc", &options).unwrap();
    for name in ["g_enc/plain", "g_enc/plain@s1", "g_enc/plain@s2"] {
        let wrong = to.fixture.check_one(name, &*imported.open_fs(name).unwrap());
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    }
    let said = imported.open_fs("g_enc/gcm256").map(drop).unwrap_err().to_string();
    assert_eq!(said, "not supported: encrypted block");
    drop(imported);
    engine.export("g_enc", false).unwrap();
    // It was encrypted where it was sent, and is not on its way.
    to.takes("plain-ccm128-s2", "ours/plain@s2", "g_enc/ccm128@s2");
    for raw in ["w-ccm128-s1", "w-gcm256-s1", "w-vol", "wR-gcm256-s2"] {
        let path = format!("{}/streams/{raw}.zsend", to.fixture.images());
        let mut stream = std::fs::File::open(path).unwrap();
        let request = ReceiveRequest { target: format!("ours/{raw}"), ..ReceiveRequest::default() };
        let said = to.pool.receive(&request, &mut stream, &mut |_| {}).map(drop).unwrap_err().to_string();
        assert_eq!(said, "not supported: raw send streams", "{raw}");
        assert!(to.pool.open_fs(&request.target).is_err(), "{raw} left something");
    }
    to.end();
}

/// Streams that start from what another brought.
#[test]
fn streams_of_trees_and_backups() {
    let from = Sender::new("snapshots", "g_snap");
    let to = Receiver::new("collection", Fixture::unpack("snapshots"));
    let first = SendRequest { snapshot: "g_snap/fs@s01".into(), ..SendRequest::default() };
    let mut stream = Vec::new();
    from.pool.send(&first, &mut stream, &mut |_| {}).unwrap();
    let request = ReceiveRequest { target: "ours/fs".into(), ..ReceiveRequest::default() };
    to.pool.receive(&request, &mut &stream[..], &mut |_| {}).unwrap();
    to.take("R-I-s01-s20", "ours/fs");
    for snapshot in ["s02", "s03", "s05", "s14", "s17", "s20"] {
        let wrong = to.fixture.check_one(
            &format!("g_snap/fs@{snapshot}"),
            &*to.pool.open_fs(&format!("ours/fs@{snapshot}")).unwrap(),
        );
        assert!(wrong.is_empty(), "{snapshot}: {wrong:#?}");
    }
    to.takes("b-a", "ours/a@final", "g_snap/a@final");
    // The snapshot that this bookmark was made of is nowhere any more: only the bytes can be
    // compared.
    const NEEDS: &str = "cannot receive incremental stream: most recent snapshot of ours/fs does not\nmatch incremental source";
    to.refuses("bookmark-b04-s05", "ours/fs@s05b", NEEDS);
    let since = |from: Option<&str>, to: &str| SendRequest {
        snapshot: to.into(),
        from: from.map(str::to_owned),
        ..SendRequest::default()
    };
    from.sends("bookmark-b04-s05", since(Some("g_snap/fs#b04"), "g_snap/fs@s05"));
    from.sends("clone1-from-origin", since(Some("g_snap/fs@s05"), "g_snap/clone1@c"));
    from.engine.export("g_snap", false).unwrap();
    to.end();
}
