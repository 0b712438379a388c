//! Sessions by who has them: an initiator's port, a target, and the group of portals that it came
//! through.
//!
//! There is one session for each of these at a time: one that is begun anew ends what was, and
//! waits until nothing of that is under way. A connection that joins a session says which by the
//! session's handle.
//!
//! Source: RFC 7143 4.4.3, 6.3.5.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use analytics::Observer;
use sockets::lock;

use crate::catalogue::Catalogue;
use crate::limits::{PARTING, TRY_AGAIN};
use crate::member::{Member, Name};
use crate::pdu::target::{Event, Failure};
use crate::portal::Door;
use crate::session::{Connection, Session, Wire};
use crate::stats::{Counting, ServerStats, SessionStats, Stats};

/// See the module.
#[derive(Default)]
pub struct Sessions {
    state: Mutex<State>,
    stats: Arc<Stats>,
    observer: Arc<Observer>,
}

#[derive(Default)]
struct State {
    by_name: BTreeMap<Name, Arc<Session>>,
    /// The handle that was given last.
    last: u16,
}

impl State {
    /// A handle that no session has: there are fewer sessions than handles.
    fn handle(&mut self) -> u16 {
        loop {
            self.last = self.last.wrapping_add(1);
            if self.last != 0 && self.by_name.values().all(|session| session.handle != self.last) {
                return self.last;
            }
        }
    }
}

impl Sessions {
    /// Whose commands are shown to who looks at requests.
    pub fn observed_by(observer: Arc<Observer>) -> Sessions {
        Sessions { observer, ..Sessions::default() }
    }

    /// The session that has this handle, if it is theirs.
    pub fn find(&self, name: &Name, handle: u16) -> Option<Arc<Session>> {
        lock(&self.state).by_name.get(name).filter(|session| session.handle == handle).cloned()
    }

    /// What all initiators have asked for, those too that have gone.
    pub fn totals(&self) -> ServerStats {
        self.stats.seen()
    }

    pub fn stats(&self) -> Vec<SessionStats> {
        self.of(|_| true).iter().map(|session| session.stats()).collect()
    }

    fn of(&self, which: impl Fn(&Name) -> bool) -> Vec<Arc<Session>> {
        let state = lock(&self.state);
        let wanted = state.by_name.iter().filter(|(name, _)| which(name));
        wanted.map(|(_, session)| session.clone()).collect()
    }

    /// Makes a connection one of a session: of the one that it joins, or of a new one where there
    /// is none.
    pub fn enter(
        &self,
        wire: Wire,
        member: Member,
        joins: Option<Arc<Session>>,
        door: Door,
        catalogue: &Arc<Catalogue>,
    ) -> Result<Arc<Connection>, Failure> {
        let session = joins.unwrap_or_else(|| self.begin(&member, catalogue));
        let connection = Connection::new(wire, member, door, session);
        connection.session.join(&connection)?;
        Ok(connection)
    }

    fn begin(&self, member: &Member, catalogue: &Arc<Catalogue>) -> Arc<Session> {
        let mut state = lock(&self.state);
        let session = {
            let counting = Counting::new(&self.stats, &member.initiator);
            Session::new(member, state.handle(), catalogue.clone(), (counting, self.observer.clone()))
        };
        let old = member.name().and_then(|name| state.by_name.insert(name, session.clone()));
        drop(state);
        if let Some(old) = old {
            old.cut();
            old.wait_until_over();
        }
        session
    }

    /// Ends all sessions with a target.
    pub fn reset(&self, target: &str) {
        self.of(|name| name.target == target).iter().for_each(|session| session.cut());
    }

    /// Looks what each still has to see; whether that is nothing for some.
    pub fn look(&self) -> bool {
        self.of(|_| true).iter().filter(|session| session.look()).count() > 0
    }

    /// Tells all initiators that their sessions end. One that does not listen in time has not heard
    /// it.
    pub fn part(&self) {
        let (told, all) = mpsc::channel();
        self.of(|_| true).iter().for_each(|session| session.announce(Event::Ends(TRY_AGAIN), &told));
        drop(told);
        // The channel ends when all are told.
        let _nothing_was_sent = all.recv_timeout(PARTING);
    }

    /// A connection is over, in good order or not; with the last one its session is.
    pub fn leave(&self, connection: &Arc<Connection>, in_order: bool) {
        let session = &connection.session;
        if session.leave(connection, in_order)
            && let Some(name) = connection.member.name()
        {
            let mut state = lock(&self.state);
            if state.by_name.get(&name).is_some_and(|known| Arc::ptr_eq(known, session)) {
                state.by_name.remove(&name);
            }
        }
    }
}
