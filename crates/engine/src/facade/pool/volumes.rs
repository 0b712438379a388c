//! Open volumes of a pool, and what servers are given of them.
//!
//! Servers keep a [`VolumeHandle`], never an open volume: with each call it asks for the one that
//! is open now, which is taken away when its dataset goes or is rolled back, and opened again at
//! the next call.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Weak};

use ::pool::PoolError;
use ::pool::dsl::{Dataset, LongHold};
use ::pool::kept::VolumeKey;
use ::pool::zil::LogData;
use engine_api::{
    Change, DatasetFilter, DatasetKind, Error, Promise, PropertyChange, ReadBuf, Result, Seek, ServedVolume,
    Source, Stable, Volume, VolumeGeometry, VolumeId, VolumeRoom,
};
use env::lock;
use ondisk::objset::ObjsetType;

use super::super::activity::{Guids, VolumeCounting};
use super::super::convert::api_error;
use super::super::intent::{self, Unreplayable};
use super::super::volume_copy;
use super::LocalPool;
use super::open_once::{Opened, take_forgotten};
use crate::zvol::{Keeping, Zvol};

/// A dataset that is open as a volume.
pub(super) struct OpenVolume {
    dataset: LongHold,
    zvol: Arc<Zvol>,
}

impl Opened for OpenVolume {
    fn dataset(&self) -> &Dataset {
        &self.dataset
    }
}

/// See the module.
pub(in crate::facade) struct VolumeHandle {
    pool: Weak<LocalPool>,
    object: u64,
    id: VolumeId,
    counting: Arc<VolumeCounting>,
}

impl VolumeHandle {
    /// As long as the number leads to the same dataset.
    fn open(&self) -> Result<Arc<OpenVolume>> {
        let open = self.pool()?.open_volume_object(self.object).map_err(|error| match error {
            Error::Busy => Error::Busy,
            _ => Error::Stale,
        })?;
        if open.dataset.guid() == self.id.dataset_guid { Ok(open) } else { Err(Error::Stale) }
    }

    fn zvol(&self) -> Result<Arc<Zvol>> {
        Ok(self.open()?.zvol.clone())
    }

    fn name(&self) -> Result<String> {
        self.open()?.dataset.name().map_err(api_error)
    }

    fn pool(&self) -> Result<Arc<LocalPool>> {
        self.pool.upgrade().ok_or(Error::Stale)
    }
}

impl Volume for VolumeHandle {
    fn id(&self) -> VolumeId {
        self.id
    }

    fn geometry(&self) -> Result<VolumeGeometry> {
        Ok(self.zvol()?.geometry())
    }

    fn room(&self) -> Result<VolumeRoom> {
        let (used, available) = self.open()?.dataset.space().map_err(api_error)?;
        Ok(VolumeRoom { used, available })
    }

    fn is_waiting(&self) -> bool {
        self.pool().is_ok_and(|pool| pool.inner().core().storage.suspension().makes_wait())
    }

    fn read(&self, offset: u64, len: usize) -> Result<ReadBuf> {
        self.counting.read((offset, len as u64), || self.zvol()?.read(offset, len))
    }

    fn write(&self, offset: u64, data: &[u8], stable: Stable) -> Result<()> {
        self.counting.write((offset, data.len()), || self.zvol()?.write(offset, data, stable))
    }

    fn write_whole(&self, offset: u64, data: &[u8], stable: Stable) -> Result<()> {
        self.counting.write((offset, data.len()), || self.zvol()?.write_whole(offset, data, stable))
    }

    fn write_promised(&self, offset: u64, data: &[u8]) -> Result<Promise> {
        self.counting.write_promised((offset, data.len()), || self.zvol()?.write_promised(offset, data))
    }

