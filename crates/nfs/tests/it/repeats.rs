//! Calls that come twice, many at a time, and what the server counts.

use std::collections::HashSet;
use std::net::Ipv4Addr;

use nfs::procedure as p;
use sunrpc::msg::{Reply, parse_reply};
use sunrpc::xdr::Encoder;

use crate::calls::place;
use crate::setup::Setup;

#[test]
fn a_repeated_remove_succeeds_again_over_a_new_connection() {
    let setup = Setup::new("rw,no_root_squash");
    let mut nfs = setup.client(0, 0);
    let root = nfs.root.clone();
    nfs.create(&root, b"f").expect("created");
    nfs.client.set_next_xid(4711);
    assert_eq!(nfs.remove(p::REMOVE, &root, b"f"), 0);
    let mut again = setup.client(0, 0);
    again.client.set_next_xid(4711);
    assert_eq!(again.remove(p::REMOVE, &root, b"f"), 0);
    assert_eq!(again.remove(p::REMOVE, &root, b"f"), 2);
    let stats = setup.server.stats();
    let (client, counts) = &stats.clients[0];
    assert_eq!((stats.clients.len(), *client), (1, Ipv4Addr::LOCALHOST.into()));
    assert_eq!((counts.replays, counts.calls[p::REMOVE as usize]), (1, 3));
}

#[test]
fn only_the_same_call_of_the_same_user_is_a_repeated_one() {
    let setup = Setup::new("rw,no_root_squash");
    let mut nfs = setup.client(0, 0);
    let root = nfs.root.clone();
    let (file, _) = nfs.create(&root, b"f").expect("created");
    let mut data = vec![7; 64 << 10];
    nfs.client.set_next_xid(4711);
    nfs.write(&file, 0, &data, 2).expect("written");
    let last = data.len() - 1;
    data[last] = 8;
    nfs.client.set_next_xid(4711);
    nfs.write(&file, 0, &data, 2).expect("written");
    assert!(nfs.read(&file, 0, 64 << 10).expect("read").0 == data, "the second write was not done");
    // What one user is refused is no answer to another.
    let mut set = Encoder::new();
    set.opaque(&file);
    crate::calls::sattr(&mut set, Some(0o600), None);
    set.bool(false);
    let mut user = setup.client(1000, 1000);
    user.client.set_next_xid(4712);
    assert_eq!(user.call(p::SETATTR, &set).0, 1);
    nfs.client.set_next_xid(4712);
    assert_eq!(nfs.call(p::SETATTR, &set).0, 0);
    let stats = setup.server.stats();
    assert_eq!((stats.clients.len(), stats.clients[0].1.replays), (1, 0));
}

#[test]
fn many_calls_in_flight_all_get_their_answers() {
    let setup = Setup::new("rw,no_root_squash");
    let root = setup.client(0, 0).root;
    let fails = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4).map(|id| (id, setup.client(0, 0), root.clone())).collect();
        let work = |(id, mut nfs, root): (usize, crate::calls::Nfs, Vec<u8>)| {
            let (file, _) = nfs.create(&root, format!("file{id}").as_bytes()).expect("created");
            let data = vec![id as u8; 1 << 16];
            for round in 0..20_u64 {
                let mut asked = HashSet::new();
                for i in 0..48_u64 {
                    let (procedure, args, data) = request(&file, &root, (round * 48 + i) << 16, &data);
                    asked.insert(nfs.client.send(procedure, args.bytes(), data).expect("sent"));
                }
                while !asked.is_empty() {
                    let record = nfs.client.receive().expect("a reply");
                    let (xid, reply) = parse_reply(&record).expect("a proper one");
                    assert!(asked.remove(&xid), "an answer to nothing");
                    assert!(matches!(reply, Reply::Success(results) if results.starts_with(&[0; 4])));
                }
            }
            let (read, _) = nfs.read(&file, 0, 1 << 16).expect("read");
            usize::from(read != data)
        };
        let threads: Vec<_> = clients.into_iter().map(|client| scope.spawn(move || work(client))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum::<usize>()
    });
    assert_eq!(fails, 0);
    let stats = setup.server.stats();
    let (_, counts) = &stats.clients[0];
    assert_eq!(counts.bytes_written, (4 * 20 * 16) << 16);
    assert_eq!(counts.calls[p::GETATTR as usize], 4 * 20 * 16);
    let times = stats.times.map(|times| times.buckets.iter().sum::<u64>());
    assert_eq!(times[1], counts.calls[p::WRITE as usize]);
    assert_eq!(times.iter().sum::<u64>(), counts.calls.iter().sum::<u64>());
}

/// Writes, reads and questions in turn.
fn request<'a>(file: &[u8], root: &[u8], offset: u64, data: &'a [u8]) -> (u32, Encoder, &'a [u8]) {
    let mut args = Encoder::new();
    match (offset >> 16) % 3 {
        0 => {
            args.opaque(file);
            args.u64(offset);
            args.u32(data.len() as u32);
            args.u32(u32::from(offset.is_multiple_of(7)) * 2);
            args.u32(data.len() as u32);
            (p::WRITE, args, data)
        }
        1 => {
            args.opaque(file);
            args.u64(0);
            args.u32(1 << 20);
            (p::READ, args, &[])
        }
        _ => {
            args.opaque(root);
            (p::GETATTR, args, &[])
        }
    }
}

#[test]
fn stopping_answers_what_was_asked() {
    let setup = Setup::new("rw,no_root_squash");
    let mut nfs = setup.client(0, 0);
    let root = nfs.root.clone();
    for i in 0..100_u32 {
        let mut args = place(&root, format!("file{i}").as_bytes());
        args.u32(1);
        crate::calls::sattr(&mut args, None, None);
        nfs.client.send(p::CREATE, args.bytes(), &[]).expect("sent");
    }
    nfs.client.receive().expect("the first reply");
    setup.server.stop();
    let answered = 1 + std::iter::from_fn(|| nfs.client.receive().ok()).count();
    let fresh = Setup { server: crate::setup::start(setup.engine.clone()), ..setup };
    let there = fresh.client(0, 0).list(&root, false, 1 << 16).len() - 2;
    assert_eq!(answered, there);
}
