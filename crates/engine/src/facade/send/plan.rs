//! Which snapshots are sent, from which on, in which order; and the list of them that goes before a compound stream.
//!
//! Source: lib/libzfs/libzfs_sendrecv.c (`send_iterate_fs`, `send_iterate_snap`, `send_iterate_prop`, `dump_filesystems`,
//! `dump_snapshot`).

use std::collections::HashSet;

use ::pool::prop::RawValue;
use engine_api::{Error, Pool, Result, SendRequest};
use ondisk::nvlist::{NvList, NvValue};

use super::super::convert::api_error;
use super::super::family::{Member, parent_from, short_name};
use super::super::pool::LocalPool;

/// See the module.
#[derive(Default)]
pub(super) struct Plan {
    /// Snapshots in the order in which they are sent, with what each starts from.
    pub steps: Vec<(String, Option<String>)>,
    /// Snapshots that a dataset of the tree has not got.
    pub missing: Vec<String>,
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
        let (head, to) = request.snapshot.split_once('@').unwrap_or((&request.snapshot, ""));
        let sources = self.family(head, request.replicate)?;
        let mut plan = Plan { is_compound, ..Plan::default() };
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
                steps_of(source, request, to, &mut plan);
                false
            });
            if waiting.len() == before {
                return Err(Error::Refused(format!(
                    "cannot send '{}': clones in a circle",
                    request.snapshot
                )));
            }
        }
        if plan.missing.contains(&request.snapshot) {
            return Err(Error::Refused(format!(
                "cannot open '{}': dataset does not exist",
                request.snapshot
            )));
        }
        if plan.steps.is_empty() {
            const WHY: &str = "not an earlier snapshot from the same fs";
            return Err(Error::Refused(format!("warning: cannot send '{}': {WHY}", request.snapshot)));
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
        for source in sources.iter().filter(|source| source.named(to).is_some()) {
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
            for (name, value) in values {
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
        let first = match from.and_then(|from| source.named(from)) {
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

/// What is sent of one dataset.
fn steps_of(source: &Member, request: &SendRequest, to: &str, plan: &mut Plan) {
    let Some(last) = source.named(to) else {
        if !request.skip_missing || !request.replicate {
            plan.missing.push(format!("{}@{to}", source.info.name));
        }
        return;
    };
    let from = request.from.as_deref();
    let first = from.and_then(|from| source.named(short_name(from)));
    let all = request.intermediates || (request.replicate && from.is_none());
    let mut before = match (first, from) {
        (Some(first), _) => Some(source.snapshots[first].name.clone()),
        // A bookmark, or the snapshot that a clone was made of.
        (None, Some(from)) if !request.replicate => Some(from.to_owned()),
        _ if request.replicate => source.origin.clone(),
        _ => None,
    };
    let begin = if all { first.map_or(0, |first| first + 1) } else { last };
    for snapshot in source.snapshots.get(begin..=last).unwrap_or_default() {
        plan.steps.push((snapshot.name.clone(), before.replace(snapshot.name.clone())));
    }
}
