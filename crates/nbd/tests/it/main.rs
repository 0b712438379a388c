//! The server over its socket: what clients agree on, requests, and peers that break the rules.
//! Clients that others wrote are in the program's own tests.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use engine_api::{Error, Volume, VolumeId};
use model::MemVolume;
use nbd::{Exports, Server};
use stdx::prng::Prng;

const SIZE: usize = 1 << 20;
const BLOCK: usize = 8192;

struct One(Arc<MemVolume>);

impl Exports for One {
    fn names(&self) -> Vec<String> {
        vec!["tank/v".to_owned()]
    }

    fn open(&self, name: &str) -> engine_api::Result<Arc<dyn Volume>> {
        if name == "tank/v" { Ok(self.0.clone()) } else { Err(Error::NotFound) }
    }
}

struct Rig {
    server: Server,
    volume: Arc<MemVolume>,
}

fn rig() -> Rig {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("cistern-nbd-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let path: PathBuf = std::env::temp_dir().join(name);
    let volume = MemVolume::new(VolumeId { pool_guid: 1, dataset_guid: 2 }, SIZE, BLOCK);
    let listener = UnixListener::bind(&path).unwrap();
    let server = Server::start(
        listener,
        (&path, false),
        Arc::new(One(volume.clone())),
        Arc::default(),
        Arc::default(),
    )
    .unwrap();
    Rig { server, volume }
}

struct Peer(UnixStream);

impl Peer {
    /// Past the greeting.
    fn connect(rig: &Rig) -> Peer {
        let stream = UnixStream::connect(rig.server.path()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut peer = Peer(stream);
        assert_eq!(peer.take(18), *b"NBDMAGICIHAVEOPT\0\x03");
        peer.0.write_all(&3_u32.to_be_bytes()).unwrap();
        peer
    }

    /// Connected to the volume, with structured replies and `base:allocation` or plain.
    fn attached(rig: &Rig, structured: bool) -> Peer {
        let mut peer = Peer::connect(rig);
        if structured {
            peer.option(8, b"");
            assert_eq!(peer.option_reply().0, 1);
            let query = [&named("tank/v")[..], &1_u32.to_be_bytes(), &named("base:allocation")].concat();
            peer.option(10, &query);
            assert_eq!(peer.option_reply(), (4, b"\0\0\0\x01base:allocation".to_vec()));
            assert_eq!(peer.option_reply().0, 1);
        }
        peer.option(7, &[&named("tank/v")[..], &[0, 0]].concat());
        let (kind, export) = peer.option_reply();
        assert_eq!((kind, export.len()), (3, 12));
        assert_eq!(export[2..10], (SIZE as u64).to_be_bytes());
        while peer.option_reply().0 != 1 {}
        peer
    }

    fn take(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take(4).try_into().unwrap())
    }

    fn option(&mut self, kind: u32, data: &[u8]) {
        let head = [&b"IHAVEOPT"[..], &kind.to_be_bytes(), &(data.len() as u32).to_be_bytes()].concat();
        self.0.write_all(&[&head[..], data].concat()).unwrap();
    }

    fn option_reply(&mut self) -> (u32, Vec<u8>) {
        assert_eq!(self.take(8), 0x0003_e889_0455_65a9_u64.to_be_bytes());
        let _of = self.u32();
        let (kind, len) = (self.u32(), self.u32());
        (kind, self.take(len as usize))
    }

    fn request(&mut self, command: u16, flags: u16, offset: u64, len: u32, data: &[u8]) {
        let mut bytes = 0x2560_9513_u32.to_be_bytes().to_vec();
        bytes.extend(flags.to_be_bytes());
        bytes.extend(command.to_be_bytes());
        bytes.extend(7_u64.to_be_bytes());
        bytes.extend(offset.to_be_bytes());
        bytes.extend(len.to_be_bytes());
        bytes.extend(data);
        self.0.write_all(&bytes).unwrap();
    }

    /// The error of a simple reply.
    fn simple(&mut self) -> u32 {
        assert_eq!(self.u32(), 0x6744_6698);
        let error = self.u32();
        assert_eq!(self.take(8), 7_u64.to_be_bytes());
        error
    }

    /// Kind and content of the last chunk of a structured reply, which is the only one.
    fn chunk(&mut self) -> (u16, Vec<u8>) {
        assert_eq!(self.u32(), 0x668e_33ef);
        let head = self.take(4);
        assert_eq!(head[..2], [0, 1]);
        assert_eq!(self.take(8), 7_u64.to_be_bytes());
        let len = self.u32() as usize;
        (u16::from_be_bytes([head[2], head[3]]), self.take(len))
    }

    /// The server has hung up; what it said before is of no interest.
    fn hung_up(mut self) -> bool {
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest).is_ok()
    }
}

fn named(name: &str) -> Vec<u8> {
    [&(name.len() as u32).to_be_bytes(), name.as_bytes()].concat()
}

