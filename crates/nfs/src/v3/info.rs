//! Procedures that only ask: GETATTR, ACCESS, FSSTAT, FSINFO, PATHCONF.

use engine_api::{Access, Time};
use sunrpc::xdr::{Decoder, Encoder, Result};

use super::attr::{put_attr, put_post, put_time};
use super::target::{Target, get_handle, or_refuse};
use crate::context::Context;
use crate::limits::{MAX_TRANSFER, PREFERRED_DIR};
use crate::status::Status;

/// FSINFO properties: hard links, symbolic links, one set of limits for all files, times can be
/// set.
const PROPERTIES: u32 = 0x01 | 0x02 | 0x08 | 0x10;
/// Reads and writes had better be multiples of this.
const MULTIPLE: u32 = 4096;

pub fn getattr(cx: &Context<'_>, d: &mut Decoder<'_>, out: &mut Encoder) -> Result<()> {
    let handle = get_handle(d)?;
    let found = Target::resolve(cx, handle).and_then(|t| Ok((t.fs_id(), t.fs().getattr(t.node)?)));
    match found {
        Ok((fs, attr)) => {
            out.u32(Status::OK.0);
            put_attr(out, fs, &attr);
        }
        Err(status) => out.u32(status.0),
    }
    Ok(())
}

/// ACCESS3_* bits of what is allowed.
fn access_bits(access: Access, writable: bool) -> u32 {
    let bit = |on: bool, bit: u32| if on { bit } else { 0 };
    bit(access.read, 0x01)
        | bit(access.lookup, 0x02)
        | bit(access.modify && writable, 0x04)
        | bit(access.extend && writable, 0x08)
        | bit(access.delete && writable, 0x10)
        | bit(access.execute, 0x20)
}

pub fn access(cx: &Context<'_>, d: &mut Decoder<'_>, out: &mut Encoder) -> Result<()> {
    let (handle, wanted) = (get_handle(d)?, d.u32()?);
    answer(cx, handle, out, |t, out| {
        let access = t.fs().access(&t.cred, t.node)?;
        out.u32(access_bits(access, t.writable) & wanted);
        Ok(())
    })
}

pub fn fsstat(cx: &Context<'_>, d: &mut Decoder<'_>, out: &mut Encoder) -> Result<()> {
    answer(cx, get_handle(d)?, out, |t, out| {
        let stat = t.fs().statfs(t.node)?;
        let (bytes, files) = (stat.total_bytes, stat.total_files);
        for number in [bytes, stat.free_bytes, stat.avail_bytes, files, stat.free_files, stat.free_files] {
            out.u64(number);
        }
        out.u32(0); // invarsec: these numbers may change at any time.
        Ok(())
    })
}

pub fn fsinfo(cx: &Context<'_>, d: &mut Decoder<'_>, out: &mut Encoder) -> Result<()> {
    answer(cx, get_handle(d)?, out, |t, out| {
        let stat = t.fs().statfs(t.node)?;
        for _read_then_write in 0..2 {
            out.words([MAX_TRANSFER, MAX_TRANSFER, MULTIPLE]);
        }
        out.u32(PREFERRED_DIR);
        out.u64(stat.max_file_size);
        put_time(out, Time { secs: 0, nanos: 1 });
        out.u32(PROPERTIES);
        Ok(())
    })
}

pub fn pathconf(cx: &Context<'_>, d: &mut Decoder<'_>, out: &mut Encoder) -> Result<()> {
    answer(cx, get_handle(d)?, out, |t, out| {
        let stat = t.fs().statfs(t.node)?;
        out.words([stat.link_max, stat.name_max]);
        out.bool(true); // no_trunc: long names are errors.
        out.bool(true); // chown_restricted
        out.bool(stat.case_insensitive);
        out.bool(stat.case_preserving);
        Ok(())
    })
}

/// Status, attributes of the node, then the results: the shape that these procedures share.
fn answer(
    cx: &Context<'_>,
    handle: &[u8],
    out: &mut Encoder,
    results: impl FnOnce(&Target, &mut Encoder) -> engine_api::Result<()>,
) -> Result<()> {
    let Some(target) = or_refuse(Target::resolve(cx, handle), 1, out) else { return Ok(()) };
    let start = out.len();
    out.u32(Status::OK.0);
    let attr = target.fs().getattr(target.node);
    put_post(out, target.fs_id(), attr.as_ref().ok());
    if let Err(error) = attr.and_then(|_| results(&target, out)) {
        out.truncate(start);
        out.u32(Status::from(error).0);
        target.put_post(out);
    }
    Ok(())
}
