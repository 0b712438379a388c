//! Disks that know written from durable.
//!
//! What was written since a disk's last flush is *pending*: it reads back, but when the power goes
//! each pending write is kept, dropped or torn, sector by sector, as the seed has it; so any order
//! in which a drive may write its cache out is met. The power goes at a chosen *event* (a write or
//! a flush): from it on every call fails with `Gone`, nothing reaches the medium, and handles
//! opened before stay dead for good.
//!
//! An *outage* is something else: at a chosen event all disks or some lose their power, and the
//! machine does not. Pending writes meet their fate, handles opened before take no write or flush
//! any more, and none can be opened until the disks come back. What is read through old handles is
//! still answered: a reader that waited would hold locks that on this one thread nobody could wait
//! for.
//!
//! Reads of labels never fail: which uberblocks an import sees must not hang on chance, or nobody
//! could say which group the pool has to come back in. Disks that cannot be read at all are met as
//! disks that are *away*, for whole lives.
//!
//! Images are sparse: chunks that were never written are not there, and a chunk that is durable as
//! it reads is one chunk shared by both views.

pub mod image;
pub mod tape;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use env::{Disk, DiskError, DiskIo, DiskOp, Disks, Nanos, OpenMode, SectorSize, lock};
use ondisk::label;
use stdx::prng::Prng;

use crate::time::Time;
use crate::trace::Trace;
use image::Image;
use tape::Tape;

/// Up to so many bytes a discarded stretch changes all over, above that a sector in so many bytes.
const FORGOTTEN_WHOLE: u64 = 256 << 10;
const FORGOTTEN_EVERY: u64 = 64 << 10;

/// How often a disk fails, of a million I/Os each; reads, and writes that are answered all the
/// same, only between its labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Reads that fail.
    pub read: u32,
    /// Reads that give wrong bytes.
    pub corrupt: u32,
    /// Writes that fail and change nothing.
    pub write: u32,
    /// Stretches of the disk, of a million, between its labels, in which every write fails.
    pub stuck: u32,
    /// Flushes that fail and make nothing durable.
    pub flush: u32,
    /// Writes that are answered and not done: what was there before reads back.
    pub lost: u32,
    /// Writes that are answered and done somewhere else.
    pub misdirected: u32,
}

/// What becomes of pending writes when the power goes, of 100 each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    pub kept: u32,
    pub torn: u32,
}

/// A set of simulated disks. Clones share them.
#[derive(Clone)]
pub struct SimDisks(Arc<Mutex<State>>);

struct State {
    disks: BTreeMap<String, Platter>,
    prng: Prng,
    time: Time,
    trace: Trace,
    /// Counts switching on: a handle works in the life it was opened in.
    life: u64,
    on: bool,
    events: u64,
    cut: Option<Cut>,
    outage: Option<Outage>,
    /// What happens is recorded here.
    tape: Option<Tape>,
}

/// When the power goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// At this event.
    At(u64),
    /// So many events after the flush that comes after so many others.
    AfterFlush { flushes: u64, events: u64 },
}

/// At this event disks lose their power, and their caches so much.
struct Outage {
    at: u64,
    loss: Loss,
    paths: Vec<String>,
}

#[derive(Default)]
struct Platter {
    sector: u32,
    size: u64,
    faults: Faults,
    /// A flush is answered and not done.
    lies: bool,
    exclusive: bool,
    /// Not there at all.
    away: bool,
    /// How often it was taken away: handles opened before are dead.
    pulls: u64,
    /// Without power.
    out: bool,
    /// Outages so far: a handle takes writes until the next one after it was opened.
    outages: u64,
    /// Writes and flushes that failed.
    failures: u64,
    /// Writes and flushes are refused.
    read_only: bool,
    /// What a write or flush takes at the most.
    slow: Nanos,
    /// Bytes get their place when they are first written.
    sparse: bool,
    image: Image,
}

impl Platter {
    /// Whether an I/O here is about the labels.
    fn is_label(&self, offset: u64) -> bool {
        offset < label::START || offset >= self.size.saturating_sub(label::END)
    }
}

impl SimDisks {
    pub fn new(prng: Prng, time: Time, trace: Trace) -> SimDisks {
        let disks = BTreeMap::new();
        let state = State {
            disks,
            prng,
            time,
            trace,
            life: 0,
            on: true,
            events: 0,
            cut: None,
            outage: None,
            tape: None,
        };
        SimDisks(Arc::new(Mutex::new(state)))
    }

