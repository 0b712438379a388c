//! Local mounts: a file system of the engine behind the kernel's FUSE.
//!
//! Who checks what. The kernel checks permissions (`default_permissions`), with the caller's real
//! groups and capabilities, at open and on every path; so data goes through an open handle with
//! root's credential, as POSIX wants: what counts is what was allowed at open. Everything that
//! makes or changes a node goes to the engine with the caller's own credential, since ownership,
//! setgid and the like follow from it, and the engine checks again. FUSE does not tell the
//! supplementary groups, and reading them from /proc costs as much as the call itself; they are
//! read only where the answer can depend on them (see [`caller`]).
//!
//! Caching. The same file system changes through NFS too, by rollback and receive, behind the
//! kernel's back. Where the engine tells what others change, the kernel is told in its turn
//! (`notifier`), within a moment, and believes names and attributes for a minute, and data until it
//! is told; else names and attributes for [`MountOptions::cache`], data until size or mtime are
//! seen to differ, or the file is opened and has changed since it was opened last. Whoever opens a
//! file after another's change was answered reads that change in any case. A program may write past
//! the page cache while others read the same file through it: then the kernel is told to drop the
//! file's pages before the writer is answered, and the writer waits for that a moment at the most.
//! There is no write-back cache: what `write` returned from is in the engine.
//!
//! Access times. The kernel keeps none, and tells nobody what it answers from its caches. So who
//! opens a node to read it is taken to have read it then, unless with O_NOATIME, and the kernel is
//! told before the open is answered: whoever looks afterwards sees the new time. What it asks here
//! counts when it asks. A link's target it drops where reading it counted, since it is not opened.
//! Not seen: who reads again what he has open for long, while the kernel has it. To take the close
//! for a read would be wrong more often: it comes late, and would undo what utimensat(2) has set.
//!
//! The kernel's protocol is spoken here (`request`, `reply`), by one pool of threads (`pool`) and
//! buffers (`buffers`) for all mounts; where the kernel allows it, over io_uring (`ring`, `rings`).
//!
//! Mounting and unmounting itself, which takes privileges, is `mounter`'s: this crate serves what
//! hangs on a device of /dev/fuse.
//!
//! Node numbers are object numbers (the root is 1, as FUSE demands), with the engine's generation
//! beside them. Invariants: a handle that the kernel has open is one `FileSystem::open`, closed
//! exactly once, also when the connection is aborted; a failed call changed nothing and took no
//! reference.

mod abi;
mod buffers;
mod caller;
mod channel;
mod convert;
mod device;
mod dir;
mod errno;
mod file_flags;
mod flat;
mod handles;
mod inodes;
mod lock;
mod mount;
mod notifier;
mod ops;
mod options;
mod page;
mod pool;
mod recall;
mod reply;
mod request;
mod ring;
mod rings;
mod room;
mod server;
mod stats;
mod trust;
mod why;

pub use mount::{At, Mount, Telling, mount};
pub use options::MountOptions;
pub use pool::Pool;
pub use room::Limits;
pub use why::why;
