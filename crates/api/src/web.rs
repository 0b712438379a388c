//! HTTPS as a part of the server: the threads that it has for itself, and its certificate's
//! renewal.
//!
//! Its runtime is not that of the Unix socket: whatever strangers have it compute, an administrator
//! on this machine is served.

use crate::acme::Acme;
use crate::https::certificate::Certificates;
use crate::https::{Neighbours, acceptor, listen};
use axum::Router;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// Threads that speak TLS and HTTP.
const WORKERS: usize = 2;
/// How often it is looked whether the certificate ends soon.
const LOOK: Duration = Duration::from_secs(60 * 60);

/// HTTPS that is served. Dropped, it is stopped at once.
pub struct Web {
    pub address: SocketAddr,
    certificates: Arc<Certificates>,
    runtime: Runtime,
    stop: watch::Sender<()>,
    task: JoinHandle<()>,
}

impl Web {
    /// Serves all routes on a listening socket. `friends` are places where somebody was let in
    /// before. As many blocking threads are there as `threads` says.
    pub fn begin(
        (listener, friends): (TcpListener, Vec<IpAddr>),
        (certificates, acme): (Arc<Certificates>, Arc<Acme>),
        routers: (Router, Option<Neighbours>),
        threads: usize,
    ) -> io::Result<Web> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let acceptor = acceptor(acme.answers()).map_err(io::Error::other)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .max_blocking_threads(threads)
            .thread_name("web")
            .enable_io()
            .enable_time()
            .build()?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let (stop, stopped) = watch::channel(());
        let task = runtime.spawn(listen(listener, friends, acceptor, routers, stopped));
        runtime.spawn(renew(certificates.clone()));
        runtime.spawn(acme.run());
        Ok(Web { address, certificates, runtime, stop, task })
    }

    /// Of the certificate that is shown now.
    pub fn fingerprint(&self) -> String {
        self.certificates.info().fingerprint
    }

    /// Takes no new request, and lets those under way end for so long.
    pub fn stop(self, patience: Duration) {
        let Web { runtime, stop, task, .. } = self;
        drop(stop);
        // A time-out only means that somebody's request is still in the engine; it is left behind.
        let _ = runtime.block_on(async { tokio::time::timeout(patience, task).await });
        runtime.shutdown_timeout(patience);
    }
}

/// Renews the certificate when its time has come, as long as the runtime is there.
async fn renew(certificates: Arc<Certificates>) {
    loop {
        sleep(LOOK).await;
        let certificates = certificates.clone();
        match tokio::task::spawn_blocking(move || certificates.renew()).await {
            Ok(Ok(())) => {}
            Ok(Err(why)) => tracing::error!(%why, "the certificate of HTTPS is not renewed"),
            Err(panic) => tracing::error!(%panic, "the certificate of HTTPS is not renewed"),
        }
    }
}
