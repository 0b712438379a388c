//! The first start of a demonstration: a pool on image files, a file system in it, shared.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use stdx::os_error::words;

use engine_api::refusal::{Action, Reason, Refused};
use engine_api::{Change, Cred, Engine, Error, PoolSpec, PropertyChange, Result, SetAttr, VdevSpec};

/// Images, two and two a mirror.
const IMAGES: [&str; 4] = ["disk1.img", "disk2.img", "disk3.img", "disk4.img"];
/// Bytes of one; sparse, so they take what is written.
const IMAGE_SIZE: u64 = 8 << 30;
const POOL: &str = "tank";
const SHARE: &str = "tank/share";
/// Programs that are not privileged may come, too: this is for trying out.
const SHARENFS: &str = "rw,insecure,crossmnt";

fn prop(name: &str, value: &str) -> PropertyChange {
    PropertyChange { name: name.into(), value: value.into() }
}

/// Makes the pool and the share; what was begun is taken back when it fails.
pub fn make(engine: &dyn Engine, state: &Path) -> Result<()> {
    let disks = state.join("disks");
    let io = |error: std::io::Error| -> Error {
        let path = disks.display().to_string();
        Refused::new(Action::Use { path }, Reason::Os { message: words(&error) }).into()
    };
    fs::create_dir_all(&disks).map_err(io)?;
    let disks = disks.canonicalize().map_err(io)?;
    let mut paths = Vec::new();
    for image in IMAGES {
        let path = disks.join(image);
        // Whoever reads an image reads all files in it.
        let file = fs::File::options().write(true).create_new(true).mode(0o600).open(&path).map_err(io)?;
        file.set_len(IMAGE_SIZE).map_err(io)?;
        paths.push(path.to_string_lossy().into_owned());
    }
    let mirror = |pair: &[String]| VdevSpec::Mirror(pair.iter().cloned().map(VdevSpec::Leaf).collect());
    let spec = PoolSpec {
        name: POOL.into(),
        vdevs: paths.chunks(2).map(mirror).collect(),
        fs_props: vec![prop("compression", "lz4"), prop("xattr", "sa")],
        history: format!(
            "zpool create {POOL} mirror {} {} mirror {} {}",
            paths[0], paths[1], paths[2], paths[3]
        ),
        ..PoolSpec::default()
    };
    let pool = engine.create(&spec)?;
    let props = vec![prop("sharenfs", SHARENFS)];
    let share = Change::CreateFilesystem { name: SHARE.into(), parents: false, props };
    pool.commit(&share, &format!("zfs create -o sharenfs={SHARENFS} {SHARE}"))?;
    // Root of a client is nobody here: let everybody write, as in /tmp.
    let fs = pool.open_fs(SHARE)?;
    fs.setattr(&Cred::root(), fs.root(), &SetAttr { mode: Some(0o1777), ..SetAttr::default() })?;
    fs.sync()
}
