//! What a session sees: the units of its target that are open to its initiator.
//!
//! It joins those and leaves the others when the catalogue has changed. Before each command it
//! checks whether the catalogue has. A session that is over sees nothing, and checks no more.

use std::sync::{Arc, Weak};

use scsi::{LogicalUnit, Target, Tasks};
use sockets::lock;

use super::Session;

/// What the session sees, as of a generation of the catalogue; `None`: it has not looked yet.
#[derive(Default)]
pub struct View {
    generation: Option<u64>,
    /// The session is over: it looks no more.
    closed: bool,
    pub target: Arc<Target>,
}

impl Session {
    /// What it sees now.
    pub fn target(&self) -> Arc<Target> {
        let mut view = lock(&self.view);
        let generation = Some(self.catalogue.generation());
        if view.generation != generation
            && !view.closed
            && let Some(target) = &self.target
        {
            let user = self.user.as_deref();
            let target = Arc::new(self.catalogue.view(target, &self.initiator, user, self.nexus.port));
            let before = std::mem::replace(&mut view.target, target);
            self.turn(&before, &view.target, view.generation.is_none());
            view.generation = generation;
        }
        view.target.clone()
    }

    /// Joins the units that it sees, and leaves those that it does not see any more. That a number
    /// stands for another unit, for one or for none now is told, but `at_first`.
    fn turn(&self, before: &Target, now: &Target, at_first: bool) {
        let own: Weak<dyn Tasks> = self.own.clone();
        let is_gone = |unit: &&Arc<LogicalUnit>| !now.units().any(|one| Arc::ptr_eq(one, unit));
        before.units().filter(is_gone).for_each(|unit| unit.leave(&self.nexus, &own));
        now.units().for_each(|unit| unit.join(&self.nexus, own.clone()));
        if !at_first && !before.inventory().eq(now.inventory()) {
            now.units().for_each(|unit| unit.luns_changed(&self.nexus));
        }
    }

    pub(super) fn look_away(&self) {
        let own: Weak<dyn Tasks> = self.own.clone();
        let mut view = lock(&self.view);
        view.closed = true;
        let before = std::mem::take(&mut view.target);
        before.units().for_each(|unit| unit.leave(&self.nexus, &own));
    }
}
