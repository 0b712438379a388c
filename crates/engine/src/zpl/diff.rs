//! What became of a file system between two snapshots, one object after another.
//!
//! An object is looked at on both sides: its generation tells whether it is the same node, its
//! change time whether that changed, its paths whether it was renamed, its links whether it got or
//! lost names.
//!
//! Source: lib/libzfs/libzfs_diff.c (`write_inuse_diffs_one`, `write_free_diffs`),
//! `zfs_obj_to_stats` in module/zfs/zfs_znode.c.

use std::sync::Arc;

use ::pool::dsl::diff::Span;
use dmu::Objset;
use engine_api::{DiffEntry, DiffKind, Error, NodeKind, Result, Time};
use ondisk::znode::{attr, kind, kind_of_mode};

use super::attrs::api_kind;
use super::error::api_error;
use super::path::Paths;

/// What stands for the path of a file without a name.
const DELETED: &[u8] = b"(on_delete_queue)";

/// A node on one side.
struct Looked {
    kind: u8,
    generation: u64,
    links: u64,
    ctime: Time,
    path: Vec<u8>,
    deleted: bool,
}

/// See the module.
pub struct Differ {
    from: Paths,
    to: Paths,
}

fn look(side: &mut Paths, object: u64) -> Result<Option<Looked>> {
    let view = match side.attributes(object) {
        Err(Error::NotFound) => return Ok(None),
        attributes => attributes?.0,
    };
    let word = |which| side.sa().word(&view, which).unwrap_or(0);
    let ctime = side.sa().pair(&view, &attr::CTIME).unwrap_or([0, 0]);
    let (kind, generation) = (kind_of_mode(word(&attr::MODE)), word(&attr::GEN));
    let links = word(&attr::LINKS);
    let deleted = side.is_deleted(object)?;
    let path = if deleted { DELETED.to_vec() } else { side.path(object)? };
    let ctime = Time { secs: ctime[0] as i64, nanos: ctime[1] as u32 };
    Ok(Some(Looked { kind, generation, links, ctime, path, deleted }))
}

impl Looked {
    fn entry(&self, kind: DiffKind) -> DiffEntry {
        DiffEntry { kind, node: self.node(), ctime: self.ctime, path: self.path.clone(), to: None }
    }

    fn node(&self) -> NodeKind {
        api_kind(self.kind)
    }
}

impl Differ {
    pub fn new(from: &Arc<Objset>, to: &Arc<Objset>) -> Result<Differ> {
        Ok(Differ { from: Paths::open(from)?, to: Paths::open(to)? })
    }

    /// What became of objects of these numbers.
    pub fn look_at(&mut self, span: Span, tell: &mut dyn FnMut(DiffEntry)) -> Result<()> {
        match span {
            Span::InUse(object) => self.in_use(object, tell),
            Span::Free { first, last } => self.freed(first, last, tell),
        }
    }

    fn freed(&mut self, first: u64, last: u64, tell: &mut dyn FnMut(DiffEntry)) -> Result<()> {
        let mut after = first.saturating_sub(1);
        while let Some(object) = self.from.objset().next_object(after, 0).map_err(api_error)? {
            if object > last {
                break;
            }
            after = object;
            if object < first || Some(object) == self.from.shares() {
                continue;
            }
            if let Some(was) = look(&mut self.from, object)?.filter(|was| !was.deleted) {
                tell(was.entry(DiffKind::Removed));
            }
        }
        Ok(())
    }

    fn in_use(&mut self, object: u64, tell: &mut dyn FnMut(DiffEntry)) -> Result<()> {
        if Some(object) == self.to.shares() {
            return Ok(());
        }
        let (was, is) = match (look(&mut self.from, object)?, look(&mut self.to, object)?) {
            (None, None) => return Ok(()),
            (None, Some(is)) => {
                tell(is.entry(DiffKind::Added));
                return Ok(());
            }
            (Some(was), None) => {
                tell(was.entry(DiffKind::Removed));
                return Ok(());
            }
            (Some(was), Some(is)) => (was, is),
        };
        if was.kind != is.kind || was.generation != is.generation {
            tell(was.entry(DiffKind::Removed));
            tell(is.entry(DiffKind::Added));
            return Ok(());
        }
        if was.ctime == is.ctime {
            return Ok(());
        }
        let counts = was.kind != kind::DIR && was.links > 0 && is.links > 0;
        let delta = if counts { is.links as i64 - was.links as i64 } else { 0 };
        let shown = |path: &Looked, kind| DiffEntry { path: path.path.clone(), ..is.entry(kind) };
        tell(match delta {
            0 if was.path == is.path => is.entry(DiffKind::Modified),
            0 => DiffEntry { to: Some(is.path.clone()), ..shown(&was, DiffKind::Renamed) },
            more if more > 0 => shown(&was, DiffKind::Links(more)),
            fewer => shown(&is, DiffKind::Links(fewer)),
        });
        Ok(())
    }
}
