//! Down a path, a directory after the other, each held open while its child is looked up: where a
//! symbolic link stands, the walk ends, and what is renamed meanwhile does not matter.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat};
use nix::sys::stat::{Mode, fstat, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use crate::fault::Fault;

const HOLD: OFlag = OFlag::O_PATH.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);
/// Of directories that are made: rwxr-xr-x.
const MODE: Mode =
    Mode::S_IRWXU.union(Mode::S_IRGRP).union(Mode::S_IXGRP).union(Mode::S_IROTH).union(Mode::S_IXOTH);

/// A directory that is open: always the same one, whatever its path leads to.
#[derive(Debug)]
pub struct Place(OwnedFd);

/// Says how far a walk may go.
pub trait Judge {
    /// It has come to a directory.
    fn enters(&mut self, place: &Place) -> Result<(), Fault>;
    /// It is about to make a directory in the one that it came to last.
    fn makes(&self) -> Result<(), Fault>;
}

/// The directory that names lead to from `/`.
///
/// # Errors
/// `Link`; `NotFound` of the system where one is missing; the judge's.
pub fn find(names: &[&OsStr], judge: &mut dyn Judge) -> Result<Place, Fault> {
    let mut place = Place::root()?;
    for name in names {
        place = place.inner(name)?;
        judge.enters(&place)?;
    }
    Ok(place)
}

/// The same, where those that are missing are made.
///
/// # Errors
/// `Link`, the system's, and the judge's.
pub fn make(names: &[&OsStr], judge: &mut dyn Judge) -> Result<Place, Fault> {
    let mut place = Place::root()?;
    for name in names {
        place = match place.inner(name) {
            Err(Fault::Os(error)) if error.kind() == io::ErrorKind::NotFound => {
                judge.makes()?;
                place.make_inner(name)?
            }
            found => found?,
        };
        judge.enters(&place)?;
    }
    Ok(place)
}

impl Place {
    fn root() -> Result<Place, Fault> {
        Ok(Place(open("/", HOLD, Mode::empty())?))
    }

    fn inner(&self, name: &OsStr) -> Result<Place, Fault> {
        match openat(&self.0, name, HOLD, Mode::empty()) {
            Ok(fd) => Ok(Place(fd)),
            Err(Errno::ENOTDIR | Errno::ELOOP) if self.has_link(name) => Err(Fault::Link),
            Err(errno) => Err(errno.into()),
        }
    }

    fn make_inner(&self, name: &OsStr) -> Result<Place, Fault> {
        match mkdirat(&self.0, name, MODE) {
            // Somebody else was quicker.
            Ok(()) | Err(Errno::EEXIST) => self.inner(name),
            Err(errno) => Err(errno.into()),
        }
    }

    fn has_link(&self, name: &OsStr) -> bool {
        let found = fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW);
        found.is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFLNK)
    }

    pub fn owner(&self) -> Result<u32, Fault> {
        Ok(fstat(&self.0)?.st_uid)
    }

    /// A path that leads to this very directory, for as long as it is open, through no link of
    /// anybody's.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }

    /// The number of the mount that it is in.
    ///
    /// # Errors
    /// The operating system's.
    pub fn mount_number(&self) -> io::Result<String> {
        let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", self.0.as_raw_fd()))?;
        let number = info.lines().find_map(|line| line.strip_prefix("mnt_id:"));
        number.map(|number| number.trim().to_owned()).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Whether there is anything in it.
    ///
    /// # Errors
    /// The operating system's.
    pub fn has_entries(&self) -> io::Result<bool> {
        Ok(std::fs::read_dir(self.path())?.next().is_some())
    }

    /// Removes an empty directory in it.
    pub fn remove(&self, name: &OsStr) -> Result<(), Fault> {
        Ok(unlinkat(&self.0, name, UnlinkatFlags::RemoveDir)?)
    }
}

#[cfg(test)]
mod tests;
