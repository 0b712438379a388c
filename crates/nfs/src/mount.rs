//! The MOUNT program, version 3 (RFC 1813 appendix I), and of version 1 what `showmount` asks.
//!
//! MNT gives the handle of a share's root, or of anything below it that the caller can reach: names
//! are looked up as by LOOKUP. Nothing depends on MNT having been called, and the list of mounts is
//! kept for DUMP only. While pools are still to come, a path that is not there gets no answer.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Mutex;

use engine_api::{Attr, NodeKind};
use sockets::lock;
use sunrpc::msg::AUTH_SYS;
use sunrpc::xdr::{Decoder, Encoder, Malformed};

use crate::context::Context;
use crate::handle::Sealed;
use crate::limits::{MAX_MOUNT_PATH, MAX_MOUNTS};
use crate::shares::{components, walk_across};
use crate::status::Status;

pub const PROGRAM: u32 = 100_005;
/// Versions that know nothing of NFSv3 handles cannot mount, only ask.
pub const LOWEST: u32 = 1;
pub const HIGHEST: u32 = 3;

mod procedure {
    pub const NULL: u32 = 0;
    pub const MNT: u32 = 1;
    pub const DUMP: u32 = 2;
    pub const UMNT: u32 = 3;
    pub const UMNTALL: u32 = 4;
    pub const EXPORT: u32 = 5;
}

/// Who said to have mounted what.
#[derive(Debug, Default)]
pub struct Mounts(Mutex<BTreeSet<(IpAddr, String)>>);

/// Runs one procedure. `Ok(false)`: there is no such procedure.
pub fn run(
    cx: &Context<'_>,
    mounts: &Mounts,
    (version, procedure): (u32, u32),
    args: &[u8],
    out: &mut Encoder,
) -> Result<bool, Malformed> {
    let d = &mut Decoder::new(args);
    match procedure {
        procedure::NULL => {}
        procedure::MNT if version == HIGHEST => mount(cx, mounts, d, out)?,
        procedure::DUMP => dump(mounts, out),
        procedure::UMNT => {
            let path = path(d)?;
            lock(&mounts.0).remove(&(cx.client.ip(), path));
        }
        procedure::UMNTALL => lock(&mounts.0).retain(|(client, _)| *client != cx.client.ip()),
        procedure::EXPORT => exports(cx, out),
        _ => return Ok(false),
    }
    Ok(true)
}

fn path(d: &mut Decoder<'_>) -> Result<String, Malformed> {
    Ok(String::from_utf8_lossy(d.opaque(MAX_MOUNT_PATH)?).into_owned())
}

fn mount(cx: &Context<'_>, mounts: &Mounts, d: &mut Decoder<'_>, out: &mut Encoder) -> Result<(), Malformed> {
    let path = path(d)?;
    match find(cx, &path) {
        Ok(handle) => {
            let mut all = lock(&mounts.0);
            if all.len() < MAX_MOUNTS {
                all.insert((cx.client.ip(), path));
            }
            drop(all);
            out.u32(Status::OK.0);
            out.opaque(&handle);
            out.words([1, AUTH_SYS]);
        }
        // What says "not there" ends a mount; a client that hears nothing tries for a while.
        Err(Status::NOENT) if cx.shares.may_come(&cx.table, None) => cx.is_unanswered.set(true),
        Err(status) => {
            tracing::info!(client = %cx.client, path, status = status.0, "mount refused");
            out.u32(status.0);
        }
    }
    Ok(())
}

/// The handle of a path. `mountstat3` has the same numbers as `nfsstat3` where both have a meaning.
fn find(cx: &Context<'_>, path: &str) -> Result<Sealed, Status> {
    let names = components(path);
    if names.iter().any(|name| name == b"..") || path.contains('\0') {
        return Err(Status::INVAL);
    }
    let (share, rest) = cx.table.find(&names).ok_or(Status::NOENT)?;
    cx.shares.grant(share, cx.client).ok_or(Status::ACCES)?;
    let (fs, node) = walk_across(&share.fs, &share.options.cred(&cx.credential), &rest)?;
    let attr: Attr = fs.getattr(node)?;
    match attr.kind {
        NodeKind::Dir | NodeKind::File => Ok(share.handle_in(share.known_as(fs.id()), node)),
        _ => Err(Status::NOTDIR),
    }
}

fn dump(mounts: &Mounts, out: &mut Encoder) {
    let all = lock(&mounts.0).clone();
    for (client, path) in all {
        out.bool(true);
        out.opaque(client.to_canonical().to_string().as_bytes());
        out.opaque(path.as_bytes());
    }
    out.bool(false);
}

fn exports(cx: &Context<'_>, out: &mut Encoder) {
    for share in cx.table.all() {
        out.bool(true);
        out.opaque(share.mountpoint.as_bytes());
        for group in share.options.groups() {
            out.bool(true);
            out.opaque(group.as_bytes());
        }
        out.bool(false);
    }
    out.bool(false);
}
