//! What operators ask of scans, and how it gets into a group.

use std::sync::{Arc, Mutex};

use api_types::ScanCommand;
use dmu::Tx;
use env::lock;
use ondisk::scan::{FUNC_RESILVER, FUNC_SCRUB};
use refusal::{Action, Reason, Refused, ScanFault};

use crate::spa::Pool;
use crate::state::errlog::BY_HEAD;
use crate::state::scan::{Queued, State};
use crate::{PoolError, Result};

impl Pool {
    /// Does it and waits until that is durable; gives the group. `history` is the command line to
    /// record, empty for none.
    pub fn scan_command(&self, command: ScanCommand, history: &str) -> Result<u64> {
        if self.core.readonly {
            return Err(PoolError::ReadOnly);
        }
        let begins = matches!(command, ScanCommand::Scrub | ScanCommand::Resilver);
        if begins && self.refusal(command).is_none() {
            self.core.give_up_foreign();
        }
        let outcome = Arc::new(Mutex::new(None));
        let txgs = &self.core.txgs;
        let hold = txgs.enter(true)?;
        let txg = hold.txg();
        let queued = Queued { command, outcome: outcome.clone() };
        lock(&self.core.scan.state).requests.entry(txg).or_default().push(queued);
        drop(hold);
        txgs.wait_synced(txg)?;
        lock(&outcome).take().unwrap_or(Err(PoolError::Suspended))?;
        self.dsl.log_command(history)?;
        Ok(txg)
    }

    /// Waits until no scan runs, or only one that pauses.
    pub fn wait_for_scan(&self) {
        let scan = &self.core.scan;
        let state = lock(&scan.state);
        let txgs = &self.core.txgs;
        let mut ready = |state: &mut State| {
            let scans = state.durable.is_running() && !state.durable.is_paused();
            !(scans || state.errors.is_active()) || txgs.is_stopped()
        };
        drop(self.core.env.wait(&scan.state, state, &scan.ended, &mut ready));
    }

    /// The commands of this group. Syncing context; the outer error means that the group cannot be
    /// written.
    pub(super) fn run_scan_commands(&self, tx: &Tx) -> Result<()> {
        let queued = lock(&self.core.scan.state).requests.remove(&tx.txg()).unwrap_or_default();
        for Queued { command, outcome } in queued {
            let refused = self.refusal(command);
            if refused.is_none() {
                self.run_scan_command(command, tx)?;
            }
            *lock(&outcome) = Some(refused.map_or(Ok(()), Err));
        }
        Ok(())
    }

    /// Why a command makes no sense now (lib/libzfs/libzfs_pool.c, `zpool_scan`).
    fn refusal(&self, command: ScanCommand) -> Option<PoolError> {
        let (phys, errors) = {
            let state = lock(&self.core.scan.state);
            (state.stored.phys, state.errors.stored)
        };
        let scrubbing = phys.is_running() && phys.func == FUNC_SCRUB;
        let pool = self.name();
        let action = match command {
            ScanCommand::Resilver => Action::RestartResilver { pool },
            ScanCommand::Scrub | ScanCommand::ScrubErrors => Action::Scrub { pool },
            ScanCommand::Pause => Action::PauseScrub { pool },
            ScanCommand::Stop => Action::CancelScrub { pool },
        };
        let reason: Reason = match command {
            ScanCommand::Resilver if !self.core().features.is_enabled("resilver_defer") => {
                ScanFault::NeedsResilverDefer.into()
            }
            ScanCommand::Scrub if scrubbing && phys.is_paused() => return None,
            ScanCommand::Scrub if scrubbing => ScanFault::Scrubbing.into(),
            ScanCommand::Scrub if phys.is_running() || self.core.rebuilds.is_active() => {
                ScanFault::Resilvering.into()
            }
            ScanCommand::ScrubErrors if !self.core.features.is_enabled(BY_HEAD) => Reason::NotByThisPool,
            ScanCommand::ScrubErrors if scrubbing && phys.is_paused() => ScanFault::ScrubPausedFirst.into(),
            ScanCommand::ScrubErrors if scrubbing => ScanFault::Scrubbing.into(),
            ScanCommand::ScrubErrors if phys.is_running() => ScanFault::Resilvering.into(),
            ScanCommand::ScrubErrors if errors.is_paused() => return None,
            ScanCommand::Scrub if errors.is_paused() => ScanFault::ErrorScrubPaused.into(),
            ScanCommand::Scrub | ScanCommand::ScrubErrors if errors.is_running() => {
                ScanFault::ErrorScrubbing.into()
            }
            ScanCommand::Pause if errors.is_paused() => ScanFault::ErrorScrubPaused.into(),
            ScanCommand::Stop if errors.is_running() => return None,
            ScanCommand::Pause if phys.is_running() && !scrubbing => ScanFault::Resilvering.into(),
            ScanCommand::Pause if phys.is_paused() => ScanFault::ScrubPaused.into(),
            ScanCommand::Stop if !phys.is_running() => ScanFault::NoScrub.into(),
            ScanCommand::Stop if phys.func == FUNC_RESILVER => ScanFault::Resilvering.into(),
            _ => return None,
        };
        Some(Refused::new(action, reason).into())
    }
}
