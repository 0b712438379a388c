//! Datasets that are open, as file systems or as volumes: each is opened once, at its first use,
//! and kept until somebody takes it out of its table, or the pool forgets the dataset: a snapshot
//! may go with its last clone or hold, and its number be given to another dataset.
//!
//! Opening takes one lock a pool: nobody uses a dataset before its intent log has been replayed,
//! and that happens once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ::pool::dsl::{Dataset, LongHold};
use engine_api::{Error, Result};
use env::lock;
use ondisk::objset::ObjsetType;

use super::super::convert::api_error;
use super::LocalPool;

/// What is open, by the dataset's number.
pub(super) type OpenTable<T> = Mutex<BTreeMap<u64, Arc<T>>>;

/// Of a dataset.
pub(super) trait Opened {
    fn dataset(&self) -> &Dataset;
}

/// Takes out what the pool has forgotten.
pub(super) fn take_forgotten<T: Opened>(table: &OpenTable<T>) -> Vec<Arc<T>> {
    let mut table = lock(table);
    table.extract_if(.., |_, opened| opened.dataset().is_forgotten()).map(|(_, gone)| gone).collect()
}

impl LocalPool {
    /// What is open of a dataset of this kind; where nothing is, what `open` makes of it, given its
    /// name.
    pub(super) fn open_once<T: Opened>(
        &self,
        table: &OpenTable<T>,
        object: u64,
        kind: ObjsetType,
        open: impl FnOnce(&str, LongHold) -> Result<T>,
    ) -> Result<Arc<T>> {
        let found = || lock(table).get(&object).filter(|known| !known.dataset().is_forgotten()).cloned();
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
        let _forgotten = lock(table).insert(object, opened.clone());
        Ok(opened)
    }
}
