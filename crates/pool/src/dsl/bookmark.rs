//! Bookmarks: what remains of a snapshot when it is gone, so that an incremental stream can start
//! from it.
//!
//! One that has the newer form (feature `bookmark_written`) also keeps up how much of what its
//! snapshot saw has been freed before the next snapshot (`FLAG_HAS_FBN`), so that sizes of streams
//! can be told. Until there is a next snapshot, that is the head's to count ([`Counting`]);
//! afterwards dead lists keep a key for the bookmark's group as they do for a snapshot's.
//!
//! A dataset's bookmarks are a ZAP, by name; they belong to the head whose past they are of.
//!
//! Source: module/zfs/dsl_bookmark.c.

use dmu::Tx;
use dmu::zap::{Value, ZapParams};
use dmu::{ObjectSpec, Zap};
use ondisk::bookmark::{BookmarkPhys, FLAG_HAS_FBN, FLAG_SNAPSHOT_EXISTS};
use ondisk::dsl_dataset::{DslDatasetPhys, FIELD_BOOKMARK_NAMES, FIELD_IVSET_GUID};
use ondisk::object_type::ObjectType;

use super::Dsl;
use super::deadlist::Deadlist;
use super::names::Found;
use crate::sums::Sums;
use crate::{PoolError, Result};

/// `U8_TEXTPREP_TOUPPER`: how names of bookmarks are hashed.
const TO_UPPER: u64 = 2;
/// Numbers of the form without counts.
const OLD_WORDS: usize = 3;

/// A bookmark of a head.
#[derive(Clone, Debug)]
pub(crate) struct Bookmark {
    /// After the `#`.
    pub name: String,
    pub phys: BookmarkPhys,
    /// Written with all numbers.
    is_long: bool,
}

impl Bookmark {
    pub fn counts(&self) -> bool {
        self.phys.flags & FLAG_HAS_FBN != 0
    }

    /// Of everything it saw so much has been freed.
    fn add_freed(&mut self, freed: Sums) {
        let phys = &mut self.phys;
        phys.referenced_freed_before_next_snap += freed.used as u64;
        phys.compressed_freed_before_next_snap += freed.comp as u64;
        phys.uncompressed_freed_before_next_snap += freed.uncomp as u64;
    }

    fn value(&self) -> Value {
        let mut words = self.phys.to_words();
        words.truncate(if self.is_long { words.len() } else { OLD_WORDS });
        Value::U64(words)
    }
}

/// A bookmark whose next snapshot will be the next one taken.
pub(crate) struct Counting(Bookmark);

impl Counting {
    /// Whether it saw a block born then.
    pub fn saw(&self, birth: u64) -> bool {
        birth <= self.0.phys.creation_txg
    }

    /// Adds what was freed and writes it down.
    pub fn add(&mut self, dsl: &Dsl, zap: u64, freed: Sums, tx: &Tx) -> Result<()> {
        self.0.add_freed(freed);
        Ok(dsl.mos.set(zap, &self.0.name, self.0.value(), tx)?)
    }
}

/// The ZAP of a dataset's bookmarks.
pub(crate) fn object(dsl: &Dsl, dataset: u64) -> Result<Option<u64>> {
    Ok(dsl.mos.field(dataset, FIELD_BOOKMARK_NAMES)?)
}

/// A head's bookmarks, oldest first.
pub(crate) fn all(dsl: &Dsl, head: u64) -> Result<Vec<Bookmark>> {
    let Some(zap) = object(dsl, head)? else { return Ok(Vec::new()) };
    let mut bookmarks = Vec::new();
    for (name, value) in dsl.mos.entries(zap)? {
        let words = value.words();
        let is_long = words.len() > OLD_WORDS;
        bookmarks.push(Bookmark { name, phys: BookmarkPhys::from_words(&words)?, is_long });
    }
    bookmarks.sort_by(|a, b| (a.phys.creation_txg, &a.name).cmp(&(b.phys.creation_txg, &b.name)));
    Ok(bookmarks)
}

/// One of a head's, by name.
pub(crate) fn find(dsl: &Dsl, head: u64, name: &str) -> Result<Option<Bookmark>> {
    Ok(all(dsl, head)?.into_iter().find(|bookmark| bookmark.name == name))
}

/// Those of a head that count along.
pub(crate) fn counting(dsl: &Dsl, dataset: u64, phys: &DslDatasetPhys) -> Result<Vec<Counting>> {
    let of_head = |bookmark: &Bookmark| bookmark.counts() && bookmark.phys.creation_txg >= phys.prev_snap_txg;
    Ok(all(dsl, dataset)?.into_iter().filter(of_head).map(Counting).collect())
}

