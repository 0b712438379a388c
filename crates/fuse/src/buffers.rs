//! What requests are read into.
//!
//! The kernel wants room for the longest request before it hands out any. A buffer is memory of the
//! system's own, not of the allocator, which would keep it: a page of it takes memory once a
//! request has reached it, and none when the buffer goes. Bound: [`BUFFERS`] buffers of [`BUFFER`]
//! bytes, in use and free.

use crate::abi;
use crate::lock::lock;
use crate::room::Room;
use std::io;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Bytes of the largest read and write through the device.
pub const MAX_IO: usize = 1 << 20;
/// Bytes of a buffer: a write and what goes before it.
pub const BUFFER: usize = MAX_IO + abi::MIN_READ_BUFFER;
pub const BUFFERS: usize = 64;

/// Memory of the system's own. It starts as zeros.
pub struct Memory {
    at: NonNull<u8>,
    len: usize,
}

// SAFETY: it owns its memory as a Vec does.
unsafe impl Send for Memory {}

impl Memory {
    /// `len`: whole pages, in bytes.
    ///
    /// # Errors
    /// The operating system's, where there is no memory.
    pub fn new(len: usize) -> io::Result<Memory> {
        let (rights, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory where the kernel likes it; no file.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), len, rights, kind, -1, 0) };
        match NonNull::new(at.cast::<u8>()) {
            Some(at) if at.as_ptr().cast() != libc::MAP_FAILED => Ok(Memory { at, len }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Of a byte in it, or the end.
    pub fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset <= self.len, "a place in the memory");
        self.at.as_ptr().wrapping_add(offset)
    }

    /// What is in the pages from there on is lost, and they take no memory until they are used
    /// again.
    pub fn give_back(&self, from: usize) {
        // SAFETY: pages of this mapping, of which nobody holds a reference.
        unsafe { libc::madvise(self.at(from).cast(), self.len - from, libc::MADV_DONTNEED) };
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the whole mapping, which nobody else has.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.len) };
    }
}

/// See the module: room for one request, and as many of its bytes as were read.
pub struct Buffer {
    memory: Memory,
    len: usize,
    /// Bytes that take memory, as far as they were counted.
    counted: usize,
}

impl Buffer {
    /// # Errors
    /// The operating system's, where there is no memory.
    pub fn new() -> io::Result<Buffer> {
        Ok(Buffer { memory: Memory::new(BUFFER)?, len: 0, counted: 0 })
    }

    /// Has `read` fill the room, which gets it and answers how many bytes it wrote there, or a
    /// negative number.
    pub fn fill(&mut self, read: impl FnOnce(*mut libc::c_void, usize) -> isize) -> io::Result<()> {
        self.len = 0;
        let wrote = read(self.memory.at(0).cast(), BUFFER);
        let wrote = usize::try_from(wrote).map_err(|_| io::Error::last_os_error())?;
        self.len = wrote.min(BUFFER);
        Ok(())
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: within the mapping, whose bytes are all readable and start as zeros.
        unsafe { std::slice::from_raw_parts(self.memory.at(0), self.len) }
    }
}

/// All buffers. What requests have filled of one counts as held from its first return on.
pub struct Buffers {
    room: Arc<Room>,
    all: Mutex<All>,
    returned: Condvar,
}

#[derive(Default)]
struct All {
    free: Vec<Buffer>,
    /// Free and in use.
    made: usize,
    /// Threads that wait for one.
    waiting: usize,
}

impl Buffers {
    pub fn new(room: Arc<Room>) -> Buffers {
        Buffers { room, all: Mutex::default(), returned: Condvar::new() }
    }

    /// Waits while all are in use.
    ///
    /// # Errors
    /// The operating system's, where there is no memory.
    pub fn take(&self) -> io::Result<Buffer> {
        let mut all = self.lock();
        loop {
            if let Some(buffer) = all.free.pop() {
                return Ok(buffer);
            }
            if all.made < BUFFERS {
                let buffer = Buffer::new()?;
                all.made += 1;
                return Ok(buffer);
            }
            all.waiting += 1;
            all = self.returned.wait(all).expect("nothing panics under this lock");
            all.waiting -= 1;
        }
    }

    pub fn give_back(&self, mut buffer: Buffer) {
        let more = buffer.len.saturating_sub(buffer.counted);
        buffer.counted += more;
        self.room.hold(more);
        let mut all = self.lock();
        all.free.push(buffer);
        if all.waiting > 0 {
            self.returned.notify_one();
        }
    }

    /// What is free goes back to the system.
    pub fn shrink(&self) {
        let mut all = self.lock();
        all.made -= all.free.len();
        self.room.let_go(all.free.iter().map(|buffer| buffer.counted).sum());
        all.free = Vec::new();
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        lock(&self.all)
    }
}
