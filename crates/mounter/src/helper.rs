//! Mounts by fusermount3, for a program that may not mount: it is setuid root, and hands the device
//! over a socket whose number stands in its environment (libfuse, lib/mount.c).

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::cmsg_space;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};

use crate::fault::Fault;
use crate::flags::Flags;
use crate::request::How;

const HELPER: &str = "fusermount3";
const SUBTYPE: &str = "cistern";

/// Mounts for all users, where /etc/fuse.conf allows that.
///
/// # Errors
/// `NoHelper`, `NotForAll`, or the helper's words.
pub fn mount(at: &Path, source: &str, flags: Flags) -> Result<File, Fault> {
    let (ours, theirs) = UnixStream::pair()?;
    let theirs = OwnedFd::from(theirs);
    let number = theirs.as_raw_fd();
    let either = |flag: Flags, on: &'static str, off: &'static str| if flags.has(flag) { on } else { off };
    let words = [
        format!("fsname={source},subtype={SUBTYPE},default_permissions,allow_other"),
        either(Flags::READ_ONLY, "ro", "rw").into(),
        either(Flags::NO_EXEC, "noexec", "exec").into(),
        either(Flags::NO_ATIME, "noatime", "atime").into(),
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
    let child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Fault::NoHelper,
        _ => error.into(),
    })?;
    drop(theirs);
    let device = received_device(&ours);
    let output = child.wait_with_output()?;
    device.ok_or_else(|| refused(&String::from_utf8_lossy(&output.stderr)))
}

/// What the helper says names no cure, and itself.
fn refused(said: &str) -> Fault {
    if said.contains("user_allow_other") {
        return Fault::NotForAll;
    }
    let text = said.trim();
    let text = text.strip_prefix("fusermount3: ").unwrap_or(text);
    Fault::Os(io::Error::other(text.to_owned()))
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

/// Takes a mount away that the helper has made.
///
/// # Errors
/// `EBUSY` of the system, or the helper's words; `EPERM` where it is not there.
pub fn unmount(at: &Path, how: How) -> Result<(), Fault> {
    let mut command = Command::new(HELPER);
    command.arg(if how == How::Gently { "-u" } else { "-uz" }).arg("--").arg(at);
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|_| io::Error::from_raw_os_error(libc::EPERM))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let busy = said.contains("Device or resource busy");
    Err(if busy { io::Error::from_raw_os_error(libc::EBUSY).into() } else { refused(&said) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use stdx::os_error::words;

    #[test]
    fn a_mount_that_the_helper_refuses_says_why() {
        let conf =
            "fusermount3: option allow_other only allowed if 'user_allow_other' is set in /etc/fuse.conf\n";
        assert!(matches!(refused(conf), Fault::NotForAll));
        let other = refused("fusermount3: user has no write access to mountpoint /mnt\n");
        let Fault::Os(error) = other else { panic!("{other:?}") };
        assert_eq!(words(&error), "user has no write access to mountpoint /mnt");
    }
}
