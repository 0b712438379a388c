use super::*;
use env::{Disks, MemDisks, OpenMode};

const SIZE: u64 = 64 << 20;

fn device() -> (Arc<MemDisks>, Device) {
    let disks = Arc::new(MemDisks::new());
    disks.add("d", SIZE);
    let disk = disks.open("d", OpenMode::ReadWrite).unwrap();
    (disks, Device::locate(disk).unwrap())
}

fn config(txg: u64) -> NvList {
    let mut tree = NvList::new();
    tree.set(label::config::key::ASHIFT, 12u64);
    let mut list = NvList::new();
    list.set(label::config::key::POOL_NAME, "tank");
    list.set(label::config::key::POOL_TXG, txg);
    list.set(label::config::key::VDEV_TREE, ondisk::nvlist::NvValue::from(tree));
    list
}

fn uberblock(txg: u64) -> Uberblock {
    Uberblock { txg, guid_sum: 7, timestamp: 1_000 + txg, ..Uberblock::new(5000) }
}

#[test]
fn a_blank_device_has_no_labels() {
    let (_disks, device) = device();
    let found = device.read_labels();
    assert!(found.config().is_none() && found.uberblocks.is_empty());
}

#[test]
fn what_was_written_is_read_newest_first() {
    let (_disks, device) = device();
    device.init(&config(4)).unwrap();
    for txg in 4..50 {
        device.write_uberblock(&uberblock(txg), 12).unwrap();
    }
    let found = device.read_labels();
    assert_eq!(found.configs, [(); 4].map(|()| Some(config(4))));
    // A ring of 128 KiB has 32 slots of 4 KiB.
    let txgs: Vec<u64> = found.uberblocks.iter().map(|ub| ub.txg).collect();
    assert_eq!(txgs, (18..50).rev().collect::<Vec<_>>());
    assert_eq!(found.uberblocks[0], uberblock(49));
}

#[test]
fn the_newest_configuration_wins_and_damaged_ones_are_not_there() {
    let (disks, device) = device();
    device.init(&config(4)).unwrap();
    device.write_config(&config(9), true).unwrap();
    assert_eq!(device.read_labels().config(), Some(&config(9)));
    let offsets = label::offsets(SIZE).unwrap();
    for at in [offsets[0], offsets[2]] {
        disks.edit("d", |bytes| bytes[(at + label::NVLIST_OFFSET) as usize + 100] ^= 1);
    }
    let found = device.read_labels();
    assert_eq!(found.configs[0], None);
    assert_eq!(found.config(), Some(&config(4)));
}

#[test]
fn clearing_leaves_nothing_and_a_label_copied_elsewhere_is_void() {
    let (disks, device) = device();
    device.init(&config(4)).unwrap();
    device.write_uberblock(&uberblock(5), 12).unwrap();
    let image = disks.image("d");
    device.clear().unwrap();
    let found = device.read_labels();
    assert!(found.config().is_none() && found.uberblocks.is_empty());
    // Label 1's bytes in label 0's place.
    let one = image[label::SIZE as usize..2 * label::SIZE as usize].to_vec();
    disks.edit("d", |bytes| bytes[..one.len()].copy_from_slice(&one));
    let found = device.read_labels();
    assert!(found.config().is_none() && found.uberblocks.is_empty());
}

#[test]
fn a_tiny_device_is_refused() {
    let disks = MemDisks::new();
    disks.add("t", 1 << 20);
    let device = Device::locate(disks.open("t", OpenMode::ReadWrite).unwrap()).unwrap();
    assert!(device.read_labels().config().is_none());
    assert_eq!(device.init(&config(1)), Err(DiskError::OutOfRange));
}
