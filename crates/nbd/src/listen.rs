//! The socket: a thread accepts, and each connection has one of its own.

use std::collections::HashMap;
use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::exports::Exports;
use crate::{handshake, transmission};

/// Connections beyond are refused.
const CONNECTIONS: usize = 256;
/// A handshake must go on within this time.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long `stop` waits for connections to finish.
const DRAIN: Duration = Duration::from_secs(5);

/// A running server. Dropping it stops it.
pub struct Server {
    shared: Arc<Shared>,
    path: PathBuf,
    /// The listening socket, as something that can be shut: whatever became of its path, the acceptor wakes.
    listening: UnixStream,
    acceptor: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    exports: Arc<dyn Exports>,
    open: Mutex<HashMap<u64, UnixStream>>,
    ended: Condvar,
    next: AtomicU64,
    stopping: AtomicBool,
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, HashMap<u64, UnixStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, id: u64) {
        self.open().remove(&id);
        self.ended.notify_all();
    }
}

impl Server {
    /// Serves on a socket that is bound at `path`, which goes when the server stops.
    pub fn start(listener: UnixListener, path: &Path, exports: Arc<dyn Exports>) -> io::Result<Server> {
        let shared = Arc::new(Shared {
            exports,
            open: Mutex::default(),
            ended: Condvar::new(),
            next: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
        });
        let own = shared.clone();
        let listening = UnixStream::from(OwnedFd::from(listener.try_clone()?));
        let acceptor = thread::Builder::new().name("nbd-accept".to_owned());
        let acceptor = acceptor.spawn(move || accept(&own, &listener))?;
        Ok(Server { shared, path: path.to_owned(), listening, acceptor: Mutex::new(Some(acceptor)) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Stops accepting, finishes what was begun, closes every connection. Returns when all is done.
    pub fn stop(&self) {
        if self.shared.stopping.swap(true, Ordering::SeqCst) {
            return;
        }
        // Only fails where nobody listens.
        drop(self.listening.shutdown(Shutdown::Both));
        let acceptor = self.acceptor.lock().unwrap_or_else(PoisonError::into_inner).take();
        acceptor.map(JoinHandle::join);
        let open = self.shared.open();
        // What arrived is worked on and answered; nothing more is read.
        open.values().for_each(|stream| drop(stream.shutdown(Shutdown::Read)));
        let some = |open: &mut HashMap<u64, UnixStream>| !open.is_empty();
        drop(self.shared.ended.wait_timeout_while(open, DRAIN, some));
        // Somebody else's by now, or gone: nothing is lost.
        drop(std::fs::remove_file(&self.path));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn accept(shared: &Arc<Shared>, listener: &UnixListener) {
    loop {
        let accepted = listener.accept();
        if shared.stopping.load(Ordering::SeqCst) {
            return;
        }
        let done = accepted.and_then(|(stream, _)| start(shared, stream));
        if let Err(error) = done {
            tracing::warn!(%error, "connection not accepted");
            // Out of descriptors or threads: trying again at once would only spin.
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn start(shared: &Arc<Shared>, stream: UnixStream) -> io::Result<()> {
    let id = shared.next.fetch_add(1, Ordering::Relaxed);
    {
        let mut open = shared.open();
        if open.len() >= CONNECTIONS {
            tracing::warn!("connection refused: too many");
            return Ok(());
        }
        open.insert(id, stream.try_clone()?);
    }
    let own = shared.clone();
    let spawned = thread::Builder::new().name("nbd-conn".to_owned()).spawn(move || {
        if let Err(error) = run(&own, &stream) {
            tracing::info!(%error, "network block device closed");
        }
        // It may have ended by itself meanwhile.
        drop(stream.shutdown(Shutdown::Both));
        own.forget(id);
    });
    if spawned.is_err() {
        shared.forget(id);
    }
    spawned.map(drop)
}

fn run(shared: &Shared, stream: &UnixStream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let Some(agreed) = handshake::negotiate(stream, &*shared.exports)? else { return Ok(()) };
    stream.set_read_timeout(None)?;
    let volume = agreed.name.clone();
    tracing::info!(volume, "network block device attached");
    let ended = transmission::serve(stream, agreed);
    tracing::info!(volume, "network block device detached");
    ended
}
