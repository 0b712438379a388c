//! Errata: what older programs have written wrongly into a pool, and what an operator can do about
//! it.
//!
//! Both that are known here are of encrypted datasets. Keys of the first programs that could
//! encrypt are found by a look at each directory when a pool is imported; the other one the pool's
//! features tell at any time.
//!
//! Sources: include/sys/fs/zfs.h (`zpool_errata_t`, the numbers), module/zfs/spa.c
//! (`spa_ld_check_features`), module/zfs/dsl_dir.c (`dsl_dir_incompatible_encryption_version`).

use std::sync::atomic::Ordering::Relaxed;

use api_types::Errata;

use super::{Core, Pool};

impl Core {
    pub(super) fn errata(&self) -> Option<Errata> {
        if self.has_old_keys.load(Relaxed) {
            return Some(Errata::OldKeys);
        }
        let lacks = self.features.is_enabled("encryption") && !self.features.is_enabled("bookmark_v2");
        lacks.then_some(Errata::NoIvSets)
    }
}

impl Pool {
    /// Looks at the keys of all datasets, where there are any. What cannot be read is for a scrub
    /// to tell.
    pub(super) fn look_for_old_keys(&self) {
        if !self.core.features.is_active("encryption") {
            return;
        }
        match self.dsl.has_old_keys() {
            Ok(found) => self.core.has_old_keys.store(found, Relaxed),
            Err(error) => {
                tracing::warn!(pool = self.name(), %error, "keys of encrypted datasets cannot be looked at");
            }
        }
    }
}
