//! Programs that others wrote to try file systems, on the local mount of a real pool.

use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};

use stdx::prng::Prng;

use crate::copies::read_all;
use crate::daemon::{Daemon, Ran, Scratch, program, say, timed};
use crate::tree;
use crate::zdb::stop_and_check;

fn root_of_project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A tool from crates.io, where `scripts/setup test` installs it.
fn tool(name: &str) -> String {
    let path = root_of_project().join("target/tools/bin").join(name);
    assert!(path.exists(), "{name} is needed for this test: run scripts/setup test");
    path.to_str().expect("text").to_owned()
}

/// A pool with `tank/fs`, mounted; its folder.
fn mounted(scratch: &Scratch) -> (Daemon, PathBuf) {
    let daemon = Daemon::start(scratch);
    let (a, mnt) = (scratch.image("a", 2048), scratch.text("mnt"));
    daemon.zpool(&format!("create -O xattr=sa -m {mnt} tank {a}")).done();
    daemon.zfs("create -o sharenfs=rw,no_root_squash,insecure tank/fs").done();
    daemon.zfs("mount tank/fs").done();
    (daemon, scratch.path("mnt/fs"))
}

/// All its test cases but those that need what FUSE in user space has not: remounting (EROFS is
/// tested in crates/fuse).
#[test]
fn pjdfstest_passes() {
    let scratch = Scratch::new("pjd");
    let (mut daemon, at) = mounted(&scratch);
    let config = root_of_project().join("crates/fuse/tests/pjdfstest.toml");
    let other = Path::new("/dev/shm").join(format!("cistern-pjd-{}", std::process::id()));
    fs::create_dir_all(&other).expect("a folder on another file system");
    let ran = timed("pjdfstest", || {
        Ran::of(
            program(&tool("pjdfstest"), 300).arg("-c").arg(config).arg("-p").arg(&at).arg("-s").arg(&other),
        )
    });
    drop(fs::remove_dir_all(&other));
    let summary = ran.out.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned();
    say(&summary);
    ran.done();
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

#[test]
fn fsx_fio_and_bonnie_find_what_they_wrote() {
    let scratch = Scratch::new("tools");
    let (mut daemon, at) = mounted(&scratch);
    let artifacts = scratch.folder("artifacts");
    timed("fsx", || {
        for seed in ["1", "20", "300"] {
            let file = at.join(format!("fsx-{seed}"));
            Ran::of(
                program(&tool("fsx"), 120).args(["-N", "4000", "-S", seed, "-P"]).arg(&artifacts).arg(file),
            )
            .done();
        }
    });
    timed("fio", || {
        let directory = format!("--directory={}", at.display());
        let options = "--name=verify --size=24m --rw=randrw --bsrange=512-128k --verify=crc32c --verify_fatal=1 \
                       --verify_state_save=0 --ioengine=psync --numjobs=3 --fsync=500 --randseed=7";
        Ran::of(program("fio", 200).arg(directory).args(options.split_whitespace())).done();
    });
    timed("bonnie++", || {
        Ran::of(
            program("bonnie++", 200)
                .arg("-d")
                .arg(&at)
                .args("-q -f -u root -s 64M -r 32 -n 1:4096:0:4".split(' ')),
        )
        .done();
    });
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// One random operation below `at`; what it may be refused, it may.
fn step(random: &mut Prng, at: &Path) {
    let mut name = || at.join(format!("d{}", random.below(4))).join(format!("n{}", random.below(60)));
    let (one, other) = (name(), name());
    let size = random.below(200_000);
    let done = match random.below(12) {
        0..=3 => fs::File::options().create(true).truncate(false).write(true).open(&one).and_then(|file| {
            let mut data = vec![0; 1 + (size as usize) / 3];
            random.fill(&mut data);
            file.write_all_at(&data, random.below(400_000))
        }),
        4 => fs::File::options().write(true).open(&one).and_then(|file| file.set_len(size)),
        5 => fs::rename(&one, &other),
        6 => fs::hard_link(&one, &other),
        7 => symlink(&other, &one),
        8 => fs::create_dir(&one),
        9 => fs::remove_dir(&one),
        _ => fs::remove_file(&one),
    };
    drop(done);
}

#[test]
fn random_work_of_many_looks_the_same_from_everywhere() {
    let scratch = Scratch::new("stress");
    let (mut daemon, at) = mounted(&scratch);
    (0..4).for_each(|number| fs::create_dir(at.join(format!("d{number}"))).expect("made"));
    timed("random work", || {
        let seeds: Vec<u64> = (0..16).collect();
        tree::in_parallel(
            8,
            &seeds,
            |_| (),
            |(), seed| {
                let mut random = Prng::new(*seed);
                (0..600).for_each(|_| step(&mut random, &at));
            },
        );
    });
    let export = at.to_str().expect("text").to_owned();
    let by_mount = tree::read(&at);
    assert!(by_mount.len() > 50, "{} names are left", by_mount.len());
    tree::assert_equal("by NFS", &read_all(&daemon, &export), &by_mount);
    daemon.zpool("sync").done();
    let counted = stop_and_check(&mut daemon, &scratch.path("disks"), "tank")["tank/fs"];
    daemon.begin();
    tree::assert_equal("by NFS, after a restart", &read_all(&daemon, &export), &by_mount);
    tree::assert_equal("after a restart", &tree::read(&at), &by_mount);
    let used = Ran::of(program("df", 20).args(["--output=iused"]).arg(&at)).done();
    let used: u64 = used.lines().nth(1).and_then(|line| line.trim().parse().ok()).expect("a count");
    assert_eq!(used, counted, "objects, by df and by zdb -d");
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
