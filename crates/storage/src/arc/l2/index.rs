//! Which blocks lie where on the cache devices.
//!
//! A name leads to a device and a running number, the number to a slot in the order of writing: so
//! the writer gives up the oldest slots of its device one by one, as its hand comes upon them, and
//! every entry costs the same.

use std::collections::{HashMap, VecDeque};

use ondisk::l2arc::Prop;

use crate::arc::Key;

/// Bytes that an entry costs: its slot, its place in the map, slack.
pub(super) const ENTRY: u64 = 128;
/// The first running number; older blocks found at a rebuild go below.
const FIRST: u64 = 1 << 48;

/// A block of the pool.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Name {
    pub vdev: u32,
    pub offset: u64,
    pub birth: u64,
}

impl From<&Key> for Name {
    fn from(key: &Key) -> Name {
        Name { vdev: key.vdev, offset: key.offset, birth: key.birth }
    }
}

/// A block on a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    pub name: Name,
    /// On the partition.
    pub address: u64,
    /// Sizes and kinds, as log blocks have them.
    pub prop: Prop,
}

/// Blocks of one device, oldest first. A forgotten one leaves a gap.
pub(super) struct Held {
    /// Number of the oldest slot.
    first: u64,
    slots: VecDeque<Option<Slot>>,
}

impl Default for Held {
    fn default() -> Held {
        Held { first: FIRST, slots: VecDeque::new() }
    }
}

impl Held {
    fn get(&self, number: u64) -> Option<&Slot> {
        self.slots.get(self.at(number)?)?.as_ref()
    }

    fn get_mut(&mut self, number: u64) -> Option<&mut Option<Slot>> {
        let at = self.at(number)?;
        self.slots.get_mut(at)
    }

    fn number(&self, at: usize) -> u64 {
        self.first + at as u64
    }

    fn at(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.first)?).ok()
    }
}

/// By name: number of the device, number of the slot.
#[derive(Default)]
pub(super) struct Index(HashMap<Name, (u32, u64)>);

impl Index {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The device that has a block.
    pub fn device(&self, name: &Name) -> Option<u32> {
        Some(self.0.get(name)?.0)
    }

    /// Its slot on that device.
    pub fn slot<'a>(&self, name: &Name, held: &'a Held) -> Option<&'a Slot> {
        held.get(self.0.get(name)?.1)
    }

    /// Adds what was written last. What was known under this name elsewhere is not any more; its
    /// slot is given back if it was on the same device.
    pub fn push_newest(&mut self, device: u32, held: &mut Held, slot: Slot) -> Option<Slot> {
        held.slots.push_back(Some(slot));
        let number = held.number(held.slots.len() - 1);
        let (was_on, was) = self.0.insert(slot.name, (device, number))?;
        if was_on == device { held.get_mut(was).and_then(Option::take) } else { None }
    }

    /// Adds what was written before all that is known of the device; `false` if the name is known.
    pub fn push_oldest(&mut self, device: u32, held: &mut Held, slot: Slot) -> bool {
        if self.0.contains_key(&slot.name) {
            return false;
        }
        held.slots.push_front(Some(slot));
        held.first -= 1;
        self.0.insert(slot.name, (device, held.number(0)));
        true
    }

    /// Takes out a block.
    pub fn forget(&mut self, name: &Name, held: &mut Held) -> Option<Slot> {
        let (_, number) = self.0.remove(name)?;
        held.get_mut(number).and_then(Option::take)
    }

    /// Takes out the oldest block of a device if `gone` says so; gaps go with it.
    pub fn pop_oldest(&mut self, device: u32, held: &mut Held, gone: &dyn Fn(&Slot) -> bool) -> Option<Slot> {
        loop {
            let front = held.slots.front()?;
            if front.as_ref().is_some_and(|slot| !gone(slot)) {
                return None;
            }
            let number = held.number(0);
            let slot = held.slots.pop_front().flatten();
            held.first += 1;
            if let Some(slot) = slot {
                if self.0.get(&slot.name) == Some(&(device, number)) {
                    self.0.remove(&slot.name);
                }
                return Some(slot);
            }
        }
    }
}

#[cfg(test)]
mod tests;
