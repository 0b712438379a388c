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
        project: None,
        node_flags: None,
    };
    let record = all.record(9);
    assert_eq!(record.mask, 0x3f);
    let says = (record.object, record.mode, record.uid, record.gid, record.size, record.mtime);
    assert_eq!(says, (9, 0o100_644, 1, 2, 3, [5, 6]));
    assert_eq!(Settled { mtime: Some(time), ..Settled::default() }.record(9).mask, 0x20);
}

#[test]
fn a_project_is_recorded_among_the_optional_attributes() {
    let project = Some(Project { id: 7, inherit: true });
    let record = Settled { project, ..Settled::default() }.record(9);
    let xvattr = record.xvattr.expect("optional attributes");
    assert_eq!((record.mask, xvattr.project(), xvattr.flags), (1 << 31, Some(7), 0x2_0000));
    assert!(xvattr.sets(0x4_0000) && xvattr.sets(0x2_0000));
}
