//! Clients that others wrote: libnfs' tools and qemu-img and showmount, installed by `make test`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use stdx::prng::Prng;
use sunrpc::testing::{own_network, serve_portmapper};

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

/// A server in a network of this test's own, with a portmapper there: for clients that insist on
/// asking port 111, where this machine may have a portmapper already. `None` where this user may
/// have no network.
fn with_portmapper() -> Option<Setup> {
    match own_network() {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            eprintln!("a network of its own is not for this user to have: not tested");
            return None;
        }
        Err(error) => panic!("a network of its own: {error}"),
    }
    let setup = Setup::new("rw,no_root_squash");
    serve_portmapper("127.0.0.1", setup.server.addr().port()).expect("port 111 is free");
    Some(setup)
}

#[test]
fn qemu_converts_and_compares() {
    let Some(setup) = with_portmapper() else { return };
    let scratch = Scratch::new("qemu");
    let (local, bytes) = scratch.file("image", 6 << 20);
    let remote = format!("nfs://127.0.0.1{PATH}/image");
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
    let Some(_setup) = with_portmapper() else { return };
    let listing = String::from_utf8_lossy(&run("showmount", &["-e", "127.0.0.1"]).stdout).into_owned();
    assert!(listing.lines().any(|line| line == format!("{PATH} (everyone)")), "{listing}");
}
