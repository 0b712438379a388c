//! A volume in memory: bytes behind one lock, and which blocks were ever written since they were
//! last freed.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard};

use engine_api::{
    Error, Promise, ReadBuf, Result, Seek, Slice, Stable, Volume, VolumeGeometry, VolumeId, VolumeRoom,
};
use std::sync::Arc;

/// See the module.
pub struct MemVolume {
    id: VolumeId,
    block: usize,
    state: Mutex<State>,
    /// Changes may go on, or one waits.
    going: Condvar,
}

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    /// By block: it has data.
    mapped: Vec<bool>,
    readonly: bool,
    /// Of the pool, in bytes: nobody enforces it.
    capacity: u64,
    notes: BTreeMap<String, String>,
    /// What every change ends with, and every look at a note, to see what becomes of a failure.
    failure: Option<Error>,
    /// Every change waits; how many do.
    paused: bool,
    waiting: usize,
}

impl MemVolume {
    /// All holes; `size` is a multiple of `block`.
    pub fn new(id: VolumeId, size: usize, block: usize) -> Arc<MemVolume> {
        let state = State {
            bytes: vec![0; size],
            mapped: vec![false; size / block],
            capacity: u64::MAX >> 1,
            ..State::default()
        };
        Arc::new(MemVolume { id, block, state: Mutex::new(state), going: Condvar::new() })
    }

    pub fn set_readonly(&self, readonly: bool) {
        self.lock().readonly = readonly;
    }

    /// The pool has so many bytes from now on.
    pub fn set_capacity(&self, capacity: u64) {
        self.lock().capacity = capacity;
    }

    /// Every change fails so from now on.
    pub fn fail(&self, failure: Option<Error>) {
        self.lock().failure = failure;
    }

    /// Changes wait from now on, until this says that they need not.
    pub fn pause(&self, paused: bool) {
        self.lock().paused = paused;
        self.going.notify_all();
    }

    /// Returns when so many changes wait.
    pub fn wait_for(&self, waiting: usize) {
        let fewer = |state: &mut State| state.waiting < waiting;
        drop(self.going.wait_while(self.lock(), fewer).expect("nothing panics under this lock"));
    }

    pub fn resize(&self, size: usize) {
        let mut state = self.lock();
        state.bytes.resize(size, 0);
        state.mapped.resize(size / self.block, false);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics under this lock")
    }

    /// The state, and the range as indexes into its bytes.
    fn at(&self, offset: u64, len: u64, changes: bool) -> Result<(MutexGuard<'_, State>, usize, usize)> {
        let mut state = self.lock();
        if changes && state.paused {
            state.waiting += 1;
            self.going.notify_all();
            let paused = |state: &mut State| state.paused;
            state = self.going.wait_while(state, paused).expect("nothing panics under this lock");
            state.waiting -= 1;
        }
        let end = offset.checked_add(len).filter(|end| *end <= state.bytes.len() as u64);
        let end = end.ok_or_else(|| Error::Invalid("past the end of the volume".into()))?;
        if changes && state.readonly {
            return Err(Error::ReadOnly);
        }
        match &state.failure {
            Some(failure) if changes => Err(failure.clone()),
            _ => Ok((state, offset as usize, end as usize)),
        }
    }
}

impl Volume for MemVolume {
    fn id(&self) -> VolumeId {
        self.id
    }

    fn geometry(&self) -> Result<VolumeGeometry> {
        let state = self.lock();
        let (size, block) = (state.bytes.len() as u64, self.block as u32);
        Ok(VolumeGeometry { size, block, readonly: state.readonly })
    }

    fn room(&self) -> Result<VolumeRoom> {
        let state = self.lock();
        let used = (state.mapped.iter().filter(|mapped| **mapped).count() * self.block) as u64;
        Ok(VolumeRoom { used, available: state.capacity.saturating_sub(used) })
    }

    fn read(&self, offset: u64, len: usize) -> Result<ReadBuf> {
        let (state, from, to) = self.at(offset, len as u64, false)?;
        let part = Slice::new(Arc::new(state.bytes[from..to].to_vec()), 0, len);
        Ok(ReadBuf { parts: vec![part], eof: to == state.bytes.len() })
    }

    fn write(&self, offset: u64, data: &[u8], _stable: Stable) -> Result<()> {
        let (mut state, from, to) = self.at(offset, data.len() as u64, true)?;
        state.bytes[from..to].copy_from_slice(data);
        if from < to {
            state.mapped[from / self.block..=(to - 1) / self.block].fill(true);
        }
        Ok(())
    }

    fn write_whole(&self, offset: u64, data: &[u8], stable: Stable) -> Result<()> {
        self.write(offset, data, stable)
    }

    fn write_promised(&self, offset: u64, data: &[u8]) -> Result<Promise> {
        self.write(offset, data, Stable::FileSync)?;
        Ok(Box::new(|| Ok(())))
    }

    fn modify(
        &self,
        offset: u64,
        len: usize,
        _stable: Stable,
        change: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> Result<()> {
        let (mut state, from, to) = self.at(offset, len as u64, true)?;
        let mut bytes = state.bytes[from..to].to_vec();
        if change(&mut bytes) {
            state.bytes[from..to].copy_from_slice(&bytes);
            state.mapped[from / self.block..to.div_ceil(self.block)].fill(true);
        }
        Ok(())
    }

    fn write_zeroes(&self, offset: u64, len: u64, _stable: Stable) -> Result<()> {
        let (mut state, from, to) = self.at(offset, len, true)?;
        state.bytes[from..to].fill(0);
        let (first, after) = (from.div_ceil(self.block), to / self.block);
        if first < after {
            state.mapped[first..after].fill(false);
        }
        Ok(())
    }

    fn copy_from(&self, source: &dyn Volume, from: u64, to: u64, len: u64) -> Result<()> {
        let data = source.read(from, len as usize)?.to_vec();
        let end = from + len;
        let mut holes = Vec::new();
        let mut at = from;
        while at < end {
            let data = source.seek(at, Seek::Data)?.min(end);
            holes.push((to + (at - from), data - at));
            at = if data < end { source.seek(data, Seek::Hole)? } else { end };
        }
        self.write(to, &data, Stable::Unstable)?;
        holes.into_iter().try_for_each(|(at, len)| self.write_zeroes(at, len, Stable::Unstable))
    }

    fn seek(&self, offset: u64, what: Seek) -> Result<u64> {
        let (state, from, _) = self.at(offset, 1, false)?;
        let first = from / self.block;
        let wanted = (first..state.mapped.len()).find(|at| state.mapped[*at] == (what == Seek::Data));
        let found = wanted.unwrap_or(state.mapped.len()) * self.block;
        Ok((found.max(from)) as u64)
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn note(&self, name: &str) -> Result<String> {
        let state = self.lock();
        match &state.failure {
            Some(failure) => Err(failure.clone()),
            None => Ok(state.notes.get(name).cloned().unwrap_or_default()),
        }
    }

    fn set_note(&self, name: &str, text: &str) -> Result<()> {
        let (mut state, ..) = self.at(0, 0, true)?;
        state.notes.insert(name.to_owned(), text.to_owned());
        Ok(())
    }
}
