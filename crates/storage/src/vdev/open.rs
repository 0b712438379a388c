//! From a configuration to an open tree.
//!
//! A disk that cannot be opened, is too small, or whose label says it is another, becomes an absent
//! leaf; whether the pool can live without it shows when all are open. Only a new pool insists on
//! every disk. Source: module/zfs/vdev.c (`vdev_open`, `vdev_get_min_asize`).

use std::sync::{Arc, Mutex, OnceLock};

use codec::raidz::{MAX_COLUMNS, MAX_PARITY, Method};
use env::{DiskError, Env, OpenMode, Tunable};
use ondisk::label;
use ondisk::label::config::key;

use super::config::{VdevConfig, VdevKind};
use super::leaf::Leaf;
use super::raidz::Raidz;
use super::report::Reports;
use super::status::{TopVdevInfo, VdevStat, VdevState};
use super::{Kind, Vdev};
use crate::OpenError;
use crate::labels;

/// The largest sector ZFS takes (`ASHIFT_MAX`) and the smallest.
const ASHIFT: std::ops::RangeInclusive<u64> = 9..=16;
/// log2 of the bytes in which sizes of DVAs are counted.
const SECTOR_SHIFT: u32 = 9;

/// What a tree is opened for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenIntent {
    /// Disks may be somebody else's; nothing is written, not even repairs.
    ReadOnly,
    ReadWrite,
    /// New disks: labels are not looked at, sizes are measured.
    Create,
}

/// Which top-level vdevs may be missing when a tree is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tolerated {
    /// Those that hold intent logs: what is in the logs there is given up.
    pub logs: bool,
    /// Those of kind `Missing`, of which the labels found say nothing: they may be logs.
    pub unknown: bool,
}

/// All vdevs of a pool, open.
#[derive(Default)]
pub struct Tree {
    /// By the number in DVAs.
    pub tops: Vec<Top>,
    pub leaves: Vec<Arc<Leaf>>,
    /// Where its disks' errors are told.
    pub reports: Arc<Reports>,
    /// Held while it is decided whether a leaf can go.
    losing: Arc<Mutex<()>>,
}

/// A top-level vdev.
pub struct Top {
    pub id: u32,
    pub vdev: Arc<Vdev>,
    /// Holds intent logs and nothing else; the pool goes on without it.
    pub is_log: bool,
    pub ashift: u32,
    /// Bytes that can be allocated.
    pub asize: u64,
}

/// What the size of a block in a file is held against (`vdev_set_deflate_ratio`).
const USUAL_BLOCK: u64 = 128 << 10;

impl Top {
    /// Bytes that a block of `psize` bytes takes here, parity and rounding included.
    pub fn asize_of(&self, psize: u64) -> u64 {
        self.vdev.asize(self.ashift, psize)
    }

    /// What so many bytes of space here are worth to datasets: parity is taken off, as large as it
    /// is in a block of 128 KiB, whatever it was in the blocks that took the space.
    pub fn deflate(&self, asize: u64) -> u64 {
        let sectors_of_usual = self.asize_of(USUAL_BLOCK) >> SECTOR_SHIFT;
        (asize >> SECTOR_SHIFT) * (USUAL_BLOCK / sectors_of_usual)
    }
}

impl Tree {
    /// The top-level vdev a DVA names.
    pub fn top(&self, id: u32) -> Option<&Top> {
        self.tops.get(id as usize)
    }

    /// Whether every top-level vdev that is whole (or at least readable) stays so without this
    /// leaf. Logs may always go: what they hold is in memory too, and gets into the pool with the
    /// next transaction group.
    pub fn can_lose(&self, leaf: usize) -> bool {
        self.tops.iter().filter(|top| !top.is_log).all(|top| {
            if top.vdev.is_whole(&self.leaves, None) {
                return top.vdev.is_whole(&self.leaves, Some(leaf));
            }
            !top.vdev.is_readable(&self.leaves, None) || top.vdev.is_readable(&self.leaves, Some(leaf))
        })
    }

    /// Takes a leaf out of use, if others stand in for it; two threads never give up two sides.
    pub fn lose(&self, leaf: usize, state: VdevState) -> bool {
        let _one = env::lock(&self.losing);
        let can = self.can_lose(leaf);
        if can {
            self.leaves[leaf].set_state(state);
        }
        can
    }

