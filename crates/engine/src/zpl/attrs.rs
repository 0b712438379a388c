//! A node's attributes: read from its bonus, changed there, and shown as `engine_api::Attr`.
//!
//! ctime never repeats: where the clock has not moved on, or has just been set back a little, a
//! change is put one nanosecond after the last. So it serves as the change counter that clients
//! compare.

use std::sync::Arc;

use dmu::{DmuError, Tx};
use engine_api::{Attr, Error, NodeId, NodeKind, Result, Time};
use ondisk::Endian;
use ondisk::dnode::SLOT_SIZE;
use ondisk::malformed::u64_at;
use ondisk::sa::pack_words;
use ondisk::znode::attr::{self, ZplAttr};
use ondisk::znode::{self, decode_rdev, flags, kind, kind_of_mode};
use stdx::posix::acl::Acl;

use super::acl_limits::AclLimits;
use super::error::api_error;
use super::node::Node;
use super::{Zpl, acl};

const NANOS_PER_SEC: u32 = 1_000_000_000;
/// Flags that came with FUIDs: those of Windows.
const LATER_FLAGS: u64 = !0 << 32;

/// The attributes every node has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attrs {
    /// Type and permissions.
    pub mode: u64,
    pub size: u64,
    pub generation: u64,
    pub uid: u64,
    pub gid: u64,
    pub parent: u64,
    /// `znode::flags`.
    pub flags: u64,
    pub atime: Time,
    pub mtime: Time,
    pub ctime: Time,
    pub crtime: Time,
    pub links: u64,
    /// As stored; 0 for all but devices.
    pub rdev: u64,
    pub acl: AclLimits,
    /// The POSIX ACL that is followed.
    pub posix_acl: Option<Arc<Acl>>,
}

impl Attrs {
    /// `znode::kind`.
    pub fn kind(&self) -> u8 {
        kind_of_mode(self.mode)
    }

    pub fn is_dir(&self) -> bool {
        self.kind() == kind::DIR
    }

    /// The mode's low twelve bits.
    pub fn permissions(&self) -> u32 {
        (self.mode & 0o7777) as u32
    }

    pub fn api_kind(&self) -> NodeKind {
        api_kind(self.kind())
    }
}

/// A kind as protocols know it. What cannot be is shown as a file: its attributes at least can be
/// looked at.
pub fn api_kind(kind: u8) -> NodeKind {
    match kind {
        kind::FIFO => NodeKind::Fifo,
        kind::CHAR => NodeKind::CharDev,
        kind::DIR => NodeKind::Dir,
        kind::BLOCK => NodeKind::BlockDev,
        kind::SYMLINK => NodeKind::Symlink,
        kind::SOCKET => NodeKind::Socket,
        _ => NodeKind::File,
    }
}

pub fn time_words(time: Time) -> [u64; 2] {
    [time.secs as u64, u64::from(time.nanos)]
}

pub fn time(words: [u64; 2]) -> Time {
    Time { secs: words[0] as i64, nanos: (words[1] % u64::from(NANOS_PER_SEC)) as u32 }
}

/// Changes to a node's attributes, made as one.
#[derive(Default)]
pub struct Change {
    values: Vec<(&'static ZplAttr, Option<Vec<u8>>)>,
}

impl Change {
    pub fn word(self, attr: &'static ZplAttr, value: u64) -> Change {
        self.bytes(attr, pack_words(&[value]))
    }

    pub fn time(self, attr: &'static ZplAttr, value: Time) -> Change {
        self.bytes(attr, pack_words(&time_words(value)))
    }

    /// Nothing where there is no value.
    pub fn maybe_word(self, attr: &'static ZplAttr, value: Option<u64>) -> Change {
        match value {
            Some(value) => self.word(attr, value),
            None => self,
        }
    }

    pub fn maybe_time(self, attr: &'static ZplAttr, value: Option<Time>) -> Change {
        match value {
            Some(value) => self.time(attr, value),
            None => self,
        }
    }

    pub fn bytes(mut self, attr: &'static ZplAttr, value: Vec<u8>) -> Change {
        self.values.push((attr, Some(value)));
        self
    }

