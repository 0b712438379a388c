//! What kernels ask for, of all mounts together.

use counters::Sums;

use crate::abi;

/// Numbers of requests are below this, as far as any is served. What is above counts at 0, which is
/// nobody's number.
const NUMBERS: usize = 64;

/// The requests that are served, by number, as they are counted and as who looks at one sees it.
/// All others are counted together.
const NAMES: [(u32, &str, &str); 33] = [
    (abi::LOOKUP, "lookup", "LOOKUP"),
    (abi::FORGET, "forget", "FORGET"),
    (abi::GETATTR, "getattr", "GETATTR"),
    (abi::SETATTR, "setattr", "SETATTR"),
    (abi::READLINK, "readlink", "READLINK"),
    (abi::SYMLINK, "symlink", "SYMLINK"),
    (abi::MKNOD, "mknod", "MKNOD"),
    (abi::MKDIR, "mkdir", "MKDIR"),
    (abi::UNLINK, "unlink", "UNLINK"),
    (abi::RMDIR, "rmdir", "RMDIR"),
    (abi::RENAME, "rename", "RENAME"),
    (abi::LINK, "link", "LINK"),
    (abi::OPEN, "open", "OPEN"),
    (abi::READ, "read", "READ"),
    (abi::WRITE, "write", "WRITE"),
    (abi::STATFS, "statfs", "STATFS"),
    (abi::RELEASE, "release", "RELEASE"),
    (abi::FSYNC, "fsync", "FSYNC"),
    (abi::SETXATTR, "setxattr", "SETXATTR"),
    (abi::GETXATTR, "getxattr", "GETXATTR"),
    (abi::LISTXATTR, "listxattr", "LISTXATTR"),
    (abi::REMOVEXATTR, "removexattr", "REMOVEXATTR"),
    (abi::OPENDIR, "opendir", "OPENDIR"),
    (abi::READDIR, "readdir", "READDIR"),
    (abi::RELEASEDIR, "releasedir", "RELEASEDIR"),
    (abi::FSYNCDIR, "fsyncdir", "FSYNCDIR"),
    (abi::CREATE, "create", "CREATE"),
    (abi::BATCH_FORGET, "batch_forget", "BATCH_FORGET"),
    (abi::FALLOCATE, "fallocate", "FALLOCATE"),
    (abi::READDIRPLUS, "readdirplus", "READDIRPLUS"),
    (abi::RENAME2, "rename2", "RENAME2"),
    (abi::LSEEK, "lseek", "LSEEK"),
    (abi::STATX, "statx", "STATX"),
];

/// As who looks at a request of this number sees it.
pub fn operation(number: u32) -> &'static str {
    NAMES.iter().find(|(known, ..)| *known == number).map_or("OTHER", |(_, _, operation)| operation)
}

/// Being counted.
#[derive(Debug, Default)]
pub struct Requests(Sums<NUMBERS>);

impl Requests {
    /// One of this number.
    pub fn add(&self, number: u32) {
        let place = usize::try_from(number).unwrap_or(0);
        self.0.add(if place < NUMBERS { place } else { 0 }, 1);
    }

    /// So far, by what is asked for; all others come last, as `other`.
    pub fn seen(&self) -> Vec<(&'static str, u64)> {
        let mut sums = self.0.get();
        let mut take = |number: u32| sums.get_mut(number as usize).map_or(0, std::mem::take);
        let mut seen: Vec<_> = NAMES.iter().map(|(number, name, _)| (*name, take(*number))).collect();
        seen.push(("other", sums.iter().sum()));
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_counted_once() {
        let requests = Requests::default();
        for number in [abi::READ, abi::READ, abi::IOCTL, abi::STATX, 63, 64, u32::MAX] {
            requests.add(number);
        }
        let seen = requests.seen();
        assert_eq!(seen.iter().map(|(_, count)| count).sum::<u64>(), 7);
        let of = |name: &str| seen.iter().find(|(known, _)| *known == name).map(|(_, count)| *count);
        assert_eq!((of("read"), of("statx"), of("other")), (Some(2), Some(1), Some(4)));
        assert_eq!(
            (operation(abi::FSYNC), operation(abi::IOCTL), operation(u32::MAX)),
            ("FSYNC", "OTHER", "OTHER")
        );
    }
}
