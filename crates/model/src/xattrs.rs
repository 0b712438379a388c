//! Extended attributes.

use crate::state::{State, refused, who};
use engine_api::{Cred, Error, NAME_MAX, NodeId, Result, XattrMode};
use stdx::posix;
use stdx::posix::acl::{ACCESS, DEFAULT};

/// Largest value in bytes, as Linux limits it.
const VALUE_MAX: usize = 64 << 10;

impl State {
    pub fn getxattr(&self, cred: &Cred, id: NodeId, name: &[u8]) -> Result<Vec<u8>> {
        check_name(name)?;
        let node = self.get(id)?;
        posix::check_xattr_read(&who(cred), &node.rules(), name).map_err(refused)?;
        node.xattrs.get(name).cloned().ok_or(Error::NotFound)
    }

    pub fn setxattr(
        &mut self,
        cred: &Cred,
        id: NodeId,
        name: &[u8],
        value: &[u8],
        mode: XattrMode,
    ) -> Result<()> {
        if name.len() > NAME_MAX {
            return Err(Error::NameTooLong);
        }
        if value.len() > VALUE_MAX {
            return Err(Error::FileTooLarge);
        }
        check_name(name)?;
        let node = self.get(id)?;
        posix::check_xattr_write(&who(cred), &node.rules(), name).map_err(refused)?;
        match (mode, node.xattrs.contains_key(name)) {
            (XattrMode::Create, true) => return Err(Error::Exists),
            (XattrMode::Replace, false) => return Err(Error::NotFound),
            _ => {}
        }
        let now = self.now();
        let node = self.get_mut(id)?;
        node.xattrs.insert(name.to_vec(), value.to_vec());
        node.touch_ctime(now);
        Ok(())
    }

    pub fn listxattr(&self, cred: &Cred, id: NodeId) -> Result<Vec<Vec<u8>>> {
        let names = self.get(id)?.xattrs.keys();
        Ok(names.filter(|name| posix::xattr_is_listed(&who(cred), name)).cloned().collect())
    }

    pub fn removexattr(&mut self, cred: &Cred, id: NodeId, name: &[u8]) -> Result<()> {
        check_name(name)?;
        let node = self.get(id)?;
        posix::check_xattr_write(&who(cred), &node.rules(), name).map_err(refused)?;
        let now = self.now();
        let node = self.get_mut(id)?;
        node.xattrs.remove(name).ok_or(Error::NotFound)?;
        node.touch_ctime(now);
        Ok(())
    }
}

/// There are no ACLs here, as under `acltype=off`.
fn check_name(name: &[u8]) -> Result<()> {
    if name == ACCESS || name == DEFAULT { Err(Error::Unsupported("POSIX ACLs".into())) } else { Ok(()) }
}