    /// As `dmu::sa` takes them.
    pub fn values(&self) -> Vec<(&'static ZplAttr, Option<&[u8]>)> {
        self.values.iter().map(|(attr, value)| (*attr, value.as_deref())).collect()
    }

    /// A new node's.
    pub fn of(values: Vec<(&'static ZplAttr, Vec<u8>)>) -> Change {
        Change { values: values.into_iter().map(|(attr, value)| (attr, Some(value))).collect() }
    }

    /// A chmod: the mode, and the flags and the ACL that say the same.
    pub fn chmod(self, old_flags: u64, mode: u64, is_dir: bool) -> Change {
        let [(count, count_value), (aces, aces_value)] = acl::for_mode(mode, is_dir);
        self.word(&attr::MODE, mode)
            .word(&attr::FLAGS, acl::flags_for_mode(old_flags, mode))
            .bytes(count, count_value)
            .bytes(aces, aces_value)
    }

    pub fn has_acl(&self) -> bool {
        self.values.iter().any(|(changed, _)| **changed == attr::DACL_ACES)
    }

    /// As a znode takes it: its ACL has a form of its own, and what came later has no place.
    pub fn for_znode(mut self, version: u64) -> Change {
        let has_acl = self.has_acl();
        let later = [attr::DACL_COUNT, attr::DACL_ACES, attr::PROJID];
        self.values.retain(|(changed, _)| !later.contains(changed));
        let mut acl = None;
        for (changed, value) in &mut self.values {
            let word = value.as_deref().and_then(|value| u64_at(value, 0, Endian::Little, "attribute").ok());
            match word {
                Some(mode) if **changed == attr::MODE && has_acl => acl = Some(acl::in_znode(mode, version)),
                Some(old) if **changed == attr::FLAGS => {
                    let no = if version < znode::VERSION_FUID { LATER_FLAGS } else { flags::PROJID };
                    *value = Some(pack_words(&[old & !no]));
                }
                _ => {}
            }
        }
        self.values.extend(acl.map(|acl| (&attr::ZNODE_ACL, Some(acl))));
        self
    }

    pub fn remove(mut self, attr: &'static ZplAttr) -> Change {
        self.values.push((attr, None));
        self
    }
}

/// The attributes of a new node, in the order that OpenZFS gives them (and accounting relies on).
pub fn template(attrs: &Attrs, project: Option<u64>) -> Vec<(&'static ZplAttr, Vec<u8>)> {
    let word = |attr, value: u64| (attr, pack_words(&[value]));
    let time = |attr, value: Time| (attr, pack_words(&time_words(value)));
    let mut values = vec![
        word(&attr::MODE, attrs.mode),
        word(&attr::SIZE, attrs.size),
        word(&attr::GEN, attrs.generation),
        word(&attr::UID, attrs.uid),
        word(&attr::GID, attrs.gid),
        word(&attr::PARENT, attrs.parent),
        word(&attr::FLAGS, acl::flags_for_mode(attrs.flags, attrs.mode)),
        time(&attr::ATIME, attrs.atime),
        time(&attr::MTIME, attrs.mtime),
        time(&attr::CTIME, attrs.ctime),
        time(&attr::CRTIME, attrs.crtime),
        word(&attr::LINKS, attrs.links),
    ];
    values.extend(project.map(|project| word(&attr::PROJID, project)));
    if matches!(attrs.kind(), kind::CHAR | kind::BLOCK) {
        values.push(word(&attr::RDEV, attrs.rdev));
    }
    values.extend(acl::for_mode(attrs.mode, attrs.is_dir()));
    values
}

/// The ctime of a change made now.
pub fn next_ctime(old: Time, now: Time) -> Time {
    let just_ahead = old >= now && old.secs.saturating_sub(now.secs) <= 1;
    if !just_ahead {
        now
    } else if old.nanos + 1 < NANOS_PER_SEC {
        Time { nanos: old.nanos + 1, ..old }
    } else {
        Time { secs: old.secs.saturating_add(1), nanos: 0 }
    }
}

impl Zpl {
    /// A node's attributes as they are now.
    pub(super) fn attrs(&self, node: &Node) -> Result<Attrs> {
        let attrs = self.stored_attrs(node.dnode());
        // Freed meanwhile: what was read may be of any moment.
        node.check_alive()?;
        let mut attrs = attrs?;
        if let Some(atime) = node.pending_atime() {
            attrs.atime = atime;
        }
        Ok(attrs)
    }

