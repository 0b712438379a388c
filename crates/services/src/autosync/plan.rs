//! What to do for one dataset.
//!
//! The steps of a plan are done in their order, and none after one that failed. After them both
//! sides are read again, and planned anew, until there is no step left.

use api_types::{SyncAbsence, SyncKeep, SyncRefusal, SyncSide, SyncStep};

use super::policy::Policy;
use super::view::{Partial, Replica, Snapshot, Source, Target, View};
use crate::time::Time;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub steps: Vec<SyncStep>,
    /// Nothing else is to be done until a person has changed something.
    pub refusal: Option<SyncRefusal>,
    /// The newest one that both have; unknown where the replica does not answer.
    pub base: Option<Base>,
    /// All that the source had then is on the replica.
    pub current: Option<Time>,
}

/// What both sides have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// As the replica calls it, without its dataset.
    pub replica: String,
    pub guid: u64,
    /// As the source calls it, with `@` or `#`.
    from: String,
    createtxg: u64,
    is_snapshot: bool,
}

/// See the module.
pub fn plan(policy: &Policy, view: &View) -> Plan {
    let View { source, target, .. } = view;
    let replica = match target {
        Target::Unreachable => {
            let steps = relieve(policy.absence, source, view.failing_since, view.now);
            return Plan { steps, ..Plan::default() };
        }
        Target::Absent if view.sent_before => return refused(policy, view, SyncRefusal::ReplicaGone),
        Target::Absent => return Plan { steps: first(policy, view), ..Plan::default() },
        Target::There(replica) => replica,
    };
    match &replica.relation {
        Some(relation) if *relation == policy.relation(source.guid) => {}
        None => return refused(policy, view, SyncRefusal::NoReplica),
        Some(relation) => {
            return refused(policy, view, SyncRefusal::OtherReplica { relation: relation.clone() });
        }
    }
    if !replica.readonly {
        return refused(policy, view, SyncRefusal::NotReadOnly);
    }
    let base = base(source, replica);
    let only = |step| Plan { steps: vec![step], base: base.clone(), ..Plan::default() };
    match replica.partial {
        Some(Partial::Resumable) => return only(SyncStep::Resume),
        Some(Partial::Useless) => return only(SyncStep::Abort),
        None => {}
    }
    let Some(base) = base else { return refused(policy, view, SyncRefusal::NoCommonBase) };
    let newest = replica.snapshots.iter().max_by_key(|it| it.createtxg);
    if let Some(newest) = newest.filter(|newest| newest.guid != base.guid) {
        return refused(policy, view, SyncRefusal::Diverged { snapshot: newest.name.clone() });
    }
    let mut steps = stamps(source, replica);
    let (next, current) = onward(policy, view, replica, &base);
    // What is to go goes before another is made, which may have to wait.
    steps.extend(tidy_source(view, &base));
    if !replica.keeps {
        steps.extend(tidy_replica(policy, replica, &base, view.now));
    }
    steps.extend(next);
    Plan { steps, refusal: None, base: Some(base), current }
}

/// What the source keeps no longer for a replica that takes nothing: its snapshots, with bookmarks
/// in their place. To be asked when something has failed.
pub fn relieve(
    absence: SyncAbsence,
    source: &Source,
    failing_since: Option<Time>,
    now: Time,
) -> Vec<SyncStep> {
    let Some(since) = failing_since else { return Vec::new() };
    let absent = u64::try_from(now.saturating_sub(since)).unwrap_or(0);
    let is_long = absence.seconds.is_some_and(|seconds| absent > seconds);
    let is_much = absence.bytes.is_some_and(|bytes| source.kept > bytes);
    if !is_long && !is_much {
        return Vec::new();
    }
    let mut steps = Vec::new();
    for own in source.own() {
        // What is needed stays, where this service made it; what others made goes when they like.
        let may_go = !own.needed || (own.held && !source.makes);
        if may_go && !source.bookmarks.iter().any(|it| it.guid == own.guid) {
            steps.push(SyncStep::Bookmark { snapshot: own.name.clone() });
        }
        steps.extend(let_go(own));
    }
    steps
}

fn refused(policy: &Policy, view: &View, refusal: SyncRefusal) -> Plan {
    let steps = relieve(policy.absence, &view.source, view.failing_since, view.now);
    Plan { steps, refusal: Some(refusal), ..Plan::default() }
}

/// The newest of the replica that the source has.
fn base(source: &Source, replica: &Replica) -> Option<Base> {
    let of_snapshot = |there: &Snapshot| {
        let here = source.by_guid(there.guid)?;
        Some((format!("@{}", here.name), here.createtxg, true))
    };
    let of_bookmark = |there: &Snapshot| {
        let here = source.bookmarks.iter().find(|it| it.guid == there.guid)?;
        Some((format!("#{}", here.name), here.createtxg, false))
    };
    let both = replica.snapshots.iter().filter_map(|there| {
        let (from, createtxg, is_snapshot) = of_snapshot(there).or_else(|| of_bookmark(there))?;
        let base = Base { replica: there.name.clone(), guid: there.guid, from, createtxg, is_snapshot };
        Some((there.createtxg, base))
    });
    both.max_by_key(|(createtxg, _)| *createtxg).map(|(_, base)| base)
}

/// A first replica: what was made before and did not get there, or something new.
fn first(policy: &Policy, view: &View) -> Vec<SyncStep> {
    match view.source.own().last() {
        Some(own) => send(own, None),
        None if !view.source.makes => Vec::new(),
        None => make(policy, view, None),
    }
}

