//! Compressed blocks: what may come from a disk into a decompressor, and that what we compress
//! comes back.

use codec::compress as codec_compress;
use codec::table::{CHECKSUMS, COMPRESSIONS};

use crate::format::choice;

/// The first two bytes choose the kind and the size of the block; the rest is what was stored.
pub fn decompress(data: &[u8]) {
    let (kind, rest) = choice(data);
    let (size, stored) = choice(rest);
    let kind = kind % (COMPRESSIONS.len() as u8 + 1);
    // 512 bytes to 1 MiB, and odd sizes, as embedded blocks have them.
    let mut block = vec![0; (512 << (size % 12)) - usize::from(size / 12 % 2)];
    let _ = codec_compress::decompress(kind, stored, &mut block);
    for sum in 0..=CHECKSUMS.len() as u8 {
        let _ = codec::checksum::embedded_checksum(sum, stored, [1, 2, 3, 4]);
    }
}

pub fn compress(data: &[u8]) {
    let (kind, block) = choice(data);
    let kind = kind % COMPRESSIONS.len() as u8;
    let mut memory = Vec::new();
    if let Ok(Some(packed)) = codec_compress::compress(kind, 0, block, &mut memory, block.len()) {
        assert!(packed.len() <= block.len());
        let mut back = vec![0xa5; block.len()];
        codec_compress::decompress(kind, packed, &mut back).expect("what was compressed can be decompressed");
        assert!(back == block, "kind {kind} gave back something else");
    }
}
