//! Healing: every copy of a block is read and judged, and what is bad, or lacks the block, is
//! rewritten from what is good. This is what scrubs and resilvers are made of.
//!
//! The unit is one DVA of a block, so that whoever heals many can do it in the order of their
//! places. First the vdev there heals itself ([`crate::vdev`]'s `Heal`: all sides of a mirror, all
//! columns and parity); only where nothing good is found that way, the block's other DVAs are
//! asked, and what they have is written here. Errors are counted on the disks as by any read.
//! Nothing is cached. Between take-off and landing the caller may prepare the next batch: disks
//! stay busy while checksums are computed.
//!
//! Sources: module/zfs/dsl_scan.c (`scan_exec_io`), zio.c (`zio_vdev_io_assess`), vdev.c
//! (`vdev_stat_update`).

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use env::{AlignedBuf, IoClass};
use ondisk::gang::HEADER_SIZE;
use ondisk::{BlkPtr, Dva};

use super::gang::pieces_of;
use super::log::Seal;
use super::moved::{Place, is_moved};
use crate::flight::{Flight, VerifyEach};
use crate::range_tree::RangeTree;
use crate::vdev::open::Tree;
use crate::vdev::{Io, Kind, Op};
use crate::{Payload, ReadError, Storage};

const CLASS: IoClass = IoClass::Scrub;

/// One copy of a block, to be healed. Not of a gang.
#[derive(Clone, Copy, Debug)]
pub struct Patient {
    pub bp: BlkPtr,
    /// Which of its DVAs.
    pub copy: usize,
}

/// Some bytes that should be in a place.
struct Target {
    here: Dva,
    /// Other places that have them too.
    elsewhere: Vec<Dva>,
    /// The place is on a removed vdev, and its bytes lie in these places now.
    pieces: Vec<Dva>,
    len: u64,
    birth: u64,
}

impl Target {
    /// One for each copy.
    fn of_copies(bp: &BlkPtr, len: u64) -> Vec<Target> {
        (0..bp.ndvas()).map(|copy| Target::of(bp, copy, len)).collect()
    }

    fn of(bp: &BlkPtr, copy: usize, len: u64) -> Target {
        let dvas = bp.dvas();
        let other = |(index, dva): (usize, &Dva)| (index != copy && dva.is_valid()).then_some(*dva);
        let elsewhere = dvas.iter().enumerate().filter_map(other).collect();
        Target { here: dvas[copy], elsewhere, pieces: Vec::new(), len, birth: bp.physical_birth() }
    }

    /// Where its bytes lie, and how many of them.
    fn places(&self) -> Vec<(Dva, u64)> {
        match self.pieces.is_empty() {
            true => vec![(self.here, self.len)],
            false => self.pieces.iter().map(|piece| (*piece, piece.asize)).collect(),
        }
    }
}

/// Targets on their way.
struct Healing<'t> {
    storage: &'t Storage,
    tree: &'t Tree,
    targets: Vec<Target>,
    /// Those that could be asked for, in the order of the flight.
    asked: Vec<usize>,
    flight: Flight<'t>,
}

