//! The NFSv3 program: which procedure does what.
//!
//! Every procedure is a function from arguments to results: it decodes, asks the engine once, and
//! encodes. A status other than OK is a result like any other; only arguments that do not decode
//! end in `GARBAGE_ARGS`.

pub(crate) mod attr;
mod change;
mod dir;
mod done;
mod file;
mod info;
mod names;
pub(crate) mod target;

pub(crate) use done::{find, put_done};
use engine_api::ReadBuf;
use sunrpc::xdr::{Decoder, Encoder, Malformed};

use crate::context::Context;

pub const PROGRAM: u32 = 100_003;
pub const VERSION: u32 = 3;

/// Procedure numbers (RFC 1813 §3.3).
pub mod procedure {
    pub const NULL: u32 = 0;
    pub const GETATTR: u32 = 1;
    pub const SETATTR: u32 = 2;
    pub const LOOKUP: u32 = 3;
    pub const ACCESS: u32 = 4;
    pub const READLINK: u32 = 5;
    pub const READ: u32 = 6;
    pub const WRITE: u32 = 7;
    pub const CREATE: u32 = 8;
    pub const MKDIR: u32 = 9;
    pub const SYMLINK: u32 = 10;
    pub const MKNOD: u32 = 11;
    pub const REMOVE: u32 = 12;
    pub const RMDIR: u32 = 13;
    pub const RENAME: u32 = 14;
    pub const LINK: u32 = 15;
    pub const READDIR: u32 = 16;
    pub const READDIRPLUS: u32 = 17;
    pub const FSSTAT: u32 = 18;
    pub const FSINFO: u32 = 19;
    pub const PATHCONF: u32 = 20;
    pub const COMMIT: u32 = 21;
}

/// The procedures' names, by number (RFC 1813).
pub const NAMES: [&str; 22] = [
    "NULL",
    "GETATTR",
    "SETATTR",
    "LOOKUP",
    "ACCESS",
    "READLINK",
    "READ",
    "WRITE",
    "CREATE",
    "MKDIR",
    "SYMLINK",
    "MKNOD",
    "REMOVE",
    "RMDIR",
    "RENAME",
    "LINK",
    "READDIR",
    "READDIRPLUS",
    "FSSTAT",
    "FSINFO",
    "PATHCONF",
    "COMMIT",
];

/// Results in the making: encoded words, then what READ found, which is never copied.
#[derive(Debug)]
pub struct Out {
    pub enc: Encoder,
    pub body: ReadBuf,
}

/// Whether a second execution could give another result than the first.
pub fn is_remembered(procedure: u32) -> bool {
    matches!(procedure, procedure::SETATTR | procedure::WRITE..=procedure::LINK)
}

/// Whether the next program has to know that this one has done it: the same bytes may be written
/// twice.
pub fn is_kept(procedure: u32) -> bool {
    is_remembered(procedure) && procedure != procedure::WRITE
}

/// Attributes that are not there in the results of a procedure that changes something, when it did
/// not succeed and nothing more is told: before and after, of one or two directories, or of a file
/// and a directory.
pub fn absent_of(procedure: u32) -> usize {
    match procedure {
        procedure::RENAME => 4,
        procedure::LINK => 3,
        _ => 2,
    }
}

/// Runs one procedure. `Ok(false)`: there is no such procedure.
pub fn run(cx: &Context<'_>, procedure: u32, args: &[u8], out: &mut Out) -> Result<bool, Malformed> {
    let d = &mut Decoder::new(args);
    match procedure {
        procedure::NULL => {}
        procedure::GETATTR => info::getattr(cx, d, &mut out.enc)?,
        procedure::SETATTR => change::setattr(cx, d, &mut out.enc)?,
        procedure::LOOKUP => names::lookup(cx, d, &mut out.enc)?,
        procedure::ACCESS => info::access(cx, d, &mut out.enc)?,
        procedure::READLINK => file::readlink(cx, d, &mut out.enc)?,
        procedure::READ => file::read(cx, d, out)?,
        procedure::WRITE => file::write(cx, d, &mut out.enc)?,
        procedure::CREATE => change::create(cx, d, &mut out.enc)?,
        procedure::MKDIR => change::mkdir(cx, d, &mut out.enc)?,
        procedure::SYMLINK => change::symlink(cx, d, &mut out.enc)?,
        procedure::MKNOD => change::mknod(cx, d, &mut out.enc)?,
        procedure::REMOVE => names::remove(cx, d, &mut out.enc)?,
        procedure::RMDIR => names::rmdir(cx, d, &mut out.enc)?,
        procedure::RENAME => names::rename(cx, d, &mut out.enc)?,
        procedure::LINK => names::link(cx, d, &mut out.enc)?,
        procedure::READDIR => dir::readdir(cx, d, &mut out.enc)?,
        procedure::READDIRPLUS => dir::readdirplus(cx, d, &mut out.enc)?,
        procedure::FSSTAT => info::fsstat(cx, d, &mut out.enc)?,
        procedure::FSINFO => info::fsinfo(cx, d, &mut out.enc)?,
        procedure::PATHCONF => info::pathconf(cx, d, &mut out.enc)?,
        procedure::COMMIT => file::commit(cx, d, &mut out.enc)?,
        _ => return Ok(false),
    }
    Ok(true)
}
