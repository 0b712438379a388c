//! Names in directories: LOOKUP, REMOVE, RMDIR, RENAME, LINK.

use engine_api::{Attr, DirChange, FsId, RenameMode};
use sunrpc::xdr::{Decoder, Encoder, Result};

use super::attr::{put_dir_change, put_post};
use super::target::{Place, Target, get_handle, or_refuse, put_wcc_of};
use crate::context::Context;
use crate::handle::Sealed;
use crate::status::Status;

pub fn lookup(cx: &Context<'_>, d: &mut Decoder<'_>, out: &mut Encoder) -> Result<()> {
    let place = Place::get(d)?;
    let Some(target) = or_refuse(Target::resolve(cx, place.handle), 1, out) else { return Ok(()) };
    match place.name().and_then(|name| find(cx, &target, name)) {
        Ok((fs, handle, attr)) => {
            out.u32(Status::OK.0);
            out.opaque(&handle);
            put_post(out, fs, Some(&attr));
        }
        Err(status) => out.u32(status.0),
    }
    target.put_post(out);
    Ok(())
}

/// Looks the name up, and steps over into what is mounted there.
fn find(cx: &Context<'_>, t: &Target, name: &[u8]) -> std::result::Result<(FsId, Sealed, Attr), Status> {
    if let Some(child) = cx.table.crossing(&t.share, t.node, name)
        && cx.shares.grant(child, cx.client).is_some()
    {
        let root = child.fs.root();
        return Ok((child.id, child.handle(root), child.fs.getattr(root)?));
    }
    let attr = t.fs().lookup(&t.cred, t.node, name)?;
    if let Some(snapshot) = t.fs().crossing(attr.node)? {
        let root = snapshot.root();
        let id = t.share.known_as(snapshot.id());
        return Ok((id, t.share.handle_in(id, root), snapshot.getattr(root)?));
    }
    Ok((t.fs_id(), t.share.handle(attr.node), attr))
}

pub fn remove(cx: &Context<'_>, d: &mut Decoder<'_>, out: &mut Encoder) -> Result<()> {
    one_dir(cx, &Place::get(d)?, out, |t, name| t.fs().remove(&t.cred, t.node, name))
}

pub fn rmdir(cx: &Context<'_>, d: &mut Decoder<'_>, out: &mut Encoder) -> Result<()> {
    one_dir(cx, &Place::get(d)?, out, |t, name| t.fs().rmdir(&t.cred, t.node, name))
}

fn one_dir(
    cx: &Context<'_>,
    place: &Place<'_>,
    out: &mut Encoder,
    work: impl FnOnce(&Target, &[u8]) -> engine_api::Result<DirChange>,
) -> Result<()> {
    let found = Target::for_change(cx, place.handle);
    let Some(target) = or_refuse(found, 2, out) else { return Ok(()) };
    let done = place.name().and_then(|name| Ok(work(&target, name)?));
    match done.and_then(|change| target.settle(cx).map(|()| change)) {
        Ok(change) => {
            out.u32(Status::OK.0);
            put_dir_change(out, target.fs_id(), &change);
        }
        Err(status) => {
            out.u32(status.0);
            target.put_wcc(out);
        }
    }
    Ok(())
}

pub fn rename(cx: &Context<'_>, d: &mut Decoder<'_>, out: &mut Encoder) -> Result<()> {
    let (from, to) = (Place::get(d)?, Place::get(d)?);
    let source = Target::for_change(cx, from.handle);
    let target = Target::for_change(cx, to.handle);
    let done = match (&source, &target) {
        (Ok(source), Ok(target)) => rename_between(cx, source, &from, target, &to),
        (Err(status), _) | (_, Err(status)) => Err(*status),
    };
    match (done, &source) {
        (Ok((source_dir, target_dir)), Ok(source)) => {
            out.u32(Status::OK.0);
            put_dir_change(out, source.fs_id(), &source_dir);
            put_dir_change(out, source.fs_id(), &target_dir);
        }
        (done, _) => {
            out.u32(done.err().unwrap_or(Status::SERVERFAULT).0);
            put_wcc_of(&source, out);
            put_wcc_of(&target, out);
        }
    }
    Ok(())
}

fn rename_between(
    cx: &Context<'_>,
    source: &Target,
    from: &Place<'_>,
    target: &Target,
    to: &Place<'_>,
) -> std::result::Result<(DirChange, DirChange), Status> {
    if source.fs_id() != target.fs_id() {
        return Err(Status::XDEV);
    }
    let (from, to) = ((source.node, from.name()?), (target.node, to.name()?));
    let changes = source.fs().rename(&source.cred, from, to, RenameMode::Replace)?;
    source.settle(cx)?; // One transaction: both directories are durable with either.
    Ok(changes)
}

pub fn link(cx: &Context<'_>, d: &mut Decoder<'_>, out: &mut Encoder) -> Result<()> {
    let node = get_handle(d)?;
    let place = Place::get(d)?;
    let node = Target::for_change(cx, node);
    let dir = Target::for_change(cx, place.handle);
    let done = match (&node, &dir) {
        (Ok(node), Ok(dir)) if node.fs_id() != dir.fs_id() => Err(Status::XDEV),
        (Ok(node), Ok(dir)) => {
            let done =
                place.name().and_then(|name| Ok(dir.fs().link(&dir.cred, node.node, dir.node, name)?));
            done.and_then(|linked| dir.settle(cx).map(|()| linked))
        }
        (Err(status), _) | (_, Err(status)) => Err(*status),
    };
    match (done, &dir) {
        (Ok((attr, change)), Ok(dir)) => {
            out.u32(Status::OK.0);
            put_post(out, dir.fs_id(), Some(&attr));
            put_dir_change(out, dir.fs_id(), &change);
        }
        (done, _) => {
            out.u32(done.err().unwrap_or(Status::SERVERFAULT).0);
            match &node {
                Ok(node) => node.put_post(out),
                Err(_) => out.bool(false),
            }
            put_wcc_of(&dir, out);
        }
    }
    Ok(())
}
