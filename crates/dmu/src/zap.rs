//! ZAP objects: names (or arrays of numbers) to arrays of integers. Directories, properties, and
//! most tables of the meta object set.
//!
//! A small one is *micro*: one block, scanned. It turns *fat*, an extensible hash table, when a
//! name is longer than 49 bytes, a value is not one 64-bit number, or its block is full; never
//! back. A fat one's lookup or change reads the head, one block of pointers, and one leaf, however
//! many entries there are.
//!
//! This module knows one object. To find it by its number, or to make it, takes an object set:
//! [`Zap::open`], [`Zap::create`] and [`Zap::claim`] are in `objset::zap`.
//!
//! Invariants:
//! - The object's content lock is held shared for every read and alone for every change, so one
//!   call sees or makes a change as a whole. It is held while blocks are read.
//! - Whatever can fail is done before the first change: a failed call changed nothing, but for
//!   [`Zap::change_words`].
//! - Blocks are judged as hostile: a broken one is [`DmuError::Corrupt`], never a panic or an
//!   endless walk.
//! - An entry's place (hash, differentiator) never changes, so a cursor stays good while others
//!   change the ZAP.
//!
//! Sources: module/zfs/zap.c, zap_micro.c, zap_fat.c, zap_leaf.c.

mod blocks;
mod fat;
mod key;
mod micro;
mod ops;
mod page;

use std::sync::{Arc, PoisonError, RwLockReadGuard, RwLockWriteGuard};

pub use ondisk::zap::Form;
pub use ondisk::zap::hash::Cursor;
pub use ondisk::zap::leaf::Key;
pub use ondisk::zap::value::Value;

use crate::DmuError;
use crate::dnode::Dnode;
use crate::tx::Tx;
use blocks::Io;
use ops::{Ops, maybe};

pub use key::{Match, Normalize};
pub use page::{Entry, Page};

/// What a new ZAP is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ZapParams {
    /// Entropy: an outsider should not be able to choose names of equal hash.
    pub salt: u64,
    /// How names are normalised (`U8_TEXTPREP_*`); 0: not at all.
    pub normflags: u64,
    /// `ondisk::zap::FLAG_*`; with any of them it is fat from the start, in blocks of the object's
    /// size.
    pub flags: u64,
}

impl ZapParams {
    /// No flags.
    pub const fn salted(salt: u64) -> ZapParams {
        ZapParams { salt, normflags: 0, flags: 0 }
    }
}

/// What a ZAP says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Info {
    pub form: Form,
    pub salt: u64,
    pub normflags: u64,
    pub flags: u64,
    pub entries: u64,
    /// Leafs, and blocks ever taken; 0 and 1 of a micro one.
    pub leafs: u64,
    pub blocks: u64,
}

/// An entry found by a name that need not be exactly its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matched {
    pub value: Value,
    /// The name as it was stored.
    pub name: Vec<u8>,
    /// Another entry has the same normal form.
    pub conflict: bool,
}

/// What looking up many keys gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values {
    /// To each key, in their order; `None` without such an entry.
    pub answers: Vec<Result<Option<Value>, DmuError>>,
    /// How many leafs they were looked for in.
    pub leafs: usize,
}

/// A ZAP object. Cheap to make; keeps nothing but the object.
#[derive(Clone)]
pub struct Zap {
    dnode: Arc<Dnode>,
    normalize: Option<Normalize>,
}

impl Zap {
    /// Of an object that is held; `Invalid` when its type is not a ZAP's.
    pub fn of(dnode: Arc<Dnode>) -> Result<Zap, DmuError> {
        if !dnode.object_type().is_zap() {
            return Err(DmuError::Invalid("object is not a ZAP"));
        }
        Ok(Zap { dnode, normalize: None })
    }

    /// With the function that normalises names. Without it a ZAP with normflags cannot be searched
    /// by name.
    pub fn with_normalize(mut self, normalize: Normalize) -> Zap {
        self.normalize = Some(normalize);
        self
    }

