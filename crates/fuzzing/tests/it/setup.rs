//! Pools to be hostile with: fixtures made by OpenZFS as images in memory, and disks over them.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use env::{Disk, DiskError, DiskIo, DiskOp, Disks, Env, OpenMode, SectorSize};
use fuzzing::image::Image;

/// Unpacks a fixture's disks.
pub fn fixture(name: &str) -> Vec<Image> {
    let dir = std::env::temp_dir().join(format!("cistern-fuzz-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    let archive = format!("{}/../../tests/fixtures/{name}.tar.zst", env!("CARGO_MANIFEST_DIR"));
    let mut tar = Command::new("tar");
    tar.args(["--zstd", "-xf", &archive, "--strip-components=1", "-C"]).arg(&dir);
    assert!(tar.status().expect("tar is installed").success());
    let mut paths: Vec<_> =
        std::fs::read_dir(&dir).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "img"));
    let images = paths.iter().map(|path| Image::new(std::fs::read(path).expect("an image"))).collect();
    std::fs::remove_dir_all(&dir).expect("the folder goes");
    images
}

/// Disks by name, in memory.
pub struct ImageDisks(BTreeMap<String, Arc<ImageDisk>>);

pub struct ImageDisk(Mutex<Image>, AtomicBool);

impl ImageDisks {
    /// `/d/0`, `/d/1`, …
    pub fn new(images: Vec<Image>) -> Arc<ImageDisks> {
        let named = images.into_iter().enumerate().map(|(i, image)| {
            (format!("/d/{i}"), Arc::new(ImageDisk(Mutex::new(image), AtomicBool::new(false))))
        });
        Arc::new(ImageDisks(named.collect()))
    }

    pub fn env(self: &Arc<Self>) -> Env {
        Env { disks: self.clone(), ..Env::real() }
    }

    /// From now on a write to this disk panics, as a defect in the layers between would.
    pub fn panic_on_write(&self, path: &str) {
        self.0[path].1.store(true, SeqCst);
    }

    /// As they are now.
    pub fn images(&self) -> Vec<Image> {
        self.0.values().map(|disk| disk.0.lock().expect("a disk").clone()).collect()
    }
}

impl Disks for ImageDisks {
    fn open(&self, path: &str, _mode: OpenMode) -> Result<Arc<dyn Disk>, DiskError> {
        Ok(self.0.get(path).ok_or(DiskError::NotFound)?.clone())
    }

    fn list(&self, _dir: &str) -> Result<Vec<String>, DiskError> {
        Ok(self.0.keys().cloned().collect())
    }
}

impl Disk for ImageDisk {
    fn size(&self) -> u64 {
        self.0.lock().expect("a disk").len() as u64
    }

    fn sector_size(&self) -> SectorSize {
        SectorSize { logical: 512, physical: 512 }
    }

    fn submit(&self, batch: &mut [DiskIo<'_>]) {
        let spoiled = self.1.load(SeqCst) && batch.iter().any(DiskIo::is_write);
        assert!(!spoiled, "this disk is to panic on a write");
        let mut image = self.0.lock().expect("a disk");
        let size = image.len() as u64;
        for io in batch {
            io.result = io.check(size, false);
            if io.result.is_ok() {
                match &mut io.op {
                    DiskOp::Read(into) => image.read(io.offset as usize, into),
                    write => image.write(io.offset as usize, &write.payload()),
                }
            }
        }
    }

    fn flush(&self) -> Result<(), DiskError> {
        Ok(())
    }

    fn discard(&self, _offset: u64, _len: u64) -> Result<(), DiskError> {
        Ok(())
    }
}
