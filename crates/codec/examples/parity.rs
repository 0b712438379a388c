//! Prints the speed of RAID-Z parity by each method: generating each level, and reconstructing from each set of parities,
//! in 10⁹ bytes of data columns a second, for the stripes of eight data columns that `raidz_test -B` times.

use std::hint::black_box;
use std::time::{Duration, Instant};

use codec::raidz::{Column, MAX_PARITY, Method};

const COLUMNS: usize = 8;
/// Bytes of data in a stripe.
const STRIPES: [usize; 3] = [128 << 10, 1 << 20, 16 << 20];
/// Parities used and data columns lost, by name.
const LOSSES: [(&str, [bool; MAX_PARITY]); 7] = [
    ("rec_p", [true, false, false]),
    ("rec_q", [false, true, false]),
    ("rec_r", [false, false, true]),
    ("rec_pq", [true, true, false]),
    ("rec_pr", [true, false, true]),
    ("rec_qr", [false, true, true]),
    ("rec_pqr", [true, true, true]),
];

/// Bytes per second, over a fifth of a second.
fn measure(stripe: usize, mut f: impl FnMut()) -> f64 {
    let (start, mut rounds) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_millis(200) {
        f();
        rounds += 1;
    }
    rounds as f64 * stripe as f64 / start.elapsed().as_secs_f64() / 1e9
}

fn main() {
    let methods = Method::available();
    let begun = Instant::now();
    let fastest = Method::fastest(&mut || begun.elapsed().as_nanos() as u64);
    println!("picked: {} (in {:?})", fastest.name(), begun.elapsed());
    for stripe in STRIPES {
        print!("\n{:>6} KiB", stripe >> 10);
        methods.iter().for_each(|method| print!("{:>12}", method.name()));
        println!();
        let mut data: Vec<Vec<u8>> = (0..COLUMNS).map(|n| vec![n as u8 + 37; stripe / COLUMNS]).collect();
        let mut parity = vec![vec![0; stripe / COLUMNS]; MAX_PARITY];
        for level in 1..=MAX_PARITY {
            print!("{:10}", ["gen_p", "gen_pq", "gen_pqr"][level - 1]);
            for method in &methods {
                let columns: Vec<&[u8]> = data.iter().map(|column| &column[..]).collect();
                let mut into: Vec<&mut [u8]> =
                    parity[..level].iter_mut().map(|column| &mut column[..]).collect();
                print!("{:12.2}", measure(stripe, || method.generate(black_box(&mut into), &columns)));
            }
            println!();
        }
        for (name, used) in LOSSES {
            let lost = used.iter().filter(|used| **used).count();
            let known: Vec<Option<&[u8]>> =
                parity.iter().zip(used).map(|(column, used)| used.then_some(&column[..])).collect();
            print!("{name:10}");
            for method in &methods {
                let (gone, left) = data.split_at_mut(lost);
                let mut columns: Vec<Column<'_>> =
                    gone.iter_mut().map(|column| Column::Lost(column)).collect();
                columns.extend(left.iter().map(|column| Column::Known(column)));
                let mut work =
                    || method.reconstruct(black_box(&known), &mut columns).expect("enough is known");
                print!("{:12.2}", measure(stripe, &mut work));
            }
            println!();
        }
    }
}
