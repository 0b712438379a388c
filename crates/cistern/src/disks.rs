//! Disks of the machine, and what uses them, as the kernel tells it: `/sys/block`, mounts, swaps;
//! and files in the folders where pools are looked for.
//!
//! What is written on a disk is not read here. Whether an old pool or file system is on it, making
//! a pool finds out, and refuses.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use api_types::{Disk, DiskKind, DiskUse, VdevStatus};
use engine_api::refusal::{Action, Reason, Refused};
use engine_api::{Engine, Result};
use stdx::os_error::words;

const DEVICES: &str = "/dev";
const BLOCK: &str = "/sys/block";
const BY_ID: &str = "/dev/disk/by-id";
/// Block devices that are no place for data: memory, and media that are put in.
const NO_DISKS: [&str; 4] = ["ram", "zram", "sr", "fd"];
/// A smaller file is no image of a disk (`SPA_MINDEVSIZE`).
const SMALLEST: u64 = 64 << 20;
/// `/sys` counts in these whatever the sectors of a disk.
const SECTOR: u64 = 512;
/// Disks that are told at the most, and files of one folder that are looked at.
const MOST: usize = 4096;

/// Which pool has the device of a path.
pub type Taken = HashMap<PathBuf, String>;

/// The devices of all pools that are imported.
pub fn of_pools(engine: &dyn Engine) -> Taken {
    let mut taken = Taken::new();
    for pool in engine.pools() {
        let status = pool.status();
        let roots = [&status.root].into_iter().chain(&status.spares).chain(&status.cache);
        roots.for_each(|root| add_leaves(root, &status.name, &mut taken));
    }
    taken
}

fn add_leaves(vdev: &VdevStatus, pool: &str, taken: &mut Taken) {
    // One that is gone has no other name.
    let real = |path: &String| fs::canonicalize(path).unwrap_or_else(|_| path.into());
    taken.extend(vdev.path.as_ref().map(|path| (real(path), pool.to_owned())));
    vdev.children.iter().for_each(|child| add_leaves(child, pool, taken));
}

/// All disks, by path.
///
/// # Errors
/// The operating system does not tell of its devices.
pub fn list(search: &[String], taken: &Taken) -> Result<Vec<Disk>> {
    let failed = |path: &str, error: &io::Error| -> engine_api::Error {
        Refused::new(Action::Use { path: path.to_owned() }, Reason::Os { message: words(error) }).into()
    };
    let seen = Seen::look(taken).map_err(|error| failed("/proc", &error))?;
    let mut disks = seen.devices().map_err(|error| failed(BLOCK, &error))?;
    for folder in search.iter().filter(|folder| !Path::new(folder).starts_with(DEVICES)) {
        match files(Path::new(folder), taken) {
            Ok(found) => disks.extend(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(folder, &error)),
        }
    }
    disks.sort_by(|a, b| a.path.cmp(&b.path));
    disks.truncate(MOST);
    Ok(disks)
}

/// Files of a folder that may be disks.
fn files(folder: &Path, taken: &Taken) -> io::Result<Vec<Disk>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)?.take(MOST) {
        let path = entry?.path();
        // One that goes meanwhile is none.
        let Ok(about) = fs::metadata(&path) else { continue };
        let (Some(name), true) = (path.file_name(), about.is_file() && about.len() >= SMALLEST) else {
            continue;
        };
        let real = fs::canonicalize(&path)?;
        let pool = taken.get(&real).map(|name| DiskUse::Pool { name: name.clone() });
        let read_only = about.permissions().readonly().then_some(DiskUse::ReadOnly);
        found.push(Disk {
            name: name.to_string_lossy().into_owned(),
            path: real.to_string_lossy().into_owned(),
            size: about.len(),
            kind: DiskKind::File,
            model: None,
            serial: None,
            used: pool.or(read_only),
        });
    }
    Ok(found)
}

/// What the kernel says of the use of devices.
struct Seen<'a> {
    /// By major and minor number, as in `8:1`.
    mounts: HashMap<String, String>,
    /// Devices that are swapped to.
    swaps: Vec<PathBuf>,
    /// Names that stay, by what they lead to.
    lasting: HashMap<PathBuf, PathBuf>,
    taken: &'a Taken,
}

