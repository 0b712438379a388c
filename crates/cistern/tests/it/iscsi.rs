//! Volumes over iSCSI, by initiators that others wrote: libiscsi's tools and its tests, and qemu's own driver.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use stdx::prng::Prng;

use crate::daemon::{Daemon, Ran, Scratch, program, timed};
use crate::zdb::stop_and_check;

const LISTEN: [&str; 2] = ["--iscsi", "127.0.0.1:0"];
/// libiscsi's tests by family, and how many of them there are at the least. What they pass over by themselves: removable
/// media, SANITIZE, WRITE ATOMIC, defect lists, and what takes two paths.
const FAMILIES: [(&str, u32); 2] = [("SCSI", 200), ("iSCSI", 15)];

/// Where the daemon says that it answers.
fn portal(daemon: &Daemon) -> String {
    let line = daemon.banner.lines().find_map(|line| line.trim().strip_prefix("iSCSI"));
    line.expect("the banner says so").trim().to_owned()
}

/// Counts of a run of libiscsi's tests: run, failed.
fn counts(out: &str) -> (u32, u32) {
    let line =
        out.lines().find(|line| line.trim_start().starts_with("tests")).unwrap_or_else(|| panic!("{out}"));
    let numbers: Vec<u32> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    (numbers[1], numbers[3])
}

#[test]
fn libiscsi_finds_nothing_wrong() {
    let scratch = Scratch::new("libiscsi");
    let mut daemon = Daemon::start_with(&scratch, "state", &LISTEN);
    let a = scratch.image("a", 512);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    // Where physical blocks are longer than logical ones, GetLBAStatus.UnmapSingle expects a descriptor that begins behind
    // what it asks for: SBC-3 5.4.2 has none such.
    daemon.zfs("create -s -V 64M -b 512 tank/v").done();
    daemon.zfs("set shareiscsi=on tank/v").done();
    assert_eq!(daemon.run(&["iscsi", "list"]).done(), "tank/v\ton\n");
    let url = format!("iscsi://{}", portal(&daemon));
    let target = "iqn.2026-01.org.cistern:tank:v";
    let listed = Ran::of(program("iscsi-ls", 60).args(["-s", &url])).done();
    assert!(listed.contains(target) && listed.contains("Lun:0"), "{listed}");
    let unit = format!("{url}/{target}/0");
    let inquiry = Ran::of(program("iscsi-inq", 60).arg(&unit)).done();
    assert!(inquiry.contains("Vendor:CISTERN"), "{inquiry}");
    for (family, least) in FAMILIES {
        let ran = timed(&format!("iscsi-test-cu {family}"), || {
            let test = format!("--test={family}");
            Ran::of(program("iscsi-test-cu", 300).args(["--dataloss", "--silent", &test, &unit]))
        });
        let (tests, failed) = counts(&ran.out);
        assert!(tests >= least && failed == 0, "{failed} of {tests}:\n{}{}", ran.out, ran.err);
    }
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// 48 MiB, with data here and there.
fn make_image(path: &Path) {
    let file = File::create(path).expect("an image");
    file.set_len(48 << 20).expect("sparse");
    let mut random = Prng::new(48);
    for part in 0..6 {
        let mut data = vec![0; 1 << 20];
        random.fill(&mut data[..700_000]);
        file.write_all_at(&data, part * (8 << 20) + 12_288).expect("written");
    }
}

#[test]
fn qemu_keeps_images_on_volumes() {
    let scratch = Scratch::new("qemu-iscsi");
    let mut daemon = Daemon::start_with(&scratch, "state", &LISTEN);
    let a = scratch.image("a", 512);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zfs("create -s -V 48M tank/v").done();
    daemon.run(&["iscsi", "map", "tank/v", "-t", "iqn.2026-01.org.example:vms"]).done();
    let local = scratch.text("local.raw");
    make_image(Path::new(&local));
    let qemu = |words: &[&str]| Ran::of(program("qemu-img", 120).args(words)).done();
    let remote = |daemon: &Daemon| format!("iscsi://{}/iqn.2026-01.org.example:vms/0", portal(daemon));
    let url = remote(&daemon);
    qemu(&["convert", "-n", "-f", "raw", "-O", "raw", &local, &url]);
    qemu(&["compare", "-f", "raw", "-F", "raw", &local, &url]);
    daemon.zfs("snapshot tank/v@s").done();
    daemon.zpool("sync").done();
    let used: u64 = daemon.zfs("get -Hp -o value referenced tank/v").done().trim().parse().expect("a number");
    assert!((4 << 20..12 << 20).contains(&used), "zeroes take no space: {used}");
    // What is read after a restart, from a clone, and after the volume was written over and rolled back.
    daemon.zfs("clone tank/v@s tank/w").done();
    daemon.run(&["iscsi", "map", "tank/w", "-t", "iqn.2026-01.org.example:vms"]).done();
    daemon.stop();
    daemon.begin();
    let (first, second) = (remote(&daemon), remote(&daemon).replace("vms/0", "vms/1"));
    qemu(&["compare", "-f", "raw", "-F", "raw", &local, &first]);
    qemu(&["compare", "-f", "raw", "-F", "raw", &local, &second]);
    Ran::of(program("qemu-io", 60).args([
        "-f",
        "raw",
        "-c",
        "write -P 7 0 1M",
        "-c",
        "discard 8M 8M",
        &first,
    ]))
    .done();
    daemon.zfs("rollback tank/v@s").done();
    qemu(&["compare", "-f", "raw", "-F", "raw", &local, &first]);
    daemon.zfs("set volsize=96M tank/v").done();
    assert!(qemu(&["info", "-f", "raw", &first]).contains("96 MiB"));
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
