//! Making the tree of a new pool, finding that of an old one, and opening datasets.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, RwLock};

use dmu::bpobj::Bpobj;
use dmu::{DmuError, ObjectSpec, Objset, ReadOnlyAdmission, Tx};
use env::lock;
use ondisk::bpobj::BpobjForm;
use ondisk::dsl_dataset::{DslDatasetPhys, FLAG_CI_DATASET, FLAG_INCONSISTENT, FLAG_UNIQUE_ACCURATE};
use ondisk::dsl_dir::{DslDirPhys, FLAG_USED_BREAKDOWN, FREE_DIR, MOS_DIR, ORIGIN_DIR};
use ondisk::object_type::{ObjectType, pool_directory};
use ondisk::objset::ObjsetType;
use ondisk::version;
use ondisk::zil::ZilHeader;
use refusal::Action;

use super::bookmark;
use super::counts::Counted;
use super::dataset::{Around, Core, Dataset, State, recorded_features};
use super::deadlist::Deadlist;
use super::dir::{Dir, Used};
use super::names::Found;
use super::parts::DslParts;
use super::task::Queue;
use super::{Dsl, Special};
use crate::mos::Mos;
use crate::namecheck::is_hidden;
use crate::prop::{FsProps, RawProps, RawValue};
use crate::sums::Sums;
use crate::{PoolError, Result};

/// A number of file systems has 56 bits: clients append a byte of their own.
const FSID_MASK: u64 = (1 << 56) - 1;
/// The first transaction group of a pool; `$ORIGIN` has to look older than everything in it.
const ORIGIN_TXG: u64 = 1;

/// Why an encrypted dataset is not written.
pub(crate) const ENCRYPTED: &str = "dataset is encrypted";

/// The number of `casesensitivity=insensitive`.
const CASE_INSENSITIVE: u64 = 1;

impl Dsl {
    fn bare(parts: DslParts) -> Arc<Dsl> {
        let mos = Mos::new(parts.mos.clone(), &parts.env);
        let opened_at = (parts.env.clock.wall().secs, parts.env.clock.now());
        Arc::new_cyclic(|this| Dsl {
            mos,
            parts,
            this: this.clone(),
            special: Mutex::new(Special::default()),
            dirs: Mutex::new(HashMap::new()),
            datasets: Mutex::new(HashMap::new()),
            receiving: Mutex::default(),
            opening: Mutex::new(()),
            config: RwLock::new(()),
            altroot: Mutex::new(None),
            hostname: Mutex::new(String::new()),
            space: Mutex::new(None),
            generation: AtomicU64::new(0),
            opened_at,
            changes: Queue::default(),
        })
    }

    /// Directories of a new pool, and what the pool's directory says of them. The root has no
    /// dataset yet: see [`Dsl::create_root`].
    pub fn create(parts: DslParts, tx: &Tx) -> Result<Arc<Dsl>> {
        let dsl = Dsl::bare(parts);
        let root = dsl.create_dir(None, "", tx)?;
        dsl.special(|special| special.root = Some(root.clone()));
        let mos_dir = dsl.create_dir(Some(&root), MOS_DIR, tx)?;
        dsl.special(|special| special.mos_dir = Some(mos_dir));
        if dsl.version() >= version::DEADLISTS {
            dsl.create_free_dir(tx)?;
        }
        if dsl.version() >= version::ORIGIN {
            dsl.create_origin(&root, tx)?;
        }
        Ok(dsl)
    }

    /// Where what was destroyed is counted and listed until it is freed.
    pub(super) fn create_free_dir(&self, tx: &Tx) -> Result<()> {
        let free_dir = self.create_dir(Some(&self.root()?), FREE_DIR, tx)?;
        let free_bpobj = Bpobj::alloc(&self.mos.objset, BpobjForm::V2, tx)?;
        self.mos.set_root(pool_directory::FREE_BPOBJ, free_bpobj, tx)?;
        self.special(|special| {
            special.free_dir = Some(free_dir);
            special.free_bpobj = Some(free_bpobj);
        });
        Ok(())
    }

