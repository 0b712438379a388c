//! What requests are about, by numbers that stay, and what it is called now.

use crate::FsId;

/// A file system or volume, or a node of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    pub pool_guid: u64,
    pub dataset_guid: u64,
    /// A node, by its object.
    pub object: Option<u64>,
}

impl Place {
    pub fn dataset(id: FsId) -> Place {
        Place { pool_guid: id.pool_guid, dataset_guid: id.dataset_guid, object: None }
    }
}

/// As it is called now; `None`: it has no name, is no more, or is not open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceName {
    pub dataset: Option<String>,
    /// From the root of the file system on, with a slash before each name.
    pub path: Option<Vec<u8>>,
}
