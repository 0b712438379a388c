//! Delegated permissions: the keys of a directory's ZAP of them.
//!
//! A directory's `deleg_zapobj` has an entry for each who, under a key of three or more
//! characters; its value is another ZAP (both `DMU_OT_DSL_PERMS`), whose entries are named like
//! what is permitted, and are 0.
//!
//! ```text
//!   u l $ 1001
//!   │ │   └──── number of a user or group, or name of a set with its '@'; nothing for 'e' and 'c'
//!   │ └──────── 'l': the dataset itself, 'd': those below it; '-' for 'c' and 's'
//!   └────────── 'u' user, 'g' group, 'e' everyone, 'c' who creates a dataset below, 's' a named set
//!               lower case: permissions; upper case: names of sets
//! ```
//!
//! Sources: include/sys/dsl_deleg.h, include/zfs_deleg.h, module/zfs/dsl_deleg.c,
//! module/zcommon/zfs_deleg.c.

use std::fmt;

/// Longest name of a set, in bytes, its '@' included (`ZFS_PERMSET_MAXLEN` counts a terminator,
/// too).
pub const SET_NAME_MAX: usize = 63;

/// Permissions that are no property's (`zfs_deleg_perm_tab`).
pub const PERMISSIONS: [&str; 34] = [
    "allow",
    "bookmark",
    "clone",
    "create",
    "destroy",
    "diff",
    "mount",
    "promote",
    "receive",
    "receive:append",
    "rename",
    "rollback",
    "snapshot",
    "share",
    "send",
    "send:raw",
    "send:encrypted",
    "userprop",
    "userquota",
    "groupquota",
    "userused",
    "groupused",
    "userobjquota",
    "groupobjquota",
    "userobjused",
    "groupobjused",
    "hold",
    "release",
    "load-key",
    "change-key",
    "projectused",
    "projectquota",
    "projectobjused",
    "projectobjquota",
];

/// Whom an entry is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    User(u64),
    Group(u64),
    Everyone,
    /// Who creates a dataset below gets it there.
    Creator,
    /// What a set of this name has; with its '@'.
    Set(String),
}

/// Where an entry counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    Local,
    Descendent,
}

/// A key. `reach` is there for users, groups and everyone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub who: Who,
    pub reach: Option<Reach>,
    /// Its entries are names of sets.
    pub of_sets: bool,
}

impl Key {
    /// For users, groups and everyone.
    pub fn at(who: Who, reach: Reach, of_sets: bool) -> Key {
        Key { who, reach: Some(reach), of_sets }
    }

    /// For who creates, and sets.
    pub fn everywhere(who: Who, of_sets: bool) -> Key {
        Key { who, reach: None, of_sets }
    }

    /// `None`: nobody's key.
    pub fn parse(text: &str) -> Option<Key> {
        let mut chars = text.chars();
        let (kind, reach) = (chars.next()?, chars.next()?);
        let rest = chars.as_str().strip_prefix('$')?;
        let reach = match reach {
            'l' => Some(Reach::Local),
            'd' => Some(Reach::Descendent),
            '-' => None,
            _ => return None,
        };
        let number = || rest.bytes().all(|digit| digit.is_ascii_digit()).then(|| rest.parse().ok()).flatten();
        let who = match (kind.to_ascii_lowercase(), reach) {
            ('u', Some(_)) => Who::User(number()?),
            ('g', Some(_)) => Who::Group(number()?),
            ('e', Some(_)) if rest.is_empty() => Who::Everyone,
            ('c', None) if rest.is_empty() => Who::Creator,
            ('s', None) if rest.starts_with('@') => Who::Set(rest.to_owned()),
            _ => return None,
        };
        Some(Key { who, reach, of_sets: kind.is_ascii_uppercase() })
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.who {
            Who::User(_) => 'u',
            Who::Group(_) => 'g',
            Who::Everyone => 'e',
            Who::Creator => 'c',
            Who::Set(_) => 's',
        };
        let kind = if self.of_sets { kind.to_ascii_uppercase() } else { kind };
        let reach = match self.reach {
            Some(Reach::Local) => 'l',
            Some(Reach::Descendent) => 'd',
            None => '-',
        };
        write!(f, "{kind}{reach}$")?;
        match &self.who {
            Who::User(number) | Who::Group(number) => write!(f, "{number}"),
            Who::Set(name) => f.write_str(name),
            Who::Everyone | Who::Creator => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
