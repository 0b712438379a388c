//! How a thread that blocks in read(2) is told something: by a signal, which ends the call and does
//! nothing else.
//!
//! SIGURG is one that no program dies of. One that comes just before the call is lost, so whoever
//! sends it looks again. It may also end a call of the engine, which takes that as any program
//! must.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::thread::RawPthread;

const SIGNAL: libc::c_int = libc::SIGURG;

/// A thread of this process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Thread(RawPthread);

impl Thread {
    pub fn current() -> Thread {
        // SAFETY: it has no arguments and cannot fail.
        Thread(unsafe { libc::pthread_self() })
    }

    /// # Safety
    /// The thread must not have ended.
    pub unsafe fn recall(self) {
        // SAFETY: as the caller promises; the signal has a handler.
        unsafe { libc::pthread_kill(self.0, SIGNAL) };
    }
}

/// From now on the signal ends calls. For a program that has no use of its own for it.
///
/// # Errors
/// The operating system's.
pub fn prepare() -> io::Result<()> {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: zero is a value of each field: no flags (above all not SA_RESTART), no signals
    // blocked. A handler that does nothing may run at any time.
    let failed = unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = nothing as *const () as usize;
        libc::sigaction(SIGNAL, &raw const action, std::ptr::null_mut()) != 0
    };
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}
