use env::Quirk;
use ondisk::ChecksumKind;

use super::*;
use crate::testing::{Rig, noise, plain, rig, rig_of_raidz, text, with};
use crate::{Packed, WritePolicy};

/// Other bytes where a copy has its first, on a disk that is a vdev of its own.
fn hurt(rig: &Rig, bp: &BlkPtr) {
    for dva in bp.dvas().into_iter().filter(Dva::is_valid) {
        let disk = char::from(b'a' + dva.vdev as u8).to_string();
        let at = (ondisk::label::START + dva.offset) as usize;
        rig.disks.edit(&disk, |bytes| bytes[at + 100] ^= 1);
    }
    assert_eq!(rig.read(bp).unwrap_err(), ReadError::Checksum);
}

#[test]
fn all_copies_are_written_as_they_were() {
    let rig = rig(&[1, 1, 1]);
    let data = text(65536, 3);
    for compression in [CompressKind::Off, CompressKind::Lz4, CompressKind::Gzip7, CompressKind::Zle] {
        let policy = WritePolicy { copies: 2, ..with(ChecksumKind::Sha256, compression) };
        let bp = rig.write_one(&data, policy);
        hurt(&rig, &bp);
        assert_eq!(rig.storage.mend(&bp, &data, 0), Ok(()));
        assert!(rig.read(&bp).unwrap()[..] == data[..], "{compression:?}");
        // The second copy was written, too.
        let at = (ondisk::label::START + bp.dva(0).offset) as usize;
        rig.disks.edit(&char::from(b'a' + bp.dva(0).vdev as u8).to_string(), |bytes| bytes[at] ^= 1);
        assert!(rig.read(&bp).unwrap()[..] == data[..], "{compression:?}");
    }
}

/// A level that the dataset does not compress with any more is found; what came compressed needs
/// none.
#[test]
fn the_level_need_not_be_known() {
    let rig = rig(&[1]);
    let data = text(65536, 5);
    let policy = WritePolicy { complevel: 12, ..with(ChecksumKind::Fletcher4, CompressKind::Zstd) };
    let bp = rig.write_one(&data, policy);
    let bytes = rig.storage.read_as_stored(&[bp], IoClass::SyncRead).remove(0).unwrap();
    hurt(&rig, &bp);
    assert_eq!(rig.storage.mend(&bp, &data, 3), Ok(()));
    hurt(&rig, &bp);
    let packed = Packed { kind: CompressKind::Zstd, bytes };
    let came = Arc::new(Block::from_slice(&data).with_packed(packed));
    assert_eq!(rig.storage.mend(&bp, &came, 3), Ok(()));
}

#[test]
fn other_contents_are_not_written() {
    let rig = rig(&[1]);
    let bp = rig.write_one(&noise(4096, 1), plain());
    hurt(&rig, &bp);
    let writes = rig.disks.counts("a").writes;
    for other in [noise(4096, 2), noise(8192, 1), text(4096, 1)] {
        assert_eq!(rig.storage.mend(&bp, &other, 0), Err(ReadError::Checksum));
    }
    assert_eq!(rig.disks.counts("a").writes, writes);
}

#[test]
fn gangs_and_columns_are_mended_in_pieces() {
    let gangs = rig(&[1]);
    gangs.storage.env().quirks.set(Quirk::ForceGang, true);
    let data = noise(32768, 9);
    let bp = gangs.write_one(&data, plain());
    assert!(bp.is_gang());
    let pieces = gangs.storage.read_header(&gangs.storage.tree(), &bp, IoClass::SyncRead, 0).unwrap();
    hurt(&gangs, pieces.last().unwrap());
    assert!(gangs.read(&bp).is_err());
    assert_eq!(gangs.storage.mend(&bp, &data, 0), Ok(()));
    assert!(gangs.read(&bp).unwrap()[..] == data[..]);

    let columns = rig_of_raidz(1, 3, 12);
    let bp = columns.write_one(&data, plain());
    let at = (ondisk::label::START + bp.first_dva().offset / 3) as usize;
    for disk in ["a", "b", "c"] {
        columns.disks.edit(disk, |bytes| bytes[at & !0xfff..][..64 << 10].fill(7));
    }
    assert_eq!(columns.read(&bp).unwrap_err(), ReadError::Checksum);
    assert_eq!(columns.storage.mend(&bp, &data, 0), Ok(()));
    assert!(columns.read(&bp).unwrap()[..] == data[..]);
}
