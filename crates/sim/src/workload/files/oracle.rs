//! What an intent log has to bring back, and what it may.
//!
//! A crash brings a file system back as of some group, and its log goes on from there: all changes
//! of names in order up to some moment, and of each node its own changes, of content and
//! attributes, up to some moment. What was answered as stable is before both. So what comes back
//! has the names of one state that is not too old, and each node is made of what that node was in
//! states that are not too old; one of them alone where nobody was writing when the power went.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine_api::{
    Attr, Cred, Error, FileSystem, NodeId, NodeKind, Result, SetAttr, SetTime, Stable, XattrMode,
};
use model::{Clock, Compare, MemFs, Tree, TreeNode, dump};

use super::op::Op;

const ROOT: Cred = Cred::root();
/// What trees hash content by.
const BLOCK: u64 = 4096;

/// A state of the model.
pub struct Stage {
    /// How many changes led to it.
    pub number: u64,
    pub fs: Arc<MemFs>,
}

/// What of the model's changes is durable beyond the groups. Changes are known by their numbers.
#[derive(Default)]
pub struct Promises {
    /// Property `sync` of the file system.
    pub sync: &'static str,
    /// Changes of names up to this one.
    names: u64,
    /// A node's own changes up to this one, by its name in the model; where there is none, up to
    /// `others`.
    nodes: BTreeMap<NodeId, u64>,
    others: u64,
    /// No log has changes after this one.
    tried: u64,
}

impl Promises {
    /// Whether an operation is answered when it is durable.
    pub fn covers(&self, op: &Op) -> bool {
        match self.sync {
            "disabled" => false,
            "always" => !op.is_read() || matches!(op, Op::Commit { .. }),
            _ => match op {
                Op::Write { stable, .. } => *stable != Stable::Unstable,
                Op::Commit { .. } => true,
                _ => false,
            },
        }
    }

    /// An operation that is covered has begun; `number` is the last change, its own included.
    pub fn tries(&mut self, number: u64) {
        self.tried = number;
    }

    /// It was answered; `node` is what it was made of.
    pub fn keep(&mut self, node: Option<NodeId>, number: u64) {
        self.names = number;
        match node {
            Some(node) if self.sync != "always" => {
                self.nodes.insert(node, number);
            }
            _ => self.others = number,
        }
    }

    /// All that was is durable, or gone.
    pub fn forget(&mut self) {
        *self = Promises { sync: self.sync, ..Promises::default() };
    }

    fn of(&self, node: NodeId) -> u64 {
        self.nodes.get(&node).copied().unwrap_or(0).max(self.others)
    }

    /// The state that was found, as a model; `groups` are the numbers of the first and the last
    /// state that the group on disk may be, and `stages` those since, the newest first. `Err` tells
    /// in what the likeliest differs.
    pub fn find(
        &self,
        found: (&dyn FileSystem, &Tree),
        groups: (u64, u64),
        stages: &[&Stage],
        clock: &dyn Fn() -> Clock,
    ) -> std::result::Result<Arc<MemFs>, Vec<String>> {
        let (first, last) = (groups.0, groups.1.max(self.tried));
        let stages: Vec<&Stage> =
            stages.iter().copied().filter(|stage| (first..=last).contains(&stage.number)).collect();
        let mut why = vec!["no state is possible".to_owned()];
        for stage in stages.iter().filter(|stage| stage.number >= self.names) {
            let state = stage.fs.fork(clock());
            let tree = dump(&*state).map_err(|error| vec![format!("walking the model: {error:?}")])?;
            why = tree.differences(found.1, Compare { times: false });
            if why.is_empty() {
                return Ok(state);
            }
            if !same_names(&tree, found.1) {
                continue;
            }
            let mend = Mend { found: found.0, promises: self, first, stages: &stages, state: &state };
            match mend.all(&tree, found.1) {
                Ok(()) => {
                    why = dump(&*state)
                        .map_or(Vec::new(), |tree| tree.differences(found.1, Compare { times: false }));
                    assert!(why.is_empty(), "the model cannot be made what was found: {why:?}");
                    return Ok(state);
                }
                Err(wrong) => why = vec![wrong],
            }
        }
        Err(why)
    }
}

/// Whether all is alike that changes of names decide.
fn same_names(a: &Tree, b: &Tree) -> bool {
    let facts = |node: &TreeNode| (node.kind, node.nlink, node.rdev);
    let texts = |node: &TreeNode| (node.target.clone(), node.same_as.clone());
    let same = |a: &TreeNode, b: &TreeNode| {
        facts(a) == facts(b) && texts(a) == texts(b) && (a.kind != NodeKind::Dir || a.size == b.size)
    };
    a.nodes.keys().eq(b.nodes.keys()) && a.nodes.values().zip(b.nodes.values()).all(|(a, b)| same(a, b))
}

/// A state of the right names becomes what was found, if each node was that in parts.
struct Mend<'a> {
    found: &'a dyn FileSystem,
    promises: &'a Promises,
    first: u64,
    stages: &'a [&'a Stage],
    state: &'a MemFs,
}

