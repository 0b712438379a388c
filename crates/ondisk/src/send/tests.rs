use super::*;

fn records() -> Vec<Record> {
    let begin = Begin {
        header_type: HeaderType::Sub as u8,
        features: feature::SA_SPILL | feature::LZ4,
        creation_time: 7,
        objset_type: 2,
        flags: FLAG_FREERECORDS | FLAG_SPILL_BLOCK,
        to_guid: 11,
        from_guid: 12,
        to_name: "tank/a@b".into(),
        payload_len: 64,
    };
    let object = Object {
        object: 5,
        object_type: 19,
        bonus_type: 44,
        block_size: 512,
        bonus_len: 168,
        checksum: 0,
        compress: 0,
        slots: 1,
        flags: OBJECT_SPILL,
        raw_bonus_len: 0,
        indirect_shift: 0,
        levels: 0,
        blkptrs: 0,
        max_blkid: 0,
    };
    let write = Write {
        object: 5,
        object_type: 19,
        offset: 1 << 40,
        lsize: 4096,
        checksum: 7,
        flags: 0,
        compress: 0,
        key: DdtKey::new([1, 2, 3, 4], 4096, 512, 15),
        compressed_size: 0,
    };
    let spill = Spill { object: 5, length: 512, flags: 0, compress: 0, compressed_size: 0, object_type: 0 };
    let embedded =
        WriteEmbedded { object: 5, offset: 0, length: 512, compress: 15, kind: 0, lsize: 512, psize: 60 };
    vec![
        Record::Begin(begin),
        Record::Object(object),
        Record::FreeObjects { first: 6, count: 90 },
        Record::Write(write),
        Record::Free { object: 5, offset: 512, length: TO_END },
        Record::Spill(spill),
        Record::WriteEmbedded(embedded),
        Record::End { checksum: [9, 8, 7, 6] },
    ]
}

#[test]
fn records_survive_encoding() {
    for record in records() {
        for endian in [Endian::Little, Endian::Big] {
            assert_eq!(Record::decode(&record.encode_as(3, endian), endian), Ok(record.clone()));
        }
        let bytes = record.encode(3);
        assert_eq!(endian_of(&bytes).is_some(), matches!(record, Record::Begin(_)), "{record:?}");
    }
}

#[test]
fn a_checksum_lies_behind_all_fields() {
    let mut bytes = records()[3].encode(3);
    set_checksum(&mut bytes, [1, 2, 3, 4]);
    assert_eq!(checksum_of(&bytes, Endian::Little), [1, 2, 3, 4]);
    assert_eq!(Record::decode(&bytes, Endian::Little).as_ref(), Ok(&records()[3]));
}

#[test]
fn what_was_not_announced_is_refused() {
    let all = records();
    let Record::Begin(mut begin) = all[0].clone() else { panic!() };
    let limits = Limits { block: 1 << 20, slots: 32 };
    let check = |record: &Record, begin: &Begin| record.check(begin, &limits).map_err(|error| error.what);
    assert!(check(&all[6], &begin).is_err(), "embedded data");
    begin.features |= feature::EMBED_DATA;
    for record in &all[1..] {
        assert_eq!(check(record, &begin), Ok(()), "{record:?}");
    }
    let Record::Write(write) = all[3].clone() else { panic!() };
    let large = Record::Write(Write { lsize: 1 << 20, ..write.clone() });
    assert!(check(&large, &begin).is_err());
    begin.features |= feature::LARGE_BLOCKS;
    assert_eq!(check(&large, &begin), Ok(()));
    let huge = Record::Write(Write { lsize: 2 << 20, ..write.clone() });
    assert!(check(&huge, &begin).is_err());
    let far = Record::Write(Write { offset: u64::MAX - 512, ..write.clone() });
    assert!(check(&far, &begin).is_err());
    let compressed = Record::Write(Write { compress: 15, compressed_size: 512, ..write });
    assert!(check(&compressed, &begin).is_err());
    begin.features |= feature::COMPRESSED;
    assert_eq!(check(&compressed, &begin), Ok(()));
    assert!(check(&Record::Free { object: 0, offset: 0, length: 1 }, &begin).is_err());
}