    /// Adds a zeroed disk with sectors of 512 or 4096 bytes.
    pub fn add(&self, path: &str, size: u64, sector: u32) {
        let platter = Platter { sector, size, ..Platter::default() };
        lock(&self.0).disks.insert(path.to_owned(), platter);
    }

    fn change(&self, path: &str, change: impl FnOnce(&mut Platter)) {
        change(lock(&self.0).disks.get_mut(path).expect("a disk of this name"));
    }

    /// Makes a disk fail from now on.
    ///
    /// # Panics
    /// When there is no such disk.
    pub fn set_faults(&self, path: &str, faults: Faults) {
        self.change(path, |disk| disk.faults = faults);
    }

    /// Makes a disk answer flushes without doing them, or do them again: nobody can keep a promise
    /// on such a disk, so whoever checks promises must notice.
    ///
    /// # Panics
    /// When there is no such disk.
    pub fn set_lying(&self, path: &str, lies: bool) {
        self.change(path, |disk| disk.lies = lies);
    }

    /// Makes a disk refuse writes and flushes, or take them again.
    ///
    /// # Panics
    /// When there is no such disk.
    pub fn set_read_only(&self, path: &str, read_only: bool) {
        self.change(path, |disk| disk.read_only = read_only);
    }

    /// Makes each write and flush of a disk take some time, `most` at the most.
    ///
    /// # Panics
    /// When there is no such disk.
    pub fn set_slow(&self, path: &str, most: Nanos) {
        self.change(path, |disk| disk.slow = most);
    }

    /// Makes a disk a file that gives bytes their place when they are first written.
    ///
    /// # Panics
    /// When there is no such disk.
    pub fn set_sparse(&self, path: &str) {
        self.change(path, |disk| disk.sparse = true);
    }

    /// Makes a disk zero from one moment to the next, as a card of memory that is reset.
    ///
    /// # Panics
    /// When there is no such disk.
    pub fn wipe(&self, path: &str) {
        self.change(path, |disk| disk.image = Image::default());
    }

    /// Gives the disk `to`, of the same size, what `from` would have after a crash that keeps only
    /// what was flushed.
    ///
    /// # Panics
    /// When there is no such disk.
    pub fn copy(&self, from: &str, to: &str) {
        let mut state = lock(&self.0);
        let image = state.disks.get(from).expect("a disk of this name").image.durable();
        state.disks.get_mut(to).expect("a disk of this name").image = image;
    }

    /// Takes a disk out of the machine, which may be running, or puts it back.
    ///
    /// # Panics
    /// When there is no such disk.
    pub fn set_away(&self, path: &str, away: bool) {
        self.change(path, |disk| {
            if away && !disk.away {
                disk.pulls += 1;
                disk.exclusive = false;
            }
            disk.away = away;
        });
    }

    /// Takes a disk out of the machine, which may be running; it loses its power with that.
    ///
    /// # Panics
    /// When there is no such disk.
    pub fn pull(&self, path: &str, loss: Loss) {
        self.set_away(path, true);
        let mut state = lock(&self.0);
        let state = &mut *state;
        let disk = state.disks.get_mut(path).expect("a disk of this name");
        disk.image.crash(disk.sector, loss, &mut state.prng);
        state.break_off();
    }

    /// Writes and flushes of a disk that failed because it has faults.
    ///
    /// # Panics
    /// When there is no such disk.
    pub fn failures(&self, path: &str) -> u64 {
        lock(&self.0).disks[path].failures
    }

    pub fn is_away(&self, path: &str) -> bool {
        lock(&self.0).disks[path].away
    }

    /// Puts these bytes in the place of what a disk has. For machines that are off.
    ///
    /// # Panics
    /// When there is no such disk.
    pub fn set_image(&self, path: &str, image: Image) {
        self.change(path, |disk| disk.image = image);
    }

    /// What a disk has that nothing can take away any more.
    ///
    /// # Panics
    /// When there is no such disk.
    pub fn image(&self, path: &str) -> Image {
        lock(&self.0).disks[path].image.durable()
    }

    /// Two disks change places, with all that is wrong with them. For machines that are off;
    /// [`SimDisks::restart`] follows.
    ///
    /// # Panics
    /// When there are no such disks.
    pub fn exchange(&self, a: &str, b: &str) {
        let disks = &mut lock(&self.0).disks;
        let mut take = |path: &str| disks.remove(path).expect("a disk of this name");
        let (at_a, at_b) = (take(a), take(b));
        disks.extend([(a.to_owned(), at_b), (b.to_owned(), at_a)]);
    }

