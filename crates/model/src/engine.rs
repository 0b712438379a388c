//! What a server asks of an engine, and nothing else of one.

use engine_api::{Served, ServedVolume, Serving};
use std::sync::{Arc, Mutex, MutexGuard};

/// Serves what it is told to.
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

impl Serving for MemEngine {
    fn served(&self) -> Vec<Served> {
        self.lock().1.clone()
    }
    fn served_volumes(&self, _property: &str) -> Vec<ServedVolume> {
        self.volumes.lock().expect("nothing panics under this lock").clone()
    }
    fn served_generation(&self) -> u64 {
        self.lock().0
    }
}
