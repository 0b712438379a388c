//! Pools of versions 1 to 15 in every layout, written by Solaris on x86 and on SPARC: the images
//! that OpenZFS tests itself with, as Debian's zfs-test installs them. Each is compared with what
//! zdb sees, written, upgraded and compared again. What a SPARC wrote is big-endian.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::daemon::{Daemon, Scratch, program, timed};
use crate::tree;
use crate::zdb::{assert_clean, assert_readable, assert_same_list, zdb};

const FUNCTIONAL: &str = "/usr/share/zfs/zfs-tests/tests/functional";
const UPGRADE: &str = "cli_root/zpool_upgrade/blockfiles";

/// A pool's name and its images, below [`FUNCTIONAL`] and without what they are packed with.
struct Old {
    pool: &'static str,
    folder: &'static str,
    images: &'static [&'static str],
}

const fn old(pool: &'static str, images: &'static [&'static str]) -> Old {
    Old { pool, folder: UPGRADE, images }
}

const FIRST: [Old; 9] = [
    old("v1-pool", &["zfs-pool-v1.dat"]),
    old("pool-v1stripe", &["zfs-pool-v1stripe1.dat", "zfs-pool-v1stripe2.dat", "zfs-pool-v1stripe3.dat"]),
    old("pool-v1raidz", &["zfs-pool-v1raidz1.dat", "zfs-pool-v1raidz2.dat", "zfs-pool-v1raidz3.dat"]),
    old("pool-v1mirror", &["zfs-pool-v1mirror1.dat", "zfs-pool-v1mirror2.dat", "zfs-pool-v1mirror3.dat"]),
    old("v2-pool", &["zfs-pool-v2.dat"]),
    old("pool-v2stripe", &["zfs-pool-v2stripe1.dat", "zfs-pool-v2stripe2.dat", "zfs-pool-v2stripe3.dat"]),
    old("pool-v2raidz", &["zfs-pool-v2raidz1.dat", "zfs-pool-v2raidz2.dat", "zfs-pool-v2raidz3.dat"]),
    old("pool-v2mirror", &["zfs-pool-v2mirror1.dat", "zfs-pool-v2mirror2.dat", "zfs-pool-v2mirror3.dat"]),
    old("zfs-broken-mirror", &["zfs-broken-mirror1.dat", "zfs-broken-mirror2.dat"]),
];

const SECOND: [Old; 9] = [
    old("v3-pool", &["zfs-pool-v3.dat"]),
    old("pool-v3stripe", &["zfs-pool-v3stripe1.dat", "zfs-pool-v3stripe2.dat", "zfs-pool-v3stripe3.dat"]),
    old("pool-v3raidz", &["zfs-pool-v3raidz1.dat", "zfs-pool-v3raidz2.dat", "zfs-pool-v3raidz3.dat"]),
    old("pool-v3mirror", &["zfs-pool-v3mirror1.dat", "zfs-pool-v3mirror2.dat", "zfs-pool-v3mirror3.dat"]),
    old("pool-v3raidz2", &["zfs-pool-v3raidz21.dat", "zfs-pool-v3raidz22.dat", "zfs-pool-v3raidz23.dat"]),
    old(
        "pool-v3hotspare",
        &["zfs-pool-v3hotspare1.dat", "zfs-pool-v3hotspare2.dat", "zfs-pool-v3hotspare3.dat"],
    ),
    old("v4-pool", &["zfs-pool-v4.dat"]),
    old("v5-pool", &["zfs-pool-v5.dat"]),
    Old { pool: "zfs-pool-v4", folder: "history", images: &["zfs-pool-v4.dat"] },
];

const THIRD: [Old; 12] = [
    old("v6-pool", &["zfs-pool-v6.dat"]),
    old("v7-pool", &["zfs-pool-v7.dat"]),
    old("v8-pool", &["zfs-pool-v8.dat"]),
    old("v9-pool", &["zfs-pool-v9.dat"]),
    old("v10-pool", &["zfs-pool-v10.dat"]),
    old("v11-pool", &["zfs-pool-v11.dat"]),
    old("v12-pool", &["zfs-pool-v12.dat"]),
    old("v13-pool", &["zfs-pool-v13.dat"]),
    old("v14-pool", &["zfs-pool-v14.dat"]),
    old("v15-pool", &["zfs-pool-v15.dat"]),
    Old { pool: "history_pool", folder: "history", images: &["sparc.migratedpool.DAT"] },
    Old { pool: "history_pool", folder: "history", images: &["i386.migratedpool.DAT"] },
];

/// Unpacks an image; its zeros become holes.
fn unpack(packed: &str, to: &Path) {
    let (path, unpacker) = [("bz2", "bzip2"), ("Z", "gzip")]
        .map(|(end, unpacker)| (format!("{FUNCTIONAL}/{packed}.{end}"), unpacker))
        .into_iter()
        .find(|(path, _)| Path::new(path).exists())
        .unwrap_or_else(|| panic!("{packed} of Debian's package zfs-test is needed for this test"));
    let mut unpacking =
        program(unpacker, 60).args(["-dc", &path]).stdout(Stdio::piped()).spawn().expect("an unpacker");
    let (mut from, mut image) = (unpacking.stdout.take().expect("piped"), File::create(to).expect("made"));
    let mut block = vec![0; 64 << 10];
    loop {
        let len = from.read(&mut block).expect("readable");
        match &block[..len] {
            [] => break,
            zeros if zeros.iter().all(|byte| *byte == 0) => {
                image.seek(SeekFrom::Current(len as i64)).expect("seekable");
            }
            bytes => image.write_all(bytes).expect("written"),
        }
    }
    let len = image.stream_position().expect("seekable");
    image.set_len(len).expect("as long as it was");
    assert!(unpacking.wait().expect("it ended").success(), "{path}");
}

impl Old {
    fn unpack(&self, scratch: &Scratch, number: usize) -> PathBuf {
        let images = scratch.folder(&format!("images-{number}"));
        for image in self.images {
            unpack(&format!("{}/{image}", self.folder), &images.join(image));
        }
        images
    }

    /// Whether OpenZFS finds it whole as it comes: of one pool a disk is cut short.
    fn is_whole(&self) -> bool {
        self.pool != "zfs-broken-mirror"
    }
}

/// Changes what is there and adds to it, enough for a directory to turn from one block into a
/// table.
fn change(at: &Path, round: usize) {
    for (number, file) in tree::files(at, 1 << 20).into_iter().enumerate().take(60) {
        match number % 5 {
            0 => fs::remove_file(file).expect("removed"),
            _ => File::options()
                .append(true)
                .open(file)
                .and_then(|mut f| f.write_all(b"more"))
                .expect("longer"),
        }
    }
    let new = at.join(format!("round {round}"));
    fs::create_dir(&new).expect("a directory");
    for number in 0..250_usize {
        let data: Vec<u8> = (0..number * 31).map(|byte| (byte * number) as u8).collect();
        fs::write(at.join(format!("file {number} of round {round}")), &data).expect("written");
        if number % 9 == 0 {
            fs::write(new.join(format!("file {number}")), &data).expect("written");
        }
    }
    std::os::unix::fs::symlink("a target", new.join("link")).expect("a link");
}

fn live_on(daemon: &Daemon, scratch: &Scratch, number: usize, old: &Old) {
    let (pool, images) = (old.pool, old.unpack(scratch, number));
    if old.is_whole() {
        assert_readable(&images, pool);
        // How many objects there are old software counted otherwise, so they are not counted again.
        assert_same_list(&images, pool);
    }
    let (folder, root) = (images.display().to_string(), scratch.text(&format!("root-{number}")));
    let import = format!("import -f -N -R {root} -d {folder} {pool}");
    daemon.zpool(&import).done();
    let mount_all = || {
        let names = daemon.zfs(&format!("list -H -r -t filesystem -o name {pool}")).done();
        for name in names.lines() {
            daemon.zfs(&format!("mount {name}")).done();
        }
    };
    mount_all();
    change(&Path::new(&root).join(pool), 1);
    daemon.zfs(&format!("snapshot -r {pool}@before")).done();
    daemon.zpool(&format!("upgrade {pool}")).done();
    daemon.zfs(&format!("upgrade -r {pool}")).done();
    change(&Path::new(&root).join(pool), 2);
    daemon.zfs(&format!("create -o compression=lz4 {pool}/new")).done();
    daemon.zfs(&format!("mount {pool}/new")).done();
    change(&Path::new(&root).join(pool).join("new"), 1);
    let wanted = tree::read(Path::new(&root));
    assert!(wanted.len() > 700, "{} files", wanted.len());
    daemon.zpool(&format!("scrub -w {pool}")).done();
    let status = daemon.zpool(&format!("status {pool}")).done();
    assert!(status.contains("errors: No known data errors"), "{status}");
    daemon.zpool(&format!("export {pool}")).done();
    assert_clean(&images, pool);

    daemon.zpool(&import).done();
    mount_all();
    tree::assert_equal(&format!("{pool}, imported again"), &tree::read(Path::new(&root)), &wanted);
    daemon.zpool(&format!("export {pool}")).done();
    fs::remove_dir_all(images).expect("removed");
}

fn all_live_on(name: &str, pools: &[Old]) {
    let scratch = Scratch::new(name);
    let mut daemon = Daemon::start(&scratch);
    for (number, old) in pools.iter().enumerate() {
        timed(&format!("{} ({})", old.pool, old.images[0]), || live_on(&daemon, &scratch, number, old));
    }
    daemon.stop();
}

#[test]
fn pools_of_versions_1_and_2_are_written_and_upgraded() {
    all_live_on("old-1", &FIRST);
}

#[test]
fn pools_of_versions_3_to_5_are_written_and_upgraded() {
    all_live_on("old-3", &SECOND);
}

#[test]
fn pools_of_versions_6_to_15_are_written_and_upgraded() {
    all_live_on("old-6", &THIRD);
}

/// Pools that only other software can read say so, and are not called damaged.
#[test]
fn what_is_not_supported_is_called_so() {
    let scratch = Scratch::new("old-999");
    let mut daemon = Daemon::start(&scratch);
    let images = scratch.folder("images");
    unpack(&format!("{UPGRADE}/zfs-pool-v999.dat"), &images.join("zfs-pool-v999.dat"));
    let folder = images.display().to_string();
    let shown = daemon.zpool(&format!("import -d {folder}")).done();
    for wanted in [
        " state: UNAVAIL",
        "status: The pool is formatted using an incompatible version.",
        "action: The pool cannot be imported.  Access the pool on a system running newer\n\tsoftware, or recreate \
         the pool from backup.",
        "\tv999-pool",
        "UNAVAIL  newer version",
    ] {
        assert!(shown.contains(wanted), "{wanted:?} in:\n{shown}");
    }
    let refused = daemon.zpool(&format!("import -d {folder} v999-pool"));
    assert_eq!(refused.status, 1);
    let why = "cannot import 'v999-pool': pool is formatted using an unsupported ZFS version";
    assert!(refused.err.contains(why), "{}", refused.err);
    daemon.stop();
}

/// Both copies of a file's block of pointers. `shown` is what zdb tells of the file.
fn damage_pointers(image: &str, shown: &str) {
    let line = shown.lines().find(|line| line.contains(" L1 ")).expect("pointers");
    let copies: Vec<u64> = line
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("0:")?.split(':').next())
        .map(|offset| u64::from_str_radix(offset, 16).expect("hexadecimal"))
        .collect();
    assert_eq!(copies.len(), 2, "{line}");
    let disk = File::options().write(true).open(image).expect("an image");
    for offset in copies {
        std::os::unix::fs::FileExt::write_all_at(&disk, &[0x5a; 4096], offset + (4 << 20)).expect("damaged");
    }
}

