//! Who may do what to a file: the POSIX rules as Linux applies them, on plain numbers.
//!
//! Pure functions of the caller ([`Who`]) and the node's owner and mode ([`Node`]); nothing here
//! knows a file system, so that every file system of the house (the engine, the model that judges
//! it) answers alike. User 0 has every privilege (CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID,
//! CAP_CHOWN, CAP_SYS_ADMIN). Rules are those of Linux's VFS: inode_permission, setattr_prepare,
//! may_delete, mode_strip_sgid, setattr_should_drop_suidgid, xattr_permission.

pub mod acl;

use acl::Acl;

pub const SETUID: u32 = 0o4000;
pub const SETGID: u32 = 0o2000;
pub const STICKY: u32 = 0o1000;
/// Every bit that chmod may set.
pub const MODE_MASK: u32 = 0o7777;
const GROUP_EXEC: u32 = 0o010;

/// The number no user or group has: for chown(2), and so for everybody, it says "leave it".
pub const NO_ID: u32 = u32::MAX;

/// Permission to read a file or list a directory.
pub const READ: u32 = 4;
/// Permission to write a file or change a directory's entries.
pub const WRITE: u32 = 2;
/// Permission to execute a file or search a directory.
pub const EXEC: u32 = 1;

/// The caller. `groups` are the supplementary ones, unordered.
#[derive(Clone, Copy, Debug)]
pub struct Who<'a> {
    pub uid: u32,
    pub gid: u32,
    pub groups: &'a [u32],
}

impl Who<'_> {
    pub fn is_privileged(&self) -> bool {
        self.uid == 0
    }
    pub fn in_group(&self, gid: u32) -> bool {
        self.gid == gid || self.groups.contains(&gid)
    }
    pub fn owns(&self, node: &Node<'_>) -> bool {
        self.is_privileged() || self.uid == node.uid
    }
}

/// Owner, group and mode (low twelve bits) of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node<'a> {
    pub uid: u32,
    pub gid: u32,
    pub mode: u32,
    /// Bits of the mode, of group and others, that an ACL of NFSv4's kind takes from some of them:
    /// nobody has these.
    pub withheld: u32,
    /// Where it says more than the mode.
    pub acl: Option<&'a Acl>,
    pub kind: Kind,
}

/// What the rules need to know of a node's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Dir,
    File,
    /// Symlinks, devices, FIFOs, sockets.
    Other,
}

/// Why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// EACCES: the mode bits do not allow it.
    Denied,
    /// EPERM: only the owner or a privileged caller may.
    NotPermitted,
    /// ENODATA: the caller must not even see that the attribute exists.
    Hidden,
    /// EINVAL: no user or group can have this number.
    NoSuchId,
    /// EOPNOTSUPP: an attribute name outside every namespace.
    NoNamespace,
}

pub type Allowed = Result<(), Refusal>;

/// The rwx bits (`READ | WRITE | EXEC`) that the caller has on the node.
pub fn permitted(who: &Who<'_>, node: &Node<'_>) -> u32 {
    if who.is_privileged() {
        let executable = node.kind == Kind::Dir || node.mode & 0o111 != 0;
        return READ | WRITE | if executable { EXEC } else { 0 };
    }
    if let Some(acl) = obeyed(who, node) {
        return [READ, WRITE, EXEC].into_iter().filter(|bit| acl.allows(who, node, *bit)).sum();
    }
    // The first class that fits decides, even where a later one would allow more.
    let allowed = node.mode & !node.withheld;
    if who.uid == node.uid {
        node.mode >> 6 & 7
    } else if who.in_group(node.gid) {
        allowed >> 3 & 7
    } else {
        allowed & 7
    }
}

/// The ACL that decides about the caller: not about the owner, and none where the mask, which is
/// the mode's group bits, is empty. Others then have what the mode gives others, named in the ACL
/// or not, for Linux does not look at it.
fn obeyed<'a>(who: &Who<'_>, node: &Node<'a>) -> Option<&'a Acl> {
    node.acl.filter(|_| !who.is_privileged() && who.uid != node.uid && node.mode & 0o070 != 0)
}

