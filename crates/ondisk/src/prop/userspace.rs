//! Properties of one user, group or project each: `userused@1000`, `groupquota@users`,
//! `projectobjquota@7` and kin.
//!
//! What is used is counted in the object set itself ([`crate::objset::USERUSED_OBJECT`] and its
//! neighbours). A quota is an entry of a ZAP that the master node names by the property's prefix,
//! `userquota@`; in both the name of an entry is the id in hexadecimal,
//! [`crate::objset::OBJACCT_PREFIX`] before it where objects are counted.
//!
//! Sources: `zfs_userquota_prop_prefixes` in module/zcommon/zfs_prop.c, module/zfs/zfs_quota.c.

use crate::objset::{GROUPUSED_OBJECT, OBJACCT_PREFIX, PROJECTUSED_OBJECT, USERUSED_OBJECT};

/// Whose space is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Spender {
    User,
    Group,
    Project,
}

impl Spender {
    /// In the order of the properties' table.
    pub const ALL: [Spender; 3] = [Spender::User, Spender::Group, Spender::Project];

    /// The accounting object of an object set that has the sums.
    pub const fn used_object(self) -> u64 {
        match self {
            Spender::User => USERUSED_OBJECT,
            Spender::Group => GROUPUSED_OBJECT,
            Spender::Project => PROJECTUSED_OBJECT,
        }
    }

    /// As the properties' names begin.
    pub const fn name(self) -> &'static str {
        match self {
            Spender::User => "user",
            Spender::Group => "group",
            Spender::Project => "project",
        }
    }
}

/// One of the twelve kinds of such properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UserspaceProp {
    pub of: Spender,
    /// Objects are counted, else bytes.
    pub objects: bool,
    /// The limit, else what is used.
    pub quota: bool,
}

impl UserspaceProp {
    /// The six limits.
    pub fn quotas() -> impl Iterator<Item = UserspaceProp> {
        let kinds = Spender::ALL.into_iter().flat_map(|of| [(of, false), (of, true)]);
        kinds.map(|(of, objects)| UserspaceProp { of, objects, quota: true })
    }

    /// The kind, and whose it is: what stands behind the `@`.
    pub fn parse(name: &str) -> Option<(UserspaceProp, &str)> {
        let (stem, who) = name.split_once('@')?;
        let all = Spender::ALL.into_iter().flat_map(|of| {
            let flags = [(false, false), (false, true), (true, false), (true, true)];
            flags.map(|(objects, quota)| UserspaceProp { of, objects, quota })
        });
        all.into_iter().find(|prop| prop.stem() == stem).map(|prop| (prop, who))
    }

    /// Without the `@`.
    pub const fn stem(self) -> &'static str {
        match (self.of, self.objects, self.quota) {
            (Spender::User, false, false) => "userused",
            (Spender::User, false, true) => "userquota",
            (Spender::User, true, false) => "userobjused",
            (Spender::User, true, true) => "userobjquota",
            (Spender::Group, false, false) => "groupused",
            (Spender::Group, false, true) => "groupquota",
            (Spender::Group, true, false) => "groupobjused",
            (Spender::Group, true, true) => "groupobjquota",
            (Spender::Project, false, false) => "projectused",
            (Spender::Project, false, true) => "projectquota",
            (Spender::Project, true, false) => "projectobjused",
            (Spender::Project, true, true) => "projectobjquota",
        }
    }

    /// What the master node calls the ZAP of such quotas.
    pub fn master_name(self) -> String {
        format!("{}@", self.stem())
    }

    /// The entry of an id, in the ZAP of quotas or that of sums.
    pub fn entry(self, id: u64) -> String {
        if self.objects && !self.quota { format!("{OBJACCT_PREFIX}{id:x}") } else { format!("{id:x}") }
    }

    /// Whose entry of such a ZAP this is; `None` where it is of another kind of property.
    pub fn id_of(self, entry: &str) -> Option<u64> {
        let counts_objects = entry.strip_prefix(OBJACCT_PREFIX);
        let id = match (self.objects && !self.quota, counts_objects) {
            (true, Some(id)) => id,
            (false, None) => entry,
            _ => return None,
        };
        u64::from_str_radix(id, 16).ok()
    }
}

#[cfg(test)]
mod tests;
