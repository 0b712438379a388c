//! Paths that are no pools, and pools that are no more.

use std::io::{Seek, SeekFrom, Write};

use crate::support::{Dir, inspect};

#[test]
fn usage_errors_and_missing_paths_have_their_exit_codes() {
    assert_eq!(inspect(&[]).status, 2);
    assert_eq!(inspect(&["--nonsense", "/dev/null"]).status, 2);
    let help = inspect(&["--help"]).clean();
    assert!(help.contains("examples:"));
    let ran = inspect(&["/nowhere/at/all"]);
    assert!(ran.status == 1 && ran.err.contains("/nowhere/at/all"), "{ran:?}");
}

#[test]
fn files_of_all_sizes_and_contents_are_no_pool() {
    let dir = Dir::new("garbage");
    let noise: Vec<u8> = (0..70u32 << 20).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for size in [0, 1, 511, 512, 4096, 1 << 20, 70 << 20] {
        std::fs::write(dir.file("x.img"), &noise[..size]).unwrap();
        for options in ["-l", "-c", "-d"] {
            let ran = inspect(&[options, &dir.file("x.img")]);
            assert_eq!(ran.status, 1, "{size} {ran:?}");
            assert!(ran.err.contains("no pool found"), "{size} {ran:?}");
        }
    }
}

/// Overwrites part of an image with noise.
fn scribble(path: &str, at: u64, len: usize) {
    let noise: Vec<u8> = (0..len).map(|n| (n * 31 + 7) as u8).collect();
    let mut file = std::fs::File::options().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&noise).unwrap();
}

#[test]
fn a_pool_without_its_metadata_is_shown_by_its_labels() {
    let dir = Dir::fixture("snapshots");
    // Behind the front labels of the partition, up to the rear ones.
    let (start, end) = ((1u64 << 20) + (4 << 20), 240u64 << 20);
    for at in (start..end).step_by(1 << 20) {
        scribble(&dir.file("disk0.img"), at, 1 << 20);
    }
    let ran = inspect(&[&dir.path()]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.out.contains("pool g_snap (by its labels only)"), "{}", ran.out);
    assert!(ran.out.contains("newest uberblock") && ran.err.contains("cannot import"), "{ran:?}");
}

#[test]
fn a_pool_without_some_of_its_disks_says_so() {
    let dir = Dir::fixture("stripe-of-mirrors");
    let disks = dir.disk_paths();
    let ran = inspect(&["-c", &disks[0]]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.out.contains("by its labels only"), "{}", ran.out);
}

#[test]
fn damage_anywhere_in_the_labels_leaves_the_others() {
    let dir = Dir::fixture("mirror2");
    let disk = dir.file("disk0.img");
    scribble(&disk, (1 << 20) + (16 << 10), 64 << 10);
    let out = inspect(&["-l", &disk]).clean();
    assert!(
        out.contains("1 2 3 (the others are damaged)") && out.contains("failed to read label 0"),
        "{out}"
    );
}