    /// `Stale` when the object has just been freed.
    pub(super) fn stored_attrs(&self, dnode: &dmu::Dnode) -> Result<Attrs> {
        self.read_attrs(dnode).map_err(|error| if dnode.exists() { error } else { Error::Stale })
    }

    fn read_attrs(&self, dnode: &dmu::Dnode) -> Result<Attrs> {
        let sa = &self.sa;
        let mut view = sa.read(dnode).map_err(api_error)?;
        // Others may have packed the attributes in another order; what is not in the bonus is in
        // the spill block.
        if dnode.has_spill() && sa.word(&view, &attr::LINKS).is_none() {
            view = sa.read_all(dnode).map_err(api_error)?;
        }
        let corrupt = || Error::Corrupt { object: dnode.object(), block: 0 };
        let word = |attr: &ZplAttr| sa.word(&view, attr).ok_or_else(corrupt);
        let pair = |attr: &ZplAttr| sa.pair(&view, attr).map(time).ok_or_else(corrupt);
        let (mode, flags) = (word(&attr::MODE)?, word(&attr::FLAGS)?);
        let (is_rich, obeys) = (flags & flags::ACL_TRIVIAL == 0, self.obeys_posix_acl(mode, flags));
        let whole = ((is_rich || obeys) && dnode.has_spill()).then(|| sa.read_all(dnode)).transpose();
        let whole = whole.map_err(api_error)?;
        let all = whole.as_ref().unwrap_or(&view);
        let acl = if is_rich { self.acl_limits(all, mode) } else { AclLimits::default() };
        let posix_acl = if obeys { self.access_acl(all)? } else { None };
        Ok(Attrs {
            mode,
            size: word(&attr::SIZE)?,
            generation: word(&attr::GEN)?,
            uid: word(&attr::UID)?,
            gid: word(&attr::GID)?,
            parent: word(&attr::PARENT)?,
            flags,
            atime: pair(&attr::ATIME)?,
            mtime: pair(&attr::MTIME)?,
            ctime: pair(&attr::CTIME)?,
            crtime: pair(&attr::CRTIME)?,
            links: word(&attr::LINKS)?,
            rdev: sa.word(&view, &attr::RDEV).unwrap_or(0),
            acl,
            posix_acl,
        })
    }

    /// What a client sees of them.
    pub(super) fn show(&self, node: &Node, attrs: &Attrs) -> Attr {
        let dnode = node.dnode();
        let (extent, recordsize) = (dnode.extent(), self.settings().recordsize);
        let blksize = if extent.max_blkid > 0 && !attrs.is_dir() { extent.block_size } else { recordsize };
        let is_device = matches!(attrs.kind(), kind::CHAR | kind::BLOCK);
        Attr {
            node: NodeId { object: dnode.object(), generation: attrs.generation },
            kind: attrs.api_kind(),
            mode: attrs.permissions(),
            withheld: attrs.acl.withheld,
            nlink: attrs.links,
            uid: attrs.uid as u32,
            gid: attrs.gid as u32,
            size: attrs.size,
            // With the dnode itself (`dmu_object_size_from_db`).
            used: extent.used_bytes + u64::from(extent.slots) * SLOT_SIZE as u64,
            blksize,
            rdev: if is_device { decode_rdev(attrs.rdev) } else { (0, 0) },
            atime: attrs.atime,
            mtime: attrs.mtime,
            ctime: attrs.ctime,
            crtime: attrs.crtime,
            change: (attrs.ctime.secs as u64)
                .wrapping_mul(u64::from(NANOS_PER_SEC))
                .wrapping_add(u64::from(attrs.ctime.nanos)),
            // The space it takes is known when its group is written, of which watchers are told.
            settled: true,
        }
    }

    pub(super) fn show_now(&self, node: &Node) -> Result<Attr> {
        Ok(self.show(node, &self.attrs(node)?))
    }

