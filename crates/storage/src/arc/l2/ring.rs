//! Where a cache device is written next, and what that gives up.
//!
//! ```text
//!   start        hand            evict                 end        hand ≤ evict: what lies between is given up,
//!     │ this round │▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│ the round before     │        and written next
//! ```
//! In the first round nothing lies ahead of the hand, and `evict` stays at the start. The rules for
//! log blocks are the format's: whoever reads the device must come to the same view of what is
//! still there. Source: module/zfs/arc.c (`l2arc_evict`, `l2arc_log_blkptr_valid`,
//! `l2arc_range_check_overlap`).

use std::collections::VecDeque;

use ondisk::l2arc::{DeviceHeader, ENTRIES_MAX, FLAG_FIRST_ROUND, LogBlock, LogPointer, VERSION};
use ondisk::label;

/// See the module. Addresses are bytes on the partition.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ring {
    pub start: u64,
    pub end: u64,
    pub hand: u64,
    pub evict: u64,
    pub first_round: bool,
    pub ashift: u32,
    /// Entries of every log block; 0 where there are none.
    pub log_entries: u64,
    /// The newest log block and the one before it, even when they have been given up.
    pub newest: [LogPointer; 2],
    /// Log blocks that are there, oldest first.
    pub logs: VecDeque<LogPointer>,
}

impl Ring {
    /// An empty one over `asize` allocatable bytes. Devices below `persist_min` keep no log blocks.
    pub fn new(asize: u64, ashift: u32, persist_min: u64) -> Option<Ring> {
        let start = label::START + header_size(ashift) as u64;
        let end = label::START + asize;
        if start + 4 * (LogBlock::SIZE as u64) > end {
            return None;
        }
        // As many as have room even where every block has the largest size.
        let log_entries = if end < persist_min { 0 } else { ((end - start) >> 24).min(ENTRIES_MAX as u64) };
        Some(Ring {
            start,
            end,
            hand: start,
            evict: start,
            first_round: true,
            ashift,
            log_entries,
            newest: [LogPointer::default(); 2],
            logs: VecDeque::new(),
        })
    }

    /// The state in which a header left it; `false` (and no change) where the header is not of this
    /// device as it is now.
    pub fn take_up(&mut self, header: &DeviceHeader) -> bool {
        let inside = |at: u64| self.start <= at && at <= self.end;
        let newest = &header.newest[0];
        let hand = newest.address.saturating_add(newest.prop.psize()).max(self.start);
        let same = header.version == VERSION
            && header.log_entries == self.log_entries
            && self.log_entries > 0
            && header.start == self.start
            && header.end == self.end
            && newest.address != 0
            && inside(header.evict)
            && inside(hand);
        if same {
            self.evict = header.evict;
            self.hand = hand;
            self.first_round = header.flags & FLAG_FIRST_ROUND != 0;
            self.newest = header.newest;
        }
        same
    }

    pub fn header(&self, pool: u64, vdev: u64) -> DeviceHeader {
        DeviceHeader {
            version: VERSION,
            pool,
            vdev,
            log_entries: self.log_entries,
            evict: self.evict,
            flags: if self.first_round { FLAG_FIRST_ROUND } else { 0 },
            start: self.start,
            end: self.end,
            newest: self.newest,
            log_asize: self.log_asize(),
            log_count: self.logs.len() as u64,
            ..DeviceHeader::default()
        }
    }

    /// Bytes of the log blocks that are there.
    pub fn log_asize(&self) -> u64 {
        self.logs.iter().map(|log| log.prop.psize()).sum()
    }

    pub fn round_up(&self, bytes: u64) -> u64 {
        bytes.next_multiple_of(1 << self.ashift)
    }

    /// Makes the next `distance` bytes free to write, at most a quarter of the ring. `given_up` is
    /// told each range of addresses whose old contents are gone, in order.
    pub fn make_room(&mut self, distance: u64, given_up: &mut dyn FnMut(std::ops::Range<u64>)) {
        assert!(distance <= (self.end - self.start) / 4, "a write takes at most a quarter of the ring");
        loop {
            let wraps = self.hand + distance > self.end;
            if !self.first_round {
                let until = if wraps { self.end } else { self.hand + distance };
                self.evict = self.evict.max(until);
                given_up(self.hand..self.evict);
                // Before the hand turns: what lies behind it then would look as if it were of the
                // round before.
                while self.logs.front().is_some_and(|log| !self.is_there(log)) {
                    self.logs.pop_front();
                }
            }
            if !wraps {
                break;
            }
            (self.hand, self.evict, self.first_round) = (self.start, self.start, false);
        }
    }

    /// Whether neither a log block nor any block it lists has been given up.
    pub fn is_there(&self, log: &LogPointer) -> bool {
        let asize = log.prop.psize();
        let Some(end) = log.address.checked_add(asize - 1) else { return false };
        let start = log.payload_start;
        if start < self.start || end > self.end || asize > LogBlock::SIZE as u64 {
            return false;
        }
        if self.first_round {
            return end < self.hand;
        }
        let given_up = is_between(start, end, self.hand)
            || is_between(start, end, self.evict)
            || is_between(self.hand, self.evict, start)
            || is_between(self.hand, self.evict, end);
        !given_up
    }

    /// Whether the log block before `this` can only be from the round before, and written over
    /// since.
    pub fn ends_at(&self, this: &LogPointer, before: &LogPointer) -> bool {
        !self.first_round && is_between(before.payload_start, this.payload_start, self.evict)
    }

    /// A log block has been placed at the hand.
    pub fn add_log(&mut self, log: LogPointer) {
        self.newest = [log, self.newest[0]];
        self.hand += log.prop.psize();
        self.logs.push_back(log);
    }

    /// The chain is broken: what is on the device will not be found again after a restart.
    pub fn forget_logs(&mut self) {
        self.newest = [LogPointer::default(); 2];
        self.logs.clear();
    }
}

/// Bytes of the header on a device with such sectors.
pub(super) fn header_size(ashift: u32) -> usize {
    DeviceHeader::SIZE.max(1 << ashift)
}

/// Whether `at` lies on the way from `from` to `to`, which may lead over the end of the ring.
fn is_between(from: u64, to: u64, at: u64) -> bool {
    match from.cmp(&to) {
        std::cmp::Ordering::Less => from <= at && at <= to,
        std::cmp::Ordering::Greater => at <= to || from <= at,
        std::cmp::Ordering::Equal => at == to,
    }
}

#[cfg(test)]
mod tests;
