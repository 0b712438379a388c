//! Access control lists in records: entries as programs give them (`ace_t`), not as they are
//! stored.
//!
//! ```text
//! acl (80):      32 object   40 entries   48 domains   56 FUIDs   64 bytes   72 flags   80 entries, padded; FUIDs; domains
//! acl v0 (48):   32 object   40 entries   48 entries
//! entry (12):    0 who (u32)   4 mask (u32)   8 flags (u16)   10 type (u16)   [12 object types (32 bytes)]
//! ```
//! Source: `ace_t` in include/sys/acl.h, `zfs_log_acl` in module/zfs/zfs_log.c.

use crate::malformed::Malformed;
use crate::znode::acl::has_object_types;

use super::attrs::Domains;
use super::fields::{Fields, Maker};

const ENTRY: usize = 12;
const OBJECT_TYPES: usize = 32;

/// An entry; object types are not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoggedAce {
    pub who: u32,
    pub mask: u32,
    pub flags: u16,
    pub kind: u16,
}

/// A list with what its entries' numbers mean.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoggedAcl {
    pub flags: u64,
    pub entries: Vec<LoggedAce>,
    /// For entries whose number is of another domain, in their order.
    pub fuids: Vec<u64>,
}

/// A node's ACL was set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LrAcl<'a> {
    pub object: u64,
    pub acl: LoggedAcl,
    pub domains: Domains<'a>,
}

/// The same in a file system of version 1 or 2.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LrAclV0 {
    pub object: u64,
    pub entries: Vec<LoggedAce>,
}

impl LoggedAce {
    fn decode(from: &mut Fields<'_>) -> Result<LoggedAce, Malformed> {
        Ok(LoggedAce { who: from.u32()?, mask: from.u32()?, flags: from.u16()?, kind: from.u16()? })
    }

    fn encode(&self, to: &mut Maker) {
        to.u32(self.who);
        to.u32(self.mask);
        to.u16(self.flags);
        to.u16(self.kind);
    }

    fn len(&self) -> usize {
        if has_object_types(self.kind) { ENTRY + OBJECT_TYPES } else { ENTRY }
    }
}

impl LoggedAcl {
    /// `sizes`: entries, domains, FUIDs, bytes, flags.
    pub(super) fn decode<'a>(
        sizes: &[u64],
        from: &mut Fields<'a>,
    ) -> Result<(LoggedAcl, Domains<'a>), Malformed> {
        let &[_, domains, fuids, bytes, flags] = sizes else {
            return Err(Malformed::at("zil acl record", 0));
        };
        if bytes > from.remaining() as u64 {
            return Err(Malformed::at("bytes of a logged acl", 0));
        }
        let mut left = bytes as usize;
        let mut entries = Vec::with_capacity(left / ENTRY);
        while left > 0 {
            let entry = LoggedAce::decode(from)?;
            let types = entry.len() - ENTRY;
            from.take(types)?;
            left = left.checked_sub(entry.len()).ok_or(Malformed::at("entry of a logged acl", 0))?;
            entries.push(entry);
        }
        from.take((bytes.next_multiple_of(8) - bytes) as usize)?;
        let fuids = from.words(fuids)?;
        Ok((LoggedAcl { flags, entries, fuids }, Domains::decode(domains, from)?))
    }

    fn bytes(&self) -> u64 {
        self.entries.iter().map(LoggedAce::len).sum::<usize>() as u64
    }

    pub(super) fn sizes(&self, domains: &Domains<'_>) -> [u64; 5] {
        let (count, fuids) = (self.entries.len() as u64, self.fuids.len() as u64);
        [count, domains.count(), fuids, self.bytes(), self.flags]
    }

    pub(super) fn encode(&self, to: &mut Maker) {
        for entry in &self.entries {
            entry.encode(to);
            to.bytes(&[0; OBJECT_TYPES][..entry.len() - ENTRY]);
        }
        to.pad();
        to.words(&self.fuids);
    }
}

impl<'a> LrAcl<'a> {
    pub(super) fn decode(from: &mut Fields<'a>) -> Result<LrAcl<'a>, Malformed> {
        let object = from.u64()?;
        let sizes = from.words(5)?;
        let (acl, domains) = LoggedAcl::decode(&sizes, from)?;
        Ok(LrAcl { object, acl, domains })
    }

    pub(super) fn encode(&self, to: &mut Maker) {
        to.words(&[self.object]);
        to.words(&self.acl.sizes(&self.domains));
        self.acl.encode(to);
        self.domains.encode(to);
    }
}

impl LrAclV0 {
    pub(super) fn decode(from: &mut Fields<'_>) -> Result<LrAclV0, Malformed> {
        let (object, count) = (from.u64()?, from.u64()?);
        if count > (from.remaining() / ENTRY) as u64 {
            return Err(Malformed::at("entries of a logged acl", 40));
        }
        let entries = (0..count).map(|_| LoggedAce::decode(from)).collect::<Result<_, _>>()?;
        Ok(LrAclV0 { object, entries })
    }

    pub(super) fn encode(&self, to: &mut Maker) {
        to.words(&[self.object, self.entries.len() as u64]);
        self.entries.iter().for_each(|entry| entry.encode(to));
    }
}
