//! Bookmarking snapshots, or copying bookmarks.

use refusal::{Action, Reason, Refused, Upgrade};

use super::{missing, open};
use crate::dsl::names::Found;
use crate::dsl::task::SyncCx;
use crate::dsl::{Dsl, bookmark};
use crate::namecheck::check_point;
use crate::{PoolError, Result};

fn action(name: &str) -> Action {
    Action::CreateBookmark { name: name.to_owned() }
}

fn refuse(name: &str, reason: impl Into<Reason>) -> PoolError {
    Refused::new(action(name), reason).into()
}

/// What a bookmark is made of.
enum From {
    Snapshot(Found),
    Bookmark(bookmark::Bookmark),
}

fn source(dsl: &Dsl, source: &str) -> Result<From> {
    let Some((head, mark)) = source.split_once('#') else { return Ok(From::Snapshot(dsl.find(source)?)) };
    let found = bookmark::find(dsl, dsl.find(head)?.object, mark)?;
    found.map(From::Bookmark).ok_or(PoolError::NotFound)
}

pub(super) fn check(dsl: &Dsl, from: &str, name: &str) -> Result<()> {
    check_point(name, '#').map_err(|fault| refuse(name, fault))?;
    if !dsl.features().is_enabled("bookmarks") {
        return Err(refuse(name, Reason::PoolTooOld(Upgrade::Bookmarks)));
    }
    let (head, mark) = name.split_once('#').unwrap_or((name, ""));
    let found = dsl.find(head).map_err(missing(action(name)))?;
    if bookmark::find(dsl, found.object, mark)?.is_some() {
        return Err(refuse(name, Reason::BookmarkExists));
    }
    let (txg, guid) = match source(dsl, from).map_err(missing(open(from)))? {
        From::Snapshot(snapshot) => (snapshot.phys.creation_txg, snapshot.phys.guid),
        From::Bookmark(mark) => (mark.phys.creation_txg, mark.phys.guid),
    };
    if !is_in_past(dsl, &found, from, (txg, guid))? {
        return Err(refuse(name, Reason::NoAncestor { txg }));
    }
    Ok(())
}

/// Whether a point is one of a head's past: a snapshot of its own or of its origins', or a bookmark
/// of its own.
fn is_in_past(dsl: &Dsl, head: &Found, from: &str, (txg, guid): (u64, u64)) -> Result<bool> {
    if from.contains('#') && from.split('#').next() == Some(head.dir.name().as_str()) {
        return Ok(true);
    }
    let mut at = head.phys.prev_snap_obj;
    while at != 0 {
        let phys = dsl.mos.dataset(at)?;
        if phys.guid == guid {
            return Ok(true);
        }
        if phys.creation_txg < txg {
            return Ok(false);
        }
        at = phys.prev_snap_obj;
    }
    Ok(false)
}

pub(super) fn sync(cx: &SyncCx<'_>, from: &str, name: &str) -> Result<()> {
    let (head, mark) = name.split_once('#').unwrap_or((name, ""));
    let found = cx.dsl.find(head)?;
    let text = match source(cx.dsl, from)? {
        From::Snapshot(snapshot) => {
            let phys = bookmark::create(cx.dsl, found.object, mark, &snapshot, cx.tx)?;
            let target = snapshot.object;
            format!("name={mark} creation_txg={} target_snap={target} redact_obj=0", phys.creation_txg)
        }
        From::Bookmark(old) => {
            let phys = bookmark::copy(cx.dsl, found.object, mark, &old, cx.tx)?;
            format!("name={mark} creation_txg={} source_guid={}", phys.creation_txg, phys.guid)
        }
    };
    cx.note("bookmark", head, found.object, &text);
    cx.dsl.refresh_heads()
}
