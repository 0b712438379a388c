//! Carries requests out, in this process: for the daemon itself, which may do what the system lets
//! it, or for a client of the broker, within its bounds.
//!
//! A mount of a daemon that is dead stays: everybody who looks at it gets ENOTCONN, and nothing can
//! be mounted in its place. What lies below it can be reached by nobody, so it goes with it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::unistd::{getegid, geteuid};

use crate::answer::{Answer, Mounted};
use crate::apart::within;
use crate::bounds::names;
use crate::carry::Carry;
use crate::device_id::DeviceId;
use crate::fault::Fault;
use crate::flags::Flags;
use crate::guard::{Client, Guard};
use crate::kernel::{self, TYPE};
use crate::mountinfo::{Entry, holders, mounted_at};
use crate::request::{How, Request, Wanted};
use crate::{helper, walk};

/// How long a mount may take to say that it is dead. One that lives may take for ever.
const PATIENCE: Duration = Duration::from_secs(2);
/// Symbolic links that are followed, one after the other, as by the kernel.
const LINKS: u32 = 40;

/// See the module.
#[derive(Debug, Default)]
pub struct Here {
    /// `None`: for this process itself.
    client: Option<Client>,
}

impl Carry for Here {
    fn carry_out(&self, request: &Request) -> Result<Answer, Fault> {
        match request {
            Request::HasEntries { at } => self.has_entries(at).map(Answer::Is),
            Request::Resolve { at } => Ok(Answer::Path(resolve(at)?)),
            Request::RemoveDead { at } => self.remove_dead(at).map(Answer::Is),
            Request::RemoveDirectory { at } => self.remove_directory(at).map(|()| Answer::Done),
            Request::Mount(wanted) => self.mount(wanted).map(Answer::Mounted),
            Request::RaiseReadAhead { at } => {
                kernel::raise_read_ahead(self.own(at)?.id)?;
                Ok(Answer::Done)
            }
            Request::Remount { at, flags } => self.remount(at, *flags).map(|()| Answer::Done),
            Request::Unmount { at, how } => self.unmount(at, *how).map(|()| Answer::Done),
            Request::Cut { device } => self.cut(*device).map(|()| Answer::Done),
        }
    }
}

impl Here {
    pub fn of_client(client: Client) -> Here {
        Here { client: Some(client) }
    }

    /// The mount of ours there.
    fn own(&self, at: &Path) -> Result<Entry, Fault> {
        let is_own = |mount: &Entry| match &self.client {
            Some(client) => client.serves(mount),
            None => mount.kind == TYPE,
        };
        mounted_at(at)?.filter(is_own).ok_or(Fault::NotOurs)
    }

    fn has_entries(&self, at: &Path) -> Result<bool, Fault> {
        let has_entries = match &self.client {
            None => fs::read_dir(at).map(|mut inside| inside.next().is_some()).map_err(Fault::Os),
            Some(client) => {
                let found = walk::find(&names(at)?, &mut Guard::new(client, at)?);
                found.and_then(|place| Ok(place.has_entries()?))
            }
        };
        match has_entries {
            Err(Fault::Os(error)) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            looked => looked,
        }
    }

    fn remove_dead(&self, at: &Path) -> Result<bool, Fault> {
        // The broker follows no link.
        let found = if self.client.is_some() { Ok(at.to_owned()) } else { resolve(at) };
        let at = match found {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            found => found?,
        };
        let mut removed = false;
        while self.has_dead(&at)? {
            self.unmount(&at, How::Lazily)?;
            removed = true;
        }
        Ok(removed)
    }

