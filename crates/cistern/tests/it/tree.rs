//! Trees of real files: where they come from, and what makes two of them equal.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use codec::checksum::checksum;

/// The raw value of sha256 in a block pointer.
const SHA256: u8 = 8;

/// What is at a path. Equal trees have equal nodes at equal paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    Dir {
        mode: u32,
    },
    File {
        mode: u32,
        size: u64,
        sha256: [u64; 4],
    },
    Link {
        target: Vec<u8>,
    },
    /// A device, a FIFO or a socket.
    Special {
        mode: u32,
        rdev: u64,
    },
}

/// By path below the root of the tree.
pub type Tree = BTreeMap<PathBuf, Node>;

pub fn sha256(data: &[u8]) -> [u64; 4] {
    checksum(SHA256, data, None, false).expect("sha256 needs nothing")
}

pub fn file_node(mode: u32, data: &[u8]) -> Node {
    Node::File { mode: mode & 0o7777, size: data.len() as u64, sha256: sha256(data) }
}

/// Calls `work` for every item from `threads` threads, each with a state of its own.
pub fn in_parallel<T: Sync, S>(
    threads: usize,
    items: &[T],
    start: impl Fn(usize) -> S + Sync,
    work: impl Fn(&mut S, &T) + Sync,
) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (next, start, work) = (&next, &start, &work);
            scope.spawn(move || {
                let mut state = start(thread);
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(&mut state, item);
                }
            });
        }
    });
}

fn walk(root: &Path, below: &Path, each: &mut impl FnMut(&Path, &fs::Metadata)) -> io::Result<()> {
    let mut entries = fs::read_dir(root.join(below))?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, meta) = (below.join(entry.file_name()), entry.metadata()?);
        each(&path, &meta);
        if meta.is_dir() {
            walk(root, &path, each)?;
        }
    }
    Ok(())
}

/// The regular files below `root` of at most `largest` bytes.
pub fn files(root: &Path, largest: u64) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut each = |path: &Path, meta: &fs::Metadata| {
        if meta.is_file() && meta.len() <= largest {
            found.push(root.join(path));
        }
    };
    walk(root, Path::new(""), &mut each).expect("a readable tree");
    found
}

/// Reads the tree at `root` as the file system shows it.
pub fn read(root: &Path) -> Tree {
    let mut paths = Vec::new();
    walk(root, Path::new(""), &mut |path, _| paths.push(path.to_owned())).expect("a readable tree");
    let tree = Mutex::new(Tree::new());
    in_parallel(
        8,
        &paths,
        |_| (),
        |(), path| {
            let full = root.join(path);
            let meta = fs::symlink_metadata(&full).expect("it was listed");
            let mode = meta.permissions().mode() & 0o7777;
            let node = if meta.is_symlink() {
                Node::Link { target: fs::read_link(&full).expect("a link").as_os_str().as_bytes().to_vec() }
            } else if meta.is_dir() {
                Node::Dir { mode }
            } else if !meta.is_file() {
                Node::Special { mode: meta.permissions().mode(), rdev: meta.rdev() }
            } else {
                file_node(
                    mode,
                    &fs::read(&full).unwrap_or_else(|error| panic!("{}: {error}", full.display())),
                )
            };
            tree.lock().expect("no thread panicked").insert(path.clone(), node);
        },
    );
    tree.into_inner().expect("no thread panicked")
}

/// Says where two trees differ first.
#[track_caller]
pub fn assert_equal(what: &str, found: &Tree, wanted: &Tree) {
    let missing = wanted.keys().find(|path| !found.contains_key(*path));
    assert!(missing.is_none(), "{what}: {missing:?} is missing");
    for (path, node) in found {
        assert_eq!(Some(node), wanted.get(path), "{what}: {}", path.display());
    }
}

/// Where this machine keeps many files: the Rust toolchain's documentation and libraries, sources
/// of crates, the system's own.
fn sources() -> Vec<PathBuf> {
    let sysroot =
        Command::new("rustc").args(["--print", "sysroot"]).output().map(|out| out.stdout).unwrap_or_default();
    let sysroot = PathBuf::from(String::from_utf8_lossy(&sysroot).trim());
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")));
    let mut all = vec![sysroot.join("share/doc"), sysroot.join("lib")];
    all.extend(home.map(|home| home.join("registry/src")));
    all.extend(["/usr/share", "/usr/lib", "/usr/include"].map(PathBuf::from));
    all.retain(|path| path.is_absolute() && path.is_dir());
    all
}

/// Copies `count` real files of at most `largest` bytes, with their directories and links, to `to`,
/// and a few larger ones of at most `total` bytes together.
pub fn gather(to: &Path, count: usize, largest: u64, total: u64) -> usize {
    let (mut files, mut room) = (0, total);
    for (number, source) in sources().iter().enumerate() {
        if files >= count && room <= largest {
            break;
        }
        let root = to.join(format!("{number}"));
        let mut copy = |path: &Path, meta: &fs::Metadata| {
            let (from, at) = (source.join(path), root.join(path));
            if meta.is_file() {
                let is_small = meta.len() <= largest;
                if (is_small && files >= count) || (!is_small && (meta.len() > room || meta.nlink() > 1)) {
                    return;
                }
                room -= if is_small { 0 } else { meta.len() };
                fs::create_dir_all(at.parent().expect("below the root")).expect("a directory");
                fs::copy(&from, &at).expect("copied");
                files += 1;
            } else if meta.is_symlink() && files < count && at.parent().is_some_and(Path::is_dir) {
                std::os::unix::fs::symlink(fs::read_link(&from).expect("a link"), &at).expect("a new link");
            }
        };
        walk(source, Path::new(""), &mut copy).expect("a readable source");
    }
    files
}
