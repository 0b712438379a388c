//! Mounts of FUSE by the kernel: mount(2), umount2(2), and files below /sys.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::mount::{MntFlags, MsFlags};

use crate::device_id::DeviceId;
use crate::flags::Flags;
use crate::request::How;

const DEVICE: &str = "/dev/fuse";
/// What `mount` shows as the type.
pub const TYPE: &str = "fuse.cistern";
const CONNECTIONS: &str = "/sys/fs/fuse/connections";
const READ_AHEAD_KIB: &str = "1024";

/// The kernel's end of a mount that is to be made.
pub fn open_device() -> io::Result<File> {
    File::options().read(true).write(true).open(DEVICE)
}

/// Mounts for all users. `owner`: the user and group that serve it.
pub fn mount(device: &File, at: &Path, source: &str, flags: Flags, (uid, gid): (u32, u32)) -> io::Result<()> {
    let data = format!(
        "fd={},rootmode=40000,user_id={uid},group_id={gid},default_permissions,allow_other",
        device.as_raw_fd()
    );
    Ok(nix::mount::mount(Some(source), at, Some(TYPE), flags.for_kernel(), Some(data.as_str()))?)
}

/// Other options, but for the source.
pub fn remount(at: &Path, flags: Flags) -> io::Result<()> {
    let (none, flags) = (None::<&str>, MsFlags::MS_REMOUNT | flags.for_kernel());
    Ok(nix::mount::mount(none, at, none, flags, none)?)
}

pub fn unmount(at: &Path, how: How) -> io::Result<()> {
    let flags = match how {
        How::Gently => MntFlags::empty(),
        How::Lazily => MntFlags::MNT_DETACH,
        How::ByForce => MntFlags::MNT_FORCE | MntFlags::MNT_DETACH,
    };
    Ok(nix::mount::umount2(at, flags | MntFlags::UMOUNT_NOFOLLOW)?)
}

/// Has the file system at a path answer, whatever the kernel knows of it already.
pub fn ask(at: &Path) -> io::Result<()> {
    let path = CString::new(at.as_os_str().as_bytes())?;
    let flags = libc::AT_SYMLINK_NOFOLLOW | libc::AT_STATX_FORCE_SYNC;
    let mut answer = MaybeUninit::uninit();
    // SAFETY: a string that a NUL ends and room for the answer, both of which outlive the call.
    match unsafe { libc::statx(libc::AT_FDCWD, path.as_ptr(), flags, libc::STATX_TYPE, answer.as_mut_ptr()) }
    {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

pub fn raise_read_ahead(device: DeviceId) -> io::Result<()> {
    fs::write(format!("/sys/class/bdi/{device}/read_ahead_kb"), READ_AHEAD_KIB)
}

/// The user who serves a connection.
pub fn server_of(device: DeviceId) -> io::Result<u32> {
    Ok(fs::metadata(format!("{CONNECTIONS}/{}", device.minor))?.uid())
}

/// Ends a connection: whoever waits for an answer gets an error.
pub fn abort(device: DeviceId) -> io::Result<()> {
    fs::write(format!("{CONNECTIONS}/{}/abort", device.minor), "1")
}