impl Mend<'_> {
    fn all(&self, tree: &Tree, found: &Tree) -> std::result::Result<(), String> {
        for (path, found) in &found.nodes {
            let told = |what: String| format!("/{}: {what}", path.escape_ascii());
            let mended = self.node(path, &tree.nodes[path], found);
            mended.map_err(|error| told(format!("{error:?}")))?.map_or(Ok(()), |what| Err(told(what)))?;
        }
        Ok(())
    }

    /// In words what the node never was.
    fn node(&self, path: &[u8], node: &TreeNode, found: &TreeNode) -> Result<Option<String>> {
        let id = walk(self.state, path)?.node;
        let oldest = self.promises.of(id).max(self.first);
        let mut was: Vec<(&MemFs, Attr)> = Vec::new();
        for stage in self.stages.iter().filter(|stage| stage.number >= oldest) {
            match stage.fs.getattr(id) {
                Ok(attr) => was.push((&stage.fs, attr)),
                Err(Error::NotFound | Error::Stale) => {}
                Err(error) => return Err(error),
            }
        }
        let any = |fact: &dyn Fn(&Attr) -> bool| was.iter().any(|(_, attr)| fact(attr));
        let is_file = found.kind == NodeKind::File;
        // A write is logged in pieces; the power may go in the middle.
        let in_pieces = self.promises.tried > oldest
            && any(&|attr| attr.size < found.size)
            && any(&|attr| attr.size > found.size);
        if is_file && !in_pieces && !any(&|attr| attr.size == found.size) {
            return Ok(Some(format!("it never had {} bytes", found.size)));
        }
        if !any(&|attr| attr.mode == found.mode)
            || !any(&|attr| (attr.uid, attr.gid) == (found.uid, found.gid))
        {
            return Ok(Some(format!("never of mode {:o}, owner {}:{}", found.mode, found.uid, found.gid)));
        }
        let set = |set: SetAttr| self.state.setattr(&ROOT, id, &set).map(drop);
        let engine = walk(self.found, path)?;
        if is_file {
            if node.size != found.size {
                set(SetAttr { size: Some(found.size), ..SetAttr::default() })?;
            }
            for offset in different(&node.blocks, &found.blocks) {
                if let Some(what) = self.block(id, engine.node, offset, &was)? {
                    return Ok(Some(what));
                }
            }
        }
        if (node.uid, node.gid) != (found.uid, found.gid) {
            set(SetAttr { uid: Some(found.uid), gid: Some(found.gid), ..SetAttr::default() })?;
        }
        if found.kind != NodeKind::Symlink && self.state.getattr(id)?.mode != found.mode {
            set(SetAttr { mode: Some(found.mode), ..SetAttr::default() })?;
        }
        if let Some(what) = self.xattrs(id, node, found, &was)? {
            return Ok(Some(what));
        }
        // Mending is not a change that anybody made; an exclusive create is known again by its
        // times.
        if found.kind != NodeKind::Symlink {
            let (atime, mtime) = (Some(SetTime::To(engine.atime)), Some(SetTime::To(engine.mtime)));
            set(SetAttr { atime, mtime, ..SetAttr::default() })?;
        }
        Ok(None)
    }

    /// Each byte of a block was there in some state.
    fn block(
        &self,
        id: NodeId,
        engine: NodeId,
        offset: u64,
        was: &[(&MemFs, Attr)],
    ) -> Result<Option<String>> {
        let found = self.found.read(&ROOT, engine, offset, BLOCK as usize)?.to_vec();
        let mut old = Vec::new();
        for (fs, _) in was {
            old.push(fs.read(&ROOT, id, offset, BLOCK as usize)?.to_vec());
        }
        let known = |(at, byte): (usize, &u8)| old.iter().any(|old| old.get(at).unwrap_or(&0) == byte);
        if let Some(at) = found.iter().enumerate().position(|byte| !known(byte)) {
            return Ok(Some(format!("what is at {} was never there", offset + at as u64)));
        }
        if !found.is_empty() {
            self.state.write(&ROOT, id, offset, &found, Stable::Unstable)?;
        }
        Ok(None)
    }

    fn xattrs(
        &self,
        id: NodeId,
        node: &TreeNode,
        found: &TreeNode,
        was: &[(&MemFs, Attr)],
    ) -> Result<Option<String>> {
        for name in node.xattrs.keys().chain(found.xattrs.keys()) {
            let value = found.xattrs.get(name);
            let had = |fs: &MemFs| fs.getxattr(&ROOT, id, name).ok();
            if !was.iter().any(|(fs, _)| had(fs).as_ref() == value) {
                return Ok(Some(format!("attribute {} never was that", name.escape_ascii())));
            }
            match value {
                Some(value) => self.state.setxattr(&ROOT, id, name, value, XattrMode::Either)?,
                None if had(self.state).is_some() => self.state.removexattr(&ROOT, id, name)?,
                None => {}
            }
        }
        Ok(None)
    }
}

/// Offsets of blocks that are not in both lists alike.
fn different(a: &[(u64, u64)], b: &[(u64, u64)]) -> Vec<u64> {
    let (a, b): (BTreeMap<u64, u64>, BTreeMap<u64, u64>) =
        (a.iter().copied().collect(), b.iter().copied().collect());
    let mut offsets: Vec<u64> = a.keys().chain(b.keys()).copied().collect();
    offsets.sort_unstable();
    offsets.dedup();
    offsets.retain(|offset| a.get(offset) != b.get(offset));
    offsets
}

fn walk(fs: &dyn FileSystem, path: &[u8]) -> Result<Attr> {
    let mut attr = fs.getattr(fs.root())?;
    for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        attr = fs.lookup(&ROOT, attr.node, name)?;
    }
    Ok(attr)
}
