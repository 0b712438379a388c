//! What initiators asked of units and were told, and what may be found of that: while they work,
//! and after the power has gone.
//!
//! A sector is known by the value that fills it; but for zero, each was written once. Calls
//! overlap, so what a sector is at a moment is not one value but a few: of each call that writes
//! it, as long as none that began after that one's end has come to its own end. After a power
//! failure it is one of those that no later *promised* one has taken the place of: promised is what
//! was written with FUA, or had ended before a flush began that came to its end, or is atomic and
//! shows anywhere. What a copy writes is what its source may have been meanwhile. Where only the
//! program dies, all that had ended is promised.
//!
//! Locks, sectors that only COMPARE AND WRITE changes, have a history of their own: see
//! [`super::locks`]. Whether what was found may be so is said in [`super::check`].

use std::collections::BTreeSet;

/// Moments of calls' beginnings and ends, in order.
pub type Tick = u64;

/// Bytes of a sector.
pub const SECTOR: usize = 512;
/// Sectors of a unit at its beginning that are left to locks.
pub const LOCKED: u64 = 64;

/// A range of sectors of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub unit: usize,
    pub lba: u64,
    pub blocks: u64,
}

impl Extent {
    fn contains(self, (unit, lba): Sector) -> bool {
        self.unit == unit && (self.lba..self.lba + self.blocks).contains(&lba)
    }
}

/// A unit and a place on it.
pub type Sector = (usize, u64);

/// What a call does.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Sector after sector one value more than the one before, from this on.
    Write(Extent, u64),
    /// As `Write`, and whole or not at all, whatever happens.
    Atomic(Extent, u64),
    /// The same value everywhere.
    Fill(Extent, u64),
    /// From these sectors to as many others.
    Copy(Extent, Extent),
    /// COMPARE AND WRITE of a lock, from a value to another.
    Exchange { lock: Extent, old: u64, new: u64 },
    /// What was found.
    Read(Extent, Vec<u64>),
    /// Of these units.
    Flush(Vec<usize>),
}

/// A call of an initiator.
#[derive(Clone, Debug)]
pub struct Call {
    pub kind: Kind,
    pub begin: Tick,
    /// `Tick::MAX` until it comes to an end.
    pub end: Tick,
    /// Writes and flushes of the disks by then.
    pub begun_at: usize,
    pub ended_at: usize,
    /// Its end is a promise by itself.
    pub promises: bool,
    /// An exchange that found another value.
    pub lost: bool,
}

/// The end of a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The power fails before this write or flush of the disks.
    Power(usize),
    /// The program dies, the machine goes on: somewhere between this write or flush and the one
    /// before. Then whatever had come to its end before is promised.
    Program(usize),
}

impl Cut {
    pub fn has_seen_begin(self, call: &Call) -> bool {
        let (Cut::Power(at) | Cut::Program(at)) = self;
        call.begun_at <= at
    }

    pub fn has_seen_end(self, call: &Call) -> bool {
        call.end != Tick::MAX
            && match self {
                Cut::Power(at) => call.ended_at <= at,
                Cut::Program(at) => call.ended_at < at,
            }
    }
}

/// See the module.
pub struct Journal {
    pub calls: Vec<Call>,
    /// Values of all sectors at first, by unit: nothing takes them away.
    pub first: Vec<Vec<u64>>,
    now: Tick,
    /// Fresh values come after this one.
    last_value: u64,
}

impl Journal {
    /// Fresh values are larger than `last_value`.
    pub fn new(first: Vec<Vec<u64>>, last_value: u64) -> Journal {
        Journal { calls: Vec::new(), first, now: 0, last_value }
    }

    /// So many values that nobody has.
    pub fn fresh(&mut self, count: u64) -> u64 {
        self.last_value += count;
        self.last_value - count + 1
    }

    pub fn last_value(&self) -> u64 {
        self.last_value
    }

    fn tick(&mut self) -> Tick {
        self.now += 1;
        self.now
    }

    /// A call begins; its number.
    pub fn begin(&mut self, kind: Kind, promises: bool, at: usize) -> usize {
        let begin = self.tick();
        self.calls.push(Call {
            kind,
            begin,
            end: Tick::MAX,
            begun_at: at,
            ended_at: usize::MAX,
            promises,
            lost: false,
        });
        self.calls.len() - 1
    }

    pub fn end(&mut self, number: usize, at: usize) -> &mut Call {
        let now = self.tick();
        let call = &mut self.calls[number];
        (call.end, call.ended_at) = (now, at);
        call
    }

