//! Disks of virtual machines on volumes, by qemu's iSCSI driver: a partition table, and file
//! systems full of files, go in as an image and come out as one; at once, after a restart, from a
//! snapshot's clone, and after all was written over and rolled back. Whoever made them finds
//! nothing wrong, and every file is what it was.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use stdx::prng::Prng;

use crate::daemon::{Daemon, Ran, Scratch, program, text, timed};
use crate::iscsi::{LISTEN, portal};
use crate::tree::{self, Tree};
use crate::zdb::stop_and_check;

const MIB: u64 = 1 << 20;
/// MiB of a disk.
const DISK: u64 = 420;

/// A part of a disk, in MiB.
struct Part {
    start: u64,
    size: u64,
}

const EXT4: Part = Part { start: 1, size: 64 };
/// The least that mkfs.xfs makes.
const XFS: Part = Part { start: 65, size: 320 };
const NTFS: Part = Part { start: 385, size: 32 };

/// Runs a tool that has to succeed.
#[track_caller]
pub fn tool(name: &str, words: &[&str]) -> String {
    Ran::of(program(name, 120).args(words)).done()
}

/// Copies bytes to the beginning of a new sparse file.
pub fn cut_out(from: &File, start: u64, len: u64, to: &Path) -> io::Result<()> {
    let part = File::create(to)?;
    part.set_len(len)?;
    copy_data(from, start, &part, 0, len)
}

/// Copies what is not zero.
fn copy_data(from: &File, start: u64, to: &File, at: u64, len: u64) -> io::Result<()> {
    let mut chunk = vec![0; MIB as usize];
    for done in (0..len).step_by(MIB as usize) {
        let chunk = &mut chunk[..(len - done).min(MIB) as usize];
        from.read_exact_at(chunk, start + done)?;
        if chunk.iter().any(|byte| *byte != 0) {
            to.write_all_at(chunk, at + done)?;
        }
    }
    Ok(())
}

/// Has the file system be checked that begins at this byte of an image, and gives what is in it.
pub fn read_ext4(image: &str, start: u64, scratch: &Scratch) -> Tree {
    let place = format!("{image}?offset={start}");
    tool("e2fsck", &["-fn", &place]);
    let out = scratch.folder("out");
    tool("debugfs", &["-R", &format!("rdump / {}", out.display()), &place]);
    let mut tree = tree::read(&out);
    tree.retain(|path, _| !path.starts_with("lost+found"));
    fs::remove_dir_all(out).expect("it is ours");
    tree
}

/// Files of all sorts: small and large, empty, with holes, of text and of noise, deep down, linked.
fn make_files(root: &Path) {
    let mut random = Prng::new(64);
    let mut noise = |len: usize| {
        let mut data = vec![0; len];
        random.fill(&mut data);
        data
    };
    for (number, dir) in ["", "etc", "etc/deep/er", "a name with spaces"].into_iter().enumerate() {
        let dir = root.join(dir);
        fs::create_dir_all(&dir).expect("a directory");
        for (n, len) in [0, 1, 100, 4095, 4096, 4097, 70_000, 1 << 20].into_iter().enumerate() {
            let data = if n % 2 == 0 { noise(len) } else { "some text\n".repeat(len / 10 + 1).into_bytes() };
            fs::write(dir.join(format!("file{n}")), data).expect("written");
        }
        for n in 0..150 {
            fs::write(dir.join(format!("n{n}")), format!("{n} of {number}")).expect("written");
        }
        fs::set_permissions(dir.join("n7"), fs::Permissions::from_mode(0o751)).expect("its mode");
    }
    symlink("etc/deep/er/file6", root.join("link")).expect("a link");
    let sparse = File::create(root.join("sparse")).expect("a file");
    sparse.write_all_at(&noise(5000), 3 << 20).expect("written");
    sparse.set_len(5 << 20).expect("longer");
}

/// A disk as a virtual machine leaves it.
struct Guest<'a> {
    scratch: &'a Scratch,
    image: String,
    /// What is in its first file system.
    files: Tree,
}

