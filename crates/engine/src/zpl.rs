//! POSIX over an object set: the ZPL, versions 1 to 5, as OpenZFS on Linux writes it.
//!
//! Versions before 5 have znodes instead of system attributes ([`attrs`]), before 3 an older form
//! of ACL, in version 1 entries of directories have no types. An old file system is written as what
//! it is until somebody upgrades it ([`version`]).
//!
//! A node is an object. Its attributes are system attributes in the bonus ([`attrs`]); a
//! directory's entries are a ZAP ([`dir`]); a file's bytes are the object's blocks ([`file`]).
//! Nothing of a node is kept in memory but locks, the count of openers, and an access time not yet
//! written: what the `dmu` holds is the one truth.
//!
//! Locks, in the order in which they are taken:
//! 1. `renaming`: one at a time for renames across directories, so that no two of them build a loop
//!    together.
//! 2. A node's `ops` lock, for every change of names and attributes; several nodes in order of
//!    their numbers.
//! 3. A node's range lock, for readers and writers of its bytes.
//! 4. The transaction. Nobody waits for a lock above while in one, so a transaction group can
//!    always close.
//! 5. A node's `attrs` lock: read, compute, write of its attributes, for a moment.
//!
//! Readers of names and attributes take none of them: what a name led to is looked up once more
//! where the number may have come to mean another node ([`dir`]). Only extended attributes that are
//! files are read under their node's `ops` lock. Waiting for a transaction group to be synced
//! ([`Host`]) happens with no lock held.

mod acl;
mod acl_limits;
mod attrs;
mod create;
mod diff;
mod dir;
mod error;
mod file;
mod format;
mod fs;
mod link;
mod log;
mod names;
mod node;
mod node_flags;
pub(crate) mod path;
mod perm;
mod posix_acl;
mod project;
mod quota;
mod rename;
mod replay;
mod setattr;
mod size;
mod unlinked;
mod version;
mod watchers;
mod xattr;
mod xattr_dir;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use dmu::sa::Sa;
use dmu::{DmuError, Holds, Objset, Tx, Zap};
use engine_api::{Error, FsId, NodeId, Result, Time, Verifier};
use env::Env;
use ondisk::znode::{self, master};

use names::Names;
use node::{Node, Nodes};
use quota::Quotas;

pub use diff::Differ;
pub use error::api_error;
pub use format::{AtCreation, ZplOwners, create_fs};
pub use log::IntentLog;
pub use quota::{everybody, spending};
pub use watchers::Watchers;

/// Where new extended attributes go (property `xattr`). Both forms are always read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XattrStore {
    Off,
    /// Files in a hidden directory: `on` and `dir`.
    Directory,
    /// In the node's system attributes as far as they fit.
    System,
}

/// The properties that change while a file system is in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub readonly: bool,
    pub atime: bool,
    pub relatime: bool,
    pub xattr: XattrStore,
    /// `acltype=posix`. Under any other value there are no POSIX ACLs.
    pub posix_acls: bool,
    /// Largest block of new files, in bytes.
    pub recordsize: u32,
}

impl Default for Settings {
    /// OpenZFS 2.1's defaults.
    fn default() -> Settings {
        Settings {
            readonly: false,
            atime: true,
            relatime: false,
            xattr: XattrStore::Directory,
            posix_acls: false,
            recordsize: 128 << 10,
        }
    }
}

/// Numbers for statfs, as `dmu_objset_space` has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FsSpace {
    /// Bytes the dataset refers to.
    pub referenced: u64,
    /// Bytes it may still get: quotas, reservations and slop counted.
    pub available: u64,
}

/// What the file system asks of the pool around it.
pub trait Host: Send + Sync {
    /// Until the transaction group is on stable storage. Nothing may be locked.
    fn wait_synced(&self, txg: u64) -> std::result::Result<(), DmuError>;
    fn space(&self) -> FsSpace;
    /// Whether the pool is suspended, so that anything may take until an operator comes.
    fn is_suspended(&self) -> bool {
        false
    }
    /// Counts by user, group and project what was not, in the background.
    fn count(&self) {}
    /// Where there is one: what is durable is then in it before its transaction group is synced.
    fn log(&self) -> Option<&dyn IntentLog> {
        None
    }
}

/// One file system. See the module; the operations are `engine_api::FileSystem`'s.
pub struct Zpl {
    id: FsId,
    env: Env,
    host: Arc<dyn Host>,
    objset: Arc<Objset>,
    sa: Arc<Sa>,
    settings: RwLock<Arc<Settings>>,
    names: Names,
    /// Of the file system: grows only.
    version: AtomicU64,
    /// A snapshot, or a pool imported read-only: for ever read-only.
    frozen: bool,
    root: NodeId,
    unlinked_set: u64,
    quotas: Quotas,
    nodes: Nodes,
    renaming: Mutex<()>,
    /// The newest transaction group in which anything changed, or may have changed.
    changed: AtomicU64,
    verifier: Verifier,
    /// Unlinked nodes may be left over from before the last start.
    drain_pending: AtomicBool,
    /// What the intent log says is being done again.
    replaying: AtomicBool,
    watchers: OnceLock<Arc<Watchers>>,
}

