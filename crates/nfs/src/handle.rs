//! File handles: what a client keeps for as long as it likes.
//!
//! ```text
//! 0        1        4           12              20       28           36       52
//! | version | zeroes | pool guid | dataset guid | object | generation | MAC    |     version 2
//!                                                                     | check  |     version 1, to 40
//! ```
//! A handle names nothing of this machine, so it survives restart, rename, export and import
//! elsewhere. What a client may do is decided at each call, by the export's rules and the file's
//! permissions, and whether the node still is the one that was meant is proven by its generation.
//! But no call asks for the directories above a node: who could guess handles would get past one
//! that he may not search. So a handle is sealed with a [`HandleKey`], which comes from a secret
//! that the pool keeps: only whom this server or another one of the same pool gave it has it. A
//! dataset that has taken the place of another is given that one's key as well.
//!
//! Pools of old software have no secret. Theirs, and those of servers before this version, are of
//! version 1: a check word tells garbage (`BADHANDLE`) from handles that were good once (`STALE`),
//! and nothing else.

use std::ops::Deref;

use constant_time_eq::constant_time_eq_16;
use engine_api::{FsId, HandleKey, NodeId};
use sunrpc::xdr::{Decoder, Encoder, Result as XdrResult};

use crate::status::Status;

/// Bytes of the longest handle; NFSv3 allows 64.
pub const MAX_LEN: usize = NAMING + MAC;
/// Bytes that name the node.
const NAMING: usize = 36;
const MAC: usize = 16;
const CHECK: usize = 4;
const SEALED: u32 = 2 << 24;
const CHECKED: u32 = 1 << 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    pub fs: FsId,
    pub node: NodeId,
}

fn mac(key: &HandleKey, naming: &[u8]) -> [u8; MAC] {
    let mut mac = [0; MAC];
    mac.copy_from_slice(&blake3::keyed_hash(key.bytes(), naming).as_bytes()[..MAC]);
    mac
}

/// A handle as clients have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed {
    bytes: [u8; MAX_LEN],
    len: usize,
}

impl Deref for Sealed {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Handle {
    /// `key`: of the pool that it names, if that has one.
    pub fn seal(&self, key: Option<&HandleKey>) -> Sealed {
        let mut out = Encoder::with_capacity(MAX_LEN);
        out.u32(if key.is_some() { SEALED } else { CHECKED });
        for word in [self.fs.pool_guid, self.fs.dataset_guid, self.node.object, self.node.generation] {
            out.u64(word);
        }
        match key {
            Some(key) => out.raw(&mac(key, out.bytes())),
            None => out.u32(check(out.bytes())),
        }
        let mut bytes = [0; MAX_LEN];
        let len = out.len();
        bytes[..len].copy_from_slice(out.bytes());
        Sealed { bytes, len }
    }

    /// The pool that a client's bytes name, whether the handle is good or not.
    pub fn pool(bytes: &[u8]) -> Option<u64> {
        let (naming, _) = bytes.split_at_checked(NAMING)?;
        named(naming).ok().map(|(_, handle)| handle.fs.pool_guid)
    }

    /// What a client's bytes mean. `key_of` gives what seals handles of a file system, if something
    /// does; `takes_old`: handles of version 1 are good there, too. The error is `BADHANDLE` for
    /// what was never a handle, else `STALE`.
    pub fn open<'a>(
        bytes: &[u8],
        key_of: impl FnOnce(FsId) -> Option<&'a HandleKey>,
        takes_old: bool,
    ) -> Result<Handle, Status> {
        let (naming, proof) = bytes.split_at_checked(NAMING).ok_or(Status::BADHANDLE)?;
        let (version, handle) = named(naming).map_err(|_| Status::BADHANDLE)?;
        let key = key_of(handle.fs);
        match (version, proof.len()) {
            (SEALED, MAC) => {
                // A pool that is not here, or has come by another secret: it may have been good.
                let mac = mac(key.ok_or(Status::STALE)?, naming);
                let is_ours = proof.try_into().is_ok_and(|proof| constant_time_eq_16(&mac, proof));
                if is_ours { Ok(handle) } else { Err(Status::BADHANDLE) }
            }
            (CHECKED, CHECK) if proof == check(naming).to_be_bytes() => {
                if key.is_none() || takes_old {
                    Ok(handle)
                } else {
                    Err(Status::STALE)
                }
            }
            _ => Err(Status::BADHANDLE),
        }
    }
}

fn named(naming: &[u8]) -> XdrResult<(u32, Handle)> {
    let mut d = Decoder::new(naming);
    let version = d.u32()?;
    let fs = FsId { pool_guid: d.u64()?, dataset_guid: d.u64()? };
    let node = NodeId { object: d.u64()?, generation: d.u64()? };
    Ok((version, Handle { fs, node }))
}

/// FNV-1a (Fowler, Noll, Vo) over words, folded.
fn check(body: &[u8]) -> u32 {
    let mut sum: u64 = 0xcbf2_9ce4_8422_2325;
    for word in body.chunks(4) {
        let word = word.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
        sum = (sum ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }
    (sum ^ (sum >> 32)) as u32
}

#[cfg(test)]
mod tests;
