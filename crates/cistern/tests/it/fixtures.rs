//! Pools that OpenZFS wrote, on whole-disk images, in this daemon's hands: imported, mounted,
//! written, exported; and their volumes as initiators see them.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::daemon::{Daemon, Ran, Scratch, program, timed};
use crate::iscsi::{LISTEN, portal};
use crate::tree::{self, Node};
use crate::virtual_disks::{cut_out, read_ext4, tool};
use crate::zdb::{assert_clean, assert_readable};

/// Unpacks a fixture below the scratch folder, its images to a folder of their own: which is given.
/// `None`: it is of the larger collection beside the repository, and that is not there.
fn unpack(scratch: &Scratch, name: &str) -> Option<PathBuf> {
    let places = ["../../tests/fixtures", "../../../shared/pools"];
    let archives = places.map(|place| format!("{}/{place}/{name}.tar.zst", env!("CARGO_MANIFEST_DIR")));
    let archive = archives.iter().find(|archive| Path::new(archive).exists())?;
    let to = scratch.folder("fixture");
    Ran::of(program("tar", 60).args(["--zstd", "-xf", archive, "-C"]).arg(&to)).done();
    let images = scratch.folder(&format!("images-{name}"));
    let mut folders = vec![to.join(name)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("unpacked").map(|entry| entry.expect("readable").path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|end| end == "img") {
                fs::rename(&entry, images.join(entry.file_name().expect("a name"))).expect("moved");
            }
        }
    }
    Some(images)
}

/// zdb does not look for partitions in files: it gets the ZFS partition alone, as the GPT has it as
/// its first entry.
fn cut_partitions(images: &Path, to: &Path) {
    for entry in fs::read_dir(images).expect("listed").map(|entry| entry.expect("readable").path()) {
        let disk = File::open(&entry).expect("an image");
        let mut first = [0; 128];
        disk.read_exact_at(&mut first, 1024).expect("a partition table");
        let word = |at: usize| u64::from_le_bytes(first[at..at + 8].try_into().expect("eight"));
        let (start, end) = (word(32) * 512, (word(40) + 1) * 512);
        cut_out(&disk, start, end - start, &to.join(entry.file_name().expect("a name"))).expect("copied");
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
    let images = unpack(&scratch, fixture).expect("it is in the repository");
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

/// A line of a manifest: one object of JSON, of which nothing is in need of a parser.
#[derive(Clone, Copy)]
struct Line<'a>(&'a str);

impl<'a> Line<'a> {
    fn field(self, name: &str) -> Option<&'a str> {
        let (_, value) = self.0.split_once(&format!("\"{name}\": "))?;
        let end = if value.starts_with('"') { "\"" } else { "," };
        value.trim_start_matches('"').split(end).next().map(|value| value.trim_end_matches('}'))
    }
}

fn hex(sha256: [u64; 4]) -> String {
    sha256.map(|word| format!("{word:016x}")).concat()
}

