//! kill -9 in the middle of a copy: what a server answered as stable is there after the restart,
//! and the client goes on.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use stdx::prng::Prng;

use crate::daemon::{Daemon, Scratch, say};
use crate::libnfs::Client;
use crate::nfs3;
use crate::tree::sha256;
use crate::zdb::{log_records, stop_and_check};

const ROUNDS: u64 = 4;
const CLIENTS: u64 = 4;
/// Bytes between two COMMITs of the large file.
const STEP: usize = 256 << 10;
/// Bytes of a write that is made durable by itself.
const PIECE: usize = 6000;

fn content(seed: u64, len: usize) -> Vec<u8> {
    let mut data = vec![0; len];
    Prng::new(seed).fill(&mut data);
    data
}

/// What clients were promised: sha256 by name, and how much of each large file.
#[derive(Default)]
struct Promised {
    files: BTreeMap<String, [u64; 4]>,
    large: BTreeMap<u64, u64>,
}

/// Copies until the server is gone: small files, each committed as it is closed, and a large one,
/// committed in steps.
fn copy(client: &Client, number: u64, round: u64, promised: &Mutex<Promised>) -> std::io::Result<()> {
    let name = format!("large-{number}");
    let start = promised.lock().expect("unpoisoned").large.get(&number).copied().unwrap_or(0);
    let file = if start == 0 { client.create(&name, 0o644)? } else { client.open(&name, libc::O_RDWR)? };
    for step in start / STEP as u64.. {
        let offset = step * STEP as u64;
        file.write(offset, &content(number << 32 | step, STEP))?;
        file.sync()?;
        promised.lock().expect("unpoisoned").large.insert(number, offset + STEP as u64);
        let name = format!("small-{number}-{round}-{step}");
        let data = content(step, 1 + (step as usize * 7919) % 70_000);
        client.write_file(&name, 0o600, &data)?;
        promised.lock().expect("unpoisoned").files.insert(name, sha256(&data));
    }
    Ok(())
}

fn assert_kept(client: &Client, promised: &Promised) {
    for (name, wanted) in &promised.files {
        let data = client.read_file(name).unwrap_or_else(|error| panic!("{name} was committed: {error}"));
        assert_eq!(sha256(&data), *wanted, "{name} was committed");
    }
    for (number, &len) in &promised.large {
        let file = client.open(&format!("large-{number}"), libc::O_RDONLY).expect("it was committed");
        for step in 0..len / STEP as u64 {
            let found = file.read(step * STEP as u64, STEP).expect("it was committed");
            assert!(found == content(number << 32 | step, STEP), "large-{number}, step {step}");
        }
    }
}

#[test]
fn what_was_committed_survives_kill_9_in_the_middle_of_a_copy() {
    let scratch = Scratch::new("crash");
    let mut daemon = Daemon::start(&scratch);
    // Commits are quick: the clients must not fill the pool before the server is killed.
    let (a, b, mnt) = (scratch.image("a", 8192), scratch.image("b", 8192), scratch.text("mnt"));
    daemon.zpool(&format!("create -m {mnt} tank mirror {a} {b}")).done();
    daemon.zfs("create -o sharenfs=rw,no_root_squash,insecure tank/share").done();
    let export = format!("{mnt}/share");
    let promised = Mutex::new(Promised::default());
    let mut verifiers = Vec::new();
    for round in 0..ROUNDS {
        let killed = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for number in 0..CLIENTS {
                let client = Client::mount(&daemon, &export).expect("mounted");
                let (promised, killed) = (&promised, &killed);
                scope.spawn(move || {
                    let error =
                        copy(&client, number, round, promised).expect_err("it copies until the server goes");
                    assert!(killed.load(Ordering::SeqCst), "client {number} was refused: {error}");
                });
            }
            std::thread::sleep(Duration::from_millis(1500 + 777 * round));
            verifiers.push(nfs3::File::open(&daemon, &export, "large-0").commit());
            killed.store(true, Ordering::SeqCst);
            daemon.kill();
        });
        daemon.begin();
        let client = Client::mount(&daemon, &export).expect("mounted again");
        assert_kept(&client, &promised.lock().expect("unpoisoned"));
    }
    verifiers.push(nfs3::File::open(&daemon, &export, "large-0").commit());
    let mut different = verifiers.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), verifiers.len(), "a restart changes the verifier: {verifiers:?}");
    let promised = promised.into_inner().expect("unpoisoned");
    let steps: u64 = promised.large.values().map(|len| len / STEP as u64).sum();
    say(&format!("{ROUNDS} kills, {} files and {steps} commits kept", promised.files.len()));
    assert!(promised.files.len() > 20, "too little was copied to say much");
    // Deleting works on what the crashes left, too.
    let client = Client::mount(&daemon, &export).expect("mounted");
    promised.files.keys().step_by(3).for_each(|name| client.unlink(name).expect("unlinked"));
    drop(client);
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
}

