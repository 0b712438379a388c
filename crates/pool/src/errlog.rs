//! The error log: which blocks of the pool cannot be had, whoever met them.
//!
//! There are two logs in the meta object set. What readers meet goes into the *last* one; what is
//! met while a scan runs goes into the *scrub* one, which takes the last one's place when the scan
//! ends: so what has healed meanwhile, or was deleted, is forgotten with the second scrub at the
//! latest.
//!
//! A log is a ZAP in one of two forms. The old one has bookmarks for keys. With feature
//! `head_errlog` it has an entry for each head dataset, which leads to a ZAP of its own; a key
//! there says where the block is and when it was born, so that one entry speaks for all snapshots
//! and clones that have the block, however they come and go ([`holders`]).
//!
//! Source: module/zfs/spa_errlog.c.

pub(crate) mod holders;

use std::cell::OnceCell;
use std::collections::BTreeSet;

use dmu::Tx;
use ondisk::zbookmark::{ErrorBlock, Zbookmark};

use crate::Result;
use crate::spa::Pool;
use crate::state::errlog::BY_HEAD;
use holders::Look;

/// Something that is hurt: an object of a dataset.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HurtObject {
    /// 0 is the meta object set.
    pub dataset: u64,
    pub object: u64,
    /// The dataset's, if it still exists.
    pub dataset_name: Option<String>,
}

impl Pool {
    /// Number of known data errors.
    pub fn error_count(&self) -> u64 {
        self.core.errlog.count(&self.dsl.mos).unwrap_or_else(|error| {
            tracing::error!(%error, "the error log cannot be read");
            1
        })
    }

    /// Writes what the error log has of news, in the form that the pool's features ask for. Syncing
    /// context.
    pub(crate) fn sync_errlog(&self, tx: &Tx) -> Result<()> {
        let (log, mos) = (&self.core.errlog, &self.dsl.mos);
        if self.core.features.is_enabled(BY_HEAD) {
            let look = OnceCell::new();
            let birth = |place: &Zbookmark| match look.get_or_init(|| Look::new(self).ok()) {
                Some(look) => look.birth(place),
                None => Some(0),
            };
            log.upgrade(mos, &birth, tx)?;
        }
        log.sync(mos, tx)
    }

    /// What is hurt, each object once, in every dataset that has it. What nobody has any more is
    /// forgotten.
    pub fn hurt_objects(&self) -> Result<Vec<HurtObject>> {
        let (entries, by_head) = self.core.errlog.known(&self.dsl.mos)?;
        let mut objects = BTreeSet::new();
        if by_head {
            let (look, mut stale) = (Look::new(self)?, Vec::new());
            for (place, birth) in entries {
                let (head, block) = (place.objset, ErrorBlock::of(&place, birth));
                match look.holders(head, &block) {
                    Ok(holders) if holders.is_empty() => stale.push((head, block)),
                    Ok(holders) => objects.extend(holders.into_iter().map(|holder| (holder, place.object))),
                    Err(_) => {
                        objects.insert((head, place.object));
                    }
                }
            }
            if !stale.is_empty() && !self.core.readonly {
                self.core.errlog.forget(stale);
                self.core.txgs.request_sync();
            }
        } else {
            objects.extend(entries.iter().map(|(place, _)| (place.objset, place.object)));
        }
        let _config = self.dsl.reading();
        let named = |(dataset, object)| {
            let dataset_name = self.dsl.dataset_name(dataset).ok();
            HurtObject { dataset, object, dataset_name }
        };
        Ok(objects.into_iter().map(named).collect())
    }
}
