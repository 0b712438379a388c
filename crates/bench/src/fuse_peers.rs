//! What FUSE itself costs: file systems of others that hand each call on to ext4.
//!
//! libfuse's own example `passthrough_ll`, which Debian ships as source and `scripts/bench` builds,
//! and mergerfs as it is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use load::Fail;

use crate::peers::spawn;
use crate::process::{Server, ended, wait_until};

const PASSTHROUGH: &str = "libfuse passthrough";
const MERGERFS: &str = "mergerfs";

/// One of them; it ends with the value.
pub struct FusePeer {
    pub name: &'static str,
    pub at: PathBuf,
    _server: Server,
}

/// Each that can be had, or why not. `below`: a folder on ext4.
pub fn start(dir: &Path, below: &Path) -> Result<Vec<Result<FusePeer, String>>, Fail> {
    let example = std::env::current_exe()?.with_file_name("bench-passthrough");
    let place = |name: &str| {
        let folder = name.replace(' ', "-");
        (below.join(&folder), dir.join("mnt").join(&folder))
    };
    let (source, at) = place(PASSTHROUGH);
    let mut passthrough = Command::new(example);
    let options = format!("source={},allow_other,default_permissions", source.display());
    passthrough.args(["-f", "-o", &options]);
    let passthrough = mount(PASSTHROUGH, passthrough, &source, at, dir);
    let (source, at) = place(MERGERFS);
    let mut mergerfs = Command::new("mergerfs");
    mergerfs.args(["-f", "-o", "allow_other"]).arg(&source);
    let mergerfs = mount(MERGERFS, mergerfs, &source, at, dir);
    let left_out = |name, error: Fail| format!("{name} is left out: {error}");
    Ok(vec![
        passthrough.map_err(|error| left_out(PASSTHROUGH, error)),
        mergerfs.map_err(|error| left_out(MERGERFS, error)),
    ])
}

fn mount(
    name: &'static str,
    mut command: Command,
    source: &Path,
    at: PathBuf,
    dir: &Path,
) -> Result<FusePeer, Fail> {
    fs::create_dir_all(source)?;
    fs::create_dir_all(&at)?;
    let server = spawn(command.arg(&at), dir)?;
    wait_until(name, || ended(Command::new("mountpoint").arg("-q").arg(&at)).is_ok())?;
    Ok(FusePeer { name, at, _server: server })
}