/// A file's pointers that nobody can read any more are that file's loss alone: the import looks at
/// what the last groups wrote, and those of an export wrote nothing of the datasets. Such a file
/// can neither be truncated nor freed, which is found before a group is lost by it; it can be
/// removed, and stays in the unlinked set.
#[test]
fn damaged_blocks_of_pointers_refuse_neither_the_pool_nor_a_removal() {
    let scratch = Scratch::new("old-l1");
    let mut daemon = Daemon::start(&scratch);
    let (images, root) = (scratch.folder("images"), scratch.text("root"));
    let image = scratch.image_in("images", "disk.img", 256);
    daemon.zpool(&format!("create -f -O compression=off -R {root} l1 {image}")).done();
    daemon.zfs("mount l1");
    let at = |name: &str| Path::new(&root).join("l1").join(name);
    let lost = ["cut", "small", "large"];
    for (name, size) in lost.iter().zip([20 << 20, 1 << 20, 20 << 20]) {
        fs::write(at(name), vec![7; size]).expect("written");
    }
    fs::write(at("kept"), b"kept").expect("written");
    let objects =
        lost.map(|name| std::os::unix::fs::MetadataExt::ino(&fs::metadata(at(name)).expect("there")));
    daemon.zpool("export l1").done();
    for object in objects {
        damage_pointers(&image, &zdb(&images, &["-ddddddd", "l1/", &object.to_string()]).out);
    }
    for round in 0..2 {
        daemon.zpool(&format!("import -R {root} -d {} l1", images.display())).done();
        daemon.zfs("mount l1");
        assert_eq!(fs::read(at("kept")).expect("readable"), b"kept");
        assert!(fs::read(at("cut")).is_err());
        let cut = File::options().write(true).open(at("cut")).expect("opened").set_len(4096);
        assert_eq!(cut.expect_err("damaged").raw_os_error(), Some(libc::EIO));
        assert_eq!(fs::metadata(at("cut")).expect("there").len(), 20 << 20);
        for name in ["small", "large"] {
            assert_eq!(fs::remove_file(at(name)).is_ok(), round == 0, "{name}");
        }
        daemon.zpool("sync l1").done();
        fs::write(at(&round.to_string()), b"after").expect("written");
        daemon.zpool("sync l1").done();
        // That its disk has erred is another matter.
        assert_ne!(daemon.zpool("list -H -o health l1").done(), "SUSPENDED\n");
        daemon.zpool("export l1").done();
    }
    daemon.stop();
}

