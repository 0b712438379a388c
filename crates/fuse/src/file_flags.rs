//! What chattr, lsattr and OpenZFS's `zfs project` ask by ioctl: a node's project, and whether it hands that on.
//!
//! The kernel checks that the caller owns the node, opens it for itself, and sends what it was asked (fs/fuse/ioctl.c).
//! A node has no other flags here: to set one is refused.
//!
//! Source: include/uapi/linux/fs.h (`FS_IOC_*`, `struct fsxattr`, flags); module/os/linux/zfs/zpl_file.c.

use crate::caller::as_caller;
use crate::request::Header;
use crate::server::Server;
use engine_api::{Error, NodeId, Project, Result};

/// `FS_IOC_GETFLAGS` and `FS_IOC_SETFLAGS`: one number.
const GET_FLAGS: u32 = 0x8008_6601;
const SET_FLAGS: u32 = 0x4008_6602;
/// `FS_IOC_FSGETXATTR` and `FS_IOC_FSSETXATTR`: [`FSXATTR_LEN`] bytes.
const GET_XATTR: u32 = 0x801c_581f;
const SET_XATTR: u32 = 0x401c_5820;

/// `FS_PROJINHERIT_FL` of the one, `FS_XFLAG_PROJINHERIT` of the other.
const INHERIT: u32 = 0x2000_0000;
const INHERIT_X: u32 = 0x200;

/// xflags, extsize, nextents, projid, cowextsize, each of four bytes; then eight of nothing.
const FSXATTR_LEN: usize = 28;
const PROJECT_AT: usize = 12;

/// What the caller gets back; `None` for an ioctl that is not known.
pub fn answer(
    server: &Server,
    req: &Header,
    node: NodeId,
    cmd: u32,
    given: &[u8],
) -> Result<Option<Vec<u8>>> {
    let set = |project: Project| {
        as_caller(req, |cred| server.fs.set_project(cred, node, project))?;
        Ok(Some(Vec::new()))
    };
    match cmd {
        GET_FLAGS => {
            let flags = if server.fs.project(node)?.inherit { INHERIT } else { 0 };
            Ok(Some(flags.to_ne_bytes().to_vec()))
        }
        SET_FLAGS => {
            let inherit = only(INHERIT, number(given, 0)?)?;
            set(Project { inherit, ..server.fs.project(node)? })
        }
        GET_XATTR => {
            let project = server.fs.project(node)?;
            let mut found = vec![0; FSXATTR_LEN];
            let flags = if project.inherit { INHERIT_X } else { 0 };
            found[..4].copy_from_slice(&flags.to_ne_bytes());
            found[PROJECT_AT..PROJECT_AT + 4].copy_from_slice(&project.id.to_ne_bytes());
            Ok(Some(found))
        }
        SET_XATTR => {
            let inherit = only(INHERIT_X, number(given, 0)?)?;
            set(Project { id: number(given, PROJECT_AT)?, inherit })
        }
        _ => Ok(None),
    }
}

fn number(bytes: &[u8], at: usize) -> Result<u32> {
    let found = bytes.get(at..).and_then(|bytes| bytes.first_chunk());
    found.map(|bytes| u32::from_ne_bytes(*bytes)).ok_or_else(|| Error::Invalid("too short an ioctl".into()))
}

/// Whether the one flag that there is, is set.
fn only(flag: u32, flags: u32) -> Result<bool> {
    if flags & !flag != 0 {
        return Err(Error::Unsupported("this flag of a file".into()));
    }
    Ok(flags & flag != 0)
}
