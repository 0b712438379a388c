//! Holds: tags that keep a snapshot from being destroyed. A ZAP of the snapshot's leads from each
//! tag to when it was put.
//!
//! A *temporary* tag is in a ZAP of the pool's, too, as `snapshot's object-tag`: whoever put it may
//! end without taking it off, and then it goes when the pool is opened the next time.
//!
//! Source: module/zfs/dsl_userhold.c, dsl_pool.c (`dsl_pool_user_hold_rele_impl`,
//! `dsl_pool_clean_tmp_userrefs`).

use dmu::Tx;
use ondisk::dsl_dataset::DslDatasetPhys;
use ondisk::object_type::{ObjectType, pool_directory};

use super::Dsl;
use super::names::Found;
use crate::Result;

impl Dsl {
    /// Whether a snapshot has this tag.
    pub(crate) fn has_hold(&self, phys: &DslDatasetPhys, tag: &str) -> Result<bool> {
        Ok(phys.userrefs_obj != 0 && self.mos.find(phys.userrefs_obj, tag)?.is_some())
    }

    /// The tags of a snapshot and when they were put, in seconds since 1970; by tag.
    pub fn holds(&self, snapshot: &str) -> Result<Vec<(String, u64)>> {
        let _config = self.reading();
        let found = self.find(snapshot)?;
        if found.phys.userrefs_obj == 0 {
            return Ok(Vec::new());
        }
        Ok(self.mos.sorted(found.phys.userrefs_obj)?)
    }

    /// Puts a tag on a snapshot that does not have it. Syncing context.
    pub(crate) fn hold(&self, found: &Found, tag: &str, tx: &Tx) -> Result<()> {
        let mut zap = found.phys.userrefs_obj;
        if zap == 0 {
            zap = self.mos.create_zap(ObjectType::USERREFS, tx)?;
            self.edit_dataset(found.object, tx, |phys| phys.userrefs_obj = zap)?;
        }
        Ok(self.mos.set(zap, tag, self.now(), tx)?)
    }

    /// As [`Dsl::hold`], until the pool is opened anew.
    pub(crate) fn hold_for_now(&self, found: &Found, tag: &str, tx: &Tx) -> Result<()> {
        self.hold(found, tag, tx)?;
        let (directory, kind) = (pool_directory::OBJECT, ObjectType::USERREFS);
        let zap = self.mos.zap_under(directory, pool_directory::TMP_USERREFS, kind, tx)?;
        Ok(self.mos.set(zap, &temporary(found.object, tag), self.now(), tx)?)
    }

    /// The temporary tags: the snapshot's object, and the tag.
    pub(crate) fn temporary_holds(&self) -> Result<Vec<(u64, String)>> {
        let Some(zap) = self.mos.root(pool_directory::TMP_USERREFS)? else { return Ok(Vec::new()) };
        let parse = |name: &str| {
            let (object, tag) = name.split_once('-')?;
            Some((u64::from_str_radix(object, 16).ok()?, tag.to_owned()))
        };
        Ok(self.mos.sorted(zap)?.iter().filter_map(|(name, _)| parse(name)).collect())
    }

    /// A tag is temporary no more. Syncing context.
    pub(crate) fn forget_temporary(&self, object: u64, tag: &str, tx: &Tx) -> Result<()> {
        if let Some(zap) = self.mos.root(pool_directory::TMP_USERREFS)? {
            self.mos.remove(zap, &temporary(object, tag), tx)?;
        }
        Ok(())
    }

    /// Takes a tag from a snapshot; one that was to be destroyed with its last tag goes. Syncing
    /// context.
    pub(crate) fn release(&self, found: &Found, name: &str, tag: &str, tx: &Tx) -> Result<()> {
        self.mos.remove(found.phys.userrefs_obj, tag, tx)?;
        self.forget_temporary(found.object, tag, tx)?;
        let text = format!("tag={tag} refs={}", self.holds_on(&found.phys)?);
        self.note("release", name, found.object, &text, tx);
        if self.is_due(&found.phys)? {
            self.destroy_snapshot(found.object, name, false, tx)?;
        }
        Ok(())
    }
}

/// A temporary tag in the pool's ZAP.
fn temporary(object: u64, tag: &str) -> String {
    format!("{object:x}-{tag}")
}
