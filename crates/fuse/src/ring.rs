//! One entry of FUSE over io_uring: memory through which the kernel hands over a request and takes
//! its answer.
//!
//! ```text
//!          REGISTER                     the kernel has a request
//!   new ─────────────▶ with the kernel ──────────────────────────▶ with us
//!                             ▲                                       │
//!                             └────────── COMMIT_AND_FETCH ───────────┘
//! ```
//! Each processor has a queue of entries in the kernel, which gives what a client on that processor
//! asks to the entry that came last. It copies a request into the memory in the thread that handed
//! the entry over, while that thread is in the kernel. So an entry has a ring and a thread of its
//! own: who serves a request keeps no other one waiting.
//!
//! An entry cannot be taken back from the kernel. One that is dropped before the connection ends
//! loses the request that comes next.
//!
//! Source: fs/fuse/dev_uring.c and include/uapi/linux/fuse.h of Linux 6.18.

use crate::abi;
use crate::abi::ring::{COMMIT_AND_FETCH, HEADERS, OPERATION, REGISTER, ROOM};
use crate::buffers::Memory;
use crate::channel::Channel;
use crate::device::{Device, Received};
use crate::reply::Answer;
use io_uring::squeue::Entry128;
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode};
use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::Duration;

/// Bytes of the largest read and write: less than through the device, for each entry has room for
/// one.
pub const MAX_IO: usize = 256 << 10;
/// Requests up to this are copied before they are served, bytes; the rest are writes.
const SHORT: usize = 8192;
/// What of the memory beside the headers is kept while nothing is asked, bytes.
const KEPT: usize = PAGE;
const PAGE: usize = 4096;

/// See the module.
pub struct Entry {
    // Dropped before the memory: then the kernel writes there no more.
    ring: RefCell<IoUring<Entry128>>,
    device: RawFd,
    queue: u16,
    memory: Memory,
    /// What the answer has to name.
    commit: Cell<u64>,
    /// A request came before anybody waited for it.
    is_ready: Cell<bool>,
    /// A request is with us, and has no answer yet.
    is_asked: Cell<bool>,
    /// The request is being read where the answer goes: that waits here.
    later: RefCell<Option<Vec<u8>>>,
    /// More than [`KEPT`] of the memory may be in use.
    is_large: Cell<bool>,
    short: RefCell<Vec<u8>>,
}

impl Entry {
    /// Hands a new entry to the kernel, for requests from processor `queue`. The connection must
    /// have agreed to it at INIT, and outlive the entry.
    ///
    /// # Errors
    /// The operating system's, where there is no memory, or the kernel refuses.
    pub fn register(device: &Device, queue: u16) -> io::Result<Entry> {
        let ring = new_ring()?;
        let entry = Entry {
            ring: RefCell::new(ring),
            device: device.as_fd().as_raw_fd(),
            queue,
            memory: Memory::new(PAGE + MAX_IO)?,
            commit: Cell::new(0),
            is_ready: Cell::new(false),
            is_asked: Cell::new(false),
            later: RefCell::default(),
            is_large: Cell::new(false),
            short: RefCell::default(),
        };
        let parts = [
            libc::iovec { iov_base: entry.at(0).cast(), iov_len: HEADERS },
            libc::iovec { iov_base: entry.at(PAGE).cast(), iov_len: MAX_IO },
        ];
        // The kernel reads them before this returns.
        entry.submit(REGISTER, Some(&parts))?;
        let completion = entry.ring.borrow_mut().completion().next();
        if let Some(completion) = completion {
            match entry.completed(&completion)? {
                Received::Gone => return Err(io::ErrorKind::NotConnected.into()),
                _ => entry.is_ready.set(true),
            }
        }
        Ok(entry)
    }

    /// The next request; `Nothing` where a signal came, or for a while nothing was asked and there
    /// is memory to give back.
    ///
    /// # Errors
    /// The operating system's: the entry is lost.
    pub fn next(&self, idle: Duration) -> io::Result<Received> {
        if self.is_ready.take() {
            return Ok(Received::Request);
        }
        let mut ring = self.ring.borrow_mut();
        loop {
            if let Some(completion) = ring.completion().next() {
                return self.completed(&completion);
            }
            let idle = Timespec::from(idle);
            let bound = SubmitArgs::new().timespec(&idle);
            let waited = match self.is_large.get() {
                true => ring.submitter().submit_with_args(1, &bound),
                false => ring.submit_and_wait(1),
            };
            match waited {
                Ok(_) => {}
                Err(error) if error.raw_os_error() == Some(libc::ETIME) => {
                    if ring.completion().is_empty() {
                        self.shrink();
                    }
                    return Ok(Received::Nothing);
                }
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => return Ok(Received::Nothing),
                Err(error) if is_passing(&error) => std::thread::yield_now(),
                Err(error) => return Err(error),
            }
        }
    }

    fn completed(&self, completion: &cqueue::Entry) -> io::Result<Received> {
        match -completion.result() {
            0 => {
                self.is_asked.set(true);
                // SAFETY: within the first page, which starts as zeros.
                self.commit.set(unsafe { self.at(abi::ring::COMMIT_ID).cast::<u64>().read_unaligned() });
                Ok(Received::Request)
            }
            libc::ENOTCONN | libc::ECONNABORTED | libc::ECANCELED => Ok(Received::Gone),
            errno => Err(io::Error::from_raw_os_error(errno)),
        }
    }

