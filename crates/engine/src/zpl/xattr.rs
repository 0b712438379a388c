//! Extended attributes: by name in one of two places, always found in either.
//!
//! `xattr=sa` keeps them as a packed nvlist of byte arrays in the system attribute `ZPL_DXATTR`;
//! what does not fit there, and everything under `xattr=on`, are files in a hidden directory
//! ([`super::xattr_dir`]). An attribute is in one place only; files are read under the node's lock,
//! for they are changed in several steps. Names carry their namespace (`user.`); other systems
//! wrote user attributes without it, and those are shown with it. Source:
//! module/os/linux/zfs/zpl_xattr.c, module/zfs/zfs_sa.c.

use std::sync::Arc;

use dmu::{Holds, Tx};
use engine_api::{Cred, Error, NAME_MAX, NodeId, Result, XattrMode};
use ondisk::nvlist::{NvList, NvValue};
use ondisk::znode::attr;
use stdx::posix;

use super::attrs::{Attrs, Change};
use super::node::{Node, lock_all};
use super::perm::{allowed, check_mutable, rules, who};
use super::posix_acl::is_acl_name;
use super::{XattrStore, Zpl};

/// Largest value in bytes, as Linux limits it.
const VALUE_MAX: usize = 64 << 10;
/// Largest value kept in the system attributes (`DXATTR_MAX_ENTRY_SIZE`).
const SYSTEM_VALUE_MAX: usize = 32 << 10;
/// Largest packed list: a length is 16 bits.
const SYSTEM_LIST_MAX: usize = u16::MAX as usize;
const USER: &[u8] = b"user.";
/// How names of other systems' own attributes start; nobody is shown those.
const FOREIGN: &[u8] = b"SUNWattr";

/// Where an attribute is, under which name.
pub(super) enum Place {
    System(String),
    Directory(Vec<u8>),
}

impl Zpl {
    /// The list in the system attributes.
    pub(super) fn system_xattrs(&self, node: &Node) -> Result<NvList> {
        self.xattr_places(node).map(|(list, _)| list)
    }

    /// The list in the system attributes, and whether there is a directory besides, at one moment.
    fn xattr_places(&self, node: &Node) -> Result<(NvList, bool)> {
        let view = self.whole_view(node)?;
        let has_dir = self.sa.word(&view, &attr::XATTR).is_some_and(|object| object != 0);
        let packed = self.sa.get(&view, &attr::DXATTR).filter(|bytes| !bytes.is_empty());
        let list = packed.map(|bytes| NvList::decode(&bytes)).transpose();
        let list = list.map_err(|_| Error::Corrupt { object: node.object(), block: 0 })?;
        Ok((list.unwrap_or_default(), has_dir))
    }

    pub(super) fn find_xattr(&self, node: &Node, list: &NvList, name: &[u8]) -> Result<Option<Place>> {
        for name in spellings(name) {
            if let Some(text) = name_in(list, name) {
                return Ok(Some(Place::System(text.to_owned())));
            }
            if self.find_xattr_file(node, name)?.is_some() {
                return Ok(Some(Place::Directory(name.to_vec())));
            }
        }
        Ok(None)
    }

    pub(super) fn get_xattr(&self, cred: &Cred, id: NodeId, name: &[u8]) -> Result<Vec<u8>> {
        self.check_acl_name(name)?;
        let node = self.node(id)?;
        let attrs = self.attrs(&node)?;
        allowed(posix::check_xattr_read(&who(cred), &rules(&attrs), name))?;
        node.unless_dead(self.read_xattr(&node, name))
    }

    fn read_xattr(&self, node: &Arc<Node>, name: &[u8]) -> Result<Vec<u8>> {
        let value = |list: &NvList, name: &str| match list.get(name) {
            Some(NvValue::ByteArray(value) | NvValue::U8Array(value)) => Ok(value.clone()),
            _ => Err(Error::Corrupt { object: node.object(), block: 0 }),
        };
        let (list, has_dir) = self.xattr_places(node)?;
        if !has_dir {
            let name = spellings(name).find_map(|name| name_in(&list, name)).ok_or(Error::NotFound)?;
            return value(&list, name);
        }
        let _ops = lock_all(&[node]);
        let list = self.system_xattrs(node)?;
        match self.find_xattr(node, &list, name)?.ok_or(Error::NotFound)? {
            Place::System(name) => value(&list, &name),
            Place::Directory(name) => self.read_xattr_file(node, &name),
        }
    }

