//! Who is at the other end of a local socket, as the kernel noted it when the connection was made.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Groups that one process may be in, by the kernel's own limit (NGROUPS_MAX).
const GROUPS_MAX: usize = 65536;
/// First guess at how many they are.
const FEW: usize = 64;

/// The groups of the process at the other end, beside its first one.
pub fn groups(socket: &impl AsFd) -> io::Result<Vec<u32>> {
    let mut groups = vec![0u32; FEW];
    loop {
        match ask(socket, &mut groups) {
            Ok(count) => {
                groups.truncate(count);
                return Ok(groups);
            }
            // More than there is room for: the kernel has said how many.
            Err((error, count)) => {
                if error.raw_os_error() != Some(libc::ERANGE) || count <= groups.len() || count > GROUPS_MAX {
                    return Err(error);
                }
                groups.resize(count, 0);
            }
        }
    }
}

/// The user that this process runs as.
pub fn own_user() -> u32 {
    // SAFETY: it takes nothing, and cannot fail.
    unsafe { libc::geteuid() }
}

/// How many there are, in any case.
fn ask(socket: &impl AsFd, groups: &mut [u32]) -> Result<usize, (io::Error, usize)> {
    let mut length = size_of_val(groups) as libc::socklen_t;
    // SAFETY: the pointer and length are those of a live slice of numbers, of which any value is
    // valid; the kernel writes no more than the length says.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERGROUPS,
            groups.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    let count = length as usize / size_of::<u32>();
    if outcome == 0 { Ok(count) } else { Err((io::Error::last_os_error(), count)) }
}

#[cfg(test)]
mod tests {
    use super::groups;
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_groups_of_a_peer_are_those_of_this_process() {
        let (one, _other) = UnixStream::pair().expect("a pair of sockets");
        let mut found = groups(&one).expect("the kernel knows");
        let status = std::fs::read_to_string("/proc/self/status").expect("a process");
        let line = status.lines().find_map(|line| line.strip_prefix("Groups:")).expect("groups");
        let mut own: Vec<u32> = line.split_whitespace().map(|id| id.parse().expect("a number")).collect();
        found.sort_unstable();
        own.sort_unstable();
        assert_eq!(found, own);
    }
}
