//! The path of an object, from its parents: for those who know only numbers. Source:
//! module/zfs/zfs_sa.c and zfs_znode.c (`zfs_obj_to_path`).

use std::collections::HashMap;
use std::sync::Arc;

use dmu::sa::{Sa, SaView};
use dmu::{DmuError, Objset, Zap};
use engine_api::{Error, Result};
use ondisk::object_type::ObjectType;
use ondisk::znode::attr::{self, ZplAttr};
use ondisk::znode::{self, Dirent, master};

use super::error::api_error;

/// Deeper than any path that can be used.
const DEPTH_MAX: usize = 4096;
/// Of a directory entry, the bits that are the object's number.
const OBJECT_BITS: u64 = (1 << 48) - 1;
/// Names that are kept for those who ask for many paths.
const NAMES_MAX: usize = 1 << 20;

/// From the root on, with a slash before each name; `/` for the root. `NotFound` for what is no
/// file or has no name.
pub fn path_of(objset: &Arc<Objset>, object: u64) -> Result<String> {
    let path = Paths::open(objset)?.path(object)?;
    Ok(String::from_utf8_lossy(&path).into_owned())
}

/// Whoever looks for paths in one file system.
pub struct Paths {
    objset: Arc<Objset>,
    sa: Arc<Sa>,
    root: u64,
    unlinked: Option<Zap>,
    shares: Option<u64>,
    /// Of directories that were asked for: the names by object, from the second time on.
    known: HashMap<u64, Option<HashMap<u64, Vec<u8>>>>,
    names: usize,
}

impl Paths {
    pub fn open(objset: &Arc<Objset>) -> Result<Paths> {
        let names = Zap::open(objset, znode::MASTER_NODE).map_err(api_error)?;
        let word = |name: &str| names.find_u64(name).map_err(api_error);
        let unlinked = word(master::UNLINKED_SET)?.map(|set| Zap::open(objset, set)).transpose();
        Ok(Paths {
            objset: objset.clone(),
            sa: Sa::open(objset, word(master::SA_ATTRS)?.unwrap_or(0)).map_err(api_error)?,
            root: word(master::ROOT)?.ok_or(Error::NotFound)?,
            unlinked: unlinked.map_err(api_error)?,
            shares: word(master::SHARES_DIR)?,
            known: HashMap::new(),
            names: 0,
        })
    }

    /// The directory that no path leads to.
    pub fn shares(&self) -> Option<u64> {
        self.shares
    }

    pub fn sa(&self) -> &Sa {
        &self.sa
    }

    pub fn objset(&self) -> &Arc<Objset> {
        &self.objset
    }

    /// All attributes of a node; `NotFound` for what is none.
    pub fn attributes(&self, object: u64) -> Result<(SaView, bool)> {
        let dnode = self.objset.hold(object).map_err(api_error)?;
        let is_dir = match dnode.object_type() {
            ObjectType::PLAIN_FILE_CONTENTS => false,
            ObjectType::DIRECTORY_CONTENTS => true,
            _ => return Err(Error::NotFound),
        };
        Ok((self.sa.read_all(&dnode).map_err(api_error)?, is_dir))
    }

    /// It has lost its last name, and waits to be freed.
    pub fn is_deleted(&self, object: u64) -> Result<bool> {
        self.unlinked.as_ref().map_or(Ok(false), |set| set.contains_int(object)).map_err(api_error)
    }

    /// As [`path_of`], in bytes.
    pub fn path(&mut self, object: u64) -> Result<Vec<u8>> {
        let (mut parts, mut at) = (Vec::new(), object);
        while at != self.root {
            let (view, is_dir) = self.attributes(at)?;
            let attribute = |which: &ZplAttr| self.sa.word(&view, which).ok_or(Error::NotFound);
            let parent = attribute(&attr::PARENT)?;
            if attribute(&attr::LINKS)? == 0 || parent == at || parts.len() >= DEPTH_MAX {
                return Err(Error::NotFound);
            }
            let part = match is_dir && attribute(&attr::FLAGS)? & znode::flags::XATTR != 0 {
                // A directory of attributes has no name; those in it have.
                true => b"<xattrdir>".to_vec(),
                false => self.name_in(parent, at).map_err(api_error)?,
            };
            parts.push(part);
            at = parent;
        }
        if parts.is_empty() {
            return Ok(b"/".to_vec());
        }
        Ok(parts.iter().rev().flat_map(|part| [b"/", &part[..]].concat()).collect())
    }

    fn name_in(&mut self, dir: u64, object: u64) -> std::result::Result<Vec<u8>, DmuError> {
        let search = |objset: &Arc<Objset>| Zap::open(objset, dir)?.name_of(object, OBJECT_BITS);
        match self.known.get(&dir) {
            Some(Some(names)) => return names.get(&object).cloned().ok_or(DmuError::NotFound),
            None => {
                self.known.insert(dir, None);
                return search(&self.objset);
            }
            Some(None) => {}
        }
        let zap = Zap::open(&self.objset, dir)?;
        let mut names = HashMap::new();
        for entry in zap.iter() {
            let entry = entry?;
            // Of several names the one that is met first, as a search has it.
            names.entry(Dirent::decode(entry.value.first()).object).or_insert(entry.name);
        }
        if self.names + names.len() > NAMES_MAX {
            self.known.clear();
            self.names = 0;
        }
        self.names += names.len();
        let found = names.get(&object).cloned().ok_or(DmuError::NotFound);
        self.known.insert(dir, Some(names));
        found
    }
}
