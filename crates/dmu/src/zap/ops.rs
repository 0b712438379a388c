//! What can be done to a ZAP, whatever holds its blocks: picks between micro and fat.

use ondisk::object_type::ObjectType;
use ondisk::zap::Form;
use ondisk::zap::leaf::Key;
use ondisk::zap::value::Value;

use super::blocks::{Blocks, form};
use super::fat::{self, Fat};
use super::key::{self, Match, Normalize, Wanted};
use super::page::{Page, fat_page};
use super::{Info, Matched, ZapParams, micro};
use crate::DmuError;

/// A ZAP whose lock is held.
pub(super) struct Ops<'a, B> {
    pub blocks: &'a B,
    pub object_type: ObjectType,
    pub normalize: Option<&'a Normalize>,
}

impl<B: Blocks> Ops<'_, B> {
    pub fn format(&self, params: ZapParams) -> Result<(), DmuError> {
        // Never 0: that is how ZFS's own code tells a ZAP that was never formatted.
        let params = ZapParams { salt: params.salt | 1, ..params };
        if params.flags == 0 { micro::format(self.blocks, params) } else { fat::format(self.blocks, params) }
    }

    pub fn info(&self) -> Result<Info, DmuError> {
        match form(self.blocks)? {
            Form::Micro => micro::info(self.blocks),
            Form::Fat => Ok(Fat::load(self.blocks)?.info()),
        }
    }

    pub fn get(&self, key: &Key<'_>, how: Match) -> Result<Matched, DmuError> {
        key::check(key, self.object_type)?;
        match form(self.blocks)? {
            Form::Micro => micro::get(self.blocks, &self.wanted(key, how, &micro::head(self.blocks)?)?),
            Form::Fat => {
                let fat = Fat::load(self.blocks)?;
                fat.get(&self.wanted(key, how, &fat.info())?)
            }
        }
    }

    pub fn put(&self, key: &Key<'_>, value: &Value, replace: bool) -> Result<(), DmuError> {
        key::check(key, self.object_type)?;
        key::check_value(value)?;
        if form(self.blocks)? == Form::Micro {
            let wanted = self.wanted(key, Match::Exact, &micro::head(self.blocks)?)?;
            if micro::put(self.blocks, &wanted, value, replace)? {
                return Ok(());
            }
            micro::upgrade(self.blocks, self.normalize)?;
        }
        let mut fat = Fat::load(self.blocks)?;
        let wanted = self.wanted(key, Match::Exact, &fat.info())?;
        fat.put(&wanted, value, if replace { fat::Put::Update } else { fat::Put::Add })
    }

    pub fn take(&self, key: &Key<'_>, how: Match) -> Result<(), DmuError> {
        key::check(key, self.object_type)?;
        match form(self.blocks)? {
            Form::Micro => micro::take(self.blocks, &self.wanted(key, how, &micro::head(self.blocks)?)?),
            Form::Fat => {
                let mut fat = Fat::load(self.blocks)?;
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
        match form(self.blocks)? {
            Form::Micro => micro::page(self.blocks, self.normalize, from, max),
            Form::Fat => fat_page(&Fat::load(self.blocks)?, self.normalize, from, max),
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
