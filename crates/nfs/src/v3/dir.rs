//! READDIR and READDIRPLUS.
//!
//! Cookies are the engine's, good for as long as the directory lives, so the cookie verifier is
//! always zero. `.` and `..` come first with cookies 1 and 2, which the engine leaves free. An
//! entry goes in whole or not at all; what the engine gave and did not fit is asked for again with
//! the next call.
//!
//! READDIRPLUS looks each entry up, so it asks what LOOKUP asks: who may read a directory but not
//! search it learns names only.

use engine_api::{Attr, DirEntry, DirLimit, DirPage};
use sunrpc::xdr::{Decoder, Encoder, Result, padding};

use super::attr::{FATTR_LEN, put_post};
use super::target::{Target, get_handle, or_refuse};
use crate::context::Context;
use crate::handle;
use crate::limits::MAX_TRANSFER;
use crate::status::Status;

const COOKIE_DOT: u64 = 1;
const COOKIE_DOTDOT: u64 = 2;
/// Bytes of an entry without its name: another follows, file id, name length, cookie.
const ENTRY: usize = 4 + 8 + 4 + 8;
/// What READDIRPLUS adds: attributes and handle, each with its flag.
const PLUS: usize = 4 + FATTR_LEN + 4 + 4 + handle::MAX_LEN;
/// Entries that one call may ask of the engine.
const MAX_ENTRIES: usize = 8192;
/// End of list, end of directory.
const TRAILER: usize = 8;
/// A guess at the room a name takes, to ask the engine for about as much as fits.
const TYPICAL_NAME: usize = 12;

struct Request<'a> {
    handle: &'a [u8],
    cookie: u64,
    /// Bytes of the whole result.
    room: usize,
    /// Bytes of names and cookies.
    names: usize,
    plus: bool,
}

pub fn readdir(cx: &Context<'_>, d: &mut Decoder<'_>, out: &mut Encoder) -> Result<()> {
    let (handle, cookie, _verifier) = (get_handle(d)?, d.u64()?, d.u64()?);
    let room = d.u32()?.min(MAX_TRANSFER) as usize;
    list(cx, &Request { handle, cookie, room, names: room, plus: false }, out);
    Ok(())
}

pub fn readdirplus(cx: &Context<'_>, d: &mut Decoder<'_>, out: &mut Encoder) -> Result<()> {
    let (handle, cookie, _verifier) = (get_handle(d)?, d.u64()?, d.u64()?);
    let names = d.u32()?.min(MAX_TRANSFER) as usize;
    let room = d.u32()?.min(MAX_TRANSFER) as usize;
    list(cx, &Request { handle, cookie, room, names, plus: true }, out);
    Ok(())
}

fn list(cx: &Context<'_>, request: &Request<'_>, out: &mut Encoder) {
    let Some(target) = or_refuse(Target::resolve(cx, request.handle), 1, out) else { return };
    let start = out.len();
    if let Err(status) = put_list(cx, &target, request, out) {
        out.truncate(start);
        out.u32(status.0);
        target.put_post(out);
    }
}

fn put_list(
    cx: &Context<'_>,
    target: &Target,
    request: &Request<'_>,
    out: &mut Encoder,
) -> std::result::Result<(), Status> {
    let start = out.len();
    // The room is for everything behind the status.
    let end = start + 4 + request.room;
    let dir = target.fs().getattr(target.node)?;
    out.u32(Status::OK.0);
    put_post(out, target.fs_id(), Some(&dir));
    out.u64(0);
    let looks_up = request.plus && target.fs().access(&target.cred, target.node)?.lookup;
    let (plus, names) = (request.plus, request.names);
    let mut page = Page { cx, target, plus, looks_up, end, names, entries: 0 };
    let mut whole = true;
    for (cookie, name) in [(COOKIE_DOT, &b"."[..]), (COOKIE_DOTDOT, b"..")] {
        if whole && request.cookie < cookie {
            let attr = if cookie == COOKIE_DOT { dir } else { parent(target, dir) };
            whole = page.put(out, name, cookie, attr.node.object, Some(&attr));
        }
    }
    let mut eof = false;
    if whole {
        let cookie = if request.cookie <= COOKIE_DOTDOT { 0 } else { request.cookie };
        let found = target.fs().readdir(&target.cred, target.node, cookie, page.limit(out.len()))?;
        whole = page.put_all(out, &found);
        eof = whole && found.eof;
    }
    if page.entries == 0 && !whole {
        return Err(Status::TOOSMALL);
    }
    out.bool(false);
    out.bool(eof);
    Ok(())
}

/// Attributes of `..`; the root's parent is the root, and so is one that the caller may not see.
fn parent(target: &Target, dir: Attr) -> Attr {
    target.fs().lookup(&target.cred, target.node, b"..").unwrap_or(dir)
}

/// A reply being filled.
struct Page<'a> {
    cx: &'a Context<'a>,
    target: &'a Target,
    plus: bool,
    /// Entries come with attributes and handle.
    looks_up: bool,
    /// Length that the encoder may reach.
    end: usize,
    /// Bytes left for names and cookies.
    names: usize,
    entries: usize,
}

impl Page<'_> {
    fn fixed(&self) -> usize {
        ENTRY + if self.plus { PLUS } else { 0 }
    }

    /// About as much as fits behind what is encoded already.
    fn limit(&self, len: usize) -> DirLimit {
        let room = self.end.saturating_sub(len + TRAILER);
        let entries = (room / (self.fixed() + TYPICAL_NAME)).clamp(1, MAX_ENTRIES);
        DirLimit { entries, name_bytes: room.min(self.names).max(1), with_attr: self.looks_up }
    }

    /// False where an entry did not fit.
    fn put_all(&mut self, out: &mut Encoder, found: &DirPage) -> bool {
        found.entries.iter().all(|entry| {
            let attr = entry.attr.as_ref().filter(|_| self.looks_up && !self.is_crossing(entry));
            self.put(out, &entry.name, entry.cookie, entry.node.object, attr)
        })
    }

    /// What the client sees under this name is another file system: it shall look it up.
    fn is_crossing(&self, entry: &DirEntry) -> bool {
        self.cx.table.crossing(&self.target.share, self.target.node, &entry.name).is_some()
    }

    fn put(&mut self, out: &mut Encoder, name: &[u8], cookie: u64, id: u64, attr: Option<&Attr>) -> bool {
        let name_len = name.len() + padding(name.len());
        let counted = 8 + 8 + 4 + name_len;
        let beyond_names = self.plus && counted > self.names && self.entries > 0;
        if out.len() + self.fixed() + name_len + TRAILER > self.end || beyond_names {
            return false;
        }
        self.names = self.names.saturating_sub(counted);
        self.entries += 1;
        out.bool(true);
        out.u64(id);
        out.opaque(name);
        out.u64(cookie);
        if self.plus {
            put_post(out, self.target.fs_id(), attr);
            out.bool(attr.is_some());
            if let Some(attr) = attr {
                out.opaque(&self.target.share.handle(attr.node));
            }
        }
        true
    }
}
