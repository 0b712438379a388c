//! An object set's registry of attributes and its layouts: read whole at open (there are some tens
//! of them), kept in core, and written when one is used for the first time.
//!
//! Attribute and layout numbers, once given, never change, so readers may keep what they have seen.
//! Source: `sa_setup`, `sa_attr_table_setup`, `sa_find_layout`, `sa_attr_register_sync` in
//! module/zfs/sa.c.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use ondisk::object_type::ObjectType;
use ondisk::sa::{self, AttrInfo, FIRST_LAYOUT};
use ondisk::znode::attr::{self, ZplAttr};

use crate::DmuError;
use crate::dnode::ObjectSpec;
use crate::objset::Objset;
use crate::tx::Tx;
use crate::zap::{Value, Zap, ZapParams};

/// Layout of an object without attributes; never written down.
const EMPTY_LAYOUT: u16 = 1;

pub struct Tables {
    /// The object that names the two ZAPs; 0 in file systems before version 5.
    master: AtomicU64,
    known: Known,
    layouts: RwLock<BTreeMap<u16, Arc<[u16]>>>,
    /// Held while one of the ZAPs is changed.
    writing: Mutex<Objects>,
}

/// The attributes, which stay as they are while the object set is open: every request asks for
/// many, without a lock.
#[derive(Default)]
struct Known {
    by_number: Vec<Option<AttrInfo>>,
    /// Numbers of `attr::ALL`, in that order.
    numbers: Vec<u16>,
}

/// The ZAPs' objects, 0 until they are made, and whether every attribute is in the registry.
struct Objects {
    registry: u64,
    layouts: u64,
    registered: bool,
}

/// Makes the object that `SA_ATTRS` of the master node names.
pub fn create_master(objset: &Arc<Objset>, tx: &Tx) -> Result<u64, DmuError> {
    let spec = ObjectSpec::new(ObjectType::SA_MASTER_NODE);
    Ok(Zap::create(objset, spec, ZapParams::salted(1), tx)?.object())
}

impl Tables {
    pub fn load(objset: &Arc<Objset>, master: u64) -> Result<Tables, DmuError> {
        let mut objects = Objects { registry: 0, layouts: 0, registered: false };
        let mut known = Known::default();
        if master != 0 {
            let zap = Zap::open(objset, master)?;
            objects.registry = zap.find_u64(sa::REGISTRY)?.unwrap_or(0);
            objects.layouts = zap.find_u64(sa::LAYOUTS)?.unwrap_or(0);
        }
        let named = load_registry(objset, objects.registry, &mut known)?;
        objects.registered = known.number_the_attributes(&named);
        let mut layouts = BTreeMap::new();
        if objects.layouts != 0 {
            load_layouts(objset, objects.layouts, &mut layouts)?;
        }
        layouts.insert(EMPTY_LAYOUT, Arc::from([]));
        let master = AtomicU64::new(master);
        Ok(Tables { master, known, layouts: RwLock::new(layouts), writing: Mutex::new(objects) })
    }

    pub fn master(&self) -> u64 {
        self.master.load(Ordering::Acquire)
    }

    /// The file system has become one with system attributes.
    pub fn set_master(&self, master: u64) {
        self.master.store(master, Ordering::Release);
    }

