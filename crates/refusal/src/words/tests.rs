use super::*;
use crate::{JobFault, MountFault, NameFault, ScanFault, Use};

fn text(action: Action, reason: impl Into<Reason>) -> String {
    Refused::new(action, reason).to_string()
}

fn create(name: &str) -> Action {
    Action::Create { name: name.into() }
}

#[test]
fn a_sentence_has_what_was_to_be_done_and_why_it_was_not() {
    assert_eq!(text(create("tank/a"), Reason::NoSpace), "cannot create 'tank/a': out of space");
    assert_eq!(
        text(Action::DestroySnapshot { name: "tank@a".into() }, Reason::Cloned),
        "cannot destroy snapshot tank@a: snapshot is cloned"
    );
    assert_eq!(
        text(create("tank@a/b"), NameFault::Unexpected('@')),
        "cannot create 'tank@a/b': snapshot delimiter '@' is not expected here"
    );
    assert_eq!(
        text(Action::Scrub { pool: "tank".into() }, ScanFault::Resilvering),
        "cannot scrub tank: currently resilvering"
    );
}

#[test]
fn some_reasons_are_sentences_of_their_own() {
    let action = Action::InheritProperty { name: "tank".into() };
    let fault = PropertyFault::NotInherited { property: "quota".into(), can_be_none: true };
    let expected = "'quota' property cannot be inherited\nuse 'zfs set quota=none' to clear";
    assert_eq!(text(action, fault), expected);
    assert_eq!(
        text(Action::Diff, Reason::NotEarlier),
        "Unable to obtain diffs: \n   Not an earlier snapshot from the same fs"
    );
    let uses = vec![Use::Mbr { path: "/dev/a".into() }, Use::Spare { path: "/b".into(), pool: "p".into() }];
    assert_eq!(
        text(Action::UseVdevs, VdevFault::InUse { uses, can_force: true }),
        "invalid vdev specification\nuse '-f' to override the following errors:\n/dev/a does not contain an \
         EFI label but it may contain partition\ninformation in the MBR.\n/b is reserved as a hot spare for pool p"
    );
}

#[test]
fn streams_say_which_of_them_is_not_sent() {
    let send = || Action::Send { name: "tank@b".into() };
    assert_eq!(
        text(send(), SendFault::NotEarlier),
        "warning: cannot send 'tank@b': not an earlier snapshot from the same fs"
    );
    assert_eq!(
        text(send(), SendFault::NoSnapshot { snapshot: "tank/a@b".into(), is_tree: true }),
        "cannot send tank@b recursively: snapshot tank/a@b does not exist\nwarning: cannot send 'tank@b': backup \
         failed"
    );
}

#[test]
fn logs_that_are_missing_are_shown_with_their_devices() {
    let logs = vec![crate::Member {
        name: "mirror-1".into(),
        is_log: true,
        devices: vec!["/dev/a".into(), "/dev/b".into()],
    }];
    assert_eq!(
        text(Action::Import { pool: "tank".into() }, ImportFault::MissingLogs { logs }),
        "The devices below are missing or corrupted, use '-m' to import the pool anyway:\n\
         \t    mirror-1 [log]\n\t      /dev/a\n\t      /dev/b\n\n\
         cannot import 'tank': one or more devices is currently unavailable"
    );
}

#[test]
fn jobs_say_what_became_of_them() {
    assert_eq!(
        text(Action::CancelJob { job: 7 }, JobFault::NotCancellable),
        "cannot cancel job 7: it cannot be cancelled at this step"
    );
    // Whoever shows it says before what the job was to do.
    let interrupted = Refused::because(JobFault::Interrupted);
    assert!(!interrupted.is_sentence());
    assert_eq!(serde_json::to_string(&interrupted).unwrap(), r#"{"reason":{"job":"interrupted"}}"#);
}

#[test]
fn several_are_told_one_a_line() {
    let busy = |name: &str| Refused::new(Action::CreateSnapshot { name: name.into() }, Reason::DatasetBusy);
    let both = Refused::several(vec![busy("tank@a"), busy("tank/b@a")]);
    assert_eq!(
        both.to_string(),
        "cannot create snapshot 'tank@a': dataset is busy\ncannot create snapshot 'tank/b@a': dataset is busy"
    );
    assert_eq!(Refused::several(vec![busy("tank@a")]), busy("tank@a"));
}

#[test]
fn who_shows_a_reason_says_before_what_was_to_be_done() {
    let name = || "tank".to_owned();
    let set = || Action::SetTo { property: "sharenfs".into(), value: "x".into() };
    let value = || PropertyFault::Value { message: "no such host".into() };
    let none = || Reason::NoBookmark { name: "tank#a".into() };
    let inherit = || Action::InheritProperty { name: name() };
    let unknown = || PropertyFault::Unknown { property: "x".into() };
    let damaged = || Reason::Os { message: "Permission denied".into() };
    let whole = [
        Refused::new(create("tank/a"), Reason::NoSpace),
        Refused::new(Action::Diff, Reason::NotEarlier),
        Refused::new(Action::UseVdevs, VdevFault::LogOnRaidz),
        Refused::new(inherit(), Reason::NoDataset),
        Refused::new(Action::UseMountpoint { path: "/tank".into() }, MountFault::NotEmpty),
        Refused::new(Action::SetProperty { name: name() }, unknown()),
        Refused::because(Reason::NoSnapshotsFound),
        Refused::because(Reason::NotOfFilesystems),
        Refused::because(Reason::Several(vec![Refused::new(create("tank/a"), Reason::NoSpace)])),
    ];
    let parts = [
        Refused::because(Reason::ImportingWait),
        Refused::because(ImportFault::CorruptCachefile),
        Refused::new(Action::OpenCachefile, damaged()),
        Refused::new(Action::Use { path: "/tank".into() }, damaged()),
        Refused::new(set(), value()),
        Refused::new(inherit(), unknown()),
        Refused::new(Action::Destroy { name: "tank#a".into() }, none()),
        Refused::new(Action::Send { name: "tank@a".into() }, SendFault::SourceElsewhere),
        Refused::because(Reason::Several(vec![Refused::because(Reason::Suspended)])),
    ];
    whole.iter().for_each(|refused| assert!(refused.is_sentence(), "{refused}"));
    parts.iter().for_each(|refused| assert!(!refused.is_sentence(), "{refused}"));
}

#[test]
fn it_goes_over_the_wire_and_back() {
    let refused = Refused::new(create("tank/a"), NameFault::Character('!'));
    let json = serde_json::to_string(&refused).unwrap();
    assert_eq!(json, r#"{"action":{"do":"create","name":"tank/a"},"reason":{"name":{"character":"!"}}}"#);
    assert_eq!(serde_json::from_str::<Refused>(&json).unwrap(), refused);
    let bare = Refused::because(Reason::NoSpace);
    assert_eq!(serde_json::to_string(&bare).unwrap(), r#"{"reason":"no-space"}"#);
}
