//! Freed buffers of the usual block sizes, kept for the next of that size: powers of two from 64 KiB to 1 MiB.
//!
//! At most so many bytes as [`keep_spare`] said last, whatever the pools: it belongs to the process, as the allocator
//! does. What is kept has been a whole buffer before, so its bytes are initialised.

use std::ptr::NonNull;
use std::sync::Mutex;

use crate::lock;

/// Bytes kept at most before anybody has said.
const KEPT: usize = 16 << 20;
const SMALLEST: usize = 64 << 10;
const CLASSES: usize = 5;

/// Memory nobody else points to.
struct Spare(NonNull<u8>);

// SAFETY: a Spare owns its memory alone.
unsafe impl Send for Spare {}

struct Shelf {
    limit: usize,
    bytes: usize,
    /// By log2 of the size, from [`SMALLEST`] up.
    spares: [Vec<Spare>; CLASSES],
}

static SHELF: Mutex<Shelf> =
    Mutex::new(Shelf { limit: KEPT, bytes: 0, spares: [const { Vec::new() }; CLASSES] });

fn class(len: usize) -> Option<usize> {
    let class = len.checked_div(SMALLEST)?;
    (len.is_power_of_two() && class > 0).then(|| class.ilog2() as usize).filter(|class| *class < CLASSES)
}

/// `len` initialised bytes, if some of that size were kept. They are the caller's.
pub fn take(len: usize) -> Option<NonNull<u8>> {
    let class = class(len)?;
    let mut shelf = lock(&SHELF);
    let spare = shelf.spares[class].pop()?;
    shelf.bytes -= len;
    Some(spare.0)
}

/// Takes over `len` initialised bytes, unless it says no.
pub fn keep(ptr: NonNull<u8>, len: usize) -> bool {
    let Some(class) = class(len) else { return false };
    let mut shelf = lock(&SHELF);
    if shelf.bytes + len > shelf.limit {
        return false;
    }
    shelf.bytes += len;
    shelf.spares[class].push(Spare(ptr));
    true
}

/// From now on keeps up to `limit` bytes; what is more goes back to the allocator at once.
pub fn keep_spare(limit: usize) {
    let mut gone = Vec::new();
    let mut shelf = lock(&SHELF);
    shelf.limit = limit;
    for class in (0..CLASSES).rev() {
        while shelf.bytes > limit
            && let Some(spare) = shelf.spares[class].pop()
        {
            shelf.bytes -= SMALLEST << class;
            gone.push((spare, SMALLEST << class));
        }
    }
    drop(shelf);
    for (spare, len) in gone {
        super::release(spare.0, len);
    }
}
