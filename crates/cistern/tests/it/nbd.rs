//! Volumes as network block devices, by clients that others wrote: libnbd's tools and qemu.

use std::fs::File;
use std::os::unix::fs::FileExt;

use stdx::prng::Prng;

use crate::daemon::{Daemon, Ran, Scratch, program};
use crate::zdb::stop_and_check;

#[test]
fn qemu_and_libnbd_keep_images_on_attached_volumes() {
    let scratch = Scratch::new("nbd");
    let mut daemon = Daemon::start(&scratch);
    let a = scratch.image("a", 512);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zfs("create -s -V 48M tank/v").done();
    daemon.zfs("create tank/fs").done();
    let url = daemon.run(&["volume", "attach", "tank/v"]).done().trim().to_owned();
    assert!(url.starts_with("nbd+unix:///tank/v?socket=/"), "{url}");
    let refused = daemon.run(&["volume", "attach", "tank/fs"]);
    assert_eq!((refused.status, refused.err.trim()), (1, "cannot attach 'tank/fs': not a volume"));
    let refused = daemon.run(&["volume", "attach", "tank/none"]);
    assert_eq!(refused.err.trim(), "cannot attach 'tank/none': dataset does not exist");

    let local = scratch.text("local.raw");
    let file = File::create(&local).expect("an image");
    file.set_len(48 << 20).expect("sparse");
    let mut data = vec![0; 3 << 20];
    Prng::new(48).fill(&mut data);
    file.write_all_at(&data, 8 << 20).expect("written");
    let tool = |name: &str, words: &[&str]| Ran::of(program(name, 120).args(words)).done();
    tool("nbdcopy", &["--flush", &local, &url]);
    tool("qemu-img", &["compare", "-f", "raw", "-F", "raw", &local, &url]);
    let listed = tool("nbdinfo", &["--list", &url.replace("/tank/v?", "/?")]);
    assert!(listed.contains("export=\"tank/v\"") && listed.contains("export-size: 50331648"), "{listed}");
    // What it says of holes is what was never written.
    let map = tool("nbdinfo", &["--map", &url]);
    let lines: Vec<Vec<&str>> = map.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0][..3], ["0", "8388608", "3"], "{map}");
    assert_eq!(lines[1][..3], ["8388608", "3145728", "0"], "{map}");
    tool(
        "qemu-io",
        &["-f", "raw", "-c", "write -f -P 9 0 64k", "-c", "discard 8M 3M", "-c", "write -z 1M 64k", &url],
    );
    tool("qemu-io", &["-f", "raw", "-c", "read -P 9 0 64k", "-c", "read -P 0 8M 3M", &url]);
    daemon.zpool("sync").done();
    let used: u64 = daemon.zfs("get -Hp -o value referenced tank/v").done().trim().parse().expect("a number");
    assert!(used < 1 << 20, "what is discarded comes back: {used}");
    // A crash after a write with FUA: it is there.
    tool("qemu-io", &["-f", "raw", "-c", "write -f -P 5 20M 16k", &url]);
    daemon.kill();
    daemon.begin();
    tool("qemu-io", &["-f", "raw", "-c", "read -P 5 20M 16k", &url]);
    tool("nbdcopy", &[&url, &scratch.text("back.raw")]);
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