    /// A leaf has missed a write: it is behind, if others stand in for it. A log's that nobody
    /// stands in for is of no use any more, and faulted.
    pub fn miss(&self, leaf: usize) -> bool {
        let _one = env::lock(&self.losing);
        let can = self.can_lose(leaf);
        if can && self.has_spare(leaf) {
            self.leaves[leaf].set_behind(true);
        } else if can {
            self.leaves[leaf].set_state(VdevState::Faulted);
        }
        can
    }

    /// A leaf lacks something, only where another side of its top-level vdev is whole, be it a log
    /// or not.
    pub fn set_behind(&self, leaf: usize) -> bool {
        let _one = env::lock(&self.losing);
        let can = self.has_spare(leaf);
        if can {
            self.leaves[leaf].set_behind(true);
        }
        can
    }

    fn has_spare(&self, leaf: usize) -> bool {
        let top = self.top(self.leaves[leaf].top).expect("a leaf belongs to a top-level vdev");
        top.vdev.is_whole(&self.leaves, Some(leaf))
    }

    /// The first top-level vdev that cannot be read and that nobody said may be missing.
    pub fn refuse_missing(&self, tolerated: Tolerated) -> Result<(), OpenError> {
        let missing = |top: &&Top| !top.vdev.is_readable(&self.leaves, None) && !self.is_retired(top);
        for Top { id, vdev, is_log, .. } in self.tops.iter().filter(missing) {
            let (id, guid) = (*id, vdev.guid);
            match (is_log, vdev.kind) {
                (true, _) if !tolerated.logs => return Err(OpenError::MissingLog { id, guid }),
                (false, Kind::Missing) if tolerated.unknown => {}
                (false, _) => return Err(OpenError::MissingTop { id, guid }),
                (true, _) => {}
            }
        }
        Ok(())
    }

    /// Whether a disk belongs to a log and was given up while it was open. Nothing is written there
    /// any more; what was promised there before can be read still, and is needed until it has been
    /// replayed. Log blocks judge themselves.
    pub fn is_failed_log(&self, leaf: usize) -> bool {
        let leaf = &self.leaves[leaf];
        leaf.is_open()
            && leaf.state() == VdevState::Faulted
            && self.top(leaf.top).is_some_and(|top| top.is_log)
    }

    /// Whether a log was taken out of use while the pool had all it held, as its configuration
    /// tells.
    fn is_retired(&self, top: &Top) -> bool {
        let sides = top.vdev.leaves();
        let given_up = |leaf: usize| {
            matches!(self.leaves[leaf].state(), VdevState::Offline | VdevState::Removed | VdevState::Faulted)
        };
        top.is_log && !sides.is_empty() && sides.into_iter().all(given_up)
    }

    /// Log2 of the largest sector of any top-level vdev.
    pub fn max_ashift(&self) -> u32 {
        self.tops.iter().map(|top| top.ashift).max().unwrap_or(9)
    }

    /// Log2 of the smallest sector of any top-level vdev but logs: what compressed sizes are
    /// rounded to (`spa_min_ashift`).
    pub fn min_ashift(&self) -> u32 {
        let real = self.tops.iter().filter(|top| top.vdev.kind != Kind::Hole && !top.is_log);
        real.map(|top| top.ashift).min().unwrap_or(9)
    }

    pub fn leaf(&self, guid: u64) -> Option<&Arc<Leaf>> {
        self.leaves.iter().find(|leaf| leaf.guid == guid)
    }

    /// State and counters of `config`, which describes `vdev`.
    pub fn stat(&self, vdev: &Vdev, config: &VdevConfig) -> VdevStat {
        let children = vdev.children.iter().zip(&config.children);
        let children = children.map(|(vdev, config)| self.stat(vdev, config)).collect();
        let mut stat = VdevStat { guid: vdev.guid, children, ..VdevStat::blank(config) };
        match vdev.kind {
            Kind::Leaf(leaf) => fill_leaf(&mut stat, &self.leaves[leaf]),
            Kind::Hole | Kind::Indirect => {}
            Kind::Mirror | Kind::Raidz(_) | Kind::Missing => {
                sum_children(&mut stat);
                if !vdev.is_readable(&self.leaves, None) {
                    stat.state = VdevState::Unavail;
                }
            }
        }
        stat
    }
}

