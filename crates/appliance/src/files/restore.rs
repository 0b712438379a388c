//! Copying a file of a snapshot back into its file system.
//!
//! The copy is a file without a name until all of it is there and on stable storage; then it gets
//! its name in one step. Whatever ends the copy before, a refusal, a full disk, a quota, a kill,
//! leaves nothing of it. A file that is to be replaced is there, whole, until the copy takes its
//! place; for that, the copy has a name of its own beside it for a moment, which a kill in that
//! moment leaves.
//!
//! The copy gets owner, mode, times and extended attributes (ACLs among them) of the file, and its
//! holes. It belongs to its owner from the beginning, so that his quota counts.
//!
//! Invariant: nobody sees a part of the copy by any name.

use api_types::FileRestore;
use api_types::refusal::FileFault;
use engine_api::{
    Attr, Error, FileSystem, NodeId, NodeKind, RenameMode, Seek, SetAttr, SetTime, Stable, XattrMode,
};
use std::ops::ControlFlow;

use super::{cred, names_of, place, shown, walk};
use crate::{Appliance, Failure, NotRestored, Result};

/// Bytes that are copied at a time.
const PIECE: usize = 1 << 20;

impl Appliance {
    /// See the module. `tell` hears how far it is, in bytes of all, and may end it.
    pub fn restore_file(
        &self,
        asked: &FileRestore,
        tell: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<()> {
        let FileRestore { snapshot, path, to, replace } = asked;
        let name = || place(snapshot, path);
        let why = |why| Failure::Restore { name: name(), why: NotRestored::File(why) };
        let failed = |failure| match failure {
            Failure::Engine(error) => Failure::Restore { name: name(), why: NotRestored::Engine(error) },
            other => other,
        };
        let Some((head, _)) = snapshot.split_once('@') else { return Err(why(FileFault::NotSnapshot)) };
        let pool = self.pool_of(snapshot)?;
        let (old, new) = (pool.open_fs(snapshot)?, pool.open_fs(head)?);
        let from = names_of(path).map_err(why)?;
        let source = walk(&*old, &from).map_err(failed)?.map_err(why)?;
        if source.kind != NodeKind::File {
            return Err(why(FileFault::NotFile { at: shown(&from) }));
        }
        let target = if to.is_empty() { from } else { names_of(to).map_err(why)? };
        let Some((own, above)) = target.split_last() else { return Err(why(FileFault::Name)) };
        let directory = walk(&*new, above).map_err(failed)?.map_err(why)?;
        match directory.kind {
            NodeKind::Dir => {}
            NodeKind::Symlink => return Err(why(FileFault::Link { at: shown(above) })),
            _ => return Err(why(FileFault::NotDirectory { at: shown(above) })),
        }
        let there = walk(&*new, &target).map_err(failed)?.ok();
        match there {
            Some(there) if there.kind != NodeKind::File => {
                return Err(why(FileFault::NotFile { at: shown(&target) }));
            }
            Some(_) if !replace => return Err(why(FileFault::Exists { at: shown(&target) })),
            _ => {}
        }
        let copy = Copy::begin(&*new, directory.node, &source).map_err(Failure::from).map_err(failed)?;
        let whole = copy.fill(&*old, &source, tell).map_err(Failure::from).map_err(failed)?;
        if whole.is_break() {
            return Err(Failure::Restore { name: name(), why: NotRestored::Cancelled });
        }
        let named = copy.name(directory.node, own, *replace);
        named.map_err(|error| match error {
            // It came meanwhile.
            Error::Exists => why(FileFault::Exists { at: shown(&target) }),
            Error::IsDir => why(FileFault::NotFile { at: shown(&target) }),
            error => failed(error.into()),
        })
    }
}

/// A file without a name. Dropped without having got one, it is gone.
struct Copy<'a> {
    fs: &'a dyn FileSystem,
    node: NodeId,
}

impl Drop for Copy<'_> {
    fn drop(&mut self) {
        self.fs.close(self.node);
    }
}

impl<'a> Copy<'a> {
    fn begin(fs: &'a dyn FileSystem, directory: NodeId, source: &Attr) -> engine_api::Result<Copy<'a>> {
        let (mode, uid, gid) = (Some(0o600), Some(source.uid), Some(source.gid));
        let attr = SetAttr { mode, uid, gid, ..SetAttr::default() };
        let made = fs.create_unnamed(&cred(), directory, &attr)?;
        Ok(Copy { fs, node: made.node })
    }

    /// Everything of a file but its name. `Break`: `tell` has ended it.
    fn fill(
        &self,
        from: &dyn FileSystem,
        source: &Attr,
        tell: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> engine_api::Result<ControlFlow<()>> {
        let (fs, who) = (self.fs, cred());
        let mut offset = 0;
        while let Some(data) = next(from, source.node, offset, Seek::Data)? {
            let end = next(from, source.node, data, Seek::Hole)?.unwrap_or(source.size).min(source.size);
            offset = data;
            while offset < end {
                if tell(offset, source.size).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                let len = usize::try_from(end - offset).unwrap_or(PIECE).min(PIECE);
                let bytes = from.read(&who, source.node, offset, len)?.to_vec();
                if bytes.is_empty() {
                    break;
                }
                fs.write(&who, self.node, offset, &bytes, Stable::Unstable)?;
                offset += bytes.len() as u64;
            }
            offset = offset.max(end);
        }
        self.take_attributes(from, source)?;
        fs.commit(self.node)?;
        Ok(tell(source.size, source.size))
    }

    fn take_attributes(&self, from: &dyn FileSystem, source: &Attr) -> engine_api::Result<()> {
        let (fs, who) = (self.fs, cred());
        let size = SetAttr { size: Some(source.size), ..SetAttr::default() };
        fs.setattr(&who, self.node, &size)?;
        let names = from.listxattr(&who, source.node)?;
        // Those that a directory gives to what is made in it.
        for name in fs.listxattr(&who, self.node)? {
            if !names.contains(&name) {
                fs.removexattr(&who, self.node, &name)?;
            }
        }
        for name in names {
            let value = from.getxattr(&who, source.node, &name)?;
            fs.setxattr(&who, self.node, &name, &value, XattrMode::Either)?;
        }
        let (atime, mtime) = (Some(SetTime::To(source.atime)), Some(SetTime::To(source.mtime)));
        let attr = SetAttr { mode: Some(source.mode), atime, mtime, ..SetAttr::default() };
        fs.setattr(&who, self.node, &attr)?;
        Ok(())
    }

    /// Gives it its name, and waits until that is on stable storage.
    fn name(&self, directory: NodeId, name: &[u8], replace: bool) -> engine_api::Result<()> {
        let (fs, who) = (self.fs, cred());
        if !replace {
            fs.link(&who, self.node, directory, name)?;
            return fs.sync();
        }
        // No other copy has this number.
        let beside = format!(".cistern-restore-{}-{}", self.node.object, self.node.generation).into_bytes();
        fs.link(&who, self.node, directory, &beside)?;
        let moved = fs.rename(&who, (directory, &beside), (directory, name), RenameMode::Replace);
        if moved.is_err() {
            fs.remove(&who, directory, &beside)?;
        }
        moved?;
        fs.sync()
    }
}

/// Where data or a hole begins at or after an offset.
fn next(fs: &dyn FileSystem, node: NodeId, offset: u64, what: Seek) -> engine_api::Result<Option<u64>> {
    match fs.seek(&cred(), node, offset, what) {
        Ok(at) => Ok(Some(at)),
        Err(Error::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}
