//! The process of a shell, the terminal that it is on, and the line that it asks for connections
//! by.
//!
//! The process is this program, started again: `cistern shell --confined`. It has no environment
//! but `TERM` and a word for the allocator, the terminal as its input and output, and the line in
//! the place of standard error. It gives up files by itself, before it reads anything (`cli`'s
//! `shell::confined`). Nothing that is open in the daemon comes with it: all here is closed on
//! exec(2).
//!
//! A daemon that is killed leaves none behind: both the terminal and the line hang up then.

use super::line::Line;
use super::watched::watched;
use api_types::ShellSize;
use nix::fcntl::OFlag;
use nix::libc;
use nix::pty::{Winsize, grantpt, posix_openpt, ptsname_r, unlockpt};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tokio::io::unix::AsyncFd;

/// How long a process whose terminal is closed may take to end by itself.
const LINGER: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(10);

nix::ioctl_write_ptr_bad!(set_size, libc::TIOCSWINSZ, Winsize);

/// The end of a terminal that the daemon has.
pub struct Screen(OwnedFd);

/// The same, once a runtime looks after it.
pub struct Terminal(AsyncFd<OwnedFd>);

/// A process, which is killed when this is dropped.
pub struct Process(Child);

/// Begins a shell.
pub fn begin(program: &Path, size: ShellSize) -> io::Result<(Process, Screen, Line)> {
    let flags = OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
    let master = posix_openpt(flags)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname_r(&master)?;
    let screen = Screen(master.as_fd().try_clone_to_owned()?);
    resize(&screen.0, size)?;
    let terminal = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY).open(name)?;
    let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
    let mut command = Command::new(program);
    command.arg0("cistern").args(["shell", "--confined"]);
    command.env_clear().env("TERM", "xterm-256color").current_dir("/");
    // The allocator takes memory as it is used, so that a limit of memory means something.
    command.env("MIMALLOC_ARENA_EAGER_COMMIT", "0");
    command
        .stdin(Stdio::from(terminal.try_clone()?))
        .stdout(Stdio::from(terminal))
        .stderr(Stdio::from(theirs));
    let child = command.spawn()?;
    Ok((Process(child), screen, Line::new(ours)))
}

fn resize(terminal: &impl AsRawFd, size: ShellSize) -> io::Result<()> {
    let size = Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the descriptor is open as long as its owner is borrowed, and the kernel reads one
    // `Winsize`, which lives.
    unsafe { set_size(terminal.as_raw_fd(), &raw const size) }?;
    Ok(())
}

impl Screen {
    /// To be called inside of a runtime.
    pub fn watched(self) -> io::Result<Terminal> {
        watched(self.0).map(Terminal)
    }
}

impl Terminal {
    /// Reads what there is. `None`: nobody has the other end any more.
    pub async fn read(&self, room: &mut [u8]) -> Option<usize> {
        loop {
            let mut ready = self.0.readable().await.ok()?;
            match ready.try_io(|terminal| Ok(nix::unistd::read(terminal, room)?)) {
                Ok(Ok(0) | Err(_)) => return None,
                Ok(Ok(count)) => return Some(count),
                // Nothing was there.
                Err(_) => {}
            }
        }
    }

    /// Types bytes, as the other end takes them.
    pub async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let mut ready = self.0.writable().await?;
            if let Ok(written) = ready.try_io(|terminal| Ok(nix::unistd::write(terminal, rest)?)) {
                rest = &rest[written?..];
            }
        }
        Ok(())
    }

    pub fn resize(&self, size: ShellSize) -> io::Result<()> {
        resize(self.0.get_ref(), size)
    }
}

impl Process {
    /// Waits until it has ended, by itself or by a signal.
    pub fn end(mut self, may_linger: bool) {
        let late = Instant::now() + LINGER;
        while may_linger && Instant::now() < late {
            match self.0.try_wait() {
                Ok(None) => thread::sleep(STEP),
                Ok(Some(_)) | Err(_) => return,
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended by itself is neither killed nor waited for twice.
        if let Ok(None) = self.0.try_wait() {
            drop(self.0.kill());
            drop(self.0.wait());
        }
    }
}
