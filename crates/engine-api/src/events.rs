//! What happened in a pool, for whoever watches.

/// One event; `seq` grows by one per pool and tells a slow reader what it missed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub seq: u64,
    pub kind: EventKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// The transaction group is on stable storage.
    Synced {
        txg: u64,
    },
    DatasetCreated {
        name: String,
    },
    DatasetDestroyed {
        name: String,
    },
    DatasetRenamed {
        from: String,
        to: String,
    },
    PropertyChanged {
        name: String,
        property: String,
    },
    /// A device answered with an error or bad data.
    DeviceError {
        path: String,
        what: &'static str,
    },
}
