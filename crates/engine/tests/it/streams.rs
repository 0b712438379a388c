//! Streams that OpenZFS sent: what is received of them equals what it said of the snapshots that it
//! sent.

use std::fs::File;
use std::io::Read;
use std::process::Command;
use std::sync::Arc;

use engine::{LocalEngine, Options};
use engine_api::{
    Change, CreateMode, Cred, DatasetFilter, DatasetKind, Engine, Error, ImportOptions, Pool, PropValue,
    ReceiveRequest, Result, SendEvent, SendRequest, SetAttr, Source,
};
use env::Env;
use stdx::prng::Prng;

use crate::disks::{Dir, new_pool, prop, zdb_is_content};
use crate::manifest::Fixture;

pub struct Receiver {
    pub fixture: Fixture,
    pub dir: Dir,
    engine: Arc<LocalEngine>,
    pub pool: Arc<dyn Pool>,
}

impl Receiver {
    pub fn new(name: &str, fixture: Fixture) -> Receiver {
        let dir = Dir::new(name);
        let engine = LocalEngine::new(Env::real(), Options::default());
        let pool = new_pool(&engine, &dir.0);
        // What is looked at is not changed by that, and ACLs are seen.
        let props = vec![prop("atime", "off"), prop("acltype", "posix")];
        pool.commit(&Change::SetProperties { name: "ours".into(), props }, "").unwrap();
        Receiver { fixture, dir, engine, pool }
    }

    fn receive(&self, stream: &str, request: ReceiveRequest) -> Result<()> {
        let path = format!("{}/streams/{stream}.zsend", self.fixture.images());
        let mut file = File::open(path).unwrap();
        self.pool.receive(&request, &mut file, &mut |_| {}).map(drop)
    }

    pub fn take(&self, stream: &str, target: &str) {
        let request = ReceiveRequest { target: target.into(), ..ReceiveRequest::default() };
        self.receive(stream, request).unwrap_or_else(|error| panic!("{stream}: {error}"));
    }

    /// Receives a stream; what there is then equals the snapshot that was sent, and so does the
    /// file system.
    pub fn takes(&self, stream: &str, target: &str, sent: &str) {
        self.take(stream, target);
        self.equals(target, sent);
    }

    pub fn equals(&self, target: &str, sent: &str) {
        let (dataset, _) = target.split_once('@').unwrap();
        for name in [target, dataset] {
            let wrong = self.fixture.check_one(sent, &*self.pool.open_fs(name).unwrap());
            assert!(wrong.is_empty(), "{name} is not {sent}: {wrong:#?}");
        }
    }

    fn equals_volume(&self, name: &str, sent: &str) {
        assert_eq!(self.fixture.check_volume_as(sent, &*self.pool, name), Vec::<String>::new());
    }

    fn value(&self, name: &str, property: &str) -> (String, Source) {
        value(&*self.pool, name, property)
    }

    pub fn refuses(&self, stream: &str, target: &str, why: &str) {
        let request = ReceiveRequest { target: target.into(), ..ReceiveRequest::default() };
        assert_eq!(self.receive(stream, request).unwrap_err().to_string(), why);
    }

    /// What a power cut now would leave of the disks.
    pub fn copy_disks(&self, to: &Dir) {
        let label = |dir: &Dir| {
            let mut bytes = vec![0; 256 << 10];
            File::open(dir.0.join("disk0")).unwrap().read_exact(&mut bytes).unwrap();
            bytes
        };
        loop {
            self.pool.sync().unwrap();
            for disk in ["disk0", "disk1"] {
                let mut cp = Command::new("cp");
                cp.arg("--sparse=always").arg(self.dir.0.join(disk)).arg(to.0.join(disk));
                assert!(cp.status().unwrap().success());
            }
            // A group that became durable meanwhile may be on one of them only.
            if label(&self.dir) == label(to) {
                return;
            }
        }
    }

    pub fn imported_again(self) -> Receiver {
        let Receiver { fixture, dir, engine, pool } = self;
        drop(pool);
        engine.export("ours", false).unwrap();
        let search = vec![dir.0.to_str().unwrap().to_owned()];
        let pool = engine.import("ours", &ImportOptions { search, ..ImportOptions::default() }).unwrap();
        Receiver { fixture, dir, engine, pool }
    }

