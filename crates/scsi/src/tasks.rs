//! What ends commands before their time: task management functions, and PREEMPT AND ABORT.
//!
//! A unit has one task set, which all of its nexuses share; which commands are in it only their
//! transports know ([`Tasks`]). Whoever has others' commands ended hears of it when nothing of
//! those is under way any more. The others are told: each command ends with TASK ABORTED or, where
//! the control mode page has it so (TAS), with nothing, and a unit attention says why.
//!
//! Nobody waits while a unit is locked, and only for commands that are being executed: one that has
//! been, and waits for those of others itself, is not waited for. So there are no circles.
//!
//! Sources: SAM-5, aborting commands and task management functions; SPC-4 7.5.8 (TAS), 5.13.11
//! (preempting).

use std::sync::Weak;
use std::sync::atomic::Ordering::SeqCst;

use crate::codes::asc;
use crate::nexus::Nexus;
use crate::unit::{Control, Ending, LogicalUnit, Tasks};

impl LogicalUnit {
    /// Ends the commands of some nexuses.
    pub fn abort_of(&self, which: impl Fn(&Nexus) -> bool) -> Vec<(Nexus, Ending)> {
        let told = self.control().tells_aborted;
        let joined: Vec<_> = {
            let state = self.state();
            let wanted = state.transports.iter().filter(|(nexus, _)| which(nexus));
            wanted.map(|(nexus, tasks)| (nexus.clone(), tasks.clone())).collect()
        };
        let ended = |(nexus, tasks): (Nexus, Weak<dyn Tasks>)| {
            let ending = tasks.upgrade()?.abort(self, told)?;
            Some((nexus, ending))
        };
        joined.into_iter().filter_map(ended).collect()
    }

    /// CLEAR TASK SET, as far as others have commands there: those of who asks its transport ends.
    pub fn clear_task_set(&self, by: &Nexus) {
        let cleared = self.abort_of(|nexus| nexus != by);
        if !self.control().tells_aborted {
            let mut state = self.state();
            cleared.iter().for_each(|(nexus, _)| state.attentions.tell(nexus, asc::COMMANDS_CLEARED));
        }
        cleared.into_iter().for_each(|(_, ending)| ending.wait());
    }

    /// LOGICAL UNIT RESET, likewise. All are told, by every path; nothing that is persistent goes.
    pub fn reset(&self, by: &Nexus) {
        let ended = self.abort_of(|nexus| nexus != by);
        ended.into_iter().for_each(|(_, ending)| ending.wait());
        let Control { protected, tells_aborted } = Control::default();
        self.protected.store(protected, SeqCst);
        self.tells_aborted.store(tells_aborted, SeqCst);
        let mut state = self.state();
        state.reserved = None;
        state.copies.forget(None);
        state.attentions.tell_all(asc::BUS_DEVICE_RESET);
    }
}
