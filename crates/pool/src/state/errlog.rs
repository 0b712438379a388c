//! The logs of errors, in memory and in the meta object set; see [`crate::errlog`].
//!
//! Locks: `pending` and `counted` are held for moments, by whoever meets an error or wants to know
//! how many there are; `objects` while the logs are read or written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use dmu::Tx;
use dmu::zap::Zap;
use env::lock;
use ondisk::object_type::{ObjectType, pool_directory};
use ondisk::zbookmark::{ErrorBlock, Zbookmark};

use crate::Result;
use crate::mos::Mos;

/// The feature with which errors are logged by dataset.
pub(crate) const BY_HEAD: &str = "head_errlog";
/// Entries kept in memory until the next group.
const PENDING_MAX: usize = 1 << 16;

/// See the module.
#[derive(Default)]
pub(crate) struct ErrorLog {
    pending: Mutex<Pending>,
    objects: Mutex<Objects>,
    /// Entries of the logs on disk, once they were counted; changes with `objects` held.
    counted: Mutex<Option<u64>>,
}

/// Blocks that cannot be had, with their births.
pub(crate) type Hurt = BTreeMap<Zbookmark, u64>;

/// What is not on disk yet.
#[derive(Default)]
struct Pending {
    last: Hurt,
    scrub: Hurt,
    /// Entries, by head, that no dataset has the block of any more.
    stale: BTreeSet<(u64, ErrorBlock)>,
    /// What can be had again, as the old form has it.
    healed: BTreeSet<Zbookmark>,
    scanning: bool,
    ending: Option<Ending>,
}

/// What becomes of the scrub log when a scan ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It is all there is to know.
    Replace,
    /// What was known before still counts.
    Join,
}

/// The logs' ZAPs, 0 for none.
#[derive(Default)]
struct Objects {
    last: u64,
    scrub: u64,
    by_head: bool,
}

impl ErrorLog {
    /// Of a pool that is being imported, in the middle of a scan or not.
    pub fn load(directory: &Zap, scanning: bool, by_head: bool) -> Result<ErrorLog> {
        let object = |name: &str| -> Result<u64> { Ok(directory.find_u64(name)?.unwrap_or(0)) };
        let last = object(pool_directory::ERRLOG_LAST)?;
        let scrub = object(pool_directory::ERRLOG_SCRUB)?;
        let pending = Mutex::new(Pending { scanning, ..Pending::default() });
        let objects = Mutex::new(Objects { last, scrub, by_head });
        Ok(ErrorLog { pending, objects, counted: Mutex::default() })
    }

    /// A block cannot be had; `birth` is its physical one, 0 if that is not known.
    pub fn log(&self, place: Zbookmark, birth: u64) {
        let mut pending = lock(&self.pending);
        let in_scrub = pending.scanning || pending.ending.is_some();
        let list = if in_scrub { &mut pending.scrub } else { &mut pending.last };
        if list.len() < PENDING_MAX {
            list.entry(place).or_insert(birth);
        }
    }

    /// From now on a scan runs.
    pub fn begin_scan(&self) {
        lock(&self.pending).scanning = true;
    }

    /// The scan has ended.
    pub fn end_scan(&self, ending: Ending) {
        let mut pending = lock(&self.pending);
        (pending.scanning, pending.ending) = (false, Some(ending));
    }

    /// Blocks of a dataset can be had again.
    pub fn healed(&self, head: u64, dataset: u64, blocks: &[ErrorBlock]) {
        let mut pending = lock(&self.pending);
        pending.stale.extend(blocks.iter().map(|block| (head, *block)));
        pending.healed.extend(blocks.iter().map(|block| block.place(dataset)));
    }

    /// Nobody has these blocks any more.
    pub fn forget(&self, stale: Vec<(u64, ErrorBlock)>) {
        lock(&self.pending).stale.extend(stale);
    }

