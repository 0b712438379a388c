use super::*;

/// A record of 32 bytes: type, length, group, sequence.
fn record(txg: u64, seq: u64) -> Vec<u8> {
    [9, 32, txg, seq].iter().flat_map(|word: &u64| word.to_le_bytes()).collect()
}

#[test]
fn the_newest_record_not_replayed_counts() {
    let used = [record(7, 1), record(9, 2), record(8, 3)].concat();
    assert_eq!(newest_record(&used, Endian::Little, 0), 9);
    assert_eq!(newest_record(&used, Endian::Little, 2), 8);
    assert_eq!(newest_record(&used, Endian::Little, 3), 0);
}

#[test]
fn records_end_where_one_makes_no_sense() {
    let mut used = [record(7, 1), record(9, 2)].concat();
    used[40] = 1;
    assert_eq!(newest_record(&used, Endian::Little, 0), 7);
    assert_eq!(newest_record(&[], Endian::Little, 0), 0);
}
