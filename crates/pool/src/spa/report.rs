//! What an operator sees of a vdev: its name, and plain data.

use storage::{VdevKind, VdevStat};

use crate::state::rebuild::RebuildReport;
use crate::sweep::LeafSweep;

/// A vdev and what is known of it.
#[derive(Clone, Debug)]
pub struct VdevReport {
    /// As `zpool status` names it: the path's last part, `mirror-0`, `raidz2-0`, the pool's name
    /// for the root.
    pub name: String,
    /// Number among its siblings.
    pub id: u64,
    pub stat: VdevStat,
    pub ashift: u32,
    /// Bytes; of vdevs with space of their own (the root, top-level vdevs, cache devices), else 0.
    pub allocated: u64,
    pub size: u64,
    /// Bytes of the device, of a leaf.
    pub physical: u64,
    /// Percent; of top-level vdevs.
    pub fragmentation: Option<u8>,
    /// The sequential resilver of a top-level vdev that runs, or ran last.
    pub rebuild: Option<RebuildReport>,
    /// How the trimming of a disk is, and whether the disk can be trimmed.
    pub trim: Option<LeafSweep>,
    pub can_trim: bool,
    /// How the initializing of a disk is.
    pub initialize: Option<LeafSweep>,
    /// Bytes that the disks have more than the pool uses; of the root and top-level vdevs.
    pub expandable: u64,
    /// Bytes that only the checkpoint needs; of top-level vdevs.
    pub checkpoint: u64,
    /// It was an operator who faulted it.
    pub is_condemned: bool,
    /// Of a hot spare: the pool that it is in use by.
    pub used_by: Option<String>,
    pub children: Vec<VdevReport>,
}

impl VdevReport {
    /// Of a vdev of which no more than this is known.
    pub(super) fn of(name: String, id: u64, stat: VdevStat) -> VdevReport {
        VdevReport {
            name,
            id,
            stat,
            ashift: 0,
            allocated: 0,
            size: 0,
            physical: 0,
            fragmentation: None,
            rebuild: None,
            trim: None,
            can_trim: false,
            initialize: None,
            expandable: 0,
            checkpoint: 0,
            is_condemned: false,
            used_by: None,
            children: Vec::new(),
        }
    }

    /// The name of the vdev of this guid, at or below; else the guid.
    pub fn name_of(&self, guid: u64) -> String {
        fn find(report: &VdevReport, guid: u64) -> Option<&str> {
            if report.stat.guid == guid {
                return Some(&report.name);
            }
            report.children.iter().find_map(|child| find(child, guid))
        }
        find(self, guid).map_or_else(|| guid.to_string(), str::to_owned)
    }
}

/// As `zpool status` names a vdev.
pub fn vdev_name(kind: &VdevKind, path: Option<&str>, guid: u64, id: u64) -> String {
    match (kind, path) {
        (VdevKind::Disk, Some(path)) => path.rsplit('/').next().unwrap_or(path).to_owned(),
        (_, Some(path)) => path.to_owned(),
        (kind, None) if kind.is_leaf() => guid.to_string(),
        (VdevKind::Raidz(parity), None) => format!("{}{parity}-{id}", kind.name()),
        (kind, None) => format!("{}-{id}", kind.name()),
    }
}
