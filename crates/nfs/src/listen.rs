//! Sockets: the only file that has them.
//!
//! A thread accepts; each connection has a thread that reads it (see `conn`). Stopping closes the listeners, lets
//! every connection finish what it has read, and cuts off those that take too long.

use std::collections::HashMap;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use engine_api::Engine;
use sunrpc::portmap;
use sunrpc::record::Pool;

use crate::attentive::{Attentive, Lookout};
use crate::limits::{
    DRAIN, LARGE_BUFFERS, LARGE_BUFFERS_KEPT, LARGE_BUFFERS_SHARE, MAX_RECORD, STALL, WORKERS,
};
use crate::service::Service;
use crate::stats::ClientStats;
use crate::workers::Workers;
use crate::{mount, v3};

/// How to serve.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Where NFS and MOUNT are answered; port 0 picks one. `[::]` takes IPv4 clients too.
    pub addr: SocketAddr,
    /// MOUNT on a port of its own too.
    pub mount_addr: Option<SocketAddr>,
    /// Tell rpcbind on this machine, where it runs.
    pub register: bool,
    /// Threads for requests that wait.
    pub workers: usize,
    /// Connections beyond are refused.
    pub max_connections: usize,
    /// exports(5)' default `secure`: clients come from reserved ports unless their export says otherwise. Makes no
    /// sense where the server itself has no reserved port.
    pub reserved_ports: bool,
}

impl ServerConfig {
    pub fn new(addr: SocketAddr) -> ServerConfig {
        let reserved_ports = addr.port() != 0 && addr.port() < 1024;
        ServerConfig {
            addr,
            mount_addr: None,
            register: false,
            workers: WORKERS,
            max_connections: 1024,
            reserved_ports,
        }
    }
}

/// A running server. Dropping it stops it.
pub struct Server {
    shared: Arc<Shared>,
    addr: SocketAddr,
    mount_addr: SocketAddr,
    registered: bool,
    acceptors: Mutex<Vec<(SocketAddr, JoinHandle<()>)>>,
}

struct Shared {
    service: Arc<Service>,
    workers: Workers,
    pool: Arc<Pool>,
    connections: Mutex<HashMap<u64, TcpStream>>,
    max_connections: usize,
    next: AtomicU64,
    lookout: Lookout,
    stopping: AtomicBool,
}

impl Server {
    pub fn start(config: ServerConfig, engine: Arc<dyn Engine>) -> io::Result<Server> {
        let shared = Arc::new(Shared {
            service: Arc::new(Service::new(engine, config.reserved_ports)),
            workers: Workers::new(config.workers),
            pool: Pool::shared(MAX_RECORD, LARGE_BUFFERS, LARGE_BUFFERS_SHARE, LARGE_BUFFERS_KEPT),
            connections: Mutex::default(),
            max_connections: config.max_connections,
            next: AtomicU64::new(0),
            lookout: Lookout::default(),
            stopping: AtomicBool::new(false),
        });
        let mut listeners = vec![TcpListener::bind(config.addr)?];
        if let Some(addr) = config.mount_addr {
            listeners.push(TcpListener::bind(addr)?);
        }
        let mut addrs = Vec::new();
        for listener in &listeners {
            addrs.push(listener.local_addr()?);
        }
        let (addr, mount_addr) = (addrs[0], addrs[addrs.len() - 1]);
        let mut server = Server { shared, addr, mount_addr, registered: false, acceptors: Mutex::default() };
        for (listener, addr) in listeners.into_iter().zip(addrs) {
            let shared = server.shared.clone();
            let accept = move || accept(&shared, &listener);
            let thread = thread::Builder::new().name("nfs-accept".to_owned()).spawn(accept)?;
            lock(&server.acceptors).push((addr, thread));
        }
        tracing::info!(%addr, %mount_addr, "serving NFSv3");
        server.registered = config.register && server.tell_rpcbind(true);
        Ok(server)
    }

    /// Where NFS is served.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Where MOUNT is served: the same, unless it was given an address of its own.
    pub fn mount_addr(&self) -> SocketAddr {
        self.mount_addr
    }

