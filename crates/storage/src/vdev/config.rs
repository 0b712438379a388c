//! The configuration of a vdev tree: what labels and the MOS say it is made of.
//!
//! The fields are those that storage acts on. All other pairs are kept in order and written back,
//! so that a pool touched by newer software loses nothing. Source: module/zfs/vdev_label.c
//! `vdev_config_generate`, vdev.c `vdev_alloc`.

use ondisk::label::config::{bias, key, vdev_type};
use ondisk::nvlist::{NvList, NvValue};

use crate::OpenError;

/// A tree deeper than this is not one that ZFS makes (root, mirror, spare, replacing, disk).
const MAX_DEPTH: u32 = 8;

/// What a vdev is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VdevKind {
    Root,
    Disk,
    File,
    Mirror,
    /// With so many parities.
    Raidz(u64),
    /// A disk and the one that is to take its place.
    Replacing,
    /// A disk and the hot spare that stands in for it.
    Spare,
    Missing,
    Hole,
    /// Removed: its blocks were moved to other top-level vdevs.
    Indirect,
    /// draid, …: by ZFS's name.
    Other(String),
}

impl VdevKind {
    /// By ZFS's name, and the parities that the configuration has beside it.
    fn of(name: &str, nparity: Option<u64>) -> VdevKind {
        match name {
            // Only pools from before there was a choice do not say.
            vdev_type::RAIDZ => VdevKind::Raidz(nparity.unwrap_or(1)),
            vdev_type::ROOT => VdevKind::Root,
            vdev_type::DISK => VdevKind::Disk,
            vdev_type::FILE => VdevKind::File,
            vdev_type::MIRROR => VdevKind::Mirror,
            vdev_type::REPLACING => VdevKind::Replacing,
            vdev_type::SPARE => VdevKind::Spare,
            vdev_type::MISSING => VdevKind::Missing,
            vdev_type::HOLE => VdevKind::Hole,
            vdev_type::INDIRECT => VdevKind::Indirect,
            other => VdevKind::Other(other.to_owned()),
        }
    }

    pub fn name(&self) -> &str {
        match self {
            VdevKind::Root => vdev_type::ROOT,
            VdevKind::Disk => vdev_type::DISK,
            VdevKind::File => vdev_type::FILE,
            VdevKind::Mirror => vdev_type::MIRROR,
            VdevKind::Raidz(_) => vdev_type::RAIDZ,
            VdevKind::Replacing => vdev_type::REPLACING,
            VdevKind::Spare => vdev_type::SPARE,
            VdevKind::Missing => vdev_type::MISSING,
            VdevKind::Hole => vdev_type::HOLE,
            VdevKind::Indirect => vdev_type::INDIRECT,
            VdevKind::Other(name) => name,
        }
    }

    pub fn is_leaf(&self) -> bool {
        matches!(self, VdevKind::Disk | VdevKind::File)
    }

    /// Whether all children hold the same bytes.
    pub fn has_sides(&self) -> bool {
        matches!(self, VdevKind::Mirror | VdevKind::Replacing | VdevKind::Spare)
    }
}

/// What a top-level vdev was set apart for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Bias {
    #[default]
    None,
    /// Metadata and small blocks.
    Special,
    /// Dedup tables.
    Dedup,
}

impl Bias {
    /// By the word in the vdev's ZAP.
    pub fn from_name(name: &str) -> Bias {
        match name {
            bias::SPECIAL => Bias::Special,
            bias::DEDUP => Bias::Dedup,
            _ => Bias::None,
        }
    }

    /// The heading under which such vdevs are listed.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Bias::None => None,
            Bias::Special => Some(bias::SPECIAL),
            Bias::Dedup => Some(bias::DEDUP),
        }
    }
}

/// One vdev and its children. A field is `None` where the pair is not there.
#[derive(Clone, PartialEq, Debug)]
pub struct VdevConfig {
    pub kind: VdevKind,
    /// Position among its siblings; of a top-level vdev the number in DVAs.
    pub id: u64,
    pub guid: u64,
    pub path: Option<String>,
    pub whole_disk: Option<bool>,
    /// Of a top-level vdev: log2 of the smallest write.
    pub ashift: Option<u64>,
    /// Of a top-level vdev: bytes that can be allocated.
    pub asize: Option<u64>,
    /// Object that lists the space maps; 0 before the first sync.
    pub metaslab_array: Option<u64>,
    pub metaslab_shift: Option<u64>,
    pub is_log: bool,
    /// Of a top-level vdev. Not in the configuration on disk but in the vdev's ZAP, from where
    /// whoever opens the pool takes it.
    pub bias: Bias,
    pub create_txg: Option<u64>,
    /// Object of the dirty time log.
    pub dtl: Option<u64>,
    pub top_zap: Option<u64>,
    pub leaf_zap: Option<u64>,
    pub offline: bool,
    pub faulted: bool,
    pub removed: bool,
    pub children: Vec<VdevConfig>,
    /// All pairs as they were read; empty for a new vdev.
    pub pairs: NvList,
}

impl VdevConfig {
    /// A vdev that has never been in a pool.
    pub fn new(kind: VdevKind, id: u64, guid: u64) -> VdevConfig {
        VdevConfig {
            kind,
            id,
            guid,
            path: None,
            whole_disk: None,
            ashift: None,
            asize: None,
            metaslab_array: None,
            metaslab_shift: None,
            is_log: false,
            bias: Bias::None,
            create_txg: None,
            dtl: None,
            top_zap: None,
            leaf_zap: None,
            offline: false,
            faulted: false,
            removed: false,
            children: Vec::new(),
            pairs: NvList::new(),
        }
    }

