//! Which snapshots are sent, from which on, in which order; and the list of them that goes before a
//! compound stream.
//!
//! Source: lib/libzfs/libzfs_sendrecv.c (`send_iterate_fs`, `send_iterate_snap`,
//! `send_iterate_prop`, `dump_filesystems`, `dump_snapshot`).

use std::collections::HashSet;

use ::pool::prop::RawValue;
use engine_api::{IDENTITY, Pool, Result, SendRequest};
use ondisk::nvlist::{NvList, NvValue};
use refusal::SendFault;
use stdx::names::is_at_or_below;

use super::super::convert::api_error;
use super::super::family::{Member, no_dataset, parent_from, short_name};
use super::super::pool::LocalPool;
use super::not_sent;

/// See the module.
#[derive(Default)]
pub(super) struct Plan {
    /// Snapshots in the order in which they are sent, with what each starts from.
    pub steps: Vec<(String, Option<String>)>,
    /// Datasets of the tree that are left out, with all below them, for they have no such snapshot;
    /// and whether they are younger than it.
    pub skipped: Vec<(String, bool)>,
    pub is_compound: bool,
    /// Packed; empty where there is none.
    pub list: Vec<u8>,
}

impl LocalPool {
    pub(super) fn plan_send(&self, request: &SendRequest) -> Result<Plan> {
        let says_more = request.props || request.backup || request.holds;
        let is_compound = request.replicate || request.intermediates || says_more;
        if !is_compound {
            let steps = vec![(request.snapshot.clone(), request.from.clone())];
            return Ok(Plan { steps, ..Plan::default() });
        }
        let whole = &request.snapshot;
        let (head, to) = whole.split_once('@').ok_or_else(|| {
            // Which snapshot's, OpenZFS would ask of properties and holds.
            not_sent(whole, SendFault::NoSnapshot { snapshot: format!("{whole}@"), is_tree: false })
        })?;
        let sources = self.family(head, request.replicate)?;
        if sources.first().is_none_or(|head| head.named(to).is_none()) {
            return Err(no_dataset(whole));
        }
        let mut request = request.clone();
        check_source(&sources, &mut request)?;
        let request = &request;
        let mut plan = Plan { is_compound, ..Plan::default() };
        let sources = those_with(sources, request, to, &mut plan.skipped)?;
        let origins: HashSet<&str> = sources.iter().filter_map(|source| source.origin.as_deref()).collect();
        let mut sent = HashSet::new();
        let mut waiting: Vec<&Member> = sources.iter().collect();
        while !waiting.is_empty() {
            let before = waiting.len();
            // A clone comes after what it was made of, if that comes.
            waiting.retain(|source| {
                let origin = source.origin.as_ref().and_then(|origin| origin.split('@').next());
                let comes = |name: &str| sources.iter().any(|other| other.info.name == name);
                if origin.is_some_and(|origin| comes(origin) && !sent.contains(origin)) {
                    return true;
                }
                sent.insert(source.info.name.clone());
                steps_of(source, request, (to, &origins), &mut plan);
                false
            });
            if waiting.len() == before {
                return Err(not_sent(&request.snapshot, SendFault::Circle));
            }
        }
        if plan.steps.is_empty() {
            return Err(not_sent(&request.snapshot, SendFault::NotEarlier));
        }
        if request.replicate || says_more {
            plan.list = self.list_of(request, &sources, to)?.encode_xdr();
        }
        Ok(plan)
    }

    /// The list that goes before the streams.
    fn list_of(&self, request: &SendRequest, sources: &[Member], to: &str) -> Result<NvList> {
        let mut list = NvList::new();
        let from = request.from.as_deref().map(short_name).filter(|from| !from.is_empty());
        if let Some(from) = from {
            list.set("fromsnap", from);
        }
        list.set("tosnap", to);
        if !request.replicate {
            list.set("not_recursive", NvValue::Flag);
        }
        let mut all = NvList::new();
        for source in sources {
            all.set(format!("0x{:x}", source.info.guid), self.listed(request, sources, source, from, to)?);
        }
        list.set("fss", all);
        Ok(list)
    }

