use stdx::prng::Prng;

use super::*;
use crate::BlkPtr;
use crate::dnode::{DnodeBlock, DnodePhys};
use crate::malformed::{Endian, Writer};
use crate::znode::acl;
use crate::znode::phys::ZnodePhys;

/// A pointer whose words all differ from each other and from their swapped forms.
fn pointer(seed: u64) -> BlkPtr {
    let bytes: Vec<u8> = (0..BlkPtr::SIZE as u64).map(|at| (seed * 31 + at) as u8).collect();
    BlkPtr::decode(&bytes, Endian::Little).unwrap()
}

/// A dnode as a big-endian machine writes it; the bonus comes in that order already.
fn big_dnode(dnode: &DnodePhys, big_bonus: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; dnode.size()];
    let mut to = Writer::new(&mut bytes, Endian::Big);
    to.bytes(&[dnode.object_type.0, dnode.indblkshift, dnode.nlevels, dnode.blkptrs.len() as u8]);
    to.bytes(&[dnode.bonus_type.0, dnode.checksum, dnode.compress, dnode.flags]);
    to.u16(dnode.datablkszsec);
    to.u16(dnode.bonus.len() as u16);
    to.u8(dnode.extra_slots);
    to.skip(3);
    to.u64(dnode.maxblkid);
    to.u64(dnode.used);
    to.skip(32);
    for blkptr in &dnode.blkptrs {
        to.bytes(&blkptr.encode_as(Endian::Big));
    }
    to.bytes(big_bonus);
    if let Some(spill) = &dnode.spill {
        to.skip(dnode.size() - BlkPtr::SIZE - to.position());
        to.bytes(&spill.encode_as(Endian::Big));
    }
    bytes
}

fn big_words(words: impl IntoIterator<Item = u64>) -> Vec<u8> {
    words.into_iter().flat_map(u64::to_be_bytes).collect()
}

#[test]
fn a_block_of_dnodes_is_turned_with_its_bonuses() {
    let new =
        |kind, slots| DnodePhys { maxblkid: 0x1234, used: 0x56, ..DnodePhys::new(kind, 0x2_0200, 17, slots) };
    let with_words = DnodePhys {
        bonus_type: ObjectType::DSL_DIR,
        bonus: (1..=32_u64).flat_map(u64::to_le_bytes).collect::<Vec<u8>>().into(),
        blkptrs: vec![pointer(1)],
        ..new(ObjectType::DSL_DIR, 1)
    };
    let with_attributes = DnodePhys {
        bonus_type: ObjectType::SA,
        bonus: (0..200).collect::<Vec<u8>>().into(),
        spill: Some(pointer(2)),
        flags: dnode::FLAG_USED_BYTES | dnode::FLAG_SPILL_BLKPTR,
        ..new(ObjectType::PLAIN_FILE_CONTENTS, 3)
    };
    let without = DnodePhys { blkptrs: vec![pointer(3), pointer(4), pointer(5)], ..new(ObjectType::ZVOL, 1) };
    let mut block = big_dnode(&with_words, &big_words(1..=32));
    block.extend([0; SLOT_SIZE]);
    block.extend(big_dnode(&with_attributes, &with_attributes.bonus));
    block.extend(big_dnode(&without, &[]));
    to_little(ObjectType::DNODE, 0, &mut block);
    let found: Vec<_> = DnodeBlock::new(&block).map(|(slot, dnode)| (slot, dnode.unwrap())).collect();
    assert_eq!(found, [(0, with_words), (2, with_attributes), (5, without)]);
}

#[test]
fn an_indirect_block_is_turned_whatever_it_leads_to() {
    let mut block: Vec<u8> = (1..=8).flat_map(|seed| pointer(seed).encode_as(Endian::Big)).collect();
    to_little(ObjectType::PLAIN_FILE_CONTENTS, 1, &mut block);
    assert_eq!(block, (1..=8).flat_map(|seed| pointer(seed).encode()).collect::<Vec<u8>>());
    let content = block.clone();
    to_little(ObjectType::PLAIN_FILE_CONTENTS, 0, &mut block);
    assert_eq!(block, content);
}

