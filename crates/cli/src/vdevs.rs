//! Devices: the grammar of a vdev specification, the checks on it, and how a vdev is named.
//!
//! Facts from OpenZFS's cmd/zpool/zpool_vdev.c and `zpool_vdev_name` in lib/libzfs/libzfs_pool.c.

use crate::fail::{Stop, fail};
use api_types::{Health, Pool, Vdev, VdevSpec};
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
pub fn name(vdev: &Vdev, naming: Naming) -> String {
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

/// The children but for log devices, which have a heading of their own, and places where a vdev once was.
pub fn normal(vdev: &Vdev) -> impl Iterator<Item = &Vdev> {
    vdev.children.iter().filter(|child| !child.is_log && child.kind != "hole")
}

/// The log devices among the children.
pub fn logs(vdev: &Vdev) -> impl Iterator<Item = &Vdev> {
    vdev.children.iter().filter(|child| child.is_log)
}

/// As [`name_width`], with the pool's cache devices and spares.
pub fn pool_width(pool: &Pool, naming: Naming) -> usize {
    let extras = pool.cache.iter().chain(&pool.spares).map(|extra| name(extra, naming).chars().count() + 2);
    extras.max().unwrap_or(0).max(name_width(&pool.root, &pool.name, naming))
}

/// The widest name in the tree, two columns of indentation a level. The root is named as the pool is.
pub fn name_width(root: &Vdev, pool: &str, naming: Naming) -> usize {
    fn below(vdev: &Vdev, depth: usize, naming: Naming) -> usize {
        let own = name(vdev, naming).chars().count() + depth;
        vdev.children.iter().map(|child| below(child, depth + 2, naming)).max().unwrap_or(0).max(own)
    }
    let children = root.children.iter().map(|child| below(child, 2, naming));
    children.max().unwrap_or(0).max(pool.chars().count())
}

/// The word for a spare's health: one that is well is available.
pub fn spare_state(spare: &Vdev) -> &'static str {
    if spare.health == Health::Online { "AVAIL" } else { spare.health.name() }
}

/// What `zpool create` and `zpool add` are given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    pub data: Vec<VdevSpec>,
    pub logs: Vec<VdevSpec>,
    /// Paths.
    pub cache: Vec<String>,
}

/// `mirror a b mirror c d log e cache f g`. Devices belong to the class that was named last, data at first.
pub fn parse(words: &[String]) -> Result<Layout, Stop> {
    let mut layout = Layout::default();
    let mut class = "data";
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        let spec = match word.as_str() {
            "log" | "cache" => {
                class = word;
                if words.get(at).is_none_or(|next| is_class(next)) {
                    return fail(format!("invalid vdev specification: '{word}' requires at least 1 devices"));
                }
                continue;
            }
            "mirror" => {
                let end = words[at..].iter().position(|word| word == "mirror" || is_grouping(word));
                let sides = &words[at..end.map_or(words.len(), |end| at + end)];
                if class == "cache" {
                    return fail("invalid vdev specification: unsupported 'cache' device: mirror");
                }
                if sides.len() < 2 {
                    return fail("invalid vdev specification: mirror requires at least 2 devices");
                }
                at += sides.len();
                VdevSpec::Mirror(sides.iter().map(|word| leaf(word)).collect::<Result<_, _>>()?)
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
            ("log", spec) => layout.logs.push(spec),
            (_, spec) => layout.data.push(spec),
        }
    }
    Ok(layout)
}

fn is_class(word: &str) -> bool {
    matches!(word, "spare" | "log" | "special" | "dedup" | "cache")
}

fn is_grouping(word: &str) -> bool {
    word.starts_with("raidz") || word.starts_with("draid") || is_class(word)
}

/// The vdev of a pool that a word names: a guid, a name as `zpool status` shows it, or a path.
pub fn find<'a>(pool: &'a Pool, word: &str) -> Option<&'a Vdev> {
    fn within<'a>(vdev: &'a Vdev, wanted: &dyn Fn(&Vdev) -> bool) -> Option<&'a Vdev> {
        if wanted(vdev) {
            return Some(vdev);
        }
        vdev.children.iter().find_map(|child| within(child, wanted))
    }
    let guid = word.parse().unwrap_or(0);
    let wanted = |vdev: &Vdev| {
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

fn leaf(word: &str) -> Result<VdevSpec, Stop> {
    device(word).map(VdevSpec::Leaf)
}

/// What a leaf is, and how large where that can be seen.
struct Leaf {
    file: bool,
    size: Option<u64>,
}

fn inspect(spec: &VdevSpec) -> Vec<Leaf> {
    match spec {
        VdevSpec::Mirror(sides) => sides.iter().flat_map(inspect).collect(),
        VdevSpec::Leaf(path) => {
            let file = fs::metadata(path).is_ok_and(|meta| meta.is_file());
            let size = fs::File::open(path).and_then(|mut device| device.seek(SeekFrom::End(0))).ok();
            vec![Leaf { file, size }]
        }
    }
}

/// Sizes that differ by less than this count as the same (ZPOOL_FUZZ).
const FUZZ: u64 = 16 << 20;

/// What is wrong with the redundancy of a specification; `-f` overrides it. One line each.
pub fn mismatches(tops: &[VdevSpec]) -> Vec<String> {
    let mut found = Vec::new();
    let mut last: Option<(&str, usize)> = None;
    for top in tops {
        let leaves = inspect(top);
        let files = leaves.iter().filter(|leaf| leaf.file).count();
        let this = match top {
            VdevSpec::Leaf(_) => (if files > 0 { "file" } else { "disk" }, 1),
            VdevSpec::Mirror(sides) => ("mirror", sides.len()),
        };
        if files > 0 && files < leaves.len() {
            found.push(format!("mismatched replication level: {} contains both files and devices", this.0));
        }
        let sizes = leaves.iter().filter_map(|leaf| leaf.size);
        if let (Some(least), Some(most)) = (sizes.clone().min(), sizes.max())
            && most - least > FUZZ
        {
            found.push(format!("{} contains devices of different sizes", this.0));
        }
        if let Some((kind, width)) = last {
            if kind != this.0 {
                let text = format!("both {kind} and {} vdevs are present", this.0);
                found.push(format!("mismatched replication level: {text}"));
            } else if width != this.1 {
                let text = format!("both {width}-way and {}-way {kind} vdevs are present", this.1);
                found.push(format!("mismatched replication level: {text}"));
            }
        }
        last = Some(this);
    }
    found
}

#[cfg(test)]
mod tests;
