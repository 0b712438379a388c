//! Devices: the grammar of a vdev specification, the checks on it, and how a vdev is named.
//!
//! Facts from OpenZFS's cmd/zpool/zpool_vdev.c and `zpool_vdev_name` in lib/libzfs/libzfs_pool.c.

use crate::fail::{Stop, fail};
use api_types::{Health, NewVdevs, PoolStatus, VdevSpec, VdevStatus};
use std::fs;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// How vdevs are named: `-g`, `-P`, `-L`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Naming {
    pub guid: bool,
    pub path: bool,
    pub follow: bool,
}

/// A vdev's name: a disk by the last part of its path, a file by all of it.
pub fn name(vdev: &VdevStatus, naming: Naming) -> String {
    if naming.guid {
        return vdev.guid.to_string();
    }
    let Some(path) = &vdev.path else { return vdev.name.clone() };
    let real = naming.follow.then(|| fs::canonicalize(path).ok()).flatten();
    let path = real.map_or_else(|| path.clone(), |real| real.display().to_string());
    if naming.path || vdev.kind == "file" {
        return path;
    }
    if naming.follow { path.rsplit('/').next().unwrap_or(&path).to_owned() } else { vdev.name.clone() }
}

/// The children but for those of a class, which have headings of their own, and places where a vdev
/// once was.
pub fn normal(vdev: &VdevStatus) -> impl Iterator<Item = &VdevStatus> {
    vdev.children.iter().filter(|child| !child.is_log && child.class.is_none() && child.kind != "hole")
}

/// The children set apart for something, in the order in which they are listed; headings without
/// vdevs are left out.
pub fn classes(vdev: &VdevStatus) -> Vec<(&'static str, Vec<&VdevStatus>)> {
    let of = |title: &'static str, wanted: &dyn Fn(&VdevStatus) -> bool| {
        (title, vdev.children.iter().filter(|child| wanted(child)).collect::<Vec<_>>())
    };
    let apart = |class: &'static str| of(class, &|child| child.class.as_deref() == Some(class));
    let mut all = vec![apart("dedup"), apart("special"), of("logs", &|child| child.is_log)];
    all.retain(|(_, vdevs)| !vdevs.is_empty());
    all
}

/// As [`name_width`], with the pool's cache devices and spares.
pub fn pool_width(pool: &PoolStatus, naming: Naming) -> usize {
    let extras = pool.cache.iter().chain(&pool.spares).map(|extra| name(extra, naming).chars().count() + 2);
    extras.max().unwrap_or(0).max(name_width(&pool.root, &pool.name, naming))
}

/// The widest name in the tree, two columns of indentation a level. The root is named as the pool
/// is.
pub fn name_width(root: &VdevStatus, pool: &str, naming: Naming) -> usize {
    fn below(vdev: &VdevStatus, depth: usize, naming: Naming) -> usize {
        let own = name(vdev, naming).chars().count() + depth;
        vdev.children.iter().map(|child| below(child, depth + 2, naming)).max().unwrap_or(0).max(own)
    }
    let children = root.children.iter().map(|child| below(child, 2, naming));
    children.max().unwrap_or(0).max(pool.chars().count())
}

/// The word for a spare's health: one that is well is available, unless it stands in for a disk.
pub fn spare_state(spare: &VdevStatus) -> &'static str {
    match spare.health {
        _ if spare.used_by.is_some() => "INUSE",
        Health::Online => "AVAIL",
        health => health.name(),
    }
}

