//! Sockets: a thread accepts, and each connection has one that reads it.
//!
//! A session that is begun anew by the same port of an initiator ends the old one first: its connection is cut, and what was
//! begun there is finished.

use std::collections::HashMap;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use engine_api::Engine;

use crate::catalogue::Catalogue;
use crate::conn;
use crate::limits::{CONNECTIONS, DRAIN};
use crate::login::Member;

/// How to serve.
pub struct ServerConfig {
    /// Port 0 picks one. `[::]` takes IPv4 initiators too.
    pub addr: SocketAddr,
    /// Gives numbers that nobody can guess, for challenges.
    pub random: Arc<dyn Fn() -> u64 + Send + Sync>,
}

/// A running server. Dropping it stops it.
pub struct Server {
    shared: Arc<Shared>,
    addr: SocketAddr,
    acceptor: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    catalogue: Arc<Catalogue>,
    random: Arc<dyn Fn() -> u64 + Send + Sync>,
    connections: Mutex<Connections>,
    ended: Condvar,
    next: AtomicU64,
    stopping: AtomicBool,
}

#[derive(Default)]
struct Connections {
    open: HashMap<u64, TcpStream>,
    /// By target and port of the initiator.
    sessions: HashMap<(String, String), u64>,
}

impl Shared {
    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a connection the session of who has logged in, once another that was is gone.
    fn adopt(&self, id: u64, member: &Member) {
        let Some(target) = &member.target else { return };
        let key = (target.clone(), member.port.to_string());
        let mut connections = self.connections();
        if let Some(old) = connections.sessions.insert(key, id)
            && let Some(stream) = connections.open.get(&old)
        {
            // It may have ended by itself meanwhile.
            drop(stream.shutdown(Shutdown::Both));
            let open = |connections: &mut Connections| connections.open.contains_key(&old);
            drop(self.ended.wait_timeout_while(connections, DRAIN, open));
        }
    }

    fn forget(&self, id: u64) {
        let mut connections = self.connections();
        connections.open.remove(&id);
        connections.sessions.retain(|_, session| *session != id);
        drop(connections);
        self.ended.notify_all();
    }
}

impl Server {
    pub fn start(config: ServerConfig, engine: Arc<dyn Engine>) -> io::Result<Server> {
        let listener = TcpListener::bind(config.addr)?;
        let addr = listener.local_addr()?;
        let shared = Arc::new(Shared {
            catalogue: Arc::new(Catalogue::new(engine)),
            random: config.random,
            connections: Mutex::default(),
            ended: Condvar::new(),
            next: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
        });
        let own = shared.clone();
        let acceptor = thread::Builder::new().name("iscsi-accept".to_owned());
        let acceptor = acceptor.spawn(move || accept(&own, &listener))?;
        tracing::info!(%addr, "serving iSCSI");
        Ok(Server { shared, addr, acceptor: Mutex::new(Some(acceptor)) })
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Stops accepting, finishes what was begun, closes every connection. Returns when all is done.
    pub fn stop(&self) {
        if self.shared.stopping.swap(true, Ordering::SeqCst) {
            return;
        }
        let mut addr = self.addr;
        if addr.ip().is_unspecified() {
            addr.set_ip(if addr.is_ipv4() { [127, 0, 0, 1].into() } else { [0, 0, 0, 0, 0, 0, 0, 1].into() });
        }
        // Waking it by a connection is the portable way to end a blocking accept.
        drop(TcpStream::connect_timeout(&addr, Duration::from_secs(1)));
        let acceptor = self.acceptor.lock().unwrap_or_else(PoisonError::into_inner).take();
        acceptor.map(JoinHandle::join);
        let connections = self.shared.connections();
        connections.open.values().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
        let some = |connections: &mut Connections| !connections.open.is_empty();
        drop(self.shared.ended.wait_timeout_while(connections, DRAIN, some));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    loop {
        let accepted = listener.accept();
        if shared.stopping.load(Ordering::SeqCst) {
            return;
        }
        let done = accepted.and_then(|(stream, peer)| start(shared, stream, peer));
        if let Err(error) = done {
            tracing::warn!(%error, "connection not accepted");
            // Out of descriptors or threads: trying again at once would only spin.
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn start(shared: &Arc<Shared>, stream: TcpStream, peer: SocketAddr) -> io::Result<()> {
    let id = shared.next.fetch_add(1, Ordering::Relaxed);
    {
        let mut connections = shared.connections();
        if connections.open.len() >= CONNECTIONS {
            tracing::warn!(%peer, "connection refused: too many");
            return Ok(());
        }
        connections.open.insert(id, stream.try_clone()?);
    }
    let own = shared.clone();
    let spawned = thread::Builder::new().name("iscsi-conn".to_owned()).spawn(move || {
        run(&own, id, &stream, peer);
        // It may have ended by itself meanwhile.
        drop(stream.shutdown(Shutdown::Both));
        own.forget(id);
    });
    if spawned.is_err() {
        shared.forget(id);
    }
    spawned.map(drop)
}

fn run(shared: &Shared, id: u64, stream: &TcpStream, peer: SocketAddr) {
    let member = match conn::log_in(stream, peer, &shared.catalogue, &*shared.random) {
        Ok(Some(member)) => member,
        Ok(None) => return,
        Err(error) => return tracing::info!(%peer, %error, "connection closed before it logged in"),
    };
    let (initiator, target) = (member.initiator.clone(), member.target.clone().unwrap_or_default());
    tracing::info!(%peer, initiator, target, "logged in");
    shared.adopt(id, &member);
    match conn::serve(stream, member, shared.catalogue.clone()) {
        Ok(()) => tracing::info!(%peer, initiator, "logged out"),
        Err(error) => tracing::info!(%peer, initiator, %error, "connection closed"),
    }
}
