//! A round of the writer: what will be evicted next is taken to the device whose turn it is.
//!
//! A block in memory is logical bytes; a device gets what the pool has. Compressing again gives
//! that for all that this program wrote, and the pointer's checksum says whether it did. Where it
//! did not (other software compressed it), the stored bytes are read from the pool, behind
//! everybody else.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use env::{AlignedBuf, IoClass, Tunable, lock};
use ondisk::l2arc::LogBlock;
use ondisk::{BlkPtr, CompressKind};

use super::device::Device;
use super::device::{prop_of, transfer, write_header};
use super::index::{Index, Name, Slot};
use super::ring::Ring;
use super::{Level2, Limits, State};
use crate::arc::stats::{add, sub};
use crate::arc::{Cold, ColdEnd};
use crate::leaf_queue::Transfer;
use crate::vdev::leaf::Leaf;
use crate::{Block, Payload};

/// The pool whose blocks are taken.
pub(crate) trait Pool {
    /// Whether these are the bytes that a pointer stands for.
    fn is_stored_as(&self, bp: &BlkPtr, bytes: &[u8]) -> bool;

    /// The stored bytes of a block that may have been freed since: nobody is blamed for others,
    /// nothing is repaired.
    fn read_stored(&self, bp: &BlkPtr) -> Option<AlignedBuf>;
}

/// Which lists are looked at, in this order: (MFU, metadata).
const TURNS: [(bool, bool); 4] = [(true, true), (false, true), (true, false), (false, false)];

/// A device to write in this round.
struct Target {
    number: u32,
    leaf: Arc<Leaf>,
    /// Bytes of blocks that may be written.
    most: u64,
    limits: Limits,
}

/// A round's writes, placed.
#[derive(Default)]
struct Batch {
    /// Blocks, and where each lies.
    blocks: Vec<(Cold, u64)>,
    writes: Vec<(u64, Transfer)>,
    logs: u64,
}

impl Level2 {
    /// One round; gives the bytes written and the most there could have been.
    pub fn feed(&self, pool: &impl Pool) -> (u64, u64) {
        let Some(target) = self.choose() else { return (0, 1) };
        let cold = self.collect(pool, &target);
        if cold.is_empty() {
            return (0, target.most);
        }
        let Some(batch) = self.place(&target, cold) else { return (0, target.most) };
        let Batch { blocks, writes, logs } = batch;
        let bytes: u64 = writes.iter().map(|(_, write)| write.len() as u64).sum();
        let answers = transfer(&self.env, &target.leaf, writes, IoClass::AsyncWrite);
        let failed = answers.iter().filter(|answer| answer.is_err()).count();
        self.settle(&target, blocks, failed == 0);
        if failed > 0 {
            add(&self.counts().write_errors, failed as u64);
        } else {
            add(&self.counts().feeds, 1);
            add(&self.counts().write_bytes, bytes);
            add(&self.counts().log_writes, logs);
        }
        self.put_header(&target);
        if target.leaf.counters.is_failing() {
            self.lose(target.number);
        }
        (bytes, target.most)
    }

    /// The next device in turn that can be written.
    fn choose(&self) -> Option<Target> {
        let mut state = lock(&self.state);
        let (count, limits) = (state.devices.len(), state.limits);
        for _ in 0..count {
            state.turn = (state.turn + 1) % count;
            let turn = state.turn;
            let device = &state.devices[turn];
            if let (true, Some(ring)) = (device.is_open(), &device.ring) {
                let boost = if self.cache.is_warm() { 0 } else { self.env.tunable(Tunable::L2arcWriteBoost) };
                let most = self.env.tunable(Tunable::L2arcWriteMax).saturating_add(boost);
                let most = most.min((ring.end - ring.start) / 4);
                return Some(Target { number: device.number, leaf: device.leaf.clone(), most, limits });
            }
        }
        None
    }

    /// Blocks for the device with their stored bytes.
    fn collect(&self, pool: &impl Pool, target: &Target) -> Vec<(Cold, Payload)> {
        let budget = target.most;
        let mut bytes = 0;
        let mut chosen: Vec<Cold> = Vec::new();
        let synced = self.synced.load(Relaxed);
        // Of what was used once (`l2arc_mfuonly`).
        let (mru, mru_metadata) = match self.env.tunable(Tunable::L2arcMfuonly) {
            0 => (true, true),
            1 => (false, false),
            _ => (false, true),
        };
        for (is_mfu, is_metadata) in TURNS {
            if !(is_mfu || if is_metadata { mru_metadata } else { mru }) {
                continue;
            }
            let end = ColdEnd {
                pool: self.pool,
                is_mfu,
                is_metadata,
                from_newest: !self.cache.is_warm(),
                depth: (budget * target.limits.headroom) as usize,
            };
            self.cache.cold(end, &mut |cold| {
                // Blocks of a group that is not on disk yet may be written over where they lie.
                if cold.source.birth().max(cold.key.birth) > synced {
                    return true;
                }
                if self.has(&cold.key) {
                    self.cache.set_on_device(&cold.key);
                    return true;
                }
                bytes += cold.source.psize();
                let fits = bytes <= budget;
                if fits {
                    chosen.push(cold);
                }
                fits
            });
        }
        let stored = |cold: Cold| {
            let payload = self.stored(pool, &cold)?;
            Some((cold, payload))
        };
        chosen.into_iter().filter_map(stored).collect()
    }

