//! Names of entries: which are allowed, and when two are the same.
//!
//! A file system made with `normalization` or without case sensitivity compares names by their
//! normal form, and so do its directories' ZAPs. Upper case comes first, character by character and
//! only where that is one character, then the Unicode form; bytes that are no UTF-8 stand for
//! themselves. Source: `u8_textprep_str` in module/unicode/u8_textprep.c, `zap_normalize` in
//! module/zfs/zap_micro.c.

use std::sync::Arc;

use dmu::zap::{Match, Normalize};
use engine_api::{Error, NAME_MAX, Result};
use ondisk::znode::{CASE_INSENSITIVE, CASE_MIXED, norm};
use unicode_normalization::UnicodeNormalization;

/// How names are compared in one file system.
pub struct Names {
    /// Of its directories' ZAPs.
    pub normflags: u64,
    pub case: u64,
    utf8only: bool,
    pub normalize: Normalize,
}

impl Names {
    pub fn new(normalization: u64, case: u64, utf8only: bool) -> Names {
        let folds = matches!(case, CASE_INSENSITIVE | CASE_MIXED);
        let normflags = normalization | if folds { norm::TOUPPER } else { 0 };
        Names { normflags, case, utf8only, normalize: Arc::new(|name, flags| Some(normal_form(name, flags))) }
    }

    /// How entries are looked up, `None` byte for byte.
    pub fn matching(&self) -> Match {
        match (self.normflags, self.case) {
            (0, _) => Match::Exact,
            (_, CASE_MIXED) => Match::NormalizedCase,
            _ => Match::Normalized,
        }
    }

    pub fn case_insensitive(&self) -> bool {
        self.case == CASE_INSENSITIVE
    }

    /// A name to look for, `.` and `..` among them.
    pub fn check(&self, name: &[u8]) -> Result<()> {
        if name.len() > NAME_MAX {
            return Err(Error::NameTooLong);
        }
        if name.is_empty() || name.contains(&b'/') || name.contains(&0) {
            return Err(Error::Invalid("a name is 1 to 255 bytes without slash or NUL".into()));
        }
        Ok(())
    }

    /// A name to be made or removed.
    pub fn check_entry(&self, name: &[u8]) -> Result<()> {
        self.check(name)?;
        if name == b"." || name == b".." {
            return Err(Error::Invalid("'.' and '..' can neither be made nor removed".into()));
        }
        if self.utf8only && std::str::from_utf8(name).is_err() {
            return Err(Error::Invalid("this file system takes names in UTF-8 only".into()));
        }
        Ok(())
    }
}

/// A name's normal form under `norm` flags.
pub fn normal_form(name: &[u8], flags: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        let upper: String =
            chunk.valid().chars().map(|c| if flags & norm::TOUPPER != 0 { to_upper(c) } else { c }).collect();
        let compose = flags & norm::CANON_COMP != 0;
        let form: String = if flags & norm::COMPAT_DECOMP != 0 {
            if compose { upper.nfkc().collect() } else { upper.nfkd().collect() }
        } else if flags & norm::CANON_DECOMP != 0 {
            if compose { upper.nfc().collect() } else { upper.nfd().collect() }
        } else {
            upper
        };
        out.extend_from_slice(form.as_bytes());
        out.extend_from_slice(chunk.invalid());
    }
    out
}

fn to_upper(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

#[cfg(test)]
mod tests;
