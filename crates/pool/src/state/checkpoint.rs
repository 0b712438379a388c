//! What is known of the pool's checkpoint; see [`crate::checkpoint`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use dmu::Objset;
use dmu::zap::Zap;
use env::lock;
use ondisk::object_type::pool_directory;
use ondisk::uberblock::Uberblock;
use storage::VdevConfig;

use crate::space::open_map;
use crate::{PoolError, Result};

/// In a top-level vdev's ZAP: the map of what the checkpoint keeps there
/// (`VDEV_TOP_ZAP_POOL_CHECKPOINT_SM`).
pub(crate) const MAP: &str = "com.delphix:pool_checkpoint_sm";

/// What an operator asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Take,
    Discard,
}

/// A request on its way.
pub(crate) struct Waiting {
    pub ask: Ask,
    pub outcome: Arc<Mutex<Option<Result<()>>>>,
}

/// Map of what is kept on a vdev.
#[derive(Clone, Copy)]
pub(crate) struct Kept {
    pub object: u64,
    /// Bytes.
    pub space: u64,
    pub ashift: u32,
}

#[derive(Default)]
pub(crate) struct State {
    /// Txg of the checkpoint; 0: there is none, or it is being discarded.
    pub txg: u64,
    pub time: u64,
    /// By top-level vdev.
    pub maps: BTreeMap<u32, Kept>,
    /// The uberblock of the last durable group.
    pub newest: Option<Uberblock>,
    /// A map cannot be read: what it keeps is lost.
    pub is_stuck: bool,
    /// The import went back to the checkpoint of this group, and the history does not say so yet.
    pub gone_back: Option<u64>,
}

impl State {
    pub fn space(&self) -> u64 {
        self.maps.values().fold(0, |sum, kept| sum.saturating_add(kept.space))
    }
}

/// See the module.
#[derive(Default)]
pub struct CheckpointState {
    pub(crate) state: Mutex<State>,
    /// By the group in which it is to be done.
    pub(crate) waiting: Mutex<BTreeMap<u64, Vec<Waiting>>>,
}

impl CheckpointState {
    /// Of a pool that is being imported from this uberblock.
    pub(crate) fn load(
        mos: &Arc<Objset>,
        directory: &Zap,
        tree: &VdevConfig,
        newest: &Uberblock,
    ) -> Result<CheckpointState> {
        let mut state = State { newest: Some(newest.clone()), ..State::default() };
        if let Some(uberblock) = uberblock_of(directory)? {
            (state.txg, state.time) = (uberblock.txg, uberblock.timestamp);
        }
        for top in &tree.children {
            let Some(zap) = top.top_zap.filter(|zap| *zap != 0) else { continue };
            let Some(object) = Zap::open(mos, zap)?.find_u64(MAP)?.filter(|object| *object != 0) else {
                continue;
            };
            let (_, phys) = open_map(mos, object)?;
            let ashift = top.ashift.unwrap_or(9).min(63) as u32;
            let kept = Kept { object, space: phys.alloc.min(0).unsigned_abs(), ashift };
            state.maps.insert(top.id as u32, kept);
        }
        Ok(CheckpointState { state: Mutex::new(state), waiting: Mutex::default() })
    }

    /// Txg of the checkpoint; 0: there is none.
    pub fn txg(&self) -> u64 {
        lock(&self.state).txg
    }

    /// Bytes that only the checkpoint needs, or needed before it was discarded
    /// (`spa_get_checkpoint_space`).
    pub fn space(&self) -> u64 {
        lock(&self.state).space()
    }

    /// The same, of one top-level vdev.
    pub fn space_of(&self, vdev: u32) -> u64 {
        lock(&self.state).maps.get(&vdev).map_or(0, |kept| kept.space)
    }

    /// The import has gone back to the checkpoint of this group.
    pub(crate) fn gone_back(&self, txg: u64) {
        lock(&self.state).gone_back = Some(txg);
    }

    /// A group with this uberblock is durable.
    pub(crate) fn note_group(&self, uberblock: &Uberblock) {
        lock(&self.state).newest = Some(uberblock.clone());
    }
}

/// The uberblock of the checkpoint, if the MOS has one.
pub(crate) fn uberblock_of(directory: &Zap) -> Result<Option<Uberblock>> {
    let Some(value) = directory.find(pool_directory::ZPOOL_CHECKPOINT)? else { return Ok(None) };
    let words = value.as_words().ok_or_else(|| PoolError::Corrupt("the checkpoint's uberblock".into()))?;
    let uberblock = Uberblock::from_words(words)?;
    if uberblock.txg == 0 || uberblock.checkpoint_txg != uberblock.txg {
        return Err(PoolError::Corrupt("the checkpoint's uberblock is none of a checkpoint".into()));
    }
    Ok(Some(uberblock))
}