    /// Bytes of a disk.
    ///
    /// # Panics
    /// When there is no such disk.
    pub fn size(&self, path: &str) -> u64 {
        lock(&self.0).disks[path].size
    }

    /// Begins to record what happens to the disks. Nothing may be pending.
    pub fn start_tape(&self) {
        let mut state = lock(&self.0);
        let disks = state.disks.iter().map(|(path, disk)| (path.clone(), disk.size, disk.image.durable()));
        state.tape = Some(Tape::new(disks));
    }

    /// Events on the tape that runs.
    pub fn taped(&self) -> usize {
        lock(&self.0).tape.as_ref().map_or(0, Tape::len)
    }

    /// Ends the recording.
    pub fn take_tape(&self) -> Option<Tape> {
        lock(&self.0).tape.take()
    }

    /// Lets the power go at the `after`-th write or flush from now; 0 is the next one.
    pub fn cut_after(&self, after: u64) {
        let mut state = lock(&self.0);
        state.cut = Some(Cut::At(state.events + after));
    }

    /// Lets the power go near a flush, where it matters most: `events` after the one that follows
    /// `flushes` others. With 0 events, it goes in that flush.
    pub fn cut_near_flush(&self, flushes: u64, events: u64) {
        lock(&self.0).cut = Some(Cut::AfterFlush { flushes, events });
    }

    pub fn is_on(&self) -> bool {
        lock(&self.0).on
    }

    /// Takes all disks' power at the `after`-th write or flush from now, and not the machine's.
    pub fn outage_after(&self, after: u64, loss: Loss) {
        let all = lock(&self.0).disks.keys().cloned().collect();
        self.outage_of(all, after, loss);
    }

    /// The same for some of the disks.
    pub fn outage_of(&self, paths: Vec<String>, after: u64, loss: Loss) {
        let mut state = lock(&self.0);
        state.outage = Some(Outage { at: state.events + after, loss, paths });
    }

    /// Whether an outage is still to come.
    pub fn has_outage_planned(&self) -> bool {
        lock(&self.0).outage.is_some()
    }

    /// Whether disks are without power.
    pub fn is_out(&self) -> bool {
        lock(&self.0).disks.values().any(|disk| disk.out)
    }

    /// Ends an outage: disks can be opened again.
    pub fn come_back(&self) {
        lock(&self.0).disks.values_mut().for_each(|disk| disk.out = false);
    }

    /// Writes and flushes so far.
    pub fn events(&self) -> u64 {
        lock(&self.0).events
    }

    /// Writes that a crash could still lose.
    pub fn pending(&self) -> usize {
        lock(&self.0).disks.values().map(|disk| disk.image.pending()).sum()
    }

    /// Switches everything off, lets each pending write meet its fate, and switches on again.
    pub fn restart(&self, loss: Loss) {
        let mut state = lock(&self.0);
        let state = &mut *state;
        state.on = true;
        state.cut = None;
        state.outage = None;
        state.life += 1;
        for disk in state.disks.values_mut() {
            (disk.exclusive, disk.out) = (false, false);
            disk.image.crash(disk.sector, loss, &mut state.prng);
        }
        state.break_off();
    }

    /// The non-zero parts of what is on a disk, as (offset, bytes); for a copy that other programs
    /// can read.
    ///
    /// # Panics
    /// When there is no such disk.
    pub fn contents(&self, path: &str) -> Vec<(u64, Vec<u8>)> {
        lock(&self.0).disks[path].image.chunks()
    }
}

impl State {
    /// What became of the disks is nothing that they were told to do.
    fn break_off(&mut self) {
        if let Some(tape) = &mut self.tape {
            tape.break_off(self.disks.values().map(|disk| disk.image.clone()).collect());
        }
    }

    /// Counts a write or flush; `Gone` if the power goes with it.
    fn event(&mut self, is_flush: bool) -> Result<(), DiskError> {
        match &mut self.cut {
            Some(Cut::AfterFlush { flushes: 0, events }) if is_flush => {
                self.cut = Some(Cut::At(self.events + *events));
            }
            Some(Cut::AfterFlush { flushes, .. }) if is_flush => *flushes -= 1,
            _ => {}
        }
        if matches!(self.cut, Some(Cut::At(at)) if self.events >= at) {
            self.on = false;
        }
        if let Some(outage) = self.outage.take_if(|outage| self.events >= outage.at) {
            for path in &outage.paths {
                let disk = self.disks.get_mut(path).expect("a disk of this name");
                disk.out = true;
                disk.outages += 1;
                disk.image.crash(disk.sector, outage.loss, &mut self.prng);
            }
            self.break_off();
        }
        self.events += 1;
        if self.on { Ok(()) } else { Err(DiskError::Gone) }
    }