/// Shares a pool's volumes, and clones of its volumes' snapshots, and holds what comes by iSCSI
/// against the manifest. `false` where there is no such fixture.
fn volumes_are_read(daemon: &Daemon, scratch: &Scratch, fixture: &str, pool: &str) -> bool {
    let Some(images) = unpack(scratch, fixture) else { return false };
    let folder = scratch.path("fixture").join(fixture);
    let manifest = ["manifest-after-replay.txt", "manifest.txt"].map(|name| folder.join(name));
    let manifest = manifest.iter().find(|path| path.exists()).expect("a manifest");
    let manifest = fs::read_to_string(manifest).expect("it can be read");
    daemon.zpool(&format!("import -f -N -d {} {pool}", images.display())).done();
    daemon.zfs(&format!("set cistern:iscsi=on {pool}")).done();
    let back = scratch.text("back.raw");
    let url = |daemon: &Daemon, volume: &str| {
        let target = volume.replace('/', ":").replace('_', "-").to_lowercase();
        format!("iscsi://{}/iqn.2026-01.org.cistern:{target}/0", portal(daemon))
    };
    let read = |daemon: &Daemon, volume: &str| {
        tool("qemu-img", &["convert", "-f", "raw", "-O", "raw", &url(daemon, volume), &back]);
    };
    let lines = manifest.lines().map(Line);
    let volumes: Vec<Line> = lines.clone().filter(|line| line.field("zvol") == Some("true")).collect();
    assert!(!volumes.is_empty(), "{fixture} has volumes");
    for (number, line) in volumes.iter().enumerate() {
        let dataset = line.field("ds").expect("a name");
        let mut volume = dataset.to_owned();
        if dataset.contains('@') {
            volume = format!("{pool}/of-snapshot-{number}");
            daemon.zfs(&format!("clone {dataset} {volume}")).done();
        }
        read(daemon, &volume);
        let data = fs::read(&back).expect("it came");
        assert_eq!(Some(&*data.len().to_string()), line.field("size"), "{dataset}");
        assert_eq!(Some(&*hex(tree::sha256(&data))), line.field("sha256"), "{dataset}");
    }
    // What OpenZFS's notes say of one that is too large to be read whole, behind what commands of
    // 10 bytes reach.
    if fixture == "zvols" {
        // 's' of "start", nothing behind it, nothing anywhere, and 'Z' to the end.
        let places =
            ["-s 0 -l 1 -P 115 0 512", "-s 5 -l 507 -P 0 0 512", "-P 0 1536G 1M", "-P 90 2199023255040 512"];
        let reads = places.map(|place| format!("read {place}"));
        let words: Vec<&str> = reads.iter().flat_map(|read| ["-c", read]).collect();
        tool("qemu-io", &[&["-f", "raw"], &words[..], &[&url(daemon, "g_zvol/v2T")]].concat());
    }
    // What is in a file system in a volume.
    let inside: Vec<Line> =
        lines.filter(|line| line.field("ds").is_some_and(|ds| ds.ends_with(":ext4"))).collect();
    if let Some(first) = inside.first() {
        read(daemon, first.field("ds").expect("a name").trim_end_matches(":ext4"));
        let tree = read_ext4(&back, 0, scratch);
        let files = inside.iter().filter(|line| line.field("type") == Some("f"));
        for (line, path) in files.map(|line| (line, line.field("path").expect("a path"))) {
            let Some(Node::File { size, sha256, .. }) = tree.get(Path::new(path)) else {
                panic!("{path} is missing")
            };
            assert_eq!(Some(&*size.to_string()), line.field("size"), "{path}");
            assert_eq!(Some(&*hex(*sha256)), line.field("sha256"), "{path}");
        }
    }
    daemon.zpool(&format!("export {pool}")).done();
    // The damage of one is not wholly met by those who read its volumes.
    if fixture != "mirror-damaged" {
        let parts = scratch.folder(&format!("parts-{fixture}"));
        cut_partitions(&images, &parts);
        assert_readable(&parts, pool);
    }
    true
}

#[test]
fn volumes_of_openzfs_are_what_they_were_by_iscsi() {
    let scratch = Scratch::new("golden-volumes");
    let mut daemon = Daemon::start_with(&scratch, "state", &LISTEN);
    let pools = [
        ("zvols", "g_zvol"),
        ("snapshots", "g_snap"),
        ("stripe-of-mirrors", "g_som"),
        ("removed", "g_rem"),
        ("dirty-zil", "g_zil"),
        ("dirty-zil-slog", "g_zils"),
        ("dedup", "g_dedup"),
        ("pool-legacy-v28", "g_v28"),
        ("mirror-damaged", "g_dam_mirror"),
    ];
    let read = pools.into_iter().filter(|(fixture, pool)| {
        timed(&format!("volumes of {fixture}"), || volumes_are_read(&daemon, &scratch, fixture, pool))
    });
    assert!(read.count() >= 5, "those in the repository");
    daemon.stop();
}