/// Groups of bookmarks younger than the last snapshot, for which the head's dead list needs keys
/// after the next.
pub(crate) fn keys_after(dsl: &Dsl, head: u64, prev_snap_txg: u64) -> Result<Vec<u64>> {
    let counted = all(dsl, head)?.into_iter().filter(Bookmark::counts);
    let mut keys: Vec<u64> =
        counted.map(|bookmark| bookmark.phys.creation_txg).filter(|txg| *txg > prev_snap_txg).collect();
    keys.dedup();
    Ok(keys)
}

/// What a bookmark of this snapshot says.
fn of_snapshot(dsl: &Dsl, snapshot: &DslDatasetPhys) -> Result<BookmarkPhys> {
    let mut phys = BookmarkPhys {
        guid: snapshot.guid,
        creation_txg: snapshot.creation_txg,
        creation_time: snapshot.creation_time,
        ..BookmarkPhys::default()
    };
    if dsl.features().is_enabled("bookmark_written") {
        let next = dsl.mos.dataset(snapshot.next_snap_obj)?;
        let freed = Deadlist::space(dsl, next.deadlist_obj)?;
        phys.flags = FLAG_SNAPSHOT_EXISTS | FLAG_HAS_FBN;
        phys.referenced_bytes_refd = snapshot.referenced_bytes;
        phys.compressed_bytes_refd = snapshot.compressed_bytes;
        phys.uncompressed_bytes_refd = snapshot.uncompressed_bytes;
        phys.referenced_freed_before_next_snap = freed.used as u64;
        phys.compressed_freed_before_next_snap = freed.comp as u64;
        phys.uncompressed_freed_before_next_snap = freed.uncomp as u64;
    }
    Ok(phys)
}

/// Gives a head a bookmark of a snapshot. Syncing context.
pub(crate) fn create(dsl: &Dsl, head: u64, name: &str, snapshot: &Found, tx: &Tx) -> Result<BookmarkPhys> {
    let mut phys = of_snapshot(dsl, &snapshot.phys)?;
    if dsl.features().is_enabled("bookmark_v2") {
        phys.ivset_guid = dsl.mos.field(snapshot.object, FIELD_IVSET_GUID)?.unwrap_or(0);
    }
    add(dsl, head, name, phys, tx)?;
    Ok(phys)
}

/// Gives a head a copy of a bookmark, without a list of redacted blocks. Syncing context.
pub(crate) fn copy(dsl: &Dsl, head: u64, name: &str, from: &Bookmark, tx: &Tx) -> Result<BookmarkPhys> {
    let phys = BookmarkPhys { redaction_obj: 0, ..from.phys };
    add(dsl, head, name, phys, tx)?;
    Ok(phys)
}

fn add(dsl: &Dsl, head: u64, name: &str, phys: BookmarkPhys, tx: &Tx) -> Result<()> {
    if phys.flags & FLAG_HAS_FBN != 0 {
        dsl.features().increment("bookmark_written", tx)?;
    }
    put(dsl, head, name, phys, tx)
}

/// Puts a bookmark into a head's ZAP, in the shortest form that holds it.
fn put(dsl: &Dsl, head: u64, name: &str, phys: BookmarkPhys, tx: &Tx) -> Result<()> {
    let zap = match object(dsl, head)? {
        Some(zap) => zap,
        None => {
            let params = ZapParams { normflags: TO_UPPER, ..ZapParams::salted(dsl.mos.random()) };
            let spec = ObjectSpec::new(ObjectType::OTN_ZAP_METADATA);
            let zap = Zap::create(&dsl.mos.objset, spec, params, tx)?.object();
            dsl.features().increment("bookmarks", tx)?;
            dsl.zapify(head, tx)?;
            dsl.mos.set(head, FIELD_BOOKMARK_NAMES, zap, tx)?;
            zap
        }
    };
    let needs_all = phys.ivset_guid != 0 || phys.flags & FLAG_HAS_FBN != 0 || phys.redaction_obj != 0;
    let is_long = needs_all && dsl.features().is_enabled("bookmark_v2");
    if is_long {
        dsl.features().increment("bookmark_v2", tx)?;
    }
    let bookmark = Bookmark { name: name.to_owned(), phys, is_long };
    Ok(dsl.mos.set(zap, name, bookmark.value(), tx)?)
}

/// Takes a bookmark out of a head's ZAP, which goes with the last.
fn take(dsl: &Dsl, head: u64, bookmark: &Bookmark, tx: &Tx) -> Result<()> {
    let zap = object(dsl, head)?.ok_or(PoolError::NotFound)?;
    if bookmark.is_long {
        dsl.features().decrement("bookmark_v2", tx)?;
    }
    dsl.mos.remove(zap, &bookmark.name, tx)?;
    if dsl.mos.count(zap)? == 0 {
        dsl.mos.free(zap, tx)?;
        dsl.mos.remove(head, FIELD_BOOKMARK_NAMES, tx)?;
        dsl.features().decrement("bookmarks", tx)?;
    }
    Ok(())
}