    /// The root dataset, once the pool's features are there. `props` are the raw local properties.
    pub fn create_root(&self, props: &RawProps, tx: &Tx) -> Result<Arc<Dataset>> {
        let root = self.root()?;
        self.create_filesystem_in(&root, props, tx)
    }

    /// A new file system in a directory that has no dataset yet.
    pub(crate) fn create_filesystem_in(
        &self,
        dir: &Arc<Dir>,
        props: &RawProps,
        tx: &Tx,
    ) -> Result<Arc<Dataset>> {
        let object = self.create_dataset(dir, self.origin_snap(), tx)?;
        if props.creation.contains(&("casesensitivity", CASE_INSENSITIVE)) {
            self.edit_dataset(object, tx, |phys| phys.flags |= FLAG_CI_DATASET)?;
        }
        self.write_props(dir, props, tx)?;
        let fs_props = self.fs_props(object)?.with_creation(self.version(), props);
        let dataset = self.new_objset(object, ObjsetType::Zfs, &fs_props, tx)?;
        self.parts.fs_format.create(dataset.objset(), &fs_props, tx)?;
        Ok(dataset)
    }

    /// A file system or volume without anything in it, not even a root directory, in a directory
    /// that has no dataset yet.
    pub(crate) fn create_empty(&self, dir: &Arc<Dir>, kind: ObjsetType, tx: &Tx) -> Result<u64> {
        let object = self.create_dataset(dir, self.origin_snap(), tx)?;
        self.new_objset(object, kind, &self.fs_props(object)?, tx)?;
        Ok(object)
    }

    /// The tree of a pool on disk.
    pub fn open(parts: DslParts) -> Result<Arc<Dsl>> {
        let dsl = Dsl::bare(parts);
        let missing = || PoolError::Corrupt("the pool has no root dataset".into());
        let root = dsl.dir(dsl.mos.root(pool_directory::ROOT_DATASET)?.ok_or_else(missing)?)?;
        let children = root.phys().child_dir_zapobj;
        let special_dir = |name: &str| -> Result<Option<Arc<Dir>>> {
            let object = dsl.mos.find(children, name)?;
            object.map(|object| dsl.child_dir(&root, name, object)).transpose()
        };
        let origin_snap = match special_dir(ORIGIN_DIR)? {
            Some(dir) => Some(dsl.mos.dataset(dir.phys().head_dataset_obj)?.prev_snap_obj),
            None => None,
        };
        let special = Special {
            root: Some(root.clone()),
            mos_dir: special_dir(MOS_DIR)?,
            free_dir: special_dir(FREE_DIR)?,
            origin_snap,
            empty_bpobj: dsl.mos.root(pool_directory::EMPTY_BPOBJ)?,
            free_bpobj: dsl.mos.root(pool_directory::FREE_BPOBJ)?,
            bptree: dsl.mos.root(pool_directory::BPTREE_OBJ)?,
            deleted_clones: dsl.mos.root(pool_directory::DELETED_CLONES)?,
        };
        *lock(&dsl.special) = special;
        Ok(dsl)
    }

