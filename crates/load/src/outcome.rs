//! What a load achieved.

use std::time::Duration;

#[derive(Debug, Default)]
pub struct Outcome {
    pub operations: u64,
    pub bytes: u64,
    pub took: Duration,
    /// How long each operation took, sorted.
    latencies: Vec<Duration>,
}

impl Outcome {
    /// `latencies` in any order.
    pub fn new(bytes: u64, took: Duration, mut latencies: Vec<Duration>) -> Outcome {
        latencies.sort_unstable();
        Outcome { operations: latencies.len() as u64, bytes, took, latencies }
    }

    /// Operations a second.
    pub fn rate(&self) -> f64 {
        self.operations as f64 / self.took.as_secs_f64().max(1e-9)
    }

    /// Bytes a second.
    pub fn throughput(&self) -> f64 {
        self.bytes as f64 / self.took.as_secs_f64().max(1e-9)
    }

    /// The latency that so many thousandths of all operations do not exceed.
    pub fn latency(&self, per_mille: usize) -> Duration {
        let last = self.latencies.len().saturating_sub(1);
        self.latencies.get((last * per_mille).div_ceil(1000)).copied().unwrap_or_default()
    }
}
