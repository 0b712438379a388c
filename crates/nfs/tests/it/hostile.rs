//! Bytes that no client would send. Nothing may panic, grow, or disturb anybody else.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use nfs::{Answer, PROCEDURES, Service, procedure as p};
use stdx::prng::Prng;
use sunrpc::msg::{AuthSys, Call, Credential, put_call};
use sunrpc::xdr::Encoder;

use crate::calls::{place, sattr};
use crate::setup::Setup;

/// A proper call of each procedure, on the root or the file.
fn corpus(root: &[u8], file: &[u8]) -> Vec<Vec<u8>> {
    let mut calls = Vec::new();
    let mut add = |program: u32, procedure: u32, args: &Encoder| {
        let credential = Credential::Sys(AuthSys::new(5, 6, &[7, 8]));
        let mut out = Encoder::new();
        put_call(&mut out, &Call { xid: 1, program, version: 3, procedure, credential, args: args.bytes() });
        calls.push(out.into_bytes());
    };
    for procedure in 0..PROCEDURES as u32 {
        let mut args = Encoder::new();
        match procedure {
            p::LOOKUP | p::REMOVE | p::RMDIR => args = place(root, b"name"),
            p::CREATE => {
                args = place(root, b"name");
                args.u32(1);
                sattr(&mut args, Some(0o777), Some(1));
            }
            p::MKDIR | p::SYMLINK => {
                args = place(root, b"name");
                sattr(&mut args, Some(0o777), None);
                args.opaque(b"target");
            }
            p::MKNOD => {
                args = place(root, b"name");
                args.u32(4);
                sattr(&mut args, None, None);
                args.u64(1);
            }
            p::RENAME => {
                args = place(root, b"name");
                args.raw(place(root, b"other").bytes());
            }
            p::LINK => {
                args.opaque(file);
                args.raw(place(root, b"other").bytes());
            }
            p::SETATTR => {
                args.opaque(file);
                sattr(&mut args, Some(0o777), Some(1));
                args.bool(false);
            }
            p::WRITE => {
                args.opaque(file);
                args.u64(1);
                args.u64(9 << 32);
                args.opaque(b"some data");
            }
            p::READ | p::COMMIT | p::READDIR | p::READDIRPLUS => {
                args.opaque(if procedure == p::READ || procedure == p::COMMIT { file } else { root });
                (0..5).for_each(|_| args.u32(0));
                args.u32(4096);
                args.u32(4096);
            }
            _ => {
                args.opaque(root);
                args.u32(0x3f);
            }
        }
        add(100_003, procedure, &args);
    }
    let mut path = Encoder::new();
    path.opaque(b"/tank/share");
    (0..6).for_each(|procedure| add(100_005, procedure, &path));
    calls
}

fn mutate(rng: &mut Prng, bytes: &mut Vec<u8>) {
    for _ in 0..rng.range(1, 4) {
        let at = rng.below(bytes.len() as u64 + 1) as usize;
        match rng.below(6) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, rng.next_u64() as u8),
            2 => {
                let word =
                    rng.pick(&[0, 1, u32::MAX, 0x7fff_ffff, 1 << 20, 255, 256, 65]).copied().unwrap_or(0);
                if let Some(target) = bytes.get_mut(at & !3..).and_then(|tail| tail.first_chunk_mut()) {
                    *target = word.to_be_bytes();
                }
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << rng.below(8);
                }
            }
        }
    }
}

#[test]
fn two_hundred_thousand_bent_calls_each_get_an_answer_or_none() {
    let setup = Setup::new("rw,no_root_squash");
    let mut nfs = setup.client(0, 0);
    let root = nfs.root.clone();
    let (file, _) = nfs.create(&root, b"file").expect("created");
    let corpus = corpus(&root, &file);
    let service = Service::new(setup.engine.clone(), false);
    let session = service.session("127.0.0.1:1000".parse().expect("an address"));
    for call in &corpus {
        assert!(matches!(service.answer(&session, call), Answer::Reply(_)));
    }
    let mut rng = Prng::new(0xbad);
    let (mut replies, mut hang_ups, mut longest) = (0, 0, 0);
    for i in 0..200_000_u32 {
        let mut bytes = rng.pick(&corpus).expect("not empty").clone();
        bytes[..4].copy_from_slice(&i.to_be_bytes());
        mutate(&mut rng, &mut bytes);
        match service.answer(&session, &bytes) {
            Answer::Reply(reply) => {
                replies += 1;
                longest = longest.max(reply.len());
            }
            Answer::HangUp => hang_ups += 1,
            Answer::Nothing => {}
        }
    }
    assert!(replies > 100_000 && hang_ups > 1000, "{replies} replies, {hang_ups} hang-ups");
    assert!(longest < 2 << 20, "a reply of {longest} bytes");
    for len in 0..3000 {
        let mut noise = vec![0; len];
        rng.fill(&mut noise);
        service.answer(&session, &noise);
    }
}