    pub fn end(self) {
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

/// Blocks that come compressed stay as they came, whatever the receiver makes of its own.
#[test]
fn compressed_blocks_are_stored_as_they_came() {
    let to = Receiver::new("streams-packed", Fixture::unpack("snapshots"));
    let off = Change::SetProperties { name: "ours".into(), props: vec![prop("compression", "off")] };
    to.pool.commit(&off, "").unwrap();
    for (stream, target, sent) in
        [("c-full-s20", "ours/c@s20", "g_snap/fs@s20"), ("Lec-big", "ours/big@b", "g_snap/big@b")]
    {
        to.takes(stream, target, sent);
        let dataset = target.split('@').next().unwrap();
        let saved = to.value(dataset, "refcompressratio").0;
        assert!(saved.as_str() > "1.10", "{dataset}: {saved}");
        let mut again = Vec::new();
        // Large blocks that are cut up for the way are not compressed.
        let compress = SendRequest {
            snapshot: target.into(),
            compress: true,
            large_blocks: true,
            ..SendRequest::default()
        };
        to.pool.send(&compress, &mut again, &mut |_| {}).unwrap();
        let came = read_stream(&to.fixture, stream).len();
        // Small blocks save nothing here: sectors are larger.
        assert!(again.len() * 4 < came * 5, "{dataset}: {} of {came}", again.len());
    }
    to.end();
}

/// What a receive is told to set and to leave out; what came counts again when that is asked for.
#[test]
fn received_properties_below_those_that_were_given() {
    let to = Receiver::new("streams-props", Fixture::unpack("snapshots"));
    let request = ReceiveRequest {
        target: "ours/o".into(),
        props: vec![prop("compression", "zle"), prop("test:mine", "yes")],
        exclude: vec!["com.example:owner".into(), "quota".into()],
        ..ReceiveRequest::default()
    };
    to.receive("R-a", request).unwrap();
    assert_eq!(to.value("ours/o", "compression"), ("zle".into(), Source::Local));
    let inherited = Source::Inherited("ours/o".into());
    assert_eq!(to.value("ours/o/b", "compression"), ("zle".into(), inherited.clone()));
    assert_eq!(to.value("ours/o/b/c", "test:mine"), ("yes".into(), inherited));
    assert_eq!(to.value("ours/o", "com.example:owner").1, Source::None);
    let received = |name: &str| {
        let filter = DatasetFilter { props: vec![name.to_owned()], ..one("ours/o") };
        to.pool.datasets(&filter).unwrap().remove(0).props.remove(0).received
    };
    assert_eq!(received("com.example:owner").as_deref(), Some("alice"), "it counts no more, and is known");
    assert_eq!(received("sharenfs").as_deref(), Some("rw=@10.0.2.0/24"));
    assert_eq!((received("compression"), received("quota")), (None, None));
    let back =
        Change::Inherit { name: "ours/o".into(), property: "com.example:owner".into(), received: true };
    to.pool.commit(&back, "").unwrap();
    assert_eq!(to.value("ours/o", "com.example:owner"), ("alice".into(), Source::Received));
    let wrong = ReceiveRequest {
        target: "ours/wrong".into(),
        props: vec![prop("compression", "much")],
        ..ReceiveRequest::default()
    };
    let said = to.receive("full-s10", wrong).unwrap_err().to_string();
    assert!(said.starts_with("cannot receive new filesystem stream: 'compression' must be one of"), "{said}");
    for name in ["volblocksize", "version", "used", "nonsense"] {
        let given = ReceiveRequest {
            target: "ours/wrong".into(),
            props: vec![prop(name, "8K")],
            ..ReceiveRequest::default()
        };
        let excluded = ReceiveRequest {
            target: "ours/wrong".into(),
            exclude: vec![name.into()],
            ..ReceiveRequest::default()
        };
        for request in [given, excluded] {
            let said = to.receive("full-s10", request).unwrap_err().to_string();
            assert_eq!(said, format!("cannot receive: cannot receive: invalid property '{name}'"));
        }
    }
    let other = ReceiveRequest {
        target: "ours/wrong".into(),
        props: vec![prop("encryption", "off"), prop("volthreading", "off")],
        ..ReceiveRequest::default()
    };
    let said = to.receive("full-s10", other).unwrap_err().to_string();
    const WHY: &str = "property 'volthreading' does not apply to datasets of this type";
    assert_eq!(said, format!("cannot receive new filesystem stream: {WHY}"));
    to.end();
}

/// A pool that OpenZFS made, of which it sent what is sent here again.
pub struct Sender {
    fixture: Fixture,
    pub engine: Arc<LocalEngine>,
    pub pool: Arc<dyn Pool>,
}

impl Sender {
    pub fn new(name: &str, pool: &str) -> Sender {
        let fixture = Fixture::unpack(name);
        let engine = LocalEngine::new(Env::real(), Options::default());
        let options =
            ImportOptions { search: vec![fixture.images()], readonly: true, ..ImportOptions::default() };
        let pool = engine.import(pool, &options).unwrap();
        Sender { fixture, engine, pool }
    }

    /// Sends what OpenZFS sent; the same bytes come.
    pub fn sends(&self, stream: &str, request: SendRequest) {
        let mut sent = Vec::new();
        let mut size = 0;
        let mut add = |event| {
            if let SendEvent::Planned { size: more, .. } = event {
                size += more;
            }
        };
        self.pool.send(&request, &mut sent, &mut add).unwrap();
        let theirs = std::fs::read(format!("{}/streams/{stream}.zsend", self.fixture.images())).unwrap();
        if sent != theirs {
            let at =
                sent.iter().zip(&theirs).position(|(a, b)| a != b).unwrap_or(sent.len().min(theirs.len()));
            let dump = std::env::temp_dir().join(format!("cistern-{stream}.zsend"));
            std::fs::write(&dump, &sent).unwrap();
            panic!("{stream}: byte {at} differs; {} bytes, not {}: {dump:?}", sent.len(), theirs.len());
        }
        // Of little, most is what no estimate knows of.
        let len = theirs.len() as u64;
        let is_near = (len / 2..len * 2).contains(&size) || len.abs_diff(size) < 32 << 10;
        assert!(is_near, "{stream}: estimated {size}, is {len}");
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
    from.sends("I-s10-s20", SendRequest { intermediates: true, ..since("g_snap/fs@s10", "g_snap/fs@s20") });
    from.sends("h-s03", SendRequest { holds: true, ..full("g_snap/fs@s03") });
    from.sends("b-a", SendRequest { backup: true, ..full("g_snap/a@final") });
    let both =
        SendRequest { intermediates: true, replicate: true, ..since("g_snap/fs@s01", "g_snap/fs@s20") };
    from.sends("R-I-s01-s20", both);
    let all = SendRequest { large_blocks: true, embed: true, compress: true, ..full("g_snap/big@b") };
    from.sends("Lec-big", all);
    from.engine.export("g_snap", false).unwrap();
}

#[test]
fn streams_of_many_snapshots_with_properties_and_holds() {
    let to = Receiver::new("streams-many", Fixture::unpack("snapshots"));
    to.takes("full-s10", "ours/fs@s10", "g_snap/fs@s10");
    to.take("I-s10-s20", "ours/fs");
    for snapshot in ["s11", "s12", "s13", "s16", "s19", "s20"] {
        let wrong = to.fixture.check_one(
            &format!("g_snap/fs@{snapshot}"),
            &*to.pool.open_fs(&format!("ours/fs@{snapshot}")).unwrap(),
        );
        assert!(wrong.is_empty(), "{snapshot}: {wrong:#?}");
    }
    to.equals("ours/fs@s20", "g_snap/fs@s20");
    to.take("R-a", "ours/a");
    for below in ["", "/b", "/b/c", "/b/c/d"] {
        to.equals(&format!("ours/a{below}@final"), &format!("g_snap/a{below}@final"));
    }
    assert_eq!(to.value("ours/a", "com.example:owner"), ("alice".into(), Source::Received));
    assert_eq!(to.value("ours/a", "quota"), ("104857600".into(), Source::Received));
    to.take("p-a", "ours/p");
    assert_eq!(to.value("ours/p", "sharenfs"), ("rw=@10.0.2.0/24".into(), Source::Received));
    to.takes("h-s03", "ours/h@s03", "g_snap/fs@s03");
    let tags: Vec<String> = to.pool.holds("ours/h@s03").unwrap().into_iter().map(|(tag, _)| tag).collect();
    assert_eq!(tags, ["keep", "second"]);
    to.end();
}

/// The first stream with properties takes away what a dataset had set, for that may have come with
/// earlier ones; from then on the two are kept apart, and both are shown.
#[test]
fn received_properties_beside_those_that_were_set() {
    let from = Sender::new("snapshots", "g_snap");
    let to = Receiver::new("streams-first-props", Fixture::unpack("snapshots"));
    to.take("full-s10", "ours/fs@s10");
    let set = |props: &[(&str, &str)]| {
        let props = props.iter().map(|(name, value)| prop(name, value)).collect();
        to.pool.commit(&Change::SetProperties { name: "ours/fs".into(), props }, "").unwrap();
    };
    let receive = |first: &str, second: &str| {
        let request = SendRequest {
            snapshot: format!("g_snap/fs@{second}"),
            from: Some(format!("g_snap/fs@{first}")),
            props: true,
            ..SendRequest::default()
        };
        let mut stream = Vec::new();
        from.pool.send(&request, &mut stream, &mut |_| {}).unwrap();
        let request = ReceiveRequest { target: "ours/fs".into(), ..ReceiveRequest::default() };
        to.pool.receive(&request, &mut &stream[..], &mut |_| {}).unwrap();
    };
    let came = from.pool.datasets(&one("g_snap/fs")).unwrap().remove(0).props;
    let is_set = |prop: &PropValue| prop.source == Source::Local && !prop.name.ends_with("_count");
    let came: Vec<_> = came.into_iter().filter(is_set).collect();
    set(&[("compression", "gzip-3"), ("test:mine", "yes")]);
    receive("s10", "s11");
    assert_ne!(to.value("ours/fs", "compression").0, "gzip-3");
    assert_eq!(to.value("ours/fs", "test:mine"), (String::new(), Source::None));
    for prop in &came {
        assert_eq!(to.value("ours/fs", &prop.name), (prop.value.clone(), Source::Received));
    }
    set(&[("compression", "gzip-4"), ("test:mine", "again")]);
    receive("s11", "s12");
    assert_eq!(to.value("ours/fs", "compression"), ("gzip-4".into(), Source::Local));
    assert_eq!(to.value("ours/fs", "test:mine"), ("again".into(), Source::Local));
    let shown = to.pool.datasets(&one("ours/fs")).unwrap().remove(0).props;
    for prop in shown {
        let wanted = came.iter().find(|came| came.name == prop.name).map(|came| came.value.clone());
        assert_eq!(prop.received, wanted, "{}", prop.name);
    }
    from.engine.export("g_snap", false).unwrap();
    to.end();
}

/// A dataset that received large dnodes has them, though its own properties would not bring any:
/// who gets it next is told.
#[test]
fn what_was_received_can_be_sent_on() {
    let dir = Dir::new("streams-on");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let props = vec![prop("dnodesize", "1k")];
    pool.commit(&Change::CreateFilesystem { name: "ours/a".into(), parents: false, props }, "").unwrap();
    let fs = pool.open_fs("ours/a").unwrap();
    let (root, any) = (Cred::root(), SetAttr::default());
    for (snapshot, file) in [("1", &b"first"[..]), ("2", b"second")] {
        fs.create(&root, fs.root(), file, CreateMode::Guarded, &any).unwrap();
        let names = vec![format!("ours/a@{snapshot}")];
        pool.commit(&Change::Snapshot { names, recursive: false, props: Vec::new() }, "").unwrap();
    }
    for (from, to) in [("ours/a", "ours/b"), ("ours/b", "ours/c")] {
        for (base, snapshot) in [(None, "1"), (Some("1"), "2")] {
            let request = SendRequest {
                snapshot: format!("{from}@{snapshot}"),
                from: base.map(|base| format!("{from}@{base}")),
                ..SendRequest::default()
            };
            let mut stream = Vec::new();
            pool.send(&request, &mut stream, &mut |_| {}).unwrap();
            let request = ReceiveRequest { target: to.into(), ..ReceiveRequest::default() };
            pool.receive(&request, &mut &stream[..], &mut |_| {}).unwrap();
        }
    }
    let copy = pool.open_fs("ours/c").unwrap();
    assert!(copy.lookup(&root, copy.root(), b"second").is_ok());
    drop((fs, copy, pool));
    engine.export("ours", false).unwrap();
    zdb_is_content(dir.0.to_str().unwrap(), "ours");
}

/// All that one dataset says of itself.
fn one(name: &str) -> DatasetFilter {
    DatasetFilter { roots: vec![name.into()], depth: Some(0), ..DatasetFilter::default() }
}

fn read_stream(fixture: &Fixture, stream: &str) -> Vec<u8> {
    std::fs::read(format!("{}/streams/{stream}.zsend", fixture.images())).unwrap()
}

/// A property of a dataset.
pub fn value(pool: &dyn Pool, name: &str, property: &str) -> (String, Source) {
    let filter = DatasetFilter {
        roots: vec![name.into()],
        depth: Some(0),
        props: vec![property.into()],
        ..DatasetFilter::default()
    };
    let prop = pool.datasets(&filter).unwrap().remove(0).props.remove(0);
    (prop.value, prop.source)
}

/// All datasets and snapshots.
pub fn names(pool: &dyn Pool) -> Vec<String> {
    let kinds = vec![DatasetKind::Filesystem, DatasetKind::Snapshot];
    let filter = DatasetFilter { kinds, props: vec!["type".into()], ..DatasetFilter::default() };
    pool.datasets(&filter).unwrap().into_iter().map(|info| info.name).collect()
}

/// Whatever is wrong with a stream, the target is as it was, and takes the right one afterwards.
#[test]
fn damaged_streams_leave_nothing_behind() {
    let to = Receiver::new("streams-bad", Fixture::unpack("snapshots"));
    to.take("full-s10", "ours/fs@s10");
    let whole = read_stream(&to.fixture, "i-s10-s11");
    let before = names(&*to.pool);
    let mut random = Prng::new(11);
    let request = ReceiveRequest { target: "ours/fs".into(), ..ReceiveRequest::default() };
    for turn in 0..48 {
        let mut bytes = whole.clone();
        let at = random.below(bytes.len() as u64) as usize;
        match turn % 3 {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << random.below(8),
            // One record twice.
            _ => {
                let again = bytes[312..624].to_vec();
                bytes.splice(624..624, again);
            }
        }
        let said = to.pool.receive(&request, &mut &bytes[..], &mut |_| {}).unwrap_err().to_string();
        assert!(said.starts_with("cannot receive"), "{turn} at {at}: {said}");
        assert_eq!(names(&*to.pool), before, "{turn} at {at}");
    }
    let mut newer = whole;
    newer[8 + 8 + 5] |= 0x10;
    let said = to.pool.receive(&request, &mut &newer[..], &mut |_| {}).unwrap_err().to_string();
    assert!(said.starts_with("cannot receive: stream has unsupported feature, feature flags = "), "{said}");
    to.equals("ours/fs@s10", "g_snap/fs@s10");
    to.takes("i-s10-s11", "ours/fs@s11", "g_snap/fs@s11");
    to.end();
}

/// A stream in the middle of which something happens.
pub struct Interrupted<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
    pub then: &'a mut dyn FnMut(),
}

impl Read for Interrupted<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let read = self.bytes.read(to)?;
        if self.at != 0 {
            self.at = self.at.saturating_sub(read);
            if self.at == 0 {
                (self.then)();
            }
        }
        Ok(read)
    }
}

