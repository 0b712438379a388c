//! Administrative changes: how they get into a transaction group. A change is any [`Task`]; this
//! module does not know what it does.
//!
//! [`Dsl::commit_task`] checks in open context, where a refusal costs nothing, queues the change on
//! the open transaction group and waits until that is durable. In syncing context, when all data of
//! the group is written, the queue is run: each change is checked again, for others came before it,
//! and applied. A change that is refused has changed nothing, nor has one that fails before it has
//! touched its transaction ([`Tx::is_touched`]); a failure half way is the group's.
//!
//! Source: module/zfs/dsl_synctask.c.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use dmu::Tx;
use env::lock;
use ondisk::nvlist::NvList;
use stdx::behalf::{self, Actor};

use super::Dsl;
use crate::history::Record;
use crate::{PoolError, Result};

/// An administrative change: a check and an effect.
pub(crate) trait Task: Send + Sync {
    /// Whether it can be made. `group` is the one it is made in, in syncing context.
    fn check(&self, dsl: &Dsl, group: Option<u64>) -> Result<()>;

    /// Whether there is room for it; asked in syncing context, after the check.
    fn check_room(&self, _dsl: &Dsl) -> Result<()> {
        Ok(())
    }

    /// The ioctl that OpenZFS does and records it by, with its arguments; only of those that name
    /// what they are done to one by one, which no internal record shows at one place.
    fn asked(&self, _dsl: &Dsl) -> Result<Option<(&'static str, NvList)>> {
        Ok(None)
    }

    /// Makes it.
    fn sync(&self, cx: &SyncCx<'_>) -> Result<()>;

    /// The datasets whose intent logs have to be empty for it.
    fn closes(&self) -> Vec<&str> {
        Vec::new()
    }
}

/// When and where a change happens.
pub(crate) struct SyncCx<'a> {
    pub dsl: &'a Dsl,
    pub tx: &'a Tx,
}

impl SyncCx<'_> {
    /// Notes in the pool's history what happened to a dataset.
    pub fn note(&self, event: &str, dataset: &str, object: u64, text: &str) {
        self.dsl.note(event, dataset, object, text, self.tx);
    }
}

/// Changes by the group they wait for.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<BTreeMap<u64, Vec<Queued>>>,
}

struct Queued {
    task: Option<Arc<dyn Task>>,
    /// The command line to record.
    history: String,
    /// Who gave it.
    who: Arc<Actor>,
    outcome: Arc<Mutex<Option<Result<()>>>>,
}

impl Queue {
    pub fn sync_done(&self, txg: u64) {
        lock(&self.waiting).retain(|queued, _| *queued > txg);
    }
}

impl Dsl {
    /// Makes a change and waits until it is durable; gives its transaction group. `history` is the
    /// command line to record, empty for none. The caller is in no transaction.
    pub(crate) fn commit_task(&self, task: Arc<dyn Task>, history: &str) -> Result<u64> {
        if self.parts.readonly {
            return Err(PoolError::ReadOnly);
        }
        // A log in use would keep its dataset; that of a dataset that stays begins anew with its
        // next commit.
        let mut logs = task.closes().into_iter().filter_map(|name| self.log_in_use(name));
        logs.try_for_each(|zil| zil.retire())?;
        {
            let _config = self.reading();
            task.check(self, None)?;
        }
        loop {
            match self.enqueue(Some(task.clone()), history) {
                Err(PoolError::Again) => {}
                done => return done,
            }
        }
    }

    /// Records a command that changes nothing here. An empty one is not recorded.
    pub fn log_command(&self, command: &str) -> Result<()> {
        if command.is_empty() || self.parts.readonly {
            return Ok(());
        }
        self.enqueue(None, command).map(drop)
    }

    fn enqueue(&self, task: Option<Arc<dyn Task>>, history: &str) -> Result<u64> {
        let outcome = Arc::new(Mutex::new(None));
        let hold = self.parts.txgs.enter(true)?;
        let txg = hold.txg();
        let queued =
            Queued { task, history: history.to_owned(), who: behalf::actor(), outcome: outcome.clone() };
        lock(&self.changes.waiting).entry(txg).or_default().push(queued);
        drop(hold);
        self.parts.txgs.wait_synced(txg)?;
        let outcome = lock(&outcome).take();
        outcome.unwrap_or(Err(PoolError::Suspended)).map(|()| txg)
    }

    /// Applies the changes queued on this group, and tells those who wait for them.
    pub fn run_changes(&self, tx: &Tx) -> Result<()> {
        let queued = lock(&self.changes.waiting).remove(&tx.txg()).unwrap_or_default();
        if queued.is_empty() {
            return Ok(());
        }
        let _config = self.changing();
        for queued in queued {
            let outcome = behalf::on_behalf_of(queued.who.clone(), || self.run_one(&queued, tx.txg()))?;
            *lock(&queued.outcome) = Some(outcome);
        }
        Ok(())
    }

    /// The outer error means that the group cannot be written: the change has begun. One that fails
    /// before that, for it has met what is damaged, fails for who asked for it alone.
    fn run_one(&self, queued: &Queued, txg: u64) -> Result<Result<()>> {
        let tx = Tx::syncing(txg);
        if let Some(task) = &queued.task {
            let checked = task.check(self, Some(txg)).and_then(|()| task.check_room(self));
            let asked = match checked.and_then(|()| task.asked(self)) {
                Ok(asked) => asked,
                Err(error) => return Ok(Err(error)),
            };
            match task.sync(&SyncCx { dsl: self, tx: &tx }) {
                Err(error) if !tx.is_touched() => return Ok(Err(error)),
                done => done?,
            }
            if let Some((name, input)) = asked {
                self.record(Record::ioctl(name, input, queued.who.user), &tx);
            }
            self.changed();
        }
        let Actor { user, way, .. } = *queued.who;
        tracing::debug!(txg, user, ?way, command = queued.history, "a change");
        if !queued.history.is_empty() {
            self.record(Record::command(&queued.history, user), &tx);
        }
        Ok(Ok(()))
    }
}