#[test]
fn broken_streams_end_alone() {
    let setup = Setup::new("rw,no_root_squash");
    let mut bystander = setup.client(0, 0);
    let root = bystander.root.clone();
    let mut rng = Prng::new(3);
    for round in 0..60_u32 {
        let mut stream = TcpStream::connect(setup.server.addr()).expect("connected");
        stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
        let mut bytes = match round % 4 {
            0 => vec![0xff; 4],
            1 => vec![0x80, 0x20, 0, 0],
            2 => vec![0x80, 0, 0, 0],
            _ => vec![0x80, 0, 0, 64],
        };
        let mut noise = vec![0; rng.range(64, 5000) as usize];
        rng.fill(&mut noise);
        // Whatever the noise is, as a call it has the message type of none.
        noise[4] = 0x55;
        bytes.extend(noise);
        // The server may have hung up before it took everything.
        let sent = stream.write_all(&bytes);
        let mut rest = Vec::new();
        let read = stream.read_to_end(&mut rest);
        let timed_out = read.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
        assert!(!timed_out, "round {round}: the server keeps a broken stream ({sent:?})");
        assert!(rest.is_empty());
        assert!(bystander.getattr(&root).is_ok());
    }
    // Half a record, and silence: the connection is the only thing that waits.
    let mut half = TcpStream::connect(setup.server.addr()).expect("connected");
    half.write_all(&[0x80, 0x10, 0, 0, 1, 2, 3]).expect("sent");
    assert!(bystander.getattr(&root).is_ok());
    setup.server.stop();
}

#[test]
fn hundreds_of_silent_half_records_keep_nobody_waiting() {
    let setup = Setup::new("rw,no_root_squash");
    let mut bystander = setup.client(0, 0);
    let root = bystander.root.clone();
    let halves: Vec<TcpStream> = (0..400_u32)
        .map(|round| {
            let mut half = TcpStream::connect(setup.server.addr()).expect("connected");
            // Nothing, half a mark, half a small record; 48 of them a part of a large one, which
            // holds a buffer.
            let bytes: &[u8] = match round % 8 {
                0 => &[],
                1 => &[0x80, 0],
                2 if round < 384 => &[0x80, 0x10, 0, 0, 1, 2, 3],
                _ => &[0x80, 0, 1, 0, 9],
            };
            half.write_all(bytes).expect("sent");
            half
        })
        .collect();
    let started = std::time::Instant::now();
    let (file, _) = bystander.create(&root, b"file").expect("created");
    for round in 0..200 {
        assert!(bystander.getattr(&file).is_ok(), "round {round}");
    }
    let mut late = setup.client(0, 0);
    assert!(late.getattr(&root).is_ok(), "a newcomer is served");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    drop(halves);
    setup.server.stop();
}

#[test]
fn directories_are_paged_whatever_room_a_client_claims() {
    let setup = Setup::new("rw,no_root_squash");
    let mut nfs = setup.client(0, 0);
    let root = nfs.root.clone();
    for i in 0..3000 {
        nfs.create(&root, format!("{i:0>200}").as_bytes()).expect("created");
    }
    for procedure in [p::READDIR, p::READDIRPLUS] {
        let mut args = Encoder::new();
        args.opaque(&root);
        (0..4).for_each(|_| args.u32(0));
        args.u32(u32::MAX);
        args.u32(u32::MAX);
        let (status, page) = nfs.call(procedure, &args);
        assert_eq!(status, 0);
        assert!(page.len() <= (1 << 20) + 4096, "a page of {} bytes", page.len());
    }
}

#[test]
fn unknown_programs_versions_and_procedures_are_told_apart() {
    use sunrpc::client::CallError::{Denied, Failed};
    use sunrpc::msg::Accepted;
    let setup = Setup::new("on");
    let mut nfs = setup.client(0, 0);
    let mut ask = |program: u32, version: u32, procedure: u32| {
        nfs.client.set_program(program, version);
        match nfs.client.call(procedure, &[]) {
            Err(Failed(how)) => Some(how),
            Ok(_) => None,
            Err(Denied(why)) => panic!("denied: {why:?}"),
            Err(other) => panic!("{other}"),
        }
    };
    assert_eq!(ask(100_003, 3, 0), None);
    assert_eq!(ask(100_003, 3, 22), Some(Accepted::ProcUnavail));
    assert_eq!(ask(100_003, 3, 1), Some(Accepted::GarbageArgs));
    assert_eq!(ask(100_003, 4, 0), Some(Accepted::ProgMismatch(3, 3)));
    assert_eq!(ask(100_005, 4, 0), Some(Accepted::ProgMismatch(1, 3)));
    assert_eq!(ask(100_005, 1, 1), Some(Accepted::ProcUnavail));
    assert_eq!(ask(100_227, 3, 0), Some(Accepted::ProgUnavail));
    assert_eq!(setup.server.stats().clients[0].1.refused, 6);
}
