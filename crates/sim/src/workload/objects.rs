//! Objects of an object set, changed directly: allocate, write, free ranges, free, several changes
//! a transaction.
//!
//! Here the group of each operation is known exactly, so a crash must bring back exactly one state.

use std::collections::BTreeMap;
use std::sync::Arc;

use dmu::{DmuError, Dnode, Holds, ObjectSpec, Objset, Tx};
use engine_api::Change;
use ondisk::object_type::ObjectType;
use pool::dsl::LongHold;
use stdx::prng::Prng;

use super::{Done, Life, Workload, failed};
use crate::history::History;
use crate::machine::{POOL, properties};

const KIND: ObjectType = ObjectType::PLAIN_OTHER;
/// Objects at a time, and the largest end of one in bytes.
const OBJECTS: usize = 12;
const END: u64 = 600 << 10;

/// An object as it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Object {
    /// Without the zeros at the end.
    bytes: Arc<Vec<u8>>,
    bonus: Vec<u8>,
    block_size: u32,
}

impl Object {
    fn write(&mut self, offset: u64, data: &[u8]) {
        let bytes = Arc::make_mut(&mut self.bytes);
        let (from, to) = (offset as usize, offset as usize + data.len());
        if bytes.len() < to {
            bytes.resize(to, 0);
        }
        bytes[from..to].copy_from_slice(data);
        trim(bytes);
    }

    fn free_range(&mut self, offset: u64, len: u64) {
        let bytes = Arc::make_mut(&mut self.bytes);
        let from = (offset as usize).min(bytes.len());
        let to = offset.saturating_add(len).min(bytes.len() as u64) as usize;
        bytes[from..to].fill(0);
        trim(bytes);
    }
}

fn trim(bytes: &mut Vec<u8>) {
    let used = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    bytes.truncate(used);
}

type Objects = BTreeMap<u64, Object>;

/// See the module.
pub struct ObjectWork {
    name: String,
    dataset: Option<LongHold>,
    history: History<Objects>,
}

impl Default for ObjectWork {
    fn default() -> ObjectWork {
        let history = History::new(Objects::new(), 0);
        ObjectWork { name: format!("{POOL}/objects"), dataset: None, history }
    }
}

impl ObjectWork {
    fn objset(&self) -> Arc<Objset> {
        self.dataset.as_ref().expect("opened").objset().clone()
    }

    /// Several changes in one transaction.
    fn transaction(&mut self, life: &Life<'_>, prng: &mut Prng) -> Done {
        let objset = self.objset();
        let changes = prng.range(1, 5);
        let write = changes * life.world.swarm.write_max * 2;
        let tx = match objset.begin(Holds::new(write, changes * 4)) {
            Ok(tx) => tx,
            Err(DmuError::NoSpace) => return self.make_room(life, prng),
            Err(error) => return Err(format!("beginning a transaction: {error:?}")),
        };
        let mut after = self.history.now().clone();
        for _ in 0..changes {
            change(life, &objset, &mut after, &tx, prng)?;
        }
        let txg = tx.txg();
        tx.commit();
        self.history.note(txg, txg, Clone::clone, |now| *now = after);
        Ok(())
    }

    /// The pool is full: frees an object.
    fn make_room(&mut self, life: &Life<'_>, prng: &mut Prng) -> Done {
        let numbers: Vec<u64> = self.history.now().keys().copied().collect();
        let Some(&object) = prng.pick(&numbers) else { return Ok(()) };
        let objset = self.objset();
        let tx = match objset.begin(Holds::freeing(2)) {
            Ok(tx) => tx,
            Err(DmuError::NoSpace) => return Ok(()),
            Err(error) => return Err(format!("beginning to free: {error:?}")),
        };
        life.say(|| format!("full: free object {object}"));
        objset.free(object, &tx).map_err(failed("free"))?;
        let txg = tx.txg();
        self.history.note(txg, txg, Clone::clone, |now| drop(now.remove(&object)));
        Ok(())
    }

