//! Faults on demand: a wrapper over any [`Disks`] that fails chosen operations.
//!
//! Tests use it to fail the n-th I/O for every n; operators use the same wrapper as `zinject`. A
//! rule says which disk, which operation, which bytes, how many matches to let pass first, how
//! often to fire and with what effect. While there is no rule, an I/O costs one look at a flag
//! more.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use stdx::prng::Prng;

use crate::clock::{Clock, Nanos, RealClock};
use crate::disk::{Disk, DiskError, DiskIo, DiskOp, Disks, OpenMode, SectorSize};
use crate::lock;

/// Which operations a rule looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultOp {
    Open,
    Read,
    Write,
    Flush,
    Discard,
    /// Reads, writes, flushes and discards.
    Any,
    /// All of it, opens included: the disk is not there.
    Device,
}

/// What happens when a rule fires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// The operation is not done and fails.
    Fail(DiskError),
    /// Reads: the data comes back with each byte of the rule's range inverted. Writes: they land
    /// so.
    Corrupt,
    /// Writes and flushes: reported as done but not done. Reads are untouched.
    Lie,
    /// It takes this much longer.
    Delay(Nanos),
}

/// A rate that always fires: of so many.
pub const ALWAYS: u32 = 1_000_000;

/// Stretches of a disk, in order, none overlapping another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spans(Arc<[Range<u64>]>);

impl Spans {
    /// Of stretches in any order.
    pub fn new(mut spans: Vec<Range<u64>>) -> Spans {
        spans.retain(|span| !span.is_empty());
        spans.sort_by_key(|span| span.start);
        spans.dedup_by(|next, before| {
            let joins = next.start <= before.end;
            if joins {
                before.end = before.end.max(next.end);
            }
            joins
        });
        Spans(spans.into())
    }

    /// What of them lies in a stretch.
    fn within(&self, start: u64, end: u64) -> impl Iterator<Item = Range<u64>> {
        let first = self.0.partition_point(|span| span.end <= start);
        let touched = self.0[first..].iter().take_while(move |span| span.start < end);
        touched.map(move |span| span.start.max(start)..span.end.min(end))
    }
}

impl From<Range<u64>> for Spans {
    fn from(span: Range<u64>) -> Spans {
        Spans::new(vec![span])
    }
}

/// One fault. Build with [`FaultRule::new`] and change the fields that matter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FaultRule {
    /// The disk's path; `None` is every disk.
    pub path: Option<String>,
    pub op: FaultOp,
    /// Bytes of the disk; an I/O matches if it touches any of them. Ignored for opens and flushes.
    pub bytes: Spans,
    /// Matches to let pass first.
    pub skip: u64,
    /// Matches to fire on after that; `u64::MAX` is for ever.
    pub times: u64,
    /// Of [`ALWAYS`] matches so many fire.
    pub rate: u32,
    pub kind: FaultKind,
}

impl FaultRule {
    /// Every matching operation on every disk, for ever.
    pub fn new(op: FaultOp, kind: FaultKind) -> FaultRule {
        FaultRule {
            path: None,
            op,
            bytes: (0..u64::MAX).into(),
            skip: 0,
            times: u64::MAX,
            rate: ALWAYS,
            kind,
        }
    }

    /// Whether the rule looks at this operation.
    fn matches(&self, path: &str, op: FaultOp, span: Option<(u64, u64)>) -> bool {
        let right_op = match self.op {
            FaultOp::Device => true,
            FaultOp::Any => op != FaultOp::Open,
            this => this == op,
        };
        let right_path = self.path.as_deref().is_none_or(|wanted| wanted == path);
        let right_bytes = span.is_none_or(|(start, end)| self.bytes.within(start, end).next().is_some());
        right_op && right_path && right_bytes
    }

    /// Decides, and counts, whether the rule fires on an operation that it looks at.
    fn fires(&mut self, prng: &mut Prng) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        let fire =
            self.times > 0 && (self.rate == ALWAYS || prng.chance(u64::from(self.rate), u64::from(ALWAYS)));
        if fire && self.times != u64::MAX {
            self.times -= 1;
        }
        fire
    }
}

