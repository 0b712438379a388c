//! What is looked for: a key, its hash, and how names are compared.

use std::sync::Arc;

use ondisk::object_type::ObjectType;
use ondisk::zap::hash::{of_name, of_words};
use ondisk::zap::leaf::{Key, Leaf, LeafEntry};
use ondisk::zap::value::Value;
use ondisk::zap::{FLAG_UINT64_KEY, MAX_NAME, MAX_NAME_LONG, MAX_VALUE};

use super::Info;
use crate::DmuError;

/// A name's normal form under these `U8_TEXTPREP_*` flags; `None` if it has none.
pub type Normalize = Arc<dyn Fn(&[u8], u64) -> Option<Vec<u8>> + Send + Sync>;

/// `U8_TEXTPREP_TOUPPER` (include/sys/u8_textprep.h).
const TO_UPPER: u64 = 2;

/// How names are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Match {
    /// Byte for byte.
    #[default]
    Exact,
    /// By their normal forms. Only of ZAPs with normflags.
    Normalized,
    /// By their normal forms, but for upper and lower case. Only of ZAPs with normflags.
    NormalizedCase,
}

/// A key in search of its entry.
pub(super) struct Wanted<'a> {
    pub key: Key<'a>,
    pub hash: u64,
    /// The names' normal forms are compared, and this is the key's.
    fold: Option<Fold<'a>>,
    /// For other names of the same ZAP.
    hasher: Hasher<'a>,
}

struct Fold<'a> {
    normalize: &'a Normalize,
    flags: u64,
    form: Vec<u8>,
}

/// Hashes the names of one ZAP.
#[derive(Clone, Copy)]
pub(super) struct Hasher<'a> {
    salt: u64,
    flags: u64,
    normflags: u64,
    normalize: Option<&'a Normalize>,
}

impl<'a> Hasher<'a> {
    pub fn new(info: &Info, normalize: Option<&'a Normalize>) -> Hasher<'a> {
        Hasher { salt: info.salt, flags: info.flags, normflags: info.normflags, normalize }
    }

    fn normalized(&self, name: &[u8]) -> Result<Option<Vec<u8>>, DmuError> {
        if self.normflags == 0 {
            return Ok(None);
        }
        let normalize = self.normalize.ok_or(DmuError::Unsupported("normalised names"))?;
        normalize(name, self.normflags).map(Some).ok_or(DmuError::Invalid("name has no normal form"))
    }

    /// Of the normal form, where there is one: that is why equal forms have equal hashes.
    pub fn hash(&self, name: &[u8]) -> Result<u64, DmuError> {
        let form = self.normalized(name)?;
        Ok(of_name(form.as_deref().unwrap_or(name), self.salt, self.flags))
    }

    /// Of a name that is stored: one without a normal form (or where there is no function to tell)
    /// counts as it is, so that what is there can always be listed.
    pub fn stored_hash(&self, name: &[u8]) -> u64 {
        self.hash(name).unwrap_or_else(|_| of_name(name, self.salt, self.flags))
    }

    /// Whether two names have one normal form.
    pub fn conflict(&self, one: &[u8], other: &[u8]) -> Result<bool, DmuError> {
        match self.normalized(one)? {
            None => Ok(false),
            form => Ok(form == self.normalized(other)?),
        }
    }

    /// Names that differ can conflict.
    pub fn folds(&self) -> bool {
        self.normflags != 0 && self.normalize.is_some()
    }
}

impl<'a> Wanted<'a> {
    pub fn new(
        key: Key<'a>,
        how: Match,
        info: &Info,
        normalize: Option<&'a Normalize>,
    ) -> Result<Wanted<'a>, DmuError> {
        let hasher = Hasher::new(info, normalize);
        let words = info.flags & FLAG_UINT64_KEY != 0;
        match key {
            Key::Words(numbers) if words => {
                Ok(Wanted { key, hash: of_words(numbers, info.salt, info.flags), fold: None, hasher })
            }
            Key::Name(name) if !words => {
                Ok(Wanted { key, hash: hasher.hash(name)?, fold: Fold::new(name, how, &hasher)?, hasher })
            }
            _ => Err(DmuError::Invalid("kind of ZAP key")),
        }
    }

    /// A name whose hash is known already, compared exactly.
    pub fn exact(name: &'a [u8], hash: u64, hasher: Hasher<'a>) -> Wanted<'a> {
        Wanted { key: Key::Name(name), hash, fold: None, hasher }
    }

    pub fn hasher(&self) -> &Hasher<'a> {
        &self.hasher
    }

    /// The name, where no other is meant.
    pub fn exact_name(&self) -> Option<&'a [u8]> {
        match self.key {
            Key::Name(name) if self.fold.is_none() => Some(name),
            _ => None,
        }
    }

    /// Whether an entry of this name is meant.
    pub fn is(&self, name: &[u8]) -> bool {
        match &self.fold {
            None => self.key == Key::Name(name),
            Some(fold) => (fold.normalize)(name, fold.flags).is_some_and(|form| form == fold.form),
        }
    }

    /// Whether this entry of a leaf, of equal hash, is meant.
    pub fn is_entry(&self, leaf: &Leaf<'_>, entry: &LeafEntry) -> Result<bool, ondisk::Malformed> {
        if self.fold.is_none() { leaf.key_is(entry, &self.key) } else { Ok(self.is(&leaf.name(entry)?)) }
    }
}

impl<'a> Fold<'a> {
    fn new(name: &[u8], how: Match, hasher: &Hasher<'a>) -> Result<Option<Fold<'a>>, DmuError> {
        let flags = match how {
            Match::Exact => return Ok(None),
            Match::Normalized => hasher.normflags,
            Match::NormalizedCase => hasher.normflags & !TO_UPPER,
        };
        let (Some(normalize), true) = (hasher.normalize, hasher.normflags != 0) else {
            return Err(DmuError::Unsupported("normalised names"));
        };
        let form = normalize(name, flags).ok_or(DmuError::Invalid("name has no normal form"))?;
        Ok(Some(Fold { normalize, flags, form }))
    }
}

/// Whether an object of this type can have such a key.
pub(super) fn check(key: &Key<'_>, object_type: ObjectType) -> Result<(), DmuError> {
    match key {
        Key::Name(name) => {
            let max = if object_type == ObjectType::DIRECTORY_CONTENTS { MAX_NAME_LONG } else { MAX_NAME };
            if name.len() > max {
                return Err(DmuError::TooBig);
            }
            if name.is_empty() || name.contains(&0) {
                return Err(DmuError::Invalid("ZAP name"));
            }
        }
        Key::Words(words) => {
            if words.is_empty() {
                return Err(DmuError::Invalid("ZAP key"));
            }
            if key.size() > MAX_NAME + 1 {
                return Err(DmuError::TooBig);
            }
        }
    }
    Ok(())
}

pub(super) fn check_value(value: &Value) -> Result<(), DmuError> {
    if value.size() > MAX_VALUE { Err(DmuError::TooBig) } else { Ok(()) }
}
