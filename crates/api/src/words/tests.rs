use super::*;

#[test]
fn a_failure_says_what_zfs_says() {
    let told = |failure| Refusal::from(failure).0;
    let legacy = told(Failure::NotMountable {
        dataset: "t/a".into(),
        verb: Verb::Mount,
        why: NotMountable::LegacyMountpoint,
    });
    assert_eq!(legacy.detail, "cannot mount 't/a': legacy mountpoint\nuse mount(8) to mount this filesystem");
    assert_eq!((legacy.status, legacy.exit), (409, 1));
    let mount = |why| told(Failure::Mount { dataset: "t/a".into(), mountpoint: "/t/a".into(), why });
    assert_eq!(mount(Error::NotEmpty).detail, "cannot mount '/t/a': directory is not empty");
    assert_eq!(mount(Error::Busy).kind, kind::BUSY);
    let refused = Error::Refused("/t/a: Permission denied".into());
    assert_eq!(mount(refused).detail, "cannot mount 't/a': /t/a: Permission denied");
}
