//! What a pool says of itself, and what can be said of one that a panic has left with poisoned
//! locks.

use std::panic::{AssertUnwindSafe, catch_unwind};

use engine_api::{DedupTables, Health, Pool, PoolStatus, ScanState, VdevStatus};
use env::lock;

use super::condition;
use super::convert::{
    blank_vdev, error_scrub_status, health, removal, scan_status, spare_status, vdev_status,
};
use super::pool::LocalPool;

impl LocalPool {
    /// Never panics: who lists the pools of a machine sees the others too.
    pub(super) fn whole_status(&self) -> PoolStatus {
        catch_unwind(AssertUnwindSafe(|| self.full_status())).unwrap_or_else(|_| self.faulted_status())
    }

    fn full_status(&self) -> PoolStatus {
        let report = self.pool.report();
        let scans = self.pool.scan_report();
        let scan = scan_status(&scans);
        let running = scan.filter(|scan| scan.state == ScanState::Running).map(|scan| scan.kind);
        let root = vdev_status(&report.root, running);
        let state = if report.suspended { Health::Suspended } else { health(report.state) };
        let logs: Vec<String> = lock(&self.unreplayable).values().cloned().collect();
        let stays_legacy = self.pool.config().compatibility.as_deref() == Some("legacy");
        let mode = self.pool.core().storage.suspension().mode();
        let condition = condition::of(&report, (state, mode), logs, scan.as_ref(), stays_legacy);
        PoolStatus {
            name: self.name(),
            guid: self.guid(),
            health: state,
            txg: report.txg,
            root: engine_api::VdevStatus { health: state, ..root },
            cache: report.cache.iter().map(|cache| vdev_status(cache, None)).collect(),
            spares: report.spares.iter().map(|spare| spare_status(spare, &self.name())).collect(),
            condition,
            scan,
            error_scrub: error_scrub_status(&scans),
            removal: removal(&report),
            checkpoint: self.pool.core().checkpoint_stat(),
            dedup: super::dedup::tables(&self.pool.core().ddt.report()),
            rewound: self.pool.core().rewound,
            data_errors: report.data_errors,
            readonly: self.pool.core().readonly,
        }
    }

    /// Of a pool whose locks are poisoned.
    fn faulted_status(&self) -> PoolStatus {
        let name = catch_unwind(AssertUnwindSafe(|| self.name())).unwrap_or_default();
        let guid = self.inner().core().storage.pool_guid();
        let blank = blank_vdev(guid, Health::Suspended);
        let root = VdevStatus { name: name.clone(), kind: "root".to_owned(), ..blank };
        PoolStatus {
            name,
            guid,
            health: Health::Suspended,
            txg: 0,
            root,
            cache: Vec::new(),
            spares: Vec::new(),
            condition: Some(condition::faulted()),
            scan: None,
            error_scrub: None,
            removal: None,
            checkpoint: None,
            dedup: DedupTables::default(),
            rewound: None,
            data_errors: 0,
            readonly: self.inner().core().readonly,
        }
    }
}
