//! The path of an object, from its parents: for those who know only numbers. Source: module/zfs/zfs_sa.c and
//! zfs_znode.c (`zfs_obj_to_path`).

use std::sync::Arc;

use dmu::sa::Sa;
use dmu::{Objset, Zap};
use engine_api::{Error, Result};
use ondisk::object_type::ObjectType;
use ondisk::znode::attr::{self, ZplAttr};
use ondisk::znode::{self, master};

use super::error::api_error;

/// Deeper than any path that can be used.
const DEPTH_MAX: usize = 4096;
/// Of a directory entry, the bits that are the object's number.
const OBJECT_BITS: u64 = (1 << 48) - 1;

/// From the root on, with a slash before each name; `/` for the root. `NotFound` for what is no file or has no name.
pub fn path_of(objset: &Arc<Objset>, object: u64) -> Result<String> {
    let names = Zap::open(objset, znode::MASTER_NODE).map_err(api_error)?;
    let word = |name: &str| names.find_u64(name).map_err(api_error);
    let root = word(master::ROOT)?.ok_or(Error::NotFound)?;
    let sa = Sa::open(objset, word(master::SA_ATTRS)?.unwrap_or(0)).map_err(api_error)?;
    let (mut parts, mut at) = (Vec::new(), object);
    while at != root {
        let dnode = objset.hold(at).map_err(api_error)?;
        if !matches!(dnode.object_type(), ObjectType::PLAIN_FILE_CONTENTS | ObjectType::DIRECTORY_CONTENTS) {
            return Err(Error::NotFound);
        }
        let view = sa.read(&dnode).map_err(api_error)?;
        let attribute = |which: &ZplAttr| sa.word(&view, which).ok_or(Error::NotFound);
        let parent = attribute(&attr::PARENT)?;
        if attribute(&attr::LINKS)? == 0 || parent == at || parts.len() >= DEPTH_MAX {
            return Err(Error::NotFound);
        }
        let is_dir = dnode.object_type() == ObjectType::DIRECTORY_CONTENTS;
        let part = match is_dir && attribute(&attr::FLAGS)? & znode::flags::XATTR != 0 {
            // A directory of attributes has no name; those in it have.
            true => "<xattrdir>".to_owned(),
            false => {
                let entries = Zap::open(objset, parent).map_err(api_error)?;
                let name = entries.name_of(at, OBJECT_BITS).map_err(api_error)?;
                String::from_utf8_lossy(&name).into_owned()
            }
        };
        parts.push(part);
        at = parent;
    }
    parts.reverse();
    Ok(format!("/{}", parts.join("/")))
}
