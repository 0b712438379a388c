//! A set of bytes as sorted, disjoint segments, neighbours merged.
//!
//! Adding what is there and removing what is not are programmer errors: they panic, because the
//! alternative is a block with two owners. The `_overlap` forms are for the one place where overlap
//! is expected: loading.

use std::collections::{BTreeMap, BTreeSet};

/// A run of bytes, in a vdev's DVA offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Segment {
    pub start: u64,
    pub len: u64,
}

impl Segment {
    pub fn end(&self) -> u64 {
        self.start + self.len
    }
}

/// Segments by offset: start → end.
#[derive(Clone, Debug, Default)]
pub struct RangeTree {
    ends: BTreeMap<u64, u64>,
    space: u64,
}

impl RangeTree {
    pub fn new() -> RangeTree {
        RangeTree::default()
    }

    pub fn whole(start: u64, len: u64) -> RangeTree {
        let mut tree = RangeTree::new();
        if len > 0 {
            tree.add(start, len);
        }
        tree
    }

    /// Bytes in the set.
    pub fn space(&self) -> u64 {
        self.space
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Number of segments.
    pub fn segments(&self) -> usize {
        self.ends.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = Segment> + '_ {
        self.ends.iter().map(|(&start, &end)| Segment { start, len: end - start })
    }

    /// Segments from the first that ends behind `offset`.
    pub fn iter_from(&self, offset: u64) -> impl Iterator<Item = Segment> + '_ {
        let first = self.covering(offset).map_or(offset, |segment| segment.start);
        self.ends.range(first..).map(|(&start, &end)| Segment { start, len: end - start })
    }

    /// The segment that holds the byte at `offset`.
    pub fn covering(&self, offset: u64) -> Option<Segment> {
        let (&start, &end) = self.ends.range(..=offset).next_back()?;
        (offset < end).then_some(Segment { start, len: end - start })
    }

    /// Bytes of a segment that are in the set.
    pub fn space_in(&self, segment: Segment) -> u64 {
        let near = self.iter_from(segment.start).take_while(|range| range.start < segment.end());
        near.map(|range| range.end().min(segment.end()) - range.start.max(segment.start)).sum()
    }

    pub fn contains(&self, start: u64, len: u64) -> bool {
        self.covering(start).is_some_and(|segment| start + len <= segment.end())
    }

    pub fn overlaps(&self, start: u64, len: u64) -> bool {
        self.ends.range(..start + len).next_back().is_some_and(|(_, &end)| end > start)
    }

    /// # Panics
    /// When any of it is in the set.
    pub fn add(&mut self, start: u64, len: u64) -> Merged {
        assert!(len > 0 && !self.overlaps(start, len), "adding {start:#x}+{len:#x}, which is there");
        let mut merged = Merged { before: None, after: None, now: Segment { start, len } };
        if let Some((&left, &end)) = self.ends.range(..start).next_back()
            && end == start
        {
            merged.before = Some(Segment { start: left, len: end - left });
            merged.now = Segment { start: left, len: merged.now.end() - left };
            self.ends.remove(&left);
        }
        if let Some(end) = self.ends.remove(&(start + len)) {
            merged.after = Some(Segment { start: start + len, len: end - start - len });
            merged.now.len = end - merged.now.start;
        }
        self.ends.insert(merged.now.start, merged.now.end());
        self.space += len;
        merged
    }

    /// # Panics
    /// When any of it is not in the set.
    pub fn remove(&mut self, start: u64, len: u64) -> Split {
        let Some(was) = self.covering(start).filter(|was| len > 0 && start + len <= was.end()) else {
            panic!("removing {start:#x}+{len:#x}, which is not there");
        };
        self.ends.remove(&was.start);
        let before = Segment { start: was.start, len: start - was.start };
        let after = Segment { start: start + len, len: was.end() - start - len };
        for rest in [before, after].into_iter().filter(|rest| rest.len > 0) {
            self.ends.insert(rest.start, rest.end());
        }
        self.space -= len;
        Split { was, before, after }
    }

    /// Adds what is not there yet.
    pub fn add_overlap(&mut self, start: u64, len: u64) {
        self.remove_overlap(start, len);
        self.add(start, len);
    }

    /// Removes what is there of it.
    pub fn remove_overlap(&mut self, start: u64, len: u64) {
        let end = start + len;
        while let Some((&left, &right)) = self.ends.range(..end).next_back() {
            if right <= start {
                break;
            }
            let from = left.max(start);
            self.remove(from, right.min(end) - from);
        }
    }

    pub fn clear(&mut self) {
        self.ends.clear();
        self.space = 0;
    }
}

/// What an `add` did: the neighbours it swallowed and the segment there is now.
pub struct Merged {
    pub before: Option<Segment>,
    pub after: Option<Segment>,
    pub now: Segment,
}

/// What a `remove` did: the segment there was, and what is left on both sides (perhaps empty).
pub struct Split {
    pub was: Segment,
    pub before: Segment,
    pub after: Segment,
}

/// Number of segments by the power of two of their length.
pub type Histogram = [u64; 64];

/// Free space that can be searched by size too.
#[derive(Clone, Debug)]
pub struct FreeTree {
    ranges: RangeTree,
    by_size: BTreeSet<(u64, u64)>,
    histogram: Histogram,
}

impl FreeTree {
    pub fn new(ranges: RangeTree) -> FreeTree {
        let mut tree = FreeTree { ranges: RangeTree::new(), by_size: BTreeSet::new(), histogram: [0; 64] };
        for segment in ranges.iter() {
            tree.enter(segment);
        }
        tree.ranges = ranges;
        tree
    }

    fn enter(&mut self, segment: Segment) {
        self.by_size.insert((segment.len, segment.start));
        self.histogram[segment.len.ilog2() as usize] += 1;
    }

    fn leave(&mut self, segment: Segment) {
        self.by_size.remove(&(segment.len, segment.start));
        self.histogram[segment.len.ilog2() as usize] -= 1;
    }

    pub fn ranges(&self) -> &RangeTree {
        &self.ranges
    }

    /// Bytes of the longest segment.
    pub fn longest(&self) -> u64 {
        self.by_size.last().map_or(0, |&(len, _)| len)
    }

    pub fn add(&mut self, start: u64, len: u64) {
        let merged = self.ranges.add(start, len);
        for old in merged.before.into_iter().chain(merged.after) {
            self.leave(old);
        }
        self.enter(merged.now);
    }

    pub fn remove(&mut self, start: u64, len: u64) {
        let split = self.ranges.remove(start, len);
        self.leave(split.was);
        for rest in [split.before, split.after].into_iter().filter(|rest| rest.len > 0) {
            self.enter(rest);
        }
    }

    /// The first segment at or behind `cursor` with room for `len`, looking at no more than `limit`
    /// segments.
    pub fn first_fit(&self, cursor: u64, len: u64, limit: usize) -> Option<u64> {
        self.ranges.iter_from(cursor).take(limit).find_map(|segment| {
            let start = segment.start.max(cursor);
            (segment.end().saturating_sub(start) >= len).then_some(start)
        })
    }

    /// The smallest segment with room for `len`.
    pub fn best_fit(&self, len: u64) -> Option<u64> {
        self.by_size.range((len, 0)..).next().map(|&(_, start)| start)
    }

    pub fn histogram(&self) -> &Histogram {
        &self.histogram
    }
}

#[cfg(test)]
mod tests;