    fn layouts(&self) -> RwLockReadGuard<'_, BTreeMap<u16, Arc<[u16]>>> {
        self.layouts.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn writing(&self) -> MutexGuard<'_, Objects> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn info(&self, number: u16) -> Option<AttrInfo> {
        self.known.by_number.get(usize::from(number)).copied().flatten()
    }

    pub fn number(&self, attr: &ZplAttr) -> u16 {
        self.known.numbers[usize::from(attr.info.number)]
    }

    pub fn layout(&self, number: u16) -> Option<Arc<[u16]>> {
        self.layouts().get(&number).cloned()
    }

    /// Writes the registry, once per object set.
    pub fn register(&self, objset: &Arc<Objset>, tx: &Tx) -> Result<(), DmuError> {
        let mut objects = self.writing();
        if objects.registered {
            return Ok(());
        }
        if objects.registry == 0 {
            objects.registry = self.create(objset, ObjectType::SA_ATTR_REGISTRATION, sa::REGISTRY, tx)?;
        }
        let registry = Zap::open(objset, objects.registry)?;
        for attr in &attr::ALL {
            let info = AttrInfo { number: self.number(attr), ..attr.info };
            registry.update(attr.name, info.encode(), tx)?;
        }
        objects.registered = true;
        Ok(())
    }

    /// The layout with exactly these attributes in this order; a new one gets the next number.
    pub fn find_or_add(&self, objset: &Arc<Objset>, attrs: &[u16], tx: &Tx) -> Result<u16, DmuError> {
        if let Some(number) = number_of(&self.layouts(), attrs) {
            return Ok(number);
        }
        let mut objects = self.writing();
        // Somebody else may have made it just now.
        if let Some(number) = number_of(&self.layouts(), attrs) {
            return Ok(number);
        }
        let number = self.layouts().last_key_value().map_or(0, |(last, _)| last + 1).max(FIRST_LAYOUT);
        if number > sa::MAX_LAYOUT {
            return Err(DmuError::TooBig);
        }
        if objects.layouts == 0 {
            objects.layouts = self.create(objset, ObjectType::SA_ATTR_LAYOUTS, sa::LAYOUTS, tx)?;
        }
        Zap::open(objset, objects.layouts)?.update(number.to_string(), Value::U16(attrs.to_vec()), tx)?;
        let mut layouts = self.layouts.write().unwrap_or_else(PoisonError::into_inner);
        layouts.insert(number, attrs.into());
        Ok(number)
    }

    fn create(&self, objset: &Arc<Objset>, kind: ObjectType, name: &str, tx: &Tx) -> Result<u64, DmuError> {
        let master = self.master();
        if master == 0 {
            return Err(DmuError::Unsupported("system attributes in an old file system"));
        }
        let zap = Zap::create(objset, ObjectSpec::new(kind), ZapParams::salted(1), tx)?;
        Zap::open(objset, master)?.add(name, zap.object(), tx)?;
        Ok(zap.object())
    }
}

fn number_of(layouts: &BTreeMap<u16, Arc<[u16]>>, attrs: &[u16]) -> Option<u16> {
    layouts.iter().find(|(_, layout)| layout[..] == *attrs).map(|(number, _)| *number)
}

impl Known {
    fn place(&mut self, number: u16) -> &mut Option<AttrInfo> {
        let at = usize::from(number);
        if at >= self.by_number.len() {
            self.by_number.resize(at + 1, None);
        }
        &mut self.by_number[at]
    }

    /// Gives every attribute of `attr::ALL` its number: the registered one, a fixed one, or the
    /// next that is free. Whether all were registered.
    fn number_the_attributes(&mut self, named: &BTreeMap<Vec<u8>, u16>) -> bool {
        let mut next = match named.is_empty() {
            true => attr::LEGACY_COUNT as u16,
            false => u16::try_from(self.by_number.len()).unwrap_or(u16::MAX),
        };
        let mut complete = true;
        for (i, attr) in attr::ALL.iter().enumerate() {
            let registered = named.get(attr.name.as_bytes()).copied();
            let number = if i < attr::LEGACY_COUNT {
                attr.info.number
            } else if let Some(number) = registered {
                number
            } else {
                next = next.saturating_add(1);
                next - 1
            };
            complete &= registered.is_some();
            self.place(number).get_or_insert(AttrInfo { number, ..attr.info });
            self.numbers.push(number);
        }
        complete
    }
}

/// Fills `by_number`; gives numbers by name.
fn load_registry(
    objset: &Arc<Objset>,
    object: u64,
    known: &mut Known,
) -> Result<BTreeMap<Vec<u8>, u16>, DmuError> {
    let mut named = BTreeMap::new();
    if object == 0 {
        return Ok(named);
    }
    let corrupt = DmuError::Corrupt { object, block: 0 };
    for entry in Zap::open(objset, object)?.iter() {
        let entry = entry?;
        let info = AttrInfo::decode(entry.value.first()).map_err(|_| corrupt)?;
        *known.place(info.number) = Some(info);
        named.insert(entry.name, info.number);
    }
    Ok(named)
}

fn load_layouts(
    objset: &Arc<Objset>,
    object: u64,
    layouts: &mut BTreeMap<u16, Arc<[u16]>>,
) -> Result<(), DmuError> {
    let corrupt = DmuError::Corrupt { object, block: 0 };
    for entry in Zap::open(objset, object)?.iter() {
        let entry = entry?;
        let number = std::str::from_utf8(&entry.name).ok().and_then(|name| name.parse::<u16>().ok());
        let number = number.filter(|number| *number <= sa::MAX_LAYOUT).ok_or(corrupt)?;
        let layout: Arc<[u16]> = match entry.value {
            Value::U16(attrs) => attrs.into(),
            _ => return Err(corrupt),
        };
        layouts.insert(number, layout);
    }
    Ok(())
}
