//! What can be done to a ZAP, whatever holds its blocks: picks between micro and fat.

use std::sync::Arc;

use ondisk::object_type::ObjectType;
use ondisk::zap::leaf::Key;
use ondisk::zap::value::Value;
use ondisk::zap::{self, Form};

use super::blocks::Blocks;
use super::fat::{self, Fat};
use super::key::{self, Match, Normalize, Wanted};
use super::page::{Page, fat_page};
use super::{Info, Matched, ZapParams, micro};
use crate::DmuError;
use crate::store::Block;

/// A ZAP whose lock is held.
pub(super) struct Ops<'a, B> {
    pub blocks: &'a B,
    pub object_type: ObjectType,
    pub normalize: Option<&'a Normalize>,
}

/// A ZAP whose head was read.
enum Opened<'a, B> {
    Micro(Info, Arc<Block>),
    Fat(Fat<'a, B>),
}

impl<B: Blocks> Ops<'_, B> {
    pub fn format(&self, params: ZapParams) -> Result<(), DmuError> {
        // Never 0: that is how ZFS's own code tells a ZAP that was never formatted.
        let params = ZapParams { salt: params.salt | 1, ..params };
        if params.flags == 0 { micro::format(self.blocks, params) } else { fat::format(self.blocks, params) }
    }

    fn open(&self) -> Result<Opened<'_, B>, DmuError> {
        let block = self.blocks.get(0)?;
        match zap::form(&block, block.endian()).map_err(self.blocks.corrupt_at(0))? {
            Form::Micro => Ok(Opened::Micro(micro::head(self.blocks, &block)?, block)),
            Form::Fat => Ok(Opened::Fat(Fat::new(self.blocks, &block)?)),
        }
    }

    pub fn info(&self) -> Result<Info, DmuError> {
        match self.open()? {
            Opened::Micro(_, block) => micro::info(self.blocks, &block),
            Opened::Fat(fat) => Ok(fat.info()),
        }
    }

    pub fn get(&self, key: &Key<'_>, how: Match) -> Result<Matched, DmuError> {
        key::check(key, self.object_type)?;
        match self.open()? {
            Opened::Micro(info, block) => micro::get(self.blocks, &block, &self.wanted(key, how, &info)?),
            Opened::Fat(fat) => fat.get(&self.wanted(key, how, &fat.info())?),
        }
    }

    /// What looking these up will need is read together. A micro ZAP is one block.
    pub fn warm(&self, keys: &mut dyn Iterator<Item = Key<'_>>) -> Result<(), DmuError> {
        let Opened::Fat(fat) = self.open()? else { return Ok(()) };
        let info = fat.info();
        let hashes: Result<Vec<u64>, DmuError> =
            keys.map(|key| Ok(self.wanted(&key, Match::Exact, &info)?.hash)).collect();
        fat.warm(&hashes?)
    }

    pub fn put(&self, key: &Key<'_>, value: &Value, replace: bool) -> Result<(), DmuError> {
        key::check(key, self.object_type)?;
        key::check_value(value)?;
        let mut fat = match self.open()? {
            Opened::Fat(fat) => fat,
            Opened::Micro(info, block) => {
                let wanted = self.wanted(key, Match::Exact, &info)?;
                if micro::put(self.blocks, block, &wanted, value, replace)? {
                    return Ok(());
                }
                micro::upgrade(self.blocks, &*self.blocks.get(0)?, self.normalize)?;
                Fat::load(self.blocks)?
            }
        };
        let wanted = self.wanted(key, Match::Exact, &fat.info())?;
        fat.put(&wanted, value, if replace { fat::Put::Update } else { fat::Put::Add })
    }

    pub fn take(&self, key: &Key<'_>, how: Match) -> Result<(), DmuError> {
        key::check(key, self.object_type)?;
        match self.open()? {
            Opened::Micro(info, block) => micro::take(self.blocks, block, &self.wanted(key, how, &info)?),
            Opened::Fat(mut fat) => {
                let wanted = self.wanted(key, how, &fat.info())?;
                fat.take(&wanted)
            }
        }
    }

    pub fn increment(&self, key: &Key<'_>, delta: i64) -> Result<(), DmuError> {
        if delta == 0 {
            return Ok(());
        }
        let old = maybe(self.get(key, Match::Exact))?;
        match old.as_ref().map_or(0, |found| found.value.first()).wrapping_add_signed(delta) {
            0 => self.take(key, Match::Exact),
            sum => self.put(key, &Value::one(sum), true),
        }
    }

    pub fn page(&self, from: u64, max: usize) -> Result<Page, DmuError> {
        match self.open()? {
            Opened::Micro(_, block) => micro::page(self.blocks, &block, self.normalize, from, max),
            Opened::Fat(fat) => fat_page(&fat, self.normalize, from, max),
        }
    }

    fn wanted<'k>(&'k self, key: &Key<'k>, how: Match, info: &Info) -> Result<Wanted<'k>, DmuError> {
        Wanted::new(*key, how, info, self.normalize)
    }
}

/// Missing is an answer.
pub(super) fn maybe<T>(answer: Result<T, DmuError>) -> Result<Option<T>, DmuError> {
    match answer {
        Err(DmuError::NotFound) => Ok(None),
        answer => answer.map(Some),
    }
}
