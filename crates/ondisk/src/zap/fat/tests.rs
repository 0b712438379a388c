use super::*;

fn head() -> FatHeader {
    let ptrtbl = TablePhys { shift: 6, ..TablePhys::default() };
    FatHeader { ptrtbl, freeblk: 3, num_leafs: 2, num_entries: 5, salt: 7, normflags: 0, flags: 0 }
}

fn block() -> Vec<u8> {
    let mut block = vec![0; 1024];
    head().write(&mut block);
    for i in 0..64 {
        set_pointer(&mut block, embedded_start(1024) + i, 1 + i as u64 / 32);
    }
    block
}

#[test]
fn round_trips() {
    let block = block();
    assert_eq!(FatHeader::decode(&block), Ok(head()));
    assert_eq!(embedded_shift(1024), 6);
    assert_eq!(pointer_at(&block, 64 + 31), Some(1));
    assert_eq!(pointer_at(&block, 64 + 32), Some(2));
    assert_eq!(pointer_at(&block, 128), None);
}

#[test]
fn slots_are_the_top_bits() {
    assert_eq!((slot(u64::MAX, 6), slot(u64::MAX, 0), slot(1 << 63, 1)), (63, 0, 1));
}

#[test]
fn hostile_bytes_are_errors() {
    let good = block();
    assert!(FatHeader::decode(&good[..1000]).is_err());
    for (at, value) in [(0, 9), (8, 9), (16, 1), (24, 1), (32, 7), (32, 64), (32, 255), (40, 9), (63, 255)] {
        let mut bad = good.clone();
        bad[at] = value;
        assert!(FatHeader::decode(&bad).is_err(), "byte {at} = {value}");
    }
}