/// All bits of `want` must be granted. Of an ACL's groups, one must grant them all.
pub fn check(who: &Who<'_>, node: &Node<'_>, want: u32) -> Allowed {
    let granted = match obeyed(who, node) {
        Some(acl) => acl.allows(who, node, want),
        None => permitted(who, node) & want == want,
    };
    if granted { Ok(()) } else { Err(Refusal::Denied) }
}

/// Add a name to a directory.
pub fn check_add(who: &Who<'_>, dir: &Node<'_>) -> Allowed {
    check(who, dir, WRITE | EXEC)
}

/// Take `victim`'s name out of a directory (remove it, rename it away, or replace it).
pub fn check_delete(who: &Who<'_>, dir: &Node<'_>, victim: &Node<'_>) -> Allowed {
    check(who, dir, WRITE | EXEC)?;
    if dir.mode & STICKY != 0 && !who.owns(victim) && !who.owns(dir) {
        return Err(Refusal::NotPermitted);
    }
    Ok(())
}

/// The mode that chmod leaves: setgid goes where the caller is not in the file's group. `gid` is
/// the group that the node has afterwards.
pub fn chmod(who: &Who<'_>, node: &Node<'_>, gid: u32, mode: u32) -> Result<u32, Refusal> {
    if !who.owns(node) {
        return Err(Refusal::NotPermitted);
    }
    let mode = mode & MODE_MASK;
    Ok(if who.is_privileged() || who.in_group(gid) { mode } else { mode & !SETGID })
}

fn check_ids(uid: Option<u32>, gid: Option<u32>) -> Allowed {
    if uid == Some(NO_ID) || gid == Some(NO_ID) { Err(Refusal::NoSuchId) } else { Ok(()) }
}

/// Change owner, group or both; `None` leaves it.
pub fn check_chown(who: &Who<'_>, node: &Node<'_>, uid: Option<u32>, gid: Option<u32>) -> Allowed {
    check_ids(uid, gid)?;
    if who.is_privileged() {
        return Ok(());
    }
    let owner = who.uid == node.uid;
    let uid_ok = uid.is_none_or(|uid| owner && uid == node.uid);
    let gid_ok = gid.is_none_or(|gid| owner && (gid == node.gid || who.in_group(gid)));
    if uid_ok && gid_ok { Ok(()) } else { Err(Refusal::NotPermitted) }
}

/// The mode after a chown: whoever does it, root included, a program does not stay setuid for its
/// new owner. Setgid without group execute is no privilege (it once meant mandatory locking) and
/// stays for group members.
pub fn mode_after_chown(who: &Who<'_>, node: &Node<'_>) -> u32 {
    match node.kind {
        Kind::Dir => node.mode,
        Kind::File | Kind::Other => drop_setid(who, node),
    }
}

/// The mode after a write or a truncation: only a privileged writer leaves setuid and setgid.
pub fn mode_after_write(who: &Who<'_>, node: &Node<'_>) -> u32 {
    if who.is_privileged() || node.kind != Kind::File { node.mode } else { drop_setid(who, node) }
}

fn drop_setid(who: &Who<'_>, node: &Node<'_>) -> u32 {
    let member = who.is_privileged() || who.in_group(node.gid);
    let drop_setgid = node.mode & GROUP_EXEC != 0 || !member;
    node.mode & !SETUID & if drop_setgid { !SETGID } else { !0 }
}

/// Set times. `explicit` where any of them is a given moment rather than now.
pub fn check_utimes(who: &Who<'_>, node: &Node<'_>, explicit: bool) -> Allowed {
    if who.owns(node) {
        Ok(())
    } else if explicit {
        Err(Refusal::NotPermitted)
    } else {
        check(who, node, WRITE)
    }
}

