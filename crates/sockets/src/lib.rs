//! What servers are made of: a thread for each socket that accepts, and one for each connection;
//! how it reads ([`attentive`]), what it does by itself of what it reads ([`pace`]), and who does
//! the rest ([`workers`]) or waits for stable storage ([`keepers`]); what it may hold ([`budget`]),
//! and how replies leave ([`outbox`]) and wait in the system ([`unsent`]).
//!
//! A protocol says how many connections it takes and serves one ([`Listening::start`]). It is given
//! the connection with its count of memory, its reader and its box for replies ([`Accepted`]).
//!
//! A stranger can make connections, and say nothing. So there are so many at the most, and fewer of
//! them from one place ([`place`]); where one too many comes, the one goes that was silent for
//! longest, strangers before those that have said something that makes sense ([`Peer::prove`]), and
//! none for which there is work. The fuller it is, the shorter may a connection be silent.
//!
//! Invariants:
//! - There are no more connections than were allowed, but for those that were cut and are about to
//!   end: an eighth more, and [`SLACK`].
//! - Stopping first accepts nothing more, then lets connections read nothing more and finish what
//!   they have, then cuts them. When [`Listening::stop`] returns, none of its threads runs.
//! - A listening socket is closed, and never shut down: it may be somebody else's too
//!   ([`inherited`]).

pub mod attentive;
pub mod budget;
mod drain;
pub mod hurried;
pub mod inherited;
pub mod keepers;
mod lock;
pub mod outbox;
pub mod pace;
pub mod peer;
mod place;
mod unsent;
pub mod workers;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::{self, PipeReader, PipeWriter};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use attentive::{Attentive, Lookout};
use outbox::Outbox;

pub use budget::{Budget, Lease, Limits, Peer};
pub use drain::STALL;
pub use lock::lock;
pub use place::place;
pub use unsent::notice_gone;

/// Connections that may be about to end beside those that are allowed.
const SLACK: usize = 16;
/// How often it is looked who is silent.
const LOOK: Duration = Duration::from_secs(1);

/// What comes out of a listening socket.
pub trait Stream: Sized + Send + Sync + 'static {
    type Listener: AsFd + Send + 'static;
    /// Where a peer is.
    type Addr: Copy + Send + 'static;
    fn accept(listener: &Self::Listener) -> io::Result<Self>;
    /// Where the peer is. An error: it has gone again.
    fn addr(&self) -> io::Result<Self::Addr>;
    /// The same, if that is not this machine.
    fn ip(addr: Self::Addr) -> Option<IpAddr>;
    fn shut(&self, how: Shutdown) -> io::Result<()>;
    /// Reading waits for so long at the most.
    fn set_patience(&self, patience: Duration) -> io::Result<()>;
    /// Accepting does not wait.
    fn hurry(listener: &Self::Listener) -> io::Result<()>;
}

impl Stream for TcpStream {
    type Listener = TcpListener;
    type Addr = SocketAddr;

    fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
        let stream = listener.accept()?.0;
        stream.set_nodelay(true)?;
        unsent::hold_little(&stream)?;
        Ok(stream)
    }

    fn addr(&self) -> io::Result<SocketAddr> {
        self.peer_addr()
    }

    fn ip(addr: SocketAddr) -> Option<IpAddr> {
        Some(addr.ip())
    }

    fn shut(&self, how: Shutdown) -> io::Result<()> {
        self.shutdown(how)
    }

    fn set_patience(&self, patience: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(patience))
    }

    fn hurry(listener: &TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)
    }
}

impl Stream for UnixStream {
    type Listener = UnixListener;
    type Addr = ();

    fn accept(listener: &UnixListener) -> io::Result<UnixStream> {
        Ok(listener.accept()?.0)
    }

    fn addr(&self) -> io::Result<()> {
        Ok(())
    }

    fn ip((): ()) -> Option<IpAddr> {
        None
    }

    fn shut(&self, how: Shutdown) -> io::Result<()> {
        self.shutdown(how)
    }

    fn set_patience(&self, patience: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(patience))
    }

    fn hurry(listener: &UnixListener) -> io::Result<()> {
        listener.set_nonblocking(true)
    }
}

