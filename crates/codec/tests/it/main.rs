//! Blocks written by OpenZFS 2.1.11 on Linux, cut out of a pool: their checksums must be those of
//! their pointers, and their contents those of the files (hashed on that machine).

use std::path::Path;

use codec::{Salt, checksum, decompress, embedded_checksum};
use sha2::{Digest, Sha256};

/// `org.illumos:checksum_salt` of that pool.
const SALT: &str = "c6c3593c0c47946f46da007787b72160ddda77d36484f50055cd83536dc75190";
/// Where the uberblock lay on its disk.
const UBERBLOCK_OFFSET: u64 = 135168;

fn golden(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)).unwrap()
}

fn salt() -> Salt {
    Salt(std::array::from_fn(|i| u8::from_str_radix(&SALT[2 * i..2 * i + 2], 16).unwrap()))
}

struct Block {
    name: String,
    compression: u8,
    checksum: u8,
    lsize: usize,
    /// Bytes of the plain block that `sha256` covers: a short file does not fill its block.
    size: usize,
    words: [u64; 4],
    sha256: String,
}

fn blocks() -> Vec<Block> {
    let text = String::from_utf8(golden("blocks.tsv")).unwrap();
    let parse = |line: &str| {
        let [name, compression, checksum, lsize, size, words, sha256] =
            line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let words: Vec<u64> = words.split(':').map(|word| u64::from_str_radix(word, 16).unwrap()).collect();
        Block {
            name: name.to_owned(),
            compression: compression.parse().unwrap(),
            checksum: checksum.parse().unwrap(),
            lsize: lsize.parse().unwrap(),
            size: size.parse().unwrap(),
            words: words.try_into().unwrap(),
            sha256: sha256.to_owned(),
        }
    };
    text.lines().filter(|line| !line.starts_with('#')).map(parse).collect()
}

#[test]
fn checksums_are_those_of_the_pointers() {
    let blocks = blocks();
    assert!(blocks.len() > 20);
    for block in blocks {
        let stored = golden(&format!("{}.bin", block.name));
        let sum = checksum(block.checksum, &stored, Some(&salt()), false).unwrap();
        assert_eq!(sum, block.words, "{}", block.name);
    }
}

#[test]
fn contents_are_those_of_the_files() {
    for block in blocks() {
        let stored = golden(&format!("{}.bin", block.name));
        let mut plain = vec![0; block.lsize];
        decompress(block.compression, &stored, &mut plain).unwrap_or_else(|e| panic!("{}: {e}", block.name));
        let digest: String =
            Sha256::digest(&plain[..block.size]).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(digest, block.sha256, "{}", block.name);
    }
}

#[test]
fn uberblock_carries_its_label_checksum() {
    let block = golden("uberblock.bin");
    let trailer: Vec<u64> =
        block[1024 - 32..].chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    assert_eq!(embedded_checksum(3, &block, [UBERBLOCK_OFFSET, 0, 0, 0]).unwrap()[..], trailer);
    assert_ne!(embedded_checksum(3, &block, [UBERBLOCK_OFFSET + 1024, 0, 0, 0]).unwrap()[..], trailer);
}