    /// Makes a freshly allocated object an empty ZAP.
    pub fn format(&self, params: ZapParams, tx: &Tx) -> Result<(), DmuError> {
        let (_guard, io) = self.writing(tx);
        self.ops(&io).format(params)
    }

    pub fn dnode(&self) -> &Arc<Dnode> {
        &self.dnode
    }

    pub fn object(&self) -> u64 {
        self.dnode.object()
    }

    pub fn info(&self) -> Result<Info, DmuError> {
        let (_guard, io) = self.reading();
        self.ops(&io).info()
    }

    /// How many entries.
    pub fn count(&self) -> Result<u64, DmuError> {
        Ok(self.info()?.entries)
    }

    // ── By name ──

    /// `NotFound` without such an entry.
    pub fn lookup(&self, name: impl AsRef<[u8]>) -> Result<Value, DmuError> {
        self.get(&Key::Name(name.as_ref()), Match::Exact).map(|found| found.value)
    }

    /// `None` without such an entry.
    pub fn find(&self, name: impl AsRef<[u8]>) -> Result<Option<Value>, DmuError> {
        maybe(self.lookup(name))
    }

    /// The one number of an entry; `Invalid` when it has several.
    pub fn lookup_u64(&self, name: impl AsRef<[u8]>) -> Result<u64, DmuError> {
        let value = self.lookup(name)?;
        if value.len() == 1 {
            Ok(value.first())
        } else {
            Err(DmuError::Invalid("ZAP entry is not one number"))
        }
    }

    /// As [`Zap::lookup_u64`], `None` without such an entry.
    pub fn find_u64(&self, name: impl AsRef<[u8]>) -> Result<Option<u64>, DmuError> {
        maybe(self.lookup_u64(name))
    }

    pub fn contains(&self, name: impl AsRef<[u8]>) -> Result<bool, DmuError> {
        Ok(self.find(name)?.is_some())
    }

    /// With a looser comparison; of several entries the one with the lowest differentiator.
    pub fn lookup_match(&self, name: impl AsRef<[u8]>, how: Match) -> Result<Matched, DmuError> {
        self.get(&Key::Name(name.as_ref()), how)
    }

    /// Bytes of an integer of the value, and how many integers.
    pub fn length(&self, name: impl AsRef<[u8]>) -> Result<(u8, usize), DmuError> {
        self.lookup(name).map(|value| (value.int_size(), value.len()))
    }

    /// `Exists` when there is such an entry, `TooBig` for names and values no ZAP can hold,
    /// `NoSpace` when the hashes of too many names collide.
    pub fn add(&self, name: impl AsRef<[u8]>, value: impl Into<Value>, tx: &Tx) -> Result<(), DmuError> {
        self.put(&Key::Name(name.as_ref()), &value.into(), false, tx)
    }

    /// Adds or replaces.
    pub fn update(&self, name: impl AsRef<[u8]>, value: impl Into<Value>, tx: &Tx) -> Result<(), DmuError> {
        self.put(&Key::Name(name.as_ref()), &value.into(), true, tx)
    }

    pub fn remove(&self, name: impl AsRef<[u8]>, tx: &Tx) -> Result<(), DmuError> {
        let (_guard, io) = self.writing(tx);
        self.ops(&io).take(&Key::Name(name.as_ref()), Match::Exact)
    }

    /// Adds to a number that counts as 0 while it has no entry, and has none once it is 0 again.
    pub fn increment(&self, name: impl AsRef<[u8]>, delta: i64, tx: &Tx) -> Result<(), DmuError> {
        let (_guard, io) = self.writing(tx);
        self.ops(&io).increment(&Key::Name(name.as_ref()), delta)
    }

    // ── By number: the name is the number in hexadecimal, as `zap_add_int` and kin have it ──

    /// Adds a number to a set of them.
    pub fn add_int(&self, number: u64, tx: &Tx) -> Result<(), DmuError> {
        self.add(int_name(number), number, tx)
    }

    pub fn remove_int(&self, number: u64, tx: &Tx) -> Result<(), DmuError> {
        self.remove(int_name(number), tx)
    }

    pub fn contains_int(&self, number: u64) -> Result<bool, DmuError> {
        self.contains(int_name(number))
    }

