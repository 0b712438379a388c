//! Mounts the in-memory model at a directory until it is unmounted: what pjdfstest and fsx run
//! against.

use engine_api::Time;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

fn now() -> Time {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    Time { secs: now.as_secs() as i64, nanos: now.subsec_nanos() }
}

fn main() {
    let Some(at) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: mount_model DIRECTORY");
        std::process::exit(2);
    };
    let fs = model::MemFs::new(Box::new(now));
    let pool = fuse::Pool::new(fuse::Limits::default(), Arc::default()).expect("a descriptor");
    let at = fuse::At { path: &at, overlay: true };
    match fuse::mount(&pool, &mounter::Mounter::here(), fs, at, &fuse::MountOptions::default()) {
        Ok(mount) => mount.wait(),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}
