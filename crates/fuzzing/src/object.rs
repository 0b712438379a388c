//! What lies in blocks: dnodes, object sets, ZAPs, attributes, space maps, lists and logs.

use ondisk::bookmark::BookmarkPhys;
use ondisk::bpobj::{self, BpobjPhys};
use ondisk::bptree::{BptreeEntry, BptreePhys};
use ondisk::byteswap::swap_attribute;
use ondisk::dnode::{DnodeBlock, DnodePhys};
use ondisk::dsl_dataset::DslDatasetPhys;
use ondisk::dsl_dir::DslDirPhys;
use ondisk::l2arc::{DeviceHeader, ENTRIES_MAX as LOG_ENTRIES_MAX, LogBlock};
use ondisk::object_type::ObjectType;
use ondisk::objset::ObjsetPhys;
use ondisk::sa::{self, AttrInfo};
use ondisk::scan::ScanPhys;
use ondisk::send::{Begin, Limits, Record as StreamRecord};
use ondisk::spa_history::SpaHistoryPhys;
use ondisk::spacemap::{Entries, SpaceMapPhys, UnflushedPhys};
use ondisk::zap::fat::{self, FatHeader};
use ondisk::zap::hash;
use ondisk::zap::leaf::{Key, Leaf, LeafMut};
use ondisk::zap::micro::MicroZap;
use ondisk::zap::value::Value;
use ondisk::zil::{self, Records, ZilChain, ZilHeader, record::Record};
use ondisk::znode::{self, Dirent, ZnodePhys, acl, phys};
use ondisk::{BlkPtr, Endian, deadlist, zap as zap_format};

use crate::format::{choice, endian, native, pointer};

pub fn dnode(data: &[u8]) {
    let block = &native(data, ObjectType::DNODE);
    for dnode in DnodeBlock::new(block).filter_map(|(_, dnode)| dnode.ok()) {
        look_at(&dnode);
    }
    if let Ok(Some(dnode)) = DnodePhys::decode(block) {
        assert_eq!(DnodePhys::decode(&dnode.encode()), Ok(Some(dnode)));
    }
}

fn look_at(dnode: &DnodePhys) {
    let _ = (dnode.used_bytes(), dnode.capacity_blocks(), dnode.epbs(), dnode.bonus_capacity());
    for level in 0..=dnode.nlevels {
        let _ = (dnode.span(level), dnode.block_at_level(dnode.maxblkid, level));
    }
    assert!(dnode.data_block_size() <= ondisk::blkptr::MAX_BLOCK && dnode.data_block_size() > 0);
    dnode.blkptrs.iter().chain(&dnode.spill).for_each(pointer);
    let _ = (znode::owner_of_sa(&dnode.bonus), znode::owner_of_znode(&dnode.bonus));
}

pub fn objset(data: &[u8]) {
    let block = &native(data, ObjectType::OBJSET);
    let Ok(objset) = ObjsetPhys::decode(block) else { return };
    look_at(&objset.meta_dnode);
    pointer(&objset.zil_header.log);
}

/// A block as every part of a ZAP.
pub fn zap(data: &[u8]) {
    let block = &native(data, ObjectType::DIRECTORY_CONTENTS);
    let _ = zap_format::form(block);
    if let Ok(micro) = MicroZap::new(block) {
        let _ = (micro.find(b"name"), micro.chunks().count());
        assert!(micro.entries().count() <= micro.capacity());
    }
    if let Ok(head) = FatHeader::decode(block) {
        for hash in [0, u64::MAX, head.salt] {
            let slot = fat::slot(hash, head.ptrtbl.shift);
            let _ = fat::pointer_at(block, slot as usize);
        }
        let mut copy = block.clone();
        head.write(&mut copy);
        assert!(FatHeader::decode(&copy).is_ok());
    }
    let Ok(leaf) = Leaf::new(block) else { return };
    leaf.with_hash(leaf.prefix).for_each(drop);
    for entry in leaf.entries().unwrap_or_default() {
        if let Ok(name) = leaf.name(&entry) {
            assert!(!name.is_empty() && leaf.key_is(&entry, &Key::Name(&name)).unwrap_or(true));
        }
        let _ = (leaf.words(&entry), leaf.value(&entry).map(|value| (value.as_u64(), value.first())));
        let _ = leaf.key_is(&entry, &Key::Words(&[1, 2]));
    }
}

/// Changes a leaf that passed the check as a whole.
pub fn zap_leaf_edit(data: &[u8]) {
    let (order, rest) = choice(data);
    let (work, block) = choice(rest);
    let (mut block, words) = (block.to_vec(), order & 1 != 0);
    let Ok(mut leaf) = LeafMut::new(&mut block, words) else { return };
    let entries = leaf.view().entries().expect("a checked leaf lists its entries");
    for entry in entries.iter().take(usize::from(work % 8)) {
        leaf.remove(entry);
    }
    let (key, value) = (Key::Name(b"added"), Value::one(7));
    let hash = hash::of_name(b"added", 1, 0);
    let room = usize::from(leaf.view().free_chunks) >= ondisk::zap::leaf::entry_chunks(&key, &value);
    if !words && room && leaf.view().covers(hash) {
        let cd = leaf.free_cd(hash);
        leaf.insert(&key, hash, cd, &value);
    }
    assert!(LeafMut::new(&mut block, words).is_ok(), "a changed leaf is a good leaf");
}

