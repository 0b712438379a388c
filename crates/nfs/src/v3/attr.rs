//! Attributes on the wire: fattr3, sattr3, and the before and after of weak cache consistency (RFC
//! 1813 §2.6).

use engine_api::{Attr, DirChange, FsId, NodeKind, SetAttr, SetTime, Time};
use sunrpc::xdr::{Decoder, Encoder, Malformed, Result};

/// Bytes of a fattr3.
pub const FATTR_LEN: usize = 84;

/// ftype3
pub fn type_of(kind: NodeKind) -> u32 {
    match kind {
        NodeKind::File => 1,
        NodeKind::Dir => 2,
        NodeKind::BlockDev => 3,
        NodeKind::CharDev => 4,
        NodeKind::Symlink => 5,
        NodeKind::Socket => 6,
        NodeKind::Fifo => 7,
    }
}

/// NFSv3 has 32 bits of seconds; times outside wrap, as on every server.
pub fn put_time(out: &mut Encoder, time: Time) {
    out.words([time.secs as u32, time.nanos]);
}

pub fn get_time(d: &mut Decoder<'_>) -> Result<Time> {
    let (secs, nanos) = (d.u32()?, d.u32()?);
    if nanos >= 1_000_000_000 {
        return Err(Malformed::Value(nanos));
    }
    Ok(Time { secs: i64::from(secs), nanos })
}

/// fsid: one number for pool and dataset, which in one pool is unique by itself.
fn fsid(fs: FsId) -> u64 {
    fs.dataset_guid ^ fs.pool_guid.rotate_left(32)
}

pub fn put_attr(out: &mut Encoder, fs: FsId, attr: &Attr) {
    let nlink = u32::try_from(attr.nlink).unwrap_or(u32::MAX);
    out.words([type_of(attr.kind), attr.mode & 0o7777, nlink, attr.uid, attr.gid]);
    out.u64(attr.size);
    out.u64(attr.used);
    out.words([attr.rdev.0, attr.rdev.1]);
    out.u64(fsid(fs));
    out.u64(attr.node.object);
    put_time(out, attr.atime);
    put_time(out, attr.mtime);
    put_time(out, attr.ctime);
}

/// post_op_attr
pub fn put_post(out: &mut Encoder, fs: FsId, attr: Option<&Attr>) {
    out.bool(attr.is_some());
    if let Some(attr) = attr {
        put_attr(out, fs, attr);
    }
}

/// wcc_data
pub fn put_wcc(out: &mut Encoder, fs: FsId, before: Option<&Attr>, after: Option<&Attr>) {
    out.bool(before.is_some());
    if let Some(before) = before {
        out.u64(before.size);
        put_time(out, before.mtime);
        put_time(out, before.ctime);
    }
    put_post(out, fs, after);
}

pub fn put_dir_change(out: &mut Encoder, fs: FsId, change: &DirChange) {
    put_wcc(out, fs, Some(&change.before), Some(&change.after));
}

fn set_time(d: &mut Decoder<'_>) -> Result<Option<SetTime>> {
    match d.u32()? {
        0 => Ok(None),
        1 => Ok(Some(SetTime::Now)),
        2 => Ok(Some(SetTime::To(get_time(d)?))),
        other => Err(Malformed::Value(other)),
    }
}

/// sattr3
pub fn get_sattr(d: &mut Decoder<'_>) -> Result<SetAttr> {
    Ok(SetAttr {
        mode: d.option(Decoder::u32)?.map(|mode| mode & 0o7777),
        uid: d.option(Decoder::u32)?,
        gid: d.option(Decoder::u32)?,
        size: d.option(Decoder::u64)?,
        atime: set_time(d)?,
        mtime: set_time(d)?,
        guard_ctime: None,
    })
}