    /// Changes attributes by what they are: `change` sees them and answers with the new ones. ctime
    /// moves on by itself. The node's pending access time goes along.
    pub(super) fn update(
        &self,
        node: &Node,
        tx: &Tx,
        change: impl FnOnce(&Attrs, Time) -> Change,
    ) -> Result<Time> {
        self.update_and(node, tx, change, |_, _| ())
    }

    /// As [`Zpl::update`]; `log` is told the attributes before and the new ctime while nobody else
    /// can change them, so that records are in the order of what they say. A node without a name
    /// has no records.
    pub(super) fn update_and(
        &self,
        node: &Node,
        tx: &Tx,
        change: impl FnOnce(&Attrs, Time) -> Change,
        log: impl FnOnce(&Attrs, Time),
    ) -> Result<Time> {
        let _attrs = env::lock(node.attrs_lock());
        let old = self.stored_attrs(node.dnode())?;
        let ctime = next_ctime(old.ctime, self.now());
        let mut new = change(&old, ctime).time(&attr::CTIME, ctime);
        let sets_atime = new.values.iter().any(|(changed, _)| changed.name == attr::ATIME.name);
        new = new.maybe_time(&attr::ATIME, node.take_pending_atime().filter(|_| !sets_atime));
        self.store(node, new, tx)?;
        if old.links > 0 {
            log(&old, ctime);
        }
        Ok(ctime)
    }

    /// Sets attributes to what they are given as.
    pub(super) fn set(&self, node: &Node, change: Change, tx: &Tx) -> Result<()> {
        let _attrs = env::lock(node.attrs_lock());
        self.store(node, change, tx)
    }

    /// All of a node's attributes at one moment, those in the spill block too.
    pub(super) fn whole_view(&self, node: &Node) -> Result<dmu::sa::SaView> {
        let _attrs = env::lock(node.attrs_lock());
        self.sa.read_all(node.dnode()).map_err(api_error)
    }

    /// Writes changed attributes. The caller holds the node's `attrs` lock.
    pub(super) fn store(&self, node: &Node, change: Change, tx: &Tx) -> Result<()> {
        self.upgrade_znode(node, tx)?;
        self.put(node.dnode(), change, tx)?;
        node.changed_in(tx.txg());
        Ok(())
    }

    /// As [`Zpl::store`], of a node that nobody else can change and that stays in the form it has.
    pub(super) fn put(&self, dnode: &dmu::Dnode, change: Change, tx: &Tx) -> Result<()> {
        let change = self.as_of(dnode, change, tx)?;
        self.sa.update(&self.objset, dnode, &change.values(), tx).map_err(|error| match error {
            DmuError::TooBig => Error::NoSpace,
            error => api_error(error),
        })
    }

    /// An old znode in a file system that has become version 5 gets system attributes with its
    /// first change.
    fn upgrade_znode(&self, node: &Node, tx: &Tx) -> Result<()> {
        let dnode = node.dnode();
        if self.sa.is_old() || dnode.bonus_type() == ondisk::object_type::ObjectType::SA {
            return Ok(());
        }
        self.free_further_entries(dnode, tx)?;
        let attrs = self.stored_attrs(dnode)?;
        let bonus = dnode.bonus();
        let view = self.sa.read(dnode).map_err(api_error)?;
        let xattr = self.sa.word(&view, &attr::XATTR).unwrap_or(0);
        let mut values = template(&attrs, None);
        if xattr != 0 {
            values.push((&attr::XATTR, pack_words(&[xattr])));
        }
        let target = znode::phys::inline_target(&bonus.bytes, attrs.size);
        if let Some(target) = target.filter(|_| attrs.kind() == kind::SYMLINK) {
            values.push((&attr::SYMLINK, target.to_vec()));
        }
        let values: Vec<_> = values.iter().map(|(attr, value)| (*attr, &value[..])).collect();
        self.sa.replace_all(&self.objset, dnode, &values, tx).map_err(api_error)
    }
}

/// Flags of a node whose contents changed, as Windows's backup programs look for them.
pub fn modified(old: u64) -> u64 {
    old | flags::ARCHIVE | flags::AV_MODIFIED
}

#[cfg(test)]
mod tests;
