//! NFSv3 status codes (RFC 1813 §2.6) and the one place where the engine's errors become such.

use engine_api::Error;

/// `nfsstat3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub u32);

impl Status {
    pub const OK: Status = Status(0);
    pub const PERM: Status = Status(1);
    pub const NOENT: Status = Status(2);
    pub const IO: Status = Status(5);
    pub const ACCES: Status = Status(13);
    pub const EXIST: Status = Status(17);
    pub const XDEV: Status = Status(18);
    pub const NOTDIR: Status = Status(20);
    pub const ISDIR: Status = Status(21);
    pub const INVAL: Status = Status(22);
    pub const FBIG: Status = Status(27);
    pub const NOSPC: Status = Status(28);
    pub const ROFS: Status = Status(30);
    pub const MLINK: Status = Status(31);
    pub const NAMETOOLONG: Status = Status(63);
    pub const NOTEMPTY: Status = Status(66);
    pub const DQUOT: Status = Status(69);
    pub const STALE: Status = Status(70);
    pub const BADHANDLE: Status = Status(10001);
    pub const NOT_SYNC: Status = Status(10002);
    pub const NOTSUPP: Status = Status(10004);
    pub const TOOSMALL: Status = Status(10005);
    pub const SERVERFAULT: Status = Status(10006);
    pub const BADTYPE: Status = Status(10007);
    pub const JUKEBOX: Status = Status(10008);
}

impl From<Error> for Status {
    fn from(error: Error) -> Status {
        match error {
            Error::NotFound => Status::NOENT,
            Error::Exists => Status::EXIST,
            Error::NotEmpty => Status::NOTEMPTY,
            Error::NotDir => Status::NOTDIR,
            Error::IsDir => Status::ISDIR,
            Error::Denied | Error::KeyNotLoaded => Status::ACCES,
            Error::NotPermitted => Status::PERM,
            Error::ReadOnly => Status::ROFS,
            // The client waits and asks again.
            Error::Busy | Error::Suspended => Status::JUKEBOX,
            Error::Stale => Status::STALE,
            Error::NameTooLong => Status::NAMETOOLONG,
            Error::NoSpace => Status::NOSPC,
            Error::Quota => Status::DQUOT,
            Error::FileTooLarge => Status::FBIG,
            Error::TooManyLinks => Status::MLINK,
            Error::CrossDevice => Status::XDEV,
            Error::TooSmall => Status::TOOSMALL,
            Error::Invalid(_) => Status::INVAL,
            Error::Unsupported(_) => Status::NOTSUPP,
            Error::Corrupt { .. } => Status::IO,
            // The enumeration may grow: an error nobody has thought about here is the server's
            // fault.
            _ => Status::SERVERFAULT,
        }
    }
}
