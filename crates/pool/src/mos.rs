//! The meta object set: ZAPs by object number, the two kinds of bonus, and who pays for its blocks.
//!
//! What is asked for is the newest state, this transaction group's included. Only the order of long
//! ZAPs is kept ([`order`]).

pub(crate) mod order;

use std::sync::{Arc, Mutex};

use dmu::zap::{Value, Zap, ZapParams};
use dmu::{BlockOwner, DmuError, Dnode, ObjectSpec, Objset, SyncTx, Tx};
use env::{Entropy, Env, lock};
use ondisk::dsl_dataset::DslDatasetPhys;
use ondisk::dsl_dir::DslDirPhys;
use ondisk::object_type::{ObjectType, pool_directory};
use ondisk::{BlkPtr, Malformed};
use storage::Storage;

use crate::frees::FreeQueue;
use crate::sums::{Sums, sums_of};
use order::{Entry, Order, Orders};

/// `U8_TEXTPREP_TOUPPER`: how names of snapshots are hashed.
const TO_UPPER: u64 = 2;

/// See the module.
pub(crate) struct Mos {
    pub objset: Arc<Objset>,
    entropy: Arc<dyn Entropy>,
    orders: Orders,
}

/// The object does not hold what it should.
pub(crate) fn corrupt(object: u64) -> impl Fn(Malformed) -> DmuError {
    move |_| DmuError::Corrupt { object, block: 0 }
}

fn upper() -> dmu::zap::Normalize {
    Arc::new(|name, _| Some(name.to_ascii_uppercase()))
}

impl Mos {
    pub fn new(objset: Arc<Objset>, env: &Env) -> Mos {
        Mos { objset, entropy: env.entropy.clone(), orders: Orders::default() }
    }

    pub fn random(&self) -> u64 {
        self.entropy.u64()
    }

    pub fn hold(&self, object: u64) -> Result<Arc<Dnode>, DmuError> {
        self.objset.hold(object)
    }

    fn zap(&self, object: u64) -> Result<Zap, DmuError> {
        Ok(Zap::open(&self.objset, object)?.with_normalize(upper()))
    }

    /// The first number under this name.
    pub fn find(&self, object: u64, name: &str) -> Result<Option<u64>, DmuError> {
        Ok(self.find_value(object, name)?.map(|value| value.first()))
    }

    /// No entry has a name that is too long for one.
    pub fn find_value(&self, object: u64, name: &str) -> Result<Option<Value>, DmuError> {
        match self.zap(object)?.find(name) {
            Err(DmuError::TooBig) => Ok(None),
            found => found,
        }
    }

    /// The first number of a field that a directory's or dataset's object has of its own.
    pub fn field(&self, object: u64, name: &str) -> Result<Option<u64>, DmuError> {
        if self.is_zapified(object)? { self.find(object, name) } else { Ok(None) }
    }

    pub fn set(&self, object: u64, name: &str, value: impl Into<Value>, tx: &Tx) -> Result<(), DmuError> {
        self.orders.forget(object);
        self.zap(object)?.update(name, value, tx)
    }