    fn all_xattr_names(&self, node: &Arc<Node>) -> Result<Vec<Vec<u8>>> {
        let names_of = |list: NvList| -> Vec<Vec<u8>> {
            list.iter().map(|(name, _)| name.as_bytes().to_vec()).collect()
        };
        let (list, has_dir) = self.xattr_places(node)?;
        if !has_dir {
            return Ok(names_of(list));
        }
        let _ops = lock_all(&[node]);
        let mut names = names_of(self.system_xattrs(node)?);
        names.extend(self.xattr_file_names(node)?);
        Ok(names)
    }

    pub(super) fn list_xattrs(&self, cred: &Cred, id: NodeId) -> Result<Vec<Vec<u8>>> {
        let node = self.node(id)?;
        let mut names = node.unless_dead(self.all_xattr_names(&node))?;
        names.retain(|name| !name.starts_with(FOREIGN));
        for name in &mut names {
            if !has_namespace(name) {
                name.splice(..0, USER.iter().copied());
            }
        }
        names.retain(|name| posix::xattr_is_listed(&who(cred), name) && self.check_acl_name(name).is_ok());
        names.sort();
        names.dedup();
        Ok(names)
    }

    pub(super) fn set_xattr(
        &self,
        cred: &Cred,
        id: NodeId,
        name: &[u8],
        value: &[u8],
        mode: XattrMode,
    ) -> Result<()> {
        if name.len() > NAME_MAX {
            return Err(Error::NameTooLong);
        }
        if value.len() > VALUE_MAX {
            return Err(Error::FileTooLarge);
        }
        if is_acl_name(name) {
            return self.set_posix_acl(cred, id, name, value);
        }
        let node = self.node(id)?;
        let _ops = lock_all(&[&node]);
        node.check_alive()?;
        let attrs = self.attrs(&node)?;
        allowed(posix::check_xattr_write(&who(cred), &rules(&attrs), name))?;
        let old = self.find_xattr(&node, &self.system_xattrs(&node)?, name)?;
        match (mode, &old) {
            (XattrMode::Create, Some(_)) => return Err(Error::Exists),
            (XattrMode::Replace, None) => return Err(Error::NotFound),
            _ => {}
        }
        check_mutable(&attrs)?;
        if self.settings().xattr == XattrStore::Off {
            return Err(Error::Unsupported("extended attributes (property xattr is off)".into()));
        }
        let tx = self.begin(Holds::new(2 * VALUE_MAX as u64, 16))?;
        self.store_xattr(cred, &node, &attrs, name, value, &tx)
    }

    /// Stores a value where the property says, and takes it away from elsewhere. The caller holds
    /// the node's `ops` lock, and the transaction has room for it. A node without a name
    /// (`attrs.links`) leaves nothing in the log.
    pub(super) fn store_xattr(
        &self,
        cred: &Cred,
        node: &Arc<Node>,
        attrs: &Attrs,
        name: &[u8],
        value: &[u8],
        tx: &Tx,
    ) -> Result<()> {
        let mut list = self.system_xattrs(node)?;
        let old = self.find_xattr(node, &list, name)?;
        let store = self.settings().xattr;
        let old_list = list.clone();
        let in_system = store == XattrStore::System && !self.sa.is_old();
        let packed = in_system.then(|| pack(&mut list, &old, name, value)).flatten();
        if let Some(bytes) = packed {
            match self.update(node, tx, |_, _| Change::default().bytes(&attr::DXATTR, bytes)) {
                Ok(_) => {
                    self.log_system_change(node, attrs, old.as_ref(), Some((name, value)), tx);
                    return self.drop_xattr_file(node, attrs, old.as_ref(), None, tx);
                }
                // No room left in the spill block.
                Err(Error::NoSpace | Error::FileTooLarge) => {}
                Err(error) => return Err(error),
            }
        }
        self.write_xattr_file(cred, node, attrs, name, value, tx)?;
        self.drop_xattr_file(node, attrs, old.as_ref(), Some(name), tx)?;
        if let Some(Place::System(was)) = &old {
            let mut list = old_list;
            list.remove(was);
            self.store_system_list(node, &list, tx)?;
            self.log_system_change(node, attrs, old.as_ref(), None, tx);
        }
        self.update(node, tx, |_, _| Change::default()).map(drop)
    }

