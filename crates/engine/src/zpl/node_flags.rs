//! Flags that chattr(1) sets: what may be done to a node whoever asks. Those who change nodes ask
//! [`super::perm`].
//!
//! Source: `__zpl_ioctl_setflags` in module/os/linux/zfs/zpl_file.c, `zfs_setattr` in
//! zfs_vnops_os.c.

use dmu::Holds;
use engine_api::{Cred, Error, NodeFlags, NodeId, Result};
use ondisk::znode::{attr, flags};

use super::Zpl;
use super::attrs::{Attrs, Change};
use super::log::Settled;
use super::node::lock_all;
use super::perm::who;

/// Blocks that a node's new attributes may dirty.
const META_BLOCKS: u64 = 4;

fn shown(attrs: &Attrs) -> NodeFlags {
    let has = |flag: u64| attrs.flags & flag != 0;
    NodeFlags {
        immutable: has(flags::IMMUTABLE),
        append_only: has(flags::APPENDONLY),
        no_dump: has(flags::NODUMP),
    }
}

impl Zpl {
    pub(super) fn node_flags(&self, id: NodeId) -> Result<NodeFlags> {
        Ok(shown(&self.attrs(&*self.node(id)?)?))
    }

    pub(super) fn set_node_flags(&self, cred: &Cred, id: NodeId, to: NodeFlags) -> Result<()> {
        let node = self.node(id)?;
        let _ops = lock_all(&[&node]);
        node.check_alive()?;
        let attrs = self.attrs(&node)?;
        let (is, privileged) = (shown(&attrs), who(cred).is_privileged());
        if !privileged && u64::from(cred.uid) != attrs.uid {
            return Err(Error::Denied);
        }
        if !privileged && (is.immutable, is.append_only) != (to.immutable, to.append_only) {
            return Err(Error::NotPermitted);
        }
        if is == to {
            return Ok(());
        }
        let tx = self.begin(Holds::new(0, META_BLOCKS))?;
        let bit = |set: bool, flag: u64| if set { flag } else { 0 };
        let change = |old: &Attrs, _| {
            let kept = old.flags & !(flags::IMMUTABLE | flags::APPENDONLY | flags::NODUMP);
            let new = bit(to.immutable, flags::IMMUTABLE)
                | bit(to.append_only, flags::APPENDONLY)
                | bit(to.no_dump, flags::NODUMP);
            Change::default().word(&attr::FLAGS, kept | new)
        };
        let set = Settled { node_flags: Some(to), ..Settled::default() };
        self.update_and(&node, &tx, change, |_, _| self.log_setattr(node.object(), set, &tx)).map(drop)
    }
}
