//! Delegated permissions: what users who are no administrators may do, dataset by dataset.
//!
//! A directory keeps what was delegated there in a ZAP of ZAPs (see `ondisk::deleg`). It counts
//! for the dataset itself (local), for all below (descendent), or both; a snapshot is below its
//! dataset. What is delegated through a named set is what the nearest directory that defines the
//! set says it is, looking from the dataset to the root: a definition further down hides one
//! further up for all that is below it.
//!
//! Whoever makes a dataset gets there, for himself alone, what the directories above have for
//! creators.
//!
//! Nothing is believed of what is on disk: a key that makes no sense counts for nobody, sets that
//! contain each other end.
//!
//! Source: module/zfs/dsl_deleg.c.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::{DatasetProperty, Delegation, Edit, Grant, Grantee};
use dmu::Tx;
use ondisk::deleg::{Key, Reach, Who};
use ondisk::object_type::ObjectType;
use ondisk::version;
use stdx::behalf::Actor;

use super::Dsl;
use super::dir::Dir;
use crate::{PoolError, Result};

/// Where somebody wants to do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place<'a> {
    /// A file system, volume or snapshot.
    At(&'a str),
    /// Any snapshot of a file system or volume.
    SnapshotOf(&'a str),
    /// A dataset that does not exist yet, and which the same caller makes below this one.
    NewBelow(&'a str),
}

impl Dsl {
    /// Whether the delegations of a pool give somebody a permission. Nobody has any where they are
    /// turned off. Who is an administrator needs none, and is not asked about here.
    pub fn may(&self, place: Place<'_>, permission: &str, caller: &Actor) -> Result<bool> {
        let _config = self.reading();
        let (dir, reach, is_new) = match place {
            Place::At(name) => {
                let found = self.find(name)?;
                let reach = if found.is_snapshot() { Reach::Descendent } else { Reach::Local };
                (found.dir, reach, false)
            }
            Place::SnapshotOf(name) => (self.find(name)?.dir, Reach::Descendent, false),
            Place::NewBelow(name) => (self.find(name)?.dir, Reach::Descendent, true),
        };
        self.is_permitted(&dir, (reach, is_new), permission, caller)
    }

    /// As [`Dsl::may`], for who has the configuration locked.
    pub(crate) fn may_at(&self, dir: &Arc<Dir>, permission: &str, caller: &Actor) -> Result<bool> {
        self.is_permitted(dir, (Reach::Local, false), permission, caller)
    }

    fn is_permitted(
        &self,
        dir: &Arc<Dir>,
        (first, is_new): (Reach, bool),
        permission: &str,
        caller: &Actor,
    ) -> Result<bool> {
        if self.version() < version::DELEGATED_PERMS || !self.has_delegation()? {
            return Ok(false);
        }
        let mut sets = Sets::default();
        if is_new && self.gets_as_creator(dir, permission, &mut sets)? {
            return Ok(true);
        }
        let mut reach = first;
        for dir in dir.and_above() {
            let zap = dir.phys().deleg_zapobj;
            if zap != 0 {
                let keys = |of_sets| whose(caller).map(move |who| Key::at(who, reach, of_sets));
                for key in keys(true) {
                    sets.add(self.names_under(zap, &key)?);
                }
                if sets.grant(self, zap, permission)? {
                    return Ok(true);
                }
                for key in keys(false) {
                    if self.has_under(zap, &key, permission)? == Some(true) {
                        return Ok(true);
                    }
                }
            }
            reach = Reach::Descendent;
        }
        Ok(false)
    }

    /// What a creator would get of a directory's ancestors, itself included: the permission, or
    /// sets that may have it.
    fn gets_as_creator(&self, dir: &Arc<Dir>, permission: &str, sets: &mut Sets) -> Result<bool> {
        for dir in dir.and_above() {
            let zap = dir.phys().deleg_zapobj;
            if zap == 0 {
                continue;
            }
            if self.has_under(zap, &Key::everywhere(Who::Creator, false), permission)? == Some(true) {
                return Ok(true);
            }
            sets.add(self.names_under(zap, &Key::everywhere(Who::Creator, true))?);
        }
        Ok(false)
    }

    /// The pool's property, which is on unless somebody has turned it off.
    fn has_delegation(&self) -> Result<bool> {
        Ok(self.pool_number("delegation")? != Some(0))
    }

    fn names_under(&self, zap: u64, key: &Key) -> Result<Vec<String>> {
        let Some(below) = self.mos.find(zap, &key.to_string())? else { return Ok(Vec::new()) };
        Ok(self.mos.entries(below)?.into_iter().map(|(name, _)| name).collect())
    }

    /// Whether the entry has this name; `None`: there is no such entry.
    fn has_under(&self, zap: u64, key: &Key, name: &str) -> Result<Option<bool>> {
        let Some(below) = self.mos.find(zap, &key.to_string())? else { return Ok(None) };
        Ok(Some(self.mos.find(below, name)?.is_some()))
    }

    /// What is delegated at a dataset and above it, the nearest first; nothing of who has nothing.
    pub fn delegations(&self, name: &str) -> Result<Vec<Delegation>> {
        let _config = self.reading();
        let found = self.find(name)?;
        let mut all = Vec::new();
        for dir in found.dir.and_above() {
            let grants = self.delegated_at(&dir)?;
            if !grants.is_empty() {
                all.push(Delegation { dataset: dir.name(), grants });
            }
        }
        Ok(all)
    }

    /// Names of permissions or sets in order.
    fn delegated_at(&self, dir: &Dir) -> Result<Vec<Grant>> {
        let zap = dir.phys().deleg_zapobj;
        let kept = if zap == 0 { Vec::new() } else { self.mos.sorted(zap)? };
        let mut grants = Vec::new();
        for key in kept.iter().filter_map(|(name, _)| Key::parse(name)) {
            let mut names = self.names_under(zap, &key)?;
            names.sort();
            grants.push(grant_of(key, names));
        }
        Ok(grants)
    }

    /// Puts permissions or sets under a key of a directory. Syncing context.
    pub(crate) fn delegate(&self, dir: &Dir, key: &Key, names: &[String], tx: &Tx) -> Result<()> {
        let mut zap = dir.phys().deleg_zapobj;
        if zap == 0 {
            zap = self.mos.create_zap(ObjectType::DSL_PERMS, tx)?;
            dir.edit(&self.mos, tx, |phys| phys.deleg_zapobj = zap)?;
        }
        let below = self.mos.zap_under(zap, &key.to_string(), ObjectType::DSL_PERMS, tx)?;
        names.iter().try_for_each(|name| Ok(self.mos.set(below, name, 0u64, tx)?))
    }

    /// Takes names from under a key of a directory, or all of them. Says whether there was such a
    /// key. Syncing context.
    pub(crate) fn take_back(&self, dir: &Dir, key: &Key, names: Option<&[String]>, tx: &Tx) -> Result<bool> {
        let zap = dir.phys().deleg_zapobj;
        let below = if zap == 0 { None } else { self.mos.find(zap, &key.to_string())? };
        let Some(below) = below else { return Ok(false) };
        for name in names.unwrap_or_default() {
            self.mos.remove(below, name, tx)?;
        }
        if names.is_none() || self.mos.count(below)? == 0 {
            self.mos.remove(zap, &key.to_string(), tx)?;
            self.mos.free(below, tx)?;
        }
        Ok(true)
    }

    /// Frees a directory's delegations. Syncing context.
    pub(super) fn destroy_delegations(&self, zap: u64, tx: &Tx) -> Result<()> {
        if zap == 0 {
            return Ok(());
        }
        for (_, value) in self.mos.entries(zap)? {
            self.mos.free(value.first(), tx)?;
        }
        Ok(self.mos.free(zap, tx)?)
    }

    /// Gives whom this thread works for what creators of a dataset get. Syncing context.
    pub(super) fn delegate_to_creator(&self, dir: &Arc<Dir>, tx: &Tx) -> Result<()> {
        if self.version() < version::DELEGATED_PERMS {
            return Ok(());
        }
        let user = Who::User(stdx::behalf::actor().user.into());
        for above in std::iter::successors(dir.parent(), |dir| dir.parent()) {
            let zap = above.phys().deleg_zapobj;
            for of_sets in [false, true] {
                let for_creators = Key::everywhere(Who::Creator, of_sets);
                if zap != 0 && self.mos.find(zap, &for_creators.to_string())?.is_some() {
                    let names = self.names_under(zap, &for_creators)?;
                    self.delegate(dir, &Key::at(user.clone(), Reach::Local, of_sets), &names, tx)?;
                }
            }
        }
        Ok(())
    }
}

/// The keys under which a grant is kept, of permissions or of sets.
pub(crate) fn keys(grant: &Grant, of_sets: bool) -> Vec<Key> {
    let who = match &grant.who {
        Grantee::User(number) => Who::User(*number),
        Grantee::Group(number) => Who::Group(*number),
        Grantee::Everyone => Who::Everyone,
        Grantee::Creator => return vec![Key::everywhere(Who::Creator, of_sets)],
        Grantee::Set(name) => return vec![Key::everywhere(Who::Set(name.clone()), of_sets)],
    };
    let reaches = [(grant.local, Reach::Local), (grant.descendent, Reach::Descendent)];
    let chosen = reaches.into_iter().filter(|(is_chosen, _)| *is_chosen);
    chosen.map(|(_, reach)| Key::at(who.clone(), reach, of_sets)).collect()
}

/// What is kept under a key.
fn grant_of(Key { who, reach, .. }: Key, names: Vec<String>) -> Grant {
    let who = match who {
        Who::User(number) => Grantee::User(number),
        Who::Group(number) => Grantee::Group(number),
        Who::Everyone => Grantee::Everyone,
        Who::Creator => Grantee::Creator,
        Who::Set(name) => Grantee::Set(name),
    };
    let (local, descendent) = (reach == Some(Reach::Local), reach == Some(Reach::Descendent));
    Grant { who, local, descendent, permissions: Some(names) }
}

/// Whom an entry may be for, so that it counts for a caller.
fn whose(caller: &Actor) -> impl Iterator<Item = Who> + '_ {
    let groups = caller.groups.iter().map(|group| Who::Group(u64::from(*group)));
    [Who::User(caller.user.into()), Who::Everyone].into_iter().chain(groups)
}

/// The sets that somebody has, on the way from a dataset to the root, and whether a definition was
/// met.
#[derive(Default)]
struct Sets(BTreeMap<String, bool>);

impl Sets {
    /// Says whether one of them is new.
    fn add(&mut self, names: Vec<String>) -> bool {
        let before = self.0.len();
        for name in names {
            self.0.entry(name).or_insert(false);
        }
        self.0.len() > before
    }

    /// Whether a set that is defined at this directory, and nowhere further down, has the
    /// permission, or a set in it does.
    fn grant(&mut self, dsl: &Dsl, zap: u64, permission: &str) -> Result<bool> {
        loop {
            let open: Vec<String> =
                self.0.iter().filter(|(_, is_met)| !**is_met).map(|(name, _)| name.clone()).collect();
            let mut has_more = false;
            for name in open {
                let key = |of_sets| Key::everywhere(Who::Set(name.clone()), of_sets);
                let direct = dsl.has_under(zap, &key(false), permission)?;
                if direct == Some(true) {
                    return Ok(true);
                }
                let inner = dsl.names_under(zap, &key(true))?;
                if direct.is_some() || !inner.is_empty() {
                    self.0.insert(name, true);
                }
                has_more |= self.add(inner);
            }
            if !has_more {
                return Ok(false);
            }
        }
    }
}

/// The name of a permission or set as it is kept; `Err` where there is none of that name.
pub(crate) fn canonical(name: &str) -> Result<String> {
    let is_valid = |c: u8| c.is_ascii_alphanumeric() || b"-_.: ".contains(&c);
    if let Some(set) = name.strip_prefix('@') {
        let fits = !set.is_empty() && name.len() <= ondisk::deleg::SET_NAME_MAX && set.bytes().all(is_valid);
        return if fits { Ok(name.to_owned()) } else { Err(PoolError::NotFound) };
    }
    if ondisk::deleg::PERMISSIONS.contains(&name) {
        return Ok(name.to_owned());
    }
    let is_given =
        |prop: &DatasetProperty| prop.row().edit() != Edit::Never && *prop != DatasetProperty::Mlslabel;
    let prop = DatasetProperty::named(name).filter(is_given);
    Ok(prop.ok_or(PoolError::NotFound)?.row().name.to_owned())
}
