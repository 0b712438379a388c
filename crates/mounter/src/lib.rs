//! What takes privileges about local mounts: FUSE file systems are mounted in the machine's mount
//! namespace, get other options and are unmounted; the directories for them are made.
//!
//! There are two ways, and one set of requests ([`Mounter`]). A daemon that may mount does it
//! itself ([`Mounter::here`]). A daemon that may not has each request done by the *mount broker*
//! ([`Mounter::broker`]): a process of its own (`service`) that has the capabilities, and nothing
//! else. Both carry a request out by the same code (`here`).
//!
//! # What a daemon that has been taken over can do with the broker
//!
//! The daemon speaks to the network, so whoever finds a mistake in it acts as the user cistern. The
//! broker is root with CAP_SYS_ADMIN and CAP_DAC_OVERRIDE, so it believes nothing of what it is
//! told:
//!
//! - It takes nine requests of one bounded message each (`protocol`), from processes of one user,
//!   which the kernel names. No request has a flag, a file system type or a mount option that is
//!   not in a closed list. It opens no file that a request names, but directories, without reading
//!   anything of them but whether they have entries.
//! - It changes nothing in or above the directories that make up the system, nor at `/`
//!   (`bounds::KEPT`). It covers no directory with entries directly below `/` or `/var`, and none
//!   that belongs to another user. So nobody's home, mail or database is replaced by something
//!   else.
//! - It follows no symbolic link to what it changes: it goes down the path from `/`, a directory
//!   after the other, and then mounts at the directory that it has open. Whoever can rename on that
//!   path, or put a link there, wins nothing (`walk`).
//! - It unmounts, changes, and ends the connections of FUSE mounts of Cistern and of this user
//!   alone, as mountinfo says (`type fuse.cistern`, `user_id`).
//!
//! What remains: such a daemon can show files of its own making, with set-user-ID bits and device
//! nodes, at a place that is empty or that was the daemon's before; it had all files of its pools
//! anyway. Where programs and devices in file systems are not needed, the broker is told to mount
//! without them (`Client::forced`). It can make and remove empty directories outside the kept ones,
//! and find out which directories are there and where links lead. It can keep the broker from
//! serving itself.
//!
//! Bounds: a connection carries one request, for which it has `service::HURRY`; there are
//! `service::MOST` at a time, and the next is told so. The kernel may take as long as it likes to
//! mount or unmount, since a file system on the path may not answer. So whoever asks waits in a
//! thread of its own, with a bound ([`within`]), here as there.

mod answer;
mod apart;
mod bounds;
mod broker;
mod carry;
mod device_id;
mod fault;
mod flags;
mod guard;
mod helper;
mod here;
mod kernel;
mod mountinfo;
mod protocol;
mod request;
mod service;
mod socket;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use answer::Mounted;
pub use apart::within;
pub use device_id::DeviceId;
pub use fault::{Fault, Silence};
pub use flags::Flags;
pub use guard::Client;
pub use request::{How, Wanted};
pub use service::{Service, listen};

use answer::Answer;
use broker::Broker;
use carry::Carry;
use here::Here;
use request::Request;

/// Makes mounts and takes them away. A call may take as long as a file system on the path likes.
#[derive(Clone, Debug)]
pub struct Mounter(Arc<dyn Carry>);

impl Mounter {
    /// By this process, or by fusermount3 where it may not.
    pub fn here() -> Mounter {
        Mounter(Arc::new(Here::default()))
    }

    /// By the broker that listens at this path, whenever there is something to do.
    pub fn broker(socket: PathBuf) -> Mounter {
        Mounter(Arc::new(Broker::new(socket)))
    }

    /// Whether a mount there would hide something: a directory with entries.
    pub fn has_entries(&self, at: &Path) -> Result<bool, Fault> {
        self.is(&Request::HasEntries { at: plain(at) })
    }

    /// Where a path leads, as mountinfo calls it. What is mounted there is not asked; what is above
    /// it is. `NotFound` of the system where there is nothing.
    pub fn resolve(&self, at: &Path) -> Result<PathBuf, Fault> {
        let request = Request::Resolve { at: plain(at) };
        match self.0.carry_out(&request)? {
            Answer::Path(path) => Ok(path),
            answer => Err(self.odd(&request, &answer)),
        }
    }

    /// Takes a mount of a daemon that is dead away, with all below it. Whether there was one.
    pub fn remove_dead(&self, at: &Path) -> Result<bool, Fault> {
        self.is(&Request::RemoveDead { at: plain(at) })
    }

    /// Removes the empty directory that something was mounted at.
    pub fn remove_directory(&self, at: &Path) -> Result<(), Fault> {
        self.done(&Request::RemoveDirectory { at: plain(at) })
    }

    /// Makes the directory where it is missing, and mounts there. Whoever drops the device without
    /// having unmounted leaves a dead mount.
    pub fn mount(&self, wanted: &Wanted) -> Result<Mounted, Fault> {
        let request = Request::Mount(Wanted { at: plain(&wanted.at), ..wanted.clone() });
        match self.0.carry_out(&request)? {
            Answer::Mounted(mounted) => Ok(mounted),
            answer => Err(self.odd(&request, &answer)),
        }
    }

    /// Has the kernel read ahead as far as it may: it offers FUSE no more than its default of 128
    /// KiB when a mount begins. To be asked for when it has begun.
    pub fn raise_read_ahead(&self, at: &Path) -> Result<(), Fault> {
        self.done(&Request::RaiseReadAhead { at: plain(at) })
    }

    /// What is mounted there has these options from now on.
    pub fn remount(&self, at: &Path, flags: Flags) -> Result<(), Fault> {
        self.done(&Request::Remount { at: plain(at), flags })
    }

    /// Takes the mount away. `NotOurs` where there is none any more.
    pub fn unmount(&self, at: &Path, how: How) -> Result<(), Fault> {
        self.done(&Request::Unmount { at: plain(at), how })
    }

    /// Ends the connection of a mount that other mount namespaces still have, and logs who they
    /// are.
    pub fn cut(&self, device: DeviceId) -> Result<(), Fault> {
        self.done(&Request::Cut { device })
    }

    fn is(&self, request: &Request) -> Result<bool, Fault> {
        match self.0.carry_out(request)? {
            Answer::Is(is) => Ok(is),
            answer => Err(self.odd(request, &answer)),
        }
    }

    fn done(&self, request: &Request) -> Result<(), Fault> {
        match self.0.carry_out(request)? {
            Answer::Done => Ok(()),
            answer => Err(self.odd(request, &answer)),
        }
    }

    /// An answer to something else, which only a broker can give.
    fn odd(&self, request: &Request, answer: &Answer) -> Fault {
        tracing::error!(mounter = ?self.0, ?request, ?answer, "this answers something else");
        Fault::Broker(Silence::Odd)
    }
}

/// Without a slash at the end, and others that mean nothing.
fn plain(at: &Path) -> PathBuf {
    at.components().collect()
}
