//! What requests come to, all together and by time.

/// Buckets of latencies: two for each doubling, from a microsecond to about a minute.
pub const BUCKETS: usize = 52;

/// What requests come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub operations: u64,
    pub bytes: u64,
    /// Nanoseconds, all together.
    pub time: u64,
}

impl Sum {
    pub fn add(&mut self, more: &Sum) {
        self.operations += more.operations;
        self.bytes += more.bytes;
        // A request that lasted for centuries is none.
        self.time = self.time.saturating_add(more.time);
    }

    /// What this has and the other has not.
    #[must_use]
    pub fn less(&self, other: &Sum) -> Sum {
        Sum {
            operations: self.operations - other.operations,
            bytes: self.bytes - other.bytes,
            time: self.time.saturating_sub(other.time),
        }
    }

    /// The same, of which the other may have more than this.
    #[must_use]
    pub fn beyond(&self, other: &Sum) -> Sum {
        Sum {
            operations: self.operations.saturating_sub(other.operations),
            bytes: self.bytes.saturating_sub(other.bytes),
            time: self.time.saturating_sub(other.time),
        }
    }
}

/// What was seen in a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Since 1970, and how long it is.
    pub second: u64,
    pub seconds: u64,
    pub total: Sum,
    /// By the number of a key; those that have no place any more are of `other`.
    pub cells: Vec<(u64, Sum)>,
    /// Requests by bucket of latency.
    pub latencies: Vec<(u8, u32)>,
}

impl Row {
    pub fn bytes(&self) -> usize {
        size_of::<Row>()
            + self.cells.capacity() * size_of::<(u64, Sum)>()
            + self.latencies.capacity() * size_of::<(u8, u32)>()
    }

    pub fn add(&mut self, key: u64, sum: &Sum) {
        match self.cells.iter_mut().find(|(known, _)| *known == key) {
            Some((_, cell)) => cell.add(sum),
            None => self.cells.push((key, *sum)),
        }
    }

    pub fn add_latencies(&mut self, bucket: u8, count: u32) {
        match self.latencies.iter_mut().find(|(known, _)| *known == bucket) {
            Some((_, known)) => *known = known.saturating_add(count),
            None => self.latencies.push((bucket, count)),
        }
    }

    /// Takes in a row of the same time, but for keys that have no place any more.
    pub fn absorb(&mut self, row: &Row, has_place: impl Fn(u64) -> bool) {
        self.total.add(&row.total);
        row.cells.iter().filter(|(key, _)| has_place(*key)).for_each(|(key, sum)| self.add(*key, sum));
        row.latencies.iter().for_each(|(bucket, count)| self.add_latencies(*bucket, *count));
    }
}

/// The bucket of a latency, and where a bucket begins: in nanoseconds.
pub fn bucket(nanos: u64) -> u8 {
    let micros = (nanos / 1_000).max(1);
    let doubling = micros.ilog2();
    // Whether it is above the middle of the two powers.
    let half = u32::from(micros >= (1 << doubling) + (1 << doubling) / 2 && doubling > 0);
    ((2 * doubling + half) as usize).min(BUCKETS - 1) as u8
}

pub fn begin_of(bucket: usize) -> u64 {
    let micros = 1_u64 << (bucket / 2);
    1_000 * if bucket.is_multiple_of(2) { micros } else { micros + micros / 2 }
}