    /// Counters of every client since the start.
    pub fn stats(&self) -> Vec<ClientStats> {
        self.shared.service.stats()
    }

    /// False where none runs.
    fn tell_rpcbind(&self, here: bool) -> bool {
        let programs = [
            (v3::PROGRAM, 3, self.addr),
            (mount::PROGRAM, 1, self.mount_addr),
            (mount::PROGRAM, 3, self.mount_addr),
        ];
        for (program, version, addr) in programs {
            // A registration left over from a server that died would refuse the new one.
            let cleared = portmap::unset(portmap::RPCBIND, program, version);
            let done = if here {
                portmap::set(portmap::RPCBIND, program, version, portmap::Protocol::Tcp, addr.port())
            } else {
                cleared
            };
            match done {
                Ok(true) => {}
                Ok(false) => tracing::info!(program, version, "rpcbind refused the registration"),
                Err(error) => {
                    tracing::info!(%error, "no rpcbind to register with");
                    return false;
                }
            }
        }
        true
    }

    /// Stops accepting, finishes what has been read, closes every connection. Returns when all is done.
    pub fn stop(&self) {
        if self.shared.stopping.swap(true, Ordering::SeqCst) {
            return;
        }
        if self.registered {
            self.tell_rpcbind(false);
        }
        for (addr, thread) in std::mem::take(&mut *lock(&self.acceptors)) {
            // Waking it by a connection is the portable way to end a blocking accept.
            drop(TcpStream::connect_timeout(&reachable(addr), Duration::from_secs(1)));
            drop(thread.join());
        }
        self.shut(Shutdown::Read);
        let deadline = Instant::now() + DRAIN;
        while !lock(&self.shared.connections).is_empty() {
            if Instant::now() > deadline {
                self.shut(Shutdown::Both);
            }
            thread::sleep(Duration::from_millis(2));
        }
        self.shared.workers.stop();
    }

    fn shut(&self, how: Shutdown) {
        for stream in lock(&self.shared.connections).values() {
            // It may have ended by itself meanwhile.
            drop(stream.shutdown(how));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An address to connect to where the server listens on all of them.
fn reachable(mut addr: SocketAddr) -> SocketAddr {
    if addr.ip().is_unspecified() {
        addr.set_ip(if addr.is_ipv4() {
            [127, 0, 0, 1].into()
        } else {
            std::net::Ipv6Addr::LOCALHOST.into()
        });
    }
    addr
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    loop {
        let accepted = listener.accept();
        if shared.stopping.load(Ordering::SeqCst) {
            return;
        }
        let done = accepted.and_then(|(stream, client)| start(shared, stream, client));
        if let Err(error) = done {
            tracing::warn!(%error, "connection not accepted");
            // Out of descriptors or threads: trying again at once would only spin.
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn start(shared: &Arc<Shared>, stream: TcpStream, client: SocketAddr) -> io::Result<()> {
    let id = shared.next.fetch_add(1, Ordering::Relaxed);
    {
        let mut connections = lock(&shared.connections);
        if connections.len() >= shared.max_connections {
            tracing::warn!(%client, "connection refused: too many");
            return Ok(());
        }
        connections.insert(id, stream.try_clone()?);
    }
    let own = shared.clone();
    let spawned = thread::Builder::new().name("nfs-conn".to_owned()).spawn(move || {
        if let Err(error) = serve(&own, &stream, client) {
            tracing::info!(%client, %error, "connection closed");
        }
        drop(stream.shutdown(Shutdown::Both));
        lock(&own.connections).remove(&id);
    });
    if spawned.is_err() {
        lock(&shared.connections).remove(&id);
    }
    spawned.map(drop)
}

fn serve(shared: &Shared, stream: &TcpStream, client: SocketAddr) -> Result<(), Box<dyn std::error::Error>> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(STALL))?;
    stream.set_write_timeout(Some(STALL))?;
    let session = shared.service.session(client);
    let to = stream.try_clone()?;
    let from = Attentive::new(stream, shared.lookout.clone());
    Ok(crate::conn::serve(from, to, session, shared.service.clone(), &shared.workers, shared.pool.clone())?)
}