/// A bonus or spill block: by layout, and as the znode of old pools.
pub fn attributes(data: &[u8]) {
    let (order, bytes) = choice(data);
    if let Ok(Some(header)) = sa::Header::decode(bytes) {
        let layout: Vec<u16> = (0..u16::from(order)).collect();
        let info = |number: u16| AttrInfo::decode(u64::from(number % 3) << 27 | u64::from(number)).ok();
        for (info, range) in sa::locate(bytes, &header, &layout, info).unwrap_or_default() {
            let mut value = bytes[range].to_vec();
            swap_attribute(info.swap, &mut value);
        }
    }
    let _ = (znode::owner_of_sa(bytes), znode::owner_of_znode(bytes));
    if let Ok(old) = ZnodePhys::decode(&native(data, ObjectType::ZNODE)) {
        let _ = format!("{old:?}");
    }
    let _ = phys::inline_target(bytes, bytes.len() as u64 * 2);
    if let Ok(aces) = acl::decode(bytes, endian(order)) {
        assert_eq!(acl::decode(&acl::encode(&aces), Endian::Little), Ok(aces));
    }
    znode::swap_aces(&mut bytes.to_vec());
    if let Some(word) = bytes.first_chunk() {
        let word = endian(order).u64(*word);
        let _ = (Dirent::decode(word), znode::decode_rdev(word), AttrInfo::decode(word));
    }
}

pub fn spacemap(data: &[u8]) {
    let bytes = &native(data, ObjectType::SPACE_MAP);
    let _ = (SpaceMapPhys::decode(bytes), UnflushedPhys::decode(bytes));
    assert!(Entries::new(bytes).count() <= bytes.len().div_ceil(8));
}

/// A record of a send stream, in either order.
pub fn stream(data: &[u8]) {
    let Some(bytes) = data.first_chunk() else { return };
    let limits = Limits { block: 16 << 20, slots: 32 };
    for order in [Endian::Little, Endian::Big] {
        let Ok(record) = StreamRecord::decode(bytes, order) else { continue };
        if let StreamRecord::Begin(begin) = &record {
            assert!(record.check(begin, &limits).is_err(), "no stream begins twice");
            continue;
        }
        // Whatever may be announced is.
        let begin = Begin {
            header_type: 1,
            features: u64::MAX >> 8,
            creation_time: 0,
            objset_type: 2,
            flags: u32::MAX,
            to_guid: 7,
            from_guid: 0,
            to_name: String::new(),
            payload_len: 0,
        };
        if record.check(&begin, &limits).is_ok() {
            assert!(record.payload_len() <= limits.block, "{record:?}");
        }
        let again = StreamRecord::decode(&record.encode(7), Endian::Little);
        assert_eq!(again.as_ref(), Ok(&record));
    }
}

/// The meta object set's small structures.
pub fn lists(data: &[u8]) {
    let (order, bytes) = choice(data);
    let order = endian(order);
    let _ = (BpobjPhys::decode(bytes), BptreeEntry::decode(bytes), BptreePhys::decode(bytes));
    let _ = (DslDirPhys::decode(bytes), ScanPhys::decode(bytes));
    let _ = (SpaHistoryPhys::decode(bytes), BookmarkPhys::decode(bytes));
    if let Ok(dataset) = DslDatasetPhys::decode(bytes) {
        pointer(&dataset.bp);
        let _ = dataset.is_snapshot();
    }
    if let Ok(bp) = BlkPtr::decode(bytes, order) {
        let _ = bpobj::is_freed(&bpobj::entry(&bp, true));
    }
    let _ = deadlist::parse_int_key(bytes);
}

pub fn intent_log(data: &[u8]) {
    let (order, bytes) = choice(data);
    let order = endian(order);
    let _ = ZilHeader::decode(bytes).map(|header| pointer(&header.log));
    let _ = ZilChain::decode(bytes, order).map(|chain| pointer(&chain.next));
    for (head, record) in Records::new(bytes, order).filter_map(Result::ok) {
        if let Some(Ok(bp)) = zil::write_target(head.txtype, record, order) {
            pointer(&bp);
        }
        if let Ok(decoded) = Record::decode(&head, record, order) {
            let again = decoded.encode_as(order);
            let (head, bytes) = Records::new(&again, order).next().expect("one record").expect("well formed");
            assert_eq!(Record::decode(&head, bytes, order), Ok(decoded));
        }
    }
}

/// What a cache device says of its contents: the header, and a log block of as many entries as it
/// says.
pub fn cache_device(data: &[u8]) {
    let header = DeviceHeader::decode(data);
    if let Ok(header) = &header {
        let area = header.encode(DeviceHeader::SIZE, [0; 4]);
        assert_eq!(DeviceHeader::decode(&area), Ok(*header));
    }
    let count = header.map_or(LOG_ENTRIES_MAX, |header| header.log_entries as usize);
    let mut bytes = data.get(DeviceHeader::SIZE..).unwrap_or(data).to_vec();
    bytes.resize(LogBlock::SIZE, 0);
    let Ok(block) = LogBlock::decode(&bytes, count) else { return };
    assert!(block.entries.len() <= LOG_ENTRIES_MAX);
    for entry in &block.entries {
        let prop = entry.prop;
        let _ = (prop.compression_raw(), prop.checksum_raw(), prop.contents(), prop.list());
        assert!(prop.lsize() > 0 && prop.psize() > 0 && prop.psize() <= 32 << 20);
    }
    assert_eq!(LogBlock::decode(&block.encode(), block.entries.len()), Ok(block));
}
