use stdx::prng::Prng;

use super::*;

fn random_dnode(prng: &mut Prng) -> DnodePhys {
    let slots = prng.range(1, 5) as u8;
    let mut dnode = DnodePhys::new(ObjectType::PLAIN_FILE_CONTENTS, 131072, 17, slots);
    dnode.nlevels = prng.range(1, 4) as u8;
    dnode.maxblkid = prng.below(BLOCKS_END);
    dnode.used = prng.below(1 << 40);
    dnode.bonus_type = ObjectType::SA;
    if prng.chance(1, 3) {
        dnode.blkptrs = vec![BlkPtr::default(); 3];
    }
    if prng.chance(1, 2) && dnode.blkptrs.len() == 1 {
        dnode.flags |= FLAG_SPILL_BLKPTR;
        dnode.spill = Some(BlkPtr::default());
    }
    let len = prng.below(dnode.bonus_capacity() as u64 + 1) as usize;
    let mut bonus = vec![0; len];
    prng.fill(&mut bonus);
    dnode.bonus = bonus.into();
    dnode
}

#[test]
fn round_trips() {
    let mut prng = Prng::new(1);
    for _ in 0..500 {
        let dnode = random_dnode(&mut prng);
        let bytes = dnode.encode();
        assert_eq!(bytes.len(), dnode.slots() * SLOT_SIZE);
        assert_eq!(DnodePhys::decode(&bytes), Ok(Some(dnode)));
    }
}

#[test]
fn a_free_slot_is_none_and_interior_slots_are_passed_over() {
    let mut block = vec![0; BLOCK_SIZE];
    let mut large = DnodePhys::new(ObjectType::PLAIN_FILE_CONTENTS, 512, 17, 3);
    large.bonus = vec![0xff; large.bonus_capacity()].into();
    block[2 * SLOT_SIZE..5 * SLOT_SIZE].copy_from_slice(&large.encode());
    let small = DnodePhys::new(ObjectType::DIRECTORY_CONTENTS, 512, 17, 1);
    block[5 * SLOT_SIZE..6 * SLOT_SIZE].copy_from_slice(&small.encode());
    let found: Vec<_> = DnodeBlock::new(&block).collect();
    assert_eq!(found, [(2, Ok(large)), (5, Ok(small))]);
}

#[test]
fn hostile_bytes_are_errors() {
    let good = DnodePhys::new(ObjectType::PLAIN_FILE_CONTENTS, 512, 17, 1).encode();
    for (offset, value) in
        [(0, 99), (1, 25), (2, 0), (2, 13), (3, 0), (3, 4), (4, 99), (11, 2), (12, 1), (12, 32)]
    {
        let mut bad = good.clone();
        bad[offset] = value;
        assert!(DnodePhys::decode(&bad).is_err(), "byte {offset} = {value}");
    }
    assert!(DnodePhys::decode(&good[..511]).is_err());
    let mut prng = Prng::new(2);
    let mut noise = vec![0; BLOCK_SIZE];
    for _ in 0..200 {
        prng.fill(&mut noise);
        assert!(DnodeBlock::new(&noise).count() <= SLOTS_PER_BLOCK);
    }
}

#[test]
fn level_arithmetic() {
    let mut dnode = DnodePhys::new(ObjectType::DNODE, 16384, 17, 1);
    dnode.nlevels = 3;
    dnode.blkptrs = vec![BlkPtr::default(); 3];
    assert_eq!(dnode.epbs(), 10);
    assert_eq!(dnode.block_at_level(5 * 1024 * 1024 + 7, 2), 5);
    assert_eq!(dnode.span(1), 1024);
    assert_eq!(dnode.capacity_blocks(), 3 << 20);
    dnode.nlevels = 12;
    assert_eq!(dnode.capacity_blocks(), u64::MAX);
    assert_eq!(dnode.block_at_level(u64::MAX, 11), 0);
}

#[test]
fn an_object_longer_than_can_be_counted_is_refused() {
    let mut dnode = DnodePhys::new(ObjectType::PLAIN_FILE_CONTENTS, 512, 17, 1);
    dnode.blkptrs = vec![BlkPtr::HOLE];
    for (maxblkid, is_sound) in [(BLOCKS_END - 1, true), (BLOCKS_END, false), (u64::MAX, false)] {
        dnode.maxblkid = maxblkid;
        let found = DnodePhys::decode(&dnode.encode());
        assert_eq!(found.is_ok(), is_sound, "{maxblkid:#x}");
    }
}