/// State and counters of a disk outside the tree.
pub(crate) fn leaf_stat(config: &VdevConfig, leaf: &Leaf) -> VdevStat {
    let mut stat = VdevStat::blank(config);
    fill_leaf(&mut stat, leaf);
    stat
}

fn fill_leaf(stat: &mut VdevStat, leaf: &Leaf) {
    use std::sync::atomic::Ordering::Relaxed;
    stat.is_worn = leaf.is_worn();
    stat.is_behind = leaf.is_behind();
    stat.state = leaf.shown_state();
    stat.read_errors = leaf.counters.read_errors.load(Relaxed);
    stat.write_errors = leaf.counters.write_errors.load(Relaxed);
    stat.checksum_errors = leaf.counters.checksum_errors.load(Relaxed);
    stat.scan_processed = leaf.counters.scan_processed.load(Relaxed);
    stat.io = leaf.io();
    stat.size = leaf.size();
}

/// I/O is summed; errors are not, for a vdev with redundancy corrects those of its children.
/// Degraded if a child does not work.
pub(crate) fn sum_children(stat: &mut VdevStat) {
    for child in &stat.children {
        stat.io.add(&child.io);
        if child.state != VdevState::Online {
            stat.state = VdevState::Degraded;
        }
    }
}

/// Opens all disks below `root` and puts what was measured (asize, ashift) into the configuration
/// of new vdevs.
pub fn open(
    env: &Env,
    pool: u64,
    root: &mut VdevConfig,
    intent: OpenIntent,
    tolerated: Tolerated,
) -> Result<Tree, OpenError> {
    if root.kind != VdevKind::Root {
        return Err(OpenError::Malformed("the tree's top is not a root"));
    }
    let mut opener = Opener::new(env, pool, intent, None);
    let tops = opener.tops(root)?;
    let tree = Tree { tops, leaves: opener.leaves, reports: Arc::default(), losing: Arc::default() };
    tree.refuse_missing(tolerated)?;
    Ok(tree)
}

/// Disks that are open already, for a tree that takes the place of another.
pub struct AtHand<'a> {
    pub old: &'a Tree,
    /// Disks that were not part of it.
    pub new: &'a [Arc<Leaf>],
    /// Guids that disks of the old tree get in the new one: (old, new).
    pub renamed: &'a [(u64, u64)],
}

/// The tree of `root` made of disks that are open: nothing is opened, and one that is not at hand
/// is absent. What is unknown of new top-level vdevs is measured.
pub fn rebuild(env: &Env, pool: u64, root: &mut VdevConfig, at_hand: &AtHand<'_>) -> Result<Tree, OpenError> {
    let mut opener = Opener::new(env, pool, OpenIntent::Create, Some(at_hand));
    let tops = opener.tops(root)?;
    let AtHand { old, .. } = at_hand;
    Ok(Tree { tops, leaves: opener.leaves, reports: old.reports.clone(), losing: old.losing.clone() })
}

/// Bytes that can be allocated on a vdev, as far as the disks tell that are there; `None` if none
/// is.
pub(crate) fn room(vdev: &Vdev, leaves: &[Arc<Leaf>]) -> Option<u64> {
    if let Kind::Leaf(leaf) = vdev.kind {
        return Some(leaves[leaf].asize()).filter(|asize| *asize > 0);
    }
    let smallest = vdev.children.iter().filter_map(|child| room(child, leaves)).min()?;
    Some(if let Kind::Raidz(raidz) = vdev.kind { smallest * raidz.width as u64 } else { smallest })
}

/// How parity is computed on this machine; found out when the first raidz is opened.
static METHOD: OnceLock<Method> = OnceLock::new();

struct Opener<'a> {
    env: &'a Env,
    pool: u64,
    intent: OpenIntent,
    leaves: Vec<Arc<Leaf>>,
    at_hand: Option<&'a AtHand<'a>>,
    /// The top-level vdev being opened holds intent logs.
    in_log: bool,
    /// Bytes that each of its disks must be able to hold.
    least_asize: u64,
}

