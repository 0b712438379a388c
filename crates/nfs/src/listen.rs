//! Sockets: the only file that has them.
//!
//! Each connection has a thread that reads it (see `conn`). Stopping lets every connection finish
//! what it has read, and cuts off those that take too long.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use analytics::Observer;
use engine_api::Serving;
use sockets::inherited::Inherited;
use sockets::workers::{self, Workers};
use sockets::{Accepted, Budget, Listening};
use sunrpc::portmap;
use sunrpc::record::Pool;

use crate::conn::Conn;
use crate::limits::{
    CONNECTIONS, DRAIN, FROM_ONE_PLACE, IDLE_THREAD, LARGE_BUFFERS_KEPT, MAX_RECORD, STALL, THREAD_STACK,
    WORKERS,
};
use crate::service::Service;
use crate::stats::ServerStats;
use crate::{mount, v3};

/// How to serve.
#[derive(Clone)]
pub struct ServerConfig {
    /// Where NFS and MOUNT are answered; port 0 picks one. `[::]` takes IPv4 clients too.
    pub addr: SocketAddr,
    /// Tell rpcbind on this machine, where it runs.
    pub register: bool,
    /// Threads for requests that wait.
    pub workers: usize,
    /// What clients make the server hold is counted here.
    pub budget: Arc<Budget>,
    /// Take handles of servers before handles were sealed, which anybody can make, of pools that
    /// have sealed ones: for as long as clients hold some.
    pub old_handles: bool,
    /// Sockets that listen already.
    pub inherited: Arc<Inherited>,
    /// Who looks at calls.
    pub observer: Arc<Observer>,
}

impl ServerConfig {
    pub fn new(addr: SocketAddr) -> ServerConfig {
        ServerConfig {
            addr,
            register: false,
            workers: WORKERS,
            budget: Arc::default(),
            old_handles: false,
            inherited: Arc::default(),
            observer: Arc::default(),
        }
    }
}

/// A running server. Dropping it stops it.
pub struct Server {
    shared: Arc<Shared>,
    listening: Listening<TcpStream>,
    addr: SocketAddr,
    registered: AtomicBool,
}

struct Shared {
    service: Arc<Service>,
    workers: Workers,
    pool: Arc<Pool>,
}

impl Server {
    pub fn start(config: ServerConfig, engine: Arc<dyn Serving>) -> io::Result<Server> {
        let workers = workers::Config {
            name: |number| format!("nfs-{number}"),
            threads: config.workers,
            stack: THREAD_STACK,
            idle_age: IDLE_THREAD,
        };
        let shared = Arc::new(Shared {
            service: Arc::new(Service::new(engine, config.old_handles).observed_by(config.observer)),
            workers: Workers::new(workers),
            pool: Pool::new(MAX_RECORD, LARGE_BUFFERS_KEPT),
        });
        let listener = config.inherited.tcp(config.addr)?;
        let addr = listener.local_addr()?;
        let sockets = sockets::Config {
            name: "nfs",
            connections: CONNECTIONS,
            from_one_place: FROM_ONE_PLACE,
            ends_idle: true,
            budget: config.budget,
            drain: DRAIN,
        };
        let own = shared.clone();
        let listening = Listening::start(sockets, vec![listener], move |accepted| run(&own, accepted))?;
        tracing::info!(%addr, mount_addr = %addr, "serving NFSv3");
        let server = Server { shared, listening, addr, registered: AtomicBool::new(false) };
        server.registered.store(config.register && server.tell_rpcbind(true), Ordering::SeqCst);
        Ok(server)
    }

    /// Where NFS and MOUNT are served.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// What was asked since the start.
    pub fn stats(&self) -> ServerStats {
        self.shared.service.stats()
    }

    /// False where none runs.
    fn tell_rpcbind(&self, here: bool) -> bool {
        for (program, version) in [(v3::PROGRAM, 3), (mount::PROGRAM, 1), (mount::PROGRAM, 3)] {
            // A registration left over from a server that died would refuse the new one.
            let cleared = portmap::unset(portmap::RPCBIND, program, version);
            let done = if here {
                portmap::set(portmap::RPCBIND, program, version, self.addr.port())
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

    /// Stops accepting, finishes what has been read, closes every connection. Returns when all is
    /// done.
    pub fn stop(&self) {
        if self.registered.swap(false, Ordering::SeqCst) {
            self.tell_rpcbind(false);
        }
        self.listening.stop();
        self.shared.workers.stop();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(shared: &Shared, accepted: &Accepted<TcpStream>) {
    if let Err(error) = serve(shared, accepted) {
        tracing::info!(client = %accepted.addr, %error, "connection closed");
    }
}

fn serve(shared: &Shared, accepted: &Accepted<TcpStream>) -> Result<(), Box<dyn std::error::Error>> {
    accepted.stream.set_read_timeout(Some(STALL))?;
    let session = shared.service.session(accepted.addr);
    let (peer, to) = (accepted.peer.clone(), accepted.outbox()?);
    let conn = Conn::new(shared.service.clone(), session, peer, to, &shared.workers);
    Ok(conn.serve(accepted.requests(), &shared.workers, shared.pool.clone())?)
}
