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
    touched: AtomicBool,
}

impl Tx {
    /// For whoever has entered a group on behalf of more than one object set's changes.
    pub fn held(hold: TxHold) -> Tx {
        Tx { txg: hold.txg(), hold: Some(hold), touched: AtomicBool::new(false) }
    }

    /// For whoever is syncing `txg`.
    pub fn syncing(txg: Txg) -> Tx {
        Tx { txg, hold: None, touched: AtomicBool::new(false) }
    }

    /// The group.
    pub fn txg(&self) -> Txg {
        self.txg
    }

    /// Notes that something is changed in the group, and gives the group. Every change of an object
    /// does so. In syncing context, whoever changes anything else that stays where a later step
    /// fails does so before that change.
    pub fn touch(&self) -> Txg {
        self.touched.store(true, Relaxed);
        self.txg
    }

    /// Whether anything has been changed: see [`Tx::touch`].
    pub fn is_touched(&self) -> bool {
        self.touched.load(Relaxed)
    }

    pub fn is_syncing(&self) -> bool {
        self.hold.is_none()
    }

    /// Leaves the group, as dropping does.
    pub fn commit(self) {}
}
