//! Moving many buffers at once: one io_uring per thread, or plain `preadv`/`pwritev`.
//!
//! Each thread that submits has a ring of its own, made on first use and gone with the thread.
//! Since a call returns only when all its transfers are done, no completion ever belongs to
//! somebody else: no locks, no hand-over, and no thread sleeps longer than its own I/O.
//!
//! A ring that fails is not used again by its thread: what the kernel has in its hands is waited
//! for, the rest is moved by plain calls. No error of a ring is an error of a transfer, and none
//! ends the program.

use std::cell::RefCell;
use std::io;
use std::os::fd::RawFd;
use std::sync::Once;
use std::time::Duration;

use io_uring::{EnterFlags, IoUring, opcode, types};

/// Transfers one ring has in flight at most.
const DEPTH: usize = 128;
/// Parts of one transfer at most: the kernel's UIO_MAXIOV.
pub const PARTS_MAX: usize = 1024;

/// How often in a row a ring may ask for patience without anything having moved.
const REFUSALS_MAX: u32 = 10_000;
/// Longest sleep between looks at a ring that cannot be entered.
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// One stretch of a file to move, and how far it has come.
pub struct Transfer {
    fd: RawFd,
    /// Of what is left.
    offset: u64,
    /// Memory, one part behind the other; those before `first` are moved, as is the beginning of
    /// `first`, which it has lost.
    parts: Vec<libc::iovec>,
    first: usize,
    is_write: bool,
    errno: i32,
}

fn part(memory: *mut u8, len: usize) -> libc::iovec {
    libc::iovec { iov_base: memory.cast(), iov_len: len }
}

impl Transfer {
    pub fn read(fd: RawFd, offset: u64, buf: &mut [u8]) -> Transfer {
        let parts = vec![part(buf.as_mut_ptr(), buf.len())];
        Transfer { fd, offset, parts, first: 0, is_write: false, errno: 0 }
    }

    pub fn write(fd: RawFd, offset: u64, data: &[u8]) -> Transfer {
        Transfer::gather(fd, offset, &[data])
    }

    /// At most [`PARTS_MAX`].
    pub fn gather(fd: RawFd, offset: u64, parts: &[&[u8]]) -> Transfer {
        let parts = parts.iter().map(|data| part(data.as_ptr().cast_mut(), data.len())).collect();
        Transfer { fd, offset, parts, first: 0, is_write: true, errno: 0 }
    }

    /// After [`run`]: all of it was moved, or the errno.
    pub fn result(&self) -> Result<(), i32> {
        if self.errno == 0 { Ok(()) } else { Err(self.errno) }
    }

    fn rest(&self) -> &[libc::iovec] {
        &self.parts[self.first..]
    }

    /// Takes away what was moved: fewer bytes may have been than were asked for.
    fn pass(&mut self, mut moved: usize) {
        self.offset += moved as u64;
        while let Some(part) = self.parts.get_mut(self.first).filter(|part| moved >= part.iov_len) {
            moved -= part.iov_len;
            self.first += 1;
        }
        if let Some(part) = self.parts.get_mut(self.first) {
            // A wrapping add needs no unsafe; what was moved ends within this part.
            part.iov_base = part.iov_base.wrapping_byte_add(moved);
            part.iov_len -= moved;
        }
    }

    /// Takes in what a system call said: bytes moved, or minus the errno. True if there is nothing
    /// more to do.
    fn advance(&mut self, result: i64) -> bool {
        match result {
            // Nothing moved means the file has been cut short behind our back.
            0 => self.errno = libc::EIO,
            moved if moved > 0 => self.pass(moved as usize),
            error if error == -i64::from(libc::EINTR) || error == -i64::from(libc::EAGAIN) => {}
            error => self.errno = -error as i32,
        }
        self.is_done()
    }

    fn is_done(&self) -> bool {
        self.errno != 0 || self.rest().is_empty()
    }

    fn entry(&self, index: usize) -> io_uring::squeue::Entry {
        let (fd, rest) = (types::Fd(self.fd), self.rest());
        let entry = if self.is_write {
            opcode::Writev::new(fd, rest.as_ptr(), rest.len() as u32).offset(self.offset).build()
        } else {
            opcode::Readv::new(fd, rest.as_ptr(), rest.len() as u32).offset(self.offset).build()
        };
        entry.user_data(index as u64)
    }

