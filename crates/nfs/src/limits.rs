//! Every limit of the server in one place.

use std::time::Duration;

/// Most bytes a READ or WRITE moves: rtmax and wtmax.
pub const MAX_TRANSFER: u32 = 1 << 20;
/// Longest record taken: a full WRITE and its headers.
pub const MAX_RECORD: usize = MAX_TRANSFER as usize + 4096;
const _: () = assert!(MAX_RECORD <= sockets::budget::LARGEST);
/// A record must be whole this long after its beginning: at the least 17 KiB/s for the largest.
pub const RECORD_TIME: Duration = Duration::from_secs(60);
/// Buffers kept for the next large records.
pub const LARGE_BUFFERS_KEPT: usize = 16;
/// Longest target of a symbolic link.
pub const MAX_PATH: u32 = 4096;
/// Longest path of a MOUNT call (RFC 1813 MNTPATHLEN).
pub const MAX_MOUNT_PATH: u32 = 1024;
/// Remembered mounts, for `showmount -a` only.
pub const MAX_MOUNTS: usize = 1024;
/// Preferred size of a READDIR reply, in bytes.
pub const PREFERRED_DIR: u32 = 128 << 10;
/// Threads for requests that wait: as many clients can wait for the disk at a time, and share what
/// they wait for.
pub const WORKERS: usize = 512;
/// Requests that any connection may have with workers, however many share them, and replies that
/// wait for stable storage; beyond, its reader works or waits itself.
pub const LEAST_SHARE: usize = 16;
/// Stack of a worker. What is never touched takes no memory.
pub const THREAD_STACK: usize = 512 << 10;
/// A worker that had nothing to do for this long ends.
pub const IDLE_THREAD: Duration = Duration::from_secs(5);
/// Replies written together at most, by number and bytes.
pub const BATCH_REPLIES: usize = 32;
pub const BATCH_BYTES: usize = 256 << 10;
/// Requests waiting for a worker, over all connections.
pub const QUEUED_REQUESTS: usize = 1024;
/// Replies to non-idempotent calls that are remembered, in bytes of memory: of one client, of all,
/// and for how long. A client has some 2,000 of them.
pub const DRC_BYTES_CLIENT: usize = 1 << 20;
pub const DRC_BYTES: usize = 16 << 20;
pub const DRC_SECONDS: u64 = 300;
/// Longer replies are not remembered; no reply of a non-idempotent procedure is that long.
pub const DRC_MAX_REPLY: usize = 1024;
/// Clients counted one by one; those beyond are counted together.
pub const COUNTED_CLIENTS: usize = 1024;
/// A peer that stands still this long inside a record is cut off.
pub const STALL: Duration = Duration::from_secs(60);
/// Connections, in all and from one address: for more, others that are silent end.
pub const CONNECTIONS: usize = 2048;
pub const FROM_ONE_PLACE: usize = 256;
/// What a reply may come to that does not say so in its call.
pub const USUAL_REPLY: usize = 512;
pub const LIST_REPLY: usize = 8 << 10;
/// How long `stop` lets connections finish.
pub const DRAIN: Duration = Duration::from_secs(5);
/// A host name in an export is resolved again after this long.
pub const NAME_AGE: Duration = Duration::from_secs(300);
