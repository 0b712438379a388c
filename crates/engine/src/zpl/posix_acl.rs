//! POSIX ACLs (`acltype=posix`): where they are kept, and what keeps them and the mode in step.
//!
//! An ACL is the value of an extended attribute, as [`stdx::posix::acl`] has it, in whichever place
//! the property `xattr` says. A node whose ACL says no more than its mode has none. Who may what is
//! decided by `stdx::posix`, which [`Attrs`] bring the ACL to. Under any other `acltype` there are
//! no such attributes, whatever is stored.
//!
//! A new node has the ACL that its directory hands down before it has a name. An ACL and the mode
//! that goes with it are changed in one transaction, and their records are both ordered, so that
//! neither is replayed without the other.
//!
//! Source: `zpl_init_acl`, `zpl_set_acl`, `zpl_chmod_acl` in module/os/linux/zfs/zpl_xattr.c.

use std::sync::Arc;

use dmu::sa::SaView;
use dmu::{Holds, Tx, Zap};
use engine_api::{Cred, Error, NodeId, Result};
use ondisk::nvlist::{NvList, NvValue};
use ondisk::znode::{Dirent, attr, flags, kind, kind_of_mode};
use stdx::posix;
use stdx::posix::acl::{self, ACCESS, Acl, DEFAULT, STORED_MAX};

use super::Zpl;
use super::attrs::{Attrs, Change, modified};
use super::error::api_error;
use super::log::Settled;
use super::node::{Node, lock_all};
use super::perm::{allowed, check_mutable, rules, who};

/// How often an ACL that is a file is read anew where it cannot be understood: it is replaced in
/// several steps.
const TRIES: u32 = 3;
/// What storing an ACL takes: the value as a file or among the attributes, and a hidden directory
/// with two files.
const META_BLOCKS: u64 = 40;

/// What a new node gets by its directory's default ACL.
#[derive(Default)]
pub(super) struct Inherited {
    /// The nine bits, and those above as they were asked for.
    pub mode: u32,
    /// Names and values.
    values: Vec<(&'static [u8], Vec<u8>)>,
}

impl Inherited {
    /// What storing them takes on top of the node.
    pub fn holds(&self) -> (u64, u64) {
        if self.values.is_empty() { (0, 0) } else { (2 * STORED_MAX as u64, META_BLOCKS) }
    }
}

pub(super) fn is_acl_name(name: &[u8]) -> bool {
    name == ACCESS || name == DEFAULT
}

fn unsupported() -> Error {
    Error::Unsupported("POSIX ACLs (property acltype is not posix)".into())
}

fn invalid(why: acl::Invalid) -> Error {
    match why {
        acl::Invalid::Version => Error::Unsupported("a POSIX ACL of another version".into()),
        acl::Invalid::Entries => Error::Invalid("not a POSIX ACL".into()),
    }
}

impl Zpl {
    /// Whether a node of this mode and these flags has its POSIX ACL followed.
    pub(super) fn obeys_posix_acl(&self, mode: u64, node_flags: u64) -> bool {
        let may_have = node_flags & flags::XATTR == 0 && kind_of_mode(mode) != kind::SYMLINK;
        may_have && self.settings().posix_acls
    }

    pub(super) fn check_acl_name(&self, name: &[u8]) -> Result<()> {
        if is_acl_name(name) && !self.settings().posix_acls { Err(unsupported()) } else { Ok(()) }
    }

    /// The ACL that says who may; what cannot be read allows group and others nothing. `view` is of
    /// all there is.
    pub(super) fn access_acl(&self, view: &SaView) -> Result<Option<Arc<Acl>>> {
        let stored = self.stored_acl(view, ACCESS)?;
        Ok(stored.unwrap_or_else(|_| Some(Acl::closed())).map(Arc::new))
    }