impl Zpl {
    /// Opens the file system in `objset`. `frozen` says that it can never be written. Call
    /// [`Zpl::drain_unlinked`] afterwards: until then the space of files that were open but
    /// unlinked at a crash stays taken.
    pub fn open(
        objset: Arc<Objset>,
        id: FsId,
        env: Env,
        host: Arc<dyn Host>,
        settings: Settings,
        frozen: bool,
    ) -> Result<Arc<Zpl>> {
        let zap = Zap::open(&objset, znode::MASTER_NODE).map_err(api_error)?;
        let word = |name: &str| zap.find_u64(name).map_err(api_error);
        let version = word(master::VERSION)?.ok_or_else(|| broken("VERSION"))?;
        if version > znode::VERSION {
            return Err(Error::Unsupported(format!("file system version {version}")));
        }
        let sa_master = word(master::SA_ATTRS)?.unwrap_or(0);
        let sa = Sa::open(&objset, sa_master).map_err(api_error)?;
        let names = Names::new(
            word(master::NORMALIZATION)?.unwrap_or(0),
            word(master::CASESENSITIVITY)?.unwrap_or(znode::CASE_SENSITIVE),
            word(master::UTF8ONLY)?.unwrap_or(0) != 0,
        );
        let root = word(master::ROOT)?.ok_or_else(|| broken("ROOT"))?;
        let unlinked_set = word(master::UNLINKED_SET)?.ok_or_else(|| broken("DELETE_QUEUE"))?;
        let verifier = Verifier(env.entropy.u64());
        // All that is there was made no later, and is stable.
        let changed = AtomicU64::new(objset.root().birth());
        let mut fs = Zpl {
            id,
            env,
            host,
            objset,
            sa,
            settings: RwLock::new(Arc::new(settings)),
            names,
            version: AtomicU64::new(version),
            frozen,
            root: NodeId { object: root, generation: 0 },
            unlinked_set,
            quotas: Quotas::load(&zap).map_err(api_error)?,
            nodes: Nodes::default(),
            renaming: Mutex::new(()),
            changed,
            verifier,
            drain_pending: AtomicBool::new(!frozen),
            replaying: AtomicBool::new(false),
            watchers: OnceLock::new(),
        };
        fs.root.generation = fs.node_by_number(root)?.generation();
        Ok(Arc::new(fs))
    }

    /// Properties were set.
    pub fn set_settings(&self, settings: Settings) {
        let mut current = self.settings.write().unwrap_or_else(PoisonError::into_inner);
        let is_other = **current != settings;
        *current = Arc::new(settings);
        drop(current);
        if let (true, Some(watchers)) = (is_other, self.watchers.get()) {
            watchers.all_changed();
        }
    }

    /// These are told of what is changed from now on, and of what is written.
    pub fn watched_by(&self, watchers: Arc<Watchers>) {
        let these = watchers.clone();
        self.objset.watch(move |objects| these.written(objects));
        let _ = self.watchers.set(watchers);
    }

    pub fn objset(&self) -> &Arc<Objset> {
        &self.objset
    }

    fn settings(&self) -> Arc<Settings> {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn is_readonly(&self) -> bool {
        self.frozen || self.settings().readonly && !self.replaying.load(Ordering::SeqCst)
    }

    fn check_writable(&self) -> Result<()> {
        if self.is_readonly() { Err(Error::ReadOnly) } else { Ok(()) }
    }

    /// Enters the open transaction group. The caller holds locks 1 to 3 at the most.
    fn begin(&self, holds: Holds) -> Result<Tx> {
        self.check_writable()?;
        let tx = self.objset.begin(holds).map_err(api_error)?;
        self.changed.fetch_max(tx.txg(), Ordering::SeqCst);
        Ok(tx)
    }

    fn now(&self) -> Time {
        let wall = self.env.clock.wall();
        Time { secs: wall.secs, nanos: wall.nanos }
    }

    /// The newest transaction group in which anything changed.
    fn newest_change(&self) -> u64 {
        self.changed.load(Ordering::SeqCst)
    }

    /// Everything up to the transaction group is stable, or it is an error.
    fn wait_synced(&self, txg: u64) -> Result<()> {
        if txg == 0 { Ok(()) } else { self.host.wait_synced(txg).map_err(api_error) }
    }

    /// The node that a handle names.
    fn node(&self, id: NodeId) -> Result<Arc<Node>> {
        let node = self.node_by_number(id.object).map_err(|error| match error {
            Error::NotFound => Error::Stale,
            error => error,
        })?;
        if node.generation() == id.generation { Ok(node) } else { Err(Error::Stale) }
    }

    /// The node that a directory entry or a parent names; `Stale` where its last name is gone and
    /// nobody has it open.
    fn node_by_number(&self, object: u64) -> Result<Arc<Node>> {
        self.nodes.get(object, &self.changed, || Node::load(self, object))
    }
}

/// The file system lacks a part no file system is without.
fn broken(_part: &str) -> Error {
    Error::Corrupt { object: znode::MASTER_NODE, block: 0 }
}
