//! What kinds of datasets there are.

use ondisk::prop::{BOOKMARK, FILESYSTEM, SNAPSHOT, VOLUME};

/// What a dataset is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DatasetKind {
    Filesystem,
    Volume,
    Snapshot,
    Bookmark,
}

impl DatasetKind {
    /// Its bit in the table of properties.
    pub(crate) fn types(self) -> u8 {
        match self {
            DatasetKind::Filesystem => FILESYSTEM,
            DatasetKind::Volume => VOLUME,
            DatasetKind::Snapshot => SNAPSHOT,
            DatasetKind::Bookmark => BOOKMARK,
        }
    }

    /// As property `type` has it.
    pub const fn name(self) -> &'static str {
        match self {
            DatasetKind::Filesystem => "filesystem",
            DatasetKind::Volume => "volume",
            DatasetKind::Snapshot => "snapshot",
            DatasetKind::Bookmark => "bookmark",
        }
    }
}
