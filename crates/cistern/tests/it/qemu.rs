//! Disk images of virtual machines over `nfs://`, with qemu's own NFS driver.

use std::fs::File;
use std::io::Write;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::FileExt;
use std::path::Path;

use stdx::prng::Prng;
use sunrpc::msg::{Accepted, parse_call, put_accepted};
use sunrpc::record::{Pool, Reader, mark};
use sunrpc::xdr::Encoder;

use crate::daemon::{Daemon, Ran, Scratch, program, timed};
use crate::libnfs::Client;
use crate::zdb::stop_and_check;

/// A loopback address of this test's own: qemu cannot be told a port, it asks the portmapper on port 111.
const HOST: &str = "127.77.1.1";

/// Answers GETPORT of version 2 with one port for every program, until the process ends.
fn serve_portmapper(port: u32) {
    let listener = TcpListener::bind((HOST, 111)).expect("root may listen there");
    let datagrams = UdpSocket::bind((HOST, 111)).expect("where TCP may listen, so may UDP");
    std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| answer_stream(stream, port)));
    std::thread::spawn(move || {
        let mut bytes = [0; 1024];
        while let Ok((len, from)) = datagrams.recv_from(&mut bytes) {
            if let Some(answer) = answer(&bytes[..len], port) {
                drop(datagrams.send_to(answer.bytes(), from));
            }
        }
    });
}

fn answer(record: &[u8], port: u32) -> Option<Encoder> {
    let call = parse_call(record).ok()?;
    let mut out = Encoder::new();
    if call.version == 2 {
        put_accepted(&mut out, call.xid, Accepted::Success);
        if call.procedure != 0 {
            out.u32(port);
        }
    } else {
        put_accepted(&mut out, call.xid, Accepted::ProgMismatch(2, 2));
    }
    Some(out)
}

fn answer_stream(stream: TcpStream, port: u32) {
    let mut reader = Reader::new(Pool::new(4096, 1, 1));
    while let Ok(Some(record)) = reader.next(&mut &stream) {
        let Some(answer) = answer(&record, port) else { return };
        let bytes = [&mark(answer.len())[..], answer.bytes()].concat();
        if (&stream).write_all(&bytes).is_err() {
            return;
        }
    }
}

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
    let scratch = Scratch::new("qemu");
    let mut daemon = Daemon::start_with(&scratch, "state", HOST, &[]);
    serve_portmapper(daemon.port.into());
    let (a, mnt) = (scratch.image("a", 1024), scratch.text("mnt"));
    daemon.zpool(&format!("create -O compression=lz4 -m {mnt} tank {a}")).done();
    daemon.zfs("create -o sharenfs=rw,no_root_squash -o recordsize=64K tank/vm").done();
    let local = scratch.text("local.raw");
    make_image(Path::new(&local));
    let remote = |name: &str| format!("nfs://{HOST}{mnt}/vm/{name}");
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
