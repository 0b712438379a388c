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
    let denied = Reason::Os { message: "Permission denied".into() };
    let refused = Refused::new(Action::Use { path: "/t/a".into() }, denied);
    assert_eq!(mount(refused.into()).detail, "cannot mount 't/a': /t/a: Permission denied");
}

#[test]
fn every_failure_is_told_as_before_it_was_data() {
    let says = |failure, text: &str, kind: &str| {
        let told = Refusal::from(failure).0;
        assert_eq!((told.detail.as_str(), told.kind.as_str()), (text, kind));
        assert_eq!(told.refused.map(|why| why.to_string()).as_deref(), Some(text));
    };
    let (dataset, path) = (|| "t/a".to_owned(), || "/t/a".to_owned());
    let os = |message: &str| Error::from(Refused::because(Reason::Os { message: message.into() }));
    says(Failure::NoSuchPool { pool: "t".into() }, "no such pool: t", kind::NOT_FOUND);
    says(
        Failure::LegacyShare { dataset: dataset(), verb: Verb::Share },
        "cannot share 't/a': legacy share\n\
         use exports(5) or smb.conf(5) to share this filesystem, or set the sharenfs or sharesmb property",
        kind::REFUSED,
    );
    says(
        Failure::LegacyShare { dataset: dataset(), verb: Verb::Unshare },
        "cannot unshare 't/a': legacy share\nuse exports(5) or smb.conf(5) to unshare this filesystem",
        kind::REFUSED,
    );
    says(
        Failure::NotLegacy { dataset: dataset(), mountpoint: path() },
        "filesystem 't/a' cannot be mounted using 'mount'.\n\
         Use 'zfs set mountpoint=/t/a' or 'zfs mount t/a'.\n\
         See zfs(8) for more information.",
        kind::REFUSED,
    );
    says(
        Failure::Remount { dataset: dataset(), mountpoint: path(), why: os("that takes root") },
        "cannot remount /t/a: that takes root",
        kind::REFUSED,
    );
    says(
        Failure::Remount { dataset: dataset(), mountpoint: path(), why: Error::Denied },
        "cannot mount 't/a': Insufficient privileges",
        kind::DENIED,
    );
    says(
        Failure::Mount { dataset: dataset(), mountpoint: path(), why: Error::NotFound },
        "cannot mount 't/a': no such object",
        kind::NOT_FOUND,
    );
    says(
        Failure::MountpointInUse { at: path(), why: Error::NotEmpty },
        "mountpoint '/t/a' exists and is not empty\nuse '-m' option to provide a different default",
        kind::REFUSED,
    );
    says(
        Failure::MountpointInUse { at: path(), why: os("Permission denied") },
        "mountpoint '/t/a' : Permission denied\nuse '-m' option to provide a different default",
        kind::REFUSED,
    );
    let busy = Box::new(Failure::Unmount { what: "t/a".into(), why: Error::Busy });
    says(
        Failure::MountsOfPool { pool: "t".into(), why: busy },
        "cannot unmount 't/a': pool or dataset is busy\ncould not destroy 't': could not unmount datasets",
        kind::BUSY,
    );
    says(
        Failure::ClonesExist { snapshot: "t@a".into(), clones: vec!["t/b".into(), "t/c".into()] },
        "cannot rollback to 't@a': clones of previous snapshots exist\n\
         use '-R' to force deletion of the following clones and dependents:\nt/b\nt/c",
        kind::REFUSED,
    );
    says(
        Failure::HealsAlone,
        "cannot receive: corrective recv can not be used when combined with this flag",
        kind::REFUSED,
    );
}

#[test]
fn a_rollback_names_so_many_younger_snapshots_and_no_more() {
    let told = |count: usize| {
        let younger = (0..count).map(|number| format!("t@{number}")).collect();
        Refusal::from(Failure::YoungerExist { snapshot: "t@a".into(), younger }).0.detail
    };
    assert_eq!(
        told(2),
        "cannot rollback to 't@a': more recent snapshots or bookmarks exist\n\
         use '-r' to force deletion of the following snapshots and bookmarks:\nt@0\nt@1"
    );
    let many = told(40);
    assert!(many.ends_with("\nt@31\nOutput limited to 32 snapshots/bookmarks"), "{many}");
}

#[test]
fn a_warning_is_told_in_words_and_as_data() {
    use api_types::Warning as Told;
    let not_mounted =
        Failure::Mount { dataset: "t/a".into(), mountpoint: "/t/a".into(), why: Error::NotEmpty };
    let told = warnings(vec![
        Warning::Failed(not_mounted),
        Warning::MountedByRootAlone,
        Warning::StaleMount { dataset: "t/b".into() },
        Warning::Received("as it is".into()),
    ]);
    assert_eq!(
        told.sentences,
        [
            "cannot mount '/t/a': directory is not empty",
            "filesystem successfully created, but it may only be mounted by root",
            "the mount of 't/b' may show for a minute what was there before",
            "as it is"
        ]
    );
    let refused = Told::Refused(Box::new(mount("/t/a".into(), MountFault::NotEmpty)));
    let stale = Told::StaleMount { dataset: "t/b".into() };
    assert_eq!(told.reasons, [refused, Told::MountedByRootAlone, stale, Told::Other]);
}
