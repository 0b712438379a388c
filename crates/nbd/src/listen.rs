//! The socket: each connection has a thread of its own.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sockets::Listening;

use crate::exports::Exports;
use crate::{handshake, transmission};

const CONFIG: sockets::Config =
    sockets::Config { name: "nbd", connections: 256, drain: Duration::from_secs(5) };
/// A handshake must go on within this time.
const PATIENCE: Duration = Duration::from_secs(15);

/// A running server. Dropping it stops it.
pub struct Server {
    listening: Listening<UnixStream>,
    path: PathBuf,
}

impl Server {
    /// Serves on a socket that is bound at `path`, which goes when the server stops.
    pub fn start(listener: UnixListener, path: &Path, exports: Arc<dyn Exports>) -> io::Result<Server> {
        let serve = move |_, stream: &Arc<UnixStream>| {
            if let Err(error) = run(&*exports, stream) {
                tracing::info!(%error, "network block device closed");
            }
        };
        Ok(Server { listening: Listening::start(CONFIG, vec![listener], serve)?, path: path.to_owned() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Stops accepting, finishes what was begun, closes every connection. Returns when all is done.
    pub fn stop(&self) {
        self.listening.stop();
        // Somebody else's by now, or gone: nothing is lost.
        drop(std::fs::remove_file(&self.path));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(exports: &dyn Exports, stream: &UnixStream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let Some(agreed) = handshake::negotiate(stream, exports)? else { return Ok(()) };
    stream.set_read_timeout(None)?;
    let volume = agreed.name.clone();
    tracing::info!(volume, "network block device attached");
    let ended = transmission::serve(stream, agreed);
    tracing::info!(volume, "network block device detached");
    ended
}
