//! POSIX.1e access control lists, as Linux has them: the model, its stored form, and what the
//! operations make of it.
//!
//! An ACL has entries for the owner, for users by number, for the owning group, for groups by
//! number, a mask, and for others, in this order. The mask bounds what users and groups by number
//! and the owning group get; it is there wherever one has a number. A file's mode and its ACL say
//! the same: the mode's group bits are the mask where there is one. An ACL without mask says no
//! more than a mode does, and is not kept.
//!
//! Stored, and given through extended attributes, it is a version (u32), then for each entry a tag
//! (u16), permissions (u16), and a number (u32), all little endian. [`Acl::decode`] takes nothing
//! but a whole ACL, so an [`Acl`] is one.
//!
//! Sources: fs/posix_acl.c and include/uapi/linux/posix_acl_xattr.h of Linux; `zpl_acl_to_xattr` in
//! module/os/linux/zfs/zpl_xattr.c of OpenZFS.

use super::{NO_ID, Node, SETGID, Who};

/// The extended attributes' names: what the node allows, and what is made in the directory gets.
pub const ACCESS: &[u8] = b"system.posix_acl_access";
pub const DEFAULT: &[u8] = b"system.posix_acl_default";
/// Bytes of the longest stored ACL: an extended attribute's, as Linux limits it.
pub const STORED_MAX: usize = 64 << 10;

const VERSION: u32 = 2;
const HEAD: usize = 4;
const ENTRY: usize = 8;
const ALL: u32 = 7;

/// Whom an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    Owner,
    User(u32),
    Group,
    NamedGroup(u32),
    Mask,
    Other,
}

impl Tag {
    fn of(number: u16, id: u32) -> Option<Tag> {
        Some(match number {
            0x01 => Tag::Owner,
            0x02 if id != NO_ID => Tag::User(id),
            0x04 => Tag::Group,
            0x08 if id != NO_ID => Tag::NamedGroup(id),
            0x10 => Tag::Mask,
            0x20 => Tag::Other,
            _ => return None,
        })
    }