    fn stored_acl(
        &self,
        view: &SaView,
        name: &[u8],
    ) -> Result<std::result::Result<Option<Acl>, acl::Invalid>> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.stored_value(view, name).map(|value| value.map(|value| Acl::decode(&value))) {
                Ok(None) => return Ok(Ok(None)),
                Ok(Some(Ok(acl))) => return Ok(Ok(acl)),
                Ok(Some(Err(_))) | Err(Error::NotFound) if tries < TRIES => {}
                Ok(Some(Err(why))) => return Ok(Err(why)),
                Err(error) => return Err(error),
            }
        }
    }

    fn stored_value(&self, view: &SaView, name: &[u8]) -> Result<Option<Vec<u8>>> {
        let packed = self.sa.get(view, &attr::DXATTR).filter(|bytes| !bytes.is_empty());
        // A list that cannot be read may have had an ACL: no value is one that is none.
        match packed.map(|bytes| NvList::decode(&bytes)) {
            Some(Err(_)) => return Ok(Some(Vec::new())),
            Some(Ok(list)) => match std::str::from_utf8(name).ok().and_then(|name| list.get(name)) {
                Some(NvValue::ByteArray(value) | NvValue::U8Array(value)) => return Ok(Some(value.clone())),
                Some(_) => return Ok(Some(Vec::new())),
                None => {}
            },
            None => {}
        }
        let object = self.sa.word(view, &attr::XATTR).unwrap_or(0);
        if object == 0 {
            return Ok(None);
        }
        let zap = Zap::open(&self.objset, object).map_err(api_error)?;
        let Some(entry) = zap.find_u64(name).map_err(api_error)? else { return Ok(None) };
        let file = self.objset.hold(Dirent::decode(entry).object).map_err(api_error)?;
        let size = self.sa.read(&file).map_err(api_error)?;
        let size = self.sa.word(&size, &attr::SIZE).unwrap_or(0).min(STORED_MAX as u64 + 1);
        file.read_bytes(0, size as usize).map(Some).map_err(api_error)
    }

    /// What a new node in the directory gets whose maker asks for this mode. A default ACL takes
    /// the umask's place.
    pub(super) fn inherited_acl(&self, cred: &Cred, dir: &Node, kind: u8, mode: u32) -> Result<Inherited> {
        let plain = |mode| Inherited { mode, values: Vec::new() };
        if kind == kind::SYMLINK {
            return Ok(plain(mode));
        }
        let default = match self.settings().posix_acls {
            true => self.stored_acl(&self.whole_view(dir)?, DEFAULT)?.map_err(invalid)?,
            false => None,
        };
        let Some(default) = default else { return Ok(plain(mode & !(cred.umask & 0o777))) };
        let mut values = Vec::new();
        if kind == kind::DIR {
            values.push((DEFAULT, default.encode()));
        }
        let (access, mode) = default.inherited(mode);
        if !access.mode().1 {
            values.push((ACCESS, access.encode()));
        }
        Ok(Inherited { mode, values })
    }

    /// Gives a node that nobody knows yet its ACLs. What is to be logged of that comes later, with
    /// the node's name.
    pub(super) fn store_inherited(
        &self,
        cred: &Cred,
        node: &Arc<Node>,
        inherited: &Inherited,
        tx: &Tx,
    ) -> Result<()> {
        for (name, value) in &inherited.values {
            let unlogged = Attrs { links: 0, ..self.stored_attrs(node.dnode())? };
            self.store_xattr(cred, node, &unlogged, name, value, tx)?;
        }
        Ok(())
    }

    /// The records of what [`Zpl::store_inherited`] did.
    pub(super) fn log_inherited(&self, node: &Arc<Node>, inherited: &Inherited, tx: &Tx) -> Result<()> {
        if inherited.values.is_empty() {
            return Ok(());
        }
        let dir = self.xattr_dir(node)?;
        if let Some(dir) = &dir {
            self.log_xattr_dir(node.object(), dir.dnode(), &self.stored_attrs(dir.dnode())?, tx);
        }
        for (name, value) in &inherited.values {
            match (&dir, self.find_xattr_file(node, name)?) {
                (Some(dir), Some(file)) => {
                    let attrs = self.stored_attrs(&file)?;
                    self.log_create(dir.object(), &file, &attrs, name, None, tx);
                    self.log_xattr_file(file.object(), true, value, tx);
                }
                _ => self.log_system_xattr(node.object(), name, Some(value), tx),
            }
        }
        Ok(())
    }

    /// Sets an ACL, or takes it away where the value has no entries. With an access ACL goes the
    /// mode.
    pub(super) fn set_posix_acl(&self, cred: &Cred, id: NodeId, name: &[u8], value: &[u8]) -> Result<()> {
        self.check_acl_name(name)?;
        let acl = Acl::decode(value).map_err(invalid)?;
        let node = self.node(id)?;
        let _ops = lock_all(&[&node]);
        node.check_alive()?;
        let attrs = self.attrs(&node)?;
        allowed(posix::check_xattr_write(&who(cred), &rules(&attrs), name))?;
        if attrs.kind() == kind::SYMLINK {
            return Err(unsupported());
        }
        if name == DEFAULT && !attrs.is_dir() {
            return if acl.is_some() { Err(Error::Denied) } else { Ok(()) };
        }
        check_mutable(&attrs)?;
        let mode = match &acl {
            Some(acl) if name == ACCESS => acl::mode_after_set(&who(cred), &rules(&attrs), acl),
            _ => attrs.permissions(),
        };
        let kept = acl.filter(|acl| name == DEFAULT || !acl.mode().1);
        let tx = self.begin(Holds::new(2 * STORED_MAX as u64, META_BLOCKS))?;
        match kept {
            Some(acl) => self.store_xattr(cred, &node, &attrs, name, &acl.encode(), &tx)?,
            None => {
                let list = self.system_xattrs(&node)?;
                if let Some(old) = self.find_xattr(&node, &list, name)? {
                    self.drop_xattr(&node, &attrs, list, &old, &tx)?;
                }
            }
        }
        if mode == attrs.permissions() {
            return self.update(&node, &tx, |_, _| Change::default()).map(drop);
        }
        let whole = |old: &Attrs| old.mode & !0o7777 | u64::from(mode);
        let change = |old: &Attrs, _| Change::default().chmod(modified(old.flags), whole(old), old.is_dir());
        self.update_and(&node, &tx, change, |old, _| {
            let set = Settled { mode: Some(whole(old)), ..Settled::default() };
            self.log_setattr(node.object(), set, &tx);
            self.log_in_order(node.object());
        })
        .map(drop)
    }

    /// After a chmod the ACL says what the mode says; whether that changed it. One that cannot be
    /// read stays as it is. The caller holds the node's `ops` lock.
    pub(super) fn posix_acl_follows(
        &self,
        cred: &Cred,
        node: &Arc<Node>,
        attrs: &Attrs,
        mode: u32,
        tx: &Tx,
    ) -> Result<bool> {
        if !self.obeys_posix_acl(attrs.mode, attrs.flags) {
            return Ok(false);
        }
        let Ok(Some(acl)) = self.stored_acl(&self.whole_view(node)?, ACCESS)? else { return Ok(false) };
        let changed = acl.clone().with_mode(mode);
        if changed == acl {
            return Ok(false);
        }
        self.store_xattr(cred, node, attrs, ACCESS, &changed.encode(), tx)?;
        Ok(true)
    }

    /// Takes back a node that got no name: its hidden directory, and itself.
    pub(super) fn undo_new(&self, node: &Arc<Node>, tx: &Tx) -> Result<()> {
        if let Some(dir) = self.xattr_dir(node)? {
            for entry in dir.iter() {
                let file = Dirent::decode(entry.map_err(api_error)?.value.first()).object;
                self.free_object(file, tx)?;
            }
            self.free_object(dir.object(), tx)?;
        }
        self.free_object(node.object(), tx)
    }
}
