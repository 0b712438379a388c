//! Cache files: which pools are imported, and where their devices are, for programs that are to
//! find them without a search (`zdb`, `zpool import -c`).
//!
//! A file is a list of configurations by name of pool, in OpenZFS's form. Property `cachefile` says
//! in which a pool stands; it is kept nowhere but in memory. A file is replaced when something of
//! its pools has changed, and removed when none of them is left. What is in it is a hint: who
//! imports by it reads the labels of the devices all the same.
//!
//! Sources: module/zfs/spa_config.c (`spa_write_cachefile`, `spa_configfile_set`), module/zfs/spa.c
//! (`spa_prop_validate`), lib/libzfs/libzfs_pool.c (`zpool_valid_proplist`),
//! lib/libzutil/zutil_import.c (`zpool_find_import_cached`).

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};

use ::pool::Pool;
use ::pool::spa::config::PoolConfig;
use engine_api::{CacheFileSearch, Change, PropertyChange, Result};
use env::{files, lock};
use ondisk::nvlist::{NvList, NvValue};
use refusal::{Action, ImportFault, PropertyFault, Reason, Refused};

/// Bytes of a file that are believed.
const SIZE_MAX: u64 = 64 << 20;

/// In which file a pool stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum CacheFile {
    /// The daemon's own.
    #[default]
    Default,
    None,
    At(String),
}

impl CacheFile {
    /// A value of the property; `Err` says why it is none.
    fn parse(value: &str) -> std::result::Result<CacheFile, PropertyFault> {
        if value.is_empty() || value == "none" {
            return Ok(if value.is_empty() { CacheFile::Default } else { CacheFile::None });
        }
        if !value.starts_with('/') {
            return Err(PropertyFault::RelativeCachefile);
        }
        let (folder, file) = value.rsplit_once('/').unwrap_or_default();
        if matches!(file, "" | "." | "..") {
            return Err(PropertyFault::CachefileName { value: value.to_owned() });
        }
        if !folder.is_empty() && !files::is_folder(Path::new(folder)) {
            return Err(PropertyFault::CachefileFolder { folder: folder.to_owned() });
        }
        Ok(CacheFile::At(value.to_owned()))
    }

    /// What a new or imported pool has: one that is here for a while, below another root or under
    /// another name, stands in no file, unless told otherwise.
    pub fn of_new(props: &[PropertyChange], is_guest: bool) -> std::result::Result<CacheFile, PropertyFault> {
        match props.iter().rev().find(|prop| is_cachefile(prop)) {
            Some(prop) => CacheFile::parse(&prop.value),
            None if is_guest => Ok(CacheFile::None),
            None => Ok(CacheFile::Default),
        }
    }

    /// As the property shows it: nothing where it is the daemon's own.
    pub fn shown(&self, default: Option<&str>) -> Option<String> {
        match self {
            CacheFile::Default => None,
            CacheFile::None => Some("none".to_owned()),
            CacheFile::At(path) => Some(path.clone()).filter(|path| Some(path.as_str()) != default),
        }
    }
}

fn is_cachefile(prop: &PropertyChange) -> bool {
    prop.name == "cachefile"
}

/// What a change of properties makes of a pool's cache file, and the change without that; `None`
/// where nothing else is left.
pub(super) fn split(pool: &str, change: &Change) -> Result<(Option<CacheFile>, Option<Change>)> {
    let Change::SetPoolProperties { props } = change else { return Ok((None, Some(change.clone()))) };
    let Some(last) = props.iter().rev().find(|prop| is_cachefile(prop)) else {
        return Ok((None, Some(change.clone())));
    };
    let refuse = |fault| Refused::new(Action::SetProperty { name: pool.to_owned() }, fault);
    let file = CacheFile::parse(&last.value).map_err(refuse)?;
    let rest = without(props);
    Ok((Some(file), (!rest.is_empty()).then_some(Change::SetPoolProperties { props: rest })))
}

/// Properties that are kept in the pool.
pub(super) fn without(props: &[PropertyChange]) -> Vec<PropertyChange> {
    props.iter().filter(|prop| !is_cachefile(prop)).cloned().collect()
}

/// The files that were written.
#[derive(Default)]
pub(super) struct CacheFiles {
    written: Mutex<BTreeMap<String, Vec<u8>>>,
}

impl CacheFiles {
    /// Writes down what is imported: pools, and in which file each stands. Files that say the same
    /// already are left alone.
    pub fn write(&self, pools: impl FnOnce() -> Vec<(CacheFile, Arc<Pool>)>, default: Option<&str>) {
        let mut written = lock(&self.written);
        let mut lists: BTreeMap<String, NvList> = BTreeMap::new();
        for (file, pool) in pools() {
            let path = match file {
                CacheFile::Default => default.map(str::to_owned),
                CacheFile::None => None,
                CacheFile::At(path) => Some(path),
            };
            if let Some(path) = path
                && let Some(config) = listed(&pool)
            {
                let config = NvValue::from(config.to_mos_nvlist());
                lists.entry(path).or_default().set(pool.name(), config);
            }
        }
        // The daemon's own may have been left by an earlier one.
        let known: BTreeSet<String> = written.keys().cloned().chain(default.map(str::to_owned)).collect();
        for path in known.into_iter().filter(|path| !lists.contains_key(path)) {
            match files::remove(Path::new(&path)) {
                Ok(()) => drop(written.remove(&path)),
                Err(error) => tracing::warn!(path, %error, "a cache file that lists no pool stays"),
            }
        }
        for (path, list) in lists {
            let bytes = list.encode_xdr();
            if written.get(&path) == Some(&bytes) && files::is_file(Path::new(&path)) {
                continue;
            }
            match files::replace(Path::new(&path), &bytes) {
                Ok(()) => drop(written.insert(path, bytes)),
                Err(error) => tracing::warn!(path, %error, "a cache file cannot be written"),
            }
        }
    }
}

/// What is written of a pool. Those that are only read stand in no file, nor does one whose locks a
/// panic has poisoned.
fn listed(pool: &Pool) -> Option<PoolConfig> {
    let config = || (!pool.core().readonly).then(|| pool.config());
    catch_unwind(AssertUnwindSafe(config)).ok().flatten()
}

/// A pool that a cache file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cached {
    pub guid: u64,
    /// Of its devices, or the folders that they are in.
    pub places: Vec<String>,
}

/// The pools that a cache file names.
pub(super) fn read(search: &CacheFileSearch) -> Result<Vec<Cached>> {
    let bytes = files::read(Path::new(&search.path), SIZE_MAX).map_err(|error| {
        Refused::new(Action::OpenCachefile, Reason::Os { message: stdx::os_error::words(&error) })
    })?;
    let corrupt = || Refused::because(ImportFault::CorruptCachefile);
    let list = NvList::decode(&bytes).map_err(|_| corrupt())?;
    let mut all = Vec::new();
    for (name, _) in list.iter() {
        let config = list.nvlist(name).ok_or_else(corrupt)?;
        let config = PoolConfig::from_nvlist(config).map_err(|_| corrupt())?;
        let mut places = BTreeSet::new();
        config.tree.visit(&mut |vdev| {
            let Some(path) = vdev.path.as_deref() else { return };
            let folder = path.rsplit_once('/').map_or("/", |(folder, _)| folder);
            places.insert(if search.scan { folder.to_owned() } else { path.to_owned() });
        });
        all.push(Cached { guid: config.guid, places: places.into_iter().collect() });
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
