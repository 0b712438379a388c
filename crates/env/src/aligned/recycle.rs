//! Memory for the usual block sizes, powers of two from 64 KiB to 1 MiB, taken from the system in
//! regions and kept.
//!
//! ```text
//!   region ──▶ cold slots ──take──▶ a buffer ──keep──▶ warm slots ──take──▶ …
//!   (mmap)     no memory behind ◀──── MADV_DONTNEED: beyond the limit ────┘
//!                                      or not needed for a while
//! ```
//! A general allocator rounds such sizes up, and gives their memory back late or not at all; here a
//! buffer takes exactly its size, and warm slots no more bytes than [`keep_spare`] said last. What
//! was not needed from one [`give_back`] to the next goes back to the system, so an idle process
//! keeps none. Addresses are never given back, so there are as many slots of a size as there were
//! ever buffers of it at once. It belongs to the process, whatever the pools.

use std::ptr::NonNull;
use std::sync::Mutex;

use crate::lock;

/// Bytes kept warm at most before anybody has said.
const KEPT: usize = 16 << 20;
const SMALLEST: usize = 64 << 10;
const CLASSES: usize = 5;
/// Of one size.
const REGION: usize = 4 << 20;

/// Memory nobody else points to, as long as its class says.
struct Slot(NonNull<u8>);

// SAFETY: a Slot owns its memory alone.
unsafe impl Send for Slot {}

struct Shelf {
    limit: usize,
    /// In warm slots.
    bytes: usize,
    /// By log2 of the size, from [`SMALLEST`] up.
    warm: [Vec<Slot>; CLASSES],
    /// The fewest warm slots since memory was given back last.
    fewest: [usize; CLASSES],
    /// All zeros, no memory behind them yet.
    cold: [Vec<Slot>; CLASSES],
}

impl Shelf {
    fn pop(&mut self, class: usize) -> Option<Slot> {
        let slot = self.warm[class].pop()?;
        self.bytes -= SMALLEST << class;
        self.fewest[class] = self.fewest[class].min(self.warm[class].len());
        Some(slot)
    }
}

static SHELF: Mutex<Shelf> = Mutex::new(Shelf {
    limit: KEPT,
    bytes: 0,
    warm: [const { Vec::new() }; CLASSES],
    fewest: [0; CLASSES],
    cold: [const { Vec::new() }; CLASSES],
});

/// Memory that has become the caller's, initialised.
pub struct Taken {
    pub ptr: NonNull<u8>,
    pub zeroed: bool,
}

fn class(len: usize) -> Option<usize> {
    let class = len / SMALLEST;
    (len.is_power_of_two() && class > 0).then(|| class.ilog2() as usize).filter(|class| *class < CLASSES)
}

/// Whether buffers of this length come from here.
pub fn serves(len: usize) -> bool {
    class(len).is_some()
}

/// Puts memory behind all of a slot at once, for whoever is about to write all of it: a fault for
/// each page costs more. Where the kernel does not know how (before 5.14), these come.
pub fn back(ptr: NonNull<u8>, len: usize) {
    // SAFETY: the slot is the caller's; what is in it stays.
    unsafe { libc::madvise(ptr.as_ptr().cast(), len, libc::MADV_POPULATE_WRITE) };
}

/// `len` bytes, which this module serves. `None` if the system has no memory.
pub fn take(len: usize) -> Option<Taken> {
    let class = class(len)?;
    let mut shelf = lock(&SHELF);
    if let Some(slot) = shelf.pop(class) {
        return Some(Taken { ptr: slot.0, zeroed: false });
    }
    if shelf.cold[class].is_empty() {
        let region = map()?;
        // SAFETY: every offset lies inside the region.
        let slots = (0..REGION / len).map(|n| Slot(unsafe { region.add(n * len) }));
        shelf.cold[class].extend(slots);
    }
    shelf.cold[class].pop().map(|slot| Taken { ptr: slot.0, zeroed: true })
}

/// Takes back what [`take`] gave for this `len`.
pub fn keep(ptr: NonNull<u8>, len: usize) {
    let class = class(len).expect("the length it was taken with");
    let mut shelf = lock(&SHELF);
    if shelf.bytes + len <= shelf.limit {
        shelf.bytes += len;
        shelf.warm[class].push(Slot(ptr));
        return;
    }
    drop(shelf);
    cool(class, Slot(ptr));
}

/// From now on keeps up to `limit` bytes warm.
pub fn keep_spare(limit: usize) {
    let mut gone = Vec::new();
    let mut shelf = lock(&SHELF);
    shelf.limit = limit;
    for class in (0..CLASSES).rev() {
        while shelf.bytes > limit
            && let Some(slot) = shelf.pop(class)
        {
            gone.push((class, slot));
        }
    }
    drop(shelf);
    gone.into_iter().for_each(|(class, slot)| cool(class, slot));
}

/// Gives back to the system what nobody has needed since the last call; to be called every few
/// seconds.
pub fn give_back() {
    let mut gone = Vec::new();
    let mut shelf = lock(&SHELF);
    for class in 0..CLASSES {
        for _ in 0..shelf.fewest[class] {
            gone.extend(shelf.pop(class).map(|slot| (class, slot)));
        }
        shelf.fewest[class] = shelf.warm[class].len();
    }
    drop(shelf);
    gone.into_iter().for_each(|(class, slot)| cool(class, slot));
}

/// Gives the memory behind a slot back to the system.
fn cool(class: usize, slot: Slot) {
    // SAFETY: the slot's pages are private anonymous memory that nobody uses; they read as zeros
    // afterwards.
    let result = unsafe { libc::madvise(slot.0.as_ptr().cast(), SMALLEST << class, libc::MADV_DONTNEED) };
    let mut shelf = lock(&SHELF);
    if result == 0 {
        shelf.cold[class].push(slot);
    } else {
        shelf.bytes += SMALLEST << class;
        shelf.warm[class].push(slot);
    }
}

/// A region of zeros on a page boundary.
fn map() -> Option<NonNull<u8>> {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new private mapping touches no memory that exists.
    let ptr = unsafe { libc::mmap(std::ptr::null_mut(), REGION, access, kind, -1, 0) };
    if ptr == libc::MAP_FAILED { None } else { NonNull::new(ptr.cast()) }
}