#[test]
fn an_object_set_is_turned_but_for_its_codes() {
    let meta = DnodePhys { blkptrs: vec![pointer(1); 3], ..DnodePhys::new(ObjectType::DNODE, 16384, 14, 1) };
    let used =
        DnodePhys { blkptrs: vec![pointer(9)], ..DnodePhys::new(ObjectType::USERGROUP_USED, 512, 14, 1) };
    let mut block = big_dnode(&meta, &[]);
    // The log's header: two numbers, a pointer, numbers.
    block.extend(big_words([11, 12]));
    block.extend(pointer(2).encode_as(Endian::Big));
    block.extend(big_words([13, 14, 15, 0, 0, 0]));
    block.extend(big_words([2, objset::FLAG_USERACCOUNTING_COMPLETE]));
    block.extend((0..64).collect::<Vec<u8>>());
    block.resize(1024, 0);
    block.extend(big_dnode(&used, &[]));
    block.resize(2048, 0);
    to_little(ObjectType::OBJSET, 0, &mut block);
    let phys = objset::ObjsetPhys::decode(&block).unwrap();
    assert_eq!((&phys.meta_dnode, phys.userused_dnode.as_ref()), (&meta, Some(&used)));
    assert_eq!((phys.zil_header.claim_txg, phys.zil_header.log), (11, pointer(2)));
    assert_eq!(
        (phys.objset_type, phys.flags),
        (objset::ObjsetType::Zfs, objset::FLAG_USERACCOUNTING_COMPLETE)
    );
    assert_eq!((phys.portable_mac[1], phys.local_mac[0]), (1, 32));
}

#[test]
fn a_znode_is_turned_with_its_access_control_list() {
    let aces = acl::trivial(0o604, false);
    for old in [false, true] {
        let little = acl::in_znode(&aces, old);
        let mut bonus = big_words(0..22);
        let mut big = little.clone();
        big[0..8].reverse();
        big[8..12].reverse();
        big[12..14].reverse();
        big[14..16].reverse();
        // Entries that name nobody; with version 0: who (u32), mask (u32), flags (u16), type (u16).
        let fields: &[usize] = if old { &[4, 4, 2, 2] } else { &[2, 2, 4] };
        let mut at = 16;
        for _ in &aces {
            for len in fields {
                big[at..at + len].reverse();
                at += len;
            }
        }
        bonus.extend(big);
        bonus.extend(b"a symlink's target");
        let mut block = bonus;
        swap_content(ObjectType::ZNODE, &mut block);
        let znode = ZnodePhys::decode(&block).unwrap();
        assert_eq!((znode.generation, znode.size, znode.gid), (8, 10, 17));
        assert_eq!(
            (&block[176..264], &block[264..]),
            (&little[..], &b"a symlink's target"[..]),
            "old: {old}"
        );
    }
}

#[test]
fn tables_of_names_are_turned() {
    let mut micro = big_words((0..128).map(|_| 0));
    micro[..16].copy_from_slice(&big_words([zap::BLOCK_TYPE_MICRO, 77]));
    micro[64..76].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 42, 0, 0, 0, 3]);
    micro[64 + 14..64 + 18].copy_from_slice(b"name");
    to_little(ObjectType::DIRECTORY_CONTENTS, 0, &mut micro);
    let table = zap::micro::MicroZap::new(&micro).unwrap();
    let (_, entry) = table.find(b"name").unwrap();
    assert_eq!((table.salt, entry.value, entry.cd), (77, 42, 3));

    let mut pointers = big_words(1..=64);
    to_little(ObjectType::DIRECTORY_CONTENTS, 0, &mut pointers);
    assert_eq!(zap::fat::pointer_at(&pointers, 63), Some(64));
}

/// Of any length and content, as any type.
#[test]
fn any_bytes_can_be_turned() {
    let mut rng = Prng::new(3);
    for round in 0..20_000 {
        let len = rng.below(2100) as usize;
        let mut block: Vec<u8> = (0..len).map(|_| rng.next_u64() as u8).collect();
        if rng.chance(1, 3) && len >= 8 {
            let kind = [zap::BLOCK_TYPE_LEAF, zap::BLOCK_TYPE_MICRO, zap::BLOCK_TYPE_HEADER][round % 3];
            block[..8].copy_from_slice(&kind.to_be_bytes());
        }
        if rng.chance(1, 3) {
            block.resize(512 << rng.below(3), 0);
        }
        let len = block.len();
        let kind = ObjectType(rng.next_u64() as u8);
        to_little(kind, rng.below(2) as u8, &mut block);
        assert_eq!(block.len(), len);
    }
}
