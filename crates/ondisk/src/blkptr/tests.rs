use super::*;
use stdx::prng::Prng;

/// `DMU_OT_PLAIN_FILE_CONTENTS`, an encrypted type.
const FILE: ObjectType = ObjectType(19);

fn sample() -> BlkPtr {
    let mut bp = BlkPtr::new(FILE, 0, 131_072, 4096);
    bp.set_compression(CompressKind::Lz4)
        .set_checksum(ChecksumKind::Fletcher4, [1, 2, 3, 4])
        .set_dva(0, Dva::new(0, 0x1000, 0x2000))
        .set_dva(1, Dva::new(3, 0x40_0000, 0x1000))
        .set_birth(77, 77)
        .set_fill(1);
    bp
}

#[test]
fn fields_come_back() {
    let bp = sample();
    let back = BlkPtr::decode(&bp.encode(), Endian::Little).unwrap();
    assert_eq!(back, bp);
    assert_eq!((back.lsize(), back.psize(), back.asize(), back.ndvas()), (131_072, 4096, 0x3000, 2));
    assert_eq!((back.object_type(), back.level(), back.fill()), (FILE, 0, 1));
    assert_eq!(back.dva(1), Dva::new(3, 0x40_0000, 0x1000));
    assert_eq!(back.compression(), Ok(CompressKind::Lz4));
    assert_eq!(back.checksum_kind(), Ok(ChecksumKind::Fletcher4));
    assert_eq!((back.birth(), back.physical_birth(), back.byteorder()), (77, 77, Endian::Little));
    assert_eq!(back.validate(), Ok(()));
}

#[test]
fn the_words_lie_where_zfs_has_them() {
    let words = *sample().words();
    assert_eq!(words[0], 0x10);
    assert_eq!(words[1], 0x8);
    assert_eq!(words[2], 3 << 32 | 8);
    // LE, type 19, fletcher4 (7), lz4 (15), psize 8 − 1 and lsize 256 − 1 sectors.
    assert_eq!(words[6], 0x8013_070f_0007_00ff);
    assert_eq!((words[9], words[10], words[11]), (0, 77, 1));
    assert_eq!(words[12..], [1, 2, 3, 4]);
}

#[test]
fn any_bits_survive_and_nothing_panics() {
    let mut prng = Prng::new(1);
    for _ in 0..20_000 {
        let mut bytes = [0; BlkPtr::SIZE];
        prng.fill(&mut bytes);
        for endian in [Endian::Little, Endian::Big] {
            let bp = BlkPtr::decode(&bytes, endian).unwrap();
            assert_eq!(bp.encode_as(endian), bytes);
            let _ =
                (bp.validate(), bp.lsize(), bp.psize(), bp.asize(), bp.fill(), bp.birth(), bp.salt_and_iv());
            if let Ok(Some(embedded)) = bp.embedded() {
                assert!(embedded.payload().len() <= EMBEDDED_MAX);
            }
            for i in 0..DVAS {
                let pair = [bp.words[2 * i], bp.words[2 * i + 1]];
                assert_eq!(Dva::from_words(pair).to_words(), pair);
            }
        }
    }
}

#[test]
fn embedded_payload_skips_shape_and_birth() {
    let payload: Vec<u8> = (1..=112).collect();
    for len in [1, 8, 47, 48, 49, 72, 111, 112] {
        let bp = BlkPtr::new_embedded(FILE, 0, 500, CompressKind::Lz4, &payload[..len], 9);
        let back = BlkPtr::decode(&bp.encode(), Endian::Little).unwrap();
        let embedded = back.embedded().unwrap().unwrap();
        assert_eq!(embedded.payload(), &payload[..len]);
        assert_eq!(back.words[PROP] & 0xffff_ffff, 499 | (len as u64 - 1) << 25, "both less one");
        assert_eq!((embedded.lsize, back.lsize(), back.psize()), (500, 500, 0));
        assert_eq!((back.birth(), back.ndvas(), back.fill(), back.is_hole()), (9, 0, 1, false));
        assert_eq!(back.validate(), Ok(()));
    }
    let full = BlkPtr::new_embedded(FILE, 0, 112, CompressKind::Off, &payload, 9);
    assert_eq!(full.words[10], 9);
    assert_eq!(full.words[7].to_le_bytes(), payload[48..56]);
}

#[test]
fn holes_keep_their_past() {
    assert!(BlkPtr::HOLE.is_hole());
    assert_eq!((BlkPtr::HOLE.lsize(), BlkPtr::HOLE.hole_birth()), (512, 0));
    let bp = BlkPtr::punched(FILE, 1, 16_384, 42);
    assert!(bp.is_hole() && !bp.is_gang());
    assert_eq!((bp.hole_birth(), bp.level(), bp.lsize(), bp.validate()), (42, 1, 16_384, Ok(())));
}

#[test]
fn an_encrypted_block_has_two_copies_and_a_short_fill() {
    let mut bp = sample();
    bp.set_dva(2, Dva::new(1, 0x200, 0x200)).set_prop(CRYPT, 1);
    bp.words[FILL] = 0xaabb_ccdd_0000_0005;
    assert!(bp.is_encrypted() && !bp.is_authenticated());
    assert_eq!((bp.ndvas(), bp.fill(), bp.asize()), (2, 5, 0x3000));
    let (salt, iv) = bp.salt_and_iv().unwrap();
    assert_eq!(salt, bp.words[4].to_le_bytes());
    assert_eq!(iv[8..], [0xdd, 0xcc, 0xbb, 0xaa]);
    bp.set_prop(LEVEL, 1);
    assert!(bp.has_indirect_mac());
    assert_eq!(bp.ndvas(), 3);
}

#[test]
fn impossible_pointers_are_refused() {
    let refused = |change: &dyn Fn(&mut BlkPtr) -> &mut BlkPtr| {
        let mut bp = sample();
        change(&mut bp);
        assert!(bp.validate().is_err());
    };
    for (field, value) in [(KIND, 15), (COMPRESS, 17), (TYPE, 54), (LSIZE, 0xffff), (PSIZE, 0x8000)] {
        refused(&|bp| bp.set_prop(field, value));
    }
    refused(&|bp| bp.set_dva(0, Dva::new(0, 512, 0)));
    assert!(BlkPtr::decode(&[0; 127], Endian::Little).is_err());
    assert_eq!(BlkPtr::decode_at(&[0; 256], 2, Endian::Little).unwrap_err().offset, 256);
    assert!(BlkPtr::decode_at(&[0; 256], usize::MAX, Endian::Little).is_err());
}

#[test]
fn births_tell_rewritten_from_deduplicated() {
    let mut bp = sample();
    bp.set_birth(100, 90);
    assert_eq!((bp.birth(), bp.physical_birth()), (100, 90));
    bp.words[PROP2] = 1 << 63;
    assert_eq!(bp.birth(), 90);
    bp.set_birth(100, 100);
    assert_eq!(bp.words[PHYSICAL_BIRTH], 0);
}
