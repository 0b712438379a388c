//! ACLs of NFSv4's kind that say more than a mode, as they came from other systems: what they keep
//! from whom.
//!
//! They are not followed user by user. The owner is who the mode says; everybody else has of the
//! mode what the ACL's entries allow plainly ([`plain`]), so that nobody gets by us what the ACL
//! denies him. What is made in a directory whose ACL is handed down gets no ACL, and a mode that
//! allows no more than that ACL. What cannot be read allows group and others nothing. POSIX ACLs
//! are another matter: those are followed ([`super::posix_acl`]).

use dmu::sa::SaView;
use ondisk::Endian;
use ondisk::znode::attr::{self, ZplAttr};
use ondisk::znode::{acl, kind, kind_of_mode, plain};

use super::Zpl;

/// Bits of group and others.
const NOT_OWNERS: u32 = 0o077;

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
    /// Of a node whose flags say that its ACL is more than a mode; `view` is of all there is.
    pub(super) fn acl_limits(&self, view: &SaView, mode: u64) -> AclLimits {
        let is_dir = kind_of_mode(mode) == kind::DIR;
        let (allowed, new) = match self.acl_entries(view) {
            None => return AclLimits::default(),
            Some(Some(aces)) => (plain::of_aces(&aces), plain::inherited(&aces)),
            Some(None) => (0, !NOT_OWNERS),
        };
        AclLimits {
            withheld: mode as u32 & NOT_OWNERS & !allowed,
            kept_from_new: if is_dir { 0o777 & !new } else { 0 },
        }
    }

    /// A node's entries, where it has any; `Some(None)` where they cannot be told.
    fn acl_entries(&self, view: &SaView) -> Option<Option<Vec<acl::Ace>>> {
        let found = |attr: &ZplAttr| self.sa.get(view, attr).filter(|bytes| !bytes.is_empty());
        match found(&attr::DACL_ACES) {
            Some(aces) => Some(acl::decode(&aces, Endian::Little).ok()),
            None => found(&attr::ZNODE_ACL).map(|_| None),
        }
    }
}
