//! What is looked at every few seconds: whether disks have turned up, as udev and zed do beside
//! OpenZFS, whether the cache files still tell where all are, whether there is memory that nobody
//! needs any more, and, by a thread of its own that nobody can hold up, whether somebody is stuck.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use engine::LocalEngine;

/// A look costs nothing while no disk is lacking.
const EVERY: Duration = Duration::from_secs(5);

/// Both threads. They end with the value, but for one that is stuck.
pub struct Watches {
    _disks: Regular,
    _stuck: Regular,
}

impl Watches {
    pub fn start(engine: Arc<LocalEngine>) -> std::io::Result<Watches> {
        let other = engine.clone();
        let disks = move || {
            engine.look_for_disks();
            engine.write_cache_files();
            env::aligned::give_back();
        };
        Ok(Watches {
            _disks: Regular::start("disks", Box::new(disks))?,
            _stuck: Regular::start("watchdog", Box::new(move || other.name_stuck()))?,
        })
    }
}

/// A thread that does the same again and again. Ends with the value.
struct Regular {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Regular {
    fn start(name: &str, look: Box<dyn Fn() + Send>) -> std::io::Result<Regular> {
        let (stop, stopped) = mpsc::channel::<()>();
        let work = move || {
            while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                look();
            }
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(work)?;
        Ok(Regular { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Regular {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().map(JoinHandle::join);
    }
}
