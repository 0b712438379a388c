//! RAID-Z by command line: pools of every level, without the disks that they can lose, with wrong
//! bytes on as many, and OpenZFS's judgement of each.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::daemon::{Daemon, Scratch};
use crate::zdb::{assert_clean, assert_readable};

/// Level, disks and ashift.
type Shape = (usize, usize, u32);

const SHAPES: [Shape; 4] = [(1, 3, 9), (1, 5, 12), (2, 6, 12), (3, 5, 9)];
/// Sets of disks taken away from a pool: each takes zdb some seconds.
const SETS: usize = 3;
const RECORD_SIZES: [&str; 5] = ["512", "4K", "16K", "128K", "1M"];
const LABELS: u64 = 4 << 20;

fn images(scratch: &Scratch, disks: usize) -> Vec<String> {
    (0..disks).map(|disk| scratch.image(&format!("d{disk}"), 128)).collect()
}

/// A pool with small and large files of many record sizes; gives what is in them.
fn make(scratch: &Scratch, daemon: &Daemon, (level, disks, ashift): Shape) -> BTreeMap<PathBuf, Vec<u8>> {
    let images = images(scratch, disks).join(" ");
    let at = scratch.text("at");
    daemon.zpool(&format!("create -o ashift={ashift} -O mountpoint={at} tank raidz{level} {images}")).done();
    let mut written = BTreeMap::new();
    for (number, size) in RECORD_SIZES.iter().enumerate() {
        daemon.zfs(&format!("create -o recordsize={size} -o compression=off tank/rs{number}")).done();
        daemon.zfs(&format!("mount tank/rs{number}")).done();
        for file in 0..12usize {
            let data: Vec<u8> =
                (0..file * file * 2311).map(|at| (at * (file + number + 1) / 7) as u8).collect();
            let path = PathBuf::from(format!("rs{number}/file{file}"));
            fs::write(Path::new(&at).join(&path), &data).expect("written");
            written.insert(path, data);
        }
    }
    written
}

/// Mounts all file systems of a pool that was imported, and reads all files.
#[track_caller]
fn compare(scratch: &Scratch, daemon: &Daemon, written: &BTreeMap<PathBuf, Vec<u8>>, what: &str) {
    (0..RECORD_SIZES.len()).for_each(|number| drop(daemon.zfs(&format!("mount tank/rs{number}")).done()));
    for (path, data) in written {
        let read = fs::read(scratch.path("at").join(path));
        assert!(read.as_ref().is_ok_and(|read| read == data), "{what}: {} differs", path.display());
    }
}

/// Every choice of `count` disks of so many.
fn choices(disks: usize, count: usize) -> Vec<Vec<usize>> {
    let all = (0..1u32 << disks).filter(|away| away.count_ones() as usize == count);
    all.map(|away| (0..disks).filter(|disk| away & (1 << disk) != 0).collect()).collect()
}

