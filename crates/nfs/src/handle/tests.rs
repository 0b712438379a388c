use super::*;

fn handle() -> Handle {
    Handle {
        fs: FsId { pool_guid: 0x1111_2222_3333_4444, dataset_guid: 5 },
        node: NodeId { object: 34, generation: u64::MAX },
    }
}

#[test]
fn handles_read_back_and_stay_as_they_are() {
    let bytes = handle().encode();
    assert_eq!(Handle::decode(&bytes), Some(handle()));
    // Clients keep handles over upgrades: these bytes may never change.
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(&hex[..72], "01000000111122223333444400000000000000050000000000000022ffffffffffffffff");
}

#[test]
fn one_wrong_bit_or_length_is_garbage() {
    let good = handle().encode();
    for bit in 0..LEN * 8 {
        let mut bytes = good;
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Handle::decode(&bytes), None, "bit {bit}");
    }
    for len in 0..LEN {
        assert_eq!(Handle::decode(&good[..len]), None);
    }
    assert_eq!(Handle::decode(&[&good[..], &[0; 4]].concat()), None);
}
