use storage::{VdevConfig, VdevKind};

use super::*;

fn report(kind: VdevKind, size: u64, physical: u64, children: Vec<VdevReport>) -> VdevReport {
    VdevReport {
        name: String::new(),
        id: 0,
        stat: storage::VdevStat::blank(&VdevConfig::new(kind, 0, 1)),
        ashift: 12,
        allocated: 0,
        size,
        physical,
        fragmentation: None,
        rebuild: None,
        trim: None,
        can_trim: true,
        initialize: None,
        expandable: 0,
        checkpoint: 0,
        is_condemned: false,
        used_by: None,
        children,
    }
}

#[test]
fn how_far_a_disk_is_goes_by_the_space_of_its_top_level_vdev() {
    let suspended = LeafSweep { state: ondisk::trim::STATE_SUSPENDED, next: 750, time: 1, how: 0 };
    // A disk of a raidz has a part of that space, and one that is offline has no size at all.
    for physical in [1000, 0] {
        let mut disk = report(VdevKind::Disk, 0, physical, Vec::new());
        disk.initialize = Some(suspended);
        let raidz = report(VdevKind::Raidz(1), 3000, 0, vec![disk]);
        let root = vdev_status(&report(VdevKind::Root, 9000, 0, vec![raidz]), None);
        assert_eq!(root.children[0].children[0].initialize.percent, 24, "{physical}");
    }
}
