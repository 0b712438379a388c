//! From a file handle to something that can be worked on: which share, which node, as whom, and
//! whether changes are allowed. Every procedure begins here.

use std::sync::Arc;

use engine_api::{Attr, Cred, FileSystem, FsId, NAME_MAX, NodeId};
use sunrpc::xdr::{Decoder, Encoder, Result as XdrResult};

use super::attr::{put_post, put_wcc};
use crate::context::Context;
use crate::handle::Handle;
use crate::shares::Share;
use crate::status::Status;

/// NFS3_FHSIZE
const MAX_HANDLE: u32 = 64;

/// A node, and what the caller is to it.
pub struct Target {
    pub share: Arc<Share>,
    pub node: NodeId,
    pub cred: Cred,
    pub writable: bool,
}

impl Target {
    /// Finds out what the handle means to this caller. Of a pool that is still to come nothing is
    /// known: the client asks again.
    pub fn resolve(cx: &Context<'_>, bytes: &[u8]) -> Result<Target, Status> {
        Target::find(cx, bytes).map_err(|status| match Handle::pool(bytes) {
            Some(pool) if status == Status::STALE && cx.shares.may_come(&cx.table, Some(pool)) => {
                Status::JUKEBOX
            }
            _ => status,
        })
    }

    fn find(cx: &Context<'_>, bytes: &[u8]) -> Result<Target, Status> {
        let handle = Handle::open(bytes, |fs| cx.table.key(fs), cx.shares.old_handles)?;
        let share = match cx.table.get(handle.fs) {
            Some(share) => share.clone(),
            None => cx.table.snapshot(handle.fs).ok_or(Status::STALE)?,
        };
        let writable = cx.shares.grant(&share, cx.client).ok_or(Status::ACCES)?;
        if share.fs.is_waiting() {
            // Nothing of this call has been done, and its thread is needed for other pools: the
            // client asks again.
            return Err(Status::JUKEBOX);
        }
        let cred = share.options.cred(&cx.credential);
        stdx::trail::note(|trail| trail.user = trail.user.or(Some(cred.uid)));
        Ok(Target { share, node: handle.node, cred, writable })
    }

    /// As [`Target::resolve`], for something to change.
    pub fn for_change(cx: &Context<'_>, bytes: &[u8]) -> Result<Target, Status> {
        let target = Target::resolve(cx, bytes)?;
        if target.writable { Ok(target) } else { Err(Status::ROFS) }
    }

    /// The owner reads and writes whatever the mode says: the client checked when the file was
    /// opened.
    pub fn with_owner_override(mut self) -> Target {
        self.cred.owner_override = true;
        self
    }

    pub fn fs(&self) -> &dyn FileSystem {
        &*self.share.fs
    }

    /// What was just done to the node, a directory where names changed, is to be on stable storage:
    /// RFC 1813 section 4.8 wants every change but an unstable write to be so before it is
    /// answered. So the call's promise is kept before its answer leaves, and changes of one moment
    /// share the wait.
    pub fn settle(&self, cx: &Context<'_>) -> Result<(), Status> {
        Ok(self.settled(cx)?)
    }

    /// As [`Target::settle`], with the engine's own error.
    pub fn settled(&self, cx: &Context<'_>) -> engine_api::Result<()> {
        if self.share.options.sync {
            cx.answer_after(self.fs().promise(self.node)?);
        }
        Ok(())
    }

    pub fn fs_id(&self) -> FsId {
        self.share.id
    }

    /// Attributes for a reply, where they can be had.
    pub fn attr(&self) -> Option<Attr> {
        self.fs().getattr(self.node).ok()
    }

    /// post_op_attr
    pub fn put_post(&self, out: &mut Encoder) {
        put_post(out, self.fs_id(), self.attr().as_ref());
    }

    /// wcc_data of a node that did not change, as far as we know.
    pub fn put_wcc(&self, out: &mut Encoder) {
        put_wcc(out, self.fs_id(), None, self.attr().as_ref());
    }
}

/// What was found; `None`: nothing was, and the refusal is in `out`.
pub fn or_refuse<T>(found: Result<T, Status>, absent: usize, out: &mut Encoder) -> Option<T> {
    found.map_err(|status| refuse(status, absent, out)).ok()
}

/// A status other than OK, and that so many attributes are not there.
pub fn refuse(status: Status, absent: usize, out: &mut Encoder) {
    out.u32(status.0);
    (0..absent).for_each(|_| out.bool(false));
}

/// wcc_data of a node that did not change, as far as we know, if there is one.
pub fn put_wcc_of(found: &Result<Target, Status>, out: &mut Encoder) {
    match found {
        Ok(target) => target.put_wcc(out),
        Err(_) => (0..2).for_each(|_| out.bool(false)),
    }
}

/// The bytes of a handle.
pub fn get_handle<'a>(d: &mut Decoder<'a>) -> XdrResult<&'a [u8]> {
    d.opaque(MAX_HANDLE)
}

/// A directory and a name in it.
pub struct Place<'a> {
    pub handle: &'a [u8],
    name: &'a [u8],
}

impl<'a> Place<'a> {
    pub fn get(d: &mut Decoder<'a>) -> XdrResult<Place<'a>> {
        // The record bounds the name: a long one is an error of the file system's, not of the
        // protocol's.
        Ok(Place { handle: get_handle(d)?, name: d.opaque(u32::MAX)? })
    }

    /// The name, if a file system can have it.
    pub fn name(&self) -> Result<&'a [u8], Status> {
        if self.name.len() > NAME_MAX {
            return Err(Status::NAMETOOLONG);
        }
        if self.name.is_empty() || self.name.iter().any(|&byte| byte == b'/' || byte == 0) {
            return Err(Status::INVAL);
        }
        Ok(self.name)
    }
}
