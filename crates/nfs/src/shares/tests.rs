use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use engine_api::{Served, ServedVolume};

use super::*;

/// Counts how often it was asked, and answers the first time once all callers wait.
#[derive(Default)]
struct Counting {
    generation: AtomicU64,
    looked: AtomicU64,
    callers: u64,
    asked: AtomicU64,
}

impl Serving for Counting {
    fn served(&self) -> Vec<Served> {
        self.asked.fetch_add(1, SeqCst);
        while self.looked.load(SeqCst) < self.callers {
            std::thread::yield_now();
        }
        Vec::new()
    }

    fn served_volumes(&self, _: &str) -> Vec<ServedVolume> {
        Vec::new()
    }

    fn served_generation(&self) -> u64 {
        self.looked.fetch_add(1, SeqCst);
        self.generation.load(SeqCst)
    }
}

#[test]
fn requests_that_come_together_have_one_table_built() {
    let engine = Arc::new(Counting { callers: 8, ..Counting::default() });
    let shares = Shares::new(engine.clone(), false);
    for generation in 1..=3 {
        engine.generation.store(generation, SeqCst);
        engine.looked.store(0, SeqCst);
        std::thread::scope(|scope| {
            for _ in 0..engine.callers {
                scope.spawn(|| assert_eq!(shares.table().generation, Some(generation)));
            }
        });
        assert_eq!(engine.asked.load(SeqCst), generation);
    }
    assert_eq!(shares.table().generation, Some(3), "nothing is new");
    assert_eq!(engine.asked.load(SeqCst), 3);
}
