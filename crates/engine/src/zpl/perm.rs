//! Who may: the POSIX rules of `stdx::posix`, asked about nodes of this file system.

use engine_api::{Cred, Error, Result};
use ondisk::znode::{flags, kind};
use stdx::posix::{self, Refusal, Who};

use super::attrs::Attrs;

pub fn who(cred: &Cred) -> Who<'_> {
    Who { uid: cred.uid, gid: cred.gid, groups: &cred.groups }
}

/// A refusal in the engine's words.
pub fn refused(refusal: Refusal) -> Error {
    match refusal {
        Refusal::Denied => Error::Denied,
        Refusal::NotPermitted => Error::NotPermitted,
        Refusal::Hidden => Error::NotFound,
        Refusal::NoSuchId => Error::Invalid("no user or group has the number 4294967295".into()),
        Refusal::NoNamespace => Error::Unsupported("extended attribute outside every namespace".into()),
    }
}

/// The answer of a rule in the engine's words.
pub fn allowed(answer: posix::Allowed) -> Result<()> {
    answer.map_err(refused)
}

/// What the rules look at.
pub fn rules(attrs: &Attrs) -> posix::Node<'_> {
    let kind = match attrs.kind() {
        kind::DIR => posix::Kind::Dir,
        kind::FILE => posix::Kind::File,
        _ => posix::Kind::Other,
    };
    let (uid, gid) = (attrs.uid as u32, attrs.gid as u32);
    let (mode, withheld, acl) = (attrs.permissions(), attrs.acl.withheld, attrs.posix_acl.as_deref());
    posix::Node { uid, gid, mode, withheld, acl, kind }
}

pub fn check(cred: &Cred, attrs: &Attrs, want: u32) -> Result<()> {
    posix::check(&who(cred), &rules(attrs), want).map_err(refused)
}

/// Permission for data: the owner's override counts.
pub fn check_data(cred: &Cred, attrs: &Attrs, want: u32) -> Result<()> {
    if cred.owner_override && u64::from(cred.uid) == attrs.uid {
        return Ok(());
    }
    check(cred, attrs, want)
}

/// Permission to read data. Who may execute a program may read it: the client's kernel has to load
/// it.
pub fn check_read(cred: &Cred, attrs: &Attrs) -> Result<()> {
    check_data(cred, attrs, posix::READ).or_else(|refusal| {
        let executes = posix::permitted(&who(cred), &rules(attrs)) & posix::EXEC != 0;
        if cred.owner_override && executes { Ok(()) } else { Err(refusal) }
    })
}

/// An immutable node changes in no way, whoever asks.
pub fn check_mutable(attrs: &Attrs) -> Result<()> {
    if attrs.flags & flags::IMMUTABLE != 0 { Err(Error::NotPermitted) } else { Ok(()) }
}

/// A node that must keep its names.
pub fn check_removable(attrs: &Attrs) -> Result<()> {
    let kept = flags::IMMUTABLE | flags::APPENDONLY | flags::NOUNLINK;
    if attrs.flags & kept != 0 { Err(Error::NotPermitted) } else { Ok(()) }
}