/// `mirror a b mirror c d log e cache f g`, `raidz2 a b c d`. Devices belong to the class that was
/// named last, data at first. Cache devices and spares are single devices only. Logs, cache devices
/// and spares are named once (`construct_spec`).
pub fn parse(words: &[String]) -> Result<NewVdevs, Stop> {
    let mut layout = NewVdevs::default();
    let mut class = "data";
    let mut named: Vec<&str> = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        let spec = match word.as_str() {
            word if is_class(word) => {
                class = word;
                if named.contains(&class) && !matches!(class, "special" | "dedup") {
                    return fail(format!("invalid vdev specification: '{word}' can be specified only once"));
                }
                named.push(class);
                // Others than cache devices and spares may be mirrors.
                let is_device = |next: &str| !is_grouping(next) && group_of(next).is_none();
                let next = words.get(at).map(String::as_str);
                match class {
                    "log" | "special" | "dedup" if next.is_none_or(is_grouping) => {
                        return fail(format!(
                            "invalid vdev specification: {word} requires at least 1 device"
                        ));
                    }
                    "cache" | "spare" if !next.is_some_and(is_device) => {
                        return fail(format!(
                            "invalid vdev specification: {word} requires at least 1 devices"
                        ));
                    }
                    _ => continue,
                }
            }
            word if group_of(word).is_some() => {
                let group = group_of(word).expect("it was just looked at");
                let end = words[at..].iter().position(|word| group_of(word).is_some() || is_grouping(word));
                let children = &words[at..end.map_or(words.len(), |end| at + end)];
                at += children.len();
                // A group behind cache devices or spares is data again.
                if matches!(class, "cache" | "spare") {
                    class = "data";
                }
                group.of(word, class, children)?
            }
            word if is_grouping(word) => {
                return fail(format!(
                    "invalid vdev specification: '{word}' vdevs are not supported by this version of Cistern yet"
                ));
            }
            word => leaf(word)?,
        };
        match (class, spec) {
            ("cache", VdevSpec::Leaf(path)) => layout.cache.push(path),
            ("spare", VdevSpec::Leaf(path)) => layout.spares.push(path),
            ("log", spec) => layout.logs.push(spec),
            ("special", spec) => layout.special.push(spec),
            ("dedup", spec) => layout.dedup.push(spec),
            (_, spec) => layout.data.push(spec),
        }
    }
    Ok(layout)
}

/// What a word puts the devices behind it into.
#[derive(Clone, Copy)]
enum Group {
    Mirror,
    Raidz(u64),
}

/// Most devices of a raidz.
const RAIDZ_MAX: usize = 255;

fn group_of(word: &str) -> Option<Group> {
    match word {
        "mirror" => Some(Group::Mirror),
        "raidz" | "raidz1" => Some(Group::Raidz(1)),
        "raidz2" => Some(Group::Raidz(2)),
        "raidz3" => Some(Group::Raidz(3)),
        _ => None,
    }
}

impl Group {
    fn of(self, word: &str, class: &str, children: &[String]) -> Result<VdevSpec, Stop> {
        let refuse = |why: String| fail(format!("invalid vdev specification: {why}"));
        if matches!(class, "log" | "special" | "dedup") && matches!(self, Group::Raidz(_)) {
            // OpenZFS calls devices for dedup tables so, too (`construct_spec`).
            let class = if class == "log" { class } else { "special" };
            return refuse(format!("unsupported '{class}' device: raidz"));
        }
        let (least, most) = match self {
            Group::Mirror => (2, usize::MAX),
            Group::Raidz(parity) => (parity as usize + 1, RAIDZ_MAX),
        };
        if children.len() < least {
            return refuse(format!("{word} requires at least {least} devices"));
        }
        if children.len() > most {
            return refuse(format!("{word} supports no more than {most} devices"));
        }
        let children = children.iter().map(|word| leaf(word)).collect::<Result<_, _>>()?;
        Ok(match self {
            Group::Mirror => VdevSpec::Mirror(children),
            Group::Raidz(parity) => VdevSpec::Raidz { parity, children },
        })
    }
}

fn is_class(word: &str) -> bool {
    matches!(word, "spare" | "log" | "special" | "dedup" | "cache")
}

fn is_grouping(word: &str) -> bool {
    word.starts_with("draid") || is_class(word)
}

/// The vdev of a pool that a word names: a guid, a name as `zpool status` shows it, or a path.
pub fn find<'a>(pool: &'a PoolStatus, word: &str) -> Option<&'a VdevStatus> {
    fn within<'a>(vdev: &'a VdevStatus, wanted: &dyn Fn(&VdevStatus) -> bool) -> Option<&'a VdevStatus> {
        if wanted(vdev) {
            return Some(vdev);
        }
        vdev.children.iter().find_map(|child| within(child, wanted))
    }
    let guid = word.parse().unwrap_or(0);
    let wanted = |vdev: &VdevStatus| {
        let path = vdev.path.as_deref();
        (guid != 0 && vdev.guid == guid)
            || vdev.name == word
            || path.is_some_and(|path| path == word || path.strip_prefix("/dev/") == Some(word))
    };
    let below = pool.root.children.iter().chain(&pool.cache).chain(&pool.spares);
    below.into_iter().find_map(|vdev| within(vdev, &wanted))
}

