//! The socket: each connection has a thread of its own.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use analytics::Observer;
use sockets::hurried::Hurried;
use sockets::{Accepted, Budget, Listening};

use crate::exports::Exports;
use crate::stats::{ServerStats, Stats};
use crate::transmission::Watching;
use crate::{handshake, transmission};

/// For more of them, others end that have not chosen a volume.
const CONNECTIONS: usize = 256;
const DRAIN: Duration = Duration::from_secs(5);
/// A handshake must be done in this time.
const PATIENCE: Duration = Duration::from_secs(15);

/// A running server. Dropping it stops it.
pub struct Server {
    listening: Listening<UnixStream>,
    path: PathBuf,
    stays: bool,
    stats: Arc<Stats>,
}

impl Server {
    /// Serves on a socket that is bound at `path`, which goes when the server stops, unless it
    /// `stays`. What clients make it hold is counted in `budget`; `observer` shows their requests.
    pub fn start(
        listener: UnixListener,
        (path, stays): (&Path, bool),
        exports: Arc<dyn Exports>,
        budget: Arc<Budget>,
        observer: Arc<Observer>,
    ) -> io::Result<Server> {
        let stats = Arc::<Stats>::default();
        let watching = Watching { stats: stats.clone(), observer, client: "local".into() };
        let serve = move |accepted: &Accepted<UnixStream>| {
            if let Err(error) = run(&*exports, accepted, &watching) {
                tracing::info!(%error, "network block device closed");
            }
        };
        let config = sockets::Config {
            name: "nbd",
            connections: CONNECTIONS,
            from_one_place: CONNECTIONS,
            ends_idle: false,
            budget,
            drain: DRAIN,
        };
        let listening = Listening::start(config, vec![listener], serve)?;
        Ok(Server { listening, path: path.to_owned(), stays, stats })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was asked since the start.
    pub fn stats(&self) -> ServerStats {
        self.stats.seen()
    }

    /// Stops accepting, finishes what was begun, closes every connection. Returns when all is done.
    pub fn stop(&self) {
        self.listening.stop();
        if !self.stays {
            // Somebody else's by now, or gone: nothing is lost.
            drop(std::fs::remove_file(&self.path));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(exports: &dyn Exports, accepted: &Accepted<UnixStream>, watching: &Watching) -> io::Result<()> {
    let (stream, peer) = (&*accepted.stream, &accepted.peer);
    stream.set_write_timeout(Some(PATIENCE))?;
    let Some(agreed) = handshake::negotiate(Hurried::new(stream, PATIENCE), stream, exports)? else {
        return Ok(());
    };
    stream.set_read_timeout(None)?;
    stream.set_write_timeout(None)?;
    peer.prove();
    let volume = agreed.name.clone();
    tracing::info!(volume, "network block device attached");
    let ended = transmission::serve(stream, peer, agreed, watching);
    tracing::info!(volume, "network block device detached");
    ended
}