    pub fn add_int_key(&self, key: u64, value: u64, tx: &Tx) -> Result<(), DmuError> {
        self.add(int_name(key), value, tx)
    }

    pub fn update_int_key(&self, key: u64, value: u64, tx: &Tx) -> Result<(), DmuError> {
        self.update(int_name(key), value, tx)
    }

    // ── By an array of numbers: ZAPs with `FLAG_UINT64_KEY` ──

    /// The values of many keys; what has to be read for them is read together. Of a ZAP that is
    /// fat.
    pub fn values_of_words(&self, keys: &[[u64; 5]]) -> Values {
        let (_guard, io) = self.reading();
        let values = self.ops(&io).values(&keys.iter().map(|key| Key::Words(key)).collect::<Vec<_>>());
        values.unwrap_or_else(|error| Values { answers: vec![Err(error); keys.len()], leafs: 0 })
    }

    /// Adds or replaces entries that have a value, and removes those that have none: leaf by leaf,
    /// so that what a batch costs follows the leafs it changes. Of a ZAP that is fat; all keys
    /// differ. If it fails, a part has been done.
    pub fn change_words(&self, changes: &[([u64; 5], Option<Value>)], tx: &Tx) -> Result<(), DmuError> {
        let (_guard, io) = self.writing(tx);
        let changes: Vec<_> = changes.iter().map(|(key, value)| (Key::Words(key), value.as_ref())).collect();
        self.ops(&io).change(&changes)
    }

    // ── All of it ──

    /// At most `max` entries in order of hash, from the place `from` on: 0, an entry's `next`, or a
    /// page's.
    pub fn page(&self, from: u64, max: usize) -> Result<Page, DmuError> {
        let (_guard, io) = self.reading();
        self.ops(&io).page(from, max)
    }

    /// All entries one after another, fetched some hundreds at a time. Entries added or removed
    /// meanwhile may or may not be met; the others are, once.
    pub fn iter(&self) -> page::Entries<'_> {
        page::Entries::new(self)
    }

    /// All entries at once: for ZAPs known to be small.
    pub fn entries(&self) -> Result<Vec<Entry>, DmuError> {
        self.iter().collect()
    }

    /// The name of the first entry whose number agrees with `value` in the bits of `mask` (0: all).
    pub fn name_of(&self, value: u64, mask: u64) -> Result<Vec<u8>, DmuError> {
        let mask = if mask == 0 { u64::MAX } else { mask };
        for entry in self.iter() {
            let entry = entry?;
            if (entry.value.first() ^ value) & mask == 0 {
                return Ok(entry.name);
            }
        }
        Err(DmuError::NotFound)
    }

    // ── Beneath ──

    fn reading(&self) -> (RwLockReadGuard<'_, ()>, Io<'_>) {
        // A holder that panicked was between two calls of this crate at worst: each leaves blocks
        // sound.
        let guard = self.dnode.content_lock().read().unwrap_or_else(PoisonError::into_inner);
        (guard, Io::reading(&self.dnode))
    }

    fn writing<'a>(&'a self, tx: &'a Tx) -> (RwLockWriteGuard<'a, ()>, Io<'a>) {
        let guard = self.dnode.content_lock().write().unwrap_or_else(PoisonError::into_inner);
        (guard, Io::writing(&self.dnode, tx))
    }

    fn ops<'a>(&'a self, io: &'a Io<'a>) -> Ops<'a, Io<'a>> {
        Ops { blocks: io, object_type: self.dnode.object_type(), normalize: self.normalize.as_ref() }
    }

    fn get(&self, key: &Key<'_>, how: Match) -> Result<Matched, DmuError> {
        let (_guard, io) = self.reading();
        self.ops(&io).get(key, how)
    }

    fn put(&self, key: &Key<'_>, value: &Value, replace: bool, tx: &Tx) -> Result<(), DmuError> {
        let (_guard, io) = self.writing(tx);
        self.ops(&io).put(key, value, replace)
    }
}

fn int_name(number: u64) -> String {
    format!("{number:x}")
}

#[cfg(test)]
mod tests;
