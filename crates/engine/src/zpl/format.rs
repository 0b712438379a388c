//! A new file system: the master node and what it names, as OpenZFS makes them.
//!
//! Source: `zfs_create_fs` in module/os/linux/zfs/zfs_znode_os.c.

use std::sync::Arc;

use dmu::sa::Sa;
use dmu::zap::ZapParams;
use dmu::{DmuError, ObjectSpec, Objset, Tx, Zap};
use engine_api::Time;
use env::Env;
use ondisk::object_type::ObjectType;
use ondisk::znode::{self, CASE_SENSITIVE, kind, master};

use super::create::{Body, NewAttrs, NewNodes, new_object};
use super::names::Names;

const ROOT_MODE: u32 = 0o755;
const SHARES_MODE: u32 = 0o555;

/// Properties fixed at creation, as they are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtCreation {
    pub version: u64,
    pub normalization: u64,
    pub utf8only: bool,
    pub casesensitivity: u64,
}

impl Default for AtCreation {
    fn default() -> AtCreation {
        AtCreation {
            version: znode::VERSION,
            normalization: 0,
            utf8only: false,
            casesensitivity: CASE_SENSITIVE,
        }
    }
}

/// Fills an empty object set with a file system whose root directory belongs to `user` and `group`:
/// whoever has it made.
pub fn create_fs(
    objset: &Arc<Objset>,
    env: &Env,
    props: AtCreation,
    (user, group): (u32, u32),
    tx: &Tx,
) -> Result<(), DmuError> {
    let salted = || ZapParams::salted(env.entropy.u64());
    let spec = ObjectSpec::new;
    let master = Zap::claim(objset, znode::MASTER_NODE, spec(ObjectType::MASTER_NODE), salted(), tx)?;
    master.update(master::NORMALIZATION, props.normalization, tx)?;
    master.update(master::UTF8ONLY, u64::from(props.utf8only), tx)?;
    master.update(master::CASESENSITIVITY, props.casesensitivity, tx)?;
    master.update(master::VERSION, props.version, tx)?;
    let sa = if props.version >= znode::VERSION_SA {
        let (sa_master, sa) = Sa::create(objset, tx)?;
        master.add(master::SA_ATTRS, sa_master, tx)?;
        sa
    } else {
        Sa::open(objset, 0)?
    };
    let unlinked = Zap::create(objset, spec(ObjectType::UNLINKED_SET), salted(), tx)?;
    master.add(master::UNLINKED_SET, unlinked.object(), tx)?;
    let wall = env.clock.wall();
    let now = Time { secs: wall.secs, nanos: wall.nanos };
    let nodes = NewNodes {
        objset,
        sa: &sa,
        version: props.version,
        normflags: Names::new(props.normalization, props.casesensitivity, props.utf8only).normflags,
        salt: env.entropy.u64(),
        project: None,
    };
    let dirs = [(master::ROOT, ROOT_MODE, user, group), (master::SHARES_DIR, SHARES_MODE, 0, 0)];
    for (name, mode, uid, gid) in dirs {
        let new = NewAttrs { uid, gid, mode, atime: now, mtime: now, now, flags: 0, born: None };
        let dir = new_object(&nodes, &Body::plain(kind::DIR), &new, 0, 0, tx)?;
        master.add(name, dir.object(), tx)?;
    }
    Ok(())
}

/// Whose a node is, from its bonus.
pub struct ZplOwners;

impl dmu::accounting::OwnerOf for ZplOwners {
    fn owner_of(
        &self,
        _object: ObjectType,
        bonus_type: ObjectType,
        bonus: &[u8],
    ) -> Option<dmu::accounting::Owner> {
        let owner = match bonus_type {
            ObjectType::SA => znode::owner_of_sa(bonus).ok()?,
            ObjectType::ZNODE => znode::owner_of_znode(bonus).ok()?,
            _ => return None,
        };
        Some(dmu::accounting::Owner { user: owner.uid, group: owner.gid, project: owner.project })
    }
}