/// How to listen.
#[derive(Clone)]
pub struct Config {
    /// Of the protocol: threads are called after it.
    pub name: &'static str,
    /// For one connection beyond, another is ended.
    pub connections: usize,
    /// The same, for those from one place.
    pub from_one_place: usize,
    /// A peer that has proven to be one loses nothing when its connection ends while nothing is
    /// asked for: so that is done when it was silent for long and there are many.
    pub ends_idle: bool,
    /// What peers hold is counted here.
    pub budget: Arc<Budget>,
    /// How long connections have to finish what they have read before they are cut.
    pub drain: Duration,
}

/// Sockets that are listened on. Dropping it stops it.
pub struct Listening<S: Stream> {
    shared: Arc<Shared<S>>,
    /// Acceptors wake when it is closed.
    running: Mutex<Option<PipeWriter>>,
    acceptors: Mutex<Vec<JoinHandle<()>>>,
}

/// What a connection's thread does.
type Serve<S> = dyn Fn(&Accepted<S>) + Send + Sync;

/// A connection, for whoever serves it.
pub struct Accepted<S: Stream> {
    /// Of the listener that it came to, in the list of listeners.
    pub place: usize,
    pub stream: Arc<S>,
    pub addr: S::Addr,
    pub peer: Arc<Peer>,
    lookout: Lookout,
}

impl Accepted<TcpStream> {
    /// What the peer sends.
    pub fn requests(&self) -> Attentive<'_> {
        Attentive::new(&self.stream, &self.peer, self.lookout.clone())
    }

    /// Where replies go. The stream's timeout for writing is the box's from now on.
    pub fn outbox(&self) -> io::Result<Outbox> {
        Outbox::new(self.stream.clone(), self.peer.clone())
    }
}

/// A connection that is open.
struct Open<S> {
    stream: Arc<S>,
    peer: Arc<Peer>,
}

struct Shared<S: Stream> {
    config: Config,
    serve: Box<Serve<S>>,
    open: Mutex<HashMap<u64, Open<S>>>,
    ended: Condvar,
    next: AtomicU64,
    stopping: AtomicBool,
    lookout: Lookout,
}

impl<S: Stream> Shared<S> {
    /// How long a connection may be silent, with so many open; a stranger's, and that of one who
    /// has proven to be none.
    fn patience(&self, open: usize) -> (Duration, Duration) {
        let secs = Duration::from_secs;
        let (stranger, known) = match open * 100 / self.config.connections.max(1) {
            0..50 => (secs(60), Duration::MAX),
            50..75 => (secs(15), secs(600)),
            75..90 => (secs(5), secs(60)),
            _ => (secs(2), secs(15)),
        };
        (stranger, if self.config.ends_idle { known } else { Duration::MAX })
    }

    /// Ends those that are silent for too long.
    fn sweep(&self) {
        let open = lock(&self.open);
        let (stranger, known) = self.patience(open.len());
        for Open { peer, .. } in open.values().filter(|one| one.is_idle()) {
            let limit = if peer.is_proven() { known } else { stranger };
            if peer.silence() > limit {
                tracing::info!(protocol = self.config.name, from = ?peer.from(), "cut off: it is silent");
                peer.cut();
            }
        }
    }

    /// Whether there is room for one more from somewhere; makes it, if it can be made.
    fn admits(&self, open: &HashMap<u64, Open<S>>, from: Option<IpAddr>) -> bool {
        let near = |one: &&Open<S>| !one.peer.is_cut() && from.is_some() && one.peer.from() == from;
        let far = |one: &&Open<S>| !one.peer.is_cut();
        let Config { connections, from_one_place, .. } = self.config;
        (open.values().filter(near).count() < from_one_place || self.evict(open.values().filter(near)))
            && (open.values().filter(far).count() < connections || self.evict(open.values().filter(far)))
            && open.len() < connections + connections / 8 + SLACK
    }

    /// Ends the one of them that was silent for longest; false: they are all busy.
    fn evict<'a>(&self, among: impl Iterator<Item = &'a Open<S>>) -> bool {
        let idle = among.filter(|one| one.is_idle()).map(|one| &one.peer);
        let Some(peer) = idle.max_by_key(|peer| (!peer.is_proven(), peer.silence(), Reverse(peer.id())))
        else {
            return false;
        };
        tracing::info!(protocol = self.config.name, from = ?peer.from(), "cut off: others want its place");
        peer.cut();
        true
    }
}

impl<S> Open<S> {
    /// It asks for nothing, as far as is known.
    fn is_idle(&self) -> bool {
        !self.peer.is_cut() && self.peer.held() == 0
    }
}

