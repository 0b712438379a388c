//! The uberblock: the root of everything, rewritten by every transaction group.
//!
//! Each label has a ring of slots (see `label`); the newest valid uberblock in any label is the
//! pool. All fields are words in the order of the host that wrote them, which the magic tells.
//!
//! ```text
//!    0 magic 0x00bab10c     8 version        16 txg             24 guid sum       32 timestamp, s
//!   40 root block pointer (to the MOS), 128 bytes
//!  168 software version   176 mmp magic     184 mmp delay, ns  192 mmp config
//!  200 checkpoint txg     208 raidz reflow   …  zeros          slot − 40  embedded checksum (see `eck`)
//! ```
//! Source: include/sys/uberblock_impl.h, module/zfs/uberblock.c.

use crate::blkptr::BlkPtr;
use crate::eck::Eck;
use crate::malformed::{Endian, Malformed, order_of, u64_at};
use std::cmp::Ordering;
use stdx::bits;

/// "oo-ba-bloc".
pub const MAGIC: u64 = 0x00ba_b10c;
/// Marks the multihost fields as meant; 0 in what old software wrote.
pub const MMP_MAGIC: u64 = 0xa11c_ea11;
/// First transaction group that is not believed. A space map has 50 bits for one; a pool that
/// writes a million groups a second needs 17 years to get from here to where they end.
pub const TXG_END: u64 = 1 << 49;
/// The smallest slot.
pub const MIN_SLOT: usize = 1 << 10;

const ROOT_BP: usize = 40;
const AFTER_BP: usize = ROOT_BP + BlkPtr::SIZE;

/// One uberblock, without its checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uberblock {
    /// The order it was written in; the pool's newest blocks are in that order too.
    pub endian: Endian,
    /// Pool version: 1 to 28, or 5000 with feature flags.
    pub version: u64,
    /// The transaction group this is the root of.
    pub txg: u64,
    /// Wrapping sum of the guids of all vdevs: a check that the pool is whole.
    pub guid_sum: u64,
    /// Seconds since 1970, UTC.
    pub timestamp: u64,
    /// The meta object set.
    pub root_bp: BlkPtr,
    /// The newest version that the writer knew.
    pub software_version: u64,
    /// [`MMP_MAGIC`], or anything else when the next two mean nothing.
    pub mmp_magic: u64,
    /// 0: multihost protection is off. Else nanoseconds since the last multihost write.
    pub mmp_delay: u64,
    /// Packed; see [`Uberblock::mmp`].
    pub mmp_config: u64,
    /// Not 0 in the uberblock of a checkpoint: the txg it had.
    pub checkpoint_txg: u64,
    /// Progress of a raidz expansion.
    pub raidz_reflow: u64,
}

/// Multihost settings of the writer; a `None` was not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mmp {
    /// Milliseconds between writes (24 bits).
    pub interval_ms: Option<u32>,
    /// Counts writes within a second and txg.
    pub sequence: Option<u16>,
    /// After how many missed intervals the writer suspends itself.
    pub fail_intervals: Option<u16>,
}

impl Uberblock {
    /// Bytes of the fields.
    pub const SIZE: usize = AFTER_BP + 6 * 8;

    /// A first uberblock: little endian, the multihost fields valid and off, all else zero.
    pub const fn new(version: u64) -> Uberblock {
        Uberblock {
            endian: Endian::Little,
            version,
            txg: 0,
            guid_sum: 0,
            timestamp: 0,
            root_bp: BlkPtr::HOLE,
            software_version: crate::version::FEATURES,
            mmp_magic: MMP_MAGIC,
            mmp_delay: 0,
            mmp_config: 0,
            checkpoint_txg: 0,
            raidz_reflow: 0,
        }
    }

    /// Reads the fields of a slot. Does not look at the checksum, without which nothing here is to
    /// be trusted.
    pub fn decode(slot: &[u8]) -> Result<Uberblock, Malformed> {
        let what = "uberblock";
        let endian = order_of(u64_at(slot, 0, Endian::Little, what)?, MAGIC);
        let endian = endian.ok_or(Malformed::at("uberblock magic", 0))?;
        let word = |at| u64_at(slot, at, endian, what);
        let txg = word(16)?;
        if txg >= TXG_END {
            return Err(Malformed::at("uberblock txg", 16));
        }
        let bp = slot.get(ROOT_BP..).ok_or(Malformed::at(what, ROOT_BP))?;
        Ok(Uberblock {
            endian,
            version: word(8)?,
            txg,
            guid_sum: word(24)?,
            timestamp: word(32)?,
            root_bp: BlkPtr::decode(bp, endian).map_err(|e| e.within(ROOT_BP))?,
            software_version: word(AFTER_BP)?,
            mmp_magic: word(AFTER_BP + 8)?,
            mmp_delay: word(AFTER_BP + 16)?,
            mmp_config: word(AFTER_BP + 24)?,
            checkpoint_txg: word(AFTER_BP + 32)?,
            raidz_reflow: word(AFTER_BP + 40)?,
        })
    }

