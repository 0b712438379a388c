//! Datasets that are open, as file systems or as volumes: each is opened once, at its first use, and kept until somebody takes
//! it out of its table.
//!
//! Opening takes one lock a pool: nobody uses a dataset before its intent log has been replayed, and that happens once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ::pool::dsl::Dataset;
use engine_api::{Error, Result};
use env::lock;
use ondisk::objset::ObjsetType;

use super::convert::api_error;
use super::pool::LocalPool;

/// What is open, by the dataset's number.
pub(super) type OpenTable<T> = Mutex<BTreeMap<u64, Arc<T>>>;

impl LocalPool {
    /// What is open of a dataset of this kind; where nothing is, what `open` makes of it, given its name.
    pub(super) fn open_once<T>(
        &self,
        table: &OpenTable<T>,
        object: u64,
        kind: ObjsetType,
        open: impl FnOnce(&str, Arc<Dataset>) -> Result<T>,
    ) -> Result<Arc<T>> {
        let found = || lock(table).get(&object).cloned();
        if let Some(known) = found() {
            return Ok(known);
        }
        let _one = lock(&self.mounting);
        if let Some(known) = found() {
            return Ok(known);
        }
        let dataset = self.inner().dsl.open_by_object(object).map_err(api_error)?;
        let name = dataset.name().map_err(api_error)?;
        if dataset.is_inconsistent() || self.inner().dsl.is_taken(object) {
            return Err(Error::Busy);
        }
        if dataset.objset().kind() != kind {
            let wanted = if kind == ObjsetType::Zvol { "volume" } else { "filesystem" };
            return Err(Error::Invalid(format!("'{name}' is not a {wanted}")));
        }
        let opened = Arc::new(open(&name, dataset)?);
        lock(table).insert(object, opened.clone());
        Ok(opened)
    }
}
