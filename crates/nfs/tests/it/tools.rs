//! Clients that others wrote: libnfs' tools and qemu-img and showmount, installed by `make test`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use nfs::{Server, ServerConfig};
use stdx::prng::Prng;
use sunrpc::testing::serve_portmapper;

use crate::setup::{PATH, Setup};

/// A folder of this test's own, gone at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("cistern-nfs-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a scratch folder");
        Scratch(path)
    }

    fn file(&self, name: &str, len: usize) -> (String, Vec<u8>) {
        let mut bytes = vec![0; len];
        Prng::new(len as u64).fill(&mut bytes);
        let path = self.0.join(name);
        std::fs::write(&path, &bytes).expect("written");
        (text(&path), bytes)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn text(path: &Path) -> String {
    path.to_str().expect("temporary paths are text").to_owned()
}

fn run(program: &str, args: &[&str]) -> Output {
    let output = Command::new("timeout")
        .arg("60")
        .arg(program)
        .args(args)
        .output()
        .unwrap_or_else(|error| panic!("{program} is needed for this test: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {stderr}");
    output
}

fn url(setup: &Setup, name: &str) -> String {
    let port = setup.server.addr().port();
    format!("nfs://127.0.0.1{PATH}/{name}?nfsport={port}&mountport={port}")
}

#[test]
fn libnfs_copies_in_lists_and_copies_out() {
    let setup = Setup::new("rw,no_root_squash");
    let scratch = Scratch::new("libnfs");
    for (name, len) in [("empty", 0), ("small", 1), ("odd", 100_003), ("large", 5 << 20)] {
        let (local, bytes) = scratch.file(name, len);
        run("nfs-cp", &[&local, &url(&setup, name)]);
        let back = scratch.0.join("back");
        drop(std::fs::remove_file(&back));
        run("nfs-cp", &[&url(&setup, name), &text(&back)]);
        assert!(std::fs::read(&back).expect("copied") == bytes, "{name} came back changed");
        assert!(run("nfs-cat", &[&url(&setup, name)]).stdout == bytes, "nfs-cat {name}");
    }
    let listing = String::from_utf8_lossy(&run("nfs-ls", &[&url(&setup, "")]).stdout).into_owned();
    for (name, len) in [("empty", 0), ("small", 1), ("odd", 100_003), ("large", 5 << 20)] {
        let line = listing.lines().find(|line| line.ends_with(&format!(" {name}")));
        assert!(line.is_some_and(|line| line.contains(&format!(" {len} "))), "{name} in {listing}");
    }
}

/// A server on a loopback address of its own, with a portmapper there: for clients that insist on asking port 111.
/// `None` where this user may not listen there.
fn with_portmapper(number: u8) -> Option<(Setup, String)> {
    let process = std::process::id();
    let host = format!("127.{}.{}.{number}", 64 + (process >> 8) % 64, process % 256);
    let mut setup = Setup::new("rw,no_root_squash");
    let addr = format!("{host}:0").parse().expect("an address");
    setup.server = Server::start(ServerConfig::new(addr), setup.engine.clone()).expect("a free port");
    match serve_portmapper(&host, setup.server.addr().port()) {
        Ok(()) => Some((setup, host)),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            eprintln!("port 111 of {host} is not ours to take: not tested");
            None
        }
        Err(error) => panic!("{host}:111: {error}"),
    }
}

#[test]
fn qemu_converts_and_compares() {
    let Some((setup, host)) = with_portmapper(1) else { return };
    let scratch = Scratch::new("qemu");
    let (local, bytes) = scratch.file("image", 6 << 20);
    let remote = format!("nfs://{host}{PATH}/image");
    run("qemu-img", &["convert", "-f", "raw", "-O", "raw", &local, &remote]);
    run("qemu-img", &["compare", "-f", "raw", "-F", "raw", &local, &remote]);
    let mut nfs = setup.client(0, 0);
    let root = nfs.root.clone();
    let (file, attr) = nfs.lookup(&root, b"image").expect("qemu made it");
    assert_eq!(attr.size, bytes.len() as u64);
    assert!(nfs.read(&file, 1 << 20, 1 << 20).expect("read").0 == bytes[1 << 20..2 << 20]);
}

#[test]
fn showmount_lists_exports() {
    let Some((_setup, host)) = with_portmapper(2) else { return };
    let listing = String::from_utf8_lossy(&run("showmount", &["-e", &host]).stdout).into_owned();
    assert!(listing.lines().any(|line| line == format!("{PATH} (everyone)")), "{listing}");
}