    /// Counts a write or flush through this handle; `Gone` if its disk is, or was since.
    fn event_on(&mut self, handle: &SimDisk, is_flush: bool) -> Result<(), DiskError> {
        self.event(is_flush)?;
        if handle.outages == self.disks[&handle.path].outages { Ok(()) } else { Err(DiskError::Gone) }
    }

    fn platter(&mut self, handle: &SimDisk) -> Result<&mut Platter, DiskError> {
        if !self.on || self.life != handle.life {
            return Err(DiskError::Gone);
        }
        let there = |disk: &&mut Platter| !disk.away && disk.pulls == handle.pulls;
        self.disks.get_mut(&handle.path).filter(there).ok_or(DiskError::Gone)
    }

    /// A write reaches the medium, or its cache.
    fn write(&mut self, handle: &SimDisk, offset: u64, data: &[u8]) -> Result<(), DiskError> {
        let data: Arc<[u8]> = data.into();
        self.platter(handle)?.image.write(offset, data.clone());
        if let Some(tape) = &mut self.tape {
            tape.write(&handle.path, offset, data);
        }
        Ok(())
    }

    fn fails(&mut self, per_million: u32) -> bool {
        per_million > 0 && self.prng.chance(u64::from(per_million), 1_000_000)
    }

    /// Time goes by while a disk works.
    fn pass(&mut self, most: Nanos) {
        if most.0 > 0 {
            self.time.advance(Nanos(self.prng.below(most.0)));
        }
    }

    fn transfer(&mut self, handle: &SimDisk, io: &mut DiskIo<'_>) -> Result<(), DiskError> {
        let platter = self.platter(handle)?;
        let Platter { size, sector, faults, read_only, slow, .. } = *platter;
        let spared = platter.is_label(io.offset);
        io.check(size, handle.read_only)?;
        assert!(
            io.offset.is_multiple_of(u64::from(sector)) && io.len().is_multiple_of(sector as usize),
            "an I/O of {} bytes at {} on a disk with sectors of {sector}",
            io.len(),
            io.offset,
        );
        match &mut io.op {
            DiskOp::Read(buf) => {
                if self.fails(faults.read) && !spared {
                    return Err(DiskError::Io(5));
                }
                self.platter(handle)?.image.read(io.offset, buf);
                if self.fails(faults.corrupt) && !spared {
                    let at = self.prng.below(buf.len().max(1) as u64) as usize;
                    buf[at..].iter_mut().take(sector as usize).for_each(|byte| *byte = !*byte);
                }
            }
            write => {
                let data = write.payload();
                self.event_on(handle, false)?;
                self.pass(slow);
                if read_only {
                    return Err(DiskError::ReadOnly);
                }
                if self.fails(faults.write)
                    || (!spared && is_stuck(handle, io.offset, data.len(), faults.stuck))
                {
                    self.platter(handle)?.failures += 1;
                    return Err(DiskError::Io(5));
                }
                let mut offset = io.offset;
                if !spared && self.fails(faults.misdirected) {
                    let room = size - label::START - label::END - data.len() as u64;
                    offset = label::START + self.prng.below(room / u64::from(sector)) * u64::from(sector);
                }
                self.trace.note_bytes(handle.path.as_bytes());
                self.trace.note(offset);
                self.trace.note_bytes(&data);
                if spared || !self.fails(faults.lost) {
                    self.write(handle, offset, &data)?;
                }
            }
        }
        Ok(())
    }
}

/// Whether a write touches a stretch in which all fail; always the same.
fn is_stuck(handle: &SimDisk, offset: u64, len: usize, rate: u32) -> bool {
    let name: u64 = handle.path.bytes().map(u64::from).sum();
    let fails = |stretch: u64| Prng::new(stretch ^ (name << 32)).chance(u64::from(rate), 1_000_000);
    rate > 0 && (offset / Image::STRETCH..=(offset + len as u64 - 1) / Image::STRETCH).any(fails)
}