    /// Writes what is new. Syncing context.
    pub fn sync(&self, mos: &Mos, tx: &Tx) -> Result<()> {
        let mut objects = lock(&self.objects);
        let mut new = {
            let mut pending = lock(&self.pending);
            let idle = pending.last.is_empty()
                && pending.scrub.is_empty()
                && pending.stale.is_empty()
                && pending.healed.is_empty();
            if idle && pending.ending.is_none() {
                return Ok(());
            }
            let scanning = pending.scanning;
            std::mem::replace(&mut *pending, Pending { scanning, ..Pending::default() })
        };
        for (head, block) in &new.stale {
            for list in [&mut new.last, &mut new.scrub] {
                list.retain(|place, birth| {
                    head_of(mos, place.objset) != *head || ErrorBlock::of(place, *birth) != *block
                });
            }
            objects.remove(mos, *head, block, tx)?;
        }
        for place in &new.healed {
            new.last.remove(place);
            new.scrub.remove(place);
            for log in objects.logs().filter(|_| !objects.by_head) {
                mos.remove(log, &place.to_name(), tx)?;
            }
        }
        let by_head = objects.by_head;
        add(mos, &new.last, &mut objects.last, by_head, tx)?;
        match new.ending {
            None => add(mos, &new.scrub, &mut objects.scrub, by_head, tx)?,
            Some(Ending::Replace) => {
                free(mos, objects.last, by_head, tx)?;
                objects.last = std::mem::take(&mut objects.scrub);
                add(mos, &new.scrub, &mut objects.last, by_head, tx)?;
            }
            Some(Ending::Join) => {
                let found = entries(mos, objects.scrub, by_head)?;
                free(mos, std::mem::take(&mut objects.scrub), by_head, tx)?;
                add(mos, &found, &mut objects.last, by_head, tx)?;
                add(mos, &new.scrub, &mut objects.last, by_head, tx)?;
            }
        }
        self.store(&objects, mos, tx)
    }

    fn store(&self, objects: &Objects, mos: &Mos, tx: &Tx) -> Result<()> {
        mos.set_root(pool_directory::ERRLOG_LAST, objects.last, tx)?;
        mos.set_root(pool_directory::ERRLOG_SCRUB, objects.scrub, tx)?;
        self.recount(objects, mos).map(drop)
    }

    fn recount(&self, objects: &Objects, mos: &Mos) -> Result<u64> {
        let count = objects.count(mos)?;
        *lock(&self.counted) = Some(count);
        Ok(count)
    }

    /// Brings the logs into the form by dataset, if they have the old one. `birth` says when a
    /// block was born: `None` if there is none, 0 if that cannot be known. Syncing context.
    pub fn upgrade(&self, mos: &Mos, birth: &dyn Fn(&Zbookmark) -> Option<u64>, tx: &Tx) -> Result<()> {
        let mut objects = lock(&self.objects);
        if std::mem::replace(&mut objects.by_head, true) || (objects.last, objects.scrub) == (0, 0) {
            return Ok(());
        }
        let Objects { last, scrub, .. } = &mut *objects;
        for log in [last, scrub] {
            let old = entries(mos, *log, false)?;
            free(mos, std::mem::take(log), false, tx)?;
            let known = old.into_keys().filter_map(|place| Some((place, birth(&place)?)));
            add(mos, &known.collect(), log, true, tx)?;
        }
        self.store(&objects, mos, tx)
    }

    /// A head is destroyed, and with it all that only it had. Syncing context.
    pub fn dataset_gone(&self, mos: &Mos, head: u64, tx: &Tx) -> Result<()> {
        let objects = lock(&self.objects);
        for log in objects.logs().filter(|_| objects.by_head) {
            if let Some(list) = list_of(mos, log, head)? {
                mos.remove_int(log, head, tx)?;
                mos.free(list, tx)?;
            }
        }
        self.recount(&objects, mos).map(drop)
    }

    /// A clone takes over its origin, which was taken in group `taken`, and all before. Syncing
    /// context.
    pub fn promoted(&self, mos: &Mos, clone: u64, from: u64, taken: u64, tx: &Tx) -> Result<()> {
        let objects = lock(&self.objects);
        for log in objects.logs().filter(|_| objects.by_head) {
            let Some(list) = list_of(mos, log, from)? else { continue };
            let moves = |name: &str| ErrorBlock::from_name(name).is_some_and(|block| block.birth < taken);
            for (name, _) in mos.entries(list)?.into_iter().filter(|(name, _)| moves(name)) {
                mos.set(make_list(mos, log, clone, tx)?, &name, "", tx)?;
                mos.remove(list, &name, tx)?;
            }
        }
        self.recount(&objects, mos).map(drop)
    }

    /// Number of entries, what two logs both have counted twice (`spa_approx_errlog_size`). Reads
    /// no disk but for the first time.
    pub fn count(&self, mos: &Mos) -> Result<u64> {
        let counted = *lock(&self.counted);
        let on_disk = match counted {
            Some(counted) => counted,
            None => self.recount(&lock(&self.objects), mos)?,
        };
        let pending = lock(&self.pending);
        Ok(on_disk + (pending.last.len() + pending.scrub.len()) as u64)
    }