/// A path, or a device's name below one of the usual folders.
pub fn device(word: &str) -> Result<String, Stop> {
    const FOLDERS: [&str; 6] = [
        "/dev/disk/by-vdev",
        "/dev/mapper",
        "/dev/disk/by-partlabel",
        "/dev/disk/by-id",
        "/dev/disk/by-path",
        "/dev",
    ];
    let path = match word.strip_prefix('/') {
        Some(_) => word.to_owned(),
        None => {
            let found =
                FOLDERS.iter().map(|folder| format!("{folder}/{word}")).find(|path| Path::new(path).exists());
            match found {
                Some(path) if !word.starts_with('.') => path,
                _ => {
                    return fail(format!(
                        "cannot open '{word}': no such device in /dev\n\
                         must be a full path or shorthand device name"
                    ));
                }
            }
        }
    };
    let Ok(meta) = fs::metadata(&path) else {
        return fail(format!("cannot resolve path '{path}'"));
    };
    if !meta.is_file() && !meta.file_type().is_block_device() {
        return fail(format!("cannot use '{path}': must be a block device or regular file"));
    }
    Ok(path)
}

/// A value of `ashift`; `None` is 0, which leaves the choice to the devices
/// (cmd/zpool/zpool_vdev.c, `make_leaf_vdev`).
pub fn ashift(value: &str) -> Result<Option<u64>, Stop> {
    match stdx::number::parse(value) {
        Ok(0) => Ok(None),
        Ok(shift @ 9..=16) => Ok(Some(shift)),
        Ok(other) => {
            fail(format!("invalid 'ashift={other}' property: only values between 9 and 16 are allowed."))
        }
        Err(_) => fail("ashift must be a number."),
    }
}

fn leaf(word: &str) -> Result<VdevSpec, Stop> {
    device(word).map(VdevSpec::Leaf)
}

fn is_file(path: &str) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file())
}

/// What a leaf is, and how large where that can be seen.
struct Leaf {
    file: bool,
    size: Option<u64>,
}

fn inspect(spec: &VdevSpec) -> Vec<Leaf> {
    match spec {
        VdevSpec::Mirror(children) | VdevSpec::Raidz { children, .. } => {
            children.iter().flat_map(inspect).collect()
        }
        VdevSpec::Leaf(path) => {
            let file = is_file(path);
            let size = fs::File::open(path).and_then(|mut device| device.seek(SeekFrom::End(0))).ok();
            vec![Leaf { file, size }]
        }
    }
}

/// Sizes that differ by less than this count as the same (ZPOOL_FUZZ).
const FUZZ: u64 = 16 << 20;

/// How redundant a top-level vdev is.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Level {
    kind: &'static str,
    width: usize,
    /// 0 of what is no raidz.
    parity: u64,
}

impl Level {
    fn of_spec(spec: &VdevSpec) -> Level {
        match spec {
            VdevSpec::Leaf(path) => {
                Level { kind: if is_file(path) { "file" } else { "disk" }, width: 1, parity: 0 }
            }
            VdevSpec::Mirror(sides) => Level { kind: "mirror", width: sides.len(), parity: 0 },
            VdevSpec::Raidz { parity, children } => {
                Level { kind: "raidz", width: children.len(), parity: *parity }
            }
        }
    }

    /// Of a top-level vdev; a disk that is being replaced counts as one.
    fn of_vdev(vdev: &VdevStatus) -> Option<Level> {
        let width = vdev.children.len();
        match vdev.kind.as_str() {
            "mirror" => Some(Level { kind: "mirror", width, parity: 0 }),
            "raidz" => {
                // Its name tells the parity: raidz2-0.
                let parity = vdev.name.strip_prefix("raidz")?.split('-').next()?.parse().ok()?;
                Some(Level { kind: "raidz", width, parity })
            }
            "replacing" | "spare" => Level::of_vdev(vdev.children.first()?),
            "file" => Some(Level { kind: "file", width: 1, parity: 0 }),
            "disk" => Some(Level { kind: "disk", width: 1, parity: 0 }),
            _ => None,
        }
    }

