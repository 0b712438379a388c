use ondisk::{ChecksumKind, CompressKind};

use super::*;
use crate::WritePolicy;
use crate::testing::{noise, plain, rig, text, with};

#[test]
fn every_checksum_and_compression_comes_back_and_notices_damage() {
    use ChecksumKind::{Blake3, EdonR, Fletcher2, Fletcher4, Sha256, Sha512, Skein};
    let compressions = CompressKind::ALL.iter().filter(|kind| !matches!(kind, CompressKind::Empty));
    let rig = rig(&[1]);
    rig.storage.set_salt(Salt([9; 32]));
    let data = text(65536, 3);
    for checksum in [Fletcher2, Fletcher4, Sha256, Sha512, Skein, EdonR, Blake3] {
        for &compression in compressions.clone() {
            let bp = rig.write_one(&data, with(checksum, compression));
            assert!(rig.read(&bp).unwrap()[..] == data[..], "{checksum:?} {compression:?}");
            let packed = compression != CompressKind::Off;
            assert_eq!(bp.psize() < bp.lsize(), packed, "{compression:?}");
            let at = (ondisk::label::START + bp.first_dva().offset) as usize;
            rig.disks.edit("a", |bytes| bytes[at + 100] ^= 1);
            assert_eq!(rig.read(&bp).unwrap_err(), ReadError::Checksum);
        }
    }
}

#[test]
fn salted_checksums_need_a_salt() {
    let rig = rig(&[1]);
    let mut bp = rig.write_one(&noise(4096, 1), plain());
    bp.set_checksum(ChecksumKind::Skein, bp.checksum());
    assert_eq!(rig.read(&bp).unwrap_err(), ReadError::Unsupported);
    bp.set_checksum(ChecksumKind::Zilog2, bp.checksum());
    assert_eq!(rig.read(&bp).unwrap_err(), ReadError::Unsupported);
}

#[test]
fn holes_and_embedded_data_need_no_disk() {
    let rig = rig(&[1]);
    let mut data = Block::zeroed(16384);
    data[..5].copy_from_slice(b"hello");
    let data = Arc::new(data);
    let policy = WritePolicy { embed: true, ..with(ChecksumKind::Fletcher4, CompressKind::Lz4) };
    let bp = rig.write_one(&data, policy);
    assert!(bp.is_embedded() && rig.storage.cached(&bp).unwrap()[..] == data[..]);
    let hole = rig.write_one(&Arc::new(Block::zeroed(4096)), policy);
    assert_eq!(hole, BlkPtr::HOLE);
    assert!(rig.read(&hole).unwrap().iter().all(|&byte| byte == 0));
    assert_eq!(rig.disks.counts("a").reads, 1, "the head, when it was opened");
}

/// As a big-endian machine leaves them: its sums are over words of its order, and only the pointer
/// tells.
#[test]
fn blocks_of_the_other_byte_order_come_in_ours() {
    let rig = rig(&[1]);
    for compression in [CompressKind::Off, CompressKind::Lz4] {
        let big: Vec<u8> = (0..2048_u64).flat_map(|word| (word / 9).to_be_bytes()).collect();
        let mut bp =
            rig.write_one(&Arc::new(Block::from_slice(&big)), with(ChecksumKind::Fletcher4, compression));
        let stored = match compression {
            CompressKind::Off => big.clone(),
            _ => rig.storage.read_as_stored(&[bp], IoClass::SyncRead).remove(0).unwrap(),
        };
        let sum = codec::checksum(ChecksumKind::Fletcher4 as u8, &stored, None, true).unwrap();
        // The highest bit of the properties says the order.
        let mut encoded = bp.encode();
        encoded[55] &= 0x7f;
        bp = BlkPtr::decode(&encoded, Endian::Little).unwrap();
        bp.set_object_type(ObjectType::BPOBJ).set_checksum(ChecksumKind::Fletcher4, sum);
        let little: Vec<u8> = (0..2048_u64).flat_map(|word| (word / 9).to_le_bytes()).collect();
        assert!(rig.read(&bp).unwrap()[..] == little[..], "{compression:?}");
        bp.set_object_type(ObjectType::PLAIN_FILE_CONTENTS);
        assert!(rig.read(&bp).unwrap()[..] == big[..], "{compression:?}");
    }
}

#[test]
fn bytes_that_sum_but_do_not_unpack_are_corrupt() {
    let rig = rig(&[1]);
    let mut bp = rig.write_one(&noise(4096, 1), plain());
    bp.set_compression(CompressKind::Zstd).set_lsize(65536);
    assert_eq!(rig.read(&bp).unwrap_err(), ReadError::Corrupt);
    let mut long = rig.write_one(&noise(4096, 2), plain());
    long.set_lsize(8192);
    assert_eq!(rig.read(&long).unwrap_err(), ReadError::Corrupt);
}
