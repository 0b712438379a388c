//! The ZAPs of an object set, by the numbers of their objects.

use std::sync::Arc;

use super::Objset;
use crate::DmuError;
use crate::dnode::{Dnode, ObjectSpec};
use crate::tx::Tx;
use crate::zap::{Zap, ZapParams};

impl Zap {
    /// Of an existing object; `Invalid` when its type is not a ZAP's.
    pub fn open(objset: &Objset, object: u64) -> Result<Zap, DmuError> {
        Zap::of(objset.hold(object)?)
    }

    /// A new object. `spec.object_type` is a ZAP's; `spec.block_size` 0 is 512.
    pub fn create(objset: &Objset, spec: ObjectSpec, params: ZapParams, tx: &Tx) -> Result<Zap, DmuError> {
        let format = |dnode: &Arc<Dnode>| Zap::of(dnode.clone())?.format(params, tx);
        Zap::of(objset.alloc_with(spec, tx, format)?)
    }

    /// A new object at this number.
    pub fn claim(
        objset: &Objset,
        object: u64,
        spec: ObjectSpec,
        params: ZapParams,
        tx: &Tx,
    ) -> Result<Zap, DmuError> {
        let zap = Zap::of(objset.claim(object, spec, tx)?)?;
        zap.format(params, tx)?;
        Ok(zap)
    }
}
