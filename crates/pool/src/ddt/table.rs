//! The table of one checksum: its ZAPs, and what of it is live.

use std::collections::BTreeMap;
use std::sync::Arc;

use dmu::zap::{Value, Zap, ZapParams};
use dmu::{ObjectSpec, Objset, Tx};
use ondisk::ddt::{
    BLOCK_SHIFT, Class, DdtKey, Histogram, SLOT_DITTO, SLOTS_SIZE, Slot, Slots, Stat, decode_slots,
    encode_slots, object_name, parse_value_head, references, value_head,
};
use ondisk::object_type::ObjectType;
use ondisk::zap::{FLAG_HASH64, FLAG_PRE_HASHED_KEY, FLAG_UINT64_KEY};
use ondisk::{BlkPtr, ChecksumKind, CompressKind};
use storage::Storage;

use crate::{PoolError, Result};

/// See the module.
pub(super) struct Table {
    checksum: ChecksumKind,
    /// By class.
    zaps: [Option<Zap>; 3],
    /// By class; what is live is left out.
    histograms: [Histogram; 3],
    pub live: BTreeMap<DdtKey, Live>,
}

/// An entry taken out of its ZAP, or one to be.
#[derive(Debug, Default)]
pub(super) struct Live {
    pub slots: Slots,
    /// Where it was found.
    stored: Option<Class>,
    pub changed: bool,
}

impl Live {
    /// One pointer less leads to a block; `false` if none did.
    pub fn release(&mut self, bp: &BlkPtr) -> bool {
        let slot = self.slots.iter_mut().find(|slot| slot.is_of(bp));
        let Some(slot) = slot.filter(|slot| slot.references > 0) else { return false };
        slot.references -= 1;
        self.changed = true;
        true
    }
}

/// What putting entries back needs.
pub(super) struct Cx<'a> {
    pub mos: &'a Arc<Objset>,
    pub storage: &'a Storage,
    pub directory: &'a Zap,
    pub statistics: &'a Zap,
    pub salt: &'a dyn Fn() -> ZapParams,
    pub tx: &'a Tx,
}

impl Table {
    pub fn new(checksum: ChecksumKind) -> Table {
        Table { checksum, zaps: Default::default(), histograms: Default::default(), live: BTreeMap::new() }
    }

    /// `None`: there is none of this checksum.
    pub fn open(
        mos: &Arc<Objset>,
        directory: &Zap,
        statistics: &Zap,
        checksum: ChecksumKind,
    ) -> Result<Option<Table>> {
        let mut table = Table::new(checksum);
        for class in Class::ALL {
            let name = object_name(checksum, class);
            let Some(object) = directory.find_u64(&name)? else { continue };
            table.zaps[class as usize] = Some(Zap::open(mos, object)?);
            let words = statistics.lookup(&name)?.words();
            table.histograms[class as usize] = Histogram::from_words(&words)?;
        }
        Ok((!table.is_gone()).then_some(table))
    }

    /// Neither stored nor live.
    pub fn is_gone(&self) -> bool {
        self.live.is_empty() && self.zaps.iter().all(Option::is_none)
    }

    pub fn histograms(&self) -> impl Iterator<Item = &Histogram> {
        self.histograms.iter()
    }

    pub fn zaps(&self) -> impl Iterator<Item = &Zap> {
        self.zaps.iter().flatten()
    }

    /// Makes these live, but for those that cannot be read. What a class has to read for them it
    /// reads together. How many leafs they were looked for in.
    pub fn load(&mut self, storage: &Storage, mut keys: Vec<DdtKey>) -> usize {
        keys.retain(|key| !self.live.contains_key(key));
        let mut leafs = 0;
        for class in Class::ALL {
            let Some(zap) = &self.zaps[class as usize] else { continue };
            let found = zap.values_of_words(&keys.iter().map(DdtKey::words).collect::<Vec<_>>());
            leafs += found.leafs;
            let mut missing = Vec::new();
            for (key, answer) in keys.into_iter().zip(found.answers) {
                let slots = answer.map_err(PoolError::from).and_then(|value| value.map(slots_of).transpose());
                match slots {
                    Ok(Some(slots)) => {
                        self.count(storage, class, &key, &slots, Stat::sub);
                        self.live.insert(key, Live { slots, stored: Some(class), changed: false });
                    }
                    Ok(None) => missing.push(key),
                    Err(error) => tracing::error!(%error, "an entry of a deduplication table cannot be read"),
                }
            }
            keys = missing;
        }
        self.live.extend(keys.into_iter().map(|key| (key, Live::default())));
        leafs
    }

    fn count(
        &mut self,
        storage: &Storage,
        class: Class,
        key: &DdtKey,
        slots: &Slots,
        how: fn(&mut Stat, &Stat),
    ) {
        let mut sum = Stat::default();
        for slot in slots.iter().filter(|slot| !slot.is_empty()) {
            let dsize = storage.dsize(&key.pointer(self.checksum, slot));
            sum.add(&Stat::new([key.lsize(), key.psize(), dsize], slot.references));
        }
        if let Some(bucket) = self.histograms[class as usize].bucket(sum.ref_blocks) {
            how(bucket, &sum);
        }
    }

