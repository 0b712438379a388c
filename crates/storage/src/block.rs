//! A block's logical bytes in memory, shared between the cache, the overlay and the servers.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use env::AlignedBuf;
use ondisk::CompressKind;

/// From this size on a block lies on a boundary that disks accept, so that it is read and written
/// in place.
const ALIGNED_FROM: usize = 4096;

/// Decompressed, verified bytes; their numbers are little endian, whoever wrote them. Immutable
/// once shared.
#[derive(Clone)]
pub struct Block {
    bytes: Bytes,
    /// Invariant: decompressed, these are the bytes.
    packed: Option<Arc<Packed>>,
}

/// How another pool stores a block.
pub struct Packed {
    pub kind: CompressKind,
    pub bytes: Vec<u8>,
}

#[derive(Clone)]
enum Bytes {
    Aligned(AlignedBuf),
    Small(Box<[u8]>),
}

impl Block {
    /// `len` zero bytes.
    pub fn zeroed(len: usize) -> Block {
        let bytes = if len >= ALIGNED_FROM {
            Bytes::Aligned(AlignedBuf::zeroed(len))
        } else {
            Bytes::Small(vec![0; len].into_boxed_slice())
        };
        Block { bytes, packed: None }
    }

    /// `len` bytes of no particular content, for whoever overwrites them all.
    pub fn scratch(len: usize) -> Block {
        if len < ALIGNED_FROM {
            return Block::zeroed(len);
        }
        Block { bytes: Bytes::Aligned(AlignedBuf::scratch(len)), packed: None }
    }

    /// A copy of `data`.
    pub fn from_slice(data: &[u8]) -> Block {
        let bytes = if data.len() >= ALIGNED_FROM {
            Bytes::Aligned(AlignedBuf::from_slice(data))
        } else {
            Bytes::Small(data.into())
        };
        Block { bytes, packed: None }
    }

    /// Takes over an aligned buffer; small ones are copied into less memory.
    pub fn from_buf(buf: AlignedBuf) -> Block {
        let bytes = if buf.len() >= ALIGNED_FROM {
            Bytes::Aligned(buf)
        } else {
            Bytes::Small(buf.to_vec().into_boxed_slice())
        };
        Block { bytes, packed: None }
    }

    /// It is to be stored as it came. Whoever changes it gives that up.
    pub fn with_packed(mut self, packed: Packed) -> Block {
        self.packed = Some(Arc::new(packed));
        self
    }

    pub fn packed(&self) -> Option<&Packed> {
        self.packed.as_deref()
    }

    /// Whether a disk takes these bytes as they are.
    pub fn is_aligned(&self) -> bool {
        matches!(self.bytes, Bytes::Aligned(_))
    }

    /// Bytes of memory it takes, its own bookkeeping included.
    pub fn footprint(&self) -> usize {
        let packed = self.packed.as_ref().map_or(0, |packed| packed.bytes.len());
        self.len() + packed + size_of::<Block>() + 2 * size_of::<usize>()
    }
}

impl Deref for Block {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Aligned(buf) => buf,
            Bytes::Small(bytes) => bytes,
        }
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.packed = None;
        match &mut self.bytes {
            Bytes::Aligned(buf) => buf,
            Bytes::Small(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Block({} bytes)", self.len())
    }
}
