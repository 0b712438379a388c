//! Holds: tags that keep a snapshot from being destroyed. A ZAP of the snapshot's leads from each tag to when it was put.
//!
//! Source: module/zfs/dsl_userhold.c.

use dmu::Tx;
use ondisk::dsl_dataset::DslDatasetPhys;
use ondisk::object_type::ObjectType;

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

    /// Takes a tag from a snapshot; one that was to be destroyed with its last tag goes. Syncing context.
    pub(crate) fn release(&self, found: &Found, name: &str, tag: &str, tx: &Tx) -> Result<()> {
        self.mos.remove(found.phys.userrefs_obj, tag, tx)?;
        let text = format!("tag={tag} refs={}", self.holds_on(&found.phys)?);
        self.note("release", name, found.object, &text, tx);
        if self.is_due(&found.phys)? {
            self.destroy_snapshot(found.object, name, false, tx)?;
        }
        Ok(())
    }
}
