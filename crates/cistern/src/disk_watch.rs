//! Looking every few seconds for disks that have turned up, as udev and zed do beside OpenZFS, and for memory that nobody
//! needs any more.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use engine::LocalEngine;

/// A look costs nothing while no disk is lacking.
const EVERY: Duration = Duration::from_secs(5);

/// Ends with the value.
pub struct DiskWatch {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl DiskWatch {
    pub fn start(engine: Arc<LocalEngine>) -> std::io::Result<DiskWatch> {
        let (stop, stopped) = mpsc::channel::<()>();
        let work = move || {
            while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                engine.look_for_disks();
                env::aligned::give_back();
            }
        };
        let thread = thread::Builder::new().name("disks".to_owned()).spawn(work)?;
        Ok(DiskWatch { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for DiskWatch {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().map(JoinHandle::join);
    }
}
