//! What comes over the network: records, calls, file handles, exports, requests.

use std::io::Read;
use std::sync::Arc;

use engine_api::{Cred, FileSystem, FsId, NewNode, Served, SetAttr, Time, Verifier};
use model::{MemEngine, MemFs};
use nfs::{Handle, Service};
use sunrpc::msg::{AuthSys, Call, Credential, parse_call, parse_reply, put_call};
use sunrpc::record::{Pool, Reader};
use sunrpc::xdr::{Decoder, Encoder};

use crate::format::choice;

/// A stream that arrives in pieces.
struct Pieces<'a> {
    rest: &'a [u8],
    size: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let len = self.size.min(self.rest.len()).min(into.len());
        let (now, later) = self.rest.split_at(len);
        into[..len].copy_from_slice(now);
        self.rest = later;
        Ok(len)
    }
}

pub fn record(data: &[u8]) {
    let (size, rest) = choice(data);
    let pool = Pool::new(128 << 10, 0);
    let mut stream = Pieces { rest, size: usize::from(size) + 1 };
    let mut reader = Reader::new(pool.clone());
    let mut total = 0;
    while let Ok(Some(record)) = reader.next(&mut stream) {
        assert!(!record.is_empty() && record.len() <= pool.size());
        total += record.len();
        let _ = reader.has_record();
    }
    assert!(total <= rest.len());
}

pub fn message(data: &[u8]) {
    if let Ok(call) = parse_call(data) {
        assert!(call.args.len() <= data.len());
    }
    let _ = parse_reply(data);
    let _ = AuthSys::decode(data).map(|auth| assert!(auth.gids().len() <= 16));
    let mut decoder = Decoder::new(data);
    while let Ok(bytes) = decoder.opaque(1 << 20) {
        assert!(bytes.len() <= data.len());
        if decoder.option(sunrpc::xdr::Decoder::fixed::<4>).is_err() || decoder.bool().is_err() {
            break;
        }
    }
}

/// The ids that the corpus's handles name.
const ID: FsId = FsId { pool_guid: 0x1234_5678_9abc_def0, dataset_guid: 77 };

/// A small tree. Its nodes are the same in every run.
fn small_fs() -> Arc<MemFs> {
    let clock = || Time { secs: 1_700_000_000, nanos: 5 };
    let fs = MemFs::with_id(ID, Verifier(7), Box::new(clock));
    let root = Cred::root();
    let set = SetAttr { mode: Some(0o777), ..SetAttr::default() };
    fs.setattr(&root, fs.root(), &set).expect("the root takes a mode");
    for (name, what) in [
        ("file", NewNode::File),
        ("dir", NewNode::Dir),
        ("link", NewNode::Symlink { target: b"file".to_vec() }),
        ("fifo", NewNode::Fifo),
    ] {
        fs.make(&root, fs.root(), name.as_bytes(), &what, &set).expect("a new name in an empty directory");
    }
    fs
}

fn small_service() -> Service {
    let fs = small_fs();
    let served = Served {
        dataset: "tank/share".into(),
        id: ID,
        mountpoint: Some("/tank/share".into()),
        sharenfs: "rw,no_root_squash".into(),
        readonly: false,
        key: None,
        identity: None,
        fs: fs as Arc<dyn FileSystem>,
    };
    Service::new(MemEngine::new(vec![served]), false)
}

/// Calls one after the other, each behind its length in two bytes, from one client of one server.
pub fn nfs_call(data: &[u8]) {
    let service = small_service();
    let session = service.session(([127, 0, 0, 1], 1000).into());
    let mut rest = data;
    for _ in 0..8 {
        let Some((&[high, low], after)) = rest.split_first_chunk() else { return };
        let (call, after) =
            after.split_at(usize::from(high).wrapping_shl(8).wrapping_add(low.into()).min(after.len()));
        if let nfs::Answer::Reply(reply) = service.answer(&session, call) {
            assert!(reply.len() < 2 << 20 && reply.parts().map(<[u8]>::len).sum::<usize>() == reply.len());
        }
        rest = after;
    }
}