    /// A whole slot of `size` bytes (1 to 8 KiB), its tail holding `verifier`
    /// (`eck::label_verifier` of the slot's offset on the device), where the checksum over it goes
    /// next.
    pub fn encode_slot(&self, size: usize, verifier: crate::blkptr::Checksum) -> Vec<u8> {
        assert!(size >= MIN_SLOT);
        let mut slot = vec![0; size];
        let mut w = crate::malformed::Writer::new(&mut slot, self.endian);
        for word in [MAGIC, self.version, self.txg, self.guid_sum, self.timestamp] {
            w.u64(word);
        }
        w.bytes(&self.root_bp.encode_as(self.endian));
        let after = [self.software_version, self.mmp_magic, self.mmp_delay, self.mmp_config];
        for word in after.into_iter().chain([self.checkpoint_txg, self.raidz_reflow]) {
            w.u64(word);
        }
        Eck::put_tail(&mut slot, self.endian, verifier);
        slot
    }

    /// As the MOS keeps that of a checkpoint: an array of integers, without the progress of a raidz
    /// expansion where there is none, for programs that do not know it take no longer array
    /// (`spa_checkpoint_sync`).
    pub fn to_words(&self) -> Vec<u64> {
        let mut words = vec![MAGIC, self.version, self.txg, self.guid_sum, self.timestamp];
        words.extend(self.root_bp.words());
        words.extend([self.software_version, self.mmp_magic, self.mmp_delay, self.mmp_config]);
        words.push(self.checkpoint_txg);
        words.extend((self.raidz_reflow != 0).then_some(self.raidz_reflow));
        words
    }

    /// The reverse of [`Uberblock::to_words`]; what the array has not is 0.
    pub fn from_words(words: &[u64]) -> Result<Uberblock, Malformed> {
        let mut slot: Vec<u8> =
            words.iter().take(Self::SIZE / 8).flat_map(|word| word.to_le_bytes()).collect();
        if slot.len() < ROOT_BP {
            return Err(Malformed::at("uberblock of a checkpoint", slot.len()));
        }
        slot.resize(Self::SIZE, 0);
        Uberblock::decode(&slot)
    }

    /// The multihost settings, if the fields are meant.
    pub fn mmp(&self) -> Option<Mmp> {
        if self.mmp_magic != MMP_MAGIC {
            return None;
        }
        let field = |valid: u32, low, len| {
            (bits::get(self.mmp_config, valid, 1) == 1).then(|| bits::get(self.mmp_config, low, len))
        };
        Some(Mmp {
            interval_ms: field(0, 8, 24).map(|v| v as u32),
            sequence: field(1, 32, 16).map(|v| v as u16),
            fail_intervals: field(2, 48, 16).map(|v| v as u16),
        })
    }

    /// Sets the multihost settings; `delay` in nanoseconds, 0: multihost protection is off.
    pub fn set_mmp(&mut self, mmp: Mmp, delay: u64) {
        let field =
            |value: Option<u64>, valid: u32, low: u32| value.map_or(0, |value| 1 << valid | value << low);
        self.mmp_magic = MMP_MAGIC;
        self.mmp_delay = delay;
        self.mmp_config = field(mmp.interval_ms.map(|ms| u64::from(ms) & 0xff_ffff), 0, 8)
            | field(mmp.sequence.map(u64::from), 1, 32)
            | field(mmp.fail_intervals.map(u64::from), 2, 48);
    }

    /// Which of two is newer: by txg, then time, then multihost sequence.
    pub fn cmp_age(&self, other: &Uberblock) -> Ordering {
        let key = |ub: &Uberblock| (ub.txg, ub.timestamp, ub.mmp().and_then(|m| m.sequence).unwrap_or(0));
        key(self).cmp(&key(other))
    }
}

#[cfg(test)]
mod tests;
