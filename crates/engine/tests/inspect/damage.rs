//! Planted damage is found, and named.

use std::io::{Read, Seek, SeekFrom, Write};

use crate::support::{Dir, inspect};

/// Where the partition's DVA offset 0 is in a whole-disk image: the partition and the front labels.
const DATA: u64 = (1 << 20) + (4 << 20);

/// The offset of the first copy of the first block of an object.
fn first_block(dir: &Dir, dataset: &str, object: &str) -> u64 {
    let out = inspect(&["-bo", dataset, object, &dir.path()]).clean();
    let line = out.lines().find(|line| line.trim().starts_with("L0 ")).expect("it has a block");
    let dva = line.split_whitespace().find(|word| word.contains(':')).unwrap();
    u64::from_str_radix(dva.split(':').nth(1).unwrap(), 16).unwrap()
}

/// The number of a file in a directory.
fn number(dir: &Dir, dataset: &str, folder: &str, name: &str) -> String {
    let out = inspect(&["-o", dataset, folder, &dir.path()]).clean();
    let found =
        out.lines().find_map(|line| line.trim().strip_prefix(&format!("{name} = ")).map(str::to_owned));
    found.expect("it is there").split(' ').next().unwrap().to_owned()
}

fn flip(path: &str, at: u64) {
    let mut file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.seek(SeekFrom::Start(at)).unwrap();
    file.read_exact(&mut byte).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&[byte[0] ^ 0x40]).unwrap();
}

#[test]
fn a_bad_copy_is_counted_and_two_bad_copies_are_a_problem() {
    let dir = Dir::fixture("mirror2");
    let dataset = "g_mirror2/off@s1";
    let file = number(&dir, dataset, "2", "r131072");
    let at = DATA + first_block(&dir, dataset, &file) + 1000;
    flip(&dir.file("disk1.img"), at);
    let out = inspect(&["-c", &dir.path()]).clean();
    assert!(out.contains("1 copies are bad; each of these blocks has a good one"), "{out}");
    assert!(out.contains("disk1.img: 0 read errors, 1 checksum errors"), "{out}");
    flip(&dir.file("disk0.img"), at);
    let ran = inspect(&["-c", &dir.path()]);
    assert_eq!(ran.status, 1, "{ran:?}");
    let expected = format!("{dataset}, object {file}, level 0, block 0: checksum error");
    assert!(ran.out.contains("1 problems:") && ran.out.contains(&expected), "{}", ran.out);
    // Metadata is whole.
    inspect(&["-c", "--metadata", &dir.path()]).clean();
}

#[test]
fn metadata_lives_on_in_its_other_copy() {
    let dir = Dir::fixture("single-default");
    let dataset = "g_single/c_off";
    // The directory's block has two copies.
    let at = DATA + first_block(&dir, dataset, "2") + 10;
    flip(&dir.file("disk0.img"), at);
    let out = inspect(&["-c", &dir.path()]).clean();
    assert!(out.contains("1 copies are bad"), "{out}");
}

#[test]
fn a_block_of_a_single_disk_is_lost() {
    let dir = Dir::fixture("single-default");
    let dataset = "g_single/c_off";
    let file = number(&dir, dataset, "2", "r131072");
    flip(&dir.file("disk0.img"), DATA + first_block(&dir, dataset, &file));
    let ran = inspect(&["-c", &dir.path()]);
    let expected = format!("{dataset}, object {file}, level 0, block 0: checksum error");
    assert!(ran.status == 1 && ran.out.contains(&expected), "{}", ran.out);
    let json = inspect(&["--json", "-c", &dir.path()]);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["pools"][0]["verify"]["problem_count"], 1);
}
