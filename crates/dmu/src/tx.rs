//! A transaction: the proof, needed by everything that changes an object, that a transaction group
//! is held open.
//!
//! In open context it comes from [`crate::Objset::begin`]; the group cannot start to sync before it
//! is dropped. In syncing context the group *is* syncing, and [`Tx::syncing`] says so.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::store::Txg;

use crate::owner::TxHold;

/// See the module. Not `Clone`: one operation, one transaction.
pub struct Tx {
    txg: Txg,
    hold: Option<TxHold>,
    used: AtomicBool,
}

impl Tx {
    pub(crate) fn open(hold: TxHold) -> Tx {
        Tx { txg: hold.txg(), hold: Some(hold), used: AtomicBool::new(false) }
    }

    /// For whoever has entered a group on behalf of more than one object set's changes.
    pub fn held(hold: TxHold) -> Tx {
        Tx::open(hold)
    }

    /// For whoever is syncing `txg`.
    pub fn syncing(txg: Txg) -> Tx {
        Tx { txg, hold: None, used: AtomicBool::new(false) }
    }

    pub fn txg(&self) -> Txg {
        self.used.store(true, Relaxed);
        self.txg
    }

    /// Whether anybody has asked for the group, as whoever changes an object does: if not, nothing
    /// has been changed.
    pub fn is_used(&self) -> bool {
        self.used.load(Relaxed)
    }

    pub fn is_syncing(&self) -> bool {
        self.hold.is_none()
    }

    /// Leaves the group, as dropping does.
    pub fn commit(self) {}
}
