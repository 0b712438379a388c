//! System attributes of objects: small values in the bonus, and in the spill block what does not
//! fit there.
//!
//! Which attributes exist, and in which orders they are packed, is kept in two ZAPs of the object
//! set ([`tables`]). A buffer's header names its layout, so a value is found without searching.
//! Changing a value of the same length happens in place; any other change packs all the object's
//! attributes anew, in their old order with new ones last.
//!
//! File systems before version 5 have none of that: their nodes are znodes ([`znode`]), read and
//! changed in the same way.
//!
//! Callers serialise writers of one object; readers need no lock, for a bonus is replaced as a
//! whole. Source: module/zfs/sa.c.

mod tables;
mod view;
mod znode;

use std::sync::Arc;

use ondisk::byteswap::swap_attribute;
use ondisk::object_type::ObjectType;
use ondisk::sa::{self, AttrInfo, Header};
use ondisk::znode::attr::{self, ZplAttr};
use ondisk::{BlkPtr, Endian};

use crate::dnode::Dnode;
use crate::objset::Objset;
use crate::tx::Tx;
use crate::{Bonus, DmuError};
use tables::Tables;
pub use view::SaView;

/// The system attributes of one object set. A change is a value, or `None` to remove the attribute.
pub struct Sa {
    tables: Tables,
}

/// An attribute and its bytes, little endian, in the order in which they are packed.
struct Packed {
    info: AttrInfo,
    value: Vec<u8>,
}

impl Sa {
    /// Reads registry and layouts; `master` is the object that the master node calls `SA_ATTRS`.
    pub fn open(objset: &Arc<Objset>, master: u64) -> Result<Arc<Sa>, DmuError> {
        Ok(Arc::new(Sa { tables: Tables::load(objset, master)? }))
    }

    /// Makes the (empty) master object; registry and layouts follow with the first attributes.
    pub fn create(objset: &Arc<Objset>, tx: &Tx) -> Result<(u64, Arc<Sa>), DmuError> {
        let master = tables::create_master(objset, tx)?;
        Ok((master, Sa::open(objset, master)?))
    }

    /// Whether the file system has no system attributes: its nodes are znodes.
    pub fn is_old(&self) -> bool {
        self.tables.master() == 0
    }

    /// Makes an old file system one that can have system attributes; the master object. Nodes stay
    /// as they are until somebody gives them these.
    pub fn modernise(&self, objset: &Arc<Objset>, tx: &Tx) -> Result<u64, DmuError> {
        let master = tables::create_master(objset, tx)?;
        self.tables.set_master(master);
        Ok(master)
    }

    /// The attributes in the bonus: all that an object has, unless [`Dnode::has_spill`].
    pub fn read(&self, dnode: &Dnode) -> Result<SaView, DmuError> {
        let Bonus { bonus_type, bytes } = dnode.bonus();
        let mut view = SaView::default();
        match bonus_type {
            ObjectType::SA => self.add(dnode, bytes, &mut view)?,
            // An old znode is layout 0, without a header.
            ObjectType::ZNODE => {
                let found = znode::locate(&bytes).ok_or(corrupt(dnode))?;
                view.add(bytes, Endian::Little, found);
            }
            _ => return Err(corrupt(dnode)),
        }
        Ok(view)
    }

    /// All of them.
    pub fn read_all(&self, dnode: &Dnode) -> Result<SaView, DmuError> {
        let mut view = self.read(dnode)?;
        if let Some(block) = dnode.spill()? {
            self.add(dnode, block.to_vec(), &mut view)?;
        }
        Ok(view)
    }

    fn add(&self, dnode: &Dnode, bytes: Vec<u8>, view: &mut SaView) -> Result<(), DmuError> {
        let Some(header) = Header::decode(&bytes).map_err(|_| corrupt(dnode))? else { return Ok(()) };
        let layout = self.tables.layout(header.layout).ok_or(corrupt(dnode))?;
        let found = sa::locate(&bytes, &header, &layout, |number| self.tables.info(number));
        view.add(bytes, header.endian, found.map_err(|_| corrupt(dnode))?);
        Ok(())
    }

    /// This object set's number of an attribute.
    pub fn number(&self, attr: &ZplAttr) -> u16 {
        self.tables.number(attr)
    }

    /// A value, if the object has the attribute.
    pub fn get(&self, view: &SaView, attr: &ZplAttr) -> Option<Vec<u8>> {
        let (info, bytes, endian) = view.find(self.number(attr))?;
        Some(in_little_endian(&info, bytes, endian))
    }

    /// The first number of a value, if the object has the attribute.
    pub fn word(&self, view: &SaView, attr: &ZplAttr) -> Option<u64> {
        let (_, bytes, endian) = view.find(self.number(attr))?;
        ondisk::malformed::u64_at(bytes, 0, endian, "attribute").ok()
    }

    /// Both numbers of a time.
    pub fn pair(&self, view: &SaView, attr: &ZplAttr) -> Option<[u64; 2]> {
        let (_, bytes, endian) = view.find(self.number(attr))?;
        let word = |at| ondisk::malformed::u64_at(bytes, at, endian, "attribute").ok();
        Some([word(0)?, word(8)?])
    }

    /// Gives a new object its attributes, in this order; what it had is gone. Values are little
    /// endian.
    pub fn replace_all(
        &self,
        objset: &Arc<Objset>,
        dnode: &Dnode,
        values: &[(&ZplAttr, &[u8])],
        tx: &Tx,
    ) -> Result<(), DmuError> {
        self.tables.register(objset, tx)?;
        let packed = values.iter().map(|(attr, value)| self.packed(attr, value)).collect();
        self.pack(objset, dnode, packed, tx)
    }