    /// Every entry of both logs; whether they name heads.
    pub fn known(&self, mos: &Mos) -> Result<(BTreeSet<(Zbookmark, u64)>, bool)> {
        let objects = lock(&self.objects);
        let by_head = objects.by_head;
        let mut all = BTreeSet::new();
        for log in objects.logs() {
            all.extend(entries(mos, log, by_head)?);
        }
        let pending = lock(&self.pending);
        let at_head = |(place, birth): (&Zbookmark, &u64)| match by_head {
            true => (Zbookmark { objset: head_of(mos, place.objset), ..*place }, *birth),
            false => (*place, *birth),
        };
        all.extend(pending.last.iter().chain(&pending.scrub).map(at_head));
        Ok((all, by_head))
    }
}

impl Objects {
    fn logs(&self) -> impl Iterator<Item = u64> {
        [self.last, self.scrub].into_iter().filter(|log| *log != 0)
    }

    fn remove(&self, mos: &Mos, head: u64, block: &ErrorBlock, tx: &Tx) -> Result<()> {
        for log in self.logs() {
            if let Some(list) = list_of(mos, log, head)? {
                mos.remove(list, &block.to_name(), tx)?;
            }
        }
        Ok(())
    }

    fn count(&self, mos: &Mos) -> Result<u64> {
        let mut count = 0;
        for log in self.logs() {
            match self.by_head {
                false => count += mos.count(log)?,
                true => {
                    for (_, list) in mos.entries(log)? {
                        count += mos.count(list.first())?;
                    }
                }
            }
        }
        Ok(count)
    }
}

/// The head of a dataset's directory; the dataset itself if that cannot be known.
fn head_of(mos: &Mos, dataset: u64) -> u64 {
    let head = mos.dataset(dataset).and_then(|phys| Ok(mos.dir(phys.dir_obj)?.head_dataset_obj));
    head.unwrap_or(dataset)
}

fn list_of(mos: &Mos, log: u64, head: u64) -> Result<Option<u64>> {
    Ok(mos.find(log, &format!("{head:x}"))?)
}

fn make_list(mos: &Mos, log: u64, head: u64, tx: &Tx) -> Result<u64> {
    if let Some(list) = list_of(mos, log, head)? {
        return Ok(list);
    }
    let list = mos.create_zap(ObjectType::ERROR_LOG, tx)?;
    mos.set_int_key(log, head, list, tx)?;
    Ok(list)
}

fn add(mos: &Mos, new: &Hurt, log: &mut u64, by_head: bool, tx: &Tx) -> Result<()> {
    if new.is_empty() {
        return Ok(());
    }
    if *log == 0 {
        *log = mos.create_zap(ObjectType::ERROR_LOG, tx)?;
    }
    // The values are names for people, which nobody has looked up yet.
    for (place, birth) in new {
        if by_head {
            let list = make_list(mos, *log, head_of(mos, place.objset), tx)?;
            mos.set(list, &ErrorBlock::of(place, *birth).to_name(), "", tx)?;
        } else {
            mos.set(*log, &place.to_name(), "", tx)?;
        }
    }
    Ok(())
}

/// What a log has; the old form knows no births.
pub(crate) fn entries(mos: &Mos, log: u64, by_head: bool) -> Result<Hurt> {
    let mut all = Hurt::new();
    if log == 0 {
        return Ok(all);
    }
    for (name, value) in mos.entries(log)? {
        if !by_head {
            all.extend(Zbookmark::from_name(&name).map(|place| (place, 0)));
            continue;
        }
        let Ok(head) = u64::from_str_radix(&name, 16) else { continue };
        let blocks = mos.entries(value.first())?;
        let blocks = blocks.iter().filter_map(|(name, _)| ErrorBlock::from_name(name));
        all.extend(blocks.map(|block| (block.place(head), block.birth)));
    }
    Ok(all)
}

fn free(mos: &Mos, log: u64, by_head: bool, tx: &Tx) -> Result<()> {
    if log == 0 {
        return Ok(());
    }
    if by_head {
        for (_, list) in mos.entries(log)? {
            mos.free(list.first(), tx)?;
        }
    }
    Ok(mos.free(log, tx)?)
}
