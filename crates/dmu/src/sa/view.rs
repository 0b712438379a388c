//! An object's attributes as they were at one moment: copies of its buffers, and where in them each
//! value lies.

use std::ops::Range;

use ondisk::Endian;
use ondisk::sa::AttrInfo;

/// What `ondisk::sa::locate` finds.
pub type Places = Vec<(AttrInfo, Range<usize>)>;

struct Buffer {
    bytes: Vec<u8>,
    endian: Endian,
    places: Places,
}

impl Buffer {
    fn find(&self, number: u16) -> Option<&(AttrInfo, Range<usize>)> {
        self.places.iter().find(|(info, _)| info.number == number)
    }
}

/// See the module. The bonus first, then the spill block.
#[derive(Default)]
pub struct SaView {
    buffers: Vec<Buffer>,
}

impl SaView {
    pub(super) fn add(&mut self, bytes: Vec<u8>, endian: Endian, places: Places) {
        self.buffers.push(Buffer { bytes, endian, places });
    }

    /// Every attribute in packing order: what it is, its bytes, and their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (AttrInfo, &[u8], Endian)> {
        self.buffers.iter().flat_map(|buffer| {
            buffer.places.iter().map(|(info, range)| (*info, &buffer.bytes[range.clone()], buffer.endian))
        })
    }

    pub(super) fn find(&self, number: u16) -> Option<(AttrInfo, &[u8], Endian)> {
        self.buffers.iter().find_map(|buffer| {
            let (info, range) = buffer.find(number)?;
            Some((*info, buffer.bytes.get(range.clone())?, buffer.endian))
        })
    }

    /// Where the value lies in the bonus.
    pub(super) fn place(&self, number: u16) -> Option<Range<usize>> {
        self.buffers.first()?.find(number).map(|(_, range)| range.clone())
    }

    /// Byte order of the bonus.
    pub(super) fn endian(&self) -> Option<Endian> {
        self.buffers.first().map(|buffer| buffer.endian)
    }

    /// The object has been given no attributes yet.
    pub fn is_empty(&self) -> bool {
        self.buffers.iter().all(|buffer| buffer.places.is_empty())
    }
}
