//! What an object's reader gets, as the engine's callers get it: the same bytes, not copied.

use std::sync::{Arc, OnceLock};

use dmu::Chunk;
use engine_api::Slice;

/// Zeros handed out for holes, shared by all.
const ZEROS: usize = 128 << 10;

pub fn slices(chunks: Vec<Chunk>) -> Vec<Slice> {
    static ZERO: OnceLock<Arc<Vec<u8>>> = OnceLock::new();
    let mut parts = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        match chunk {
            Chunk::Data(block, range) => parts.push(Slice::new(block, range.start, range.len())),
            Chunk::Zero(mut len) => {
                let zero = ZERO.get_or_init(|| Arc::new(vec![0; ZEROS]));
                while len > 0 {
                    let part = len.min(ZEROS);
                    parts.push(Slice::new(zero.clone(), 0, part));
                    len -= part;
                }
            }
        }
    }
    parts
}
