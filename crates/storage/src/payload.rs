//! Bytes on their way to a disk: shared, padded to whole sectors, never copied once per mirror
//! side.

use std::sync::Arc;

use env::AlignedBuf;

use crate::Block;

/// `len` bytes of a shared buffer, from `start` on.
#[derive(Clone)]
pub struct Payload {
    source: Source,
    start: usize,
    len: usize,
}

#[derive(Clone)]
enum Source {
    Buf(Arc<AlignedBuf>),
    Block(Arc<Block>),
}

impl Payload {
    pub fn from_buf(buf: AlignedBuf) -> Payload {
        let len = buf.len();
        Payload { source: Source::Buf(Arc::new(buf)), start: 0, len }
    }

    /// A copy, with zeros behind up to a multiple of `align`.
    pub fn padded(data: &[u8], align: usize) -> Payload {
        Payload::from_buf(AlignedBuf::padded(&[data], data.len().next_multiple_of(align)))
    }

    /// The block itself where a disk takes it as it is, else a padded copy.
    pub fn of_block(block: &Arc<Block>, align: usize) -> Payload {
        if block.is_aligned() && block.len().is_multiple_of(align) {
            return Payload { source: Source::Block(block.clone()), start: 0, len: block.len() };
        }
        Payload::padded(block, align)
    }

    pub fn bytes(&self) -> &[u8] {
        match &self.source {
            Source::Buf(buf) => &buf[self.start..][..self.len],
            Source::Block(block) => &block[self.start..][..self.len],
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The same bytes, `len` of them; as many must be there.
    pub fn cut(&self, len: usize) -> Payload {
        self.part(0, len)
    }

    /// `len` of these bytes from `from` on; as many must be there.
    pub fn part(&self, from: usize, len: usize) -> Payload {
        assert!(from + len <= self.len);
        Payload { source: self.source.clone(), start: self.start + from, len }
    }
}
