//! Why something was not done.

use std::io;
use std::path::PathBuf;

use nix::errno::Errno;

/// See the module.
#[derive(Debug)]
pub enum Fault {
    /// The operating system's reason, or fusermount3's words.
    Os(io::Error),
    /// This process may not mount, and fusermount3 is not there.
    NoHelper,
    /// /etc/fuse.conf does not let fusermount3 mount for all users.
    NotForAll,
    /// This process may not give a mount other options, and fusermount3 cannot.
    RootAlone,
    /// The directory has entries, and they were not to be hidden.
    NotEmpty,
    /// Nothing is mounted there, or something else than a mount of Cistern; for the broker also
    /// one of another user.
    NotOurs,
    /// The broker changes nothing there: it is a place of the system, or has another owner.
    Kept,
    /// A symbolic link stands on the path, and the broker follows none.
    Link,
    /// The broker did not do it.
    Broker(Silence),
}

/// Why the broker says nothing about a request.
#[derive(Debug)]
pub enum Silence {
    /// It cannot be reached at its socket.
    Unreachable { socket: PathBuf, error: io::Error },
    /// It has as many requests as it takes.
    Busy,
    /// It serves another user.
    Stranger,
    /// It belongs to another version of this program.
    Version,
    /// One of the two makes no sense to the other.
    Odd,
}

impl Fault {
    /// The system's number, where it is the system that refuses.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Fault::Os(error) => error.raw_os_error(),
            _ => None,
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        Fault::Os(error)
    }
}

impl From<Errno> for Fault {
    fn from(errno: Errno) -> Fault {
        Fault::Os(errno.into())
    }
}
