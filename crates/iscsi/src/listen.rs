//! Sockets: each connection has a thread that reads it.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use analytics::Observer;
use engine_api::Serving;
use sockets::inherited::Inherited;
use sockets::{Accepted, Budget, Listening};

use crate::catalogue::Catalogue;
use crate::conn;
use crate::guard::Guard;
use crate::house::House;
use crate::limits::{CONNECTIONS, DRAIN, FROM_ONE_PLACE, PARTING};
use crate::portal::{Door, Portal};
use crate::sessions::Sessions;
use crate::stats::{ServerStats, SessionStats};
use crate::watch::Watch;

/// How to serve.
pub struct ServerConfig {
    /// One at least.
    pub portals: Vec<Portal>,
    /// Gives numbers that nobody can guess, for challenges.
    pub random: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// What initiators make the server hold is counted here.
    pub budget: Arc<Budget>,
    /// Sockets that listen already.
    pub inherited: Arc<Inherited>,
    /// Who looks at commands.
    pub observer: Arc<Observer>,
}

/// A running server. Dropping it stops it.
pub struct Server {
    house: Arc<House>,
    listening: Listening<TcpStream>,
    watch: Watch,
    portals: Arc<[Portal]>,
}

impl Server {
    pub fn start(config: ServerConfig, engine: Arc<dyn Serving>) -> io::Result<Server> {
        let (mut listeners, mut portals) = (Vec::new(), Vec::new());
        for Portal { addr, group } in config.portals {
            let named = |error: io::Error| io::Error::new(error.kind(), format!("{addr}: {error}"));
            let listener = config.inherited.tcp(addr).map_err(named)?;
            portals.push(Portal { addr: listener.local_addr()?, group });
            listeners.push(listener);
        }
        let groups = portals.iter().map(|portal| portal.group).collect();
        let catalogue = Arc::new(Catalogue::new(engine, groups));
        let house = Arc::new(House {
            catalogue,
            sessions: Arc::new(Sessions::observed_by(config.observer)),
            guard: Guard::default(),
            random: config.random,
        });
        let portals: Arc<[Portal]> = portals.into();
        let sockets = sockets::Config {
            name: "iscsi",
            connections: CONNECTIONS,
            from_one_place: FROM_ONE_PLACE,
            // Who has logged in may be silent: it is asked whether it lives.
            ends_idle: false,
            budget: config.budget,
            drain: DRAIN - PARTING,
        };
        let own = (house.clone(), portals.clone());
        let listening =
            Listening::start(sockets, listeners, move |accepted| enter(&own.0, &own.1, accepted))?;
        let watch = Watch::start(house.catalogue.clone(), house.sessions.clone())?;
        portals.iter().for_each(|portal| tracing::info!(%portal, "serving iSCSI"));
        Ok(Server { house, listening, watch, portals })
    }

    /// Where it answers.
    pub fn portals(&self) -> &[Portal] {
        &self.portals
    }

    /// Of all sessions that there are now.
    pub fn sessions(&self) -> Vec<SessionStats> {
        self.house.sessions.stats()
    }

    /// What was asked since the start.
    pub fn stats(&self) -> ServerStats {
        self.house.sessions.totals()
    }

    /// Tells all initiators, stops accepting, finishes what was begun, closes every connection.
    /// Returns when all is done.
    pub fn stop(&self) {
        self.watch.stop();
        self.house.sessions.part();
        self.listening.stop();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn enter(house: &House, portals: &Arc<[Portal]>, accepted: &Accepted<TcpStream>) {
    // Who has gone again has nothing to be told.
    let Ok(local) = accepted.stream.local_addr() else { return };
    let door = Door { portals: portals.clone(), group: portals[accepted.place].group, local };
    conn::serve(house, accepted, door);
}
