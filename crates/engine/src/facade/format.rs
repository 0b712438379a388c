//! What `pool` has to know of file systems to make one: told by `zpl`.

use std::sync::Arc;

use ::pool::dsl::FsFormat;
use ::pool::prop::FsProps;
use dmu::{DmuError, Objset, Tx, Zap};
use env::Env;
use ondisk::objset::ObjsetType;
use ondisk::prop::UserspaceProp;
use ondisk::znode::{self, master};
use stdx::behalf;

use crate::zpl::{AtCreation, ZplOwners, create_fs, spending};

pub(super) struct ZplFormat {
    env: Env,
}

impl ZplFormat {
    pub fn new(env: Env) -> ZplFormat {
        ZplFormat { env }
    }
}

impl FsFormat for ZplFormat {
    fn create(&self, objset: &Arc<Objset>, props: &FsProps, tx: &Tx) -> Result<(), DmuError> {
        let at_creation = AtCreation {
            version: props.number("version"),
            normalization: props.number("normalization"),
            utf8only: props.is_on("utf8only"),
            casesensitivity: props.number("casesensitivity"),
        };
        let caller = behalf::actor();
        // Who has no group is no user of this machine: an account's number would be nobody's.
        let owner = caller.groups.first().map_or((0, 0), |group| (caller.user, *group));
        create_fs(objset, &self.env, at_creation, owner, tx)
    }

    fn props(&self, objset: &Arc<Objset>) -> Result<Vec<(&'static str, u64)>, DmuError> {
        let zap = Zap::open(objset, znode::MASTER_NODE)?;
        let word = |name: &str, default: u64| Ok(zap.find_u64(name)?.unwrap_or(default));
        Ok(vec![
            ("version", word(master::VERSION, znode::VERSION)?),
            ("utf8only", word(master::UTF8ONLY, 0)?),
            ("normalization", word(master::NORMALIZATION, 0)?),
            ("casesensitivity", word(master::CASESENSITIVITY, znode::CASE_SENSITIVE)?),
        ])
    }

    fn deleted(&self, objset: &Arc<Objset>) -> Result<Vec<u64>, DmuError> {
        if objset.kind() != ObjsetType::Zfs {
            return Ok(Vec::new());
        }
        let Some(set) = Zap::open(objset, znode::MASTER_NODE)?.find_u64(master::UNLINKED_SET)? else {
            return Ok(Vec::new());
        };
        Zap::open(objset, set)?.iter().map(|entry| Ok(entry?.value.first())).collect()
    }

    fn spending(&self, objset: &Arc<Objset>, prop: UserspaceProp, id: u64) -> Result<u64, DmuError> {
        spending(objset, prop, id)
    }

    fn owner_of(&self) -> Arc<dyn dmu::accounting::OwnerOf> {
        Arc::new(ZplOwners)
    }
}
