//! Between the engine's values and the kernel's numbers.

use engine_api::{Error, NewNode, NodeKind, Result};

/// Unit of `st_blocks`.
pub const BLOCK: u64 = 512;

/// `S_IFMT` of a node.
pub fn type_bits(kind: NodeKind) -> u32 {
    match kind {
        NodeKind::File => libc::S_IFREG,
        NodeKind::Dir => libc::S_IFDIR,
        NodeKind::Symlink => libc::S_IFLNK,
        NodeKind::Fifo => libc::S_IFIFO,
        NodeKind::Socket => libc::S_IFSOCK,
        NodeKind::CharDev => libc::S_IFCHR,
        NodeKind::BlockDev => libc::S_IFBLK,
    }
}

/// What mknod(2) asks for. A regular file comes as `NewNode::File`.
///
/// # Errors
/// `Invalid` for a type that it cannot make.
pub fn new_node(mode: u32, rdev: u32) -> Result<NewNode> {
    let (major, minor) = decode_rdev(rdev);
    match mode & libc::S_IFMT {
        0 | libc::S_IFREG => Ok(NewNode::File),
        libc::S_IFIFO => Ok(NewNode::Fifo),
        libc::S_IFSOCK => Ok(NewNode::Socket),
        libc::S_IFCHR => Ok(NewNode::CharDev { major, minor }),
        libc::S_IFBLK => Ok(NewNode::BlockDev { major, minor }),
        _ => Err(Error::Invalid("a node of no known kind".into())),
    }
}

/// The kernel's new_encode_dev: twelve bits of major between the low eight and high twelve of
/// minor.
pub fn encode_rdev((major, minor): (u32, u32)) -> u32 {
    minor & 0xff | (major & 0xfff) << 8 | (minor & !0xff) << 12
}

pub fn decode_rdev(rdev: u32) -> (u32, u32) {
    (rdev >> 8 & 0xfff, rdev & 0xff | rdev >> 12 & 0xfff00)
}

#[cfg(test)]
mod tests;
