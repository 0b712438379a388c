//! Reads from cache devices, under way while the pool is read for the rest.

use std::sync::Arc;

use env::{AlignedBuf, DiskError, IoClass, lock};
use ondisk::BlkPtr;

use super::device::{BAD_TO_LOSE, requests};
use super::index::Name;
use super::{Level2, State};
use crate::arc::Key;
use crate::arc::stats::add;
use crate::leaf_queue::{Completion, LeafQueue, Transfer};
use crate::vdev::leaf::Leaf;
use std::sync::atomic::Ordering::Relaxed;

/// See the module.
#[derive(Default)]
pub(crate) struct L2Flight {
    wanted: Vec<Wanted>,
    queues: Vec<Arc<LeafQueue>>,
    completion: Option<Arc<Completion>>,
    class: Option<IoClass>,
}

/// A block that a device has.
struct Wanted {
    /// Its number among those asked for.
    asked: usize,
    name: Name,
    device: u32,
    leaf: Arc<Leaf>,
    address: u64,
    /// Bytes to read: whole sectors.
    len: usize,
}

impl L2Flight {
    /// Numbers of the blocks that are being read, in rising order.
    pub fn asked(&self) -> impl Iterator<Item = usize> {
        self.wanted.iter().map(|wanted| wanted.asked)
    }
}

impl Level2 {
    /// Starts to read what the devices have of these blocks.
    pub fn take_off(&self, bps: &[&BlkPtr], class: IoClass) -> L2Flight {
        if !self.is_active() {
            return L2Flight::default();
        }
        let wanted = self.look_up(bps);
        add(&self.counts().misses, (bps.len() - wanted.len()) as u64);
        let completion = Completion::new(wanted.len());
        let mut queues: Vec<Arc<LeafQueue>> = Vec::new();
        for (slot, wanted) in wanted.iter().enumerate() {
            let io = vec![(wanted.address, Transfer::Read(wanted.len))];
            let Some(queue) = wanted.leaf.queue().filter(|_| wanted.leaf.is_usable()) else {
                completion.finish(slot, Err(DiskError::Gone));
                continue;
            };
            queue.push(requests(&wanted.leaf, io, class, &completion, slot));
            if !queues.iter().any(|other| Arc::ptr_eq(other, queue)) {
                queues.push(queue.clone());
            }
        }
        // The caller carries them itself unless the pool keeps it busy meanwhile.
        if wanted.len() < bps.len() || queues.len() > 1 {
            queues.iter().for_each(|queue| queue.wake());
        }
        L2Flight { wanted, queues, completion: Some(completion), class: Some(class) }
    }

    fn look_up(&self, bps: &[&BlkPtr]) -> Vec<Wanted> {
        let mut state = lock(&self.state);
        let State { index, devices, .. } = &mut *state;
        let find = |(asked, bp): (usize, &&BlkPtr)| {
            let name = Name::from(&Key::of(self.pool, bp)?);
            let number = index.device(&name)?;
            let device = devices.iter().find(|device| device.number == number && device.ring.is_some())?;
            let slot = index.slot(&name, &device.held)?;
            // Sizes differ where the name is of another block: one that was rolled back.
            (slot.prop.psize() == bp.psize()).then(|| Wanted {
                asked,
                name,
                device: number,
                leaf: device.leaf.clone(),
                address: slot.address,
                len: device.round_up(bp.psize()) as usize,
            })
        };
        bps.iter().enumerate().filter_map(find).collect()
    }

    /// Waits; gives those that `verify` likes, by their number among those asked for.
    pub fn land(
        &self,
        flight: L2Flight,
        verify: &(dyn Fn(usize, &[u8]) -> bool + Sync),
    ) -> Vec<(usize, AlignedBuf)> {
        let (Some(completion), Some(class)) = (flight.completion, flight.class) else { return Vec::new() };
        let guid = |slot: usize| flight.wanted.get(slot).map(|wanted| wanted.leaf.guid);
        let answers = completion.wait_for_leaves(&self.env, &flight.queues, class, guid);
        let mut good = Vec::new();
        for (wanted, answer) in flight.wanted.iter().zip(answers) {
            match answer {
                Ok(Some(bytes)) if verify(wanted.asked, &bytes) => {
                    add(&self.counts().hits, 1);
                    add(&self.counts().read_bytes, bytes.len() as u64);
                    self.note_good(wanted.device);
                    good.push((wanted.asked, bytes));
                }
                Ok(_) => self.note_bad(wanted),
                Err(_) => self.note_failed(wanted),
            }
        }
        good
    }

    fn note_good(&self, number: u32) {
        if let Some(device) = lock(&self.state).device(number) {
            device.bad_in_a_row = 0;
        }
    }

    fn note_bad(&self, wanted: &Wanted) {
        add(&self.counts().misses, 1);
        if !self.forget(&wanted.name, wanted.device, wanted.address) {
            return add(&self.counts().evicted_while_reading, 1);
        }
        add(&self.counts().checksum_errors, 1);
        wanted.leaf.counters.checksum_errors.fetch_add(1, Relaxed);
        let bad = lock(&self.state).device(wanted.device).map_or(0, |device| {
            device.bad_in_a_row += 1;
            device.bad_in_a_row
        });
        if bad >= BAD_TO_LOSE {
            self.lose(wanted.device);
        }
    }

    fn note_failed(&self, wanted: &Wanted) {
        add(&self.counts().misses, 1);
        add(&self.counts().read_errors, 1);
        self.forget(&wanted.name, wanted.device, wanted.address);
        if wanted.leaf.counters.is_failing() {
            self.lose(wanted.device);
        }
    }
}
