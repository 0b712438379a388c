//! The numbers of FUSE's protocol, version 7.28 and newer.
//!
//! Source: include/uapi/linux/fuse.h of Linux 6.18, which names each field.

/// What this server speaks. The kernel takes the smaller of both minors.
pub const MAJOR: u32 = 7;
pub const MINOR: u32 = 42;
/// The oldest that has what is used here: FUSE_INIT's answer with `max_pages`, that is Linux 4.20.
pub const OLDEST_MINOR: u32 = 28;

/// The number of the root.
pub const ROOT: u64 = 1;

pub const LOOKUP: u32 = 1;
pub const FORGET: u32 = 2;
pub const GETATTR: u32 = 3;
pub const SETATTR: u32 = 4;
pub const READLINK: u32 = 5;
pub const SYMLINK: u32 = 6;
pub const MKNOD: u32 = 8;
pub const MKDIR: u32 = 9;
pub const UNLINK: u32 = 10;
pub const RMDIR: u32 = 11;
pub const RENAME: u32 = 12;
pub const LINK: u32 = 13;
pub const OPEN: u32 = 14;
pub const READ: u32 = 15;
pub const WRITE: u32 = 16;
pub const STATFS: u32 = 17;
pub const RELEASE: u32 = 18;
pub const FSYNC: u32 = 20;
pub const SETXATTR: u32 = 21;
pub const GETXATTR: u32 = 22;
pub const LISTXATTR: u32 = 23;
pub const REMOVEXATTR: u32 = 24;
pub const INIT: u32 = 26;
pub const OPENDIR: u32 = 27;
pub const READDIR: u32 = 28;
pub const RELEASEDIR: u32 = 29;
pub const FSYNCDIR: u32 = 30;
pub const CREATE: u32 = 35;
pub const DESTROY: u32 = 38;
pub const IOCTL: u32 = 39;
pub const BATCH_FORGET: u32 = 42;
pub const FALLOCATE: u32 = 43;
pub const READDIRPLUS: u32 = 44;
pub const RENAME2: u32 = 45;
pub const LSEEK: u32 = 46;
/// Linux 6.1.
pub const TMPFILE: u32 = 51;
pub const STATX: u32 = 52;

/// Capabilities of FUSE_INIT; from bit 32 on they travel in `flags2`.
pub mod init {
    pub const ASYNC_READ: u64 = 1 << 0;
    pub const BIG_WRITES: u64 = 1 << 5;
    pub const DONT_MASK: u64 = 1 << 6;
    pub const AUTO_INVAL_DATA: u64 = 1 << 12;
    pub const DO_READDIRPLUS: u64 = 1 << 13;
    pub const READDIRPLUS_AUTO: u64 = 1 << 14;
    pub const ASYNC_DIO: u64 = 1 << 15;
    pub const PARALLEL_DIROPS: u64 = 1 << 18;
    pub const POSIX_ACL: u64 = 1 << 20;
    pub const MAX_PAGES: u64 = 1 << 22;
    pub const CACHE_SYMLINKS: u64 = 1 << 23;
    pub const EXPLICIT_INVAL_DATA: u64 = 1 << 25;
    pub const HANDLE_KILLPRIV_V2: u64 = 1 << 28;
    pub const INIT_EXT: u64 = 1 << 30;
    pub const DIRECT_IO_ALLOW_MMAP: u64 = 1 << 36;
    pub const OVER_IO_URING: u64 = 1 << 41;
}

/// `valid` of SETATTR.
pub mod setattr {
    pub const MODE: u32 = 1 << 0;
    pub const UID: u32 = 1 << 1;
    pub const GID: u32 = 1 << 2;
    pub const SIZE: u32 = 1 << 3;
    pub const ATIME: u32 = 1 << 4;
    pub const MTIME: u32 = 1 << 5;
    pub const FH: u32 = 1 << 6;
    pub const ATIME_NOW: u32 = 1 << 7;
    pub const MTIME_NOW: u32 = 1 << 8;
}

/// `getattr_flags`: the file is open.
pub const GETATTR_FH: u32 = 1 << 0;

/// `open_flags` of what was opened.
pub const OPEN_DIRECT_IO: u32 = 1 << 0;
pub const OPEN_KEEP_CACHE: u32 = 1 << 1;
pub const OPEN_CACHE_DIR: u32 = 1 << 3;
pub const OPEN_PARALLEL_DIRECT_WRITES: u32 = 1 << 6;

/// `write_flags`: out of the page cache; by one whose writes take setuid and setgid away.
pub const WRITE_CACHE: u32 = 1 << 0;
pub const WRITE_KILL_SUIDGID: u32 = 1 << 2;

/// `stx_mask`: what stat(2) tells, and the time of birth.
pub const STATX_BASIC_STATS: u32 = 0x7ff;
pub const STATX_BTIME: u32 = 0x800;

/// `error` of a message that answers nothing (`fuse_notify_code`): forget what is known of a node,
/// or that a name leads to one.
pub const NOTIFY_INVAL_INODE: i32 = 2;
pub const NOTIFY_INVAL_ENTRY: i32 = 3;
/// A flag of NOTIFY_INVAL_ENTRY: the name is looked up again, and what is mounted below it stays.
/// From this minor on.
pub const EXPIRE_ONLY: u32 = 1 << 0;
pub const EXPIRE_MINOR: u32 = 38;
/// Forget nodes that nobody uses, with their names; numbers of nodes stand behind a count. From
/// this minor on (Linux 6.18).
pub const NOTIFY_PRUNE: i32 = 9;
pub const PRUNE_MINOR: u32 = 45;
/// Bytes of NOTIFY_INVAL_ENTRY before the name.
pub const NOTIFY_ENTRY: usize = 16;

/// FUSE over io_uring (Linux 6.14).
pub mod ring {
    /// Commands: a new entry; an answer, and the next request.
    pub const REGISTER: u32 = 1;
    pub const COMMIT_AND_FETCH: u32 = 2;
    /// Bytes of `fuse_uring_req_header`. In it: the request's header and in its place the answer's;
    /// the first argument of a request; what has to be named when it is answered; how many bytes
    /// are in the memory beside it.
    pub const HEADERS: usize = 288;
    pub const OPERATION: usize = 128;
    pub const COMMIT_ID: usize = 264;
    pub const PAYLOAD: usize = 272;
    /// Bytes of a header and a first argument at most.
    pub const ROOM: usize = super::IN_HEADER + 128;
    /// In `fuse_uring_cmd_req`: what is answered, and the queue.
    pub const CMD_COMMIT_ID: usize = 8;
    pub const CMD_QUEUE: usize = 16;
}

/// Bytes of the header of a request.
pub const IN_HEADER: usize = 40;
/// Bytes of the header of an answer.
pub const OUT_HEADER: usize = 16;
/// A shorter buffer is refused by the kernel (FUSE_MIN_READ_BUFFER).
pub const MIN_READ_BUFFER: usize = 8192;