    /// Moves it all by plain system calls.
    ///
    /// # Safety
    /// As for [`run`].
    unsafe fn move_plainly(&mut self) {
        loop {
            let (rest, offset) = (self.rest(), self.offset as i64);
            // SAFETY: the parts are memory, readable or writable as the caller of `run` promised.
            let moved = unsafe {
                if self.is_write {
                    libc::pwritev(self.fd, rest.as_ptr(), rest.len() as i32, offset)
                } else {
                    libc::preadv(self.fd, rest.as_ptr(), rest.len() as i32, offset)
                }
            };
            let result = if moved < 0 {
                -i64::from(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
            } else {
                moved as i64
            };
            if self.advance(result) {
                return;
            }
        }
    }
}

/// Moves all transfers, none of them empty; each then has its result. With `plain`, or where the
/// kernel refuses io_uring, one by one.
///
/// # Safety
/// The memory of every transfer must stay valid, and untouched by others, until this returns;
/// descriptors stay open.
pub unsafe fn run(transfers: &mut [Transfer], plain: bool) {
    thread_local! {
        /// `None` before the first use; `Some(None)` where the kernel refuses.
        static RING: RefCell<Option<Option<IoUring>>> = const { RefCell::new(None) };
    }
    if transfers.len() > 1 && !plain {
        RING.with_borrow_mut(|slot| {
            let Some(ring) = slot.get_or_insert_with(new_ring) else { return };
            // SAFETY: passed on.
            if !unsafe { run_ring(ring, transfers, &mut Kernel) } {
                *slot = Some(None);
            }
        });
    }
    for transfer in transfers.iter_mut().filter(|transfer| !transfer.is_done()) {
        // SAFETY: passed on.
        unsafe { transfer.move_plainly() };
    }
}

/// `None` where io_uring is absent or forbidden.
fn new_ring() -> Option<IoUring> {
    // The ring never leaves its thread, which lets the kernel skip interrupts and locks (6.1 and
    // later).
    let modern = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(DEPTH as u32);
    modern.or_else(|_| IoUring::new(DEPTH as u32)).ok()
}

/// How a ring is entered; tests put themselves between.
trait Enter {
    /// Hands over what is queued and waits for so many completions.
    fn submit_and_wait(&mut self, ring: &IoUring, want: usize) -> io::Result<usize>;
    /// Hands over nothing and waits for a completion.
    fn wait(&mut self, ring: &IoUring) -> io::Result<usize>;
}

struct Kernel;

impl Enter for Kernel {
    fn submit_and_wait(&mut self, ring: &IoUring, want: usize) -> io::Result<usize> {
        ring.submit_and_wait(want)
    }

    fn wait(&mut self, ring: &IoUring) -> io::Result<usize> {
        // SAFETY: nothing is submitted, and no argument passed.
        unsafe { ring.submitter().enter::<libc::sigset_t>(0, 1, EnterFlags::GETEVENTS.bits(), None) }
    }
}

/// Moves the transfers, or as many as the ring is good for: false if it failed, and is not to be
/// used any more. Then some transfers may not be done, but none is in the kernel's hands.
///
/// # Safety
/// As for [`run`].
unsafe fn run_ring(ring: &mut IoUring, transfers: &mut [Transfer], kernel: &mut dyn Enter) -> bool {
    // Indexes to submit: those never tried, and those that came back short.
    let mut fresh = 0..transfers.len();
    let mut again: Vec<usize> = Vec::new();
    // In the ring's queue, oldest first; the kernel takes them from the front.
    let mut queued: Vec<usize> = Vec::new();
    let (mut in_flight, mut refusals) = (0, 0);
    loop {
        while queued.len() + in_flight < DEPTH {
            let Some(index) = again.pop().or_else(|| fresh.next()) else { break };
            // SAFETY: the transfer, its memory and descriptor live until this returns, which is
            // after its completion.
            unsafe { ring.submission().push(&transfers[index].entry(index)) }
                .expect("the ring has an entry for each transfer in flight");
            queued.push(index);
        }
        let all = queued.len() + in_flight;
        if all == 0 {
            return true;
        }
        let all_submitted = fresh.is_empty() && again.is_empty();
        let want = if all_submitted { all } else { all.min(DEPTH / 4) };
        let entered = kernel.submit_and_wait(ring, want);
        let taken = queued.len() - ring.submission().len();
        queued.drain(..taken);
        in_flight += taken;
        let before = in_flight;
        in_flight -= reap(ring, transfers, &mut again);
        refusals = if taken > 0 || in_flight < before { 0 } else { refusals + 1 };
        let Err(error) = entered else { continue };
        if !is_passing(&error) || refusals >= REFUSALS_MAX {
            tell_once(&error);
            drain(ring, transfers, in_flight, kernel);
            return false;
        }
    }
}

/// Takes in what has completed, and how many that were; those that came back short go to `again`.
fn reap(ring: &mut IoUring, transfers: &mut [Transfer], again: &mut Vec<usize>) -> usize {
    let mut completed = 0;
    for completion in ring.completion() {
        completed += 1;
        let index = completion.user_data() as usize;
        if !transfers[index].advance(i64::from(completion.result())) {
            again.push(index);
        }
    }
    completed
}

/// Waits until the kernel has let go of all buffers. Before that nothing can be done with them, nor
/// can the caller go on: a ring that does not give them back is like a disk that does not answer,
/// and holds up its own thread alone.
fn drain(ring: &mut IoUring, transfers: &mut [Transfer], mut in_flight: usize, kernel: &mut dyn Enter) {
    let mut pause = Duration::from_micros(100);
    while in_flight > 0 {
        let entered = kernel.wait(ring);
        let completed = reap(ring, transfers, &mut Vec::new());
        in_flight -= completed;
        if entered.is_err() && completed == 0 {
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}

/// Whether the call is worth repeating.
fn is_passing(error: &io::Error) -> bool {
    let passing = [libc::EINTR, libc::EAGAIN, libc::EBUSY];
    error.raw_os_error().is_some_and(|errno| passing.contains(&errno))
}

fn tell_once(error: &io::Error) {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| eprintln!("io_uring failed, plain system calls go on in its place: {error}"));
}

#[cfg(test)]
mod tests;
