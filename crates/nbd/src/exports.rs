//! Which volumes can be asked for.

use std::sync::Arc;

use engine_api::{DatasetFilter, DatasetKind, Engine, Error, Result, Volume};

/// What a server offers; names are those of datasets.
pub trait Exports: Send + Sync {
    fn names(&self) -> Vec<String>;
    fn open(&self, name: &str) -> Result<Arc<dyn Volume>>;
}

/// Every volume of every pool.
pub struct EngineVolumes(pub Arc<dyn Engine>);

impl Exports for EngineVolumes {
    fn names(&self) -> Vec<String> {
        let filter = DatasetFilter {
            kinds: vec![DatasetKind::Volume],
            props: vec!["name".to_owned()],
            ..DatasetFilter::default()
        };
        let of = |pool: &Arc<dyn engine_api::Pool>| pool.datasets(&filter).unwrap_or_default();
        self.0.pools().iter().flat_map(of).map(|dataset| dataset.name).collect()
    }

    fn open(&self, name: &str) -> Result<Arc<dyn Volume>> {
        let pool = name.split('/').next().ok_or(Error::NotFound)?;
        self.0.pool(pool)?.open_volume(name)
    }
}
