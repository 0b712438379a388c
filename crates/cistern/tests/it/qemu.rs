//! Disk images of virtual machines over `nfs://`, with qemu's own NFS driver.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use stdx::prng::Prng;
use sunrpc::testing::{own_network, serve_portmapper};

use crate::daemon::{Daemon, Ran, Scratch, program, timed};
use crate::libnfs::Client;
use crate::zdb::stop_and_check;

/// An image with data here and there: 96 MiB with 12 MiB in it.
fn make_image(path: &Path) {
    let file = File::create(path).expect("an image");
    file.set_len(96 << 20).expect("sparse");
    let mut random = Prng::new(96);
    for part in 0..12 {
        let mut data = vec![0; 1 << 20];
        random.fill(&mut data[..700_000]);
        file.write_all_at(&data, part * (8 << 20) + 12_288).expect("written");
    }
}

#[test]
fn qemu_keeps_images_on_a_share() {
    // qemu cannot be told a port, and asks 111, where this machine may have a portmapper.
    own_network().expect("root may have a network of its own");
    let scratch = Scratch::new("qemu");
    let mut daemon = Daemon::start(&scratch);
    let host = daemon.host.clone();
    serve_portmapper(&host, daemon.port).expect("port 111 is free");
    let (a, mnt) = (scratch.image("a", 1024), scratch.text("mnt"));
    daemon.zpool(&format!("create -O compression=lz4 -m {mnt} tank {a}")).done();
    daemon.zfs("create -o sharenfs=rw,no_root_squash,insecure -o recordsize=64K tank/vm").done();
    let local = scratch.text("local.raw");
    make_image(Path::new(&local));
    let remote = |name: &str| format!("nfs://{host}{mnt}/vm/{name}");
    let qemu = |words: &[&str]| Ran::of(program("qemu-img", 120).args(words)).done();
    timed("qemu-img convert and compare", || {
        for (format, name) in [("raw", "image.raw"), ("qcow2", "image.qcow2")] {
            qemu(&["convert", "-f", "raw", "-O", format, &local, &remote(name)]);
            qemu(&["compare", "-f", "raw", "-F", format, &local, &remote(name)]);
        }
        qemu(&["check", "-f", "qcow2", &remote("image.qcow2")]);
    });
    let client = Client::mount(&daemon, &format!("{mnt}/vm")).expect("mounted");
    daemon.zpool("sync").done();
    let used = client.stat("image.raw").expect("qemu made it").used;
    assert!((8 << 20..20 << 20).contains(&used), "zeros take no space: {used}");
    for size in ["128M", "64M"] {
        qemu(&["resize", "-f", "raw", "--shrink", &local, size]);
        qemu(&["resize", "-f", "raw", "--shrink", &remote("image.raw"), size]);
        qemu(&["compare", "-f", "raw", "-F", "raw", &local, &remote("image.raw")]);
    }
    daemon.stop();
    daemon.begin();
    qemu(&["compare", "-f", "raw", "-F", "raw", &local, &remote("image.raw")]);
    qemu(&["check", "-f", "qcow2", &remote("image.qcow2")]);
    drop(client);
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