    fn has_dead(&self, at: &Path) -> Result<bool, Fault> {
        match self.own(at) {
            Ok(_) => Ok(is_dead(at)?),
            Err(Fault::NotOurs) => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    fn remove_directory(&self, at: &Path) -> Result<(), Fault> {
        let Some(client) = &self.client else { return Ok(fs::remove_dir(at)?) };
        let (names, mut guard) = (names(at)?, Guard::new(client, at)?);
        // The kept places have `/` among them.
        let (last, above) = names.split_last().ok_or(Fault::Kept)?;
        let above = walk::find(above, &mut guard)?;
        drop(walk::find(&names, &mut guard)?);
        guard.changes(false)?;
        above.remove(last)
    }

    fn mount(&self, wanted: &Wanted) -> Result<Mounted, Fault> {
        match self.mount_at_place(wanted) {
            // Such as ENOTCONN, of a mount that is dead.
            Err(Fault::Os(_)) if self.remove_dead(&wanted.at)? => self.mount_at_place(wanted),
            done => done,
        }
    }

    fn mount_at_place(&self, wanted: &Wanted) -> Result<Mounted, Fault> {
        match &self.client {
            Some(client) => mount_for(client, wanted),
            None => mount_freely(wanted),
        }
    }

    fn remount(&self, at: &Path, flags: Flags) -> Result<(), Fault> {
        self.own(at)?;
        let Some(client) = &self.client else { return remount_freely(at, flags) };
        let place = walk::find(&names(at)?, &mut Anywhere)?;
        Ok(kernel::remount(&place.path(), flags.and(client.forced))?)
    }

    fn unmount(&self, at: &Path, how: How) -> Result<(), Fault> {
        self.own(at)?;
        if self.client.is_some() {
            let names = names(at)?;
            // Held open, the mount itself would be busy.
            let (last, above) = names.split_last().ok_or(Fault::NotOurs)?;
            let above = walk::find(above, &mut Anywhere)?;
            return Ok(kernel::unmount(&above.path().join(last), how)?);
        }
        match kernel::unmount(at, how) {
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => helper::unmount(at, how),
            done => Ok(done?),
        }
    }

    fn cut(&self, device: DeviceId) -> Result<(), Fault> {
        if let Some(client) = &self.client
            && kernel::server_of(device)? != client.uid
        {
            return Err(Fault::NotOurs);
        }
        tracing::warn!(%device, holders = ?holders(device), "is mounted elsewhere too: the connection is cut");
        Ok(kernel::abort(device)?)
    }
}

/// Goes anywhere: to a mount that is known to be the client's.
struct Anywhere;

impl walk::Judge for Anywhere {
    fn enters(&mut self, _: &walk::Place) -> Result<(), Fault> {
        Ok(())
    }

    fn makes(&self) -> Result<(), Fault> {
        Ok(())
    }
}

/// Mounts for the client, at a directory that stays the one that was looked at.
fn mount_for(client: &Client, wanted: &Wanted) -> Result<Mounted, Fault> {
    let mut guard = Guard::new(client, &wanted.at)?;
    let place = walk::make(&names(&wanted.at)?, &mut guard)?;
    let has_entries = place.has_entries()?;
    if has_entries && !wanted.overlay {
        return Err(Fault::NotEmpty);
    }
    guard.changes(has_entries)?;
    let (device, flags) = (kernel::open_device()?, wanted.flags.and(client.forced));
    kernel::mount(&device, &place.path(), &wanted.source, flags, (client.uid, client.gid))?;
    Ok(mounted(device, wanted.at.clone()))
}

/// Mounts for this process, where the path leads.
fn mount_freely(wanted: &Wanted) -> Result<Mounted, Fault> {
    fs::create_dir_all(&wanted.at)?;
    if !wanted.overlay && fs::read_dir(&wanted.at)?.next().is_some() {
        return Err(Fault::NotEmpty);
    }
    let at = wanted.at.canonicalize()?;
    let device = kernel::open_device()?;
    let owner = (geteuid().as_raw(), getegid().as_raw());
    let device = match kernel::mount(&device, &at, &wanted.source, wanted.flags, owner) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
            helper::mount(&at, &wanted.source, wanted.flags)?
        }
        mounted => mounted.map(|()| device)?,
    };
    Ok(mounted(device, at))
}

fn remount_freely(at: &Path, flags: Flags) -> Result<(), Fault> {
    match kernel::remount(at, flags) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) && !geteuid().is_root() => {
            Err(Fault::RootAlone)
        }
        done => Ok(done?),
    }
}

fn mounted(device: fs::File, at: PathBuf) -> Mounted {
    // It is there, whether mountinfo can be read or not.
    let found = mounted_at(&at).ok().flatten();
    let id = found.filter(|mount| mount.kind == TYPE).map(|mount| mount.id);
    Mounted { device, at, id }
}

/// Where a path leads, as mountinfo calls it. What is mounted there is not asked, as `canonicalize`
/// would; what is above it is, and may take its time.
fn resolve(at: &Path) -> io::Result<PathBuf> {
    let mut at = at.to_owned();
    for _ in 0..LINKS {
        let (Some(above), Some(name)) = (at.parent(), at.file_name()) else { return at.canonicalize() };
        let above = above.canonicalize()?;
        at = above.join(name);
        match fs::read_link(&at) {
            Ok(target) => at = above.join(target),
            Err(_) => return Ok(at),
        }
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP))
}

/// Asked in a thread of its own, which a daemon that lives and does not answer may keep.
fn is_dead(at: &Path) -> io::Result<bool> {
    let (path, end) = (at.to_owned(), Instant::now() + PATIENCE);
    let look = move || kernel::ask(&path).err().and_then(|error| error.raw_os_error());
    let ask = move || {
        let mut said = look();
        // It is ending just now.
        while matches!(said, Some(libc::ECONNABORTED | libc::ECANCELED)) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
            said = look();
        }
        said
    };
    match within("fuse-look", PATIENCE, ask) {
        Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok(false),
        said => Ok(said? == Some(libc::ENOTCONN)),
    }
}

#[cfg(test)]
mod tests;