/// What a power cut leaves of a receive goes with the next import, from an existing dataset and
/// from a new one.
#[test]
fn a_power_cut_in_a_receive_leaves_the_old_state() {
    let to = Receiver::new("streams-cut", Fixture::unpack("snapshots"));
    to.take("full-s10", "ours/fs@s10");
    let before = names(&*to.pool);
    for (n, (stream, target)) in [("i-s10-s11", "ours/fs"), ("full-s10", "ours/new")].into_iter().enumerate()
    {
        let whole = read_stream(&to.fixture, stream);
        let cut = Dir::new(&format!("streams-cut-{n}"));
        let mut power_fails = || to.copy_disks(&cut);
        let mut stream = Interrupted { bytes: &whole, at: whole.len() / 2, then: &mut power_fails };
        let request = ReceiveRequest { target: target.into(), ..ReceiveRequest::default() };
        to.pool.receive(&request, &mut stream, &mut |_| {}).unwrap();
        let engine = LocalEngine::new(Env::real(), Options::default());
        let folder = cut.0.to_str().unwrap().to_owned();
        let options = ImportOptions { search: vec![folder.clone()], force: true, ..ImportOptions::default() };
        let pool = engine.import("ours", &options).unwrap();
        let expected: Vec<String> = match n {
            0 => before.clone(),
            _ => before.iter().cloned().chain(["ours/fs@s11".into()]).collect(),
        };
        assert_eq!(names(&*pool), expected);
        let wrong = to.fixture.check_one("g_snap/fs@s10", &*pool.open_fs("ours/fs@s10").unwrap());
        assert!(wrong.is_empty(), "{wrong:#?}");
        drop(pool);
        engine.export("ours", false).unwrap();
        zdb_is_content(&folder, "ours");
    }
    to.end();
}

