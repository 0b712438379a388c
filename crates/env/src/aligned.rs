//! Memory that O_DIRECT accepts: byte buffers that start on a 4 KiB boundary.
//!
//! A fresh page costs a fault, which is dearer than copying it, and general allocators round block
//! sizes up. So buffers of the usual block sizes have an allocator of their own, which keeps freed
//! ones for the next (see [`recycle`]).

mod recycle;

pub use recycle::{give_back, keep_spare};

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Alignment of every [`AlignedBuf`], in bytes: the largest sector size in use.
pub const ALIGN: usize = 4096;

/// A fixed-length, initially zeroed byte buffer on a 4 KiB boundary.
pub struct AlignedBuf {
    ptr: NonNull<u8>,
    len: usize,
}

// SAFETY: an AlignedBuf owns its memory alone, as a Box<[u8]> does.
unsafe impl Send for AlignedBuf {}
// SAFETY: shared access is read-only.
unsafe impl Sync for AlignedBuf {}

impl AlignedBuf {
    /// `len` zero bytes.
    pub fn zeroed(len: usize) -> AlignedBuf {
        if len == 0 {
            // The address 4096: aligned, not null, never dereferenced since the length is 0.
            let ptr = NonNull::without_provenance(std::num::NonZeroUsize::new(ALIGN).expect("not zero"));
            return AlignedBuf { ptr, len };
        }
        if recycle::serves(len) {
            let taken = AlignedBuf::recycled(len);
            let mut buf = AlignedBuf { ptr: taken.ptr, len };
            if !taken.zeroed {
                buf.fill(0);
            }
            return buf;
        }
        let layout = layout(len);
        // SAFETY: the layout's size is not zero.
        let ptr = unsafe { alloc_zeroed(layout) };
        let ptr = NonNull::new(ptr).unwrap_or_else(|| handle_alloc_error(layout));
        AlignedBuf { ptr, len }
    }

    /// `len` bytes of no particular content, for whoever overwrites them all.
    pub fn scratch(len: usize) -> AlignedBuf {
        if recycle::serves(len) {
            // Initialised: by whoever had it before, or zero.
            return AlignedBuf { ptr: AlignedBuf::to_be_filled(len), len };
        }
        AlignedBuf::zeroed(len)
    }

    /// An aligned copy.
    pub fn from_slice(data: &[u8]) -> AlignedBuf {
        AlignedBuf::concat(&[data])
    }

    /// An aligned copy of all parts, one behind the other.
    pub fn concat(parts: &[&[u8]]) -> AlignedBuf {
        AlignedBuf::padded(parts, parts.iter().map(|part| part.len()).sum())
    }

    /// The same with zeros behind, `len` bytes in all.
    pub fn padded(parts: &[&[u8]], len: usize) -> AlignedBuf {
        let content: usize = parts.iter().map(|part| part.len()).sum();
        assert!(content <= len, "{content} bytes for {len}");
        if len == 0 {
            return AlignedBuf::zeroed(0);
        }
        let ptr = if recycle::serves(len) {
            AlignedBuf::to_be_filled(len)
        } else {
            // SAFETY: the layout's size is not zero.
            let ptr = unsafe { alloc(layout(len)) };
            NonNull::new(ptr).unwrap_or_else(|| handle_alloc_error(layout(len)))
        };
        let mut at = 0;
        for part in parts {
            // SAFETY: `ptr` owns `len` bytes, no fewer than all parts have, so each fits behind
            // those before; it is not part of any slice that exists.
            unsafe { ptr.as_ptr().add(at).copy_from_nonoverlapping(part.as_ptr(), part.len()) };
            at += part.len();
        }
        // SAFETY: `at` is no more than `len`, which `ptr` owns.
        unsafe { ptr.as_ptr().add(at).write_bytes(0, len - at) };
        // All `len` bytes are initialised now.
        AlignedBuf { ptr, len }
    }

    /// Memory that will be overwritten, all of it, at once.
    fn to_be_filled(len: usize) -> NonNull<u8> {
        let taken = AlignedBuf::recycled(len);
        if taken.zeroed {
            recycle::back(taken.ptr, len);
        }
        taken.ptr
    }

    fn recycled(len: usize) -> recycle::Taken {
        recycle::take(len).unwrap_or_else(|| handle_alloc_error(layout(len)))
    }
}

/// Whether a slice may be handed to an O_DIRECT file as it is.
pub fn is_aligned(slice: &[u8], align: usize) -> bool {
    slice.as_ptr().addr().is_multiple_of(align)
}

fn layout(len: usize) -> Layout {
    Layout::from_size_align(len, ALIGN).expect("buffers are far smaller than the address space")
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        if recycle::serves(self.len) {
            recycle::keep(self.ptr, self.len);
        } else if self.len != 0 {
            // SAFETY: allocated with this very layout, and freed only here.
            unsafe { dealloc(self.ptr.as_ptr(), layout(self.len)) };
        }
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `ptr` is valid for `len` initialised bytes owned by self (or len is 0 and ptr
        // aligned, not null).
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` makes the access unique.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.len) }
    }
}

impl AsRef<[u8]> for AlignedBuf {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Clone for AlignedBuf {
    fn clone(&self) -> AlignedBuf {
        AlignedBuf::from_slice(self)
    }
}

impl Default for AlignedBuf {
    fn default() -> AlignedBuf {
        AlignedBuf::zeroed(0)
    }
}

impl fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AlignedBuf({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests;
