//! Reading, writing, holes.

use crate::MAX_FILE_SIZE;
use crate::content::Content;
use crate::node::{Body, Node};
use crate::state::{State, check_data, who};
use engine_api::{Cred, Error, NodeId, ReadBuf, Result, Seek, Slice, Stable, Verifier, Written};
use std::sync::Arc;
use stdx::posix;

impl State {
    pub fn read(&mut self, cred: &Cred, id: NodeId, offset: u64, len: usize) -> Result<ReadBuf> {
        let node = self.get(id)?;
        let content = content(node)?;
        check_read(cred, node)?;
        let bytes = content.read(offset, len);
        let eof = offset.saturating_add(bytes.len() as u64) >= content.size();
        self.note_access(cred, id)?;
        let len = bytes.len();
        let parts = if len == 0 { Vec::new() } else { vec![Slice::new(Arc::new(bytes), 0, len)] };
        Ok(ReadBuf { parts, eof })
    }

    /// A node is read with this credential. Whether its access time is another one now.
    pub fn note_access(&mut self, cred: &Cred, id: NodeId) -> Result<bool> {
        let now = self.now();
        Ok(!cred.noatime && self.get_mut(id)?.touch_atime(now))
    }

    pub fn write(
        &mut self,
        cred: &Cred,
        id: NodeId,
        offset: u64,
        data: &[u8],
        verifier: Verifier,
    ) -> Result<Written> {
        let node = self.get(id)?;
        content(node)?;
        check_data(cred, node, posix::WRITE)?;
        if offset.checked_add(data.len() as u64).is_none_or(|end| end > MAX_FILE_SIZE) {
            return Err(Error::FileTooLarge);
        }
        let before = node.attr();
        let mode = posix::mode_after_write(&who(cred), &node.rules());
        let now = self.now();
        let node = self.get_mut(id)?;
        if !data.is_empty() {
            content_mut(node).write(offset, data);
            node.mode = mode;
            node.touch_mtime(now);
        }
        // Memory is as stable as this gets.
        Ok(Written { before, after: node.attr(), stable: Stable::FileSync, verifier })
    }

    pub fn punch(&mut self, cred: &Cred, id: NodeId, offset: u64, len: u64) -> Result<()> {
        let node = self.get(id)?;
        content(node)?;
        check_data(cred, node, posix::WRITE)?;
        if len == 0 {
            return Err(Error::Invalid("an empty hole".into()));
        }
        let mode = posix::mode_after_write(&who(cred), &node.rules());
        let now = self.now();
        let node = self.get_mut(id)?;
        content_mut(node).punch(offset, len);
        node.mode = mode;
        node.touch_mtime(now);
        Ok(())
    }

    pub fn seek(&self, cred: &Cred, id: NodeId, offset: u64, what: Seek) -> Result<u64> {
        let node = self.get(id)?;
        let content = content(node)?;
        check_read(cred, node)?;
        content.seek(offset, what).ok_or(Error::NotFound)
    }
}

/// Who may execute a program may read it: the client's kernel has to load it.
fn check_read(cred: &Cred, node: &Node) -> Result<()> {
    check_data(cred, node, posix::READ).or_else(|refusal| {
        let executes = posix::permitted(&who(cred), &node.rules()) & posix::EXEC != 0;
        if cred.owner_override && executes { Ok(()) } else { Err(refusal) }
    })
}

pub fn content(node: &Node) -> Result<&Content> {
    match &node.body {
        Body::File(content) => Ok(content),
        Body::Dir(_) => Err(Error::IsDir),
        _ => Err(Error::Invalid("only regular files have data".into())),
    }
}

/// # Panics
/// When the node is no regular file: the caller has looked.
fn content_mut(node: &mut Node) -> &mut Content {
    match &mut node.body {
        Body::File(content) => content,
        _ => panic!("the node was a regular file a moment ago"),
    }
}
