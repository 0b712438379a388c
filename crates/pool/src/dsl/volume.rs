//! Volumes as datasets: how one is made, how large it is, and what it takes of the pool when it is
//! full.
//!
//! Sources: `zvol_create_cb` in module/zfs/zvol.c; `zvol_volsize_to_reservation` in
//! lib/libzfs/libzfs_dataset.c.

use std::sync::Arc;

use api_types::DatasetKind;
use dmu::zap::ZapParams;
use dmu::{ObjectSpec, Objset, Tx, Zap};
use ondisk::object_type::ObjectType;
use ondisk::objset::ObjsetType;
use ondisk::{version, zvol};

use super::Dsl;
use super::dataset::Dataset;
use super::dir::Dir;
use crate::Result;
use crate::prop::RawProps;

/// Block pointers in an indirect block of a volume (`DNODES_PER_LEVEL`).
const POINTERS: u64 = 1024;
/// Levels that the meta dnode has at the most.
const META_LEVELS: u64 = 7;
/// Of indirect blocks, in bytes.
const INDIRECT: u64 = 128 << 10;
/// Copies that a block can have.
const MAX_COPIES: u64 = 3;

/// Bytes, as the volume says itself.
pub(crate) fn size_of(objset: &Arc<Objset>) -> Result<u64> {
    Ok(Zap::open(objset, zvol::PROPS)?.lookup_u64(zvol::SIZE)?)
}

/// Of its blocks, in bytes.
pub(crate) fn block_of(objset: &Arc<Objset>) -> Result<u64> {
    Ok(objset.hold(zvol::DATA)?.block_size().into())
}

impl Dsl {
    /// A new volume in a directory that has no dataset yet. Syncing context.
    pub(crate) fn create_volume_in(
        &self,
        dir: &Arc<Dir>,
        props: &RawProps,
        (size, block): (u64, u64),
        tx: &Tx,
    ) -> Result<Arc<Dataset>> {
        let object = self.create_dataset(dir, self.origin_snap(), tx)?;
        self.write_props(dir, props, tx)?;
        let dataset = self.new_objset(object, ObjsetType::Zvol, &self.fs_props(object)?, tx)?;
        let objset = dataset.objset();
        // The two are neighbours, whatever `dnodesize` says.
        let data = ObjectSpec::new(ObjectType::ZVOL).with_block_size(block as u32).with_slots(1);
        objset.claim(zvol::DATA, data, tx)?;
        let params = ZapParams::salted(self.mos.random());
        let spec = ObjectSpec::new(ObjectType::ZVOL_PROP).with_slots(1);
        let zap = Zap::claim(objset, zvol::PROPS, spec, params, tx)?;
        zap.update(zvol::SIZE, size, tx)?;
        Ok(dataset)
    }

    /// Bytes of a volume, by name.
    pub fn volume_size(&self, name: &str) -> Result<u64> {
        let _config = self.reading();
        size_of(self.open_object(self.find(name)?.object)?.objset())
    }

    /// Bytes of a volume, and of its blocks.
    pub(crate) fn volume_shape(&self, object: u64) -> Result<(u64, u64)> {
        let dataset = self.open_object(object)?;
        Ok((size_of(dataset.objset())?, block_of(dataset.objset())?))
    }

    /// Says that a volume has so many bytes. What is behind the end is freed by whoever has it
    /// open. Syncing context.
    pub(crate) fn set_volume_size(&self, object: u64, size: u64, tx: &Tx) -> Result<()> {
        let dataset = self.open_object(object)?;
        Ok(Zap::open(dataset.objset(), zvol::PROPS)?.update(zvol::SIZE, size, tx)?)
    }

    /// The property that keeps space for a volume; old pools have one only (`zfs_which_resv_prop`).
    pub fn volume_limit(&self) -> &'static str {
        if self.version() >= version::REF_LIMITS { "refreservation" } else { "reservation" }
    }

    /// The reservation with which a volume never lacks space: all its blocks written, none of them
    /// compressed, and the indirect blocks above them.
    pub(crate) fn volume_reservation(&self, size: u64, block: u64, copies: u64) -> u64 {
        let mut level = size / block;
        let data = self.parts.store().largest_volume(level, block).saturating_mul(copies);
        let mut indirect = META_LEVELS;
        while level > 1 {
            level = level.div_ceil(POINTERS);
            indirect += level;
        }
        data.saturating_add(indirect * (copies + 1).min(MAX_COPIES) * INDIRECT)
    }

    /// What `refreservation=auto` means for a volume, or for clones of a snapshot of one.
    pub(crate) fn reservation_of(&self, object: u64) -> Result<u64> {
        let (size, block) = self.volume_shape(object)?;
        // As OpenZFS does when it is set: copies are not asked for.
        Ok(self.volume_reservation(size, block, 1))
    }

    /// Whether all that a volume can take is kept for it; of what is no volume it is not.
    pub fn is_reserved_whole(&self, name: &str) -> Result<bool> {
        let _config = self.reading();
        let found = self.find(name)?;
        if self.kind_of(&found)? != DatasetKind::Volume {
            return Ok(false);
        }
        let (size, block) = self.volume_shape(found.object)?;
        self.has_auto_reservation(&found.dir, size, block)
    }

    /// Whether a volume's reservation is what its size asks for, so that it goes with the size.
    pub(crate) fn has_auto_reservation(&self, dir: &Dir, size: u64, block: u64) -> Result<bool> {
        // As OpenZFS does when a size is set: copies are not asked for.
        Ok(self.local_number(dir, self.volume_limit())? == self.volume_reservation(size, block, 1))
    }
}
