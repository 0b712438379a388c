//! Space that is set apart for the next log blocks of a vdev.
//!
//! Where a disk is a sparse file, its file system finds room for what is written for the first
//! time, and the flush behind that write waits until this is noted too: a commit took half as long
//! again. So space for log blocks is *stocked*: lent by its metaslab, written ahead by a worker,
//! and only then given to logs. Nothing of it is on disk, and it counts as free; whoever finds no
//! room elsewhere gets it back ([`super::Class::empty_stock`]).
//!
//! Log blocks live for seconds. So a few metaslabs are their *home*: the lowest free place there is
//! stocked first, which is what earlier log blocks gave back, and other blocks go there only where
//! there is no room anywhere else.
//!
//! Sources: module/zfs/vdev.c (`vdev_metaslab_init`: the embedded log class, one metaslab of a vdev
//! that has more than 64).

use std::collections::VecDeque;

use stdx::mark::mark;

use super::Segment;

/// Bytes in stock, where the vdev is large.
const TARGET: u64 = 64 << 20;
/// Part of the free space that is stocked at the most.
const SHARE: u64 = 16;
/// Bytes that are lent at once, at the least and at the most.
pub(super) const STEP: (u64, u64) = (1 << 20, 8 << 20);

/// What is ready for log blocks of one vdev.
#[derive(Default)]
pub(super) struct Stock {
    segments: VecDeque<Segment>,
    bytes: u64,
    /// A worker is to add to it.
    filling: bool,
    /// It could not; not before the next group.
    in_vain: bool,
}

impl Stock {
    /// How much more may be stocked.
    fn lack(&self, free: u64) -> u64 {
        TARGET.min(free / SHARE).saturating_sub(self.bytes)
    }

    /// Whether a worker should begin to add to it.
    pub fn begin(&mut self, free: u64) -> bool {
        let lack = self.lack(free);
        let begins = !self.filling && !self.in_vain && lack >= STEP.0 && lack > self.bytes / 2;
        self.filling |= begins;
        begins
    }

    /// How much to add now.
    pub fn wants(&self, free: u64) -> Option<u64> {
        let lack = self.lack(free).min(STEP.1);
        (self.filling && lack >= STEP.0).then_some(lack)
    }

    pub fn add(&mut self, segment: Segment, free: u64) {
        self.bytes += segment.len;
        self.segments.push_back(segment);
        self.filling = self.lack(free) >= STEP.0;
    }

    /// There is nothing to be added.
    pub fn give_up(&mut self) {
        (self.filling, self.in_vain) = (false, true);
    }

    /// Space came back.
    pub fn hope(&mut self) {
        self.in_vain = false;
    }

    /// The first `len` bytes; what lies before them and is too short goes to `waste`.
    pub fn take(&mut self, len: u64, waste: &mut Vec<Segment>) -> Option<u64> {
        while let Some(front) = self.segments.front_mut() {
            if front.len >= len {
                let start = front.start;
                *front = Segment { start: start + len, len: front.len - len };
                self.bytes -= len;
                mark("log block from stock");
                return Some(start);
            }
            self.bytes -= front.len;
            waste.extend(self.segments.pop_front().filter(|front| front.len > 0));
        }
        None
    }

    /// Everything.
    pub fn drain(&mut self) -> Vec<Segment> {
        self.bytes = 0;
        self.segments.drain(..).filter(|segment| segment.len > 0).collect()
    }
}