    /// The bytes that the pool has of a block, `psize` of them and padding to 64 KiB sectors at the
    /// most.
    fn stored(&self, pool: &impl Pool, cold: &Cold) -> Option<Payload> {
        let bp = &cold.source;
        if let Some(payload) = again(&cold.block, bp)
            && pool.is_stored_as(bp, payload.bytes())
        {
            return Some(payload);
        }
        let bytes = pool.read_stored(bp)?;
        add(&self.counts().reread, 1);
        Some(Payload::from_buf(bytes))
    }

    /// Gives every block a place on the device, and every full list of them a log block.
    fn place(&self, target: &Target, mut cold: Vec<(Cold, Payload)>) -> Option<Batch> {
        let mut state = lock(&self.state);
        let index_max = self.index_max(&state.limits);
        let at = state.devices.iter().position(|device| device.number == target.number)?;
        let device = &state.devices[at];
        let ring = device.ring.as_ref()?;
        let room = |cold: &[(Cold, Payload)]| {
            let blocks: u64 = cold.iter().map(|(cold, _)| device.round_up(cold.source.psize())).sum();
            let logs = (cold.len() as u64).checked_div(ring.log_entries).map_or(0, |full| full + 1);
            blocks + logs * LogBlock::SIZE as u64
        };
        while room(&cold) > (ring.end - ring.start) / 4 {
            cold.pop();
        }
        let room = room(&cold);
        self.make_room(&mut state, at, room, index_max.saturating_sub(cold.len()));
        let device = &mut state.devices[at];
        let mut batch = Batch::default();
        for (cold, payload) in cold {
            let asize = device.round_up(cold.source.psize());
            let hand = &mut device.ring.as_mut()?.hand;
            let address = *hand;
            *hand += asize;
            batch.writes.push((address, Transfer::Write(pad(&payload, asize as usize))));
            if device.log(&cold, address)
                && let Some((address, payload)) = device.close_log()
            {
                add(&self.counts().log_count, 1);
                add(&self.counts().log_asize, payload.len() as u64);
                batch.writes.push((address, Transfer::Write(payload)));
                batch.logs += 1;
            }
            batch.blocks.push((cold, address));
        }
        Some(batch)
    }

    /// Gives up what lies where a device is written next, and its oldest blocks while the index has
    /// more than `most`.
    fn make_room(&self, state: &mut State, at: usize, room: u64, most: usize) {
        let State { index, devices, .. } = state;
        let device = &mut devices[at];
        let Some(ring) = &mut device.ring else { return };
        let logs = |ring: &Ring| (ring.logs.len() as u64, ring.log_asize());
        let before = logs(ring);
        let mut ranges = Vec::new();
        ring.make_room(room, &mut |range| ranges.push(range));
        let after = logs(ring);
        sub(&self.counts().log_count, before.0 - after.0);
        sub(&self.counts().log_asize, before.1 - after.1);
        let mut evicted = 0;
        let mut evict = |index: &mut Index, device: &mut Device, gone: &dyn Fn(&Slot) -> bool| {
            let slot = index.pop_oldest(device.number, &mut device.held, gone);
            if let Some(slot) = &slot {
                self.uncount(device, slot);
                evicted += 1;
            }
            slot.is_some()
        };
        for range in ranges {
            while evict(index, device, &|slot| range.contains(&slot.address)) {}
        }
        while index.len() > most && evict(index, device, &|_| true) {}
        add(&self.counts().evicted, evicted);
        add(&self.counts().evictions, u64::from(evicted > 0));
    }

    /// Makes what was written known; after a failure forgets the log blocks, which may list what is
    /// not there.
    fn settle(&self, target: &Target, blocks: Vec<(Cold, u64)>, well: bool) {
        let mut state = lock(&self.state);
        let State { index, devices, .. } = &mut *state;
        let Some(device) = devices.iter_mut().find(|device| device.number == target.number) else { return };
        let Some(ring) = &mut device.ring else { return };
        if !well {
            self.forget_logs(ring);
            return device.drop_log();
        }
        for (cold, address) in &blocks {
            let slot = Slot { name: Name::from(&cold.key), address: *address, prop: prop_of(cold) };
            if let Some(old) = index.push_newest(device.number, &mut device.held, slot) {
                self.uncount(device, &old);
            }
            self.count(device, &slot);
        }
        drop(state);
        for (cold, _) in &blocks {
            self.cache.set_on_device(&cold.key);
        }
    }

    fn put_header(&self, target: &Target) {
        let ring = lock(&self.state).device(target.number).and_then(|device| device.ring.clone());
        let (Some(ring), Some(disk)) = (ring, target.leaf.device()) else { return };
        if write_header(&disk, &ring, self.pool, target.leaf.guid).is_err() {
            add(&self.counts().write_errors, 1);
        }
    }
}

/// A block as stored, made from what it holds.
fn again(block: &Arc<Block>, bp: &BlkPtr) -> Option<Payload> {
    let psize = bp.psize() as usize;
    match bp.compression().ok()? {
        CompressKind::Off if block.len() == psize => Some(Payload::of_block(block, 512)),
        CompressKind::Off => None,
        kind => {
            let mut memory = Vec::new();
            // What cannot be made again is not kept: a hint less.
            let out = codec::compress(kind as u8, 0, block, &mut memory, psize).ok().flatten()?;
            Some(Payload::padded(out, psize))
        }
    }
}

/// Exactly `len` bytes.
fn pad(payload: &Payload, len: usize) -> Payload {
    if payload.len() >= len { payload.cut(len) } else { Payload::padded(payload.bytes(), len) }
}
