use super::*;

fn handle() -> Handle {
    Handle {
        fs: FsId { pool_guid: 0x1111_2222_3333_4444, dataset_guid: 5 },
        node: NodeId { object: 34, generation: u64::MAX },
    }
}

fn key() -> HandleKey {
    HandleKey::of(&[7; 32])
}

fn open(bytes: &[u8]) -> Result<Handle, Status> {
    let key = key();
    Handle::open(bytes, |fs| (fs.pool_guid == handle().fs.pool_guid).then_some(&key), false)
}

#[test]
fn handles_read_back_and_stay_as_they_are() {
    let bytes = handle().seal(Some(&key()));
    assert_eq!(open(&bytes), Ok(handle()));
    let old = handle().seal(None);
    assert_eq!(Handle::open(&old, |_| None, false), Ok(handle()));
    // Clients keep handles over upgrades: these bytes may never change.
    let hex = |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
    let naming = "111122223333444400000000000000050000000000000022ffffffffffffffff";
    assert_eq!(hex(&bytes), format!("02000000{naming}5484ca923bc24ad10e81049d39e99416"));
    assert_eq!(hex(&old)[..72], format!("01000000{naming}"));
}

#[test]
fn one_wrong_bit_or_length_is_garbage() {
    let good = handle().seal(Some(&key()));
    for bit in 0..good.len() * 8 {
        let mut bytes = good.to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let expected = if (32..96).contains(&bit) { Status::STALE } else { Status::BADHANDLE }; // Another pool.
        assert_eq!(open(&bytes), Err(expected), "bit {bit}");
    }
    for len in 0..good.len() {
        assert_eq!(open(&good[..len]), Err(Status::BADHANDLE));
    }
    assert_eq!(open(&[&good[..], &[0; 4]].concat()), Err(Status::BADHANDLE));
    let other = handle().seal(Some(&HandleKey::of(&[8; 32])));
    assert_eq!(open(&other), Err(Status::BADHANDLE));
}

#[test]
fn handles_that_anybody_can_make_are_good_only_where_there_are_no_others() {
    let old = handle().seal(None);
    assert_eq!(open(&old), Err(Status::STALE));
    let key = key();
    assert_eq!(Handle::open(&old, |_| Some(&key), true), Ok(handle()));
    let mut garbage = old.to_vec();
    garbage[39] ^= 1;
    assert_eq!(Handle::open(&garbage, |_| Some(&key), true), Err(Status::BADHANDLE));
}
