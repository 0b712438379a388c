//! A whole file system as a value: walked through the public interface, compared, and its
//! differences told.
//!
//! Content is kept as one hash per 4 KiB block that is not all zero, so that it does not depend on
//! where holes are and the first differing byte range can be named. Data is found by `seek`, so
//! that a sparse file of 2^63 bytes is walked too.

use engine_api::{Attr, Cred, DirLimit, Error, FileSystem, NodeId, NodeKind, Result, Seek, Time};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hasher};

const BLOCK: u64 = 4096;
const READ: u64 = 1 << 20;

/// One node as found under a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeNode {
    pub kind: NodeKind,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub nlink: u64,
    pub size: u64,
    pub rdev: (u32, u32),
    pub mtime: Time,
    pub ctime: Time,
    /// The first path, in walking order, that named the same node: its own where it is the first.
    pub same_as: Vec<u8>,
    /// (offset, hash) of every 4 KiB block that is not all zero.
    pub blocks: Vec<(u64, u64)>,
    pub target: Option<Vec<u8>>,
    pub xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// Every path, the root as the empty one, without a leading slash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    pub nodes: BTreeMap<Vec<u8>, TreeNode>,
}

/// What two trees are compared by, beside everything that is always compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compare {
    /// mtime and ctime: only where both sides ran by the same clock.
    pub times: bool,
}

/// Walk everything, as root.
pub fn dump(fs: &dyn FileSystem) -> Result<Tree> {
    let mut walk = Walk { fs, cred: Cred::root(), first: BTreeMap::new(), tree: Tree::default() };
    let root = fs.getattr(fs.root())?;
    let mut pending = vec![(Vec::new(), root)];
    while let Some((path, attr)) = pending.pop() {
        if attr.kind == NodeKind::Dir {
            pending.extend(walk.children(&path, attr.node)?);
        }
        let node = walk.node(&path, &attr)?;
        walk.tree.nodes.insert(path, node);
    }
    Ok(walk.tree.with_first_paths())
}

struct Walk<'a> {
    fs: &'a dyn FileSystem,
    cred: Cred,
    first: BTreeMap<(u64, u64), Vec<u8>>,
    tree: Tree,
}

impl Walk<'_> {
    fn children(&self, path: &[u8], dir: NodeId) -> Result<Vec<(Vec<u8>, Attr)>> {
        let mut found = Vec::new();
        let mut cookie = 0;
        loop {
            let limit = DirLimit { entries: 1000, name_bytes: 64 << 10, with_attr: false };
            let page = self.fs.readdir(&self.cred, dir, cookie, limit)?;
            for entry in page.entries {
                let path = if path.is_empty() { entry.name } else { [path, b"/", &entry.name].concat() };
                found.push((path, self.fs.getattr(entry.node)?));
                cookie = entry.cookie;
            }
            if page.eof {
                return Ok(found);
            }
        }
    }

    fn node(&mut self, path: &[u8], attr: &Attr) -> Result<TreeNode> {
        let id = attr.node;
        let same_as = self.first.entry((id.object, id.generation)).or_insert_with(|| path.to_vec()).clone();
        let blocks = if attr.kind == NodeKind::File { self.blocks(attr)? } else { Vec::new() };
        let target = match attr.kind {
            NodeKind::Symlink => Some(self.fs.readlink(&self.cred, id)?),
            _ => None,
        };
        let mut xattrs = BTreeMap::new();
        for name in self.fs.listxattr(&self.cred, id)? {
            let value = self.fs.getxattr(&self.cred, id, &name)?;
            xattrs.insert(name, value);
        }
        Ok(TreeNode {
            kind: attr.kind,
            mode: attr.mode,
            uid: attr.uid,
            gid: attr.gid,
            nlink: attr.nlink,
            size: attr.size,
            rdev: attr.rdev,
            mtime: attr.mtime,
            ctime: attr.ctime,
            same_as,
            blocks,
            target,
            xattrs,
        })
    }

    fn blocks(&self, attr: &Attr) -> Result<Vec<(u64, u64)>> {
        let mut blocks = Vec::new();
        let mut at = 0;
        loop {
            // Records may be smaller than these blocks: data can start in the middle of one.
            let found = match self.fs.seek(&self.cred, attr.node, at, Seek::Data) {
                Ok(data) => data,
                Err(Error::NotFound) => return Ok(blocks),
                Err(error) => return Err(error),
            };
            let data = found / BLOCK * BLOCK;
            let hole = self.fs.seek(&self.cred, attr.node, found, Seek::Hole)?;
            at = hole.div_ceil(BLOCK).saturating_mul(BLOCK);
            self.hash_run(attr.node, data, at, &mut blocks)?;
        }
    }

    fn hash_run(&self, node: NodeId, from: u64, to: u64, blocks: &mut Vec<(u64, u64)>) -> Result<()> {
        let mut offset = from;
        while offset < to {
            let bytes = self.fs.read(&self.cred, node, offset, READ.min(to - offset) as usize)?.to_vec();
            if bytes.is_empty() {
                break;
            }
            for (index, block) in bytes.chunks(BLOCK as usize).enumerate() {
                // Zeroes at the end of a block are not hashed: the size says whether they are
                // there.
                let used = block.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                if used > 0 {
                    let mut hasher = DefaultHasher::new();
                    hasher.write(&block[..used]);
                    blocks.push((offset + index as u64 * BLOCK, hasher.finish()));
                }
            }
            offset += bytes.len() as u64;
        }
        Ok(())
    }
}

