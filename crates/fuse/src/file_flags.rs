//! What chattr, lsattr and OpenZFS's `zfs project` ask by ioctl: a node's project and whether it
//! hands that on, and whether it is immutable or only grows.
//!
//! The kernel checks that the caller owns the node, opens it for itself, and sends what it was
//! asked (fs/fuse/ioctl.c). A node has no other flags here: to set one is refused. That a file only
//! grows the kernel does not know; who appends is told so by the engine.
//!
//! Source: include/uapi/linux/fs.h (`FS_IOC_*`, `struct fsxattr`, flags);
//! module/os/linux/zfs/zpl_file.c.

use crate::caller::as_caller;
use crate::request::Header;
use crate::server::Server;
use engine_api::{Error, NodeFlags, NodeId, Origin, Project, Result};

/// `FS_IOC_GETFLAGS` and `FS_IOC_SETFLAGS`: one number.
const GET_FLAGS: u32 = 0x8008_6601;
const SET_FLAGS: u32 = 0x4008_6602;
/// `FS_IOC_FSGETXATTR` and `FS_IOC_FSSETXATTR`: [`FSXATTR_LEN`] bytes.
const GET_XATTR: u32 = 0x801c_581f;
const SET_XATTR: u32 = 0x401c_5820;

/// A flag's bit for the one (`FS_*_FL`), and for the other (`FS_XFLAG_*`).
type Bits = (u32, u32);
const INHERIT: Bits = (0x2000_0000, 0x200);
const IMMUTABLE: Bits = (0x10, 0x8);
const APPEND: Bits = (0x20, 0x10);
const NO_DUMP: Bits = (0x40, 0x80);

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
    let at = server.fs.at(node)?;
    let (fs, node) = (&at.fs, at.node);
    let of_one: fn(Bits) -> u32 = |bits| bits.0;
    let of_other: fn(Bits) -> u32 = |bits| bits.1;
    // Nodes that are neither files nor directories have no project.
    let project = || match fs.project(node) {
        Err(Error::Unsupported(_)) => Ok(Project::default()),
        found => found,
    };
    let word = |bit: fn(Bits) -> u32| -> Result<u32> {
        let (project, flags) = (project()?, fs.flags(node)?);
        let set = [
            (project.inherit, INHERIT),
            (flags.immutable, IMMUTABLE),
            (flags.append_only, APPEND),
            (flags.no_dump, NO_DUMP),
        ];
        Ok(set.into_iter().filter(|(set, _)| *set).fold(0, |word, (_, bits)| word | bit(bits)))
    };
    let set = |word: u32, bit: fn(Bits) -> u32, id: Option<u32>| -> Result<Option<Vec<u8>>> {
        let has = |bits: Bits| word & bit(bits) != 0;
        if word & ![INHERIT, IMMUTABLE, APPEND, NO_DUMP].into_iter().fold(0, |all, one| all | bit(one)) != 0 {
            return Err(Error::Unsupported("this flag of a file".into()));
        }
        let (is, was) = (project()?, fs.flags(node)?);
        let project = Project { id: id.unwrap_or(is.id), inherit: has(INHERIT) };
        let flags = NodeFlags { immutable: has(IMMUTABLE), append_only: has(APPEND), no_dump: has(NO_DUMP) };
        // The kernel does not see what an ioctl changes: it is told as of others' changes.
        if flags != was {
            as_caller(req, Origin::OTHERS, |cred| fs.set_flags(cred, node, flags))?;
        }
        if project != is || id.is_some() {
            as_caller(req, Origin::OTHERS, |cred| fs.set_project(cred, node, project))?;
        }
        Ok(Some(Vec::new()))
    };
    match cmd {
        GET_FLAGS => Ok(Some(word(of_one)?.to_ne_bytes().to_vec())),
        SET_FLAGS => set(number(given, 0)?, of_one, None),
        GET_XATTR => {
            let mut found = vec![0; FSXATTR_LEN];
            found[..4].copy_from_slice(&word(of_other)?.to_ne_bytes());
            found[PROJECT_AT..PROJECT_AT + 4].copy_from_slice(&project()?.id.to_ne_bytes());
            Ok(Some(found))
        }
        SET_XATTR => set(number(given, 0)?, of_other, Some(number(given, PROJECT_AT)?)),
        _ => Ok(None),
    }
}

fn number(bytes: &[u8], at: usize) -> Result<u32> {
    let found = bytes.get(at..).and_then(|bytes| bytes.first_chunk());
    found.map(|bytes| u32::from_ne_bytes(*bytes)).ok_or_else(|| Error::Invalid("too short an ioctl".into()))
}
