//! Simulated disks written to files, so that OpenZFS's `zdb` can be asked what it thinks of them.

use std::path::Path;
use std::process::Command;

use env::{Disks, Env, FileDisks, IoClass, OpenMode, Quirks};
use pool::spa::labels;

use crate::disk::SimDisks;

/// Writes every disk to a sparse file in `dir`, which exists and is empty.
pub fn write_files(disks: &SimDisks, paths: &[String], dir: &Path) -> Result<(), String> {
    let files = FileDisks::new(Quirks::default());
    for path in paths {
        let name = path.rsplit('/').next().expect("paths have parts");
        let file = dir.join(format!("{name}.img"));
        let size = disks.size(path);
        let made = std::fs::File::create(&file).and_then(|file| file.set_len(size));
        made.map_err(|error| format!("{}: {error}", file.display()))?;
        let disk = files.open(&file.to_string_lossy(), OpenMode::ReadWrite);
        let disk = disk.map_err(|error| format!("{}: {error}", file.display()))?;
        for (offset, bytes) in disks.contents(path) {
            let len = bytes.len().min((size - offset) as usize);
            let written = disk.write_at(offset, &bytes[..len], IoClass::SyncWrite);
            written.map_err(|error| format!("{}: {error}", file.display()))?;
        }
        disk.flush().map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

/// Whether zdb finds the exported pool in `dir` whole: every checksum right, nothing leaked. A disk
/// that was left behind may still call itself one of a pool of the same name with an older guid, so
/// zdb is told the guid of the newest.
pub fn zdb(dir: &Path) -> Result<(), String> {
    let found = labels::search(&Env::real(), &[dir.to_string_lossy().into_owned()]);
    let newest = found.iter().max_by_key(|pool| pool.uberblocks().first().map(|uberblock| uberblock.txg));
    let pool = newest.ok_or_else(|| format!("no pool in {}", dir.display()))?.guid.to_string();
    let zdb = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/zdb");
    let output = Command::new(zdb).args(["-e", "-p"]).arg(dir).args(["-bcc", &pool]).output();
    let output = output.map_err(|error| format!("zdb cannot be started: {error}"))?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    if !output.status.success() {
        return Err(format!("zdb ends with {}:\n{said}", output.status));
    }
    if !said.contains("No leaks (block sum matches space maps exactly)") {
        return Err(format!("zdb complains:\n{said}"));
    }
    Ok(())
}