    /// The two, where one is a raidz and the other a mirror, in this order.
    fn raidz_and_mirror(self, other: Level) -> Option<(Level, Level)> {
        match (self.kind, other.kind) {
            ("raidz", "mirror") => Some((self, other)),
            ("mirror", "raidz") => Some((other, self)),
            _ => None,
        }
    }

    /// What is wrong with two vdevs of these levels in one pool. A raidz and a mirror may stand
    /// side by side if as many devices may fail.
    fn mismatch(self, other: Level) -> Option<String> {
        let text = if let Some((raidz, mirror)) = self.raidz_and_mirror(other) {
            let spare = mirror.width as u64 - 1;
            let numbers = format!("{} vs. {spare} ({}-way) are present", raidz.parity, mirror.width);
            let text = format!("raidz and mirror vdevs with different redundancy, {numbers}");
            (raidz.parity != spare).then_some(text)?
        } else if self.kind != other.kind {
            format!("both {} and {} vdevs are present", self.kind, other.kind)
        } else if self.parity != other.parity {
            let kind = other.kind;
            format!("both {} and {} device parity {kind} vdevs are present", self.parity, other.parity)
        } else if self.width != other.width {
            format!("both {}-way and {}-way {} vdevs are present", self.width, other.width, other.kind)
        } else {
            return None;
        };
        Some(format!("mismatched replication level: {text}"))
    }
}

/// What is wrong with the redundancy of a specification; `-f` overrides it. One line each.
pub fn mismatches(tops: &[VdevSpec]) -> Vec<String> {
    let mut found = Vec::new();
    let mut last: Option<Level> = None;
    for top in tops {
        let leaves = inspect(top);
        let files = leaves.iter().filter(|leaf| leaf.file).count();
        let this = Level::of_spec(top);
        if files > 0 && files < leaves.len() {
            let kind = this.kind;
            found.push(format!("mismatched replication level: {kind} contains both files and devices"));
        }
        let sizes = leaves.iter().filter_map(|leaf| leaf.size);
        if let (Some(least), Some(most)) = (sizes.clone().min(), sizes.max())
            && most - least > FUZZ
        {
            found.push(format!("{} contains devices of different sizes", this.kind));
        }
        found.extend(last.and_then(|last: Level| last.mismatch(this)));
        last = Some(this);
    }
    found
}

/// How new top-level vdevs differ from a pool's; `-f` overrides it. `None` where they are alike, or
/// where the pool's own differ (`check_replication`).
pub fn mismatch_with(pool: &PoolStatus, new: &[VdevSpec]) -> Option<String> {
    let mut levels = normal(&pool.root).filter_map(Level::of_vdev);
    let (pool, new) = (levels.next()?, Level::of_spec(new.first()?));
    if levels.any(|level| level.mismatch(pool).is_some()) {
        return None;
    }
    let text = if let Some((raidz, mirror)) = pool.raidz_and_mirror(new) {
        let (parity, spare, width) = (raidz.parity, mirror.width as u64 - 1, mirror.width);
        let numbers = format!("{parity} vs. {spare} ({width}-way)");
        let text = format!("pool and new vdev with different redundancy, raidz and mirror vdevs, {numbers}");
        (parity != spare).then_some(text)?
    } else if pool.kind != new.kind {
        format!("pool uses {} and new vdev is {}", pool.kind, new.kind)
    } else if pool.parity != new.parity {
        format!("pool uses {} device parity and new vdev uses {}", pool.parity, new.parity)
    } else if pool.width != new.width {
        let kind = pool.kind;
        format!("pool uses {}-way {kind} and new vdev uses {}-way {kind}", pool.width, new.width)
    } else {
        return None;
    };
    Some(format!("mismatched replication level: {text}"))
}

#[cfg(test)]
mod tests;
