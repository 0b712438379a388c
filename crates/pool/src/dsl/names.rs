//! Names of datasets: what they lead to. [`crate::namecheck`] says which names are valid.

use std::sync::Arc;

use api_types::DatasetKind;
use ondisk::dsl_dataset::DslDatasetPhys;

use super::Dsl;
use super::dir::Dir;
use crate::{PoolError, Result};

/// What a name leads to.
#[derive(Clone)]
pub(crate) struct Found {
    pub dir: Arc<Dir>,
    /// Object of the dataset.
    pub object: u64,
    pub phys: DslDatasetPhys,
}

impl Found {
    pub fn is_snapshot(&self) -> bool {
        self.phys.is_snapshot()
    }
}

impl Dsl {
    /// The directory of this name; `NotFound` also when the pool has another name.
    pub(crate) fn find_dir(&self, name: &str) -> Result<Arc<Dir>> {
        let mut parts = name.split('/');
        if parts.next() != Some(self.parts.name().as_str()) {
            return Err(PoolError::NotFound);
        }
        let mut dir = self.root()?;
        for part in parts {
            if part.starts_with('$') {
                return Err(PoolError::NotFound);
            }
            let object = self.mos.find(dir.phys().child_dir_zapobj, part)?.ok_or(PoolError::NotFound)?;
            dir = self.child_dir(&dir, part, object)?;
        }
        Ok(dir)
    }

    /// A file system, volume or snapshot by its name.
    pub(crate) fn find(&self, name: &str) -> Result<Found> {
        let (head, snap) = name.split_once('@').map_or((name, None), |(head, snap)| (head, Some(snap)));
        let found = self.head_of(&self.find_dir(head)?)?.ok_or(PoolError::NotFound)?;
        let Some(snap) = snap else { return Ok(found) };
        let object = self.mos.find(found.phys.snapnames_zapobj, snap)?.ok_or(PoolError::NotFound)?;
        Ok(Found { object, phys: self.mos.dataset(object)?, ..found })
    }

    /// The name of a dataset's object.
    pub fn dataset_name(&self, object: u64) -> Result<String> {
        let phys = self.mos.dataset(object)?;
        let dir = self.dir(phys.dir_obj)?;
        if !phys.is_snapshot() {
            return Ok(dir.name());
        }
        let head = self.mos.dataset(dir.phys().head_dataset_obj)?;
        let names = self.mos.entries(head.snapnames_zapobj)?;
        let name = names.into_iter().find(|(_, value)| value.first() == object);
        let (name, _) = name.ok_or(PoolError::NotFound)?;
        Ok(format!("{}@{name}", dir.name()))
    }

    /// The object of a file system, volume or snapshot.
    pub fn object_of(&self, name: &str) -> Result<u64> {
        let _config = self.reading();
        Ok(self.find(name)?.object)
    }

    /// Its kind; opens the object set, for only that knows.
    pub(crate) fn kind_of(&self, found: &Found) -> Result<DatasetKind> {
        if found.is_snapshot() {
            return Ok(DatasetKind::Snapshot);
        }
        self.head_kind(found.object, &found.phys)
    }
}