/// Writes pieces of a file, each of which `write` makes durable, until the server is gone; counts
/// them.
fn write_on<E>(seed: u64, kept: &AtomicU64, mut write: impl FnMut(u64, &[u8]) -> Result<(), E>) {
    let pieces = kept.load(Ordering::SeqCst)..;
    let answered = |piece: &u64| write(piece * PIECE as u64, &content(seed << 32 | piece, PIECE)).is_ok();
    pieces.take_while(answered).for_each(|piece| kept.store(piece + 1, Ordering::SeqCst));
}

#[test]
fn openzfs_sees_the_log_that_kill_9_left_and_every_piece_in_it_comes_back() {
    let scratch = Scratch::new("crash-log");
    let mut daemon = Daemon::start(&scratch);
    let (a, b, mnt) = (scratch.image("a", 1024), scratch.image("b", 512), scratch.text("mnt"));
    daemon.zpool(&format!("create -m {mnt} tank {a}")).done();
    daemon.zfs("create -o sharenfs=rw,no_root_squash,insecure tank/share").done();
    let export = format!("{mnt}/share");
    nfs3::File::create(&daemon, &export, "stable", 0o644);
    Client::mount(&daemon, &export).and_then(|client| client.write_file("synced", 0o644, b"")).expect("made");
    let kept = [AtomicU64::new(0), AtomicU64::new(0)];
    let records = |kind: &str, folder: &Scratch| log_records(&folder.path("disks"), "tank/share", kind);
    for device in ["main disk", "log device"] {
        std::thread::scope(|scope| {
            let mut stable = nfs3::File::open(&daemon, &export, "stable");
            let client = Client::mount(&daemon, &export).expect("mounted");
            let [by_write, by_fsync] = &kept;
            scope.spawn(move || write_on(1, by_write, |at, data| stable.write_stable(at, data)));
            scope.spawn(move || {
                let synced = client.open("synced", libc::O_RDWR).expect("it is there");
                write_on(2, by_fsync, |at, data| synced.write(at, data).and_then(|()| synced.sync()));
            });
            std::thread::sleep(Duration::from_millis(1700));
            daemon.kill();
        });
        let writes = records("TX_WRITE", &scratch);
        assert!(writes > 0, "on the {device} zdb finds no write in the log");
        say(&format!("{writes} writes in the log on the {device}, {kept:?} pieces answered"));
        daemon.begin();
        let client = Client::mount(&daemon, &export).expect("mounted again");
        for (seed, (name, kept)) in (1..).zip(["stable", "synced"].iter().zip(&kept)) {
            let kept = kept.load(Ordering::SeqCst);
            assert!(kept > 0, "{name} was written");
            let file = client.open(name, libc::O_RDONLY).expect("it is there");
            for piece in 0..kept {
                let found = file.read(piece * PIECE as u64, PIECE).expect("it can be read");
                assert!(found == content(seed << 32 | piece, PIECE), "{name}, piece {piece} of {kept}");
            }
        }
        drop(client);
        if device == "main disk" {
            daemon.zpool(&format!("add tank log {b}")).done();
        }
    }
    stop_and_check(&mut daemon, &scratch.path("disks"), "tank");
    assert_eq!(records("TX_WRITE", &scratch), 0, "an exported pool has no log");
}
