//! Long holds: somebody uses a dataset for longer than one look at it, so it is neither destroyed,
//! rolled back nor received over. Who only looks, while the configuration cannot change, takes
//! none, and is in nobody's way.
//!
//! Source: module/zfs/dsl_dataset.c (`dsl_dataset_long_hold`).

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Dsl;
use super::dataset::Dataset;
use crate::Result;

/// An open dataset with a long hold on it, as long as this is kept.
pub struct LongHold(Arc<Dataset>);

impl LongHold {
    pub(crate) fn on(dataset: Arc<Dataset>) -> LongHold {
        dataset.long_holds.fetch_add(1, Ordering::AcqRel);
        LongHold(dataset)
    }
}

impl Clone for LongHold {
    fn clone(&self) -> LongHold {
        LongHold::on(self.0.clone())
    }
}

impl Drop for LongHold {
    fn drop(&mut self) {
        self.0.long_holds.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Deref for LongHold {
    type Target = Arc<Dataset>;

    fn deref(&self) -> &Arc<Dataset> {
        &self.0
    }
}

impl Dsl {
    /// Opens a dataset by its object, to use it.
    pub fn open_by_object(&self, object: u64) -> Result<LongHold> {
        let _config = self.reading();
        Ok(LongHold::on(self.open_object(object)?))
    }

    /// Lets go of an open dataset that nobody uses.
    pub fn close_if_idle(&self, object: u64) {
        let _config = self.reading();
        self.close_idle(object);
    }

    /// Opens a file system, volume or snapshot, to use it.
    pub fn open_dataset(&self, name: &str) -> Result<LongHold> {
        let _config = self.reading();
        let found = self.find(name)?;
        Ok(LongHold::on(self.open_object(found.object)?))
    }
}
