//! The objects that vdevs have in the meta object set: a ZAP for each top-level vdev and each leaf,
//! all listed in one more, and the arrays of space maps.

use std::sync::Arc;

use dmu::zap::{Value, Zap, ZapParams};
use dmu::{ObjectSpec, Objset, Tx};
use env::Env;
use ondisk::object_type::{ObjectType, pool_directory};
use storage::VdevConfig;

use super::spec::METASLAB_SHIFT_USUAL;
use crate::Result;
use crate::space::VdevSpace;

/// In a top-level vdev's ZAP: the array of txgs from which on each metaslab's own map is
/// incomplete.
pub(super) const UNFLUSHED_TXGS: &str = "com.delphix:ms_unflushed_phys_txgs";
/// In a top-level vdev's ZAP: what it was set apart for.
pub(super) const ALLOCATION_BIAS: &str = "org.zfsonlinux:allocation_bias";

/// The list of all vdevs' ZAPs, of a pool that has none yet.
pub(super) fn make_zap_list(mos: &Arc<Objset>, env: &Env, tx: &Tx) -> Result<Zap> {
    let all = new_zap(mos, env, tx)?;
    Zap::open(mos, pool_directory::OBJECT)?.add(pool_directory::VDEV_ZAP_MAP, all.object(), tx)?;
    Ok(all)
}

/// ZAPs for a top-level vdev and its leaves.
pub(super) fn make_zaps(
    mos: &Arc<Objset>,
    all: &Zap,
    top: &mut VdevConfig,
    env: &Env,
    tx: &Tx,
) -> Result<()> {
    let zap = make_vdev_zap(mos, all, env, tx)?;
    top.top_zap = Some(zap);
    if let Some(bias) = top.bias.name() {
        Zap::open(mos, zap)?.add(ALLOCATION_BIAS, Value::text(bias), tx)?;
    }
    let mut failed = None;
    top.visit_mut(&mut |vdev| {
        if vdev.kind.is_leaf() {
            match make_vdev_zap(mos, all, env, tx) {
                Ok(zap) => vdev.leaf_zap = Some(zap),
                Err(error) => failed = Some(error),
            }
        }
    });
    failed.map_or(Ok(()), Err)
}

fn new_zap(mos: &Arc<Objset>, env: &Env, tx: &Tx) -> Result<Zap> {
    let spec = ObjectSpec::new(ObjectType::OTN_ZAP_METADATA);
    Ok(Zap::create(mos, spec, ZapParams::salted(env.entropy.u64()), tx)?)
}

/// A vdev's ZAP, listed among all.
pub(super) fn make_vdev_zap(mos: &Arc<Objset>, all: &Zap, env: &Env, tx: &Tx) -> Result<u64> {
    let zap = new_zap(mos, env, tx)?.object();
    all.add_int(zap, tx)?;
    Ok(zap)
}

/// The objects of a top-level vdev and its leaves; gives what its space maps need.
pub(super) fn make_top_objects(
    mos: &Arc<Objset>,
    all: &Zap,
    top: &mut VdevConfig,
    env: &Env,
    tx: &Tx,
) -> Result<VdevSpace> {
    make_zaps(mos, all, top, env, tx)?;
    let array = mos.alloc(ObjectSpec::new(ObjectType::OBJECT_ARRAY), tx)?.object();
    top.metaslab_array = Some(array);
    let shift = top.metaslab_shift.unwrap_or(METASLAB_SHIFT_USUAL) as u32;
    Ok(VdevSpace {
        vdev: top.id as u32,
        ashift: top.ashift.unwrap_or(9) as u32,
        metaslab_shift: shift,
        metaslab_count: top.asize.unwrap_or(0) >> shift,
        array,
    })
}
