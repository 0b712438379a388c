//! Data: READ, WRITE, COMMIT, READLINK.

use engine_api::{Cred, Error, NodeKind, ReadBuf, Stable};
use sunrpc::xdr::{Decoder, Encoder, Malformed, Result};

use super::Out;
use super::attr::{put_post, put_wcc};
use super::target::{Target, get_handle, or_refuse};
use crate::context::Context;
use crate::limits::MAX_TRANSFER;
use crate::stats::{BYTES_READ, BYTES_WRITTEN};
use crate::status::Status;

pub fn read(cx: &Context<'_>, d: &mut Decoder<'_>, out: &mut Out) -> Result<()> {
    let (handle, offset, count) = (get_handle(d)?, d.u64()?, d.u32()?);
    let found = Target::resolve(cx, handle).map(Target::with_owner_override);
    let Some(target) = or_refuse(found, 1, &mut out.enc) else { return Ok(()) };
    let found = read_data(&target, offset, count.min(MAX_TRANSFER) as usize);
    let attr = target.attr();
    match found {
        Ok(data) => {
            let len = data.len() as u32;
            cx.counters.add(BYTES_READ, u64::from(len));
            out.enc.u32(Status::OK.0);
            put_post(&mut out.enc, target.fs_id(), attr.as_ref());
            out.enc.u32(len);
            out.enc.bool(data.eof);
            out.enc.u32(len);
            out.body = data;
        }
        Err(error) => {
            out.enc.u32(Status::from(error).0);
            put_post(&mut out.enc, target.fs_id(), attr.as_ref());
        }
    }
    Ok(())
}

/// Clients read the pages of a program they may execute but not read: they ask as the user, so it
/// has to be allowed.
fn read_data(t: &Target, offset: u64, len: usize) -> engine_api::Result<ReadBuf> {
    match t.fs().read(&t.cred, t.node, offset, len) {
        Err(Error::Denied) => {
            let may_run = t.fs().access(&t.cred, t.node)?.execute;
            let is_file = t.fs().getattr(t.node)?.kind == NodeKind::File;
            if may_run && is_file {
                t.fs().read(&Cred::root(), t.node, offset, len)
            } else {
                Err(Error::Denied)
            }
        }
        other => other,
    }
}

fn get_stable(d: &mut Decoder<'_>) -> Result<Stable> {
    match d.u32()? {
        0 => Ok(Stable::Unstable),
        1 => Ok(Stable::DataSync),
        2 => Ok(Stable::FileSync),
        other => Err(Malformed::Value(other)),
    }
}

pub fn write(cx: &Context<'_>, d: &mut Decoder<'_>, out: &mut Encoder) -> Result<()> {
    let (handle, offset, count) = (get_handle(d)?, d.u64()?, d.u32()?);
    let stable = get_stable(d)?;
    // As many bytes as both count and opaque promise.
    let data = d.opaque(MAX_TRANSFER)?.get(..count as usize);
    let found = Target::for_change(cx, handle).map(Target::with_owner_override);
    let found = found.and_then(|target| Ok((target, data.ok_or(Status::INVAL)?)));
    let Some((target, data)) = or_refuse(found, 2, out) else { return Ok(()) };
    let done = if stable == Stable::Unstable {
        target.fs().write(&target.cred, target.node, offset, data, stable)
    } else {
        let done = target.fs().write_promised(&target.cred, target.node, offset, data);
        done.map(|(written, promise)| {
            cx.answer_after(promise);
            written
        })
    };
    match done {
        Ok(written) => {
            cx.counters.add(BYTES_WRITTEN, data.len() as u64);
            out.u32(Status::OK.0);
            put_wcc(out, target.fs_id(), Some(&written.before), Some(&written.after));
            out.u32(data.len() as u32);
            out.u32(match written.stable {
                Stable::Unstable => 0,
                Stable::DataSync => 1,
                Stable::FileSync => 2,
            });
            out.u64(written.verifier.0);
        }
        Err(error) => {
            out.u32(Status::from(error).0);
            target.put_wcc(out);
        }
    }
    Ok(())
}

/// Always of the whole file: more than a range is always allowed.
pub fn commit(cx: &Context<'_>, d: &mut Decoder<'_>, out: &mut Encoder) -> Result<()> {
    let (handle, _offset, _count) = (get_handle(d)?, d.u64()?, d.u32()?);
    let Some(target) = or_refuse(Target::for_change(cx, handle), 2, out) else { return Ok(()) };
    let before = target.attr();
    let done = target.fs().promise(target.node).map(|promise| {
        cx.answer_after(promise);
        target.fs().verifier()
    });
    let after = target.attr();
    out.u32(done.as_ref().map_or_else(|error| Status::from(error.clone()), |_| Status::OK).0);
    put_wcc(out, target.fs_id(), before.as_ref(), after.as_ref());
    if let Ok(verifier) = done {
        out.u64(verifier.0);
    }
    Ok(())
}

pub fn readlink(cx: &Context<'_>, d: &mut Decoder<'_>, out: &mut Encoder) -> Result<()> {
    let handle = get_handle(d)?;
    let Some(target) = or_refuse(Target::resolve(cx, handle), 1, out) else { return Ok(()) };
    let found = target.fs().readlink(&target.cred, target.node);
    let attr = target.attr();
    out.u32(found.as_ref().map_or_else(|error| Status::from(error.clone()), |_| Status::OK).0);
    put_post(out, target.fs_id(), attr.as_ref());
    if let Ok(path) = found {
        out.opaque(&path);
    }
    Ok(())
}
