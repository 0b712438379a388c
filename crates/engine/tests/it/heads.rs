//! Sending what is no snapshot: file systems and volumes as they are, while nobody uses them.

use std::io::Write;
use std::process::Command;
use std::sync::Arc;

use engine::{LocalEngine, Options};
use engine_api::{
    Change, CreateMode, Cred, Engine, Error, Pool, ReceiveRequest, SendRequest, SetAttr, Stable,
};
use env::Env;
use model::{Compare, dump};

use crate::disks::{Dir, new_pool, prop, zdb_is_content};
use crate::streams::{names, value};

const ROOT: Cred = Cred::root();

fn send(pool: &dyn Pool, head: &str, from: Option<&str>, to: &mut dyn Write) -> Result<(), String> {
    let from = from.map(str::to_owned);
    let request = SendRequest { snapshot: head.into(), from, ..SendRequest::default() };
    pool.send(&request, to, &mut |_| {}).map_err(|error| error.to_string())
}

fn receive(pool: &dyn Pool, target: &str, mut stream: &[u8]) {
    let request = ReceiveRequest { target: target.into(), ..ReceiveRequest::default() };
    pool.receive(&request, &mut stream, &mut |_| {}).unwrap();
}

/// A stream, at the first bytes of which somebody tries what only others may who are alone.
struct Disturbed {
    pool: Arc<dyn Pool>,
    bytes: Vec<u8>,
}

impl Write for Disturbed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.bytes.is_empty() {
            assert!(matches!(self.pool.open_fs("ours/a"), Err(Error::Busy)));
            let names = ["ours/a@one", "ours/a"].map(str::to_owned).to_vec();
            let gone = Change::Destroy { names, defer: false };
            let why = self.pool.commit(&gone, "").unwrap_err().to_string();
            assert_eq!(why, "cannot destroy 'ours/a': dataset is busy");
            let again = send(&*self.pool, "ours/a", None, &mut Vec::new()).unwrap_err();
            assert_eq!(again, BUSY);
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

const BUSY: &str = "warning: cannot send 'ours/a': target is busy; if a filesystem, it must not be mounted";

#[test]
fn heads_that_nobody_uses_are_sent() {
    let dir = Dir::new("heads");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let props = vec![prop("atime", "off")];
    pool.commit(&Change::CreateFilesystem { name: "ours/a".into(), parents: false, props }, "").unwrap();
    let fs = pool.open_fs("ours/a").unwrap();
    let any = SetAttr::default();
    let write = |name: &[u8], data: &[u8]| {
        let file = fs.create(&ROOT, fs.root(), name, CreateMode::Guarded, &any).unwrap().attr.node;
        fs.write(&ROOT, file, 0, data, Stable::Unstable).unwrap();
    };
    write(b"old", &[1; 70_000]);
    let one = Change::Snapshot { names: vec!["ours/a@one".into()], recursive: false, props: vec![] };
    pool.commit(&one, "").unwrap();
    write(b"new", &[2; 70_000]);
    assert_eq!(send(&*pool, "ours/a", None, &mut Vec::new()).unwrap_err(), BUSY);
    let tree = dump(&*fs).unwrap();
    drop(fs);

    let mut stream = Disturbed { pool: pool.clone(), bytes: Vec::new() };
    send(&*pool, "ours/a", None, &mut stream).unwrap();
    receive(&*pool, "ours/b", &stream.bytes);
    let file = dir.0.join("stream");
    std::fs::write(&file, &stream.bytes).unwrap();
    let dumped = Command::new("zstream").arg("dump").arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&dumped.stdout);
    assert!(dumped.status.success() && said.contains("toname = ours/a@--head--"), "{said}");

    let (mut first, mut next) = (Vec::new(), Vec::new());
    send(&*pool, "ours/a@one", None, &mut first).unwrap();
    send(&*pool, "ours/a", Some("ours/a@one"), &mut next).unwrap();
    receive(&*pool, "ours/c", &first);
    receive(&*pool, "ours/c@two", &next);
    let snapshots: Vec<String> = names(&*pool).into_iter().filter(|name| name.contains('@')).collect();
    assert_eq!(snapshots, ["ours/a@one", "ours/b@--head--", "ours/c@one", "ours/c@two"]);
    for name in ["ours/a", "ours/b@--head--", "ours/c", "ours/c@two"] {
        let differences =
            tree.differences(&dump(&*pool.open_fs(name).unwrap()).unwrap(), Compare { times: true });
        assert!(differences.is_empty(), "{name}: {differences:#?}");
    }

    // A stream of a head is resumed as one of a snapshot is, by the head's guid.
    let request = ReceiveRequest { target: "ours/d".into(), resumable: true, ..ReceiveRequest::default() };
    pool.receive(&request, &mut &stream.bytes[..stream.bytes.len() / 2], &mut |_| {}).unwrap_err();
    let token = value(&*pool, "ours/d", "receive_resume_token").0;
    let rename = |from: &str, to: &str| {
        let change = Change::Rename { from: from.into(), to: to.into(), parents: false, recursive: false };
        pool.commit(&change, "").unwrap();
    };
    rename("ours/a", "ours/moved");
    let rest = SendRequest { token: Some(token), ..SendRequest::default() };
    let fs = pool.open_fs("ours/moved").unwrap();
    let why = pool.send(&rest, &mut Vec::new(), &mut |_| {}).unwrap_err().to_string();
    assert_eq!(why, BUSY.replace("ours/a", "ours/moved"));
    drop(fs);
    let mut stream = Vec::new();
    pool.send(&rest, &mut stream, &mut |_| {}).unwrap();
    rename("ours/moved", "ours/a");
    pool.receive(&request, &mut &stream[..], &mut |_| {}).unwrap();
    let got = dump(&*pool.open_fs("ours/d@--head--").unwrap()).unwrap();
    let differences = tree.differences(&got, Compare { times: true });
    assert!(differences.is_empty(), "{differences:#?}");

    // Only the list that goes before a stream asks which snapshot it is.
    let listed = SendRequest { snapshot: "ours/b".into(), props: true, ..SendRequest::default() };
    let why = pool.send(&listed, &mut Vec::new(), &mut |_| {}).unwrap_err().to_string();
    const NO: &str =
        "cannot send ours/b@: snapshot ours/b@ does not exist\nwarning: cannot send 'ours/b': backup failed";
    assert_eq!(why, NO);
    let why = send(&*pool, "ours/b", Some("ours/b@none"), &mut Vec::new()).unwrap_err();
    assert_eq!(why, "cannot open 'ours/b@none': dataset does not exist");

    let props = vec![prop("volsize", "1M")];
    let create = Change::CreateVolume { name: "ours/vol".into(), parents: false, sparse: true, props };
    pool.commit(&create, "").unwrap();
    let volume = pool.open_volume("ours/vol").unwrap();
    volume.write(0, &[7; 50_000], Stable::DataSync).unwrap();
    assert!(send(&*pool, "ours/vol", None, &mut Vec::new()).unwrap_err().contains("target is busy"));
    drop(volume);
    let mut stream = Vec::new();
    send(&*pool, "ours/vol", None, &mut stream).unwrap();
    receive(&*pool, "ours/copy", &stream);
    assert_eq!(pool.open_volume("ours/copy").unwrap().read(0, 50_000).unwrap().to_vec(), [7; 50_000]);
    drop(pool);
    engine.export("ours", false).unwrap();
    zdb_is_content(dir.0.to_str().unwrap(), "ours");
}