/// What our streams and OpenZFS's of the same snapshots bring mixes: clones of a snapshot that came
/// from here, and a stream from a bookmark of one.
#[test]
fn streams_from_here_and_from_openzfs_go_together() {
    let from = Sender::new("snapshots", "g_snap");
    let to = Receiver::new("streams-mixed", Fixture::unpack("snapshots"));
    let bring = |from_snapshot: Option<&str>, snapshot: &str| {
        let mut stream = Vec::new();
        let request = SendRequest {
            snapshot: format!("g_snap/fs@{snapshot}"),
            from: from_snapshot.map(|from| format!("g_snap/fs@{from}")),
            ..SendRequest::default()
        };
        from.pool.send(&request, &mut stream, &mut |_| {}).unwrap();
        let request = ReceiveRequest { target: "ours/fs".into(), ..ReceiveRequest::default() };
        to.pool.receive(&request, &mut &stream[..], &mut |_| {}).unwrap();
        to.equals(&format!("ours/fs@{snapshot}"), &format!("g_snap/fs@{snapshot}"));
    };
    bring(None, "s05");
    to.takes("clone1-from-origin", "ours/clone1@c", "g_snap/clone1@c");
    bring(Some("s05"), "s14");
    to.takes("i-s14-s16", "ours/fs@s16", "g_snap/fs@s16");
    bring(Some("s16"), "s18");
    to.takes("bookmark-b18-s20", "ours/fs@s20", "g_snap/fs@s20");
    let mut stream = Vec::new();
    let request = SendRequest { snapshot: "g_snap/clone2@two".into(), ..SendRequest::default() };
    from.pool.send(&request, &mut stream, &mut |_| {}).unwrap();
    let request = ReceiveRequest { target: "ours/clone2".into(), ..ReceiveRequest::default() };
    to.pool.receive(&request, &mut &stream[..], &mut |_| {}).unwrap();
    to.take("R-fs2", "ours/fs2");
    to.equals("ours/fs2@three", "g_snap/fs2@three");
    from.engine.export("g_snap", false).unwrap();
    to.end();
}

