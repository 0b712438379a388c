//! SETATTR, and what makes new nodes: CREATE, MKDIR, SYMLINK, MKNOD.

use engine_api::{Attr, CreateMode, Created, Error, NewNode, SetAttr};
use sunrpc::xdr::{Decoder, Encoder, Malformed, Result};

use super::attr::{get_sattr, get_time, put_dir_change, put_post, put_wcc};
use super::target::{Place, Target, get_handle, or_refuse};
use crate::context::Context;
use crate::limits::MAX_PATH;
use crate::status::Status;

pub fn setattr(cx: &Context<'_>, d: &mut Decoder<'_>, out: &mut Encoder) -> Result<()> {
    let handle = get_handle(d)?;
    let mut set = get_sattr(d)?;
    set.guard_ctime = d.option(get_time)?;
    let Some(target) = or_refuse(Target::for_change(cx, handle), 2, out) else { return Ok(()) };
    // Truncation is a write, and the client checked that when the file was opened.
    let target = if set.size.is_some() { target.with_owner_override() } else { target };
    let done = target.fs().setattr(&target.cred, target.node, &set);
    match done.and_then(|attrs| target.settled(cx).map(|()| attrs)) {
        Ok((before, after)) => {
            out.u32(Status::OK.0);
            put_wcc(out, target.fs_id(), Some(&before), Some(&after));
        }
        Err(error) => {
            let status = match error {
                // What the engine says of a guard that did not hold.
                Error::Busy if set.guard_ctime.is_some() => Status::NOT_SYNC,
                other => other.into(),
            };
            out.u32(status.0);
            target.put_wcc(out);
        }
    }
    Ok(())
}

pub fn create(cx: &Context<'_>, d: &mut Decoder<'_>, out: &mut Encoder) -> Result<()> {
    let place = Place::get(d)?;
    let (mode, set) = match d.u32()? {
        0 => (CreateMode::Unchecked, get_sattr(d)?),
        1 => (CreateMode::Guarded, get_sattr(d)?),
        2 => (CreateMode::Exclusive { verifier: d.u64()? }, SetAttr::default()),
        other => return Err(Malformed::Value(other)),
    };
    answer(cx, &place, out, |t, name| Ok(t.fs().create(&t.cred, t.node, name, mode, &set)?))
}

pub fn mkdir(cx: &Context<'_>, d: &mut Decoder<'_>, out: &mut Encoder) -> Result<()> {
    let (place, set) = (Place::get(d)?, get_sattr(d)?);
    make(cx, &place, out, &NewNode::Dir, &set)
}

pub fn symlink(cx: &Context<'_>, d: &mut Decoder<'_>, out: &mut Encoder) -> Result<()> {
    let place = Place::get(d)?;
    let set = get_sattr(d)?;
    let target = d.opaque(u32::MAX)?;
    answer(cx, &place, out, |t, name| {
        if target.len() > MAX_PATH as usize {
            return Err(Status::NAMETOOLONG);
        }
        if target.is_empty() || target.contains(&0) {
            return Err(Status::INVAL);
        }
        let what = NewNode::Symlink { target: target.to_vec() };
        Ok(t.fs().make(&t.cred, t.node, name, &what, &set)?)
    })
}

pub fn mknod(cx: &Context<'_>, d: &mut Decoder<'_>, out: &mut Encoder) -> Result<()> {
    let place = Place::get(d)?;
    let kind = d.u32()?;
    let (what, set) = match kind {
        3 | 4 => {
            let set = get_sattr(d)?;
            let (major, minor) = (d.u32()?, d.u32()?);
            let device = if kind == 3 {
                NewNode::BlockDev { major, minor }
            } else {
                NewNode::CharDev { major, minor }
            };
            (device, set)
        }
        6 => (NewNode::Socket, get_sattr(d)?),
        7 => (NewNode::Fifo, get_sattr(d)?),
        1 | 2 | 5 => return answer(cx, &place, out, |_, _| Err(Status::BADTYPE)),
        other => return Err(Malformed::Value(other)),
    };
    make(cx, &place, out, &what, &set)
}

fn make(cx: &Context<'_>, place: &Place<'_>, out: &mut Encoder, what: &NewNode, set: &SetAttr) -> Result<()> {
    answer(cx, place, out, |t, name| Ok(t.fs().make(&t.cred, t.node, name, what, set)?))
}

/// What all creating procedures answer: handle and attributes of the new node, and the directory
/// before and after.
fn answer(
    cx: &Context<'_>,
    place: &Place<'_>,
    out: &mut Encoder,
    work: impl FnOnce(&Target, &[u8]) -> std::result::Result<Created, Status>,
) -> Result<()> {
    let found = Target::for_change(cx, place.handle);
    let Some(target) = or_refuse(found, 2, out) else { return Ok(()) };
    let done = place.name().and_then(|name| work(&target, name));
    match done.and_then(|created| target.settle(cx).map(|()| created)) {
        Ok(created) => {
            out.u32(Status::OK.0);
            put_handle_and_attr(out, &target, &created.attr);
            put_dir_change(out, target.fs_id(), &created.dir);
        }
        Err(status) => {
            out.u32(status.0);
            target.put_wcc(out);
        }
    }
    Ok(())
}

pub(super) fn put_handle_and_attr(out: &mut Encoder, target: &Target, attr: &Attr) {
    out.bool(true);
    out.opaque(&target.share.handle(attr.node));
    put_post(out, target.fs_id(), Some(attr));
}
