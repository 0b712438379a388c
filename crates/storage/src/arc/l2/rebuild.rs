//! Finding a device's contents again: its log blocks are read from the newest back, one at a step,
//! behind the pool's back. Whatever does not check ends it; what was found until then is good.

use env::{IoClass, lock};
use ondisk::blkptr::{MAX_BLOCK, SECTOR};
use ondisk::l2arc::{LogBlock, LogEntry, LogPointer};

use super::device::{open_log, persist_min, transfer, write_header};
use super::index::{Name, Slot};
use super::ring::Ring;
use super::{Level2, State};
use crate::arc::stats::add;
use crate::leaf_queue::Transfer;

/// How a step ended.
enum Found {
    More,
    /// There are no older log blocks.
    End,
    /// A log block did not check, or the index is full.
    Stop,
}

impl Level2 {
    /// Does a step for some device; `false` when none needs one.
    pub fn rebuild_step(&self) -> bool {
        let next = {
            let state = lock(&self.state);
            let device =
                state.devices.iter().find(|device| device.rebuild.is_some() && device.ring.is_some());
            device.and_then(|device| Some((device.number, device.leaf.clone(), device.rebuild?.next[0])))
        };
        let Some((number, leaf, pointer)) = next else { return false };
        let is_there = self.with_ring(number, |ring| ring.is_there(&pointer)).unwrap_or(false);
        let found = if is_there {
            let io = (pointer.address, Transfer::Read(pointer.prop.psize() as usize));
            let answer = transfer(&self.env, &leaf, vec![io], IoClass::AsyncRead).remove(0);
            let entries = self.with_ring(number, |ring| ring.log_entries).unwrap_or(0);
            match answer.ok().flatten().and_then(|bytes| open_log(&pointer, &bytes, entries)) {
                Some(block) => self.restore(number, &pointer, &block),
                None => Found::Stop,
            }
        } else {
            Found::End
        };
        match found {
            Found::More => {}
            Found::End => self.finish(number, true),
            Found::Stop => self.finish(number, false),
        }
        true
    }

    fn with_ring<R>(&self, number: u32, f: impl FnOnce(&Ring) -> R) -> Option<R> {
        lock(&self.state).device(number)?.ring.as_ref().map(f)
    }

    /// Puts the blocks that a log block lists before all that are known, and goes on to the next.
    fn restore(&self, number: u32, pointer: &LogPointer, block: &LogBlock) -> Found {
        let mut state = lock(&self.state);
        let most = self.index_max(&state.limits);
        let State { index, devices, .. } = &mut *state;
        let Some(device) = devices.iter_mut().find(|device| device.number == number) else {
            return Found::End;
        };
        let (Some(ring), Some(rebuild)) = (&mut device.ring, &mut device.rebuild) else { return Found::End };
        let after = rebuild.next[1];
        rebuild.next = [after, block.previous];
        let is_last = ring.ends_at(pointer, &after);
        ring.logs.push_front(*pointer);
        let ring = ring.clone();
        let counts = self.counts();
        add(&counts.rebuild_logs, 1);
        add(&counts.log_count, 1);
        add(&counts.log_asize, pointer.prop.psize());
        for slot in block.entries.iter().rev().filter_map(|entry| slot_of(entry, &ring)) {
            if index.len() >= most {
                return Found::Stop;
            }
            if index.push_oldest(number, &mut device.held, slot) {
                self.count(device, &slot);
                add(&counts.rebuild_blocks, 1);
            }
        }
        if is_last { Found::End } else { Found::More }
    }

    /// The device can be written from now on. Where nothing was found it begins anew.
    fn finish(&self, number: u32, well: bool) {
        let header = {
            let mut state = lock(&self.state);
            let persist_min = persist_min(&self.env);
            let Some(device) = state.device(number) else { return };
            let Some(ring) = &mut device.ring else { return };
            tracing::info!(
                path = device.leaf.path,
                logs = ring.logs.len(),
                well,
                "cache device looked through"
            );
            if ring.logs.is_empty()
                && let Some(fresh) = Ring::new(device.leaf.asize(), ring.ashift, persist_min)
            {
                *ring = fresh;
            }
            device.leaf.device().map(|disk| (disk, ring.clone(), device.config.guid))
        };
        let counts = self.counts();
        if let Some((disk, ring, guid)) = header
            && write_header(&disk, &ring, self.pool, guid).is_err()
        {
            add(&counts.write_errors, 1);
        }
        // Last of all: from here on others may write the device, or look what was found.
        add(if well { &counts.rebuild_ok } else { &counts.rebuild_failed }, 1);
        if let Some(device) = lock(&self.state).device(number) {
            device.rebuild = None;
        }
    }
}

/// A listed block, if the device can hold it.
fn slot_of(entry: &LogEntry, ring: &Ring) -> Option<Slot> {
    let (psize, lsize) = (entry.prop.psize(), entry.prop.lsize());
    let end = entry.address.checked_add(ring.round_up(psize))?;
    let sane = entry.dva.is_valid()
        && entry.birth != 0
        && psize.max(lsize) <= MAX_BLOCK
        && entry.address.is_multiple_of(SECTOR)
        && entry.address >= ring.start
        && end <= ring.end;
    sane.then_some(Slot {
        name: Name { vdev: entry.dva.vdev, offset: entry.dva.offset, birth: entry.birth },
        address: entry.address,
        prop: entry.prop,
    })
}