    fn modify(
        &self,
        offset: u64,
        len: usize,
        stable: Stable,
        change: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> Result<()> {
        self.counting.write((offset, len), || self.zvol()?.modify(offset, len, stable, change))
    }

    fn write_zeroes(&self, offset: u64, len: u64, stable: Stable) -> Result<()> {
        let _call = self.counting.free(offset, len);
        self.zvol()?.write_zeroes(offset, len, stable)
    }

    fn copy_from(&self, source: &dyn Volume, from: u64, to: u64, len: u64) -> Result<()> {
        let _call = self.counting.uncounted(to, len);
        volume_copy::copy(source, from, self, to, len)
    }

    fn seek(&self, offset: u64, what: Seek) -> Result<u64> {
        let _call = self.counting.uncounted(offset, 0);
        self.zvol()?.seek(offset, what)
    }

    fn flush(&self) -> Result<()> {
        let _call = self.counting.flush();
        self.zvol()?.flush()
    }

    fn note(&self, name: &str) -> Result<String> {
        let filter = DatasetFilter {
            roots: vec![self.name()?],
            depth: Some(0),
            props: vec![name.to_owned()],
            ..DatasetFilter::default()
        };
        let listed = self.pool()?.inner().dsl.list(&filter).map_err(api_error)?;
        let own = listed.into_iter().next().and_then(|dataset| dataset.props.into_iter().next());
        Ok(own.filter(|own| own.source == Source::Local).map_or_else(String::new, |own| own.value))
    }

    fn set_note(&self, name: &str, text: &str) -> Result<()> {
        let (dataset, name) = (self.name()?, name.to_owned());
        let change = match text {
            "" => Change::Inherit { name: dataset, property: name, received: false },
            _ => {
                let value = text.to_owned();
                Change::SetProperties { name: dataset, props: vec![PropertyChange { name, value }] }
            }
        };
        self.pool()?.make_change(&change, "").map(drop)
    }
}

impl LocalPool {
    pub(in crate::facade) fn volume(&self, name: &str) -> Result<Arc<VolumeHandle>> {
        let object = self.pool.dsl.object_of(name).map_err(api_error)?;
        let open = self.open_volume_object(object)?;
        let id = VolumeId { pool_guid: self.pool.guid(), dataset_guid: open.dataset.guid() };
        let mut handles = lock(&self.volume_handles);
        // The number may have been that of a dataset that is no more.
        let known = handles.get(&object).filter(|known| known.id == id).cloned();
        Ok(known.unwrap_or_else(|| {
            let counting = self.activity.of_volume((id.pool_guid, id.dataset_guid), name);
            let handle = Arc::new(VolumeHandle { pool: self.this.clone(), object, id, counting });
            handles.insert(object, handle.clone());
            handle
        }))
    }

    fn open_volume_object(&self, object: u64) -> Result<Arc<OpenVolume>> {
        self.open_volume_or(object, Unreplayable::Keep)
    }

    pub(super) fn open_volume_or(&self, object: u64, unreplayable: Unreplayable) -> Result<Arc<OpenVolume>> {
        self.open_once(&self.volumes, object, ObjsetType::Zvol, |name, dataset| {
            let zvol = self.open_zvol(name, &dataset, unreplayable)?;
            Ok(OpenVolume { dataset, zvol })
        })
    }

    /// A volume ready for use: what its log says has been done, and what was kept beside it. Where
    /// that cannot be, it can be read, and both stay.
    fn open_zvol(&self, name: &str, dataset: &LongHold, unreplayable: Unreplayable) -> Result<Arc<Zvol>> {
        let core = self.pool.core();
        let volume = VolumeKey { object: dataset.object(), guid: dataset.guid() };
        let open = |zil| {
            let keeping = Keeping { pool: core.kept.get().cloned(), volume, txgs: core.txgs.clone() };
            Zvol::open(dataset.objset().clone(), self.env.clone(), zil, keeping)
        };
        let zil = dataset.zil().filter(|_| !self.pool.core().readonly && !dataset.is_snapshot());
        let Some(zil) = zil.filter(|_| dataset.readonly().is_none()) else { return open(None) };
        let zvol = open(Some(zil.clone()))?;
        let props = dataset.props().map_err(api_error)?;
        intent::set_mode(zil, &props);
        if let Err(why) = intent::replay_volume(&zvol, zil, name) {
            if unreplayable == Unreplayable::Keep {
                tracing::error!(
                    name,
                    why,
                    "the intent log cannot be replayed: the volume is read-only, its log kept"
                );
                lock(&self.unreplayable).insert(dataset.object(), name.to_owned());
                return open(None);
            }
            tracing::error!(name, why, "the intent log is given up: its last records are lost");
            zil.abandon().map_err(|error| api_error(error.into()))?;
        }
        match zvol.do_again() {
            Ok(0) => {}
            Ok(writes) => {
                tracing::info!(name, writes, "what was answered when the program died has been done again");
            }
            Err(error) if unreplayable == Unreplayable::Keep => {
                tracing::error!(name, %error, "what was answered when the program died cannot be done again: the volume is read-only");
                lock(&self.unreplayable).insert(dataset.object(), name.to_owned());
                return open(None);
            }
            Err(error) => {
                tracing::error!(name, %error, "what was answered when the program died is given up: it is lost");
                core.kept.get().inspect(|kept| kept.done(volume));
            }
        }
        zvol.set_readonly(props.is_on("readonly"));
        let source: Weak<dyn LogData> = Arc::<Zvol>::downgrade(&zvol);
        zil.attach(source);
        Ok(zvol)
    }