    /// Which calls are promised at a cut, by their numbers.
    pub fn promised(&self, cut: Cut) -> Vec<bool> {
        let flushes: Vec<(&[usize], Tick)> = self
            .calls
            .iter()
            .filter(|call| cut.has_seen_end(call))
            .filter_map(|call| match &call.kind {
                Kind::Flush(units) => Some((&units[..], call.begin)),
                _ => None,
            })
            .collect();
        let is_flushed = |call: &Call, unit: usize| {
            flushes.iter().any(|(units, begin)| units.contains(&unit) && call.end < *begin)
        };
        let is_promised = |call: &Call| match call.kind {
            Kind::Write(Extent { unit, .. }, _)
            | Kind::Atomic(Extent { unit, .. }, _)
            | Kind::Fill(Extent { unit, .. }, _)
            | Kind::Copy(_, Extent { unit, .. })
            | Kind::Exchange { lock: Extent { unit, .. }, .. } => {
                let kept = matches!(cut, Cut::Program(_));
                cut.has_seen_end(call) && (kept || call.promises || is_flushed(call, unit))
            }
            Kind::Read(..) | Kind::Flush(_) => false,
        };
        self.calls.iter().map(is_promised).collect()
    }

    /// Of what is to be there whole, whatever some sector shows is as good as promised: then no
    /// sector of it shows what was before. Every value is written once, so a sector that shows one
    /// of its values shows that it happened.
    pub(super) fn promise_shown(&self, found: &[Vec<u64>], promised: &mut [bool]) {
        for (call, promised) in self.calls.iter().zip(promised) {
            let Kind::Atomic(extent, first) = call.kind else { continue };
            let sectors = &found[extent.unit][extent.lba as usize..][..extent.blocks as usize];
            *promised |= (first..).zip(sectors).any(|(value, found)| value == *found);
        }
    }

    /// Calls that write a sector, by their numbers.
    fn writers(&self, sector: Sector) -> impl Iterator<Item = (usize, &Call)> {
        self.calls.iter().enumerate().filter(move |(_, call)| match &call.kind {
            Kind::Write(extent, _)
            | Kind::Atomic(extent, _)
            | Kind::Fill(extent, _)
            | Kind::Copy(_, extent) => extent.contains(sector),
            Kind::Exchange { .. } | Kind::Read(..) | Kind::Flush(_) => false,
        })
    }

    /// Values that a call may put there.
    fn values_of(&self, call: &Call, (_, lba): Sector, path: &mut Vec<Tick>) -> BTreeSet<u64> {
        match &call.kind {
            Kind::Write(extent, value) | Kind::Atomic(extent, value) => {
                BTreeSet::from([value + (lba - extent.lba)])
            }
            Kind::Fill(_, value) => BTreeSet::from([*value]),
            // No copy reads what it wrote itself, and there are no two at a time.
            Kind::Copy(from, to) if !path.contains(&call.begin) => {
                path.push(call.begin);
                let values = self.between((from.unit, from.lba + (lba - to.lba)), call.begin, call.end, path);
                path.pop();
                values
            }
            _ => BTreeSet::new(),
        }
    }

    /// Values that a sector may have had at some moment from `from` to `to`, which are no
    /// beginnings or ends of others.
    pub(super) fn between(
        &self,
        sector: Sector,
        from: Tick,
        to: Tick,
        path: &mut Vec<Tick>,
    ) -> BTreeSet<u64> {
        let begun = self.writers(sector).map(|(_, call)| call).filter(|call| call.begin < to);
        let begun: Vec<&Call> = begun.collect();
        let gone = begun.iter().filter(|call| call.end < from).map(|call| call.begin).max();
        self.left(sector, &begun, gone, path)
    }

    /// Values that a sector may have after a cut, when these calls are promised.
    pub(super) fn after(&self, sector: Sector, cut: Cut, promised: &[bool]) -> BTreeSet<u64> {
        let begun = || self.writers(sector).filter(|(_, call)| cut.has_seen_begin(call));
        let gone = begun().filter(|(number, _)| promised[*number]).map(|(_, call)| call.begin).max();
        let begun: Vec<&Call> = begun().map(|(_, call)| call).collect();
        self.left(sector, &begun, gone, &mut Vec::new())
    }

    /// Values of the calls that had not ended at `gone`, when somebody began who took the place of
    /// all that had been.
    fn left(
        &self,
        sector: Sector,
        calls: &[&Call],
        gone: Option<Tick>,
        path: &mut Vec<Tick>,
    ) -> BTreeSet<u64> {
        let left = calls.iter().filter(|call| gone.is_none_or(|gone| call.end > gone));
        let mut values: BTreeSet<u64> = left.flat_map(|call| self.values_of(call, sector, path)).collect();
        if gone.is_none() {
            values.insert(self.first[sector.0][sector.1 as usize]);
        }
        values
    }
}
