//! What the meta object set remembers of a scan.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use dmu::zap::{Zap, ZapParams};
use dmu::{ObjectSpec, Objset, Tx};
use env::lock;
use ondisk::object_type::{ObjectType, pool_directory};
use ondisk::scan::{ErrorScrubPhys, ScanPhys};

use super::{ErrorScrub, Pace, Position, Scan, State};
use crate::Result;
use crate::ddt::durable::DurableTables;
use crate::mos::Mos;

impl Scan {
    /// Of a pool that is being imported.
    pub(crate) fn load(mos: &Arc<Objset>, directory: &Zap) -> Result<Scan> {
        let errors = directory.find(pool_directory::ERRORSCRUB)?;
        let errors = errors.and_then(|value| ErrorScrubPhys::from_words(&value.words()).ok());
        let errors = ErrorScrub::load(errors.unwrap_or_default());
        let scan = Scan::default();
        lock(&scan.state).errors = errors;
        let last = directory.find_u64(pool_directory::LAST_SCRUBBED_TXG)?;
        scan.last_scrubbed.store(last.unwrap_or(0), Ordering::Relaxed);
        let Some(value) = directory.find(pool_directory::SCAN)? else { return Ok(scan) };
        let mut phys = ScanPhys::from_words(&value.words()).unwrap_or_default();
        // Blocks that came to have more pointers than one ([`Scan::rose`]) waited in memory; the
        // tables show them now.
        let relies = phys.is_running() && phys.relies_on_tables();
        if relies && DurableTables::of(mos, &phys)?.newest() > phys.max_txg {
            phys.return_to_tables();
        }
        // What the errors were that it met before is not known any more.
        let mut stored = Position { phys, unread: phys.errors > 0, ..Position::default() };
        if phys.queue_obj != 0 {
            for entry in Zap::open(mos, phys.queue_obj)?.entries()? {
                let dataset = entry.text().and_then(|text| u64::from_str_radix(text, 16).ok());
                stored.queue.extend(dataset.map(|dataset| (dataset, entry.value.first())));
            }
        }
        let issued_before = phys.examined.saturating_sub(phys.skipped);
        let pace = Pace { issued_before, processed_before: phys.processed, ..Pace::default() };
        let mut state = lock(&scan.state);
        (state.live, state.durable, state.stored, state.pace, state.serial) = (phys, phys, stored, pace, 1);
        drop(state);
        Ok(scan)
    }

    /// All blocks up to this group were scrubbed; 0: never.
    pub fn last_scrubbed(&self) -> u64 {
        self.last_scrubbed.load(Ordering::Relaxed)
    }

    /// A scrub is through. Syncing context.
    pub(crate) fn scrubbed_to(&self, mos: &Mos, txg: u64, tx: &Tx) -> Result<()> {
        mos.set(pool_directory::OBJECT, pool_directory::LAST_SCRUBBED_TXG, txg, tx)?;
        self.last_scrubbed.store(txg, Ordering::Relaxed);
        Ok(())
    }

    /// Stores what is remembered. Syncing context.
    pub(crate) fn store(&self, mos: &Mos, position: Position, tx: &Tx) -> Result<()> {
        self.store_with(mos, position, tx, |_| ())
    }

    /// As [`Scan::store`]; the rest of the state changes at the same moment, for the worker goes by
    /// both.
    pub(crate) fn store_with(
        &self,
        mos: &Mos,
        position: Position,
        tx: &Tx,
        rest: impl FnOnce(&mut State),
    ) -> Result<()> {
        let mut position = position;
        if position.phys.queue_obj != 0 {
            mos.free(position.phys.queue_obj, tx)?;
            position.phys.queue_obj = 0;
        }
        if position.phys.is_running() {
            let spec = ObjectSpec::new(ObjectType::SCAN_QUEUE);
            let zap = Zap::create(&mos.objset, spec, ZapParams::salted(mos.random()), tx)?;
            for (dataset, since) in &position.queue {
                zap.add_int_key(*dataset, *since, tx)?;
            }
            position.phys.queue_obj = zap.object();
        }
        mos.set(pool_directory::OBJECT, pool_directory::SCAN, position.phys.to_words().as_slice(), tx)?;
        let mut state = lock(&self.state);
        state.stored = position;
        rest(&mut state);
        Ok(())
    }
}