/// A rule in force, and what it has done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Injected {
    pub id: u64,
    /// With what is left of `skip` and `times`.
    pub rule: FaultRule,
    pub matched: u64,
    pub fired: u64,
}

/// Disks with faults. Cloning shares the rules.
#[derive(Clone)]
pub struct FaultDisks {
    inner: Arc<dyn Disks>,
    plan: Arc<Plan>,
}

struct Plan {
    clock: Arc<dyn Clock>,
    any: AtomicBool,
    state: Mutex<PlanState>,
}

struct PlanState {
    rules: Vec<Injected>,
    prng: Prng,
    last_id: u64,
    fired: u64,
}

/// What the rules make of one operation: what to do, and the bytes a corruption hits.
type Verdict = Option<(FaultKind, Spans)>;

impl Plan {
    /// The first rule that fires wins.
    fn judge(&self, path: &str, op: FaultOp, span: Option<(u64, u64)>) -> Verdict {
        if !self.any.load(Relaxed) {
            return None;
        }
        let mut state = lock(&self.state);
        let PlanState { rules, prng, fired, .. } = &mut *state;
        for injected in rules.iter_mut().filter(|injected| injected.rule.matches(path, op, span)) {
            injected.matched += 1;
            if injected.rule.fires(prng) {
                injected.fired += 1;
                *fired += 1;
                return Some((injected.rule.kind, injected.rule.bytes.clone()));
            }
        }
        None
    }

    fn change<T>(&self, change: impl FnOnce(&mut PlanState) -> T) -> T {
        let mut state = lock(&self.state);
        let changed = change(&mut state);
        self.any.store(!state.rules.is_empty(), Relaxed);
        changed
    }
}

impl FaultDisks {
    /// Delays are those of the machine's clock.
    pub fn new(inner: Arc<dyn Disks>) -> FaultDisks {
        FaultDisks::timed(inner, Arc::new(RealClock::new()))
    }

    pub fn timed(inner: Arc<dyn Disks>, clock: Arc<dyn Clock>) -> FaultDisks {
        let state = PlanState { rules: Vec::new(), prng: Prng::new(0), last_id: 0, fired: 0 };
        let plan = Plan { clock, any: AtomicBool::new(false), state: Mutex::new(state) };
        FaultDisks { inner, plan: Arc::new(plan) }
    }

    /// Adds a rule, also for disks already open; returns its id.
    pub fn inject(&self, rule: FaultRule) -> u64 {
        self.plan.change(|state| {
            state.last_id += 1;
            state.rules.push(Injected { id: state.last_id, rule, matched: 0, fired: 0 });
            state.last_id
        })
    }

    /// Takes a rule back. False if there is none of that id.
    pub fn cancel(&self, id: u64) -> bool {
        self.plan.change(|state| {
            let before = state.rules.len();
            state.rules.retain(|injected| injected.id != id);
            state.rules.len() < before
        })
    }

    pub fn clear(&self) {
        self.plan.change(|state| state.rules.clear());
    }

    /// The rules in force.
    pub fn rules(&self) -> Vec<Injected> {
        lock(&self.plan.state).rules.clone()
    }

    /// How often any rule has fired.
    pub fn fired(&self) -> u64 {
        lock(&self.plan.state).fired
    }
}

impl Disks for FaultDisks {
    fn open(&self, path: &str, mode: OpenMode) -> Result<Arc<dyn Disk>, DiskError> {
        match self.plan.judge(path, FaultOp::Open, None) {
            Some((FaultKind::Fail(error), _)) => return Err(error),
            Some((FaultKind::Delay(span), _)) => self.plan.clock.sleep(span),
            Some((FaultKind::Corrupt | FaultKind::Lie, _)) | None => {}
        }
        let inner = self.inner.open(path, mode)?;
        Ok(Arc::new(FaultDisk { inner, path: path.to_owned(), plan: self.plan.clone() }))
    }

    fn is_block_device(&self, path: &str) -> bool {
        self.inner.is_block_device(path)
    }

    fn list(&self, dir: &str) -> Result<Vec<String>, DiskError> {
        self.inner.list(dir)
    }
}

