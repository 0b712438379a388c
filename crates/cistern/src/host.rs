//! What the daemon knows of its machine: name, hostid, memory, privileges.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Name of this machine.
pub fn name() -> String {
    let read = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = read.trim();
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}

/// The names that others may know this machine by: its own, and those of /etc/hosts that stand
/// beside it.
pub fn names() -> Vec<String> {
    let hosts = fs::read_to_string("/etc/hosts").unwrap_or_default();
    names_in(&hosts, &name())
}

fn names_in(hosts: &str, name: &str) -> Vec<String> {
    let mut names = vec![name.to_owned()];
    for line in hosts.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let beside: Vec<&str> = line.split_whitespace().skip(1).collect();
        if beside.iter().any(|one| one.eq_ignore_ascii_case(name)) {
            names.extend(
                beside
                    .iter()
                    .filter(|one| !one.eq_ignore_ascii_case(name))
                    .take(8)
                    .map(|one| (*one).to_owned()),
            );
        }
    }
    names.dedup();
    names
}

/// The number that tells two machines apart, and the file whose number counts instead, looked at
/// each time: `hostid` of the state folder says which it is for good; else /etc/hostid does
/// (zgenhostid(8)), as long as it is there; else it is one that is drawn once, and kept with the
/// state.
pub fn id(state: &Path, random: u64) -> (u64, Option<PathBuf>) {
    if let Some(id) = env::text::hostid(&state.join("hostid")) {
        return (id, None);
    }
    let etc = Some(PathBuf::from("/etc/hostid"));
    let kept = state.join("hostid.drawn");
    if let Some(id) = env::text::hostid(&kept) {
        return (id, etc);
    }
    let id = random & 0xffff_ffff | 1;
    if let Err(error) = fs::write(&kept, format!("{id:08x}\n")) {
        tracing::warn!(%error, "the hostid cannot be kept: pools will look foreign after a restart");
    }
    (id, etc)
}

/// Seconds since the machine was started, those asleep among them; `None`: the kernel does not say.
pub fn uptime() -> Option<u64> {
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    uptime.split(['.', ' ']).next()?.parse().ok()
}

/// Another number after each start of the machine; 0 where the kernel does not say it.
pub fn boot() -> u64 {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = id.chars().filter(char::is_ascii_hexdigit).take(16).collect();
    u64::from_str_radix(&digits, 16).unwrap_or(0)
}

/// Bytes of memory that this process may use.
pub fn memory() -> u64 {
    let of_machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
    });
    let machine = of_machine.unwrap_or(1 << 30);
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    group_memory(&groups, Path::new("/sys/fs/cgroup")).map_or(machine, |limit| machine.min(limit))
}

/// Bytes that the control groups of a process allow it: the least of its own group's and of all
/// above. `groups` is as /proc/self/cgroup, below `root` they are mounted: version 2, or the memory
/// controller of version 1. A container may see its own group as the root.
fn group_memory(groups: &str, root: &Path) -> Option<u64> {
    let limits = groups.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next().unwrap_or_default(), fields.next().unwrap_or("/"));
        let (below, files): (_, &[&str]) = match controllers {
            "" => (root.to_owned(), &["memory.max", "memory.high"]),
            _ if controllers.split(',').any(|one| one == "memory") => {
                (root.join("memory"), &["memory.limit_in_bytes"])
            }
            _ => return Vec::new(),
        };
        let above: Vec<PathBuf> =
            Path::new(path.trim_start_matches('/')).ancestors().map(|group| below.join(group)).collect();
        let read = |file: PathBuf| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
        above.iter().flat_map(|group| files.iter().filter_map(|file| read(group.join(file)))).collect()
    });
    limits.min()
}

/// Every connection is an open file, and there may be more of them than programs may open unless
/// they say so.
pub fn allow_many_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both take a number and a structure that outlives the call.
    let is_allowed = unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 && {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) == 0
        }
    };
    if !is_allowed {
        tracing::warn!(error = %std::io::Error::last_os_error(), "no more files can be open than usual");
    }
}

/// Number of the user that this program runs as; `None` where /proc does not tell.
pub fn user() -> Option<u32> {
    owner().map(|(user, _)| user)
}

/// The same with his group.
pub fn owner() -> Option<(u32, u32)> {
    fs::metadata("/proc/self").ok().map(|own| (own.uid(), own.gid()))
}

pub fn is_root() -> bool {
    user() == Some(0)
}

#[cfg(test)]
mod tests;
