//! Vdevs that are to be made, for a new pool or one that grows: which there may be, and what their
//! configuration is. Source: module/zfs/vdev.c (`vdev_metaslab_set_size`).

use api_types::{NewVdevs, VdevSpec};
use env::{DiskError, Env, Tunable};
use ondisk::label::MIN_DEVICE;
use ondisk::version;
use refusal::{Action, Reason, Refused, Upgrade, VdevFault};
use storage::{Bias, VdevConfig, VdevKind};

use super::TXG_INITIAL;
use crate::{PoolError, Result};

/// Most devices of a raidz.
const RAIDZ_MAX: u64 = 255;

/// The feature that counts vdevs set apart.
pub(super) const CLASSES: &str = "allocation_classes";

/// What a top-level vdev is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Log,
    Blocks(Bias),
}

/// Top-level vdevs to make, by what they are for.
#[derive(Clone, Copy)]
pub(super) struct Tops<'a> {
    pub data: &'a [VdevSpec],
    pub special: &'a [VdevSpec],
    pub dedup: &'a [VdevSpec],
    pub logs: &'a [VdevSpec],
}

impl<'a> Tops<'a> {
    pub fn of(new: &'a NewVdevs) -> Tops<'a> {
        Tops { data: &new.data, special: &new.special, dedup: &new.dedup, logs: &new.logs }
    }

    /// In the order in which they are numbered.
    pub fn all(self) -> impl Iterator<Item = (Role, &'a VdevSpec)> {
        let of = |role: Role, tops: &'a [VdevSpec]| tops.iter().map(move |top| (role, top));
        of(Role::Blocks(Bias::None), self.data)
            .chain(of(Role::Blocks(Bias::Special), self.special))
            .chain(of(Role::Blocks(Bias::Dedup), self.dedup))
            .chain(of(Role::Log, self.logs))
    }

    /// Whether some are set apart for some kinds of blocks.
    fn has_classes(self) -> bool {
        !self.special.is_empty() || !self.dedup.is_empty()
    }
}

/// Refuses vdevs that ZFS does not have: groups of groups, and intent logs on raidz.
pub(super) fn check_specs(tops: Tops<'_>) -> Result<()> {
    let refuse = |fault: VdevFault| Err(Refused::new(Action::UseVdevs, fault).into());
    if tops.logs.iter().any(|log| matches!(log, VdevSpec::Raidz { .. })) {
        return refuse(VdevFault::LogOnRaidz);
    }
    for (_, spec) in tops.all() {
        let (group, least, children) = match spec {
            VdevSpec::Leaf(_) => continue,
            VdevSpec::Mirror(children) => ("mirror".to_owned(), 1, children),
            VdevSpec::Raidz { parity: parity @ 1..=3, children } => {
                (format!("raidz{parity}"), *parity + 1, children)
            }
            VdevSpec::Raidz { parity, .. } => return refuse(VdevFault::Parity { parity: *parity }),
        };
        let count = children.len() as u64;
        if !children.iter().all(|child| matches!(child, VdevSpec::Leaf(_))) {
            return refuse(VdevFault::Nested { group });
        }
        if count < least {
            return refuse(VdevFault::TooFew { group, least });
        }
        if count > RAIDZ_MAX && matches!(spec, VdevSpec::Raidz { .. }) {
            return refuse(VdevFault::TooMany { group, most: RAIDZ_MAX });
        }
    }
    Ok(())
}

/// Refuses devices that a pool of this version, or without feature `allocation_classes`, does not
/// have.
pub(super) fn check_version(
    (version, has_classes): (u64, bool),
    tops: Tops<'_>,
    (cache, spares): (&[String], &[String]),
    action: &Action,
) -> Result<()> {
    let since = |spec: &VdevSpec| match spec {
        VdevSpec::Raidz { parity: 3.., .. } => version::RAIDZ3,
        VdevSpec::Raidz { parity: 2, .. } => version::SPARES,
        _ => version::INITIAL,
    };
    let logs_since = if tops.logs.is_empty() { version::INITIAL } else { version::LOGS };
    let vdevs_since = tops.all().map(|(_, top)| since(top)).fold(logs_since, u64::max);
    let upgrade = if !spares.is_empty() && version < version::SPARES {
        Upgrade::AddSpares
    } else if !cache.is_empty() && version < version::CACHES {
        Upgrade::AddCaches
    } else if version < vdevs_since || tops.has_classes() && !has_classes {
        Upgrade::AddVdevs
    } else {
        return Ok(());
    };
    let upgrade = if makes_pool(action) { Upgrade::CreateVdevs } else { upgrade };
    Err(Refused::new(action.clone(), Reason::PoolTooOld(upgrade)).into())
}

/// Whether the devices are for a new pool; else they are for one that grows.
fn makes_pool(action: &Action) -> bool {
    matches!(action, Action::Create { .. })
}

pub(super) fn leaf_paths(vdevs: &[VdevSpec]) -> Vec<String> {
    let of = |vdev: &VdevSpec| match vdev {
        VdevSpec::Leaf(path) => vec![path.clone()],
        VdevSpec::Mirror(children) | VdevSpec::Raidz { children, .. } => leaf_paths(children),
    };
    vdevs.iter().flat_map(of).collect()
}

/// A device cannot be had (lib/libzfs/libzfs_pool.c, `zpool_create`, `zpool_add`).
pub(super) fn refuse_device(action: &Action, path: &str, why: DiskError) -> PoolError {
    let least = MIN_DEVICE >> 20;
    let fault = match (why, makes_pool(action)) {
        (DiskError::OutOfRange, true) => VdevFault::OneTooSmall { least },
        (DiskError::OutOfRange, false) => VdevFault::TooSmallForPool { least },
        (DiskError::Busy, true) => VdevFault::SameTwiceOrTaken,
        (DiskError::Busy, false) => VdevFault::SameTwice,
        _ => VdevFault::Device { path: path.to_owned(), message: why.to_string() },
    };
    Refused::new(action.clone(), fault).into()
}

pub(super) fn new_guid(env: &Env) -> u64 {
    loop {
        let guid = env.entropy.u64();
        if guid != 0 {
            return guid;
        }
    }
}

/// A top-level vdev with this number.
pub(super) fn plan_top(
    env: &Env,
    id: u64,
    (role, spec): (Role, &VdevSpec),
    ashift: Option<u64>,
) -> VdevConfig {
    let mut top = plan_vdev(env, id, spec);
    top.ashift = ashift;
    match role {
        Role::Log => top.is_log = true,
        Role::Blocks(bias) => top.bias = bias,
    }
    top
}

pub(super) fn plan_vdev(env: &Env, id: u64, spec: &VdevSpec) -> VdevConfig {
    let mut vdev = match spec {
        VdevSpec::Leaf(path) => plan_leaf(env, id, path),
        VdevSpec::Mirror(children) => plan_group(env, id, VdevKind::Mirror, children),
        VdevSpec::Raidz { parity, children } => plan_group(env, id, VdevKind::Raidz(*parity), children),
    };
    vdev.create_txg = Some(TXG_INITIAL);
    vdev
}

pub(super) fn plan_leaf(env: &Env, id: u64, path: &str) -> VdevConfig {
    let kind = if env.disks.is_block_device(path) { VdevKind::Disk } else { VdevKind::File };
    let mut leaf = VdevConfig::new(kind, id, new_guid(env));
    leaf.path = Some(path.to_owned());
    leaf
}

fn plan_group(env: &Env, id: u64, kind: VdevKind, children: &[VdevSpec]) -> VdevConfig {
    let mut group = VdevConfig::new(kind, id, new_guid(env));
    group.children =
        children.iter().enumerate().map(|(id, child)| plan_vdev(env, id as u64, child)).collect();
    group
}

/// Metaslabs aimed at, and their smallest, usual and largest size as powers of two.
const METASLABS_WANTED: u64 = 200;
const METASLAB_SHIFT_MIN: u64 = 24;
pub(super) const METASLAB_SHIFT_USUAL: u64 = 29;
const METASLAB_SHIFT_MAX: u64 = 34;
/// More metaslabs than this are not made: then they are larger than the largest size.
const METASLABS_MAX: u64 = 1 << 17;

/// Chooses the size of a new top-level vdev's metaslabs.
pub(super) fn size_metaslabs(env: &Env, top: &mut VdevConfig) {
    let least = env.tunable(Tunable::VdevMinMsCount);
    let asize = top.asize.unwrap_or(0);
    // One more than the floor of the logarithm, as ZFS's highbit64 counts.
    let highbit = |bytes: u64| u64::from(u64::BITS - bytes.leading_zeros());
    let mut shift = METASLAB_SHIFT_USUAL;
    let count = asize >> shift;
    if count < least {
        shift = highbit(asize / least);
    } else if count > METASLABS_WANTED {
        shift = highbit(asize / METASLABS_WANTED);
    }
    shift = shift.clamp(METASLAB_SHIFT_MIN, METASLAB_SHIFT_MAX);
    if asize >> shift > METASLABS_MAX {
        shift = highbit(asize / METASLABS_MAX);
    }
    top.metaslab_shift = Some(shift);
}
