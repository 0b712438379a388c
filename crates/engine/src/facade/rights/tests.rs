use engine_api::{InitializeCommand, NewDevice, NewVdevs, ScanCommand, TrimCommand};

use super::*;

fn names() -> Vec<String> {
    vec!["t/a@s".into()]
}

fn snapshot(props: Vec<PropertyChange>) -> Change {
    Change::Snapshot { names: names(), recursive: false, props }
}

#[test]
fn an_operator_does_what_loses_nothing() {
    let (tag, recursive, guid) = ("k".to_owned(), false, 7);
    for change in [
        snapshot(Vec::new()),
        Change::Bookmark { source: "t/a@s".into(), name: "t/a#b".into() },
        Change::Hold { snapshots: names(), tag: tag.clone(), recursive },
        Change::Release { snapshots: names(), tag, recursive },
        Change::OnlineVdev { guid, expand: false },
        Change::OfflineVdev { guid, temporary: false },
        Change::TrimVdevs { guids: vec![guid], command: TrimCommand::Start, rate: 0 },
        Change::InitializeVdevs { guids: vec![guid], command: InitializeCommand::Start, value: None },
        Change::Scan(ScanCommand::Scrub),
        Change::ClearErrors { guid: None },
    ] {
        assert_eq!(rank_for(Deed::Change(&change)), Rank::Operator, "{change:?}");
    }
    assert_eq!(rank_for(Deed::Operate), Rank::Operator);
    assert_eq!(rank_for(Deed::Diff("t/a")), Rank::Operator);
}

#[test]
fn whatever_makes_destroys_or_sets_takes_an_administrator() {
    let (name, props, parents) = (|| "t/a".to_owned(), Vec::new, false);
    let prop = PropertyChange { name: "user:x".into(), value: "y".into() };
    for change in [
        snapshot(vec![prop]),
        Change::CreateFilesystem { name: name(), parents, props: props() },
        Change::CreateVolume { name: name(), parents, sparse: false, props: props() },
        Change::Destroy { names: names(), defer: false },
        Change::Rollback { snapshot: "t/a@s".into() },
        Change::Clone { snapshot: "t/a@s".into(), name: name(), parents, props: props() },
        Change::Promote { name: name() },
        Change::SetProperties { name: name(), props: props() },
        Change::Inherit { name: name(), property: "quota".into(), received: false },
        Change::Rename { from: name(), to: "t/b".into(), parents, recursive: false },
        Change::Allow { name: name(), grants: Vec::new() },
        Change::Unallow { name: name(), grants: Vec::new(), recursive: false },
        Change::AbortReceive { name: name() },
        Change::SetPoolProperties { props: props() },
        Change::AddVdevs { vdevs: NewVdevs::default(), force: false },
        Change::RemoveVdev { guid: 7 },
        Change::OnlineVdev { guid: 7, expand: true },
        Change::FaultVdev { guid: 7, temporary: true },
        Change::AttachVdev { guid: 7, new: NewDevice::default() },
        Change::DetachVdev { guid: 7 },
        Change::ReplaceVdev { guid: 7, new: NewDevice::default() },
        Change::ReopenVdevs,
        Change::Reguid { guid: None },
        Change::TakeCheckpoint,
        Change::DiscardCheckpoint,
    ] {
        assert_eq!(rank_for(Deed::Change(&change)), Rank::Administrator, "{change:?}");
    }
    assert_eq!(rank_for(Deed::Send(&SendRequest::default())), Rank::Administrator);
    let (request, landing) = (ReceiveRequest::default(), Landing { into: "t/a", origin: None });
    assert_eq!(rank_for(Deed::Receive(&request, landing)), Rank::Administrator);
}

#[test]
fn a_reader_reads_what_is_not_everybodys() {
    for deed in [Deed::Inspect, Deed::Diff("t/a@s"), Deed::SpaceUse("t/a", Spender::User)] {
        assert_eq!(rank_for(deed), Rank::Reader);
    }
}

#[test]
fn a_dataset_holds_what_is_below_it_and_no_neighbour() {
    for inside in ["t/a", "t/a/b", "t/a@s", "t/a#b", "t/a/b@s"] {
        assert!(is_within(inside, "t/a"), "{inside}");
    }
    for outside in ["t", "t/ab", "t/b", "t@a", "t/ab@s", ""] {
        assert!(!is_within(outside, "t/a"), "{outside}");
    }
}

#[test]
fn of_the_machines_state_nothing_is_delegated_but_its_snapshots() {
    let need = |at: At, permission: &str| Need { at, any_of: vec![permission.to_owned()] };
    let at = |name: &str| At::Dataset(name.to_owned());
    for permission in ["create", "mount", "destroy", "send", "clone", "sharenfs", "rollback", "allow"] {
        assert!(need(at("t/.cistern"), permission).is_of_machine(), "{permission}");
        assert!(!need(at("t"), permission).is_of_machine(), "{permission}");
    }
    for permission in ["send", "clone", "rename"] {
        assert!(need(at("b/t/.cistern@s"), permission).is_of_machine(), "{permission}");
    }
    assert!(need(At::SnapshotsOf("t/.cistern".into()), "send").is_of_machine());
    assert!(need(At::NewBelow("t/.cistern".into()), "create").is_of_machine());
    for permission in ["snapshot", "hold", "release", "bookmark"] {
        assert!(!need(at("t/.cistern"), permission).is_of_machine(), "{permission}");
    }
    for permission in ["destroy", "mount"] {
        assert!(!need(at("t/.cistern@s"), permission).is_of_machine(), "{permission}");
    }
}