/// What is encrypted says so, though nobody here can read it.
#[test]
fn encrypted_datasets_say_how() {
    let scratch = Scratch::new("old-encrypted");
    let mut daemon = Daemon::start(&scratch);
    let images = scratch.folder("images");
    unpack("cli_root/zpool_import/blockfiles/missing_ivset.dat", &images.join("missing_ivset.dat"));
    daemon.zpool(&format!("import -f -N -d {} missing_ivset", images.display())).done();
    let get = |names: &str, of: &str| {
        let shown = daemon.zfs(&format!("get -H -o value,source {names} missing_ivset{of}")).done();
        shown.lines().map(|line| line.replace('\t', " ")).collect::<Vec<_>>()
    };
    let all = "encryption,keystatus,encryptionroot,keyformat,pbkdf2iters";
    assert_eq!(get(all, ""), ["off default", "- -", "- -", "none default", "0 default"]);
    let root = "missing_ivset/testfs -";
    assert_eq!(get(all, "/testfs"), ["aes-256-ccm -", "unavailable -", root, "passphrase -", "350000 -"]);
    assert_eq!(
        get("encryption,keystatus,encryptionroot", "/testfs@snap1"),
        ["aes-256-ccm -", "unavailable -", root]
    );
    let says = daemon.zpool("status missing_ivset").done();
    assert!(says.contains("status: Errata #4 detected.\n") && says.contains("/msg/ZFS-8000-ER\n"), "{says}");
    daemon.zpool("set feature@bookmark_v2=enabled missing_ivset").done();
    assert!(!daemon.zpool("status missing_ivset").done().contains("Errata"));
    daemon.zpool("export missing_ivset").done();
    unpack("cli_root/zpool_import/blockfiles/cryptv0.dat", &images.join("cryptv0.dat"));
    daemon.zpool(&format!("import -f -N -d {} cryptv0", images.display())).done();
    let says = daemon.zpool("status cryptv0").done();
    assert!(says.contains("status: Errata #3 detected.\n"), "{says}");
    daemon.zpool("export cryptv0").done();
    daemon.stop();
}
