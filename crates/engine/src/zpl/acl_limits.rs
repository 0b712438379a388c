//! ACLs that say more than a mode, as they came from other systems: what they keep from whom.
//!
//! They are not followed user by user. The owner is who the mode says; everybody else has of the mode what the ACL's entries
//! allow plainly ([`plain`]), so that nobody gets by us what the ACL denies him. What is made in a directory whose ACL is
//! handed down gets no ACL, and a mode that allows no more than that ACL.
//!
//! Entries in the system attributes, or in a znode, always count; a POSIX ACL, which is an extended attribute, under
//! `acltype=posix` only, as on Linux. What cannot be read allows group and others nothing.

use std::sync::Arc;

use dmu::sa::SaView;
use dmu::{Dnode, Tx, Zap};
use engine_api::{Cred, Result};
use ondisk::Endian;
use ondisk::nvlist::{NvList, NvValue};
use ondisk::znode::attr::{self, ZplAttr};
use ondisk::znode::plain::{self, POSIX_ACCESS, POSIX_DEFAULT};
use ondisk::znode::{Dirent, acl, flags, kind, kind_of_mode};

use super::Zpl;
use super::attrs::Attrs;
use super::error::api_error;
use super::node::Node;
use super::xattr::Place;

/// Bits of group and others.
const NOT_OWNERS: u32 = 0o077;
/// Bytes of the longest POSIX ACL that is looked at: an extended attribute's.
pub const POSIX_ACL_MAX: u64 = 64 << 10;

/// What a node's ACL takes away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AclLimits {
    /// Bits of the mode, of group and others, that do not count.
    pub withheld: u32,
    /// Of a directory: bits that the modes of new nodes do not get.
    kept_from_new: u32,
}

impl AclLimits {
    /// A new node's mode.
    pub fn of_new(self, mode: u32) -> u32 {
        mode & !self.kept_from_new
    }
}

impl Zpl {
    /// `view` is of all that the bonus has, or of all there is.
    pub(super) fn acl_limits(
        &self,
        dnode: &Dnode,
        view: &SaView,
        mode: u64,
        node_flags: u64,
    ) -> Result<AclLimits> {
        let mut limits = AclLimits::default();
        let posix_acls = self.settings().posix_acls && node_flags & flags::XATTR == 0;
        let has_entries = node_flags & flags::ACL_TRIVIAL == 0;
        if !posix_acls && !has_entries {
            return Ok(limits);
        }
        let whole;
        let view = if dnode.has_spill() {
            whole = self.sa.read_all(dnode).map_err(api_error)?;
            &whole
        } else {
            view
        };
        let is_dir = kind_of_mode(mode) == kind::DIR;
        let mut take = |allowed: u32, new: u32| {
            limits.withheld |= mode as u32 & NOT_OWNERS & !allowed;
            limits.kept_from_new |= if is_dir { 0o777 & !new } else { 0 };
        };
        if has_entries && let Some(aces) = self.acl_entries(view) {
            match aces {
                Some(aces) => take(plain::of_aces(&aces), plain::inherited(&aces)),
                None => take(0, !NOT_OWNERS),
            }
        }
        if posix_acls {
            let plainly = |value: &[u8]| plain::of_posix(value).unwrap_or(0o700);
            if let Some(value) = self.posix_acl(view, POSIX_ACCESS)? {
                take(plainly(&value), 0o777);
            }
            if is_dir && let Some(value) = self.posix_acl(view, POSIX_DEFAULT)? {
                take(NOT_OWNERS, plainly(&value));
            }
        }
        Ok(limits)
    }

    /// A node's entries, where it has any; `Some(None)` where they cannot be told.
    fn acl_entries(&self, view: &SaView) -> Option<Option<Vec<acl::Ace>>> {
        let found = |attr: &ZplAttr| self.sa.get(view, attr).filter(|bytes| !bytes.is_empty());
        match found(&attr::DACL_ACES) {
            Some(aces) => Some(acl::decode(&aces, Endian::Little).ok()),
            None => found(&attr::ZNODE_ACL).map(|_| None),
        }
    }

    fn posix_acl(&self, view: &SaView, name: &str) -> Result<Option<Vec<u8>>> {
        let packed = self.sa.get(view, &attr::DXATTR).filter(|bytes| !bytes.is_empty());
        // A list that cannot be read may have had an ACL: no value is one that allows nothing.
        match packed.map(|bytes| NvList::decode(&bytes)) {
            Some(Err(_)) => return Ok(Some(Vec::new())),
            Some(Ok(list)) => match list.get(name) {
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
        let Some(entry) = zap.find_u64(name.as_bytes()).map_err(api_error)? else { return Ok(None) };
        let file = self.objset.hold(Dirent::decode(entry).object).map_err(api_error)?;
        let size = self.sa.read(&file).map_err(api_error)?;
        let size = self.sa.word(&size, &attr::SIZE).unwrap_or(0).min(POSIX_ACL_MAX);
        file.read_bytes(0, size as usize).map(Some).map_err(api_error)
    }

    /// A POSIX ACL says what the mode says from now on, for whoever follows it. The caller holds the node's `ops` lock.
    pub(super) fn posix_acl_follows(
        &self,
        cred: &Cred,
        node: &Arc<Node>,
        attrs: &Attrs,
        mode: u32,
        tx: &Tx,
    ) -> Result<()> {
        if !self.settings().posix_acls {
            return Ok(());
        }
        let mut list = self.system_xattrs(node)?;
        let with_mode = |value: &[u8]| plain::posix_with_mode(value, mode).ok();
        match self.find_xattr(node, &list, POSIX_ACCESS.as_bytes())? {
            None => Ok(()),
            Some(Place::System(name)) => {
                let Some(NvValue::ByteArray(value) | NvValue::U8Array(value)) = list.get(&name) else {
                    return Ok(());
                };
                let Some(value) = with_mode(value) else { return Ok(()) };
                list.set(&name, NvValue::ByteArray(value.clone()));
                self.store_system_list(node, &list, tx)?;
                if attrs.links > 0 {
                    self.log_system_xattr(node.object(), name.as_bytes(), Some(&value), tx);
                }
                Ok(())
            }
            Some(Place::Directory(name)) => match with_mode(&self.read_xattr_file(node, &name)?) {
                Some(value) => self.write_xattr_file(cred, node, attrs, &name, &value, tx),
                None => Ok(()),
            },
        }
    }
}