fn send(own: &Snapshot, from: Option<String>) -> Vec<SyncStep> {
    let snapshot = own.name.clone();
    let hold = (!own.held).then(|| SyncStep::Hold { snapshot: snapshot.clone() });
    hold.into_iter().chain([SyncStep::Send { snapshot, from }]).collect()
}

fn make(policy: &Policy, view: &View, from: Option<String>) -> Vec<SyncStep> {
    let snapshot = policy.name(view.now);
    vec![
        SyncStep::Snapshot { snapshot: snapshot.clone() },
        SyncStep::Hold { snapshot: snapshot.clone() },
        SyncStep::Send { snapshot, from },
    ]
}

/// What is to be sent next, and until when the replica has all.
fn onward(policy: &Policy, view: &View, replica: &Replica, base: &Base) -> (Vec<SyncStep>, Option<Time>) {
    let (source, from) = (&view.source, Some(base.from.clone()));
    let there = replica.snapshots.iter().find(|it| it.guid == base.guid);
    let made = source.by_guid(base.guid).or(there).and_then(|it| it.stamp);
    let newest = source.snapshots.iter().max_by_key(|it| it.createtxg);
    if let Some(unsent) = source.own().last().filter(|own| own.createtxg > base.createtxg) {
        return (send(unsent, from), made);
    }
    if !source.makes && source.written > 0 {
        return (Vec::new(), made);
    }
    let is_changed = source.written > 0 || newest.is_some_and(|it| it.createtxg > base.createtxg);
    if !is_changed {
        return (Vec::new(), Some(view.as_of));
    }
    match made.is_none_or(|at| at < view.wanted) {
        true => (make(policy, view, from), made),
        false => (Vec::new(), made),
    }
}

/// Snapshots of the replica that came from one that this service made.
fn stamps(source: &Source, replica: &Replica) -> Vec<SyncStep> {
    let unknown = replica.snapshots.iter().filter(|there| there.stamp.is_none());
    let stamp = |there: &Snapshot| {
        let at = source.by_guid(there.guid)?.stamp?;
        Some(SyncStep::Stamp { snapshot: there.name.clone(), at })
    };
    unknown.filter_map(stamp).collect()
}

/// Releases a snapshot of the source, and destroys it where this service made it and nobody needs
/// it.
fn let_go(own: &Snapshot) -> impl Iterator<Item = SyncStep> {
    let release = own.held.then(|| SyncStep::Release { snapshot: own.name.clone() });
    let destroy = (own.stamp.is_some() && !own.needed).then(|| SyncStep::Destroy {
        side: SyncSide::Source,
        name: format!("@{}", own.name),
        guid: own.guid,
    });
    release.into_iter().chain(destroy)
}

/// Of the source, the base stays; what is older, and bookmarks that it makes needless, goes.
fn tidy_source(view: &View, base: &Base) -> Vec<SyncStep> {
    let source = &view.source;
    let mut steps = Vec::new();
    if let Some(here) = source.by_guid(base.guid).filter(|here| !here.held) {
        steps.push(SyncStep::Hold { snapshot: here.name.clone() });
    }
    let own = source.snapshots.iter().filter(|it| it.stamp.is_some() || it.held);
    let mut older: Vec<&Snapshot> = own.filter(|own| own.createtxg < base.createtxg).collect();
    older.sort_by_key(|it| it.createtxg);
    steps.extend(older.into_iter().flat_map(let_go));
    let is_needless = |guid: u64| guid != base.guid || base.is_snapshot;
    let own = source.bookmarks.iter().filter(|it| it.own || view.bookmarks.contains(&it.guid));
    let needless = own.filter(|it| is_needless(it.guid));
    steps.extend(needless.map(|it| SyncStep::Destroy {
        side: SyncSide::Source,
        name: format!("#{}", it.name),
        guid: it.guid,
    }));
    steps
}

/// Of the replica, what this service sent goes by the policy; never the base.
fn tidy_replica(policy: &Policy, replica: &Replica, base: &Base, now: Time) -> Vec<SyncStep> {
    let destroy = |it: &Snapshot| SyncStep::Destroy {
        side: SyncSide::Replica,
        name: format!("@{}", it.name),
        guid: it.guid,
    };
    beyond(&policy.keep, &replica.snapshots, Some(base.guid), now).map(destroy).collect()
}

/// Which snapshots of a replica go, of those that have a stamp; never that of guid `base`.
pub fn beyond<'a>(
    keep: &SyncKeep,
    snapshots: &'a [Snapshot],
    base: Option<u64>,
    now: Time,
) -> impl Iterator<Item = &'a Snapshot> {
    let mut own: Vec<(&Snapshot, Time)> = snapshots.iter().filter_map(|it| Some((it, it.stamp?))).collect();
    own.sort_by_key(|(it, _)| std::cmp::Reverse(it.createtxg));
    let SyncKeep { count, age } = *keep;
    let is_young = move |at: Time| {
        age.is_some_and(|age| now.saturating_sub(at) <= i64::try_from(age).unwrap_or(i64::MAX))
    };
    let old = own.into_iter().skip(count as usize);
    old.filter(move |(it, at)| !it.needed && Some(it.guid) != base && !is_young(*at)).map(|(it, _)| it)
}

#[cfg(test)]
mod tests;