    /// Opens all volumes with something to be done again: nobody is to see them without. What
    /// became of a volume that is no more is nobody's concern.
    pub(in crate::facade) fn do_volumes_again(&self) {
        let Some(kept) = self.pool.core().kept.get() else { return };
        for volume in kept.waiting() {
            match self.pool.dsl.open_by_object(volume.object) {
                Ok(dataset) if dataset.guid() == volume.guid => {
                    if let Err(error) = self.open_volume_object(volume.object) {
                        tracing::error!(?volume, %error, "what was answered when the program died waits");
                    }
                }
                Ok(_) | Err(PoolError::NotFound) => kept.done(volume),
                Err(error) => {
                    tracing::error!(?volume, %error, "what was answered when the program died waits");
                }
            }
        }
    }

    /// Makes a change after which the volume is to have so many bytes.
    pub(in crate::facade) fn resize(
        &self,
        name: &str,
        size: u64,
        commit: impl FnOnce() -> ::pool::Result<u64>,
    ) -> ::pool::Result<u64> {
        let open = self.volume(name).and_then(|handle| handle.zvol());
        let zvol = match open {
            Ok(zvol) => zvol,
            Err(Error::Busy) => return Err(PoolError::Busy),
            // What is no volume is refused by the change.
            Err(_) => return commit(),
        };
        let before = self.pool.dsl.volume_size(name)?;
        if size < before {
            zvol.set_size(size);
        }
        let done = commit();
        let after = self.pool.dsl.volume_size(name)?;
        zvol.set_size(after);
        if after < before
            && let Err(error) = zvol.trim_end()
        {
            tracing::warn!(name, %error, "what lies behind the new end of the volume is not freed");
        }
        done
    }

    /// Properties may have changed: tell the open volumes. Those that are no more are closed.
    pub(super) fn refresh_volumes(&self) {
        take_forgotten(&self.volumes);
        let open: Vec<Arc<OpenVolume>> = lock(&self.volumes).values().cloned().collect();
        for volume in open {
            match volume.dataset.props() {
                Ok(props) => {
                    volume.zvol.set_readonly(props.is_on("readonly"));
                    volume.dataset.zil().inspect(|zil| intent::set_mode(zil, &props));
                }
                Err(error) => tracing::warn!(%error, "properties of an open volume cannot be read"),
            }
        }
    }

    pub(super) fn names_of_volumes(&self, wanted: &HashSet<Guids>) -> HashMap<Guids, String> {
        let open: Vec<Arc<OpenVolume>> = lock(&self.volumes).values().cloned().collect();
        self.named(open.iter().map(|volume| &volume.dataset), wanted)
    }

    /// Somebody serves the volume.
    pub(super) fn is_volume_in_use(&self, object: u64) -> bool {
        lock(&self.volume_handles).get(&object).is_some_and(|handle| Arc::strong_count(handle) > 1)
    }

    /// Nobody has the volume open afterwards but who is in the middle of a call; gives what that
    /// uses.
    pub(super) fn close_volume(&self, object: u64) -> Option<Arc<Zvol>> {
        Some(lock(&self.volumes).remove(&object)?.zvol.clone())
    }

    pub(super) fn close_volumes(&self) {
        lock(&self.volumes).clear();
        lock(&self.served_volumes).clear();
    }

    /// Volumes of which this property is set, opened.
    pub(in crate::facade) fn served_volumes(&self, property: &str) -> Vec<ServedVolume> {
        let generation = self.generation.load(SeqCst);
        let waits = self.pool.core().storage.suspension().is_waiting();
        let known = lock(&self.served_volumes).get(property).cloned();
        match known {
            // What was served is served still; to look again may take until an operator comes.
            Some((at, list)) if at == generation || waits => return list,
            None if waits => return Vec::new(),
            _ => {}
        }
        let list = self.find_served_volumes(property);
        lock(&self.served_volumes).insert(property.to_owned(), (generation, list.clone()));
        list
    }

    fn find_served_volumes(&self, property: &str) -> Vec<ServedVolume> {
        let filter = DatasetFilter {
            kinds: vec![DatasetKind::Volume],
            props: vec![property.to_owned(), "creation".to_owned()],
            ..DatasetFilter::default()
        };
        let listed = self.pool.dsl.list(&filter).unwrap_or_else(|error| {
            tracing::warn!(%error, "volumes cannot be listed");
            Vec::new()
        });
        let served = listed.into_iter().filter_map(|dataset| {
            let [share, created] = &dataset.props[..] else { return None };
            let (share, created) = (share.value.clone(), created.value.parse().unwrap_or(u64::MAX));
            if share.is_empty() || share == "off" {
                return None;
            }
            let volume = self.volume(&dataset.name);
            let volume =
                volume.inspect_err(|error| tracing::warn!(name = dataset.name, %error, "cannot be served"));
            let volume = volume.ok()?;
            Some(ServedVolume { dataset: dataset.name, share, created, known_as: volume.id(), volume })
        });
        served.collect()
    }
}