/// The group of a new node: a setgid directory hands on its own.
pub fn new_gid(who: &Who<'_>, dir: &Node<'_>) -> u32 {
    if dir.mode & SETGID != 0 { dir.gid } else { who.gid }
}

/// The mode of a new node: directories in a setgid directory are setgid too, and nobody makes a
/// setgid program for a group that they are not in.
pub fn new_mode(who: &Who<'_>, dir: &Node<'_>, kind: Kind, mode: u32) -> u32 {
    let mode = mode & MODE_MASK;
    if dir.mode & SETGID == 0 {
        return mode;
    }
    let program = mode & (SETGID | GROUP_EXEC) == SETGID | GROUP_EXEC;
    match kind {
        Kind::Dir => mode | SETGID,
        Kind::File | Kind::Other if program && !who.is_privileged() && !who.in_group(dir.gid) => {
            mode & !SETGID
        }
        Kind::File | Kind::Other => mode,
    }
}

/// A new node's owner and group are asked for by name: like making it and giving it away at once.
pub fn check_new_owner(who: &Who<'_>, inherited_gid: u32, uid: Option<u32>, gid: Option<u32>) -> Allowed {
    check_ids(uid, gid)?;
    let uid_ok = uid.is_none_or(|uid| uid == who.uid);
    let gid_ok = gid.is_none_or(|gid| gid == inherited_gid || who.in_group(gid));
    if who.is_privileged() || (uid_ok && gid_ok) { Ok(()) } else { Err(Refusal::NotPermitted) }
}

/// Move a directory to another parent: its `..` changes, so it must be writable itself.
pub fn check_reparent(who: &Who<'_>, node: &Node<'_>) -> Allowed {
    if node.kind == Kind::Dir { check(who, node, WRITE) } else { Ok(()) }
}

/// Read an extended attribute.
pub fn check_xattr_read(who: &Who<'_>, node: &Node<'_>, name: &[u8]) -> Allowed {
    match namespace(name)? {
        Namespace::User if node.kind == Kind::Other => Err(Refusal::Hidden),
        Namespace::User => check(who, node, READ),
        Namespace::Trusted if !who.is_privileged() => Err(Refusal::Hidden),
        Namespace::Trusted | Namespace::Security | Namespace::System => Ok(()),
    }
}

/// Set or remove an extended attribute.
pub fn check_xattr_write(who: &Who<'_>, node: &Node<'_>, name: &[u8]) -> Allowed {
    let allowed = match namespace(name)? {
        // On devices and symlinks anybody could fill the file system with them; in a sticky
        // directory only its owner.
        Namespace::User if node.kind == Kind::Other => false,
        Namespace::User if node.kind == Kind::Dir && node.mode & STICKY != 0 && !who.owns(node) => false,
        Namespace::User => return check(who, node, WRITE),
        Namespace::Trusted | Namespace::Security => who.is_privileged(),
        Namespace::System => who.owns(node),
    };
    if allowed { Ok(()) } else { Err(Refusal::NotPermitted) }
}

/// Whether a list of names shows this one.
pub fn xattr_is_listed(who: &Who<'_>, name: &[u8]) -> bool {
    who.is_privileged() || !name.starts_with(b"trusted.")
}

#[derive(Clone, Copy)]
enum Namespace {
    User,
    Trusted,
    Security,
    System,
}

fn namespace(name: &[u8]) -> Result<Namespace, Refusal> {
    let prefixes: [(&[u8], Namespace); 4] = [
        (b"user.", Namespace::User),
        (b"trusted.", Namespace::Trusted),
        (b"security.", Namespace::Security),
        (b"system.", Namespace::System),
    ];
    let found = prefixes.iter().find(|(prefix, _)| name.len() > prefix.len() && name.starts_with(prefix));
    found.map(|(_, namespace)| *namespace).ok_or(Refusal::NoNamespace)
}

#[cfg(test)]
mod tests;
