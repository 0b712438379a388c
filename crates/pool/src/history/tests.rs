use super::*;

#[test]
fn events_read_as_zpool_history_shows_them() {
    let record = Record::internal_on("create", "tank/a", 54, " ", 9).0.with(TIME, 7u64);
    let read = read_record(&record).unwrap();
    assert_eq!((read.text.as_str(), read.txg, read.internal), ("create tank/a (54)  ", Some(9), true));
    let command = Record::command("zfs create tank/a", 1000).0.with(TIME, 7u64).with(HOST, "here");
    let read = read_record(&command).unwrap();
    assert_eq!(
        (read.text.as_str(), read.internal, read.host.as_deref()),
        ("zfs create tank/a", false, Some("here:linux"))
    );
}

#[test]
fn a_record_without_time_or_content_is_none() {
    assert_eq!(read_record(&NvList::new().with(COMMAND, "x")), None);
    assert_eq!(read_record(&NvList::new().with(TIME, 1u64)), None);
}