    /// Whether there was such an entry.
    pub fn remove(&self, object: u64, name: &str, tx: &Tx) -> Result<bool, DmuError> {
        self.orders.forget(object);
        match self.zap(object)?.remove(name, tx) {
            Ok(()) => Ok(true),
            Err(DmuError::NotFound | DmuError::TooBig) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub fn add_int(&self, object: u64, number: u64, tx: &Tx) -> Result<(), DmuError> {
        self.zap(object)?.add_int(number, tx)
    }

    /// Whether there was such an entry.
    pub fn remove_int(&self, object: u64, number: u64, tx: &Tx) -> Result<bool, DmuError> {
        match self.zap(object)?.remove_int(number, tx) {
            Ok(()) => Ok(true),
            Err(DmuError::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub fn set_int_key(&self, object: u64, key: u64, value: u64, tx: &Tx) -> Result<(), DmuError> {
        self.zap(object)?.update_int_key(key, value, tx)
    }

    pub fn count(&self, object: u64) -> Result<u64, DmuError> {
        self.zap(object)?.count()
    }

    /// Every entry, in no order that means anything.
    pub fn entries(&self, object: u64) -> Result<Vec<(String, Value)>, DmuError> {
        let entries = self.zap(object)?.entries()?.into_iter();
        Ok(entries.map(|entry| (String::from_utf8_lossy(&entry.name).into_owned(), entry.value)).collect())
    }

    /// Names and their first numbers, sorted by name.
    pub fn sorted(&self, object: u64) -> Result<Vec<(String, u64)>, DmuError> {
        let mut entries: Vec<_> =
            self.entries(object)?.into_iter().map(|(name, value)| (name, value.first())).collect();
        entries.sort();
        Ok(entries)
    }

    /// All entries by the rank that their objects have, and by name. To be called where nobody
    /// changes the ZAP meanwhile, and with the same ranks each time.
    pub fn ordered(
        &self,
        object: u64,
        rank: impl Fn(u64) -> Result<u64, DmuError>,
    ) -> Result<Order, DmuError> {
        if let Some(order) = self.orders.get(object) {
            return Ok(order);
        }
        let entries = self.entries(object)?.into_iter().map(|(name, value)| {
            let object = value.first();
            Ok(Entry { rank: rank(object)?, name, object })
        });
        let mut entries = entries.collect::<Result<Vec<_>, DmuError>>()?;
        entries.sort_unstable();
        let order = Order::from(entries);
        self.orders.keep(object, &order);
        Ok(order)
    }

    /// A new, empty ZAP.
    pub fn create_zap(&self, object_type: ObjectType, tx: &Tx) -> Result<u64, DmuError> {
        self.create(ObjectSpec::new(object_type), 0, tx)
    }

    /// The ZAP that an entry leads to; made where there is no such entry.
    pub fn zap_under(&self, object: u64, name: &str, kind: ObjectType, tx: &Tx) -> Result<u64, DmuError> {
        if let Some(zap) = self.find(object, name)? {
            return Ok(zap);
        }
        let zap = self.create_zap(kind, tx)?;
        self.set(object, name, zap, tx)?;
        Ok(zap)
    }

    /// A ZAP for names of snapshots.
    pub fn create_snap_map(&self, tx: &Tx) -> Result<u64, DmuError> {
        self.create(ObjectSpec::new(ObjectType::DSL_DS_SNAP_MAP), TO_UPPER, tx)
    }

    pub fn create(&self, spec: ObjectSpec, normflags: u64, tx: &Tx) -> Result<u64, DmuError> {
        let params = ZapParams { normflags, ..ZapParams::salted(self.random()) };
        Ok(Zap::create(&self.objset, spec, params, tx)?.object())
    }

    /// Makes a ZAP of an object that had no data, only a bonus; says whether it was none yet.
    pub fn zapify(&self, object: u64, tx: &Tx) -> Result<bool, DmuError> {
        let dnode = self.hold(object)?;
        if dnode.object_type() == ObjectType::OTN_ZAP_METADATA {
            return Ok(false);
        }
        dnode.set_object_type(ObjectType::OTN_ZAP_METADATA, tx)?;
        Zap::of(dnode)?.format(ZapParams::salted(self.random()), tx)?;
        Ok(true)
    }

    pub fn is_zapified(&self, object: u64) -> Result<bool, DmuError> {
        Ok(self.hold(object)?.object_type() == ObjectType::OTN_ZAP_METADATA)
    }

    pub fn free(&self, object: u64, tx: &Tx) -> Result<(), DmuError> {
        self.orders.forget(object);
        self.objset.free(object, tx)
    }

    pub fn dir(&self, object: u64) -> Result<DslDirPhys, DmuError> {
        DslDirPhys::decode(&self.get(object, ObjectType::DSL_DIR)?).map_err(corrupt(object))
    }

    pub fn put_dir(&self, object: u64, phys: &DslDirPhys, tx: &Tx) -> Result<(), DmuError> {
        self.put(object, &phys.encode(), tx)
    }

    pub fn dataset(&self, object: u64) -> Result<DslDatasetPhys, DmuError> {
        DslDatasetPhys::decode(&self.get(object, ObjectType::DSL_DATASET)?).map_err(corrupt(object))
    }

    pub fn put_dataset(&self, object: u64, phys: &DslDatasetPhys, tx: &Tx) -> Result<(), DmuError> {
        self.put(object, &phys.encode(), tx)
    }

    /// The bonus, which is to be of this type.
    fn get(&self, object: u64, kind: ObjectType) -> Result<Vec<u8>, DmuError> {
        let bonus = self.hold(object)?.bonus();
        if bonus.bonus_type == kind { Ok(bonus.bytes) } else { Err(DmuError::Corrupt { object, block: 0 }) }
    }

    /// Writes the bonus, unless it is the same already.
    fn put(&self, object: u64, bytes: &[u8], tx: &Tx) -> Result<(), DmuError> {
        let dnode = self.hold(object)?;
        let bonus = dnode.bonus();
        if bonus.bytes == bytes {
            return Ok(());
        }
        dnode.set_bonus(bonus.bonus_type, bytes, tx)
    }

    /// An entry of the pool's directory.
    pub fn root(&self, name: &str) -> Result<Option<u64>, DmuError> {
        self.find(pool_directory::OBJECT, name)
    }

    pub fn set_root(&self, name: &str, object: u64, tx: &Tx) -> Result<(), DmuError> {
        self.set(pool_directory::OBJECT, name, object, tx)
    }
}

/// What the meta object set came to use since it was last counted.
#[derive(Default)]
pub struct MosUsage(Mutex<Sums>);

impl MosUsage {
    pub fn add(&self, bp: &BlkPtr, dsize: u64) {
        if !bp.is_hole() {
            lock(&self.0).add(sums_of(bp, dsize));
        }
    }

    pub fn sub(&self, bp: &BlkPtr, dsize: u64) {
        if !bp.is_hole() {
            lock(&self.0).add(sums_of(bp, dsize).negated());
        }
    }

    pub(crate) fn take(&self) -> Sums {
        std::mem::take(&mut lock(&self.0))
    }
}

/// Pays for the blocks of the meta object set.
pub(crate) struct MosOwner {
    pub storage: Arc<Storage>,
    pub frees: Arc<FreeQueue>,
    pub usage: Arc<MosUsage>,
}

impl BlockOwner for MosOwner {
    fn born(&self, bp: &BlkPtr, _tx: &SyncTx) {
        self.usage.add(bp, self.storage.dsize(bp));
    }

    fn kill(&self, bp: &BlkPtr, _tx: &SyncTx) {
        self.usage.sub(bp, self.storage.dsize(bp));
        self.frees.free(bp);
    }
}
