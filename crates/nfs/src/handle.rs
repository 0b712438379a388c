//! File handles: what a client keeps for as long as it likes.
//!
//! ```text
//! 0        1        4           12              20       28           36      40
//! | version | zeroes | pool guid | dataset guid | object | generation | check |
//! ```
//!
//! A handle names nothing of this machine, so it survives restart, rename, export and import elsewhere. It is no
//! secret: what a client may do is decided at each call, by the export's rules and the file's permissions, and
//! whether the node still is the one that was meant is proven by its generation. The check word only tells garbage
//! (`BADHANDLE`) from handles that were good once (`STALE`).

use engine_api::{FsId, NodeId};
use sunrpc::xdr::{Decoder, Encoder, Result};

/// Bytes of a handle; NFSv3 allows 64.
pub const LEN: usize = 40;
const VERSION: u32 = 1 << 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    pub fs: FsId,
    pub node: NodeId,
}

impl Handle {
    pub fn encode(&self) -> [u8; LEN] {
        let mut out = Encoder::with_capacity(LEN);
        out.u32(VERSION);
        for word in [self.fs.pool_guid, self.fs.dataset_guid, self.node.object, self.node.generation] {
            out.u64(word);
        }
        out.u32(check(out.bytes()));
        let mut bytes = [0; LEN];
        bytes.copy_from_slice(out.bytes());
        bytes
    }

    /// `None` for bytes that were never a handle of ours.
    pub fn decode(bytes: &[u8]) -> Option<Handle> {
        let (body, _) = bytes.split_last_chunk::<4>()?;
        let read = |mut d: Decoder<'_>| -> Result<(u32, Handle, u32)> {
            let version = d.u32()?;
            let fs = FsId { pool_guid: d.u64()?, dataset_guid: d.u64()? };
            let node = NodeId { object: d.u64()?, generation: d.u64()? };
            Ok((version, Handle { fs, node }, d.u32()?))
        };
        let (version, handle, sum) = read(Decoder::new(bytes)).ok()?;
        (bytes.len() == LEN && version == VERSION && sum == check(body)).then_some(handle)
    }
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