/// A pool of version 28 sent these, file systems of version 5.
#[test]
fn streams_of_old_pools() {
    let Some(fixture) = Fixture::unpack_shared("pool-legacy-v28") else { return };
    let to = Receiver::new("streams-v28", fixture);
    to.takes("v28-full", "ours/fs@snap1", "g_v28/fsv5@snap1");
    to.takes("v28-i", "ours/fs@snap2", "g_v28/fsv5@snap2");
    to.take("v28-R", "ours/all");
    to.equals("ours/all@snap2", "g_v28/fsv5@snap2");
    to.take("v28-zv8k", "ours/volume");
    to.equals_volume("ours/volume@snap1", "g_v28/zv8k@snap1");
    assert_eq!(to.value("ours/volume", "refreservation"), ("10485760".into(), Source::Received));
    to.end();
}

#[test]
fn streams_of_volumes_with_other_blocks() {
    let Some(fixture) = Fixture::unpack_shared("zvols") else { return };
    let to = Receiver::new("streams-volumes", fixture);
    for (stream, target, sent) in [
        ("v4k-s1", "ours/v4k@s1", "g_zvol/v4k@s1"),
        ("v4k-i", "ours/v4k@s2", "g_zvol/v4k@s2"),
        ("v16k-c", "ours/v16k@s2", "g_zvol/v16k_sparse@s2"),
    ] {
        to.take(stream, target);
        to.equals_volume(target, sent);
        to.equals_volume(target.split('@').next().unwrap(), sent);
    }
    to.end();
}

