//! An engine that only knows which file systems it serves: enough for the servers' tests.

use engine_api::{
    CacheFileSearch, Counts, Engine, Error, FsId, ImportOptions, Importable, Pool, PoolSpec, Result, Served,
    ServedVolume, TokenContents,
};
use std::sync::{Arc, Mutex, MutexGuard};

/// Serves what it is told to; pools it has none.
#[derive(Default)]
pub struct MemEngine {
    served: Mutex<(u64, Vec<Served>)>,
    volumes: Mutex<Vec<ServedVolume>>,
}

impl MemEngine {
    pub fn new(served: Vec<Served>) -> Arc<MemEngine> {
        let engine = MemEngine::default();
        engine.set_served(served);
        Arc::new(engine)
    }

    /// Serve these from now on; `served_generation` grows.
    pub fn set_served(&self, mut served: Vec<Served>) {
        served.sort_by(|a, b| a.dataset.cmp(&b.dataset));
        let mut now = self.lock();
        *now = (now.0 + 1, served);
    }

    /// Likewise, for volumes.
    pub fn set_volumes(&self, volumes: Vec<ServedVolume>) {
        *self.volumes.lock().expect("nothing panics under this lock") = volumes;
        self.lock().0 += 1;
    }

    fn lock(&self) -> MutexGuard<'_, (u64, Vec<Served>)> {
        self.served.lock().expect("nothing panics under this lock")
    }
}

fn unsupported<T>() -> Result<T> {
    Err(Error::Unsupported("the model has no pools".into()))
}

impl Engine for MemEngine {
    fn create(&self, _spec: &PoolSpec) -> Result<Arc<dyn Pool>> {
        unsupported()
    }
    fn features(&self) -> Vec<engine_api::FeatureInfo> {
        Vec::new()
    }
    fn importable(&self, _: &[String], _: Option<&CacheFileSearch>) -> Result<Vec<Importable>> {
        unsupported()
    }
    fn import(&self, _which: &str, _options: &ImportOptions) -> Result<Arc<dyn Pool>> {
        unsupported()
    }
    fn export(&self, _name: &str, _force: bool) -> Result<()> {
        unsupported()
    }
    fn destroy(&self, _name: &str, _force: bool) -> Result<()> {
        unsupported()
    }
    fn pool(&self, _name: &str) -> Result<Arc<dyn Pool>> {
        unsupported()
    }
    fn pools(&self) -> Vec<Arc<dyn Pool>> {
        Vec::new()
    }
    fn read_token(&self, _token: &str) -> Result<TokenContents> {
        unsupported()
    }
    fn label_clear(&self, _path: &str, _force: bool) -> Result<()> {
        unsupported()
    }
    fn served(&self) -> Vec<Served> {
        self.lock().1.clone()
    }
    fn served_by_id(&self, id: FsId) -> Option<Served> {
        self.lock().1.iter().find(|served| served.id == id).cloned()
    }
    fn served_volumes(&self, _property: &str) -> Vec<ServedVolume> {
        self.volumes.lock().expect("nothing panics under this lock").clone()
    }
    fn served_generation(&self) -> u64 {
        self.lock().0
    }
    fn diagnostics(&self) -> &dyn engine_api::Diagnostics {
        &engine_api::NoDiagnostics
    }

    fn cache_counts(&self) -> Counts {
        Counts::new()
    }
}
