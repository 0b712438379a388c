//! What happened to pools and their devices, as `zpool events` shows it.

/// A value of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZeventValue {
    Number(u64),
    Text(String),
}

/// One event of any pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zevent {
    /// Grows; never used twice while the engine lives.
    pub eid: u64,
    /// Seconds and nanoseconds since 1970.
    pub time: (i64, u32),
    /// OpenZFS's: `sysevent.fs.zfs.config_sync`, `ereport.fs.zfs.checksum`, …
    pub class: String,
    /// By OpenZFS's names, in its order; `pool` is the pool's.
    pub payload: Vec<(String, ZeventValue)>,
}