/// Volumes that OpenZFS sent, received; and sent again, to the byte.
#[test]
fn streams_of_volumes() {
    let from = Sender::new("snapshots", "g_snap");
    let to = Receiver::new("streams-volume", Fixture::unpack("snapshots"));
    let v1 = SendRequest { snapshot: "g_snap/vol@v1".into(), ..SendRequest::default() };
    from.sends("vol-v1", v1.clone());
    let v2 = SendRequest { snapshot: "g_snap/vol@v2".into(), from: Some(v1.snapshot.clone()), ..v1 };
    from.sends("vol-i-v1-v2", v2);
    for (stream, snapshot) in [("vol-v1", "v1"), ("vol-i-v1-v2", "v2")] {
        to.take(stream, &format!("ours/vol@{snapshot}"));
        for name in ["ours/vol".to_owned(), format!("ours/vol@{snapshot}")] {
            to.equals_volume(&name, &format!("g_snap/vol@{snapshot}"));
        }
    }
    // Sparse: what is kept for a volume comes with its properties only.
    assert_eq!(to.value("ours/vol", "refreservation"), ("0".into(), Source::Default));
    let size = to.value("ours/vol", "volsize");
    from.engine.export("g_snap", false).unwrap();

    // On top of a file system, if it must be.
    let create =
        |name: &str| Change::CreateFilesystem { name: name.into(), parents: false, props: Vec::new() };
    to.pool.commit(&create("ours/was"), "").unwrap();
    to.pool.commit(&create("ours/was/below"), "").unwrap();
    let forced = |target: &str| {
        let request = ReceiveRequest { target: target.into(), force: true, ..ReceiveRequest::default() };
        to.receive("vol-v1", request).map_err(|error| error.to_string())
    };
    const NEW: &str = "cannot receive new filesystem stream: destination";
    const NO: &str = "cannot overwrite with a ZVOL";
    let said = forced("ours/was").unwrap_err();
    assert_eq!(said, format!("{NEW} has children (eg. ours/was/below)\n{NO}"));
    assert_eq!(forced("ours@v1").unwrap_err(), format!("{NEW} ours is the root dataset\n{NO}"));
    let gone = Change::Destroy { names: vec!["ours/was/below".into()], defer: false };
    to.pool.commit(&gone, "").unwrap();
    forced("ours/was").unwrap();
    assert_eq!(to.value("ours/was", "volsize"), size);
    assert!(matches!(to.pool.open_fs("ours/was"), Err(Error::Invalid(_))));
    let below = forced("ours/vol/below").unwrap_err();
    assert_eq!(below, "cannot receive new filesystem stream: parent 'ours/vol' is not a filesystem");
    // What is no more than begun has no size.
    let whole = read_stream(&to.fixture, "vol-v1");
    let part = ReceiveRequest { target: "ours/part".into(), resumable: true, ..ReceiveRequest::default() };
    to.pool.receive(&part, &mut &whole[..whole.len() / 2], &mut |_| {}).unwrap_err();
    assert_eq!(to.value("ours/part", "volsize").0, "");
    to.pool.commit(&Change::AbortReceive { name: "ours/part".into() }, "").unwrap();
    to.end();
}