    /// A directory without dataset. `None`: the root.
    pub(crate) fn create_dir(&self, parent: Option<&Arc<Dir>>, name: &str, tx: &Tx) -> Result<Arc<Dir>> {
        let spec =
            ObjectSpec::new(ObjectType::DSL_DIR).with_bonus(ObjectType::DSL_DIR, DslDirPhys::SIZE as u16);
        let dnode = self.mos.objset.alloc(spec, tx)?;
        let object = dnode.object();
        match parent {
            Some(parent) => self.mos.set(parent.phys().child_dir_zapobj, name, object, tx)?,
            None => self.mos.set_root(pool_directory::ROOT_DATASET, object, tx)?,
        }
        if let Some(parent) = parent
            && !is_hidden(name)
        {
            self.count(parent, Counted::Filesystems, 1, tx)?;
        }
        let phys = DslDirPhys {
            creation_time: self.now(),
            parent_obj: parent.map_or(0, |parent| parent.object),
            props_zapobj: self.mos.create_zap(ObjectType::DSL_PROPS, tx)?,
            child_dir_zapobj: self.mos.create_zap(ObjectType::DSL_DIR_CHILD_MAP, tx)?,
            flags: if self.version() >= version::USED_BREAKDOWN { FLAG_USED_BREAKDOWN } else { 0 },
            ..DslDirPhys::default()
        };
        self.mos.put_dir(object, &phys, tx)?;
        let name = if parent.is_none() { self.parts.name() } else { name.to_owned() };
        self.remember(Dir::new(object, parent.cloned(), name, phys))
    }

    /// What a new file system's content takes from its parent's: names compare as they do there.
    pub(crate) fn inherit_creation(&self, parent: &Arc<Dir>, props: &mut RawProps) -> Result<()> {
        let head = parent.phys().head_dataset_obj;
        if head == 0 {
            return Ok(());
        }
        let above = self.open_object(head)?;
        let inherited = match self.parts.fs_format.props(above.objset()) {
            // Nobody ever made a file system of the parent: it has nothing to hand down
            // (`zfs_get_zplprop`).
            Err(DmuError::NotFound) => return Ok(()),
            inherited => inherited?,
        };
        for (name, number) in inherited {
            if name != "version" && !props.creation.iter().any(|(given, _)| *given == name) {
                props.creation.push((name, number));
            }
        }
        Ok(())
    }

    /// The dataset of a directory.
    pub(crate) fn head_of(&self, dir: &Arc<Dir>) -> Result<Option<Found>> {
        let object = dir.phys().head_dataset_obj;
        if object == 0 {
            return Ok(None);
        }
        Ok(Some(Found { dir: dir.clone(), object, phys: self.mos.dataset(object)? }))
    }

    /// Puts a directory under another parent, with its space (`dsl_dir_rename_sync`).
    pub(crate) fn move_dir(&self, dir: &Arc<Dir>, parent: &Arc<Dir>, name: &str, tx: &Tx) -> Result<()> {
        let from = dir.parent().ok_or(PoolError::Busy)?;
        if from.object != parent.object {
            let phys = dir.phys();
            let held_back = phys.reserved.saturating_sub(phys.used_bytes) as i64;
            let sums = Sums::of(phys.used_bytes, phys.compressed_bytes, phys.uncompressed_bytes);
            let reserve = Sums::allocated(held_back);
            from.used(&self.mos, Used::Child, sums.negated(), tx)?;
            parent.used(&self.mos, Used::Child, sums, tx)?;
            if held_back != 0 {
                from.used(&self.mos, Used::ChildReserve, reserve.negated(), tx)?;
                parent.used(&self.mos, Used::ChildReserve, reserve, tx)?;
            }
            self.move_counts(dir, &from, parent, tx)?;
        }
        self.mos.remove(from.phys().child_dir_zapobj, &dir.last_name(), tx)?;
        self.mos.set(parent.phys().child_dir_zapobj, name, dir.object, tx)?;
        dir.move_to(Some(parent.clone()), name.to_owned());
        Ok(dir.edit(&self.mos, tx, |phys| phys.parent_obj = parent.object)?)
    }

    /// Stores properties of a new pool.
    pub fn init_pool_props(&self, props: &[(String, String)], tx: &Tx) -> Result<()> {
        let action = Action::Create { name: self.parts.name() };
        for (name, value) in props {
            let (prop, raw) = crate::prop::parse_pool_value(name, value, &action)?;
            self.write_pool_prop(prop.row().name, &raw, tx)?;
        }
        Ok(())
    }

