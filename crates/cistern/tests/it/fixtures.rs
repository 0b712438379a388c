//! Pools that OpenZFS wrote, on whole-disk images, in this daemon's hands: imported, mounted, written, exported.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::daemon::{Daemon, Ran, Scratch, program};
use crate::tree;
use crate::zdb::assert_clean;

/// Unpacks a fixture below the scratch folder; the folder with its images.
fn unpack(scratch: &Scratch, name: &str) -> PathBuf {
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/fixtures/{name}.tar.zst"));
    let to = scratch.folder("fixture");
    Ran::of(program("tar", 60).args(["--zstd", "-xf"]).arg(&archive).arg("-C").arg(&to)).done();
    let images = scratch.folder("images");
    let mut folders = vec![to];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("unpacked").map(|entry| entry.expect("readable").path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|end| end == "img") {
                fs::rename(&entry, images.join(entry.file_name().expect("a name"))).expect("moved");
            }
        }
    }
    images
}

/// zdb does not look for partitions in files: it gets the ZFS partition alone, as the GPT has it as its first entry.
fn cut_partitions(images: &Path, to: &Path) {
    for entry in fs::read_dir(images).expect("listed").map(|entry| entry.expect("readable").path()) {
        let disk = File::open(&entry).expect("an image");
        let mut first = [0; 128];
        disk.read_exact_at(&mut first, 1024).expect("a partition table");
        let word = |at: usize| u64::from_le_bytes(first[at..at + 8].try_into().expect("eight"));
        let (start, end) = (word(32) * 512, (word(40) + 1) * 512);
        let part = File::create(to.join(entry.file_name().expect("a name"))).expect("a file");
        part.set_len(end - start).expect("sparse");
        let mut chunk = vec![0; 1 << 20];
        for at in (start..end).step_by(1 << 20) {
            let len = (end - at).min(1 << 20) as usize;
            disk.read_exact_at(&mut chunk[..len], at).expect("read");
            if chunk[..len].iter().any(|byte| *byte != 0) {
                part.write_all_at(&chunk[..len], at - start).expect("written");
            }
        }
    }
}

/// Writes into, changes and deletes from what is mounted at `at`.
fn work(at: &Path, new_files: usize) {
    // The fixtures have sparse files of many terabytes, too.
    let before = tree::files(at, 16 << 20);
    let new = at.join("cistern-was-here");
    fs::create_dir(&new).expect("a directory");
    for number in 0..new_files {
        let data: Vec<u8> = (0..number * 997).map(|byte| (byte * number) as u8).collect();
        fs::write(new.join(format!("file {number}")), data).expect("written");
    }
    (0..new_files)
        .step_by(3)
        .for_each(|number| fs::remove_file(new.join(format!("file {number}"))).expect("removed"));
    for (number, path) in before.iter().take(200).enumerate() {
        match number % 3 {
            0 => fs::remove_file(path).expect("removed"),
            1 => File::options()
                .append(true)
                .open(path)
                .and_then(|mut file| file.write_all(b"more"))
                .expect("longer"),
            _ => File::open(path)
                .and_then(|mut file| file.read_to_end(&mut Vec::new()))
                .map(drop)
                .expect("read"),
        }
    }
}

/// Imports the pool, works in a few of its file systems, exports it and lets zdb judge.
fn written_on(fixture: &str, pool: &str, datasets: &[&str], new_files: usize) {
    let scratch = Scratch::new(fixture);
    let images = unpack(&scratch, fixture);
    let mut daemon = Daemon::start(&scratch);
    let (folder, root) = (images.display().to_string(), scratch.text("root"));
    daemon.zpool(&format!("import -f -N -R {root} -d {folder} {pool}")).done();
    for dataset in datasets {
        daemon.zfs(&format!("mount {dataset}")).done();
        let at = daemon.zfs(&format!("get -H -o value mountpoint {dataset}")).done();
        work(Path::new(at.trim()), new_files);
    }
    daemon.zfs(&format!("create -o compression=lz4 -o mountpoint=/new {pool}/new")).done();
    daemon.zfs(&format!("mount {pool}/new")).done();
    work(&scratch.path("root/new"), new_files);
    daemon.zpool(&format!("export {pool}")).done();
    daemon.stop();
    let parts = scratch.folder("parts");
    cut_partitions(&images, &parts);
    assert_clean(&parts, pool);
}

#[test]
fn a_single_disk_of_openzfs_is_written_on() {
    written_on(
        "single-default",
        "g_single",
        &["g_single/dir", "g_single/rs_512", "g_single/c_gzip-6", "g_single/copies3"],
        300,
    );
}

#[test]
fn a_mirror_of_openzfs_is_written_on() {
    written_on("mirror2", "g_mirror2", &["g_mirror2/tree"], 300);
}

#[test]
fn raidz_of_openzfs_is_written_on() {
    written_on(
        "raidz1-3disk",
        "g_raidz1_3disk",
        &["g_raidz1_3disk/off", "g_raidz1_3disk/rs_512", "g_raidz1_3disk/rs_1M"],
        80,
    );
}

#[test]
fn raidz2_of_openzfs_is_written_on() {
    written_on(
        "raidz2-5disk",
        "g_raidz2_5disk",
        &["g_raidz2_5disk/off", "g_raidz2_5disk/rs_512", "g_raidz2_5disk/rs_1M"],
        80,
    );
}

#[test]
fn a_stripe_of_mirrors_of_openzfs_is_written_on() {
    written_on("stripe-of-mirrors", "g_som", &["g_som/tree"], 300);
}
