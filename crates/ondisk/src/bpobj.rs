//! A list of block pointers in an object: deferred frees, dead lists.
//!
//! The object's data is an array of block pointers, the bonus counts them. Four sizes of bonus
//! exist; what a shorter one lacks is not kept. A list may include others: `subobjs` is an object
//! (`DMU_OT_BPOBJ_SUBOBJ`) whose data is an array of object numbers.
//!
//! Sources: include/sys/bpobj.h, module/zfs/bpobj.c (`bpobj_alloc`).

use crate::blkptr::{BlkPtr, CHECKSUM, FILL, LOGICAL_BIRTH, PROP};
use crate::malformed::{Endian, Malformed, Reader, Writer};
use crate::version;

/// Which fields a list keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum BpobjForm {
    /// Count and bytes.
    V0,
    /// Also compressed and uncompressed bytes.
    V1,
    /// Also lists within it.
    V2,
    /// Also entries that record a free (live lists).
    #[default]
    V3,
}

impl BpobjForm {
    /// Of new lists in a pool of this version.
    pub const fn of_pool(pool: u64) -> BpobjForm {
        match pool {
            version::DEADLISTS.. => BpobjForm::V2,
            version::DEFLATE.. => BpobjForm::V1,
            _ => BpobjForm::V0,
        }
    }

    /// Bytes of its bonus.
    pub const fn size(self) -> usize {
        match self {
            BpobjForm::V0 => 16,
            BpobjForm::V1 => 32,
            BpobjForm::V2 => 48,
            BpobjForm::V3 => 56,
        }
    }
}

/// `bpobj_phys_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BpobjPhys {
    pub form: BpobjForm,
    /// Block pointers in this object's own data.
    pub num_blkptrs: u64,
    /// Allocated bytes of all blocks listed, here and in the lists within.
    pub bytes: u64,
    pub comp: u64,
    pub uncomp: u64,
    /// Object with the array of lists within; 0: none.
    pub subobjs: u64,
    pub num_subobjs: u64,
    /// Entries, of `num_blkptrs`, that record a free.
    pub num_freed: u64,
}

impl BpobjPhys {
    /// The bonus length tells the form.
    pub fn decode(bytes: &[u8]) -> Result<BpobjPhys, Malformed> {
        let form = match bytes.len() {
            56.. => BpobjForm::V3,
            48.. => BpobjForm::V2,
            32.. => BpobjForm::V1,
            16.. => BpobjForm::V0,
            short => return Err(Malformed::at("bpobj", short)),
        };
        let mut from = Reader::new(bytes.get(..form.size()).unwrap_or(bytes), Endian::Little);
        let mut next = || from.u64().unwrap_or(0);
        Ok(BpobjPhys {
            form,
            num_blkptrs: next(),
            bytes: next(),
            comp: next(),
            uncomp: next(),
            subobjs: next(),
            num_subobjs: next(),
            num_freed: next(),
        })
    }

    /// As many bytes as the form has.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; BpobjForm::V3.size()];
        let mut to = Writer::new(&mut bytes, Endian::Little);
        let words = [
            self.num_blkptrs,
            self.bytes,
            self.comp,
            self.uncomp,
            self.subobjs,
            self.num_subobjs,
            self.num_freed,
        ];
        for word in words {
            to.u64(word);
        }
        bytes.truncate(self.form.size());
        bytes
    }
}

/// A block pointer as a list keeps it: without what only a reader of the block would need (embedded
/// data, the checksum unless it is the key to a deduplication table), so that lists compress well.
/// `freed`: it records a free.
pub fn entry(bp: &BlkPtr, freed: bool) -> BlkPtr {
    let mut words = *bp.words();
    if bp.is_embedded() {
        words = [0; BlkPtr::SIZE / 8];
        words[PROP] = bp.words()[PROP];
        words[LOGICAL_BIRTH] = bp.words()[LOGICAL_BIRTH];
    } else if !bp.is_dedup() {
        words[CHECKSUM..].fill(0);
    }
    words[FILL] = u64::from(freed);
    BlkPtr::from_words(words)
}

/// Whether an entry of a list records a free.
pub fn is_freed(entry: &BlkPtr) -> bool {
    entry.words()[FILL] & 1 != 0
}

#[cfg(test)]
mod tests;