    fn compare_one(&self, prng: &mut Prng) -> Done {
        let numbers: Vec<u64> = self.history.now().keys().copied().collect();
        let Some(object) = prng.pick(&numbers) else { return Ok(()) };
        let found = load(&self.objset(), *object)?;
        same(*object, &self.history.now()[object], &found)
    }
}

/// One change to the objects and their model.
fn change(life: &Life<'_>, objset: &Objset, model: &mut Objects, tx: &Tx, prng: &mut Prng) -> Done {
    let numbers: Vec<u64> = model.keys().copied().collect();
    let Some(&object) = prng.pick(&numbers).filter(|_| numbers.len() == OBJECTS || prng.chance(7, 8)) else {
        return alloc(life, objset, model, tx, prng);
    };
    let expected = model.get_mut(&object).expect("it was picked");
    let dnode = objset.hold(object).map_err(failed("hold"))?;
    match prng.weighted(&[10, 3, 2, 2]) {
        0 => write(life, &dnode, expected, tx, prng),
        1 => free_range(life, &dnode, expected, tx, prng),
        2 => {
            let mut bonus = vec![0; dnode.bonus_capacity().min(prng.below(64) as usize)];
            prng.fill(&mut bonus);
            life.say(|| format!("object {object}: bonus of {}", bonus.len()));
            dnode.set_bonus(KIND, &bonus, tx).map_err(failed("set_bonus"))?;
            expected.bonus = bonus;
            Ok(())
        }
        _ => {
            life.say(|| format!("free object {object}"));
            model.remove(&object);
            objset.free(object, tx).map_err(failed("free"))
        }
    }
}

fn alloc(life: &Life<'_>, objset: &Objset, model: &mut Objects, tx: &Tx, prng: &mut Prng) -> Done {
    let block_size = *prng.pick(&[512, 1024, 1536, 4096, 16 << 10, 128 << 10]).expect("some");
    let spec = ObjectSpec {
        block_size,
        slots: *prng.pick(&[1, 1, 2, 3, 8]).expect("some"),
        indirect_shift: *prng.pick(&[12, 14, 17]).expect("some"),
        ..ObjectSpec::new(KIND)
    };
    let dnode = objset.alloc(spec, tx).map_err(failed("alloc"))?;
    life.say(|| format!("alloc object {} with blocks of {block_size}", dnode.object()));
    let new = Object { block_size, ..Object::default() };
    match model.insert(dnode.object(), new) {
        None => Ok(()),
        Some(_) => Err(format!("object {} was allocated twice", dnode.object())),
    }
}

/// An offset below the end: often a block border, or just beside one.
fn draw_offset(prng: &mut Prng, block_size: u32) -> u64 {
    let offset = prng.below(END);
    match prng.below(3) {
        0 => offset,
        1 => offset / u64::from(block_size) * u64::from(block_size),
        _ => (offset / u64::from(block_size) * u64::from(block_size)).saturating_sub(1),
    }
}

fn write(life: &Life<'_>, dnode: &Dnode, expected: &mut Object, tx: &Tx, prng: &mut Prng) -> Done {
    let offset = draw_offset(prng, expected.block_size);
    let len = prng.below(life.world.swarm.write_max) + 1;
    let mut data = vec![0; len as usize];
    match prng.below(4) {
        0 => {}
        1 => data.fill(prng.next_u64() as u8),
        _ => prng.fill(&mut data),
    }
    life.say(|| format!("object {}: write {len} at {offset}", dnode.object()));
    dnode.write(offset, &data, tx).map_err(failed("write"))?;
    expected.write(offset, &data);
    Ok(())
}

fn free_range(life: &Life<'_>, dnode: &Dnode, expected: &mut Object, tx: &Tx, prng: &mut Prng) -> Done {
    let offset = draw_offset(prng, expected.block_size);
    let len = if prng.chance(1, 4) { u64::MAX } else { prng.below(END) };
    life.say(|| format!("object {}: free {len} at {offset}", dnode.object()));
    dnode.free_range(offset, len, tx).map_err(failed("free_range"))?;
    expected.free_range(offset, len);
    Ok(())
}