    /// As [`Sa::replace_all`], of a node that is a znode.
    pub fn replace_znode(
        &self,
        dnode: &Dnode,
        values: &[(&ZplAttr, Option<&[u8]>)],
        tx: &Tx,
    ) -> Result<(), DmuError> {
        znode::replace(dnode, values, tx)
    }

    /// Sets attributes, and removes those given as `None`. Attributes that the object does not have
    /// yet come last.
    pub fn update(
        &self,
        objset: &Arc<Objset>,
        dnode: &Dnode,
        changes: &[(&ZplAttr, Option<&[u8]>)],
        tx: &Tx,
    ) -> Result<(), DmuError> {
        if self.update_in_place(dnode, changes, tx)? {
            return Ok(());
        }
        if dnode.bonus_type() == ObjectType::ZNODE {
            return znode::update(dnode, changes, tx);
        }
        self.tables.register(objset, tx)?;
        let view = self.read_all(dnode)?;
        let mut packed = Vec::new();
        for (info, bytes, endian) in view.iter() {
            packed.push(Packed { info, value: in_little_endian(&info, bytes, endian) });
        }
        for (attr, value) in changes {
            let number = self.number(attr);
            let place = packed.iter().position(|p| p.info.number == number);
            match (place, value) {
                (Some(at), Some(value)) => packed[at] = self.packed(attr, value),
                (None, Some(value)) => {
                    packed.insert(self.place_of_new(attr, &packed), self.packed(attr, value));
                }
                (Some(at), None) => drop(packed.remove(at)),
                (None, None) => {}
            }
        }
        self.pack(objset, dnode, packed, tx)
    }

    /// Where an attribute goes that the object did not have: behind all others, but for the
    /// project, which accounting looks for at a fixed place (`sa_add_projid` in module/zfs/sa.c).
    fn place_of_new(&self, attr: &ZplAttr, packed: &[Packed]) -> usize {
        let links = self.number(&attr::LINKS);
        let behind_links = packed.iter().position(|p| p.info.number == links).map(|at| at + 1);
        behind_links.filter(|_| *attr == attr::PROJID).unwrap_or(packed.len())
    }

    /// Where every change is of an attribute in the bonus and keeps its length.
    fn update_in_place(
        &self,
        dnode: &Dnode,
        changes: &[(&ZplAttr, Option<&[u8]>)],
        tx: &Tx,
    ) -> Result<bool, DmuError> {
        let view = self.read(dnode)?;
        let mut places = Vec::with_capacity(changes.len());
        for (attr, value) in changes {
            let (Some(value), Some(range)) = (value, view.place(self.number(attr))) else { return Ok(false) };
            if range.len() != value.len() || view.endian() != Some(Endian::Little) {
                return Ok(false);
            }
            places.push((range, *value));
        }
        dnode.update_bonus(tx, |bytes| {
            for (range, value) in places {
                bytes[range].copy_from_slice(value);
            }
        })?;
        Ok(true)
    }

    fn packed(&self, attr: &ZplAttr, value: &[u8]) -> Packed {
        let info = AttrInfo { number: self.number(attr), ..attr.info };
        assert!(
            info.is_variable() || usize::from(info.length) == value.len(),
            "{} has its length",
            attr.name
        );
        Packed { info, value: value.to_vec() }
    }

    /// Writes all attributes of an object: as many as fit into the bonus, the rest into the spill
    /// block.
    fn pack(
        &self,
        objset: &Arc<Objset>,
        dnode: &Dnode,
        packed: Vec<Packed>,
        tx: &Tx,
    ) -> Result<(), DmuError> {
        let too_big = packed.iter().any(|p| p.value.len() > usize::from(u16::MAX));
        let lengths: Vec<_> = packed.iter().map(|p| (p.value.len(), p.info.is_variable())).collect();
        let spill_pointer = if dnode.has_spill() { BlkPtr::SIZE } else { 0 };
        let fit = sa::fit_bonus(&lengths, dnode.bonus_capacity() + spill_pointer);
        let (bonus, spill) = packed.split_at(fit);
        // A layout's number is not needed to know how long a buffer is.
        if too_big || encode(0, spill).len() > sa::MAX_SPILL {
            return Err(DmuError::TooBig);
        }
        let bonus_layout = self.tables.find_or_add(objset, &numbers(bonus), tx)?;
        let bytes = encode(bonus_layout, bonus);
        if spill.is_empty() {
            if dnode.has_spill() {
                dnode.set_spill(None, tx)?;
            }
            return dnode.set_bonus(ObjectType::SA, &bytes, tx);
        }
        let spill_layout = self.tables.find_or_add(objset, &numbers(spill), tx)?;
        dnode.set_bonus(ObjectType::SA, &bytes, tx)?;
        let mut block = encode(spill_layout, spill);
        block.resize(block.len().next_multiple_of(512), 0);
        dnode.set_spill(Some(&block), tx)
    }
}

fn in_little_endian(info: &AttrInfo, bytes: &[u8], endian: Endian) -> Vec<u8> {
    let mut value = bytes.to_vec();
    if endian == Endian::Big {
        swap_attribute(info.swap, &mut value);
    }
    value
}

fn numbers(packed: &[Packed]) -> Vec<u16> {
    packed.iter().map(|p| p.info.number).collect()
}

fn encode(layout: u16, packed: &[Packed]) -> Vec<u8> {
    let values: Vec<_> = packed.iter().map(|p| (p.info, &p.value[..])).collect();
    sa::encode(layout, &values)
}

fn corrupt(dnode: &Dnode) -> DmuError {
    DmuError::Corrupt { object: dnode.object(), block: 0 }
}

#[cfg(test)]
mod tests;
