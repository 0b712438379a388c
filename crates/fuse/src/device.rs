//! The kernel's end of a mount: a file of /dev/fuse, and the mount that hangs on it.
//!
//! When the last copy of the file is closed, the kernel ends the connection: whoever still waits
//! for an answer gets an error, in every mount namespace.

use nix::cmsg_space;
use nix::poll::{PollFd, PollFlags, PollTimeout};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::buffers::Buffer;
use crate::channel::Channel;
use crate::options::MountOptions;

const DEVICE: &str = "/dev/fuse";
const HELPER: &str = "fusermount3";
/// What `mount` shows as the type.
pub const TYPE: &str = "fuse.cistern";
const SUBTYPE: &str = "cistern";

/// See the module.
pub struct Device(File);

/// What a read of the device gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// One whole request.
    Request,
    /// None after all, or a signal came.
    Nothing,
    /// It is unmounted, or was aborted.
    Gone,
}

impl Device {
    /// Mounts at `at`, by the kernel where the program may, and by fusermount3 where it may not.
    ///
    /// # Errors
    /// The operating system's, or the helper's words.
    pub fn mount(at: &Path, options: &MountOptions) -> io::Result<Device> {
        let device = File::options().read(true).write(true).open(DEVICE)?;
        match mount_by_kernel(&device, at, options) {
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                mount_by_helper(at, options).map(Device)
            }
            mounted => mounted.map(|()| Device(device)),
        }
    }

    /// Wait until a request is there.
    ///
    /// # Errors
    /// `TimedOut` where none comes within `bound`.
    pub fn wait(&self, bound: Duration) -> io::Result<()> {
        let mut watched = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        let bound = PollTimeout::try_from(bound).unwrap_or(PollTimeout::MAX);
        loop {
            match nix::poll::poll(&mut watched, bound) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) => return Ok(()),
                Err(nix::errno::Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The next request, whole. Waits for it.
    pub fn receive(&self, buffer: &mut Buffer) -> io::Result<Received> {
        // SAFETY: the kernel writes into the room and no further.
        let read = buffer.fill(|room, len| unsafe { libc::read(self.0.as_raw_fd(), room, len) });
        let Err(error) = read else { return Ok(Received::Request) };
        match error.raw_os_error() {
            Some(libc::ENODEV) => Ok(Received::Gone),
            // ENOENT: whoever asked was interrupted meanwhile.
            Some(libc::EINTR | libc::ENOENT) => Ok(Received::Nothing),
            _ => Err(error),
        }
    }
}

impl Channel for Device {
    fn send(&self, answer: &[IoSlice<'_>]) -> io::Result<()> {
        loop {
            match (&self.0).write_vectored(answer) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn flags(options: &MountOptions) -> libc::c_ulong {
    let when = |set: bool, flag: libc::c_ulong| if set { flag } else { 0 };
    when(options.read_only, libc::MS_RDONLY)
        | when(!options.setuid, libc::MS_NOSUID)
        | when(!options.devices, libc::MS_NODEV)
        | when(!options.exec, libc::MS_NOEXEC)
        | when(!options.atime, libc::MS_NOATIME)
        | when(options.atime && options.relatime, libc::MS_RELATIME)
        | when(options.atime && !options.relatime, libc::MS_STRICTATIME)
}

fn mount_by_kernel(device: &File, at: &Path, options: &MountOptions) -> io::Result<()> {
    // SAFETY: these have no arguments and cannot fail.
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    let data = format!(
        "fd={},rootmode=40000,user_id={uid},group_id={gid},default_permissions,allow_other",
        device.as_raw_fd()
    );
    let source = CString::new(options.source.as_str())?;
    let (at, kind, data) =
        (CString::new(at.as_os_str().as_bytes())?, CString::new(TYPE)?, CString::new(data)?);
    // SAFETY: strings that a NUL ends and that outlive the call.
    let failed = unsafe {
        libc::mount(source.as_ptr(), at.as_ptr(), kind.as_ptr(), flags(options), data.as_ptr().cast()) != 0
    };
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What is mounted gets other options, but for its source.
pub fn remount(at: &Path, options: &MountOptions) -> io::Result<()> {
    let (path, none) = (CString::new(at.as_os_str().as_bytes())?, std::ptr::null());
    // SAFETY: strings that a NUL ends and that outlive the call; the kernel takes no data with
    // these flags.
    let failed = unsafe {
        libc::mount(none, path.as_ptr(), none, libc::MS_REMOUNT | flags(options), none.cast()) != 0
    };
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// fusermount3 is setuid root. It hands the device over a socket whose number stands in its
/// environment (libfuse, lib/mount.c).
fn mount_by_helper(at: &Path, options: &MountOptions) -> io::Result<File> {
    let (ours, theirs) = UnixStream::pair()?;
    let theirs = OwnedFd::from(theirs);
    let number = theirs.as_raw_fd();
    let either = |yes: bool, on: &'static str, off: &'static str| if yes { on } else { off };
    let words = [
        format!("fsname={},subtype={SUBTYPE},default_permissions,allow_other", options.source),
        either(options.read_only, "ro", "rw").into(),
        either(options.exec, "exec", "noexec").into(),
        either(options.atime, "atime", "noatime").into(),
    ];
    let mut command = Command::new(HELPER);
    command.args([OsStr::new("-o"), OsStr::new(&words.join(",")), OsStr::new("--"), at.as_os_str()]);
    command.env("_FUSE_COMMFD", number.to_string()).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::piped());
    // SAFETY: fcntl is async-signal-safe, and the descriptor is open in the child.
    unsafe {
        command.pre_exec(move || match libc::fcntl(number, libc::F_SETFD, 0) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    let child = command.spawn()?;
    drop(theirs);
    let device = received_device(&ours);
    let output = child.wait_with_output()?;
    device.ok_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let kind = match said.contains("user_allow_other") {
            true => io::ErrorKind::PermissionDenied,
            false => io::ErrorKind::Other,
        };
        io::Error::new(kind, said)
    })
}

/// The device that the helper sent; `None` where it ended without.
fn received_device(socket: &UnixStream) -> Option<File> {
    let mut byte = [0];
    let mut parts = [IoSliceMut::new(&mut byte)];
    let mut space = cmsg_space!(RawFd);
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut parts, Some(&mut space), flags).ok()?;
    message.cmsgs().ok()?.find_map(|control| match control {
        // SAFETY: the kernel has just put this descriptor into the process, for nobody else.
        ControlMessageOwned::ScmRights(fds) => fds.first().map(|fd| unsafe { File::from_raw_fd(*fd) }),
        _ => None,
    })
}

/// Takes a mount away. `flags`: of umount2(2).
pub fn unmount(at: &Path, flags: i32) -> io::Result<()> {
    let path = CString::new(at.as_os_str().as_bytes())?;
    // SAFETY: `path` is a NUL-terminated string that outlives the call.
    if unsafe { libc::umount2(path.as_ptr(), flags | libc::UMOUNT_NOFOLLOW) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() != Some(libc::EPERM) {
        return Err(error);
    }
    // Who is not root unmounts by the helper, too.
    let mut command = Command::new(HELPER);
    command.arg(if flags & libc::MNT_DETACH != 0 { "-uz" } else { "-u" }).arg("--").arg(at);
    let output = command.stdin(Stdio::null()).output().map_err(|_| error)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let busy = said.contains("Device or resource busy");
    Err(if busy { io::Error::from_raw_os_error(libc::EBUSY) } else { io::Error::other(said) })
}
