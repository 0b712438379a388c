//! Streams that OpenZFS sent: what is received of them equals what it said of the snapshots that it sent.

use std::fs::File;
use std::sync::Arc;

use engine::{LocalEngine, Options};
use engine_api::{Change, Engine, ImportOptions, Pool, ReceiveRequest, Result, SendRequest};
use env::Env;

use crate::disks::{Dir, new_pool, prop, zdb_is_content};
use crate::manifest::Fixture;

struct Receiver {
    fixture: Fixture,
    dir: Dir,
    engine: Arc<LocalEngine>,
    pool: Arc<dyn Pool>,
}

impl Receiver {
    fn new(name: &str, fixture: Fixture) -> Receiver {
        let dir = Dir::new(name);
        let engine = LocalEngine::new(Env::real(), Options::default());
        let pool = new_pool(&engine, &dir.0);
        // What is looked at is not changed by that.
        let props = vec![prop("atime", "off")];
        pool.commit(&Change::SetProperties { name: "ours".into(), props }, "").unwrap();
        Receiver { fixture, dir, engine, pool }
    }

    fn receive(&self, stream: &str, request: ReceiveRequest) -> Result<()> {
        let path = format!("{}/streams/{stream}.zsend", self.fixture.images());
        let mut file = File::open(path).unwrap();
        self.pool.receive(&request, &mut file, &mut |_| {}).map(drop)
    }

    fn take(&self, stream: &str, target: &str) {
        let request = ReceiveRequest { target: target.into(), ..ReceiveRequest::default() };
        self.receive(stream, request).unwrap_or_else(|error| panic!("{stream}: {error}"));
    }

    /// Receives a stream; what there is then equals the snapshot that was sent, and so does the file system.
    fn takes(&self, stream: &str, target: &str, sent: &str) {
        self.take(stream, target);
        self.equals(target, sent);
    }

    fn equals(&self, target: &str, sent: &str) {
        let (dataset, _) = target.split_once('@').unwrap();
        for name in [target, dataset] {
            let wrong = self.fixture.check_one(sent, &*self.pool.open_fs(name).unwrap());
            assert!(wrong.is_empty(), "{name} is not {sent}: {wrong:#?}");
        }
    }

    fn refuses(&self, stream: &str, target: &str, why: &str) {
        let request = ReceiveRequest { target: target.into(), ..ReceiveRequest::default() };
        assert_eq!(self.receive(stream, request).unwrap_err().to_string(), why);
    }

    fn end(self) {
        let Receiver { dir, engine, pool, .. } = self;
        drop(pool);
        engine.export("ours", false).unwrap();
        zdb_is_content(dir.0.to_str().unwrap(), "ours");
    }
}

#[test]
fn full_and_incremental_streams() {
    let to = Receiver::new("streams", Fixture::unpack("snapshots"));
    to.takes("full-s10", "ours/fs@s10", "g_snap/fs@s10");
    to.takes("i-s10-s11", "ours/fs@s11", "g_snap/fs@s11");
    to.refuses(
        "i-s10-s11",
        "ours/fs@other",
        "cannot receive incremental stream: destination ours/fs has been modified\nsince most recent snapshot",
    );
    to.refuses(
        "i-s14-s16",
        "ours/fs@s16",
        "cannot receive incremental stream: most recent snapshot of ours/fs does not\nmatch incremental source",
    );
    to.refuses(
        "full-s10",
        "ours/fs@s10",
        "cannot receive new filesystem stream: destination 'ours/fs' exists\nmust specify -F to overwrite it",
    );
    to.refuses(
        "i-s10-s11",
        "ours/none@s11",
        "cannot receive incremental stream: destination 'ours/none' does not exist",
    );
    to.equals("ours/fs@s11", "g_snap/fs@s11");
    to.takes("c-full-s20", "ours/c@s20", "g_snap/fs@s20");
    to.end();
}

#[test]
fn streams_with_large_embedded_and_compressed_blocks() {
    let to = Receiver::new("streams-big", Fixture::unpack("snapshots"));
    for stream in ["big-plain", "L-big", "e-big", "Lec-big", "w-big"] {
        to.takes(stream, &format!("ours/{stream}@b"), "g_snap/big@b");
    }
    to.end();
}

/// A pool that OpenZFS made, of which it sent what is sent here again.
struct Sender {
    fixture: Fixture,
    engine: Arc<LocalEngine>,
    pool: Arc<dyn Pool>,
}

impl Sender {
    fn new(name: &str, pool: &str) -> Sender {
        let fixture = Fixture::unpack(name);
        let engine = LocalEngine::new(Env::real(), Options::default());
        let options =
            ImportOptions { search: vec![fixture.images()], readonly: true, ..ImportOptions::default() };
        let pool = engine.import(pool, &options).unwrap();
        Sender { fixture, engine, pool }
    }

    /// Sends what OpenZFS sent; the same bytes come.
    fn sends(&self, stream: &str, request: SendRequest) {
        let mut sent = Vec::new();
        let mut size = 0;
        self.pool.send(&request, &mut sent, &mut |event| size = event.size).unwrap();
        let theirs = std::fs::read(format!("{}/streams/{stream}.zsend", self.fixture.images())).unwrap();
        if sent != theirs {
            let at =
                sent.iter().zip(&theirs).position(|(a, b)| a != b).unwrap_or(sent.len().min(theirs.len()));
            let dump = std::env::temp_dir().join(format!("cistern-{stream}.zsend"));
            std::fs::write(&dump, &sent).unwrap();
            panic!("{stream}: byte {at} differs; {} bytes, not {}: {dump:?}", sent.len(), theirs.len());
        }
        let half = theirs.len() as u64 / 2;
        assert!((half..half * 4).contains(&size), "{stream}: estimated {size}, is {}", theirs.len());
    }
}

#[test]
fn streams_are_openzfs_own_to_the_byte() {
    let from = Sender::new("snapshots", "g_snap");
    let full = |snapshot: &str| SendRequest { snapshot: snapshot.into(), ..SendRequest::default() };
    let since = |from: &str, to: &str| SendRequest { from: Some(from.into()), ..full(to) };
    from.sends("full-s10", full("g_snap/fs@s10"));
    from.sends("i-s10-s11", since("g_snap/fs@s10", "g_snap/fs@s11"));
    from.sends("i-s14-s16", since("g_snap/fs@s14", "g_snap/fs@s16"));
    from.sends("bookmark-b18-s20", since("g_snap/fs#b18", "g_snap/fs@s20"));
    from.sends("big-plain", full("g_snap/big@b"));
    from.sends("L-big", SendRequest { large_blocks: true, ..full("g_snap/big@b") });
    from.sends("e-big", SendRequest { embed: true, ..full("g_snap/big@b") });
    from.sends("c-full-s20", SendRequest { compress: true, ..full("g_snap/fs@s20") });
    let all = SendRequest { large_blocks: true, embed: true, compress: true, ..full("g_snap/big@b") };
    from.sends("Lec-big", all);
    from.engine.export("g_snap", false).unwrap();
}