/// Well-formed calls of every procedure, on each node of the tree; and lone handles.
pub fn seeds() -> Vec<(&'static str, String, Vec<u8>)> {
    let fs = small_fs();
    let cred = Cred::root();
    let node = |name: &[u8]| fs.lookup(&cred, fs.root(), name).expect("a node of the tree").node;
    let handle = |node| Handle { fs: ID, node }.seal(None);
    let (root, file, link) = (handle(fs.root()), handle(node(b"file")), handle(node(b"link")));
    let mut seeds = vec![("nfs_handle", "root".to_owned(), root.to_vec())];
    for (program, procedures) in [(100_003, 22), (100_005, 6)] {
        for procedure in 0..procedures {
            let mut stream = Vec::new();
            for target in [&root, &file, &link] {
                let call = call(program, procedure, target, &root);
                stream.extend((call.len() as u16).to_be_bytes());
                stream.extend(&call);
                if target == &root && procedure % 5 == 0 {
                    seeds.push(("rpc_message", format!("call{program}-{procedure}"), call.clone()));
                    let marked = [&[40], &sunrpc::record::mark(call.len())[..], &call].concat();
                    seeds.push(("rpc_record", format!("call{program}-{procedure}"), marked));
                }
            }
            seeds.push(("nfs_call", format!("call{program}-{procedure}"), stream));
        }
    }
    seeds
}

/// A call whose arguments suit most procedures: a handle, a name, numbers, bytes.
fn call(program: u32, procedure: u32, handle: &[u8], dir: &[u8]) -> Vec<u8> {
    let mut args = Encoder::new();
    if program == 100_005 {
        args.opaque(b"/tank/share");
    } else {
        args.opaque(handle);
    }
    match procedure {
        3 | 12 | 13 => args.opaque(b"file"),
        6 => [0, 0, 65_536].into_iter().for_each(|word| args.u32(word)),
        7 => {
            [0, 1, 5, 2].into_iter().for_each(|word| args.u32(word));
            args.opaque(b"bytes");
        }
        8..=11 | 14 => {
            args.opaque(b"name");
            args.u32(1);
            (0..6).for_each(|_| args.u32(0));
            args.opaque(b"target");
        }
        15 => {
            args.opaque(dir);
            args.opaque(b"other");
        }
        _ => [0, 0, 0, 0, 4096, 4096, 0].into_iter().for_each(|word| args.u32(word)),
    }
    if procedure == 14 {
        args.opaque(dir);
        args.opaque(b"other");
    }
    let credential = Credential::Sys(AuthSys::new(0, 0, &[7, 8]));
    let mut out = Encoder::new();
    put_call(&mut out, &Call { xid: 1, program, version: 3, procedure, credential, args: args.bytes() });
    out.into_bytes()
}

pub fn nfs_handle(data: &[u8]) {
    if let Ok(handle) = Handle::open(data, |_| None, false) {
        assert_eq!(*handle.seal(None), *data);
    }
    let key = engine_api::HandleKey::of(&[7; 32]);
    if let Ok(handle) = Handle::open(data, |_| Some(&key), false) {
        assert_eq!(*handle.seal(Some(&key)), *data);
    }
}

pub fn sharenfs(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(options) = nfs::parse_sharenfs(text) {
        let _ = format!("{options:?}");
    }
}

/// Every body that the management API takes.
pub fn api(data: &[u8]) {
    use api_types as types;
    body::<types::PoolSpec>(data);
    body::<types::PoolImport>(data);
    body::<types::PoolRelease>(data);
    body::<types::LabelClear>(data);
    body::<types::DatasetCreate>(data);
    body::<types::DatasetDestroy>(data);
    body::<types::PropertiesSet>(data);
    body::<types::Inherit>(data);
    body::<types::Rename>(data);
    body::<types::MountRequest>(data);
    body::<types::UnmountRequest>(data);
    body::<types::ShareRequest>(data);
}

fn body<T: for<'a> serde::Deserialize<'a> + serde::Serialize>(data: &[u8]) {
    if let Ok(value) = serde_json::from_slice::<T>(data) {
        let text = serde_json::to_vec(&value).expect("a request can be written");
        assert!(serde_json::from_slice::<T>(&text).is_ok(), "what was written can be read");
    }
}