    /// Bytes that each disk of this top-level vdev must be able to hold. Behind the last whole
    /// metaslab nothing lies.
    pub fn least_asize(&self) -> u64 {
        let shift = self.metaslab_shift.unwrap_or(0).min(63);
        let asize = self.asize.unwrap_or(0) >> shift << shift;
        let whole = self.kind.is_leaf() || self.kind.has_sides();
        // A raidz has its space spread over its children.
        if whole { asize } else { asize.div_ceil(self.children.len().max(1) as u64) }
    }

    /// Reads a `vdev_tree`, the root's or a top-level vdev's.
    pub fn from_nvlist(list: &NvList) -> Result<VdevConfig, OpenError> {
        VdevConfig::parse(list, 0)
    }

    fn parse(list: &NvList, depth: u32) -> Result<VdevConfig, OpenError> {
        if depth > MAX_DEPTH {
            return Err(OpenError::Malformed("vdev tree nests too deep"));
        }
        let kind = list.string(key::TYPE).ok_or(OpenError::Malformed("vdev without type"))?;
        let kind = VdevKind::of(kind, list.u64(key::NPARITY));
        let guid = list.u64(key::GUID).unwrap_or(0);
        if guid == 0 && !matches!(kind, VdevKind::Hole | VdevKind::Missing | VdevKind::Root) {
            return Err(OpenError::Malformed("vdev without guid"));
        }
        let flag = |name| list.u64(name).is_some_and(|value| value != 0);
        let children =
            list.nvlist_array(key::CHILDREN).iter().map(|child| VdevConfig::parse(child, depth + 1));
        Ok(VdevConfig {
            kind,
            id: list.u64(key::ID).unwrap_or(0),
            guid,
            path: list.string(key::PATH).map(str::to_owned),
            whole_disk: list.u64(key::WHOLE_DISK).map(|value| value != 0),
            ashift: list.u64(key::ASHIFT),
            asize: list.u64(key::ASIZE),
            metaslab_array: list.u64(key::METASLAB_ARRAY),
            metaslab_shift: list.u64(key::METASLAB_SHIFT),
            is_log: flag(key::IS_LOG),
            bias: Bias::None,
            create_txg: list.u64(key::CREATE_TXG),
            dtl: list.u64(key::DTL),
            top_zap: list.u64(key::VDEV_TOP_ZAP),
            leaf_zap: list.u64(key::VDEV_LEAF_ZAP),
            offline: flag(key::OFFLINE),
            faulted: flag(key::FAULTED),
            removed: flag(key::REMOVED),
            children: children.collect::<Result<_, _>>()?,
            pairs: list.clone(),
        })
    }

    /// The list for the MOS: what was read, with the fields' values now.
    pub fn to_nvlist(&self) -> NvList {
        let mut list = self.pairs.clone();
        let mut put = |name: &str, value: Option<NvValue>| match (list.get_mut(name), value) {
            (Some(place), Some(value)) => *place = value,
            (None, Some(value)) => {
                list.set(name, value);
            }
            (Some(_), None) => {
                list.remove(name);
            }
            (None, None) => {}
        };
        let is_top = self.ashift.is_some();
        put(key::TYPE, Some(self.kind.name().into()));
        put(key::ID, Some(self.id.into()));
        put(key::GUID, Some(self.guid.into()));
        put(key::PATH, self.path.as_deref().map(NvValue::from));
        put(key::WHOLE_DISK, self.whole_disk.map(|whole| u64::from(whole).into()));
        if let VdevKind::Raidz(parity) = self.kind {
            put(key::NPARITY, Some(parity.into()));
        }
        put(key::METASLAB_ARRAY, self.metaslab_array.map(NvValue::from));
        put(key::METASLAB_SHIFT, self.metaslab_shift.map(NvValue::from));
        put(key::ASHIFT, self.ashift.map(NvValue::from));
        put(key::ASIZE, self.asize.map(NvValue::from));
        put(key::IS_LOG, (is_top || self.is_log).then(|| u64::from(self.is_log).into()));
        put(key::DTL, self.dtl.map(NvValue::from));
        put(key::CREATE_TXG, self.create_txg.map(NvValue::from));
        put(key::VDEV_LEAF_ZAP, self.leaf_zap.map(NvValue::from));
        put(key::VDEV_TOP_ZAP, self.top_zap.map(NvValue::from));
        put(key::OFFLINE, self.offline.then(|| 1u64.into()));
        put(key::FAULTED, self.faulted.then(|| 1u64.into()));
        put(key::REMOVED, self.removed.then(|| 1u64.into()));
        let children: Vec<NvList> = self.children.iter().map(VdevConfig::to_nvlist).collect();
        put(key::CHILDREN, (!children.is_empty()).then(|| children.into()));
        list
    }

    /// The list for labels: as for the MOS, without the vdevs' ZAPs, which labels never hold.
    pub fn to_label_nvlist(&self) -> NvList {
        let mut bare = self.clone();
        bare.visit_mut(&mut |vdev| {
            (vdev.top_zap, vdev.leaf_zap) = (None, None);
            vdev.pairs.remove(key::VDEV_ROOT_ZAP);
        });
        bare.to_nvlist()
    }

    /// This vdev and all below, parents first.
    pub fn visit_mut(&mut self, f: &mut dyn FnMut(&mut VdevConfig)) {
        f(self);
        for child in &mut self.children {
            child.visit_mut(f);
        }
    }

    /// This vdev and all below, parents first.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a VdevConfig)) {
        f(self);
        for child in &self.children {
            child.visit(f);
        }
    }

    /// Wrapping sum of the guids of this vdev and all below: what an uberblock's `guid_sum` is of
    /// the root.
    pub fn guid_sum(&self) -> u64 {
        self.children.iter().fold(self.guid, |sum, child| sum.wrapping_add(child.guid_sum()))
    }
}

#[cfg(test)]
mod tests;
