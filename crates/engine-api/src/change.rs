//! Every administrative change of a pool is a value: console, command line, services, pool history
//! and the simulator build the same `Change`.

use crate::{Grant, InitializeCommand, NewDevice, NewVdevs, PropertyChange, ScanCommand, TrimCommand};

#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// `parents` makes missing ancestors (`zfs create -p`), and an existing dataset is then no
    /// error.
    CreateFilesystem { name: String, parents: bool, props: Vec<PropertyChange> },
    /// A volume of `volsize` bytes, rounded up to whole blocks. Unless it is `sparse`, or its
    /// `refreservation` is given, all that it can ever take is kept for it.
    CreateVolume { name: String, parents: bool, sparse: bool, props: Vec<PropertyChange> },
    /// All of them or none. Names are datasets, snapshots (`fs@snap`) and bookmarks (`fs#mark`), in
    /// the order of a [`crate::DestroyPlan`]. With `defer`, snapshots that clones or holds keep go
    /// with the last of these.
    Destroy { names: Vec<String>, defer: bool },
    /// All of them at one moment, or none; with `recursive`, of everything below, too. `props` are
    /// users' properties.
    Snapshot { names: Vec<String>, recursive: bool, props: Vec<PropertyChange> },
    /// Makes a dataset this snapshot again, which is its last.
    Rollback { snapshot: String },
    /// Makes a dataset that begins as the snapshot is.
    Clone { snapshot: String, name: String, parents: bool, props: Vec<PropertyChange> },
    /// Makes the snapshots that a clone shares with its origin the clone's own.
    Promote { name: String },
    /// Of a snapshot, or a copy of a bookmark.
    Bookmark { source: String, name: String },
    /// Keeps snapshots from being destroyed; with `recursive`, those of the same name below, too.
    Hold { snapshots: Vec<String>, tag: String, recursive: bool },
    /// Takes a tag away again, as [`Change::Hold`] puts it there.
    Release { snapshots: Vec<String>, tag: String, recursive: bool },
    /// Of a dataset.
    SetProperties { name: String, props: Vec<PropertyChange> },
    /// Back to the parent's value or the default.
    Inherit { name: String, property: String, received: bool },
    /// `recursive` is for snapshots: those of the same name below get the new one, too.
    Rename { from: String, to: String, parents: bool, recursive: bool },
    /// Delegates permissions of a dataset.
    Allow { name: String, grants: Vec<Grant> },
    /// Takes delegated permissions back; with `recursive`, from all below, too.
    Unallow { name: String, grants: Vec<Grant>, recursive: bool },
    /// Destroys what a receive that can be resumed has left of a dataset.
    AbortReceive { name: String },
    /// Of the pool.
    SetPoolProperties { props: Vec<PropertyChange> },
    /// `force` uses devices that look in use.
    AddVdevs { vdevs: NewVdevs, force: bool },
    /// By guid, as [`crate::VdevStatus`] has it.
    RemoveVdev { guid: u64 },
    /// Takes a device that is out of use into use again; with `expand`, also what it has more than
    /// before.
    OnlineVdev { guid: u64, expand: bool },
    /// Until it is brought online, or with `temporary` until the next import.
    OfflineVdev { guid: u64, temporary: bool },
    /// As if it had erred too often, until that is cleared, or with `temporary` until the next
    /// import.
    FaultVdev { guid: u64, temporary: bool },
    /// Makes a device a side of the mirror that a vdev is part of, or becomes.
    AttachVdev { guid: u64, new: NewDevice },
    /// Takes one side out of a mirror.
    DetachVdev { guid: u64 },
    /// Puts a device in the place of another, which goes when all of it is there.
    ReplaceVdev { guid: u64, new: NewDevice },
    /// Looks at all devices anew: those that are another's by now are used no more, those that are
    /// back are.
    ReopenVdevs,
    /// Gives the pool another guid; `None`: any.
    Reguid { guid: Option<u64> },
    /// Takes a checkpoint: the pool can be imported as it is now, until the checkpoint is
    /// discarded.
    TakeCheckpoint,
    /// Gives up the checkpoint, and in the background the space that only it needs.
    DiscardCheckpoint,
    /// Tells disks which of their space is free, in the background; by their guids. `Refused` names
    /// those that cannot be: the others are.
    TrimVdevs {
        guids: Vec<u64>,
        command: TrimCommand,
        /// Of what begins: bytes a second; 0: as fast as it goes.
        rate: u64,
    },
    /// Writes to all free space of disks, in the background; as [`Change::TrimVdevs`].
    InitializeVdevs {
        guids: Vec<u64>,
        command: InitializeCommand,
        /// Of what begins: what is written, eight bytes again and again; `None`: as OpenZFS does.
        value: Option<u64>,
    },
    /// Begins, pauses, or ends a scan.
    Scan(ScanCommand),
    /// Forgets the errors of one device or of all, and takes those into use again that were given
    /// up for them.
    ClearErrors { guid: Option<u64> },
}

impl Change {
    /// Whether it only makes, holds, releases or destroys snapshots and bookmarks. File systems and
    /// volumes keep their names and their properties then.
    pub fn is_of_snapshots(&self) -> bool {
        match self {
            Change::Snapshot { .. }
            | Change::Bookmark { .. }
            | Change::Hold { .. }
            | Change::Release { .. } => true,
            Change::Destroy { names, .. } => names.iter().all(|name| name.contains(['@', '#'])),
            _ => false,
        }
    }
}

/// The change is on stable storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    pub txg: u64,
}