impl<'t> Healing<'t> {
    fn begin(storage: &'t Storage, tree: &'t Tree, mut targets: Vec<Target>) -> Healing<'t> {
        let (mut asked, mut ios) = (Vec::new(), Vec::new());
        for (n, target) in targets.iter_mut().enumerate() {
            let ashift = match storage.copy(tree, &target.here, target.len) {
                Ok(Place::Whole(dva, ashift)) => {
                    target.here = dva;
                    ashift
                }
                Ok(Place::Split(_, pieces)) => {
                    target.pieces = pieces;
                    continue;
                }
                Err(_) => continue,
            };
            let Some(top) = tree.top(target.here.vdev) else { continue };
            let len = target.len.next_multiple_of(1 << ashift) as usize;
            let op = Op::Heal { len, birth: target.birth };
            asked.push(n);
            ios.push((
                &top.vdev,
                Io { op, offset: target.here.offset, class: CLASS, repair: storage.is_writable() },
            ));
        }
        let flight = Flight::take_off_at(storage.env(), tree, CLASS, ios);
        Healing { storage, tree, targets, asked, flight }
    }

    /// Waits for what is read, and puts on its way what is to be rewritten.
    fn judge(&mut self, verify: VerifyEach<'_>) {
        let asked = &self.asked;
        self.flight.turn(&|n, bytes| verify(asked[n], bytes));
    }

    /// One answer a target: that there is something good, here now too.
    fn finish(self, verify: VerifyEach<'_>) -> Vec<Result<(), ReadError>> {
        let (storage, tree) = (self.storage, self.tree);
        let mut answers: Vec<Result<(), ReadError>> =
            self.targets.iter().map(|_| Err(ReadError::Corrupt)).collect();
        let done = self.flight.land(&|n, bytes| verify(self.asked[n], bytes));
        for (&n, done) in self.asked.iter().zip(done) {
            answers[n] = done.map(drop).map_err(ReadError::from);
        }
        for (n, target) in self.targets.iter().enumerate().filter(|(_, target)| !target.pieces.is_empty()) {
            let how = (CLASS, Some(target.birth));
            let found = storage.fetch_split(tree, &target.pieces, how, &|bytes| verify(n, bytes));
            answers[n] = found.map(drop);
        }
        let is_lost = |&n: &usize| {
            let target = &self.targets[n];
            let is_known = self.asked.contains(&n) || !target.pieces.is_empty();
            answers[n].is_err() && is_known && !target.elsewhere.is_empty()
        };
        let lost: Vec<usize> = (0..self.targets.len()).filter(is_lost).collect();
        if lost.is_empty() {
            return answers;
        }
        let wanted: Vec<(Vec<Dva>, u64)> =
            lost.iter().map(|&n| (self.targets[n].elsewhere.clone(), self.targets[n].len)).collect();
        let found = storage.fetch_copies(tree, &wanted, CLASS, &|n, bytes| verify(lost[n], bytes));
        let mut ios = Vec::new();
        for (n, found) in lost.into_iter().zip(found) {
            let here = std::mem::replace(&mut answers[n], Ok(()));
            let found = found.map_err(|there| here.err().filter(|here| here.may_pass()).unwrap_or(there));
            answers[n] = found.map(|bytes| {
                let target = &self.targets[n];
                let mut rest = &bytes[..target.len as usize];
                for (place, len) in target.places() {
                    let Some(top) = tree.top(place.vdev) else { return };
                    let (part, behind) = rest.split_at(rest.len().min(len as usize));
                    let payload = Payload::padded(part, part.len().next_multiple_of(1 << top.ashift));
                    let op = Op::Repair { payload, birth: target.birth };
                    ios.push((&top.vdev, Io { op, offset: place.offset, class: CLASS, repair: false }));
                    rest = behind;
                }
            });
        }
        if storage.is_writable() {
            // What could not be written is noted on its leaf.
            Flight::take_off_at(storage.env(), tree, CLASS, ios).land(&|_, _| true);
        }
        answers
    }
}

/// Whoever heals, for as long as the vdevs are as they are now.
pub struct Healer {
    storage: Arc<Storage>,
    tree: Arc<Tree>,
}

impl Healer {
    /// Starts to heal a batch. The caller holds an [`Storage::epoch`] from before it knew that the
    /// blocks are in use, until the flight has landed.
    pub fn heal(&self, patients: Vec<Patient>) -> HealFlight<'_> {
        let target = |patient: &Patient| Target::of(&patient.bp, patient.copy, patient.bp.psize());
        let healing = Healing::begin(&self.storage, &self.tree, patients.iter().map(target).collect());
        HealFlight { patients, healing }
    }

    /// Disks of a top-level vdev that share what is written there.
    pub fn spread(&self, vdev: u32) -> u64 {
        let top = self.tree.top(vdev).map(|top| &top.vdev);
        let raidz = top.filter(|top| matches!(top.kind, Kind::Raidz(_)));
        raidz.map_or(1, |raidz| raidz.children.len() as u64)
    }
}

/// A batch on its way; it has to land.
#[must_use = "whether the blocks are whole shows when the flight has landed"]
pub struct HealFlight<'t> {
    patients: Vec<Patient>,
    healing: Healing<'t>,
}

impl HealFlight<'_> {
    /// Waits until all has been read, and judges it. What is to be rewritten is on its way then,
    /// and may be waited for later: [`HealFlight::land`].
    pub fn judge(&mut self) {
        let storage = self.healing.storage;
        self.healing.judge(&|n, bytes| storage.is_what(&self.patients[n].bp, bytes));
    }

    /// Waits for all of it; one answer a patient.
    pub fn land(self) -> Vec<Result<(), ReadError>> {
        let storage = self.healing.storage;
        self.healing.finish(&|n, bytes| storage.is_what(&self.patients[n].bp, bytes))
    }
}

impl Storage {
    /// For one batch after another.
    pub fn healer(self: &Arc<Self>) -> Healer {
        Healer { storage: self.clone(), tree: self.tree() }
    }