impl<'a> Guest<'a> {
    fn install(scratch: &'a Scratch) -> Guest<'a> {
        let (image, files) = (scratch.text("guest.raw"), scratch.folder("files"));
        make_files(&files);
        let disk = File::create_new(&image).expect("an image");
        disk.set_len(DISK * MIB).expect("sparse");
        let line = |part: &Part, kind: &str| {
            format!("start={}MiB, size={}MiB, type={kind}\n", part.start, part.size)
        };
        let windows = "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7";
        let table = [line(&EXT4, "linux"), line(&XFS, "linux"), line(&NTFS, windows)].concat();
        fs::write(scratch.path("table"), format!("label: gpt\n{table}")).expect("written");
        let table = File::open(scratch.path("table")).expect("just written");
        Ran::of(program("sfdisk", 60).args(["-q", &image]).stdin(table)).done();

        let offset = format!("offset={}", EXT4.start * MIB);
        let size = format!("{}M", EXT4.size);
        tool("mke2fs", &["-q", "-F", "-t", "ext4", "-d", &text(&files), "-E", &offset, &image, &size]);

        let whole = |part: &Part| -> PathBuf {
            let path = scratch.path("part");
            File::create(&path).and_then(|file| file.set_len(part.size * MIB)).expect("sparse");
            path
        };
        let put = |part: &Part| {
            let from = File::open(scratch.path("part")).expect("it was made");
            copy_data(&from, 0, &disk, part.start * MIB, part.size * MIB).expect("copied");
        };
        // As mkfs.xfs wants it: what would be booted, sizes, and the tree.
        let big = text(&files.join("file7"));
        let tree =
            format!("/\n0 0\nd--755 0 0\nbig ---644 0 0 {big}\ndir d--750 0 0\nf ---600 1 2 {big}\n$\n$\n");
        fs::write(scratch.path("tree"), tree).expect("written");
        tool("mkfs.xfs", &["-q", "-f", "-p", &scratch.text("tree"), &text(&whole(&XFS))]);
        put(&XFS);
        let ntfs = text(&whole(&NTFS));
        let first = (NTFS.start * MIB / 512).to_string();
        tool("mkntfs", &["-q", "-F", "-f", "-Q", "-s", "512", "-p", &first, "-H", "16", "-S", "63", &ntfs]);
        tool("ntfscp", &["-f", &ntfs, &big, "big"]);
        put(&NTFS);
        Guest { scratch, image, files: tree::read(&files) }
    }

    /// Bytes of blocks that are not zeroes.
    fn data(&self) -> u64 {
        let (disk, mut block) = (File::open(&self.image).expect("the image"), vec![0; 16 << 10]);
        let is_data = |at: &u64| {
            disk.read_exact_at(&mut block, *at).expect("read");
            block.iter().any(|byte| *byte != 0)
        };
        (0..DISK * MIB).step_by(16 << 10).filter(is_data).count() as u64 * (16 << 10)
    }

    /// Has what came back by iSCSI looked at by all who made it.
    fn check(&self, what: &str, url: &str) {
        timed(what, || {
            tool("qemu-img", &["compare", "-f", "raw", "-F", "raw", &self.image, url]);
            let image = self.scratch.text("back.raw");
            tool("qemu-img", &["convert", "-f", "raw", "-O", "raw", url, &image]);
            tool("sfdisk", &["-q", "-V", &image]);
            let table = |image: &str| tool("sfdisk", &["-d", image]).replace(image, "disk");
            assert_eq!(table(&image), table(&self.image), "{what}");
            tree::assert_equal(what, &read_ext4(&image, EXT4.start * MIB, self.scratch), &self.files);
            let (disk, part) = (File::open(&image).expect("converted"), self.scratch.path("part"));
            cut_out(&disk, XFS.start * MIB, XFS.size * MIB, &part).expect("copied");
            tool("xfs_repair", &["-n", "-f", &text(&part)]);
            cut_out(&disk, NTFS.start * MIB, NTFS.size * MIB, &part).expect("copied");
            tool("ntfsfix", &["-n", &text(&part)]);
            let big = tool("ntfscat", &["-f", &text(&part), "big"]);
            assert_eq!(big, "some text\n".repeat((1 << 20) / 10 + 1), "{what}");
        });
    }
}

#[test]
fn disks_of_virtual_machines_are_kept_on_volumes() {
    let scratch = Scratch::new("virtual-disks");
    let mut daemon = Daemon::start_with(&scratch, "state", &LISTEN);
    let a = scratch.image("a", 1024);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zfs(&format!("create -s -V {DISK}M -b 16K tank/v")).done();
    daemon.run(&["iscsi", "map", "tank/v", "-t", "iqn.2026-01.org.example:vms"]).done();
    let url =
        |daemon: &Daemon, lun: u32| format!("iscsi://{}/iqn.2026-01.org.example:vms/{lun}", portal(daemon));
    let guest = timed("a disk with ext4, xfs and NTFS", || Guest::install(&scratch));
    timed("qemu-img convert", || {
        tool("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", &guest.image, &url(&daemon, 0)]);
    });
    guest.check("as it came", &url(&daemon, 0));
    daemon.zfs("snapshot tank/v@s").done();
    daemon.zpool("sync").done();
    let used: u64 = daemon.zfs("get -Hp -o value referenced tank/v").done().trim().parse().expect("a number");
    assert!(used < guest.data() * 21 / 20, "zeroes take no space: {used} for {}", guest.data());

    daemon.zfs("clone tank/v@s tank/w").done();
    daemon.run(&["iscsi", "map", "tank/w", "-t", "iqn.2026-01.org.example:vms"]).done();
    daemon.stop();
    daemon.begin();
    guest.check("after a restart", &url(&daemon, 0));
    guest.check("from a clone", &url(&daemon, 1));
    let spoil = ["-f", "raw", "-c", "write -P 7 0 1M", "-c", "discard 8M 8M", "-c", "write -P 9 70M 4M"];
    tool("qemu-io", &[&spoil[..], &[&url(&daemon, 0)]].concat());
    daemon.zfs("rollback tank/v@s").done();
    guest.check("rolled back", &url(&daemon, 0));
    daemon.zfs("set volsize=512M tank/v").done();
    assert!(tool("qemu-img", &["info", "-f", "raw", &url(&daemon, 0)]).contains("512 MiB"));
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
