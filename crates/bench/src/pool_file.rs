//! A file in a pool of an engine that runs in this process, and data for it.

use std::sync::Arc;

use engine_api::{
    Change, CreateMode, Cred, Error, FileSystem, NodeId, Pool, PropertyChange, SetAttr, Stable,
};
use stdx::prng::Prng;

/// Different data than any block size divides, so that no two blocks are the same.
const NOISE: usize = 64 << 20;

const ROOT: Cred = Cred::root();
const NAME: &[u8] = b"file";

#[derive(Clone)]
pub struct PoolFile {
    fs: Arc<dyn FileSystem>,
    node: NodeId,
}

impl PoolFile {
    /// In a new file system with these properties.
    pub fn make(pool: &dyn Pool, dataset: &str, props: &[(&str, &str)]) -> Result<PoolFile, Error> {
        let prop = |&(name, value): &(&str, &str)| PropertyChange { name: name.into(), value: value.into() };
        let props = props.iter().map(prop).collect();
        pool.commit(&Change::CreateFilesystem { name: dataset.into(), parents: false, props }, "")?;
        let fs = pool.open_fs(dataset)?;
        let attr = SetAttr { mode: Some(0o644), ..SetAttr::default() };
        let node = fs.create(&ROOT, fs.root(), NAME, CreateMode::Guarded, &attr)?.attr.node;
        Ok(PoolFile { fs, node })
    }

    /// The one that was made there before.
    pub fn find(pool: &dyn Pool, dataset: &str) -> Result<PoolFile, Error> {
        let fs = pool.open_fs(dataset)?;
        let node = fs.lookup(&ROOT, fs.root(), NAME)?.node;
        Ok(PoolFile { fs, node })
    }

    pub fn write(&self, at: u64, data: &[u8]) -> Result<(), Error> {
        self.fs.write(&ROOT, self.node, at, data, Stable::Unstable).map(drop)
    }

    /// Nothing is in it any more.
    pub fn truncate(&self) -> Result<(), Error> {
        let nothing = SetAttr { size: Some(0), ..SetAttr::default() };
        self.fs.setattr(&ROOT, self.node, &nothing).map(drop)
    }

    /// Waits until everything is stable.
    pub fn sync(&self) -> Result<(), Error> {
        self.fs.sync()
    }

    /// Calls `each` with the bytes, part by part; how many there were.
    pub fn read(&self, at: u64, len: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, Error> {
        let read = self.fs.read(&ROOT, self.node, at, len)?;
        read.parts.iter().for_each(|part| each(part.bytes()));
        Ok(read.len())
    }
}

/// Incompressible data.
pub struct Noise(Vec<u8>);

impl Noise {
    pub fn new() -> Noise {
        let mut bytes = vec![0; NOISE];
        Prng::new(1).fill(&mut bytes);
        Noise(bytes)
    }

    /// For a write at this place.
    pub fn at(&self, at: u64, len: usize) -> &[u8] {
        let from = (at as usize * 7 / 3) % (NOISE - len);
        &self.0[from..from + len]
    }
}
