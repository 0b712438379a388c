//! What kernels ask for, of all mounts together.

use counters::Sums;

use crate::abi;

/// Numbers of requests are below this, as far as any is served. What is above counts at 0, which is
/// nobody's number.
const NUMBERS: usize = 64;

/// The requests that are served, by number. All others are counted together.
const NAMES: [(u32, &str); 33] = [
    (abi::LOOKUP, "lookup"),
    (abi::FORGET, "forget"),
    (abi::GETATTR, "getattr"),
    (abi::SETATTR, "setattr"),
    (abi::READLINK, "readlink"),
    (abi::SYMLINK, "symlink"),
    (abi::MKNOD, "mknod"),
    (abi::MKDIR, "mkdir"),
    (abi::UNLINK, "unlink"),
    (abi::RMDIR, "rmdir"),
    (abi::RENAME, "rename"),
    (abi::LINK, "link"),
    (abi::OPEN, "open"),
    (abi::READ, "read"),
    (abi::WRITE, "write"),
    (abi::STATFS, "statfs"),
    (abi::RELEASE, "release"),
    (abi::FSYNC, "fsync"),
    (abi::SETXATTR, "setxattr"),
    (abi::GETXATTR, "getxattr"),
    (abi::LISTXATTR, "listxattr"),
    (abi::REMOVEXATTR, "removexattr"),
    (abi::OPENDIR, "opendir"),
    (abi::READDIR, "readdir"),
    (abi::RELEASEDIR, "releasedir"),
    (abi::FSYNCDIR, "fsyncdir"),
    (abi::CREATE, "create"),
    (abi::BATCH_FORGET, "batch_forget"),
    (abi::FALLOCATE, "fallocate"),
    (abi::READDIRPLUS, "readdirplus"),
    (abi::RENAME2, "rename2"),
    (abi::LSEEK, "lseek"),
    (abi::STATX, "statx"),
];

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
        let mut seen: Vec<_> = NAMES.iter().map(|(number, name)| (*name, take(*number))).collect();
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
    }
}