impl<'a> Opener<'a> {
    fn new(env: &'a Env, pool: u64, intent: OpenIntent, at_hand: Option<&'a AtHand<'a>>) -> Opener<'a> {
        Opener { env, pool, intent, leaves: Vec::new(), at_hand, in_log: false, least_asize: 0 }
    }

    fn tops(&mut self, root: &mut VdevConfig) -> Result<Vec<Top>, OpenError> {
        let mut tops = Vec::new();
        for (index, config) in root.children.iter_mut().enumerate() {
            if config.id != index as u64 || index >= 1 << 24 {
                return Err(OpenError::Malformed("top-level vdevs are not numbered in order"));
            }
            tops.push(self.top(config)?);
        }
        Ok(tops)
    }

    fn top(&mut self, config: &mut VdevConfig) -> Result<Top, OpenError> {
        (self.in_log, self.least_asize) = (config.is_log, config.least_asize());
        let mut vdev = self.vdev(config, config.id as u32, 0)?;
        let measured = (room(&vdev, &self.leaves).unwrap_or(0), self.ashift(&vdev));
        if vdev.kind != Kind::Hole && vdev.kind != Kind::Missing {
            if self.intent == OpenIntent::Create {
                config.ashift.get_or_insert(measured.1);
                config.asize.get_or_insert(measured.0);
            }
            if config.ashift.is_none_or(|ashift| !ASHIFT.contains(&ashift)) {
                return Err(OpenError::Malformed("top-level vdev without a possible ashift"));
            }
        }
        if let Kind::Raidz(raidz) = &mut vdev.kind {
            raidz.ashift = config.ashift.unwrap_or(9) as u32;
        }
        Ok(Top {
            id: config.id as u32,
            vdev: Arc::new(vdev),
            is_log: config.is_log,
            ashift: config.ashift.unwrap_or(9) as u32,
            asize: config.asize.unwrap_or(0),
        })
    }

    /// The largest ashift of the disks that are there.
    fn ashift(&self, vdev: &Vdev) -> u64 {
        let disks = vdev.leaves().into_iter().map(|leaf| self.leaves[leaf].ashift()).max().unwrap_or(0);
        disks.min(self.env.tunable(Tunable::VdevMaxAutoAshift)).max(9)
    }

    /// The geometry of a raidz; its ashift is that of its top-level vdev, which is yet to be found
    /// out.
    fn raidz(&mut self, config: &VdevConfig, parity: u64) -> Result<Raidz, OpenError> {
        let width = config.children.len();
        let parity = usize::try_from(parity).unwrap_or(usize::MAX);
        if !(1..=MAX_PARITY).contains(&parity) || !(parity + 1..=MAX_COLUMNS).contains(&width) {
            return Err(OpenError::Malformed("raidz with an impossible number of parities or devices"));
        }
        if config.pairs.get(key::RAIDZ_EXPANDING).is_some()
            || config.pairs.get(key::RAIDZ_EXPAND_TXGS).is_some()
        {
            return Err(OpenError::Unsupported { kind: "expanded raidz".into() });
        }
        let clock = self.env.clock.clone();
        let method = *METHOD.get_or_init(|| Method::fastest(&mut || clock.now().0));
        Ok(Raidz { parity, width, ashift: 0, method })
    }

    fn vdev(&mut self, config: &VdevConfig, top: u32, depth: u32) -> Result<Vdev, OpenError> {
        let kind = match &config.kind {
            VdevKind::Disk | VdevKind::File => {
                let leaf = match self.at_hand {
                    Some(at_hand) => at_hand.leaf(config, top, self.in_log),
                    None => Arc::new(self.leaf(config, top)?),
                };
                self.leaves.push(leaf);
                Kind::Leaf(self.leaves.len() - 1)
            }
            kind if kind.has_sides() && config.children.is_empty() => {
                return Err(OpenError::Malformed("mirror without children"));
            }
            VdevKind::Mirror | VdevKind::Replacing | VdevKind::Spare => Kind::Mirror,
            VdevKind::Raidz(_) if depth > 0 => return Err(OpenError::Malformed("raidz inside another vdev")),
            VdevKind::Raidz(parity) => Kind::Raidz(self.raidz(config, *parity)?),
            VdevKind::Missing => Kind::Missing,
            VdevKind::Hole => Kind::Hole,
            VdevKind::Indirect => Kind::Indirect,
            VdevKind::Root => return Err(OpenError::Malformed("root inside the tree")),
            VdevKind::Other(name) => return Err(OpenError::Unsupported { kind: name.clone() }),
        };
        let children = match kind {
            Kind::Mirror | Kind::Raidz(_) => {
                let children = config.children.iter();
                children
                    .map(|child| self.vdev(child, top, depth + 1).map(Arc::new))
                    .collect::<Result<_, _>>()?
            }
            _ => Vec::new(),
        };
        Ok(Vdev { guid: config.guid, kind, children })
    }

    fn leaf(&self, config: &VdevConfig, top: u32) -> Result<Leaf, OpenError> {
        let path = config.path.clone().unwrap_or_default();
        let absent = |state| Ok(Leaf::absent(config.guid, &path, top, state));
        if let Some(state) = out_of_use(config, self.in_log) {
            return absent(state);
        }
        match self.open_disk(config, &path, top) {
            Ok(leaf) => Ok(leaf),
            Err(why) if self.intent == OpenIntent::Create => Err(OpenError::BadDisk { path, why }),
            Err(why) => {
                tracing::warn!(path, guid = config.guid, %why, "cannot open a disk of the pool");
                absent(VdevState::Unavail)
            }
        }
    }

    fn open_disk(&self, config: &VdevConfig, path: &str, top: u32) -> Result<Leaf, DiskError> {
        let mode = match self.intent {
            OpenIntent::ReadOnly => OpenMode::ReadOnly,
            OpenIntent::ReadWrite | OpenIntent::Create => OpenMode::ReadWrite,
        };
        let device = labels::Device::locate(self.env.disks.open(path, mode)?)?;
        // A device that shrank has lost what may lie at its end; one that was away while the others
        // grew never had it.
        if device.size < label::MIN_DEVICE || label::allocatable_size(device.size) < self.least_asize {
            return Err(DiskError::OutOfRange);
        }
        if self.intent != OpenIntent::Create && !device.is_member(self.pool, config.guid) {
            return Err(DiskError::NotFound);
        }
        Ok(Leaf::open(self.env, config.guid, path, top, device))
    }
}

impl AtHand<'_> {
    fn leaf(&self, config: &VdevConfig, top: u32, in_log: bool) -> Arc<Leaf> {
        if let Some(new) = self.new.iter().find(|leaf| leaf.guid == config.guid) {
            return new.clone();
        }
        let before =
            self.renamed.iter().find(|(_, new)| *new == config.guid).map_or(config.guid, |(old, _)| *old);
        let old = self.old.leaf(before).filter(|leaf| leaf.top == top && !config.offline);
        match old {
            Some(leaf) if before == config.guid => leaf.clone(),
            Some(leaf) => Arc::new(leaf.renamed(config.guid)),
            None => {
                let path = config.path.as_deref().unwrap_or_default();
                let state = out_of_use(config, in_log).unwrap_or(VdevState::Unavail);
                Arc::new(Leaf::absent(config.guid, path, top, state))
            }
        }
    }
}