    /// Has `serve` answer the request that came. Where it does not, EIO does: an entry without an
    /// answer is lost.
    pub fn serve<T>(&self, serve: impl FnOnce(&dyn Channel, &[u8]) -> T) -> T {
        let request = self.request();
        if request.len() > KEPT {
            self.is_large.set(true);
        }
        let served = if request.len() <= SHORT {
            let mut short = self.short.borrow_mut();
            short.clear();
            short.extend_from_slice(request);
            serve(self, &short)
        } else {
            self.later.replace(Some(Vec::new()));
            let served = serve(self, request);
            let answer = self.later.take().unwrap_or_default();
            if let Some((head, rest)) = answer.split_at_checked(abi::OUT_HEADER)
                && let Err(error) = self.send(&[IoSlice::new(head), IoSlice::new(rest)])
            {
                tracing::debug!(%error, "the kernel does not take an answer");
            }
            served
        };
        if self.is_asked.get() {
            Answer::new(self, self.commit.get()).error(libc::EIO);
        }
        served
    }

    /// What the kernel put into the memory, as it would come out of the device.
    fn request(&self) -> &[u8] {
        let len = self.number(0).min(ROOM + MAX_IO);
        let payload = self.number(abi::ring::PAYLOAD).min(len).min(MAX_IO);
        let head = (len - payload).min(ROOM);
        let (first, operation) = (head.min(abi::IN_HEADER), head.saturating_sub(abi::IN_HEADER));
        // SAFETY: all of it lies within the first page of the memory, which the kernel leaves alone
        // now; the target ends where the page does, and is apart from the sources.
        unsafe {
            let target = self.at(PAGE - head);
            std::ptr::copy_nonoverlapping(self.at(0), target, first);
            std::ptr::copy_nonoverlapping(self.at(OPERATION), target.add(first), operation);
        }
        // SAFETY: within the memory, all of which can be read. Nothing is written there before the
        // last use: short requests are copied, and others have their answer wait.
        unsafe { std::slice::from_raw_parts(self.at(PAGE - head), head + payload) }
    }

    /// What was written beyond the first pages goes back to the system.
    fn shrink(&self) {
        self.is_large.set(false);
        self.short.take();
        self.memory.give_back(PAGE + KEPT);
    }

    /// One answer into the memory, and the entry to the kernel.
    fn put(&self, answer: &[IoSlice<'_>]) -> io::Result<()> {
        let (head, parts) = answer.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let payload: usize = parts.iter().map(|part| part.len()).sum();
        if head.len() != abi::OUT_HEADER || payload > MAX_IO {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.write(0, head);
        let mut at = PAGE;
        for part in parts {
            self.write(at, part);
            at += part.len();
        }
        if payload > KEPT {
            self.is_large.set(true);
        }
        self.write(abi::ring::PAYLOAD, &(payload as u32).to_ne_bytes());
        self.is_asked.set(false);
        self.submit(COMMIT_AND_FETCH, None)
    }

    /// Hands the entry over. The kernel has taken the answer when this returns; what it says of
    /// that comes with [`Entry::next`].
    fn submit(&self, what: u32, parts: Option<&[libc::iovec; 2]>) -> io::Result<()> {
        let mut words = [0; 80];
        words[abi::ring::CMD_COMMIT_ID..][..8].copy_from_slice(&self.commit.get().to_ne_bytes());
        words[abi::ring::CMD_QUEUE..][..2].copy_from_slice(&self.queue.to_ne_bytes());
        let parts_at = parts.map(|parts| parts.as_ptr() as u64);
        let mut command = opcode::UringCmd80::new(Fd(self.device), what).cmd(words).addr(parts_at).build();
        if parts.is_some() {
            set_len(&mut command, 2);
        }
        let mut ring = self.ring.borrow_mut();
        // SAFETY: the memory that was registered is there until the ring is gone, and the kernel
        // reads `parts` in `submit`.
        unsafe { ring.submission().push(&command) }.expect("a ring of two has room for its one command");
        loop {
            match ring.submit() {
                Ok(_) if ring.submission().is_empty() => return Ok(()),
                Ok(_) => {}
                Err(error) if is_passing(&error) => std::thread::yield_now(),
                Err(error) => return Err(error),
            }
        }
    }

    fn at(&self, offset: usize) -> *mut u8 {
        self.memory.at(offset)
    }

    /// One of the headers' fields.
    fn number(&self, offset: usize) -> usize {
        assert!(offset + 4 <= HEADERS, "a field of the headers");
        // SAFETY: within the first page, which starts as zeros.
        unsafe { self.at(offset).cast::<u32>().read_unaligned() as usize }
    }

    fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= PAGE + MAX_IO, "an answer that fits");
        // SAFETY: within the memory, of which nobody holds a reference now.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at(offset), bytes.len()) };
    }
}

impl Channel for Entry {
    fn send(&self, answer: &[IoSlice<'_>]) -> io::Result<()> {
        if let Some(later) = &mut *self.later.borrow_mut() {
            answer.iter().for_each(|part| later.extend_from_slice(part));
            return Ok(());
        }
        self.put(answer)
    }
}

/// Only such a ring has the kernel write nowhere but in [`Entry::next`].
fn new_ring() -> io::Result<IoUring<Entry128>> {
    IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(2)
}

/// Whether this program may have rings of the kind that is wanted.
pub fn is_allowed() -> bool {
    new_ring().is_ok()
}

/// The library has no way to say how many parts there are: `len` of `struct io_uring_sqe`.
fn set_len(command: &mut Entry128, len: u32) {
    const LEN_AT: usize = 24;
    // SAFETY: it is the 128 bytes that the kernel reads, of which these four are a number.
    unsafe { std::ptr::from_mut(command).cast::<u8>().add(LEN_AT).cast::<u32>().write(len) };
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
}
