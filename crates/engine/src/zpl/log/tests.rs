use super::*;

#[test]
fn the_mask_of_a_change_of_attributes_is_linuxs() {
    let time = Time { secs: 5, nanos: 6 };
    let all = Settled {
        mode: Some(0o100_644),
        uid: Some(1),
        gid: Some(2),
        size: Some(3),
        atime: Some(time),
        mtime: Some(time),
    };
    let record = all.record(9);
    assert_eq!(record.mask, 0x3f);
    let says = (record.object, record.mode, record.uid, record.gid, record.size, record.mtime);
    assert_eq!(says, (9, 0o100_644, 1, 2, 3, [5, 6]));
    assert_eq!(Settled { mtime: Some(time), ..Settled::default() }.record(9).mask, 0x20);
}
