//! Tens of thousands of real files, written by NFS and by the local mount, read by the other,
//! before and after restarts.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::daemon::{Daemon, Ran, Scratch, program, say, text, timed};
use crate::libnfs::Client;
use crate::tree::{self, Node, Tree, file_node, in_parallel};
use crate::zdb::stop_and_check;

/// Files to copy at least.
const FILES: usize = 30_000;
/// Clients at a time.
const CLIENTS: usize = 16;

/// Copies a tree in through NFS: directories first, then everything else by many clients.
fn copy_in(daemon: &Daemon, export: &str, from: &Path, tree: &Tree) {
    let client = Client::mount(daemon, export).expect("mounted");
    for (path, node) in tree {
        if let Node::Dir { mode } = node {
            client
                .mkdir(&text(path), *mode)
                .unwrap_or_else(|error| panic!("mkdir {}: {error}", path.display()));
        }
    }
    let others: Vec<_> = tree.iter().filter(|(_, node)| !matches!(node, Node::Dir { .. })).collect();
    let connect = |_| Client::mount(daemon, export).expect("mounted");
    in_parallel(CLIENTS, &others, connect, |client, (path, node)| {
        let name = text(path);
        let done = match node {
            Node::File { mode, .. } => {
                let data = std::fs::read(from.join(path)).expect("the source stays");
                client.write_file(&name, *mode, &data)
            }
            Node::Link { target } => client.symlink(std::str::from_utf8(target).expect("text"), &name),
            Node::Dir { .. } | Node::Special { .. } => unreachable!("filtered, and never gathered"),
        };
        done.unwrap_or_else(|error| panic!("{name}: {error}"));
    });
}

/// Reads a whole share through NFS.
pub fn read_all(daemon: &Daemon, export: &str) -> Tree {
    let client = Client::mount(daemon, export).expect("mounted");
    let (mut paths, mut tree, mut folders) = (Vec::new(), Tree::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        for entry in client.list(&text(&Path::new("/").join(&folder))).expect("listed") {
            let path = folder.join(std::str::from_utf8(&entry.name).expect("text"));
            if entry.kind == 2 {
                let mode = client.stat(&text(&path)).expect("it was listed").mode as u32 & 0o7777;
                tree.insert(path.clone(), Node::Dir { mode });
                folders.push(path);
            } else {
                paths.push((path, entry.kind));
            }
        }
    }
    let tree = Mutex::new(tree);
    let connect = |_| Client::mount(daemon, export).expect("mounted");
    in_parallel(CLIENTS, &paths, connect, |client, (path, kind)| {
        let name = text(path);
        let node = if *kind == 5 {
            Node::Link { target: client.readlink(&name).expect("a link") }
        } else {
            let data = client.read_file(&name).unwrap_or_else(|error| panic!("{name}: {error}"));
            file_node(client.stat(&name).expect("it is there").mode as u32, &data)
        };
        tree.lock().expect("no thread panicked").insert(path.clone(), node);
    });
    tree.into_inner().expect("no thread panicked")
}

#[test]
fn thirty_thousand_files_by_nfs_and_by_mount_are_what_they_were() {
    let scratch = Scratch::new("copies");
    let source = scratch.folder("source");
    let files = timed("gathering files", || tree::gather(&source, FILES, 32 << 10, 150 << 20));
    assert!(files >= FILES, "this machine has only {files} files to copy");
    let wanted = tree::read(&source);
    let bytes: u64 =
        wanted.values().map(|node| if let Node::File { size, .. } = node { *size } else { 0 }).sum();
    say(&format!("{files} files, {} names, {} MiB", wanted.len(), bytes >> 20));

    let mut daemon = Daemon::start(&scratch);
    let (a, b) = (scratch.image("a", 2048), scratch.image("b", 2048));
    let mnt = scratch.text("mnt");
    daemon.zpool(&format!("create -O compression=lz4 -m {mnt} tank {a} {b}")).done();
    daemon.zfs("create -o sharenfs=rw,no_root_squash,insecure tank/nfs").done();
    daemon.zfs("create -o sharenfs=rw,no_root_squash,insecure tank/fuse").done();
    let (by_nfs, by_fuse) = (format!("{mnt}/nfs"), format!("{mnt}/fuse"));

    timed("in through NFS", || copy_in(&daemon, &by_nfs, &source, &wanted));
    daemon.zfs("mount tank/fuse").done();
    timed("in through FUSE", || {
        Ran::of(program("cp", 300).arg("-a").arg(source.join(".")).arg(&by_fuse)).done();
    });
    daemon.stop();
    daemon.begin();
    timed("what NFS wrote, read by NFS", || {
        tree::assert_equal("by NFS, by NFS", &read_all(&daemon, &by_nfs), &wanted);
    });
    timed("what FUSE wrote, read by NFS", || {
        tree::assert_equal("by FUSE, by NFS", &read_all(&daemon, &by_fuse), &wanted);
    });
    daemon.zfs("mount tank/nfs").done();
    timed("what NFS wrote, read by FUSE", || {
        tree::assert_equal("by NFS, by FUSE", &tree::read(Path::new(&by_nfs)), &wanted);
    });
    timed("what FUSE wrote, read by FUSE", || {
        tree::assert_equal("by FUSE, by FUSE", &tree::read(Path::new(&by_fuse)), &wanted);
    });
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}
