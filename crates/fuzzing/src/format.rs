//! What a device says about itself before anything else is known: labels, uberblocks, partitions,
//! pointers.

use ondisk::ddt::{self, DdtKey};
use ondisk::eck::Eck;
use ondisk::label::{self, config::PoolState};
use ondisk::nvlist::NvList;
use ondisk::object_type::ObjectType;
use ondisk::uberblock::Uberblock;
use ondisk::{BlkPtr, ChecksumKind, Endian, gang, gpt};

/// Takes a choice off the front of the input.
pub fn choice(data: &[u8]) -> (u8, &[u8]) {
    data.split_first().map_or((0, data), |(first, rest)| (*first, rest))
}

/// The rest as a block of this type, which a machine of either order wrote.
pub fn native(data: &[u8], object_type: ObjectType) -> Vec<u8> {
    let (order, block) = choice(data);
    let mut block = block.to_vec();
    if endian(order) == Endian::Big {
        ondisk::byteswap::to_little(object_type, 0, &mut block);
    }
    block
}

/// Byte order by the lowest bit.
pub fn endian(choice: u8) -> Endian {
    if choice & 1 == 0 { Endian::Little } else { Endian::Big }
}

pub fn nvlist(data: &[u8]) {
    let Ok(list) = NvList::decode(data) else { return };
    // What was decoded can be written, and is the same when read again; not compared as floats,
    // which may be NaN.
    let xdr = list.encode_xdr();
    let again = NvList::decode(&xdr).expect("an encoded list decodes");
    assert_eq!(again.encode_xdr(), xdr);
}

pub fn label(data: &[u8]) {
    let mut area = data.to_vec();
    area.resize(label::NVLIST_SIZE, 0);
    if let Ok(config) = label::decode_config(&area) {
        let _ = config.u64("state").and_then(PoolState::from_raw);
        let _ = config.nvlist("vdev_tree").map(|tree| tree.nvlist_array("children").len());
    }
    let size = data.len() as u64;
    if let Some(offsets) = label::offsets(size) {
        assert!(offsets.iter().all(|offset| offset + label::SIZE <= size));
    }
}

pub fn uberblock(data: &[u8]) {
    let Ok(uberblock) = Uberblock::decode(data) else { return };
    let _ = (uberblock.mmp(), uberblock.cmp_age(&uberblock));
    let slot = uberblock.encode_slot(8 << 10, [0; 4]);
    assert_eq!(Uberblock::decode(&slot), Ok(uberblock.clone()));
    pointer(&uberblock.root_bp);
}

/// With the checksums made right, which guessing would never do.
pub fn gpt(data: &[u8]) {
    let (shift, head) = choice(data);
    let size = 1_u64.checked_shl(u32::from(shift)).unwrap_or(u64::MAX);
    let mut head = head.to_vec();
    head.resize(gpt::HEAD_SIZE, 0);
    for sector in [512, 4096] {
        seal_table(&mut head, sector);
    }
    if let Ok(Some(partition)) = gpt::find_zfs(&head, size) {
        assert!(partition.start + partition.len <= size);
    }
}

fn seal_table(head: &mut [u8], sector: usize) {
    let word = |head: &[u8], at: usize| {
        Endian::Little.u32(*head[sector + at..].first_chunk().expect("inside the head"))
    };
    let (first, count, size) = (word(head, 72) as usize, word(head, 80) as usize, word(head, 84) as usize);
    let entries = first.saturating_mul(sector);
    if let Some(entries) = head.get(entries..entries.saturating_add(count.saturating_mul(size))) {
        let sum = crc32(entries);
        head[sector + 88..][..4].copy_from_slice(&sum.to_le_bytes());
    }
    head[sector + 16..][..4].fill(0);
    let sum = crc32(&head[sector..sector + 92]);
    head[sector + 16..][..4].copy_from_slice(&sum.to_le_bytes());
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}

/// Pointers one after the other, and the whole as the header of a gang.
pub fn blkptr(data: &[u8]) {
    let (order, bytes) = choice(data);
    for index in 0..bytes.len() / BlkPtr::SIZE {
        if let Ok(bp) = BlkPtr::decode_at(bytes, index, endian(order)) {
            pointer(&bp);
        }
    }
    if let Ok(eck) = Eck::decode_tail(bytes) {
        assert_eq!(Eck::decode(&eck.encode()), Ok(eck));
    }
    for bp in gang::decode(bytes).unwrap_or_default() {
        pointer(&bp);
    }
    for slot in ddt::decode_slots(bytes, endian(order)).iter().flatten() {
        pointer(&DdtKey::default().pointer(ChecksumKind::Sha256, slot));
    }
}

/// Everything that can be asked of a pointer.
pub fn pointer(bp: &BlkPtr) {
    assert_eq!(BlkPtr::decode(&bp.encode_as(Endian::Big), Endian::Big).as_ref(), Ok(bp));
    let _ = (bp.is_gang(), bp.uses_crypt(), bp.is_encrypted(), bp.is_authenticated(), bp.has_indirect_mac());
    let _ = (bp.is_dedup(), bp.is_rewritten(), bp.dvas(), bp.ndvas(), bp.asize(), bp.ucsize(), bp.fill());
    let _ = (bp.compression(), bp.checksum_kind(), bp.salt_and_iv(), bp.birth(), bp.hole_birth());
    let _ = (bp.object_type().name(), bp.object_type().byteswap(), gang::pointers_in(bp.psize() as usize));
    if let Ok(Some(embedded)) = bp.embedded() {
        assert!(embedded.payload().len() <= ondisk::blkptr::EMBEDDED_MAX);
    }
    if bp.validate().is_ok() && !bp.is_hole() {
        assert!(
            bp.is_embedded() || bp.lsize() <= ondisk::blkptr::MAX_BLOCK,
            "a valid block of {}",
            bp.lsize()
        );
        assert!(bp.is_embedded() || bp.dvas().iter().all(|dva| dva.offset.checked_add(dva.asize).is_some()));
        let _ = format!("{bp:?}");
    }
}