#[test]
fn what_is_written_is_read_and_holes_are_told() {
    let rig = rig();
    for structured in [false, true] {
        let mut peer = Peer::attached(&rig, structured);
        let done = |peer: &mut Peer| {
            if structured { assert_eq!(peer.chunk(), (0, vec![])) } else { assert_eq!(peer.simple(), 0) }
        };
        peer.request(1, 1, 3 * BLOCK as u64 + 5, 4, b"data");
        done(&mut peer);
        peer.request(3, 0, 0, 0, b"");
        done(&mut peer);
        peer.request(0, 0, 3 * BLOCK as u64 + 4, 6, b"");
        if structured {
            let (kind, data) = peer.chunk();
            assert_eq!((kind, &data[8..]), (1, &b"\0data\0"[..]));
            peer.request(7, 0, 0, 16 * BLOCK as u32, b"");
            let (kind, extents) = peer.chunk();
            let expected: Vec<u8> = [1, 3 * BLOCK as u32, 3, BLOCK as u32, 0, 12 * BLOCK as u32, 3]
                .iter()
                .flat_map(|word| word.to_be_bytes())
                .collect();
            assert_eq!((kind, extents), (5, expected));
        } else {
            assert_eq!(peer.simple(), 0);
            assert_eq!(peer.take(6), b"\0data\0");
        }
        // Trimmed away again.
        peer.request(4, 0, 0, SIZE as u32, b"");
        done(&mut peer);
        assert!(rig.volume.read(0, SIZE).unwrap().to_vec().iter().all(|byte| *byte == 0));
    }
}

#[test]
fn failures_are_answered_by_number_and_the_connection_goes_on() {
    let rig = rig();
    let mut peer = Peer::attached(&rig, false);
    let end = SIZE as u64;
    for (command, offset, len, expected) in
        [(0, end, 1, 22), (4, end - 1, 2, 28), (6, u64::MAX, 2, 28), (7, 0, 1, 22), (99, 0, 1, 22)]
    {
        peer.request(command, 0, offset, len, b"");
        assert_eq!(peer.simple(), expected, "command {command} at {offset}");
    }
    peer.request(1, 0, end - 1, 2, b"xy");
    assert_eq!(peer.simple(), 28);
    for (failure, expected) in [(Error::NoSpace, 28), (Error::Suspended, 5), (Error::Stale, 108)] {
        rig.volume.fail(Some(failure));
        peer.request(1, 0, 0, 1, b"x");
        assert_eq!(peer.simple(), expected);
    }
    rig.volume.fail(None);
    rig.volume.set_readonly(true);
    peer.request(1, 0, 0, 1, b"x");
    assert_eq!(peer.simple(), 1);
    // Goodbye has no answer.
    peer.request(2, 0, 0, 0, b"");
    assert!(peer.hung_up());
}

#[test]
fn exports_are_listed_and_what_is_not_there_is_not_given() {
    let rig = rig();
    let mut peer = Peer::connect(&rig);
    peer.option(3, b"");
    assert_eq!(peer.option_reply(), (2, named("tank/v")));
    assert_eq!(peer.option_reply().0, 1);
    peer.option(7, &[&named("tank/w")[..], &[0, 0]].concat());
    assert_eq!(peer.option_reply().0, 1 << 31 | 6);
    // A number of requests that do not follow, contexts before structured replies, TLS.
    for (kind, data, expected) in
        [(7, [&named("tank/v")[..], &[0, 9]].concat(), 3), (10, named("tank/v"), 3), (5, vec![], 1)]
    {
        peer.option(kind, &data);
        assert_eq!(peer.option_reply().0, 1 << 31 | expected);
    }
    peer.option(2, b"");
    assert_eq!(peer.option_reply().0, 1);
    assert!(peer.hung_up());
    // The old way says no by going away.
    let mut peer = Peer::connect(&rig);
    peer.option(1, b"tank/w");
    assert!(peer.hung_up());
    let mut peer = Peer::connect(&rig);
    peer.option(1, b"tank/v");
    assert_eq!(peer.take(8), (SIZE as u64).to_be_bytes());
}

#[test]
fn peers_that_talk_nonsense_are_left() {
    let rig = rig();
    let mut rng = Prng::new(9);
    for turn in 0..200 {
        let mut noise = vec![0; 1 + rng.below(200) as usize];
        rng.fill(&mut noise);
        let mut peer = if turn % 2 == 0 { Peer::connect(&rig) } else { Peer::attached(&rig, turn % 4 == 1) };
        // The server may hang up before it has heard all.
        drop(peer.0.write_all(&noise));
        drop(peer.0.shutdown(std::net::Shutdown::Write));
        let _ = peer.hung_up();
    }
    let mut peer = Peer::connect(&rig);
    peer.option(6, &vec![0; 70_000]);
    assert_eq!(peer.option_reply().0, 1 << 31 | 9);
    // More than may be sent at once is not waited for.
    let mut peer = Peer::attached(&rig, false);
    peer.request(1, 0, 0, u32::MAX, b"");
    assert!(peer.hung_up());
    let mut peer = Peer::attached(&rig, false);
    peer.request(0, 0, 0, 1, b"");
    assert_eq!(peer.simple(), 0);
}

#[test]
fn what_was_begun_is_answered_when_the_server_stops() {
    let rig = rig();
    let mut peer = Peer::attached(&rig, false);
    peer.request(1, 0, 0, 4, b"last");
    assert_eq!(peer.simple(), 0);
    rig.server.stop();
    assert!(peer.hung_up());
    assert!(!rig.server.path().exists());
    // Also when somebody took the socket away meanwhile.
    let other = self::rig();
    std::fs::remove_file(other.server.path()).unwrap();
    other.server.stop();
    assert_eq!(rig.volume.read(0, 4).unwrap().to_vec(), b"last");
}
