//! Serves a file system in memory, to try clients on and to profile the server alone:
//! `cargo run --release -p nfs --example serve -- 127.0.0.1:20490`

use std::time::{SystemTime, UNIX_EPOCH};

use engine_api::{Cred, FileSystem, FsId, Served, SetAttr, Time, Verifier};
use model::{MemEngine, MemFs};

fn main() {
    let addr = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:20490".to_owned());
    let id = FsId { pool_guid: 1, dataset_guid: 2 };
    let now = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time { secs: now.as_secs() as i64, nanos: now.subsec_nanos() }
    };
    let fs = MemFs::with_id(id, Verifier(now().secs as u64), Box::new(now));
    let set = SetAttr { mode: Some(0o777), ..SetAttr::default() };
    fs.setattr(&Cred::root(), fs.root(), &set).expect("the root takes a mode");
    let served = Served {
        dataset: "tank/share".to_owned(),
        id,
        mountpoint: Some("/tank/share".to_owned()),
        sharenfs: "rw,no_root_squash,insecure".to_owned(),
        readonly: false,
        key: None,
        identity: None,
        fs,
    };
    let addr = addr.parse().expect("ADDRESS:PORT");
    let server =
        nfs::Server::start(nfs::ServerConfig::new(addr), MemEngine::new(vec![served])).expect("listening");
    println!("serving /tank/share on {}", server.addr());
    loop {
        std::thread::park();
    }
}