    /// Heals the headers of a gang and all that they lead to, once the whole has told which headers
    /// are its own: others may be good by themselves and lead to what it was in an earlier pass of
    /// its group.
    pub fn heal_gang(self: &Arc<Self>, bp: &BlkPtr) -> Result<(), ReadError> {
        let tree = self.tree();
        let mut whole = AlignedBuf::zeroed(bp.psize() as usize);
        let mut pieces = Vec::new();
        for (gang, header) in self.read_proved(&tree, bp, CLASS, &mut whole)? {
            let is_it = |_, bytes: &[u8]| bytes[..HEADER_SIZE] == header[..HEADER_SIZE];
            let healing = Healing::begin(self, &tree, Target::of_copies(&gang, HEADER_SIZE as u64));
            healing.finish(&is_it).into_iter().collect::<Result<(), _>>()?;
            let below = pieces_of(&header)?.into_iter().filter(|piece| !piece.is_gang());
            pieces.extend(below.flat_map(|bp| (0..bp.ndvas()).map(move |copy| Patient { bp, copy })));
        }
        self.healer().heal(pieces).land().into_iter().collect()
    }

    /// Heals a block of an intent log, if it was ever written: if it was not, nobody is blamed for
    /// it.
    pub fn heal_log_block(&self, bp: &BlkPtr) {
        let Some(seal) = Seal::of(bp).filter(|_| self.read_log_block(bp).is_ok()) else { return };
        let tree = self.tree();
        let healing = Healing::begin(self, &tree, Target::of_copies(bp, bp.psize()));
        healing.finish(&|_, bytes| seal.is_whole(bp, bytes));
    }

    // ── What leaves lack ──

    /// Whether a disk that can be written lacks what lies here. Of gangs and of removed vdevs it
    /// cannot be told: their pieces lie anywhere.
    pub fn needs_resilver(&self, dva: &Dva, psize: u64, birth: u64) -> bool {
        let tree = self.tree();
        let lacks = |top: &crate::vdev::open::Top| {
            let len = psize.next_multiple_of(1 << top.ashift) as usize;
            top.vdev.needs_resilver(&tree.leaves, dva.offset, len, birth)
        };
        dva.gang || is_moved(&tree, dva.vdev) || tree.top(dva.vdev).is_some_and(lacks)
    }

    /// Sets the transaction groups of which a disk lacks blocks.
    pub fn set_missing(&self, guid: u64, missing: &RangeTree) {
        if let Some(leaf) = self.tree().leaf(guid) {
            leaf.dtl.set_missing(missing.clone());
        }
    }

    /// By disk: the groups of blocks that could not be rewritten there since the last call.
    pub fn take_unrepaired(&self) -> Vec<(u64, RangeTree)> {
        let tree = self.tree();
        let taken = tree.leaves.iter().map(|leaf| (leaf.guid, leaf.dtl.take_unrepaired()));
        taken.filter(|(_, groups)| !groups.is_empty()).collect()
    }

    /// Disks of vdevs with redundancy that may have missed a write since the last call: those that
    /// cannot be written, or could not meanwhile, and those that failed.
    pub fn take_missed(&self) -> Vec<(u64, Missed)> {
        let tree = self.tree();
        let redundant = tree.tops.iter().filter(|top| !top.vdev.children.is_empty());
        let leaves = redundant.flat_map(|top| top.vdev.leaves()).map(|leaf| &tree.leaves[leaf]);
        let missed = leaves.filter_map(|leaf| {
            let failed = leaf.counters.missed_write.swap(false, Relaxed);
            let was_away = leaf.counters.was_away.swap(false, Relaxed);
            match was_away || !leaf.is_usable() {
                true => Some((leaf.guid, Missed::Away)),
                false => failed.then_some((leaf.guid, Missed::Failed)),
            }
        });
        missed.collect()
    }

    /// Whether a disk of the tree cannot be written.
    pub fn is_away(&self, guid: u64) -> bool {
        self.tree().leaf(guid).is_some_and(|leaf| !leaf.is_usable())
    }

    /// Bytes that scans have rewritten since [`Storage::begin_scan`].
    pub fn scan_processed(&self) -> u64 {
        let tree = self.tree();
        tree.leaves.iter().map(|leaf| leaf.counters.scan_processed.load(Relaxed)).sum()
    }

    /// Counts what scans rewrite from zero.
    pub fn begin_scan(&self) {
        self.tree().leaves.iter().for_each(|leaf| leaf.counters.scan_processed.store(0, Relaxed));
    }

    /// Whether somebody but a scan wants something of a disk now.
    pub fn is_busy(&self) -> bool {
        self.tree().leaves.iter().any(|leaf| leaf.queue().is_some_and(|queue| queue.is_wanted()))
    }
}

/// Why a disk lacks something of the groups that were under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missed {
    /// It cannot be written, or has been opened anew.
    Away,
    /// A write failed.
    Failed,
}

#[cfg(test)]
mod tests;
