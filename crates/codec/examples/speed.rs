//! Prints the speed of every checksum and compressor on 128 KiB blocks, in 10⁹ bytes of plain data
//! a second.

use std::hint::black_box;
use std::time::{Duration, Instant};

use codec::table::{CHECKSUMS, COMPRESSIONS};
use codec::{Salt, checksum, compress, decompress};

const BLOCK: usize = 128 << 10;

/// Runs for a fifth of a second.
fn measure<T>(mut f: impl FnMut() -> T) -> f64 {
    let (start, mut rounds) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_millis(200) {
        black_box(f());
        rounds += 1;
    }
    rounds as f64 * BLOCK as f64 / start.elapsed().as_secs_f64() / 1e9
}

fn main() {
    let words: Vec<u8> = (0..)
        .flat_map(|i: u32| format!("{:x} word ", i.wrapping_mul(2654435761) >> 20).into_bytes())
        .take(BLOCK)
        .collect();
    let salt = Salt([1; 32]);
    for (kind, name) in CHECKSUMS {
        if checksum(kind as u8, &words, Some(&salt), false).is_ok() && !kind.is_embedded() {
            let speed = measure(|| checksum(kind as u8, black_box(&words), Some(&salt), false));
            println!("{name:12} {speed:8.2}");
        }
    }
    for (kind, name) in COMPRESSIONS {
        let (mut memory, mut again) = (Vec::new(), Vec::new());
        if let Ok(Some(stored)) = compress(kind as u8, 0, &words, &mut memory, BLOCK) {
            let ratio = BLOCK as f64 / stored.len() as f64;
            let there = measure(|| compress(kind as u8, 0, &words, &mut again, BLOCK).is_ok());
            let mut plain = vec![0; BLOCK];
            let back = measure(|| decompress(kind as u8, stored, &mut plain));
            println!("{name:12} {there:8.2} back {back:8.2}   {ratio:.2}x");
        }
    }
}
