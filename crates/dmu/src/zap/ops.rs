//! What can be done to a ZAP, whatever holds its blocks: picks between micro and fat.

use std::sync::Arc;

use ondisk::object_type::ObjectType;
use ondisk::zap::leaf::Key;
use ondisk::zap::value::Value;
use ondisk::zap::{self, Form};

use super::blocks::Blocks;
use super::fat::{self, Fat, Put, What};
use super::key::{self, Match, Normalize, Wanted};
use super::page::{Page, fat_page};
use super::{Info, Matched, Values, ZapParams, micro};
use crate::DmuError;
use crate::store::Block;

/// What is done to many entries at once is done to tables, which are fat from the start.
const NOT_FAT: DmuError = DmuError::Invalid("many entries of a micro ZAP");

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
        match zap::form(&block).map_err(self.blocks.corrupt_at(0))? {
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

    /// The values of many.
    pub fn values(&self, keys: &[Key<'_>]) -> Result<Values, DmuError> {
        let Opened::Fat(fat) = self.open()? else { return Err(NOT_FAT) };
        let info = fat.info();
        let mut wanted = Vec::with_capacity(keys.len());
        for (n, key) in keys.iter().enumerate() {
            wanted.push((self.wanted(key, Match::Exact, &info)?, n));
        }
        wanted.sort_by_key(|(wanted, _)| wanted.hash);
        let (wanted, order): (Vec<_>, Vec<usize>) = wanted.into_iter().unzip();
        let Values { answers, leafs } = fat.values(&wanted);
        let mut answers: Vec<_> = order.into_iter().zip(answers).collect();
        answers.sort_by_key(|(n, _)| *n);
        Ok(Values { answers: answers.into_iter().map(|(_, answer)| answer).collect(), leafs })
    }

    /// Puts the entries that have a value, and takes the others out; all keys differ.
    pub fn change(&self, changes: &[(Key<'_>, Option<&Value>)]) -> Result<(), DmuError> {
        let Opened::Fat(mut fat) = self.open()? else { return Err(NOT_FAT) };
        let info = fat.info();
        let mut all = Vec::with_capacity(changes.len());
        for (key, value) in changes {
            key::check(key, self.object_type)?;
            value.map_or(Ok(()), key::check_value)?;
            let what = value.map_or(What::Take, |value| What::Put(value, Put::Update));
            all.push(fat::Change { wanted: self.wanted(key, Match::Exact, &info)?, what });
        }
        all.sort_by_key(|change| change.wanted.hash);
        fat.change(&all)
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
        let what = What::Put(value, if replace { Put::Update } else { Put::Add });
        fat.change(&[fat::Change { wanted, what }])
    }

    pub fn take(&self, key: &Key<'_>, how: Match) -> Result<(), DmuError> {
        key::check(key, self.object_type)?;
        match self.open()? {
            Opened::Micro(info, block) => micro::take(self.blocks, block, &self.wanted(key, how, &info)?),
            Opened::Fat(mut fat) => {
                let wanted = self.wanted(key, how, &fat.info())?;
                fat.change(&[fat::Change { wanted, what: What::Take }])
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
