use std::collections::BTreeSet;

use api_types::{
    AutoSyncPolicy, Schedule, SnapTarget, SyncAbsence, SyncKeep, SyncOrigin, SyncRefusal, SyncSide, SyncStep,
    SyncTarget, When,
};
use jiff::tz::TimeZone;

use super::*;
use crate::autosync::view::Bookmark;

const NOW: Time = 1_795_824_000;

fn policy(count: u32, absence: SyncAbsence) -> Policy {
    let policy = AutoSyncPolicy {
        source: SnapTarget { dataset: "tank/a".to_owned(), ..SnapTarget::default() },
        origin: SyncOrigin::Here,
        target: SyncTarget::Pool { dataset: "dozer/a".to_owned() },
        schedule: Schedule { when: When::Hour { step: 1, minute: 0 }, zone: None },
        keep: SyncKeep { count, age: None },
        absence,
        limits: Vec::new(),
        lag: None,
        stuck_after: 600,
    };
    Policy::new("s", &policy, &|_| Some(TimeZone::UTC)).expect("it is good")
}

/// One that the service made, so many hours ago.
fn own(guid: u64, hours: Time, held: bool) -> Snapshot {
    let stamp = Some(NOW - hours * 3_600);
    Snapshot { name: format!("s{guid}"), guid, createtxg: guid, stamp, held, needed: false }
}

fn replica(guids: &[u64]) -> Replica {
    let snapshots = guids.iter().map(|guid| own(*guid, 1, false)).collect();
    Replica { relation: Some("s 7".to_owned()), readonly: true, keeps: false, snapshots, partial: None }
}

fn view(snapshots: Vec<Snapshot>, target: Target) -> View {
    View {
        source: Source { guid: 7, snapshots, bookmarks: Vec::new(), written: 1, kept: 0, makes: true },
        target,
        wanted: NOW,
        sent_before: false,
        bookmarks: BTreeSet::new(),
        failing_since: None,
        as_of: NOW - 5,
        now: NOW,
    }
}

/// What a plan says, in short.
fn said(view: &View) -> Vec<String> {
    let planned = plan(&policy(2, SyncAbsence { seconds: Some(86_400), bytes: Some(1_000) }), view);
    let refusal = planned.refusal.map(|refusal| format!("{refusal:?}"));
    planned.steps.iter().map(word).chain(refusal).collect()
}

fn word(step: &SyncStep) -> String {
    match step {
        SyncStep::Snapshot { snapshot } => format!("make {snapshot}"),
        SyncStep::Hold { snapshot } => format!("hold {snapshot}"),
        SyncStep::Release { snapshot } => format!("release {snapshot}"),
        SyncStep::Send { snapshot, from } => format!("send {} {snapshot}", from.as_deref().unwrap_or("all")),
        SyncStep::Resume => "resume".to_owned(),
        SyncStep::Abort => "abort".to_owned(),
        SyncStep::Stamp { snapshot, .. } => format!("stamp {snapshot}"),
        SyncStep::Bookmark { snapshot } => format!("bookmark {snapshot}"),
        SyncStep::Destroy { side: SyncSide::Source, name, .. } => format!("destroy {name}"),
        SyncStep::Destroy { side: SyncSide::Replica, name, .. } => format!("destroy there {name}"),
    }
}

const NEW: &str = "sync-s-2026-11-28T00:00:00Z";

#[test]
fn a_first_replica_is_all_of_a_snapshot() {
    let new = [format!("make {NEW}"), format!("hold {NEW}"), format!("send all {NEW}")];
    assert_eq!(said(&view(Vec::new(), Target::Absent)), new);
    // One that did not get there is not followed by another.
    assert_eq!(said(&view(vec![own(1, 9, true)], Target::Absent)), ["send all s1"]);
}

#[test]
fn the_next_goes_from_the_newest_that_both_have_whatever_it_is_called() {
    let mut sides = view(vec![own(1, 2, true)], Target::There(replica(&[1])));
    assert_eq!(said(&sides), [format!("make {NEW}"), format!("hold {NEW}"), format!("send @s1 {NEW}")]);
    // It was made, and did not get there.
    sides.source.snapshots.push(own(2, 1, false));
    sides.source.snapshots[0].name = "other".to_owned();
    assert_eq!(said(&sides), ["hold s2", "send @other s2"]);
    // Only a bookmark is left of it.
    let bookmark = Bookmark { name: "m".to_owned(), guid: 1, createtxg: 1, own: false };
    (sides.source.bookmarks, sides.source.snapshots) = (vec![bookmark], vec![own(2, 1, true)]);
    assert_eq!(said(&sides), ["send #m s2"]);
}

