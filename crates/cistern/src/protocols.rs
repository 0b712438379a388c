//! The protocols that clients reach data by, each in one line of [`start`].

use std::path::Path;
use std::sync::Arc;

use engine_api::{Engine, Serving};
use env::Entropy;
use nfs::ServerConfig;
use sockets::Budget;
use sockets::inherited::Inherited;
use stdx::os_error::words;

use crate::host;
use crate::local::Local;
use crate::options::Options;
use crate::remembering::RememberingEngine;

/// A protocol that is served. Dropped, it is stopped.
pub trait Protocol {
    /// What is served where, in lines for people.
    fn lines(&self) -> Vec<String>;

    /// Returns when every connection is closed.
    fn stop(&self);
}

/// What servers are made of.
pub struct Parts<'a> {
    pub options: &'a Options,
    pub engine: &'a Arc<RememberingEngine>,
    pub local: &'a Local,
    /// What clients may hold together.
    pub budget: &'a Arc<Budget>,
    pub inherited: &'a Arc<Inherited>,
    pub entropy: &'a Arc<dyn Entropy>,
    /// Of the management API.
    pub socket: &'a Path,
}

type Started = Result<Box<dyn Protocol>, String>;

/// All that the options ask for, or why one cannot be served.
pub fn start(parts: &Parts<'_>) -> Result<Vec<Box<dyn Protocol>>, String> {
    [iscsi, nbd, nfs].iter().map(|start| start(parts)).collect()
}

/// Nobody asked for it.
struct Off(&'static str);

impl Protocol for Off {
    fn lines(&self) -> Vec<String> {
        vec![format!("{:<12} off", self.0)]
    }

    fn stop(&self) {}
}

struct Nfs {
    server: Arc<nfs::Server>,
    engine: Arc<RememberingEngine>,
}

fn nfs(parts: &Parts<'_>) -> Started {
    let Some(addr) = parts.options.nfs else { return Ok(Box::new(Off("NFS"))) };
    let config = ServerConfig {
        register: host::is_root(),
        old_handles: parts.options.old_handles,
        budget: parts.budget.clone(),
        inherited: parts.inherited.clone(),
        observer: parts.local.servers.observer.clone(),
        ..ServerConfig::new(addr)
    };
    let server = nfs::Server::start(config, parts.engine.clone())
        .map_err(|error| format!("NFS cannot be served on {addr}: {error}"))?;
    let server = Arc::new(server);
    parts.local.servers.nfs.get_or_init(|| server.clone());
    Ok(Box::new(Nfs { server, engine: parts.engine.clone() }))
}

impl Protocol for Nfs {
    /// With a command to paste for each share.
    fn lines(&self) -> Vec<String> {
        let addr = self.server.addr();
        let (ip, port) = (addr.ip(), addr.port());
        let client = if ip.is_unspecified() { "127.0.0.1".to_owned() } else { ip.to_string() };
        let mut lines = vec![format!("NFS          {addr} (version 3, MOUNT on the same port)")];
        for served in self.engine.served() {
            let Some(path) = &served.mountpoint else { continue };
            lines.push(format!("share        {} as {path}", served.dataset));
            let options = format!("vers=3,tcp,nolock,port={port},mountport={port}");
            lines.push(format!("  mount -t nfs -o {options} {client}:{path} /mnt"));
        }
        lines
    }

    fn stop(&self) {
        self.server.stop();
    }
}

struct Iscsi(Arc<iscsi::Server>);

fn iscsi(parts: &Parts<'_>) -> Started {
    if parts.options.iscsi.is_empty() {
        return Ok(Box::new(Off("iSCSI")));
    }
    let entropy = parts.entropy.clone();
    let config = iscsi::ServerConfig {
        portals: parts.options.iscsi.clone(),
        random: Arc::new(move || entropy.u64()),
        budget: parts.budget.clone(),
        inherited: parts.inherited.clone(),
        observer: parts.local.servers.observer.clone(),
    };
    let server = iscsi::Server::start(config, parts.engine.clone())
        .map_err(|error| format!("iSCSI cannot be served on {error}"))?;
    let server = Arc::new(server);
    parts.local.servers.iscsi.get_or_init(|| server.clone());
    Ok(Box::new(Iscsi(server)))
}

impl Protocol for Iscsi {
    fn lines(&self) -> Vec<String> {
        let portals = self.0.portals().iter();
        portals
            .map(|portal| format!("iSCSI        {} (portal group {})", portal.addr, portal.group))
            .collect()
    }

    fn stop(&self) {
        self.0.stop();
    }
}

/// Beside the management socket, and for the same people.
fn nbd(parts: &Parts<'_>) -> Started {
    let path = parts.socket.with_file_name(api_types::NBD_SOCKET);
    let failed = |error: std::io::Error| format!("{}: {}", path.display(), words(&error));
    let handed = parts.inherited.unix(&path);
    let stays = handed.is_some();
    let listener = handed.map_or_else(|| api::listen(&path, api::FOR_OWNER), Ok).map_err(failed)?;
    let engine: Arc<dyn Engine> = parts.engine.clone();
    let volumes = Arc::new(nbd::EngineVolumes(engine));
    let (budget, observer) = (parts.budget.clone(), parts.local.servers.observer.clone());
    let server = nbd::Server::start(listener, (&path, stays), volumes, budget, observer).map_err(failed)?;
    let server = Arc::new(server);
    parts.local.servers.nbd.get_or_init(|| server.clone());
    Ok(Box::new(server))
}

impl Protocol for Arc<nbd::Server> {
    fn lines(&self) -> Vec<String> {
        vec![format!("NBD          {}", self.path().display())]
    }

    fn stop(&self) {
        nbd::Server::stop(self);
    }
}
