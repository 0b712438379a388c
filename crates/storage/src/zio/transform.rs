//! From logical bytes to what goes to disk: hole, embedded, or compressed, padded and summed.
//!
//! Pure: depends on data, policy, salt and the pool's smallest sector. Sizes as OpenZFS chooses
//! them (`zio_write_compress`): a compressed block must save an eighth; what is left is rounded to
//! the smallest sector of the pool; if nothing is saved then, the block is stored as it is. What
//! came compressed from another pool stays so, whatever the policy says (`ZIO_FLAG_RAW_COMPRESS`).

use std::cell::RefCell;
use std::sync::{Arc, Once};

use codec::Salt;
use ondisk::blkptr::{Checksum, EMBEDDED_MAX, SECTOR};
use ondisk::object_type::ObjectType;
use ondisk::{BlkPtr, ChecksumKind, CompressKind};

use crate::{Block, Dedup, Packed, Payload, WritePolicy};

/// What became of a block.
pub(crate) enum Transformed {
    /// All zeros.
    Hole,
    /// Small enough to live in its pointer, which is complete.
    Embedded(BlkPtr),
    Stored(Stored),
}

/// Bytes for the disk.
pub(crate) struct Stored {
    /// `psize` bytes and padding to the pool's largest sector.
    pub payload: Payload,
    pub psize: u64,
    pub compression: CompressKind,
    pub checksum_kind: ChecksumKind,
    pub checksum: Checksum,
    /// Counted in the table of deduplication.
    pub dedup: bool,
}

/// The pool's part in it.
pub(crate) struct Shape<'a> {
    pub salt: Option<&'a Salt>,
    pub min_ashift: u32,
    pub max_ashift: u32,
}

pub(crate) fn transform(shape: &Shape<'_>, data: &Arc<Block>, policy: &WritePolicy, txg: u64) -> Transformed {
    let lsize = data.len() as u64;
    assert!(lsize >= SECTOR && lsize.is_multiple_of(SECTOR), "block of {lsize} bytes");
    if let Some(done) = data.packed().and_then(|packed| as_it_came(shape, packed, lsize, policy)) {
        return Transformed::Stored(done);
    }
    let compression = resolve(policy.compression);
    // Many references to a block of zeros would cost more than a hole, compression or not.
    let may_be_hole = compression != CompressKind::Off || policy.dedup != Dedup::Off;
    if may_be_hole && is_zero(data) {
        return Transformed::Hole;
    }
    if compression != CompressKind::Off
        && let Some(done) = compressed(shape, data, policy, compression, txg)
    {
        return done;
    }
    let payload = Payload::of_block(data, 1 << shape.max_ashift);
    Transformed::Stored(sum(shape, payload, lsize, CompressKind::Off, policy))
}

/// "on" is what OpenZFS makes of it today.
fn resolve(kind: CompressKind) -> CompressKind {
    match kind {
        CompressKind::Inherit | CompressKind::On => CompressKind::Lz4,
        CompressKind::Empty => CompressKind::Off,
        other => other,
    }
}

fn is_zero(data: &[u8]) -> bool {
    // A first look at little: most blocks differ at once.
    data.iter().take(64).all(|&byte| byte == 0)
        && data.as_chunks::<64>().0.iter().all(|chunk| *chunk == [0; 64])
}

/// `None` where it saves nothing in this pool.
fn as_it_came(shape: &Shape<'_>, packed: &Packed, lsize: u64, policy: &WritePolicy) -> Option<Stored> {
    let psize = packed.bytes.len().next_multiple_of(1 << shape.min_ashift) as u64;
    let payload = || Payload::padded(&packed.bytes, 1 << shape.max_ashift);
    (psize < lsize).then(|| sum(shape, payload(), psize, packed.kind, policy))
}

fn compressed(
    shape: &Shape<'_>,
    data: &Arc<Block>,
    policy: &WritePolicy,
    kind: CompressKind,
    txg: u64,
) -> Option<Transformed> {
    thread_local! {
        static MEMORY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    let lsize = data.len();
    MEMORY.with_borrow_mut(|memory| {
        let room = lsize - lsize / 8;
        let out =
            codec::compress(kind as u8, policy.complevel, data, memory, room).unwrap_or_else(|why| {
                tell_once(kind, policy.complevel, why);
                None
            })?;
        let object_type = ObjectType(policy.object_type);
        if policy.embed && policy.level == 0 && out.len() <= EMBEDDED_MAX && !object_type.has_fill() {
            let bp = BlkPtr::new_embedded(object_type, 0, lsize as u64, kind, out, txg);
            return Some(Transformed::Embedded(bp));
        }
        let psize = out.len().next_multiple_of(1 << shape.min_ashift);
        if psize >= lsize {
            return None;
        }
        let payload = Payload::padded(out, 1 << shape.max_ashift);
        Some(Transformed::Stored(sum(shape, payload, psize as u64, kind, policy)))
    })
}

/// A block that could not be compressed is stored as it is: a write does not fail for that. But it
/// is not kept quiet.
fn tell_once(kind: CompressKind, level: i32, why: codec::Unable) {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| tracing::error!(?kind, level, "blocks are stored without compression: {why}"));
}

fn sum(
    shape: &Shape<'_>,
    payload: Payload,
    psize: u64,
    compression: CompressKind,
    policy: &WritePolicy,
) -> Stored {
    let kind = match policy.checksum {
        ChecksumKind::Inherit | ChecksumKind::On => ChecksumKind::Fletcher4,
        other => other,
    };
    assert!(!kind.is_embedded(), "{kind:?} is not for blocks with a parent");
    let bytes = &payload.bytes()[..psize as usize];
    let checksum = codec::checksum(kind as u8, bytes, shape.salt, false)
        .expect("a pool whose datasets use a salted checksum has set its salt");
    let dedup = policy.dedup != Dedup::Off;
    Stored { payload, psize, compression, checksum_kind: kind, checksum, dedup }
}

impl Stored {
    /// A pointer to it that lacks its DVAs.
    pub fn pointer(&self, lsize: u64, policy: &WritePolicy, txg: u64) -> BlkPtr {
        let mut bp = BlkPtr::new(ObjectType(policy.object_type), policy.level, lsize, self.psize);
        bp.set_compression(self.compression)
            .set_checksum(self.checksum_kind, self.checksum)
            .set_birth(txg, txg)
            .set_fill(policy.fill)
            .set_authenticated(policy.authenticated)
            .set_dedup(self.dedup);
        bp
    }
}

#[cfg(test)]
mod tests;