#[test]
fn every_level_is_whole_without_the_disks_it_can_lose() {
    for shape @ (level, disks, ashift) in SHAPES {
        let what = format!("raidz{level} of {disks}, ashift {ashift}");
        let scratch = Scratch::new("raidz");
        let mut daemon = Daemon::start(&scratch);
        let written = make(&scratch, &daemon, shape);
        let status = daemon.zpool("status tank").done();
        assert!(status.contains(&format!("\n\t  raidz{level}-0 ")), "{status}");
        daemon.zpool("export tank").done();
        // What follows has to be read from the disks, not from memory.
        daemon.stop();
        let folder = scratch.path("disks");
        assert_clean(&folder, "tank");
        daemon.begin();
        let choices = choices(disks, level);
        for (turn, away) in choices.iter().step_by(choices.len().div_ceil(SETS)).enumerate() {
            let names: Vec<String> = away.iter().map(|disk| format!("d{disk}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            scratch.put_away(&names);
            assert_readable(&folder, "tank");
            if turn == 0 {
                // In ours, too; nothing is written, or the disks would come back to another pool.
                let folder = folder.display();
                daemon.zpool(&format!("import -N -o readonly=on -d {folder} tank")).done();
                let status = daemon.zpool("status tank").done();
                assert!(status.contains(" state: DEGRADED\n"), "{status}");
                compare(&scratch, &daemon, &written, &format!("{what} without {away:?}"));
                daemon.zpool("export tank").done();
            }
            scratch.bring_back(&names);
        }
        daemon.stop();
    }
}

/// Errors of each leaf in the last column of `zpool status`.
fn checksum_errors(daemon: &Daemon) -> BTreeMap<String, u64> {
    let status = daemon.zpool("status -p tank").done();
    let leaf = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = words.first()?.rsplit('/').next()?.strip_suffix(".img")?.to_owned();
        Some((name, words.get(4)?.parse().ok()?))
    };
    status.lines().filter_map(leaf).collect()
}

#[test]
fn wrong_bytes_on_as_many_disks_as_parities_are_corrected_and_counted() {
    for shape @ (level, disks, _) in [(1, 3, 12), (2, 5, 9), (3, 6, 12)] {
        let scratch = Scratch::new("raidz-wrong");
        let mut daemon = Daemon::start(&scratch);
        let written = make(&scratch, &daemon, shape);
        daemon.zpool("export tank").done();
        daemon.stop();
        let ill: Vec<usize> = (0..level).map(|n| (n * 2 + 1) % disks).collect();
        for disk in &ill {
            spoil(&scratch.path("disks").join(format!("d{disk}.img")));
        }
        let folder = scratch.path("disks");
        daemon.begin();
        daemon.zpool(&format!("import -N -d {} tank", folder.display())).done();
        compare(&scratch, &daemon, &written, &format!("raidz{level} with wrong bytes on {ill:?}"));
        let errors = checksum_errors(&daemon);
        for disk in 0..disks {
            let count = errors[&format!("d{disk}")];
            assert_eq!(count > 0, ill.contains(&disk), "disk {disk} of raidz{level}: {errors:?}");
        }
        daemon.zpool("export tank").done();
        daemon.stop();
        assert_readable(&folder, "tank");
    }
}

/// Turns some sectors between a device's labels into others.
fn spoil(image: &Path) {
    let mut device = fs::File::options().read(true).write(true).open(image).expect("an image");
    let size = device.metadata().expect("a size").len();
    let mut sector = [0; 4096];
    for at in (LABELS..size - LABELS).step_by(3 * 4096) {
        device.seek(SeekFrom::Start(at)).and_then(|_| device.read_exact(&mut sector)).expect("read");
        if sector.iter().any(|byte| *byte != 0) {
            sector.iter_mut().for_each(|byte| *byte = !*byte);
            device.seek(SeekFrom::Start(at)).and_then(|_| device.write_all(&sector)).expect("written");
        }
    }
}

#[test]
fn what_zpool_refuses_of_raidz() {
    let scratch = Scratch::new("raidz-refused");
    let daemon = Daemon::start(&scratch);
    let images = images(&scratch, 5);
    let [a, b, c, d, e] = images.as_slice() else { panic!("five images") };
    let invalid = "invalid vdev specification";
    let hint = "use '-f' to override the following errors:";
    for (words, message) in [
        (format!("raidz2 {a} {b}"), format!("{invalid}: raidz2 requires at least 3 devices")),
        (format!("{a} log raidz {b} {c}"), format!("{invalid}: unsupported 'log' device: raidz")),
        (
            format!("raidz {a} {b} raidz {c} {d} {e}"),
            format!(
                "{invalid}\n{hint}\nmismatched replication level: both 2-way and 3-way raidz vdevs are present"
            ),
        ),
    ] {
        let ran = daemon.zpool(&format!("create -m none tank {words}"));
        assert_eq!((ran.status, ran.err.trim_end()), (1, message.as_str()), "{words}");
    }
    let plan = daemon.zpool(&format!("create -n tank raidz {a} {b} {c}")).done();
    let layout = format!("\ttank\n\t  raidz1\n\t    {a}\n\t    {b}\n\t    {c}\n");
    assert_eq!(plan, format!("would create 'tank' with the following layout:\n\n{layout}"));
    daemon.zpool(&format!("create -f -m none tank raidz {a} {b} raidz {c} {d} {e}")).done();
    let list = daemon.zpool("list -v -H -o name tank").done();
    assert!(list.contains("raidz1-0") && list.contains("raidz1-1"), "{list}");
}
