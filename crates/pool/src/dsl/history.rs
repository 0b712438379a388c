//! Writing and reading the pool's history ([`crate::history`]): who records what, and when.

use api_types::HistoryRecord;
use dmu::Tx;
use env::lock;
use ondisk::object_type::pool_directory;
use ondisk::version;

use super::Dsl;
use crate::history::{self, Record};
use crate::zevent::Payload;
use crate::{PoolError, Result};

impl Dsl {
    /// Notes in the pool's history what happened to a dataset. Syncing context.
    pub(crate) fn note(&self, event: &str, dataset: &str, object: u64, text: &str, tx: &Tx) {
        self.record(Record::internal_on(event, dataset, object, text, tx.txg()), tx);
    }

    /// Notes in the pool's history what the program did to the pool. Syncing context.
    pub(crate) fn note_pool(&self, event: &str, text: &str, tx: &Tx) {
        self.record(Record::internal(event, text, tx.txg()), tx);
    }

    /// Appends a record. What is recorded has happened, so that a ring which cannot be written is
    /// told, and no failure. Syncing context.
    pub(crate) fn record(&self, record: Record, tx: &Tx) {
        tx.touch();
        if let Err(error) = self.try_record(record, tx) {
            tracing::warn!(%error, "the pool's history cannot be written");
        }
    }

    fn try_record(&self, record: Record, tx: &Tx) -> Result<()> {
        if self.version() < version::HISTORY {
            return Ok(());
        }
        let object = match self.mos.root(pool_directory::HISTORY)? {
            Some(object) => object,
            None => {
                history::create(&self.mos.objset, self.parts.space().dspace, tx)?;
                self.mos.root(pool_directory::HISTORY)?.ok_or(PoolError::NotFound)?
            }
        };
        let record = record.signed(self.now(), &lock(&self.hostname));
        if let Some(event) = record.event() {
            self.tell(event);
        }
        history::append(self.mos.hold(object)?, &record, tx)
    }

    /// The event of an internal record (`spa_history_log_notify`).
    fn tell(&self, event: Payload) {
        let parts = &self.parts;
        let guid = parts.storage.pool_guid();
        let mut payload: Payload = vec![("pool", parts.name().as_str().into()), ("pool_guid", guid.into())];
        payload.extend(event);
        parts.events.post(&parts.env, "sysevent.fs.zfs.history_event", payload);
    }

    /// The history, oldest first; internal events only if asked for. What cannot be read is left
    /// out.
    pub fn history(&self, internal: bool) -> Result<Vec<HistoryRecord>> {
        let Some(object) = self.mos.root(pool_directory::HISTORY)? else { return Ok(Vec::new()) };
        let records = history::read(self.mos.hold(object)?)?;
        Ok(records.into_iter().filter(|record| internal || !record.internal).collect())
    }
}
