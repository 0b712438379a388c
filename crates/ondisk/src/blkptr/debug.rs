//! How a block pointer prints: one line in the manner of zdb, so that the two can be compared by
//! eye.

use super::{BlkPtr, ChecksumKind, CompressKind};
use std::fmt;

impl fmt::Debug for BlkPtr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (level, ty) = (self.level(), self.object_type());
        let (lsize, birth) = (self.lsize(), self.logical_birth());
        if self.is_hole() {
            return write!(f, "HOLE [L{level} type {}] size={lsize:x}L birth={birth}L", ty.0);
        }
        let compression = CompressKind::from_raw(self.compression_raw()).map_or("?", CompressKind::name);
        if self.is_embedded() {
            return write!(
                f,
                "EMBEDDED [L{level} type {}] {compression} size={lsize:x}L birth={birth}L",
                ty.0
            );
        }
        for dva in self.dvas().iter().filter(|dva| dva.is_valid()) {
            write!(f, "<{}:{:x}:{:x}> ", dva.vdev, dva.offset, dva.asize)?;
        }
        let checksum = ChecksumKind::from_raw(self.checksum_kind_raw()).map_or("?", ChecksumKind::name);
        let gang = if self.is_gang() { " gang" } else { "" };
        write!(f, "[L{level} type {}] {checksum} {compression}{gang} ", ty.0)?;
        write!(f, "size={lsize:x}L/{:x}P ", self.psize())?;
        write!(f, "birth={birth}L/{}P fill={} cksum=", self.physical_birth(), self.fill())?;
        let [a, b, c, d] = self.checksum();
        write!(f, "{a:x}:{b:x}:{c:x}:{d:x}")
    }
}
