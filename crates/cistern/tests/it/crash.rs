//! kill -9 in the middle of a copy: what a server answered as stable is there after the restart, and the client goes on.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use stdx::prng::Prng;
use sunrpc::msg::{AuthSys, Credential};
use sunrpc::xdr::{Decoder, Encoder};

use crate::daemon::{Daemon, Scratch, say};
use crate::libnfs::Client;
use crate::tree::sha256;
use crate::zdb::stop_and_check;

const ROUNDS: u64 = 4;
const CLIENTS: u64 = 4;
/// Bytes between two COMMITs of the large file.
const STEP: usize = 256 << 10;

fn content(seed: u64, len: usize) -> Vec<u8> {
    let mut data = vec![0; len];
    Prng::new(seed).fill(&mut data);
    data
}

/// The verifier that the server answers to COMMIT of a file, by raw calls: libnfs does not show it.
fn verifier(daemon: &Daemon, export: &str, name: &str) -> [u8; 8] {
    let addr = format!("{}:{}", daemon.host, daemon.port);
    let credential = || Credential::Sys(AuthSys::new(0, 0, &[]));
    let handle = |reply: &[u8]| {
        let mut answer = Decoder::new(reply);
        assert_eq!(answer.u32(), Ok(0), "the call succeeds");
        answer.opaque(64).expect("a handle").to_vec()
    };
    let mut client = sunrpc::client::Client::connect(addr, 100_005, 3, credential()).expect("connected");
    let mut args = Encoder::new();
    args.opaque(export.as_bytes());
    let root = handle(&client.call(1, args.bytes()).expect("MNT"));
    client.set_program(100_003, 3);
    let mut args = Encoder::new();
    args.opaque(&root);
    args.opaque(name.as_bytes());
    let file = handle(&client.call(3, args.bytes()).expect("LOOKUP"));
    let mut args = Encoder::new();
    args.opaque(&file);
    args.u64(0);
    args.u32(0);
    let reply = client.call(21, args.bytes()).expect("COMMIT");
    assert_eq!(reply[..4], [0; 4], "COMMIT succeeds");
    *reply.last_chunk().expect("it ends with the verifier")
}

/// What clients were promised: sha256 by name, and how much of each large file.
#[derive(Default)]
struct Promised {
    files: BTreeMap<String, [u64; 4]>,
    large: BTreeMap<u64, u64>,
}

/// Copies until the server is gone: small files, each committed as it is closed, and a large one, committed in steps.
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
    daemon.zfs("create -o sharenfs=rw,no_root_squash tank/share").done();
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
            verifiers.push(verifier(&daemon, &export, "large-0"));
            killed.store(true, Ordering::SeqCst);
            daemon.kill();
        });
        daemon.begin();
        let client = Client::mount(&daemon, &export).expect("mounted again");
        assert_kept(&client, &promised.lock().expect("unpoisoned"));
    }
    verifiers.push(verifier(&daemon, &export, "large-0"));
    let mut different = verifiers.clone();
    different.sort();
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