    pub(super) fn remove_xattr(&self, cred: &Cred, id: NodeId, name: &[u8]) -> Result<()> {
        self.check_acl_name(name)?;
        let node = self.node(id)?;
        let _ops = lock_all(&[&node]);
        node.check_alive()?;
        let attrs = self.attrs(&node)?;
        allowed(posix::check_xattr_write(&who(cred), &rules(&attrs), name))?;
        let list = self.system_xattrs(&node)?;
        let old = self.find_xattr(&node, &list, name)?.ok_or(Error::NotFound)?;
        check_mutable(&attrs)?;
        let tx = self.begin(Holds::freeing(16))?;
        self.drop_xattr(&node, &attrs, list, &old, &tx)?;
        self.update(&node, &tx, |_, _| Change::default()).map(drop)
    }

    /// Removes an attribute from where it is; `list` are those among the system attributes.
    pub(super) fn drop_xattr(
        &self,
        node: &Node,
        attrs: &Attrs,
        mut list: NvList,
        old: &Place,
        tx: &Tx,
    ) -> Result<()> {
        if let Place::System(name) = old {
            list.remove(name);
            self.store_system_list(node, &list, tx)?;
            self.log_system_change(node, attrs, Some(old), None, tx);
        }
        self.drop_xattr_file(node, attrs, Some(old), None, tx)
    }

    pub(super) fn store_system_list(&self, node: &Node, list: &NvList, tx: &Tx) -> Result<()> {
        if list.is_empty() {
            return self.set(node, Change::default().remove(&attr::DXATTR), tx);
        }
        self.set(node, Change::default().bytes(&attr::DXATTR, list.encode_xdr()), tx)
    }

    /// Removes the file an attribute was in, unless it is the one it is in now.
    fn drop_xattr_file(
        &self,
        node: &Node,
        attrs: &Attrs,
        old: Option<&Place>,
        now: Option<&[u8]>,
        tx: &Tx,
    ) -> Result<()> {
        match old {
            Some(Place::Directory(name)) if now != Some(name) => {
                self.remove_xattr_file(node, name, attrs.links > 0, tx)
            }
            _ => Ok(()),
        }
    }

    /// The list in the system attributes has changed: what it lost, unless that is what it has now
    /// anew.
    fn log_system_change(
        &self,
        node: &Node,
        attrs: &Attrs,
        old: Option<&Place>,
        now: Option<(&[u8], &[u8])>,
        tx: &Tx,
    ) {
        if attrs.links == 0 {
            return;
        }
        match old {
            Some(Place::System(old)) if now.is_none_or(|(name, _)| name != old.as_bytes()) => {
                self.log_system_xattr(node.object(), old.as_bytes(), None, tx);
            }
            _ => {}
        }
        if let Some((name, value)) = now {
            self.log_system_xattr(node.object(), name, Some(value), tx);
        }
    }
}

/// How an attribute may be called on disk.
fn spellings(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    [Some(name), name.strip_prefix(USER)].into_iter().flatten()
}

/// The name as text, if the list has it.
fn name_in<'a>(list: &NvList, name: &'a [u8]) -> Option<&'a str> {
    std::str::from_utf8(name).ok().filter(|name| list.contains(name))
}

/// The list with the new value, packed; `None` where it is too large or cannot be named there.
fn pack(list: &mut NvList, old: &Option<Place>, name: &[u8], value: &[u8]) -> Option<Vec<u8>> {
    let name = std::str::from_utf8(name).ok()?;
    if value.len() > SYSTEM_VALUE_MAX {
        return None;
    }
    if let Some(Place::System(old)) = old {
        list.remove(old);
    }
    list.set(name, NvValue::ByteArray(value.to_vec()));
    Some(list.encode_xdr()).filter(|bytes| bytes.len() <= SYSTEM_LIST_MAX)
}

fn has_namespace(name: &[u8]) -> bool {
    [USER, b"trusted.", b"security.", b"system."].iter().any(|space| name.starts_with(space))
}