impl<S: Stream> Listening<S> {
    pub fn start(
        config: Config,
        listeners: Vec<S::Listener>,
        serve: impl Fn(&Accepted<S>) + Send + Sync + 'static,
    ) -> io::Result<Listening<S>> {
        let shared = Arc::new(Shared {
            config,
            serve: Box::new(serve),
            open: Mutex::default(),
            ended: Condvar::new(),
            next: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            lookout: Lookout::default(),
        });
        let (stopped, running) = io::pipe()?;
        let listening = Listening { shared, running: Mutex::new(Some(running)), acceptors: Mutex::default() };
        for (place, listener) in listeners.into_iter().enumerate() {
            S::hurry(&listener)?;
            let (shared, stopped) = (listening.shared.clone(), stopped.try_clone()?);
            let thread = thread::Builder::new().name(format!("{}-accept", shared.config.name));
            let acceptor = thread.spawn(move || accept(&shared, place, &listener, &stopped))?;
            lock(&listening.acceptors).push(acceptor);
        }
        Ok(listening)
    }

    /// Stops accepting, has what was read finished, closes every connection. Returns when all is
    /// done.
    pub fn stop(&self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        drop(lock(&self.running).take());
        for acceptor in std::mem::take(&mut *lock(&self.acceptors)) {
            drop(acceptor.join());
        }
        let shut = |open: &HashMap<u64, Open<S>>, how: Shutdown| {
            // It may have ended by itself meanwhile.
            open.values().for_each(|one| drop(one.stream.shut(how)));
        };
        let some = |open: &mut HashMap<u64, Open<S>>| !open.is_empty();
        let (ended, open) = (&self.shared.ended, lock(&self.shared.open));
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

fn accept<S: Stream>(shared: &Arc<Shared<S>>, place: usize, listener: &S::Listener, stopped: &PipeReader) {
    let mut looked = Instant::now();
    loop {
        let mut wanted = [
            PollFd::new(listener.as_fd(), PollFlags::POLLIN),
            PollFd::new(stopped.as_fd(), PollFlags::POLLIN),
        ];
        // Interrupted: as if somebody had come, which is found out below.
        let ready = poll(&mut wanted, PollTimeout::from(LOOK.as_millis() as u16));
        if shared.stopping.load(Ordering::SeqCst) {
            return;
        }
        if looked.elapsed() >= LOOK {
            shared.sweep();
            looked = Instant::now();
        }
        if ready == Ok(0) {
            continue;
        }
        match S::accept(listener).and_then(|stream| begin(shared, place, stream)) {
            Ok(()) => {}
            // It has gone again, or somebody else has taken it.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => {
                tracing::warn!(protocol = shared.config.name, %error, "connection not accepted");
                // Out of descriptors or threads: trying again at once would only spin.
                thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

fn begin<S: Stream>(shared: &Arc<Shared<S>>, place: usize, stream: S) -> io::Result<()> {
    // Who has gone again has no address, and nothing to be told.
    let Ok(addr) = stream.addr() else { return Ok(()) };
    let (id, stream) = (shared.next.fetch_add(1, Ordering::Relaxed), Arc::new(stream));
    let own = stream.clone();
    // It may have ended by itself meanwhile.
    let peer = shared.config.budget.peer(S::ip(addr), move || drop(own.shut(Shutdown::Both)));
    {
        let mut open = lock(&shared.open);
        if !shared.admits(&open, peer.from()) {
            tracing::warn!(protocol = shared.config.name, from = ?peer.from(), "connection refused: too many");
            return Ok(());
        }
        open.insert(id, Open { stream: stream.clone(), peer: peer.clone() });
    }
    let ends = Ends { shared: shared.clone(), id, stream: stream.clone() };
    let accepted = Accepted { place, stream, addr, peer, lookout: shared.lookout.clone() };
    let serve = move || (ends.shared.serve)(&accepted);
    thread::Builder::new().name(format!("{}-conn", shared.config.name)).spawn(serve).map(drop)
}

/// Ends a connection, also one whose thread panics or cannot be had.
struct Ends<S: Stream> {
    shared: Arc<Shared<S>>,
    id: u64,
    stream: Arc<S>,
}

impl<S: Stream> Drop for Ends<S> {
    fn drop(&mut self) {
        drop(self.stream.shut(Shutdown::Both));
        lock(&self.shared.open).remove(&self.id);
        self.shared.ended.notify_all();
    }
}

#[cfg(test)]
mod tests;