/// The state of a disk that was taken out of use on purpose, or for good. That it was faulted for
/// its errors is judged anew (`vdev_alloc`), but for a log: what a log that failed holds, the pool
/// has.
fn out_of_use(config: &VdevConfig, in_log: bool) -> Option<VdevState> {
    let on_purpose = || config.pairs.string(key::AUX_STATE) == Some("external");
    match (config.offline, config.removed, config.faulted) {
        (true, ..) => Some(VdevState::Offline),
        (_, true, _) => Some(VdevState::Removed),
        (.., true) if in_log || on_purpose() => Some(VdevState::Faulted),
        _ => None,
    }
}

/// What pool needs to know of each top-level vdev.
pub fn infos(tree: &Tree, root: &VdevConfig) -> Vec<TopVdevInfo> {
    let info = |(top, config): (&Top, &VdevConfig)| TopVdevInfo {
        id: top.id,
        guid: top.vdev.guid,
        kind: config.kind.clone(),
        ashift: top.ashift,
        asize: top.asize,
        metaslab_array: config.metaslab_array.unwrap_or(0),
        metaslab_shift: config.metaslab_shift.unwrap_or(0) as u32,
        is_log: config.is_log,
        is_readable: top.vdev.is_held(&|leaf| tree.leaves[leaf].is_usable() || tree.is_failed_log(leaf)),
        leaves: top.vdev.leaves().into_iter().map(|leaf| tree.leaves[leaf].guid).collect(),
    };
    tree.tops.iter().zip(&root.children).map(info).collect()
}