impl Disks for SimDisks {
    fn open(&self, path: &str, mode: OpenMode) -> Result<Arc<dyn Disk>, DiskError> {
        let mut state = lock(&self.0);
        let (on, life) = (state.on, state.life);
        let there = |disk: &&mut Platter| !disk.away && !disk.out;
        let disk = state.disks.get_mut(path).filter(there).ok_or(DiskError::NotFound)?;
        let read_only = mode == OpenMode::ReadOnly;
        if !on {
            return Err(DiskError::Gone);
        }
        if !read_only {
            if disk.read_only {
                return Err(DiskError::ReadOnly);
            }
            if disk.exclusive {
                return Err(DiskError::Busy);
            }
            disk.exclusive = true;
        }
        let (size, sector, pulls, outages) = (disk.size, disk.sector, disk.pulls, disk.outages);
        let path = path.to_owned();
        Ok(Arc::new(SimDisk { disks: self.clone(), path, size, sector, life, outages, pulls, read_only }))
    }

    fn list(&self, dir: &str) -> Result<Vec<String>, DiskError> {
        let prefix = format!("{}/", dir.trim_end_matches('/'));
        let inside = |path: &&String| path.strip_prefix(&prefix).is_some_and(|rest| !rest.contains('/'));
        let state = lock(&self.0);
        let there = state.disks.iter().filter(|(_, disk)| !disk.away).map(|(path, _)| path);
        let found: Vec<String> = there.filter(inside).cloned().collect();
        if found.is_empty() { Err(DiskError::NotFound) } else { Ok(found) }
    }
}

struct SimDisk {
    disks: SimDisks,
    path: String,
    size: u64,
    sector: u32,
    life: u64,
    outages: u64,
    pulls: u64,
    read_only: bool,
}

impl Disk for SimDisk {
    fn size(&self) -> u64 {
        self.size
    }

    fn sector_size(&self) -> SectorSize {
        SectorSize { logical: self.sector, physical: self.sector }
    }

    /// In any order, as drives do.
    fn submit(&self, batch: &mut [DiskIo<'_>]) {
        let mut state = lock(&self.disks.0);
        let count = batch.len();
        let first = if count == 0 { 0 } else { state.prng.below(count as u64) as usize };
        for n in (first..count).chain(0..first) {
            batch[n].result = state.transfer(self, &mut batch[n]);
        }
    }

    fn flush(&self) -> Result<(), DiskError> {
        let mut state = lock(&self.disks.0);
        state.platter(self)?;
        if self.read_only {
            return Err(DiskError::ReadOnly);
        }
        state.event_on(self, true)?;
        state.trace.note_bytes(self.path.as_bytes());
        let Platter { faults, read_only, slow, .. } = *state.platter(self)?;
        state.pass(slow);
        if read_only {
            return Err(DiskError::ReadOnly);
        }
        if state.fails(faults.flush) {
            state.platter(self)?.failures += 1;
            return Err(DiskError::Io(5));
        }
        let platter = state.platter(self)?;
        if !platter.lies {
            platter.image.flush();
            if let Some(tape) = &mut state.tape {
                tape.flush(&self.path);
            }
        }
        Ok(())
    }

    fn places_on_write(&self) -> bool {
        lock(&self.disks.0).disks[&self.path].sparse
    }

    fn hole(&self, offset: u64, len: u64) -> Option<(u64, u64)> {
        let state = lock(&self.disks.0);
        let disk = &state.disks[&self.path];
        let len = len.min(disk.size.saturating_sub(offset));
        disk.image.hole(offset, len).filter(|_| disk.sparse)
    }

    /// What is forgotten reads as something else: a short stretch all over, a long one here and
    /// there.
    fn discard(&self, offset: u64, len: u64) -> Result<(), DiskError> {
        let end = offset.checked_add(len).filter(|end| *end <= self.size).ok_or(DiskError::OutOfRange)?;
        if self.read_only {
            return Err(DiskError::ReadOnly);
        }
        let mut state = lock(&self.disks.0);
        let junk = vec![0xd5; self.sector as usize];
        let every = if len <= FORGOTTEN_WHOLE { u64::from(self.sector) } else { FORGOTTEN_EVERY };
        for at in (offset..end).step_by(every as usize) {
            let left = (end - at).min(junk.len() as u64) as usize;
            state.write(self, at, &junk[..left])?;
        }
        Ok(())
    }
}

impl Drop for SimDisk {
    fn drop(&mut self) {
        let mut state = lock(&self.disks.0);
        let (life, disk) = (state.life, state.disks.get_mut(&self.path).expect("disks stay"));
        if !self.read_only && life == self.life && disk.pulls == self.pulls {
            disk.exclusive = false;
        }
    }
}

#[cfg(test)]
mod tests;
