//! Sockets of servers: a thread for each that accepts, and one for each connection; how it reads ([`attentive`]), and what it
//! does by itself of what it reads ([`pace`]).
//!
//! Invariants:
//! - There are no more connections than were allowed: one beyond is closed at once.
//! - Stopping first accepts nothing more, then lets connections read nothing more and finish what they have, then cuts them.
//!   When [`Listening::stop`] returns, none of its threads runs.

pub mod attentive;
pub mod pace;

use std::collections::HashMap;
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What comes out of a listening socket.
pub trait Stream: Sized + Send + Sync + 'static {
    type Listener: Send + 'static;
    fn accept(listener: &Self::Listener) -> io::Result<Self>;
    fn shut(&self, how: Shutdown) -> io::Result<()>;
    /// The listening socket as something that can be shut: its acceptor wakes, whatever became of the address.
    fn of_listener(listener: &Self::Listener) -> io::Result<Self>;
}

impl Stream for TcpStream {
    type Listener = TcpListener;

    fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
        Ok(listener.accept()?.0)
    }

    fn shut(&self, how: Shutdown) -> io::Result<()> {
        self.shutdown(how)
    }

    fn of_listener(listener: &TcpListener) -> io::Result<TcpStream> {
        Ok(OwnedFd::from(listener.try_clone()?).into())
    }
}

impl Stream for UnixStream {
    type Listener = UnixListener;

    fn accept(listener: &UnixListener) -> io::Result<UnixStream> {
        Ok(listener.accept()?.0)
    }

    fn shut(&self, how: Shutdown) -> io::Result<()> {
        self.shutdown(how)
    }

    fn of_listener(listener: &UnixListener) -> io::Result<UnixStream> {
        Ok(OwnedFd::from(listener.try_clone()?).into())
    }
}

/// How to listen.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Of the protocol: threads are called after it.
    pub name: &'static str,
    /// Connections beyond are refused.
    pub connections: usize,
    /// How long connections have to finish what they have read before they are cut.
    pub drain: Duration,
}

/// Sockets that are listened on. Dropping it stops it.
pub struct Listening<S: Stream> {
    shared: Arc<Shared<S>>,
    sockets: Vec<S>,
    acceptors: Mutex<Vec<JoinHandle<()>>>,
}

/// What a connection's thread does: it gets the listener's place in the list, and the connection.
type Serve<S> = dyn Fn(usize, &Arc<S>) + Send + Sync;

struct Shared<S> {
    config: Config,
    serve: Box<Serve<S>>,
    open: Mutex<HashMap<u64, Arc<S>>>,
    ended: Condvar,
    next: AtomicU64,
    stopping: AtomicBool,
}

impl<S: Stream> Shared<S> {
    fn open(&self) -> MutexGuard<'_, HashMap<u64, Arc<S>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, id: u64) {
        self.open().remove(&id);
        self.ended.notify_all();
    }
}

impl<S: Stream> Listening<S> {
    pub fn start(
        config: Config,
        listeners: Vec<S::Listener>,
        serve: impl Fn(usize, &Arc<S>) + Send + Sync + 'static,
    ) -> io::Result<Listening<S>> {
        let shared = Arc::new(Shared {
            config,
            serve: Box::new(serve),
            open: Mutex::default(),
            ended: Condvar::new(),
            next: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
        });
        let sockets = listeners.iter().map(S::of_listener).collect::<io::Result<_>>()?;
        let listening = Listening { shared, sockets, acceptors: Mutex::default() };
        for (place, listener) in listeners.into_iter().enumerate() {
            let shared = listening.shared.clone();
            let thread = thread::Builder::new().name(format!("{}-accept", config.name));
            listening.acceptors().push(thread.spawn(move || accept(&shared, place, &listener))?);
        }
        Ok(listening)
    }

    fn acceptors(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.acceptors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops accepting, has what was read finished, closes every connection. Returns when all is done.
    pub fn stop(&self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Only fails where nobody listens.
        self.sockets.iter().for_each(|socket| drop(socket.shut(Shutdown::Both)));
        for acceptor in std::mem::take(&mut *self.acceptors()) {
            drop(acceptor.join());
        }
        let shut = |open: &HashMap<u64, Arc<S>>, how: Shutdown| {
            // It may have ended by itself meanwhile.
            open.values().for_each(|stream| drop(stream.shut(how)));
        };
        let some = |open: &mut HashMap<u64, Arc<S>>| !open.is_empty();
        let (ended, open) = (&self.shared.ended, self.shared.open());
        shut(&open, Shutdown::Read);
        let waited = ended.wait_timeout_while(open, self.shared.config.drain, some);
        let (open, _) = waited.unwrap_or_else(PoisonError::into_inner);
        shut(&open, Shutdown::Both);
        drop(ended.wait_while(open, some));
    }
}

impl<S: Stream> Drop for Listening<S> {
    fn drop(&mut self) {
        self.stop();
    }
}

fn accept<S: Stream>(shared: &Arc<Shared<S>>, place: usize, listener: &S::Listener) {
    loop {
        let accepted = S::accept(listener);
        if shared.stopping.load(Ordering::SeqCst) {
            return;
        }
        if let Err(error) = accepted.and_then(|stream| begin(shared, place, stream)) {
            tracing::warn!(protocol = shared.config.name, %error, "connection not accepted");
            // Out of descriptors or threads: trying again at once would only spin.
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn begin<S: Stream>(shared: &Arc<Shared<S>>, place: usize, stream: S) -> io::Result<()> {
    let (id, stream) = (shared.next.fetch_add(1, Ordering::Relaxed), Arc::new(stream));
    {
        let mut open = shared.open();
        if open.len() >= shared.config.connections {
            tracing::warn!(protocol = shared.config.name, "connection refused: too many");
            return Ok(());
        }
        open.insert(id, stream.clone());
    }
    let own = shared.clone();
    let spawned = thread::Builder::new().name(format!("{}-conn", shared.config.name)).spawn(move || {
        (own.serve)(place, &stream);
        // It may have ended by itself meanwhile.
        drop(stream.shut(Shutdown::Both));
        own.forget(id);
    });
    if spawned.is_err() {
        shared.forget(id);
    }
    spawned.map(drop)
}

#[cfg(test)]
mod tests;