fn rewrite(dsl: &Dsl, head: u64, bookmark: &Bookmark, tx: &Tx) -> Result<()> {
    let zap = object(dsl, head)?.ok_or(PoolError::NotFound)?;
    Ok(dsl.mos.set(zap, &bookmark.name, bookmark.value(), tx)?)
}

/// Destroys one. Syncing context.
pub(crate) fn destroy(dsl: &Dsl, head: u64, bookmark: &Bookmark, tx: &Tx) -> Result<()> {
    let phys = dsl.mos.dataset(head)?;
    let txg = bookmark.phys.creation_txg;
    if bookmark.counts() {
        let is_other = |other: &Bookmark| {
            other.name != bookmark.name && other.counts() && other.phys.creation_txg == txg
        };
        let snapshot_exists = bookmark.phys.flags & FLAG_SNAPSHOT_EXISTS != 0;
        if !snapshot_exists && txg < phys.prev_snap_txg && !all(dsl, head)?.iter().any(is_other) {
            let clones = dsl.dir(phys.dir_obj)?.phys().clones;
            dsl.remove_clones_key(clones, txg, tx)?;
            Deadlist::open(dsl, phys.deadlist_obj)?.remove_key(dsl, txg, tx)?;
        }
    }
    forget(dsl, head, bookmark, tx)
}

/// Takes a bookmark away, with what it counts for in the pool's features.
fn forget(dsl: &Dsl, head: u64, bookmark: &Bookmark, tx: &Tx) -> Result<()> {
    if bookmark.counts() {
        dsl.features().decrement("bookmark_written", tx)?;
    }
    take(dsl, head, bookmark, tx)
}

/// Destroys those of a head that is going itself: its dead list needs no care any more.
pub(crate) fn destroy_all(dsl: &Dsl, head: u64, tx: &Tx) -> Result<()> {
    all(dsl, head)?.iter().try_for_each(|bookmark| forget(dsl, head, bookmark, tx))
}

/// A snapshot is about to go: bookmarks before it have another next one now. Whether one of its own
/// group counts, for which dead lists have to keep the group's key.
pub(crate) fn snapshot_gone(dsl: &Dsl, head: u64, snapshot: &DslDatasetPhys, tx: &Tx) -> Result<bool> {
    let counted = all(dsl, head)?.into_iter().filter(Bookmark::counts);
    let groups = snapshot.prev_snap_txg..=snapshot.creation_txg;
    let concerned: Vec<Bookmark> = counted.filter(|one| groups.contains(&one.phys.creation_txg)).collect();
    if concerned.is_empty() {
        return Ok(false);
    }
    let next = Deadlist::open(dsl, dsl.mos.dataset(snapshot.next_snap_obj)?.deadlist_obj)?;
    let mut keeps_key = false;
    for mut bookmark in concerned {
        if bookmark.phys.creation_txg == snapshot.creation_txg {
            bookmark.phys.flags &= !FLAG_SNAPSHOT_EXISTS;
            keeps_key = true;
        } else {
            bookmark.add_freed(next.space_between(dsl, 0, bookmark.phys.creation_txg)?);
        }
        rewrite(dsl, head, &bookmark, tx)?;
    }
    Ok(keeps_key)
}

/// The head after a snapshot has another dead list now: bookmarks of that snapshot count anew.
pub(crate) fn next_changed(dsl: &Dsl, head: u64, snapshot: u64, tx: &Tx) -> Result<()> {
    if snapshot == 0 {
        return Ok(());
    }
    let phys = dsl.mos.dataset(snapshot)?;
    for mut bookmark in all(dsl, head)? {
        if bookmark.counts() && bookmark.phys.creation_txg == phys.creation_txg {
            let BookmarkPhys { redaction_obj, ivset_guid, .. } = bookmark.phys;
            bookmark.phys = BookmarkPhys { redaction_obj, ivset_guid, ..of_snapshot(dsl, &phys)? };
            rewrite(dsl, head, &bookmark, tx)?;
        }
    }
    Ok(())
}

/// A clone is promoted: bookmarks up to its origin are its own now, and those of the origin have
/// another next snapshot.
pub(crate) fn promote(dsl: &Dsl, from: u64, to: u64, origin: &DslDatasetPhys, tx: &Tx) -> Result<()> {
    for bookmark in all(dsl, from)? {
        if bookmark.phys.creation_txg > origin.creation_txg {
            break;
        }
        take(dsl, from, &bookmark, tx)?;
        let mut phys = bookmark.phys;
        if bookmark.counts() && phys.creation_txg == origin.creation_txg {
            let fresh = of_snapshot(dsl, origin)?;
            phys = BookmarkPhys { redaction_obj: phys.redaction_obj, ivset_guid: phys.ivset_guid, ..fresh };
        }
        put(dsl, to, &bookmark.name, phys, tx)?;
    }
    Ok(())
}