impl Seen<'_> {
    fn look(taken: &Taken) -> io::Result<Seen<'_>> {
        let mounts = mounts(&fs::read_to_string("/proc/self/mountinfo")?);
        let swaps = swaps(&fs::read_to_string("/proc/swaps")?);
        // Without udev there are none.
        let links = fs::read_dir(BY_ID).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        Ok(Seen { mounts, swaps, lasting: lasting(links), taken })
    }

    fn devices(&self) -> io::Result<Vec<Disk>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(BLOCK)? {
            let folder = entry?.path();
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let kernel = name.trim_end_matches(|c: char| c.is_ascii_digit());
            let size = number(&folder.join("size")).unwrap_or(0) * SECTOR;
            if size >= SMALLEST && !NO_DISKS.contains(&kernel) {
                found.push(self.device(&folder, name, size));
            }
        }
        Ok(found)
    }

    fn device(&self, folder: &Path, name: String, size: u64) -> Disk {
        // In /sys a slash of a name is an exclamation mark.
        let node = Path::new(DEVICES).join(name.replace('!', "/"));
        let path = self.lasting.get(&node).unwrap_or(&node);
        let kind = match number(&folder.join("queue/rotational")) {
            _ if folder.join("loop").exists() => DiskKind::File,
            Some(1) => DiskKind::Rotating,
            Some(_) | None => DiskKind::SolidState,
        };
        let model = text(&folder.join("device/model"));
        let serial = text(&folder.join("device/serial")).or_else(|| text(&folder.join("serial")));
        let path = path.to_string_lossy().into_owned();
        Disk { path, name, size, kind, model, serial, used: self.used(folder, &node) }
    }

    /// What uses a device, or a partition of it.
    fn used(&self, folder: &Path, node: &Path) -> Option<DiskUse> {
        let partitions = partitions(folder);
        let parts = partitions.iter().map(|part| {
            let name = part.file_name().unwrap_or_default().to_string_lossy().replace('!', "/");
            (part.as_path(), Path::new(DEVICES).join(name))
        });
        for (folder, node) in [(folder, node.to_path_buf())].into_iter().chain(parts) {
            if let Some(name) = self.taken.get(&node) {
                return Some(DiskUse::Pool { name: name.clone() });
            }
            let at = text(&folder.join("dev")).and_then(|number| self.mounts.get(&number));
            if let Some(at) = at {
                return Some(DiskUse::Mounted { at: at.clone() });
            }
            if self.swaps.contains(&node) {
                return Some(DiskUse::Swap);
            }
            if let Some(holder) = names(&folder.join("holders")).into_iter().next() {
                return Some(DiskUse::Held { by: holder });
            }
        }
        if number(&folder.join("ro")) == Some(1) {
            return Some(DiskUse::ReadOnly);
        }
        let count = partitions.len() as u64;
        (count > 0).then_some(DiskUse::Partitions { count })
    }
}

fn partitions(folder: &Path) -> Vec<PathBuf> {
    let all = names(folder).into_iter().map(|name| folder.join(name));
    all.filter(|path| path.join("partition").exists()).collect()
}

/// What is in a folder of `/sys`, in order. A device that goes meanwhile has nothing.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

/// A file of `/sys`; not every device has each.
fn text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn number(path: &Path) -> Option<u64> {
    text(path)?.parse().ok()
}

/// Mount points by device, of `/proc/self/mountinfo`: of several, the first.
fn mounts(info: &str) -> HashMap<String, String> {
    let mut found = HashMap::new();
    for line in info.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let [_, _, number, _, at, ..] = words[..] {
            found.entry(number.to_owned()).or_insert_with(|| at.replace("\\040", " "));
        }
    }
    found
}

/// Devices of `/proc/swaps`.
fn swaps(table: &str) -> Vec<PathBuf> {
    table.lines().skip(1).filter_map(|line| line.split_whitespace().next()).map(PathBuf::from).collect()
}

/// For each device, the first of the links that lead to it; one that is made of a world-wide name
/// alone (`wwn-…`) only where there is no other, for people read these.
fn lasting(links: impl Iterator<Item = PathBuf>) -> HashMap<PathBuf, PathBuf> {
    let is_number =
        |link: &Path| link.file_name().is_some_and(|name| name.to_string_lossy().starts_with("wwn-"));
    let all: BTreeMap<(bool, PathBuf), PathBuf> = links
        .filter_map(|link| Some(((is_number(&link), link.clone()), fs::canonicalize(&link).ok()?)))
        .collect();
    let mut found = HashMap::new();
    for ((_, link), device) in all {
        found.entry(device).or_insert(link);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_and_swaps_are_read_as_the_kernel_writes_them() {
        let found = mounts(
            "29 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
             30 29 8:1 /srv /srv rw - ext4 /dev/sda1 rw\n\
             31 29 8:17 / /my\\040data rw - xfs /dev/sdb1 rw\nshort line\n",
        );
        assert_eq!(found.get("8:1").map(String::as_str), Some("/"));
        assert_eq!(found.get("8:17").map(String::as_str), Some("/my data"));
        assert_eq!(found.len(), 2);
        let table = "Filename\tType\tSize\tUsed\tPriority\n/dev/sda2  partition\t100\t0\t-2\n";
        assert_eq!(swaps(table), [PathBuf::from("/dev/sda2")]);
        assert!(swaps("Filename\tType\n").is_empty());
    }
}
