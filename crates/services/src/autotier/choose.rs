//! Which files go.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use api_types::{TierChoice, TierFault};
use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::time::Time;

/// Patterns of a policy, and bytes of one.
const MOST: usize = 1_000;
const LONGEST: usize = 1_024;

/// A choice that was checked.
#[derive(Clone, Debug)]
pub struct Choice {
    older_than: Option<u64>,
    newer_than: Option<u64>,
    min_size: u64,
    max_size: u64,
    max_depth: usize,
    include: Option<Patterns>,
    exclude: Option<Patterns>,
}

/// A file, or a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File<'a> {
    /// From the folder on.
    pub path: &'a [u8],
    pub size: u64,
    pub modified: Time,
}

impl Choice {
    pub fn new(choice: &TierChoice) -> Result<Choice, Vec<TierFault>> {
        let TierChoice { older_than, newer_than, min_size, max_size, max_depth, include, exclude } = choice;
        let mut faults = Vec::new();
        if include.len() + exclude.len() > MOST {
            return Err(vec![TierFault::TooManyPatterns { limit: MOST as u64 }]);
        }
        let (min, max) = (min_size.unwrap_or(0), max_size.unwrap_or(u64::MAX));
        let no_age = newer_than.is_some_and(|newer| newer <= older_than.unwrap_or(0));
        if no_age || min > max || *max_depth == Some(0) {
            faults.push(TierFault::ChoosesNothing);
        }
        let include = Patterns::new(include).map_err(|fault| faults.push(fault));
        let exclude = Patterns::new(exclude).map_err(|fault| faults.push(fault));
        let (Ok(include), Ok(exclude), true) = (include, exclude, faults.is_empty()) else {
            return Err(faults);
        };
        Ok(Choice {
            older_than: *older_than,
            newer_than: *newer_than,
            min_size: min,
            max_size: max,
            max_depth: max_depth.map_or(usize::MAX, |depth| depth as usize),
            include,
            exclude,
        })
    }

    /// Whether a file goes. `now`: when the snapshot was made. What was modified after that, as its
    /// time says, is of no age.
    pub fn takes(&self, file: File<'_>, now: Time) -> bool {
        let age = u64::try_from(now.saturating_sub(file.modified)).unwrap_or(0);
        self.older_than.is_none_or(|older| age >= older)
            && self.newer_than.is_none_or(|newer| age < newer)
            && (self.min_size..=self.max_size).contains(&file.size)
            && depth(file.path) <= self.max_depth
            && self.include.as_ref().is_none_or(|include| include.match_path(file.path))
            && !self.exclude.as_ref().is_some_and(|exclude| exclude.match_path(file.path))
    }

    /// Whether something below a folder may go.
    pub fn enters(&self, folder: &[u8]) -> bool {
        depth(folder) < self.max_depth
            && !self.exclude.as_ref().is_some_and(|exclude| exclude.match_path(folder))
    }
}

fn depth(path: &[u8]) -> usize {
    path.split(|byte| *byte == b'/').count()
}

#[derive(Clone, Debug)]
struct Patterns {
    /// Of the last name of a path.
    names: GlobSet,
    /// Of all of it.
    paths: GlobSet,
}

impl Patterns {
    /// `None`: there are none.
    fn new(patterns: &[String]) -> Result<Option<Patterns>, TierFault> {
        let (mut names, mut paths) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for pattern in patterns {
            let bad = || TierFault::Pattern { pattern: pattern.chars().take(LONGEST).collect() };
            let rest = pattern.strip_suffix('/').unwrap_or(pattern);
            let is_path = rest.contains('/');
            let rest = rest.strip_prefix('/').unwrap_or(rest);
            if rest.is_empty() || rest.len() > LONGEST || rest.contains('\0') {
                return Err(bad());
            }
            let glob = GlobBuilder::new(rest).literal_separator(true).backslash_escape(true).build();
            let glob = glob.map_err(|_| bad())?;
            if is_path {
                paths.add(glob)
            } else {
                names.add(glob)
            };
        }
        let set = |builder: &GlobSetBuilder| {
            // Together they are more than a matcher may take.
            builder.build().map_err(|_| TierFault::TooManyPatterns { limit: MOST as u64 })
        };
        if patterns.is_empty() {
            return Ok(None);
        }
        Ok(Some(Patterns { names: set(&names)?, paths: set(&paths)? }))
    }

    fn match_path(&self, path: &[u8]) -> bool {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        let is_in = |set: &GlobSet, bytes: &[u8]| {
            !set.is_empty() && set.is_match_candidate(&Candidate::new(Path::new(OsStr::from_bytes(bytes))))
        };
        is_in(&self.names, name) || is_in(&self.paths, path)
    }
}

#[cfg(test)]
mod tests;