    /// Stores a property of the pool.
    pub(crate) fn write_pool_prop(&self, name: &str, value: &RawValue, tx: &Tx) -> Result<()> {
        let (directory, kind) = (pool_directory::OBJECT, ObjectType::POOL_PROPS);
        let object = self.mos.zap_under(directory, pool_directory::PROPS, kind, tx)?;
        Ok(self.mos.set(object, name, value.to_zap(), tx)?)
    }

    /// The stored properties of the pool.
    pub fn pool_props(&self) -> Result<Vec<(String, RawValue)>> {
        let Some(object) = self.mos.root(pool_directory::PROPS)? else { return Ok(Vec::new()) };
        let entries = self.mos.entries(object)?;
        Ok(entries.into_iter().map(|(name, value)| (name, RawValue::from_zap(&value))).collect())
    }

    /// The number stored of a property of the pool.
    pub(super) fn pool_number(&self, name: &str) -> Result<Option<u64>> {
        let props = self.pool_props()?;
        Ok(props.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.number()))
    }

    /// What property `ashift` says of vdevs that join the pool; `None`: the devices know best.
    pub(crate) fn new_ashift(&self) -> Result<Option<u64>> {
        Ok(self.pool_number("ashift")?.filter(|shift| *shift != 0))
    }

    pub(crate) fn now(&self) -> u64 {
        self.parts.env.clock.wall().secs.max(0) as u64
    }

    pub(super) fn new_fsid(&self) -> u64 {
        (self.mos.random() & FSID_MASK).max(1)
    }

    /// An object for a dataset; one that can have fields of its own where the pool has that
    /// feature.
    pub(super) fn alloc_dataset(&self, tx: &Tx) -> Result<u64> {
        let size = DslDatasetPhys::SIZE as u16;
        if self.features().is_enabled("extensible_dataset") {
            let spec =
                ObjectSpec::new(ObjectType::OTN_ZAP_METADATA).with_bonus(ObjectType::DSL_DATASET, size);
            let object = self.mos.create(spec, 0, tx)?;
            self.features().increment("extensible_dataset", tx)?;
            return Ok(object);
        }
        let spec = ObjectSpec::new(ObjectType::DSL_DATASET).with_bonus(ObjectType::DSL_DATASET, size);
        Ok(self.mos.objset.alloc(spec, tx)?.object())
    }

    /// A head dataset for a directory, a clone of a snapshot: of `$ORIGIN@$ORIGIN` if there is
    /// that, else.
    pub(super) fn create_dataset(&self, dir: &Arc<Dir>, origin: Option<u64>, tx: &Tx) -> Result<u64> {
        let object = self.alloc_dataset(tx)?;
        let mut phys = DslDatasetPhys {
            dir_obj: dir.object,
            fsid_guid: self.new_fsid(),
            guid: self.mos.random(),
            snapnames_zapobj: self.mos.create_snap_map(tx)?,
            creation_time: self.now(),
            creation_txg: self.creation_txg(tx),
            flags: self.unique_flag(),
            ..DslDatasetPhys::default()
        };
        match origin {
            Some(origin) => self.clone_of(origin, object, &mut phys, dir, tx)?,
            None => phys.deadlist_obj = Deadlist::create(self, tx)?.object(),
        }
        self.mos.put_dataset(object, &phys, tx)?;
        dir.edit(&self.mos, tx, |dir| dir.head_dataset_obj = object)?;
        self.count_new(dir, tx)?;
        if !is_hidden(&dir.last_name()) {
            self.delegate_to_creator(dir, tx)?;
        }
        Ok(object)
    }

    /// What a head that knows what only it has says so with; old pools have no such flag.
    pub(super) fn unique_flag(&self) -> u64 {
        if self.version() >= version::REF_LIMITS { FLAG_UNIQUE_ACCURATE } else { 0 }
    }

    /// The root dataset of a pool counts as made in group 1, whichever group that was.
    fn creation_txg(&self, tx: &Tx) -> u64 {
        let is_first = self.root().is_ok_and(|root| root.phys().head_dataset_obj == 0);
        if is_first { ORIGIN_TXG } else { tx.txg() }
    }

    fn clone_of(
        &self,
        origin: u64,
        object: u64,
        phys: &mut DslDatasetPhys,
        dir: &Arc<Dir>,
        tx: &Tx,
    ) -> Result<()> {
        let from = self.mos.dataset(origin)?;
        phys.prev_snap_obj = origin;
        phys.prev_snap_txg = from.creation_txg;
        phys.referenced_bytes = from.referenced_bytes;
        phys.compressed_bytes = from.compressed_bytes;
        phys.uncompressed_bytes = from.uncompressed_bytes;
        phys.bp = from.bp;
        phys.flags |= from.flags & (FLAG_INCONSISTENT | FLAG_CI_DATASET);
        let origin_dir = self.dir(from.dir_obj)?;
        let head = self.mos.dataset(origin_dir.phys().head_dataset_obj)?;
        let deadlist = Deadlist::open(self, head.deadlist_obj)?;
        phys.deadlist_obj = deadlist.cloned(self, phys.prev_snap_txg, origin, tx)?.object();
        self.edit_dataset(origin, tx, |origin| origin.num_children += 1)?;
        if self.version() >= version::ORIGIN {
            self.list_next(origin, object, tx)?;
        }
        dir.edit(&self.mos, tx, |dir| dir.origin_obj = origin)?;
        if self.version() >= version::DEADLISTS {
            self.list_clone(&origin_dir, object, tx)?;
        }
        Ok(())
    }

    /// A snapshot is followed by this dataset too, which is of another directory.
    pub(super) fn list_next(&self, snapshot: u64, next: u64, tx: &Tx) -> Result<()> {
        let mut listed = self.mos.dataset(snapshot)?.next_clones_obj;
        if listed == 0 {
            listed = self.mos.create_zap(ObjectType::NEXT_CLONES, tx)?;
            self.edit_dataset(snapshot, tx, |phys| phys.next_clones_obj = listed)?;
        }
        Ok(self.mos.add_int(listed, next, tx)?)
    }

    /// A directory's snapshots have a clone more.
    pub(super) fn list_clone(&self, origin_dir: &Arc<Dir>, head: u64, tx: &Tx) -> Result<()> {
        if origin_dir.phys().clones == 0 {
            let clones = self.mos.create_zap(ObjectType::DSL_CLONES, tx)?;
            origin_dir.edit(&self.mos, tx, |dir| dir.clones = clones)?;
        }
        Ok(self.mos.add_int(origin_dir.phys().clones, head, tx)?)
    }

    /// `$ORIGIN` and its one, empty snapshot (`dsl_pool_create_origin`).
    pub(super) fn create_origin(&self, root: &Arc<Dir>, tx: &Tx) -> Result<()> {
        let dir = self.create_dir(Some(root), ORIGIN_DIR, tx)?;
        let head_object = self.create_dataset(&dir, None, tx)?;
        let snap_object = self.alloc_dataset(tx)?;
        let mut head = self.mos.dataset(head_object)?;
        let snap = DslDatasetPhys {
            dir_obj: dir.object,
            fsid_guid: self.new_fsid(),
            guid: self.mos.random(),
            next_snap_obj: head_object,
            num_children: 1,
            creation_time: self.now(),
            creation_txg: ORIGIN_TXG,
            deadlist_obj: head.deadlist_obj,
            flags: head.flags,
            ..DslDatasetPhys::default()
        };
        self.mos.put_dataset(snap_object, &snap, tx)?;
        let mut deadlist =
            Deadlist::open(self, head.deadlist_obj)?.cloned(self, u64::MAX, head.prev_snap_obj, tx)?;
        deadlist.add_key(self, head.prev_snap_txg, tx)?;
        head.deadlist_obj = deadlist.object();
        head.prev_snap_obj = snap_object;
        head.prev_snap_txg = ORIGIN_TXG;
        head.unique_bytes = 0;
        head.flags |= FLAG_UNIQUE_ACCURATE;
        self.mos.put_dataset(head_object, &head, tx)?;
        self.mos.set(head.snapnames_zapobj, ORIGIN_DIR, snap_object, tx)?;
        self.special(|special| special.origin_snap = Some(snap_object));
        Ok(())
    }

    /// The new object set of a new dataset, dirty in this group.
    pub(super) fn new_objset(
        &self,
        object: u64,
        kind: ObjsetType,
        props: &FsProps,
        tx: &Tx,
    ) -> Result<Arc<Dataset>> {
        let core = self.core_of(object)?;
        let policy = self.policy_for(&core, props);
        let objset = Objset::create(
            self.parts.store().clone(),
            kind,
            core.clone(),
            core.admission(),
            policy,
            tx.touch(),
        );
        if kind == ObjsetType::Zfs {
            objset.set_owner_of(self.parts.fs_format.owner_of());
        }
        let dataset = Dataset::new(core, objset);
        lock(&self.datasets).insert(object, dataset.clone());
        Ok(dataset)
    }

    /// An open dataset by its object. The caller holds the configuration, so that no change happens
    /// meanwhile.
    pub(crate) fn open_object(&self, object: u64) -> Result<Arc<Dataset>> {
        if let Some(open) = self.if_open(object) {
            return Ok(open);
        }
        // One at a time: else a second could open it, write it and close it again after the first
        // has read where its root is, and the first would go on from a root whose blocks are free.
        let _one = lock(&self.opening);
        if let Some(open) = self.if_open(object) {
            return Ok(open);
        }
        let core = self.core_of(object)?;
        let phys = core.state(|state| state.phys.clone());
        if let Some(why) = self.unwritable(&core, &phys) {
            core.refuse_writes(why);
        }
        let objset = self.read_objset(&core, &phys)?;
        let mut datasets = lock(&self.datasets);
        let dataset = datasets.entry(object).or_insert_with(|| Dataset::new(core, objset));
        Ok(dataset.clone())
    }

    fn read_objset(&self, core: &Arc<Core>, phys: &DslDatasetPhys) -> Result<Arc<Objset>> {
        let policy = self.policy_for(core, &self.fs_props(core.object)?);
        let admission = if core.is_snapshot { ReadOnlyAdmission::shared() } else { core.admission() };
        let objset = Objset::open(self.parts.store().clone(), phys.bp, core.clone(), admission, policy)?;
        if objset.kind() == ObjsetType::Zfs && !core.is_snapshot {
            objset.set_owner_of(self.parts.fs_format.owner_of());
        }
        Ok(objset)
    }

    /// A head has a snapshot's root now, and in it the head of a log that is another's: it begins
    /// without one. Nobody has it open. Syncing context.
    pub(crate) fn open_without_log(&self, object: u64, tx: &Tx) -> Result<()> {
        let core = self.core_of(object)?;
        let phys = core.state(|state| state.phys.clone());
        let objset = self.read_objset(&core, &phys)?;
        if objset.zil_header() == ZilHeader::default() {
            return Ok(());
        }
        objset.set_zil_header(ZilHeader::default(), tx);
        lock(&self.datasets).insert(object, Dataset::new(core, objset));
        Ok(())
    }

    /// Why this dataset may not be written.
    fn unwritable(&self, core: &Core, phys: &DslDatasetPhys) -> Option<&'static str> {
        if self.parts.readonly {
            Some("pool is read-only")
        } else if core.is_snapshot {
            Some("dataset is a snapshot")
        } else if phys.flags & FLAG_INCONSISTENT != 0 && !self.is_receiving(core.object) {
            Some("dataset is incomplete: a receive did not finish")
        } else {
            core.state(|state| state.features.contains(&"encryption")).then_some(ENCRYPTED)
        }
    }

    /// The group of a directory's origin; 0 where that is none that anybody made.
    pub(crate) fn origin_txg(&self, origin: u64) -> Result<u64> {
        if origin == 0 || Some(origin) == self.origin_snap() {
            return Ok(0);
        }
        Ok(self.mos.dataset(origin)?.creation_txg)
    }

    /// Open heads take over what has changed around them. Syncing context.
    pub(crate) fn refresh_heads(&self) -> Result<()> {
        let mut heads: Vec<_> = self.open_datasets().into_iter().filter(|open| !open.is_snapshot()).collect();
        // What is read is read in an order that a seed decides.
        heads.sort_by_key(|head| head.object());
        for open in heads {
            let phys = self.mos.dataset(open.object())?;
            let around = self.around(&open.core.dir, open.object(), &phys)?;
            open.core.state(|state| {
                state.phys = phys;
                (state.deadlist, state.livelist) = (None, None);
                state.around = around;
            });
        }
        Ok(())
    }

    /// What a dataset in core knows of others.
    fn around(&self, dir: &Dir, object: u64, phys: &DslDatasetPhys) -> Result<Around> {
        let prev = match phys.prev_snap_obj {
            0 => None,
            prev => Some(self.mos.dataset(prev).map(|prev| (prev.prev_snap_txg, prev.next_snap_obj))?),
        };
        let origin_txg = self.origin_txg(dir.phys().origin_obj)?;
        let bookmarks = if phys.is_snapshot() { Vec::new() } else { bookmark::counting(self, object, phys)? };
        let livelist = if phys.is_snapshot() { None } else { self.livelist(dir)? };
        Ok(Around { prev, bookmarks, origin_txg, livelist })
    }

    fn core_of(&self, object: u64) -> Result<Arc<Core>> {
        let phys = self.mos.dataset(object)?;
        let dir = self.dir(phys.dir_obj)?;
        let limit = |name: &str| if phys.is_snapshot() { Ok(0) } else { self.local_number(&dir, name) };
        let (quota, reserved) = (limit("refquota")?, limit("refreservation")?);
        let features = recorded_features(self, object)?;
        let around = self.around(&dir, object, &phys)?;
        let state = State { phys, features, deadlist: None, livelist: None, quota, reserved, around };
        Ok(Core::new(&self.arc()?, object, dir, state))
    }

    /// A head uses a feature from now on, if the pool has that enabled and the head does not use it
    /// yet.
    pub(crate) fn use_feature(&self, object: u64, name: &'static str, tx: &Tx) -> Result<()> {
        if let Some(open) = self.if_open(object) {
            return open.core.activate(self, name, tx);
        }
        match self.features().is_enabled(name) && !recorded_features(self, object)?.contains(&name) {
            true => self.activate_feature(object, name, tx),
            false => Ok(()),
        }
    }

    /// Records that a dataset uses a feature.
    pub(crate) fn activate_feature(&self, object: u64, name: &str, tx: &Tx) -> Result<()> {
        let feature = ondisk::feature::by_name(name).ok_or(PoolError::NotFound)?;
        self.zapify(object, tx)?;
        self.mos.set(object, feature.guid, 0u64, tx)?;
        self.features().increment(name, tx)
    }

    /// A dataset uses a feature no more.
    pub(crate) fn deactivate_feature(&self, object: u64, name: &str, tx: &Tx) -> Result<()> {
        let feature = ondisk::feature::by_name(name).ok_or(PoolError::NotFound)?;
        self.mos.remove(object, feature.guid, tx)?;
        self.features().decrement(name, tx)
    }

    /// Forgets the features a dataset uses, and frees its object.
    pub(crate) fn free_dataset_object(&self, object: u64, features: &[&'static str], tx: &Tx) -> Result<()> {
        for name in features {
            self.features().decrement(name, tx)?;
        }
        self.free_zapified(object, tx)
    }

    /// Frees a directory's or dataset's object, whichever form it has.
    pub(crate) fn free_zapified(&self, object: u64, tx: &Tx) -> Result<()> {
        if self.mos.is_zapified(object)? {
            self.features().decrement("extensible_dataset", tx)?;
        }
        Ok(self.mos.free(object, tx)?)
    }
}