impl Tree {
    /// Hard links name the smallest of their paths, whatever order the walk met them in.
    fn with_first_paths(mut self) -> Tree {
        let mut smallest: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        for (path, node) in &self.nodes {
            smallest.entry(node.same_as.clone()).or_insert_with(|| path.clone());
        }
        for node in self.nodes.values_mut() {
            node.same_as.clone_from(&smallest[&node.same_as]);
        }
        self
    }

    /// One line for each thing that differs, in path order; `self` is what was expected. Empty:
    /// they are equal.
    pub fn differences(&self, found: &Tree, compare: Compare) -> Vec<String> {
        let mut out = Vec::new();
        for (path, expected) in &self.nodes {
            match found.nodes.get(path) {
                None => out.push(format!("/{}: missing ({:?})", path.escape_ascii(), expected.kind)),
                Some(found) => differences(path, expected, found, compare, &mut out),
            }
        }
        for (path, node) in &found.nodes {
            if !self.nodes.contains_key(path) {
                out.push(format!("/{}: should not be there ({:?})", path.escape_ascii(), node.kind));
            }
        }
        out
    }
}

fn differences(path: &[u8], expected: &TreeNode, found: &TreeNode, compare: Compare, out: &mut Vec<String>) {
    let mut field = |name: &str, expected: &dyn Debug, found: &dyn Debug| {
        let (expected, found) = (format!("{expected:?}"), format!("{found:?}"));
        if expected != found {
            out.push(format!("/{}: {name} is {found}, expected {expected}", path.escape_ascii()));
        }
    };
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    field("kind", &expected.kind, &found.kind);
    field("mode", &format!("{:04o}", expected.mode), &format!("{:04o}", found.mode));
    field("owner", &(expected.uid, expected.gid), &(found.uid, found.gid));
    field("link count", &expected.nlink, &found.nlink);
    field("size", &expected.size, &found.size);
    field("device number", &expected.rdev, &found.rdev);
    field("other name", &text(&expected.same_as), &text(&found.same_as));
    field("target", &expected.target.as_deref().map(text), &found.target.as_deref().map(text));
    if compare.times {
        field("mtime", &expected.mtime, &found.mtime);
        field("ctime", &expected.ctime, &found.ctime);
    }
    let names =
        expected.xattrs.keys().chain(found.xattrs.keys().filter(|name| !expected.xattrs.contains_key(*name)));
    for name in names {
        let value = |node: &TreeNode| node.xattrs.get(name).map(|value| text(value));
        field(&format!("attribute {}", text(name)), &value(expected), &value(found));
    }
    if let Some(offset) = first_difference(&expected.blocks, &found.blocks) {
        out.push(format!("/{}: content differs in the 4 KiB at {offset}", path.escape_ascii()));
    }
}

/// Offset of the first block that is not in both lists alike.
fn first_difference(a: &[(u64, u64)], b: &[(u64, u64)]) -> Option<u64> {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    [a.get(same), b.get(same)].into_iter().flatten().map(|(offset, _)| *offset).min()
}