    fn listed(
        &self,
        request: &SendRequest,
        sources: &[Member],
        source: &Member,
        from: Option<&str>,
        to: &str,
    ) -> Result<NvList> {
        let name = &source.info.name;
        let mut list = NvList::new();
        list.set("name", name.as_str());
        list.set("parentfromsnap", parent_from(sources, name, from, to));
        if let Some(origin) = &source.origin {
            list.set("origin", self.guid_of(origin)?);
        }
        let props = |name: &str| -> Result<NvList> {
            let values = self.pool.dsl.sendable_props(name, request.backup).map_err(api_error)?;
            let mut list = NvList::new();
            // Its key is for nobody who gets a stream, and what came in one does not count.
            for (name, value) in values.into_iter().filter(|(name, _)| name != IDENTITY) {
                match value {
                    RawValue::Number(number) => list.set(name, number),
                    RawValue::Text(text) => list.set(name, text),
                };
            }
            Ok(list)
        };
        if request.replicate || request.props || request.backup {
            list.set("props", props(name)?);
        }
        let last = source.named(to).unwrap_or(usize::MAX);
        let is_single = !request.replicate && !request.intermediates;
        let first = match start_of(source, request) {
            // The receiver of a whole tree learns which older ones are gone.
            Some(first) if !request.replicate => first,
            None if is_single => last,
            _ => 0,
        };
        let (mut snaps, mut snap_props, mut snap_holds) = (NvList::new(), NvList::new(), NvList::new());
        for (n, snapshot) in source.snapshots.iter().enumerate() {
            if n < first || n > last {
                continue;
            }
            let short = short_name(&snapshot.name);
            snaps.set(short, snapshot.guid);
            snap_props.set(short, props(&snapshot.name)?);
            if request.holds {
                let mut tags = NvList::new();
                for (tag, time) in self.holds(&snapshot.name)? {
                    tags.set(tag, time);
                }
                snap_holds.set(short, tags);
            }
        }
        list.set("snaps", snaps).set("snapprops", snap_props);
        if request.holds {
            list.set("snapholds", snap_holds);
        }
        Ok(list)
    }
}

/// Whether snapshots of a dataset can start from where they are to. A clone's origin needs no word
/// where all begins there.
fn check_source(sources: &[Member], request: &mut SendRequest) -> Result<()> {
    let (Some(head), Some(from)) = (sources.first(), &request.from) else { return Ok(()) };
    if !request.replicate && !request.intermediates {
        return Ok(());
    }
    if head.origin.as_ref() == Some(from) {
        if request.replicate {
            request.from = None;
        }
        return Ok(());
    }
    let (of, short) = from.split_once('@').unwrap_or((from, ""));
    if of != head.name() {
        return Err(not_sent(&request.snapshot, SendFault::SourceElsewhere));
    }
    if head.named(short).is_none() {
        return Err(no_dataset(from));
    }
    Ok(())
}

/// Where what is sent of a dataset starts: trees start from snapshots of one short name.
fn start_of(source: &Member, request: &SendRequest) -> Option<usize> {
    let (of, short) = request.from.as_deref()?.split_once('@')?;
    if request.replicate || of == source.name() { source.named(short) } else { None }
}

/// What is sent of one dataset, up to a snapshot: with others of its snapshots, those that clones
/// in the tree were made of.
fn steps_of(source: &Member, request: &SendRequest, (to, origins): (&str, &HashSet<&str>), plan: &mut Plan) {
    let Some(last) = source.named(to) else { return };
    if request.exclude.iter().any(|top| is_at_or_below(source.name(), top)) {
        return;
    }
    let from = request.from.as_deref();
    let first = start_of(source, request);
    let all = request.intermediates || (request.replicate && from.is_none());
    let mut before = match (first, from) {
        (Some(first), _) => Some(source.snapshots[first].name.clone()),
        // A bookmark, or the snapshot that a clone was made of.
        (None, Some(from)) if !request.replicate => Some(from.to_owned()),
        _ if request.replicate => source.origin.clone(),
        _ => None,
    };
    let begin = first.map_or(0, |first| first + 1);
    let is_sent = |n: usize, name: &str| all || n == last || (request.replicate && origins.contains(name));
    let snapshots = source.snapshots.iter().enumerate().take(last + 1).skip(begin);
    for (_, snapshot) in snapshots.filter(|(n, snapshot)| is_sent(*n, &snapshot.name)) {
        plan.steps.push((snapshot.name.clone(), before.replace(snapshot.name.clone())));
    }
}

/// The datasets of a tree that have the snapshot. Those that came after it need not have it; others
/// must, unless the request says otherwise.
fn those_with(
    sources: Vec<Member>,
    request: &SendRequest,
    to: &str,
    skipped: &mut Vec<(String, bool)>,
) -> Result<Vec<Member>> {
    let mut kept: Vec<Member> = Vec::new();
    for source in sources {
        let name = source.name();
        if skipped.iter().any(|(top, _)| is_at_or_below(name, top)) {
            continue;
        }
        if source.named(to).is_some() {
            kept.push(source);
            continue;
        }
        let above = kept.iter().rev().find(|one| is_at_or_below(name, one.name()));
        let taken = above.and_then(|one| Some(one.snapshots[one.named(to)?].createtxg));
        let is_new = taken.is_some_and(|taken| source.info.createtxg > taken);
        if !is_new && !request.skip_missing {
            let fault = SendFault::NoSnapshot { snapshot: format!("{name}@{to}"), is_tree: true };
            return Err(not_sent(&request.snapshot, fault));
        }
        skipped.push((name.to_owned(), is_new));
    }
    Ok(kept)
}