    fn number(self) -> (u16, u32) {
        match self {
            Tag::Owner => (0x01, NO_ID),
            Tag::User(id) => (0x02, id),
            Tag::Group => (0x04, NO_ID),
            Tag::NamedGroup(id) => (0x08, id),
            Tag::Mask => (0x10, NO_ID),
            Tag::Other => (0x20, NO_ID),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    tag: Tag,
    /// `READ | WRITE | EXEC`.
    allowed: u32,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acl {
    entries: Vec<Entry>,
}

/// What a value is that is no ACL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// Of another version (EOPNOTSUPP).
    Version,
    /// Entries that cannot be, or not in this order (EINVAL).
    Entries,
}

impl Acl {
    /// From its stored form. A value without entries means that there is no ACL: `None`.
    pub fn decode(value: &[u8]) -> Result<Option<Acl>, Invalid> {
        if value.len() > STORED_MAX {
            return Err(Invalid::Entries);
        }
        let (version, rest) = value.split_first_chunk::<HEAD>().ok_or(Invalid::Entries)?;
        if u32::from_le_bytes(*version) != VERSION {
            return Err(Invalid::Version);
        }
        if rest.is_empty() {
            return Ok(None);
        }
        let (entries, []) = rest.as_chunks::<ENTRY>() else { return Err(Invalid::Entries) };
        let entries: Option<Vec<Entry>> = entries.iter().map(|entry| decode_entry(*entry)).collect();
        let entries = entries.filter(|entries| is_whole(entries)).ok_or(Invalid::Entries)?;
        Ok(Some(Acl { entries }))
    }

    /// Its stored form.
    pub fn encode(&self) -> Vec<u8> {
        let mut value = VERSION.to_le_bytes().to_vec();
        for entry in &self.entries {
            let (tag, id) = entry.tag.number();
            value.extend(tag.to_le_bytes());
            value.extend((entry.allowed as u16).to_le_bytes());
            value.extend(id.to_le_bytes());
        }
        value
    }

    /// One that allows the group and others nothing: for what cannot be read.
    pub fn closed() -> Acl {
        let entry = |tag, allowed| Entry { tag, allowed };
        Acl { entries: vec![entry(Tag::Owner, ALL), entry(Tag::Group, 0), entry(Tag::Other, 0)] }
    }

    /// Whether the caller has all of `want` (`posix_acl_permission`). The first of owner, user by
    /// number, groups, and others that fits decides; of the groups that the caller is in, one must
    /// have all that is wanted.
    pub fn allows(&self, who: &Who<'_>, node: &Node<'_>, want: u32) -> bool {
        let mask = self.get(Tag::Mask).unwrap_or(ALL);
        let mut is_member = false;
        for Entry { tag, allowed } in &self.entries {
            let has = |bound: u32| allowed & bound & want == want;
            match tag {
                Tag::Owner if who.uid == node.uid => return has(ALL),
                Tag::User(uid) if who.uid == *uid => return has(mask),
                Tag::Group | Tag::NamedGroup(_) => {
                    let gid = if let Tag::NamedGroup(gid) = tag { *gid } else { node.gid };
                    if who.in_group(gid) {
                        is_member = true;
                        if has(ALL) {
                            return has(mask);
                        }
                    }
                }
                Tag::Other => return !is_member && has(ALL),
                _ => {}
            }
        }
        false
    }

    /// The nine bits of a mode that says the same, and whether it says all
    /// (`posix_acl_equiv_mode`).
    pub fn mode(&self) -> (u32, bool) {
        let of = |tag| self.get(tag).unwrap_or(0);
        let mask = self.get(Tag::Mask);
        let between = mask.unwrap_or_else(|| of(Tag::Group));
        (of(Tag::Owner) << 6 | between << 3 | of(Tag::Other), mask.is_none())
    }

    /// The ACL after a chmod: it sets what the owner, the others, and all in between may at most
    /// (`posix_acl_chmod`).
    pub fn with_mode(mut self, mode: u32) -> Acl {
        let between = self.between();
        self.set(Tag::Owner, mode >> 6 & ALL);
        self.set(between, mode >> 3 & ALL);
        self.set(Tag::Other, mode & ALL);
        self
    }

    /// Of a directory's default ACL, what a new node in there gets whose maker asks for `mode`: its
    /// ACL, and the mode, the bits above the nine as they are (`posix_acl_create`). Both allow what
    /// both allow.
    pub fn inherited(mut self, mode: u32) -> (Acl, u32) {
        let between = self.between();
        let mut left = mode & !0o777;
        for (tag, shift) in [(Tag::Owner, 6), (between, 3), (Tag::Other, 0)] {
            let allowed = self.get(tag).unwrap_or(0) & mode >> shift & ALL;
            self.set(tag, allowed);
            left |= allowed << shift;
        }
        (self, left)
    }

    /// The entry that the group bits of the mode are.
    fn between(&self) -> Tag {
        if self.get(Tag::Mask).is_some() { Tag::Mask } else { Tag::Group }
    }

    fn get(&self, tag: Tag) -> Option<u32> {
        self.entries.iter().find(|entry| entry.tag == tag).map(|entry| entry.allowed)
    }

    fn set(&mut self, tag: Tag, allowed: u32) {
        for entry in self.entries.iter_mut().filter(|entry| entry.tag == tag) {
            entry.allowed = allowed;
        }
    }
}

/// The mode that a node has after it got an access ACL: who sets it and is not in the node's group
/// makes no setgid program (`posix_acl_update_mode`).
pub fn mode_after_set(who: &Who<'_>, node: &Node<'_>, acl: &Acl) -> u32 {
    let mode = node.mode & !0o777 | acl.mode().0;
    if who.is_privileged() || who.in_group(node.gid) { mode } else { mode & !SETGID }
}

fn decode_entry(bytes: [u8; ENTRY]) -> Option<Entry> {
    let [tag0, tag1, allowed0, allowed1, id @ ..] = bytes;
    let allowed = u32::from(u16::from_le_bytes([allowed0, allowed1]));
    let tag = Tag::of(u16::from_le_bytes([tag0, tag1]), u32::from_le_bytes(id))?;
    (allowed <= ALL).then_some(Entry { tag, allowed })
}

/// Every entry that has to be there is, in order (`posix_acl_valid`).
fn is_whole(entries: &[Entry]) -> bool {
    let mut rest = entries.iter().map(|entry| entry.tag).peekable();
    let mut named = false;
    let owner = rest.next_if_eq(&Tag::Owner).is_some();
    while rest.next_if(|tag| matches!(tag, Tag::User(_))).is_some() {
        named = true;
    }
    let group = rest.next_if_eq(&Tag::Group).is_some();
    while rest.next_if(|tag| matches!(tag, Tag::NamedGroup(_))).is_some() {
        named = true;
    }
    let mask = rest.next_if_eq(&Tag::Mask).is_some();
    let other = rest.next_if_eq(&Tag::Other).is_some();
    owner && group && (mask || !named) && other && rest.next().is_none()
}

#[cfg(test)]
mod tests;
