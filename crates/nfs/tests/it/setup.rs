//! A server over file systems in memory, and a client of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine_api::{Cred, FileSystem, FsId, HandleKey, Served, SetAttr, Time, Verifier};
use model::{MemEngine, MemFs};
use nfs::{Server, ServerConfig};
use sunrpc::client::Client;
use sunrpc::msg::{AuthSys, Credential};

use crate::calls::Nfs;

pub const POOL: u64 = 0x1234_5678_9abc_def0;
/// Of the pool.
pub const SECRET: [u8; 32] = [7; 32];
pub const PATH: &str = "/tank/share";

/// A file system whose clock ticks once a change, open to everyone.
pub fn file_system(dataset_guid: u64) -> Arc<MemFs> {
    let ticks = AtomicU64::new(1_700_000_000);
    let clock = move || Time { secs: ticks.fetch_add(1, Ordering::Relaxed) as i64, nanos: 5 };
    let fs = MemFs::with_id(FsId { pool_guid: POOL, dataset_guid }, Verifier(0x7e57), Box::new(clock));
    let set = SetAttr { mode: Some(0o777), ..SetAttr::default() };
    fs.setattr(&Cred::root(), fs.root(), &set).expect("the root takes a mode");
    fs
}

pub fn served(path: &str, sharenfs: &str, fs: Arc<MemFs>) -> Served {
    Served {
        dataset: path.trim_start_matches('/').to_owned(),
        id: fs.id(),
        mountpoint: Some(path.to_owned()),
        sharenfs: from_any_port(sharenfs),
        readonly: false,
        key: Some(HandleKey::of(&SECRET)),
        identity: None,
        fs,
    }
}

/// The share for clients that are not privileged, as those of tests, unless it says which ports it
/// takes.
fn from_any_port(sharenfs: &str) -> String {
    match sharenfs {
        "on" => "crossmnt,insecure".to_owned(),
        "off" | "nonsense" => sharenfs.to_owned(),
        options if options.contains("secure") => options.to_owned(),
        options => format!("{options},insecure"),
    }
}

pub struct Setup {
    pub engine: Arc<MemEngine>,
    pub fs: Arc<MemFs>,
    pub server: Server,
}

impl Setup {
    /// One file system, shared as told.
    pub fn new(sharenfs: &str) -> Setup {
        let fs = file_system(77);
        let engine = MemEngine::new(vec![served(PATH, sharenfs, fs.clone())]);
        let server = start(engine.clone());
        Setup { engine, fs, server }
    }

    /// A connection, with the share mounted.
    pub fn client(&self, uid: u32, gid: u32) -> Nfs {
        let mut nfs = self.unmounted(uid, gid);
        nfs.root = nfs.mount(PATH).expect("the share mounts");
        nfs
    }

    pub fn unmounted(&self, uid: u32, gid: u32) -> Nfs {
        let credential = Credential::Sys(AuthSys::new(uid, gid, &[]));
        let client = Client::connect(self.server.addr(), 100_003, 3, credential).expect("connected");
        Nfs { client, root: Vec::new() }
    }
}

pub fn start(engine: Arc<MemEngine>) -> Server {
    let addr = "127.0.0.1:0".parse().expect("an address");
    Server::start(ServerConfig::new(addr), engine).expect("a free port")
}