fn load(objset: &Objset, object: u64) -> Result<Object, String> {
    let dnode = objset.hold(object).map_err(failed("hold"))?;
    let end = (dnode.max_blkid() + 1) * u64::from(dnode.block_size());
    let mut bytes = dnode.read_bytes(0, end as usize).map_err(failed("read"))?;
    trim(&mut bytes);
    let bonus = dnode.bonus();
    let bonus = if bonus.bonus_type == KIND { bonus.bytes } else { Vec::new() };
    Ok(Object { bytes: Arc::new(bytes), bonus, block_size: dnode.block_size() })
}

fn same(object: u64, expected: &Object, found: &Object) -> Done {
    if expected.block_size != found.block_size {
        return Err(format!(
            "object {object}: block size {}, expected {}",
            found.block_size, expected.block_size
        ));
    }
    if expected.bonus != found.bonus {
        return Err(format!("object {object}: its bonus differs"));
    }
    if expected.bytes == found.bytes {
        return Ok(());
    }
    let at = expected.bytes.iter().zip(found.bytes.iter()).position(|(a, b)| a != b);
    let at = at.unwrap_or(expected.bytes.len().min(found.bytes.len()));
    let (wanted, len) = (expected.bytes.len(), found.bytes.len());
    Err(format!("object {object}: {len} bytes, expected {wanted}; the first difference is at {at}"))
}

fn all_same(expected: &Objects, found: &Objects) -> Done {
    if let Some(object) = expected.keys().find(|object| !found.contains_key(object)) {
        return Err(format!("object {object} is missing"));
    }
    if let Some(object) = found.keys().find(|object| !expected.contains_key(object)) {
        return Err(format!("object {object} should not be there"));
    }
    expected.iter().try_for_each(|(object, expected)| same(*object, expected, &found[object]))
}

impl Workload for ObjectWork {
    fn create(&mut self, life: &Life<'_>) -> Done {
        let change = Change::CreateFilesystem {
            name: self.name.clone(),
            parents: false,
            props: properties(&life.world.swarm.props),
        };
        let committed = life.api.commit(&change, "").map_err(failed("creating a dataset"))?;
        self.history = History::new(Objects::new(), committed.txg);
        self.open(life)
    }

    fn open(&mut self, life: &Life<'_>) -> Done {
        self.dataset = Some(life.pool.dsl.open_dataset(&self.name).map_err(failed("opening a dataset"))?);
        Ok(())
    }

    fn close(&mut self) {
        self.dataset = None;
    }

    fn step(&mut self, life: &Life<'_>, prng: &mut Prng) -> Done {
        self.history.synced(life.synced());
        if prng.chance(1, 5) { self.compare_one(prng) } else { self.transaction(life, prng) }
    }

    fn check(&mut self, life: &Life<'_>, txg: u64) -> Done {
        let objset = self.objset();
        let mut found = Objects::new();
        let mut after = 0;
        while let Some(object) = objset.next_object(after, 0).map_err(failed("next_object"))? {
            after = object;
            if objset.hold(object).map_err(failed("hold"))?.object_type() == KIND {
                found.insert(object, load(&objset, object)?);
            }
        }
        let mut why = format!("no state is possible at the end of group {txg}");
        let possible = self.history.candidates(txg).any(|candidate| match all_same(candidate, &found) {
            Ok(()) => true,
            Err(difference) => {
                why = difference;
                false
            }
        });
        if !possible {
            return Err(format!("objects at the end of group {txg}: {why}"));
        }
        self.history = History::new(found, life.synced());
        Ok(())
    }

    fn promised(&self) -> u64 {
        self.history.promised()
    }

    fn promise(&mut self, txg: u64) {
        self.history.promise(txg);
    }
}
