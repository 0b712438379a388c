//! Access control lists that another system set: kept as they are, with the mode that they amount
//! to.
//!
//! Source: `zfs_mode_compute` in module/os/linux/zfs/zfs_acl.c.

use dmu::Holds;
use engine_api::{Error, Result};
use ondisk::sa::pack_words;
use ondisk::zil::record::{LoggedAcl, LrAcl};
use ondisk::znode::acl::{
    ALLOW, Ace, DENY, EVERYONE, EXECUTE, GROUP, IDENTIFIER_GROUP, INHERIT, INHERIT_ONLY, OWNER, READ_DATA,
    WRITE_DATA, encode, trivial,
};
use ondisk::znode::{attr, flags};

use super::{META_BLOCKS, Zpl};
use crate::zpl::attrs::{Attrs, Change};
use crate::zpl::node::lock_all;

impl Zpl {
    pub(super) fn replay_acl(&self, set: &LrAcl<'_>) -> Result<()> {
        let Some(node) = self.replay_node(set.object)? else { return Ok(()) };
        if !set.domains.is_empty() || !set.acl.fuids.is_empty() {
            return Err(Error::Unsupported("replay of an ACL that names another domain".into()));
        }
        let _ops = lock_all(&[&node]);
        let tx = self.begin(Holds::freeing(META_BLOCKS))?;
        self.update(&node, &tx, |old, _| store(Change::default(), &set.acl, old))?;
        self.replayed(&tx);
        Ok(())
    }
}

/// The list as a node is to have it.
pub(super) fn store(change: Change, acl: &LoggedAcl, old: &Attrs) -> Change {
    let named = |who: u16| matches!(who & (OWNER | EVERYONE | GROUP), OWNER | EVERYONE | GROUP);
    let aces: Vec<Ace> = acl
        .entries
        .iter()
        .map(|entry| Ace {
            kind: entry.kind,
            flags: entry.flags,
            mask: entry.mask,
            who: (!named(entry.flags)).then_some(entry.who.into()),
        })
        .collect();
    let mode = mode_of(&aces, old);
    let is_trivial = aces == trivial((mode & 0o7777) as u32, old.is_dir());
    let inherits = aces.iter().any(|ace| ace.flags & INHERIT != 0);
    let mut bits = old.flags & !flags::ACL_WIDE | acl.flags & KEPT;
    bits |= if is_trivial { flags::ACL_TRIVIAL } else { 0 };
    bits |= if inherits { flags::INHERIT_ACE } else { 0 };
    change
        .word(&attr::MODE, mode)
        .word(&attr::FLAGS, bits)
        .bytes(&attr::DACL_COUNT, pack_words(&[aces.len() as u64]))
        .bytes(&attr::DACL_ACES, encode(&aces))
}

/// Flags that come with a list.
const KEPT: u64 = flags::ACL_AUTO_INHERIT | flags::ACL_DEFAULTED | flags::ACL_PROTECTED;

/// The mode whose nine bits say what the list grants owner, group and everybody: of each right, the
/// first entry that speaks of it counts.
fn mode_of(aces: &[Ace], node: &Attrs) -> u64 {
    let mut granted = 0;
    let mut seen = 0;
    let applying =
        aces.iter().filter(|ace| ace.flags & INHERIT_ONLY == 0 && matches!(ace.kind, ALLOW | DENY));
    for ace in applying {
        let owns = ace.who == Some(node.uid) && ace.flags & IDENTIFIER_GROUP == 0;
        let classes = match ace.flags & (OWNER | GROUP | EVERYONE) {
            OWNER => 0o700,
            GROUP => 0o070,
            EVERYONE => 0o777,
            _ if owns => 0o700,
            _ => 0,
        };
        let rights = [(READ_DATA, 0o444), (WRITE_DATA, 0o222), (EXECUTE, 0o111)];
        let bits: u64 = rights.iter().filter(|(mask, _)| ace.mask & mask != 0).map(|(_, bits)| bits).sum();
        let fresh = bits & classes & !seen;
        seen |= fresh;
        granted |= if ace.kind == ALLOW { fresh } else { 0 };
    }
    node.mode & !0o777 | granted
}

#[cfg(test)]
mod tests;