    /// Puts back what is live, of each class all together. Objects that hold nothing any more go.
    pub fn flush(
        &mut self,
        cx: &Cx<'_>,
        free: &mut dyn FnMut(&BlkPtr),
        rose: &mut dyn FnMut(&BlkPtr),
    ) -> Result<()> {
        let mut changes: [Vec<([u64; 5], Option<Value>)>; 3] = Default::default();
        for (key, mut entry) in std::mem::take(&mut self.live) {
            for (number, slot) in entry.slots.iter_mut().enumerate().filter(|(_, slot)| !slot.is_empty()) {
                if slot.references == 0 || number == SLOT_DITTO {
                    let mut bp = key.pointer(self.checksum, slot);
                    free(bp.set_dedup(false));
                    *slot = Slot::default();
                    entry.changed = true;
                }
            }
            let references = references(&entry.slots);
            let class = (references > 0).then(|| Class::of(references));
            if let Some(old) = entry.stored.filter(|old| Some(*old) != class) {
                changes[old as usize].push((key.words(), None));
            }
            let Some(class) = class else { continue };
            if entry.stored.is_some_and(|old| class < old) {
                let blocks = entry.slots.iter().filter(|slot| !slot.is_empty());
                blocks.for_each(|slot| rose(&key.pointer(self.checksum, slot)));
            }
            self.count(cx.storage, class, &key, &entry.slots, Stat::add);
            if entry.changed || entry.stored != Some(class) {
                changes[class as usize].push((key.words(), Some(value_of(&entry.slots))));
            }
        }
        for (class, changes) in Class::ALL.into_iter().zip(changes) {
            if !changes.is_empty() {
                self.zap(cx, class)?.change_words(&changes, cx.tx)?;
            }
        }
        self.flush_statistics(cx)
    }

    fn flush_statistics(&mut self, cx: &Cx<'_>) -> Result<()> {
        let mut entries = 0;
        for zap in self.zaps() {
            entries += zap.count()?;
        }
        for class in Class::ALL {
            let Some(zap) = &self.zaps[class as usize] else { continue };
            let name = object_name(self.checksum, class);
            if entries > 0 {
                let words = self.histograms[class as usize].words();
                cx.statistics.update(&name, Value::U64(words), cx.tx)?;
                continue;
            }
            cx.directory.remove(&name, cx.tx)?;
            cx.statistics.remove(&name, cx.tx)?;
            cx.mos.free(zap.object(), cx.tx)?;
            self.zaps[class as usize] = None;
        }
        Ok(())
    }

    /// The ZAP of a class; made when it is first wanted.
    fn zap(&mut self, cx: &Cx<'_>, class: Class) -> Result<Zap> {
        if let Some(zap) = &self.zaps[class as usize] {
            return Ok(zap.clone());
        }
        let spec = ObjectSpec {
            indirect_shift: BLOCK_SHIFT,
            ..ObjectSpec::new(ObjectType::DDT_ZAP).with_block_size(1 << BLOCK_SHIFT)
        };
        // A checksum that blocks are trusted to be known by is as good as a hash.
        let prehashed = if self.checksum.is_dedup_strength() { FLAG_PRE_HASHED_KEY } else { 0 };
        let flags = FLAG_HASH64 | FLAG_UINT64_KEY | prehashed;
        let zap = Zap::create(cx.mos, spec, ZapParams { flags, ..(cx.salt)() }, cx.tx)?;
        cx.directory.add(object_name(self.checksum, class), zap.object(), cx.tx)?;
        self.zaps[class as usize] = Some(zap.clone());
        Ok(zap)
    }

    pub fn walk(&self, each: &mut dyn FnMut(ChecksumKind, Class, DdtKey, &Slots)) -> Result<()> {
        for class in Class::ALL {
            let Some(zap) = &self.zaps[class as usize] else { continue };
            for entry in zap.iter() {
                let entry = entry?;
                each(self.checksum, class, DdtKey::from_words(&entry.words)?, &slots_of(entry.value)?);
            }
        }
        Ok(())
    }
}

/// A value as ZAPs have it.
fn value_of(slots: &Slots) -> Value {
    let bytes = encode_slots(slots);
    let mut memory = Vec::new();
    let packed = codec::compress(CompressKind::Zle as u8, 0, &bytes, &mut memory, SLOTS_SIZE - 1);
    let (kind, body) = match packed.expect("zle is built in") {
        Some(packed) => (CompressKind::Zle, packed),
        None => (CompressKind::Off, &bytes[..]),
    };
    Value::U8([&[value_head(kind)], body].concat())
}

pub(super) fn slots_of(value: Value) -> Result<Slots> {
    let broken = || PoolError::Corrupt("entry of a deduplication table".into());
    let (&head, body) = value.as_bytes().and_then(<[u8]>::split_first).ok_or_else(broken)?;
    let (endian, compression) = parse_value_head(head);
    let mut bytes = [0; SLOTS_SIZE];
    codec::decompress(compression, body, &mut bytes).map_err(|_| broken())?;
    let slots = decode_slots(&bytes, endian)?;
    // What is found here is pointed to: it must be something that can be.
    let sound = |slot: &Slot| slot.is_empty() || slot.dvas[0].is_valid();
    if slots.iter().all(sound) { Ok(slots) } else { Err(broken()) }
}

#[cfg(test)]
mod tests {
    use ondisk::Dva;

    use super::*;

    #[test]
    fn values_are_packed_and_come_back() {
        let mut slots = Slots::default();
        slots[1] = Slot { dvas: [Dva::new(0, 4096, 512), Dva::EMPTY, Dva::EMPTY], references: 3, birth: 12 };
        let value = value_of(&slots);
        assert!(value.len() < SLOTS_SIZE / 4);
        assert_eq!(slots_of(value).unwrap(), slots);
        assert!(slots_of(Value::U8(Vec::new())).is_err());
        assert!(slots_of(Value::U8(vec![0x80 | CompressKind::Zle as u8, 9])).is_err());
        assert!(slots_of(Value::one(7)).is_err());
        slots[2] = Slot { birth: 7, ..Slot::default() };
        assert!(slots_of(value_of(&slots)).is_err(), "a block without a place");
    }
}
