//! What a server asks of an engine: which datasets it is to serve now.

use std::sync::Arc;

use crate::{FileSystem, FsId, HandleKey, Identity, Volume, VolumeId};

/// A file system that is open for serving.
#[derive(Clone)]
pub struct Served {
    pub dataset: String,
    pub id: FsId,
    /// Where clients see it; `None` for mountpoint=none or legacy.
    pub mountpoint: Option<String>,
    /// The property as set: `off`, `on` or options.
    pub sharenfs: String,
    pub readonly: bool,
    /// What seals handles with `id`. It comes from what the pool keeps on its disks, the same
    /// wherever it is imported, and no protocol tells it. Pools of old software have none.
    pub key: Option<HandleKey>,
    /// What clients know it by, where that is another dataset's, whose place it has taken.
    pub identity: Option<Identity>,
    pub fs: Arc<dyn FileSystem>,
}

/// A volume that is open for serving.
#[derive(Clone)]
pub struct ServedVolume {
    pub dataset: String,
    /// The property as set: what it is served as.
    pub share: String,
    /// When it came to be, in this pool: seconds since 1970.
    pub created: u64,
    /// What clients know it by: its own id, or that of another whose place it has taken.
    pub known_as: VolumeId,
    pub volume: Arc<dyn Volume>,
}

/// Whoever has datasets to serve. A server knows nothing else of an engine.
pub trait Serving: Send + Sync {
    /// Every file system that may be served now (canmount, encryption and pool state allow it), in
    /// name order.
    fn served(&self) -> Vec<Served>;
    /// Every volume of which this property of the user's is set, and not to `off`; in name order.
    fn served_volumes(&self, property: &str) -> Vec<ServedVolume>;
    /// Grows whenever the answer of `served`, `served_volumes` or `is_to_come` may have changed.
    fn served_generation(&self) -> u64;
    /// Whether a pool, by its guid, is still to come: it was imported when the program last ran,
    /// and its import has not ended. `None`: whether any is. What lies in it is not known to be
    /// gone.
    fn is_to_come(&self, _pool: Option<u64>) -> bool {
        false
    }
}