struct FaultDisk {
    inner: Arc<dyn Disk>,
    path: String,
    plan: Arc<Plan>,
}

impl FaultDisk {
    /// Inverts the bytes of `data`, which lies at `offset` on disk, that are in `bytes`.
    fn invert(data: &mut [u8], offset: u64, bytes: &Spans) {
        for span in bytes.within(offset, offset + data.len() as u64) {
            let hit = &mut data[(span.start - offset) as usize..(span.end - offset) as usize];
            hit.iter_mut().for_each(|byte| *byte = !*byte);
        }
    }

    fn corrupt(&self, io: &mut DiskIo<'_>, bytes: &Spans) -> Result<(), DiskError> {
        match &mut io.op {
            DiskOp::Read(buf) => {
                self.inner.read_at(io.offset, buf, io.class)?;
                FaultDisk::invert(buf, io.offset, bytes);
                Ok(())
            }
            write => {
                let mut copy = write.payload().into_owned();
                FaultDisk::invert(&mut copy, io.offset, bytes);
                self.inner.write_at(io.offset, &copy, io.class)
            }
        }
    }
}

impl Disk for FaultDisk {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn refresh(&self) -> u64 {
        self.inner.refresh()
    }

    fn is_there(&self) -> bool {
        self.inner.is_there()
    }

    fn sector_size(&self) -> SectorSize {
        self.inner.sector_size()
    }

    fn places_on_write(&self) -> bool {
        self.inner.places_on_write()
    }

    fn hole(&self, offset: u64, len: u64) -> Option<(u64, u64)> {
        self.inner.hole(offset, len)
    }

    fn submit(&self, batch: &mut [DiskIo<'_>]) {
        if !self.plan.any.load(Relaxed) {
            return self.inner.submit(batch);
        }
        let verdicts: Vec<Verdict> = batch
            .iter()
            .map(|io| {
                let op = if io.is_write() { FaultOp::Write } else { FaultOp::Read };
                let end = io.offset.saturating_add(io.len() as u64);
                self.plan.judge(&self.path, op, Some((io.offset, end)))
            })
            .collect();
        if verdicts.iter().all(Option::is_none) {
            return self.inner.submit(batch);
        }
        // Those that wait wait together.
        let delay = |verdict: &Verdict| match verdict {
            Some((FaultKind::Delay(span), _)) => Some(*span),
            _ => None,
        };
        if let Some(span) = verdicts.iter().filter_map(delay).max() {
            self.plan.clock.sleep(span);
        }
        for (io, verdict) in batch.iter_mut().zip(verdicts) {
            match verdict {
                Some((FaultKind::Fail(error), _)) => io.result = Err(error),
                Some((FaultKind::Corrupt, bytes)) => io.result = self.corrupt(io, &bytes),
                Some((FaultKind::Lie, _)) if io.is_write() => io.result = Ok(()),
                Some((FaultKind::Lie | FaultKind::Delay(_), _)) | None => {
                    self.inner.submit(std::slice::from_mut(io));
                }
            }
        }
    }

    fn flush(&self) -> Result<(), DiskError> {
        match self.plan.judge(&self.path, FaultOp::Flush, None) {
            Some((FaultKind::Fail(error), _)) => Err(error),
            Some((FaultKind::Lie, _)) => Ok(()),
            Some((FaultKind::Delay(span), _)) => {
                self.plan.clock.sleep(span);
                self.inner.flush()
            }
            Some((FaultKind::Corrupt, _)) | None => self.inner.flush(),
        }
    }

    fn can_discard(&self) -> bool {
        self.inner.can_discard()
    }

    fn discard(&self, offset: u64, len: u64) -> Result<(), DiskError> {
        let span = Some((offset, offset.saturating_add(len)));
        match self.plan.judge(&self.path, FaultOp::Discard, span) {
            Some((FaultKind::Fail(error), _)) => Err(error),
            Some((FaultKind::Lie, _)) => Ok(()),
            Some((FaultKind::Corrupt | FaultKind::Delay(_), _)) | None => self.inner.discard(offset, len),
        }
    }
}

#[cfg(test)]
mod tests;