#[test]
fn what_is_there_is_known_as_ours_before_anything_goes() {
    let mut there = replica(&[1, 2, 3]);
    there.snapshots[2].stamp = None;
    let mut sides = view(vec![own(1, 3, true), own(2, 2, true), own(3, 1, true)], Target::There(there));
    sides.wanted = NOW - 9_000;
    sides.bookmarks.insert(2);
    sides.source.bookmarks = vec![
        Bookmark { name: "ours".to_owned(), guid: 2, createtxg: 2, own: false },
        Bookmark { name: "theirs".to_owned(), guid: 1, createtxg: 1, own: false },
        Bookmark { name: "told".to_owned(), guid: 9, createtxg: 1, own: true },
    ];
    sides.source.snapshots[0].needed = true;
    assert_eq!(
        said(&sides),
        ["stamp s3", "release s1", "release s2", "destroy @s2", "destroy #ours", "destroy #told"]
    );
    let Target::There(there) = &mut sides.target else { unreachable!() };
    there.snapshots[2].stamp = Some(NOW - 3_600);
    sides.source.snapshots = vec![own(3, 1, true)];
    sides.source.bookmarks.clear();
    assert_eq!(said(&sides), ["destroy there @s1"]);
}

#[test]
fn what_has_not_changed_is_current_and_not_sent() {
    let mut sides = view(vec![own(1, 9, true)], Target::There(replica(&[1])));
    sides.source.written = 0;
    let planned = plan(&policy(2, SyncAbsence::default()), &sides);
    assert!(planned.steps.is_empty() && planned.current == Some(NOW - 5), "{planned:?}");
}

#[test]
fn a_replica_that_is_not_what_it_was_is_left_alone() {
    let there = |change: &dyn Fn(&mut Replica)| {
        let mut replica = replica(&[1]);
        change(&mut replica);
        said(&view(vec![own(1, 2, true)], Target::There(replica)))
    };
    assert_eq!(there(&|it| it.relation = None), ["NoReplica"]);
    assert_eq!(there(&|it| it.relation = Some("s 8".into())), ["OtherReplica { relation: \"s 8\" }"]);
    assert_eq!(there(&|it| it.readonly = false), ["NotReadOnly"]);
    assert_eq!(there(&|it| it.snapshots.clear()), ["NoCommonBase"]);
    assert_eq!(there(&|it| it.snapshots.push(own(9, 0, false))), ["Diverged { snapshot: \"s9\" }"]);
    assert_eq!(there(&|it| it.partial = Some(Partial::Resumable)), ["resume"]);
    assert_eq!(there(&|it| it.partial = Some(Partial::Useless)), ["abort"]);
    let mut gone = view(vec![own(1, 2, true)], Target::Absent);
    gone.sent_before = true;
    assert_eq!(plan(&policy(1, SyncAbsence::default()), &gone).refusal, Some(SyncRefusal::ReplicaGone));
    assert_eq!(said(&gone), ["ReplicaGone"]);
}

#[test]
fn an_absent_replica_costs_a_bookmark_once_its_budget_is_used_up() {
    let mut sides = view(vec![own(1, 2, true), own(2, 1, true)], Target::Unreachable);
    sides.failing_since = Some(NOW - 86_400);
    assert_eq!(said(&sides), [""; 0]);
    let all = ["bookmark s1", "release s1", "destroy @s1", "bookmark s2", "release s2", "destroy @s2"];
    sides.source.kept = 1_001;
    assert_eq!(said(&sides), all);
    (sides.source.kept, sides.failing_since) = (0, Some(NOW - 86_401));
    assert_eq!(said(&sides), all);
    // What somebody else needs stays, and is no loss of a base.
    sides.source.snapshots[0].needed = true;
    assert_eq!(said(&sides), ["release s1", "bookmark s2", "release s2", "destroy @s2"]);
}

/// A service that may make no snapshots sends the newest that there is, and has nothing to destroy.
#[test]
fn what_others_make_is_sent_and_held_and_is_theirs() {
    let theirs = |guid, hours, held| Snapshot { needed: true, ..own(guid, hours, held) };
    let mut sides = view(vec![theirs(1, 9, false), theirs(2, 5, false)], Target::Absent);
    sides.source.makes = false;
    assert_eq!(said(&sides), ["hold s2", "send all s2"]);
    sides.source.snapshots.clear();
    assert_eq!(said(&sides), [""; 0]);
    // What was written since the newest waits for the next.
    sides.source.snapshots = vec![theirs(1, 9, true), theirs(2, 5, true)];
    sides.target = Target::There(replica(&[1, 2]));
    assert_eq!(said(&sides), ["release s1"]);
    sides.source.snapshots.remove(0);
    let planned = plan(&policy(2, SyncAbsence::default()), &sides);
    assert!(planned.steps.is_empty() && planned.current == Some(NOW - 5 * 3_600), "{planned:?}");
    sides.source.written = 0;
    assert_eq!(plan(&policy(2, SyncAbsence::default()), &sides).current, Some(NOW - 5));
    sides.source.snapshots.extend([theirs(3, 2, false), theirs(4, 1, false)]);
    assert_eq!(said(&sides), ["hold s4", "send @s2 s4"]);
    // A budget that is used up gives the base back to whoever made it.
    (sides.target, sides.failing_since) = (Target::Unreachable, Some(NOW - 86_401));
    assert_eq!(said(&sides), ["bookmark s2", "release s2"]);
    // It may make some by now: what it holds of others goes as soon as it is not the base any more.
    sides.source.makes = true;
    sides.source.snapshots = vec![Snapshot { stamp: None, held: true, ..own(2, 5, true) }, own(5, 0, true)];
    (sides.target, sides.wanted) = (Target::There(replica(&[2, 5])), NOW - 86_400);
    assert_eq!(said(&sides), ["release s2"]);
}
