//! The server over loopback: logins, discovery, commands, and peers that break the rules.

mod ends;
mod hostile;

use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use engine_api::{ServedVolume, Volume, VolumeId};
use iscsi::{Digests, Pdu, Server, ServerConfig};
use model::{MemEngine, MemVolume};
use stdx::prng::Prng;

const MOST: usize = 1 << 20;

struct Rig {
    server: Server,
    engine: Arc<MemEngine>,
    volume: Arc<MemVolume>,
}

fn rig(share: &str) -> Rig {
    rig_at(share, &["127.0.0.1:0"])
}

fn rig_at(share: &str, portals: &[&str]) -> Rig {
    let volume = volume(2);
    let engine = MemEngine::new(Vec::new());
    engine.set_volumes(vec![served("tank/v", share, &volume)]);
    let portals = portals.iter().map(|portal| portal.parse().unwrap()).collect();
    let config = ServerConfig {
        portals,
        random: Arc::new(|| 7),
        budget: Arc::default(),
        inherited: Arc::default(),
        observer: Arc::default(),
    };
    Rig { server: Server::start(config, engine.clone()).unwrap(), engine, volume }
}

fn volume(dataset_guid: u64) -> Arc<MemVolume> {
    MemVolume::new(VolumeId { pool_guid: 1, dataset_guid }, 4 << 20, 8192)
}

fn served(dataset: &str, share: &str, volume: &Arc<MemVolume>) -> ServedVolume {
    ServedVolume {
        dataset: dataset.into(),
        share: share.into(),
        created: 0,
        known_as: volume.id(),
        volume: volume.clone(),
    }
}

struct Peer {
    stream: TcpStream,
    digests: Digests,
    /// Of the session, and the connection's number in it.
    handle: u16,
    number: u16,
}

const NAMES: [&str; 2] = ["InitiatorName=iqn.test:one", "TargetName=iqn.2026-01.org.cistern:tank:v"];

fn text(pairs: &[&str]) -> Vec<u8> {
    pairs.iter().flat_map(|pair| [pair.as_bytes(), &[0]].concat()).collect()
}

impl Peer {
    fn connect(rig: &Rig) -> Peer {
        Peer::connect_to(rig, 0)
    }

    fn connect_to(rig: &Rig, portal: usize) -> Peer {
        let stream = TcpStream::connect(rig.server.portals()[portal].addr).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Peer { stream, digests: Digests::default(), handle: 0, number: 0 }
    }

    /// One more connection of a session.
    fn joining(rig: &Rig, handle: u16, number: u16) -> (Peer, u16) {
        let mut peer = Peer { handle, number, ..Peer::connect(rig) };
        let (status, _) = peer.login(0x87, &NAMES);
        (peer, status)
    }

    fn send(&mut self, pdu: &Pdu) {
        pdu.write(&mut self.stream, self.digests).unwrap();
    }

    fn hear(&mut self) -> Option<Pdu> {
        Pdu::read(&mut self.stream, self.digests, MOST).unwrap_or(None)
    }

    fn ask(&mut self, pdu: &Pdu) -> Pdu {
        self.send(pdu);
        self.hear().expect("an answer")
    }

    /// One login request; the status, and what was said.
    fn login(&mut self, flags: u8, pairs: &[&str]) -> (u16, String) {
        let request = Pdu::new(0x43, flags).put(8, &[0x80, 0, 0, 0, 0, 1]).put_u32(24, 1);
        let request = request.put(14, &self.handle.to_be_bytes()).put(20, &self.number.to_be_bytes());
        let answer = self.ask(&request.with_data(text(pairs)));
        self.handle = u16::from_be_bytes(answer.field(14));
        let said = String::from_utf8(answer.data.clone()).unwrap().replace('\0', "\n");
        (u16::from_be_bytes(answer.field(36)), said)
    }

    fn logged_in(rig: &Rig) -> Peer {
        let mut peer = Peer::connect(rig);
        let keys = [
            "InitiatorName=iqn.test:one",
            "TargetName=iqn.2026-01.org.cistern:tank:v",
            "HeaderDigest=CRC32C",
            "DataDigest=CRC32C",
            "InitialR2T=No",
            "MaxBurstLength=8192",
        ];
        let (status, said) = peer.login(0x87, &keys);
        assert_eq!(status, 0);
        assert!(said.contains("HeaderDigest=CRC32C\nDataDigest=CRC32C\n"), "{said}");
        peer.digests = Digests { header: true, data: true };
        peer.is_greeted();
        peer
    }

    /// A session of another initiator, or the same.
    fn named(rig: &Rig, initiator: &str) -> Peer {
        let mut peer = Peer::connect(rig);
        assert_eq!(peer.login(0x87, &[&format!("InitiatorName={initiator}"), NAMES[1]]).0, 0);
        peer.is_greeted();
        peer
    }

    /// Hears that everything may be as after the power was off. The command does not count.
    fn is_greeted(&mut self) {
        assert_eq!(self.told(0), Some(0x2900));
    }

    /// The unit attention that a command meets.
    fn told(&mut self, lun: u8) -> Option<u16> {
        let answer = self.ask(&Pdu::new(0x41, 0x80).put(8, &[0, lun]).put_u32(16, 0xabc));
        let sense = (answer.header[3] == 2).then(|| &answer.data[2..])?;
        assert_eq!(sense[2], 6);
        Some(u16::from_be_bytes([sense[12], sense[13]]))
    }
}

fn command(number: u32, flags: u8, len: u32, cdb: &[u8]) -> Pdu {
    Pdu::new(0x01, flags).put_u32(16, number).put_u32(20, len).put_u32(24, number).put(32, cdb)
}

#[test]
fn targets_are_found_and_data_goes_both_ways() {
    let rig = rig("on");
    let mut peer = Peer::connect(&rig);
    assert_eq!(peer.login(0x87, &["InitiatorName=iqn.test:one", "SessionType=Discovery"]).0, 0);
    let found = peer.ask(
        &Pdu::new(0x04, 0x80).put_u32(20, u32::MAX).put_u32(24, 1).with_data(text(&["SendTargets=All"])),
    );
    let found = String::from_utf8(found.data).unwrap();
    assert!(found.contains("TargetName=iqn.2026-01.org.cistern:tank:v\0TargetAddress=127.0.0.1:"), "{found}");

    let mut peer = Peer::logged_in(&rig);
    let mut data = vec![0; 40 * 512];
    Prng::new(1).fill(&mut data);
    // Some with the command, the rest as it is asked for.
    let write = [0x2a, 0, 0, 0, 0, 3, 0, 0, 40, 0];
    peer.send(&command(1, 0xa0, data.len() as u32, &write).with_data(data[..512].to_vec()));
    let mut at = 512;
    loop {
        let heard = peer.hear().unwrap();
        if heard.opcode() == 0x21 {
            assert_eq!(heard.header[3], 0);
            break;
        }
        assert_eq!((heard.opcode(), heard.u32(40)), (0x31, at as u32));
        let len = heard.u32(44) as usize;
        let part = Pdu::new(0x05, 0x80).put_u32(16, 1).put(20, &heard.field::<4>(20)).put_u32(40, at as u32);
        peer.send(&part.with_data(data[at..at + len].to_vec()));
        at += len;
    }
    assert_eq!(rig.volume.read(3 * 512, data.len()).unwrap().to_vec(), data);

    peer.send(&command(2, 0xc0, data.len() as u32, &[0x28, 0, 0, 0, 0, 3, 0, 0, 40, 0]));
    let mut read: Vec<u8> = Vec::new();
    loop {
        let heard = peer.hear().unwrap();
        assert_eq!((heard.opcode(), heard.u32(40) as usize), (0x25, read.len()));
        read.extend(&heard.data);
        if heard.flags() & 1 != 0 {
            assert_eq!((heard.header[3], heard.flags() & 6), (0, 0));
            break;
        }
    }
    assert_eq!(read, data);
    let stats = rig.server.sessions().remove(0);
    assert_eq!((stats.initiator.as_str(), stats.connections), ("iqn.test:one,i,0x800000000001", 1));
    let unit = &stats.units[0];
    assert_eq!((unit.lun, unit.volume.as_str(), unit.queue_most), (0, "tank/v", 1));
    let (read, written) = (&unit.reads, &unit.writes);
    assert_eq!((read.commands, read.bytes, written.commands, written.bytes), (1, 20480, 1, 20480));
    assert_eq!((read.latencies.iter().sum::<u64>(), read.time > 0), (1, true));
    let past = peer.ask(&command(3, 0xc0, 512, &[0x28, 0, 0, 1, 0, 0, 0, 0, 1, 0]));
    assert_eq!((past.opcode(), past.header[3], past.data[2 + 2] & 15), (0x21, 2, 5));
    let echo =
        peer.ask(&Pdu::new(0x40, 0x80).put_u32(16, 9).put_u32(20, u32::MAX).with_data(b"ping".to_vec()));
    assert_eq!((echo.opcode(), echo.data.as_slice()), (0x20, &b"ping"[..]));
    assert_eq!(peer.ask(&Pdu::new(0x46, 0x80).put_u32(16, 10)).opcode(), 0x26);
    assert_eq!(peer.hear(), None);
}

/// RFC 7143, 11.6.1: a command that has been answered is no task any more.
#[test]
fn a_command_is_either_answered_or_aborted() {
    let rig = rig("on");
    let mut peer = Peer::logged_in(&rig);
    peer.stream.set_nodelay(true).unwrap();
    let mut answered = 0;
    for number in 1..=1000 {
        peer.send(&command(number, 0x80, 0, &[0x35, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
        // In the middle of what it takes to be executed.
        (0..number % 64 * 16).for_each(|_| std::hint::spin_loop());
        let abort = Pdu::new(0x42, 0x81).put_u32(16, 0x8000_0000 | number).put_u32(20, number);
        let mut heard = peer.ask(&abort.put_u32(24, number + 1).put_u32(32, number));
        let is_answered = heard.opcode() == 0x21;
        if is_answered {
            heard = peer.hear().unwrap();
        }
        assert_eq!((heard.opcode(), heard.header[2]), (0x22, u8::from(is_answered)), "{number}");
        answered += u32::from(is_answered);
    }
    peer.send(&Pdu::new(0x40, 0x80).put_u32(16, 9).put_u32(20, u32::MAX));
    assert_eq!(peer.hear().unwrap().opcode(), 0x20, "no answer comes afterwards");
    println!("{answered} of 1000 were answered");
}

/// A new session may hold a megabyte: what it was asked for is part of that.
#[test]
fn large_writes_of_a_new_session_fit_into_what_it_may_hold() {
    let rig = rig("on");
    let mut peer = Peer::named(&rig, "iqn.test:one");
    let mut data = vec![0; 2 << 20];
    Prng::new(2).fill(&mut data);
    let blocks = ((data.len() / 512) as u16).to_be_bytes();
    for number in 1..=8 {
        let write = [0x2a, 0, 0, 0, 0, 0, 0, blocks[0], blocks[1], 0];
        peer.send(&command(number, 0xa0, data.len() as u32, &write));
        loop {
            let heard = peer.hear().unwrap();
            if heard.opcode() == 0x21 {
                assert_eq!(heard.header[3], 0);
                break;
            }
            let (at, len) = (heard.u32(40) as usize, heard.u32(44) as usize);
            let parts: Vec<&[u8]> = data[at..at + len].chunks(128 << 10).collect();
            for (turn, bytes) in parts.iter().enumerate() {
                let flags = if turn + 1 == parts.len() { 0x80 } else { 0 };
                let part = Pdu::new(0x05, flags).put_u32(16, number).put(20, &heard.field::<4>(20));
                let part = part.put_u32(36, turn as u32).put_u32(40, (at + (turn * (128 << 10))) as u32);
                peer.send(&part.with_data(bytes.to_vec()));
            }
        }
    }
    assert_eq!(rig.volume.read(0, data.len()).unwrap().to_vec(), data);
}

#[test]
fn a_session_that_is_begun_anew_ends_the_old_one() {
    let rig = rig("on");
    let mut old = Peer::logged_in(&rig);
    assert_eq!(old.ask(&command(1, 0x80, 0, &[0; 6])).header[3], 0);
    let mut new = Peer::logged_in(&rig);
    assert_eq!(old.hear(), None);
    assert_eq!(new.ask(&command(1, 0x80, 0, &[0; 6])).header[3], 0);
}

#[test]
fn logins_that_prove_nothing_are_refused() {
    let rig = rig("user=me,secret=a_long_secret,initiator=iqn.test:one");
    let target = "TargetName=iqn.2026-01.org.cistern:tank:v";
    let mut other = Peer::connect(&rig);
    assert_eq!(other.login(0x87, &["InitiatorName=iqn.test:two", target]).0, 0x0203);
    let mut silent = Peer::connect(&rig);
    assert_eq!(silent.login(0x87, &["InitiatorName=iqn.test:one", target]).0, 0x0201);
    let mut nameless = Peer::connect(&rig);
    assert_eq!(nameless.login(0x87, &[target]).0, 0x0207);
    let mut wrong = Peer::connect(&rig);
    let (status, said) = wrong.login(0x81, &["InitiatorName=iqn.test:one", target, "AuthMethod=CHAP,None"]);
    assert!(status == 0 && said.contains("AuthMethod=CHAP\n"), "{said}");
    let (status, said) = wrong.login(0x81, &["CHAP_A=5"]);
    assert!(status == 0 && said.contains("CHAP_I=7\n"), "{said}");
    let answer = format!("CHAP_R=0x{}", "00".repeat(16));
    assert_eq!(wrong.login(0x81, &["CHAP_N=me", &answer]).0, 0x0201);
}

/// Where an initiator is told to find a target, by its portals' places; what was said else is not
/// an address.
fn addresses(rig: &Rig, portal: usize) -> Vec<String> {
    let mut peer = Peer::connect_to(rig, portal);
    assert_eq!(peer.login(0x87, &["InitiatorName=iqn.test:one", "SessionType=Discovery"]).0, 0);
    let ask = Pdu::new(0x04, 0x80).put_u32(20, u32::MAX).put_u32(24, 1).with_data(text(&["SendTargets=All"]));
    let found = String::from_utf8(peer.ask(&ask).data).unwrap();
    found.split('\0').filter_map(|pair| pair.strip_prefix("TargetAddress=")).map(str::to_owned).collect()
}

#[test]
fn targets_are_behind_the_portals_of_their_groups() {
    let portals = ["127.0.0.1:0", "0.0.0.0:0,2", "127.0.0.1:0,2"];
    let rig = rig_at("on", &portals);
    let port = |place: usize| rig.server.portals()[place].addr.port();
    let all = [(0, 1), (1, 2), (2, 2)].map(|(place, tag)| format!("127.0.0.1:{},{tag}", port(place)));
    assert_eq!((addresses(&rig, 0), addresses(&rig, 2)), (all.to_vec(), all.to_vec()));
    // The same port of an initiator has two sessions: those are two paths.
    let (mut first, mut other) = (Peer::connect(&rig), Peer::connect_to(&rig, 1));
    let (said, elsewhere) = (first.login(0x87, &NAMES).1, other.login(0x87, &NAMES).1);
    assert!(said.contains("TargetPortalGroupTag=1\n") && elsewhere.contains("TargetPortalGroupTag=2\n"));
    let path = |peer: &mut Peer| peer.ask(&command(1, 0xc0, 255, &[0x12, 1, 0x83, 0, 255, 0])).data;
    let (first, other) = (path(&mut first), path(&mut other));
    let at = first.iter().zip(&other).position(|(one, two)| one != two).unwrap();
    assert_eq!((first[at], other[at], first[at - 7]), (1, 2, 0x51));

    let rig = rig_at("group=2", &portals);
    assert_eq!(addresses(&rig, 0).len(), 2);
    assert_eq!(Peer::connect(&rig).login(0x87, &NAMES).0, 0x0203);
    assert_eq!(Peer::connect_to(&rig, 2).login(0x87, &NAMES).0, 0);
}

/// A session of two connections: the first, and what joined it.
fn two(rig: &Rig) -> [Peer; 2] {
    let mut first = Peer::connect(rig);
    let (status, said) = first.login(0x87, &[&NAMES[..], &["MaxConnections=2"]].concat());
    assert!(status == 0 && said.contains("MaxConnections=2\n"), "{said}");
    assert_ne!(first.handle, 0);
    first.is_greeted();
    let (second, status) = Peer::joining(rig, first.handle, 1);
    assert_eq!((status, second.handle), (0, first.handle));
    [first, second]
}

/// A write of one block, and a read of it.
fn write(number: u32) -> Pdu {
    command(number, 0xa0, 512, &[0x2a, 0, 0, 0, 0, 3, 0, 0, 1, 0]).with_data(vec![number as u8; 512])
}

fn read(number: u32) -> Pdu {
    command(number, 0xc0, 512, &[0x28, 0, 0, 0, 0, 3, 0, 0, 1, 0])
}

#[test]
fn commands_of_a_session_come_in_order_by_whichever_connection() {
    let rig = rig("on");
    let [mut first, mut second] = two(&rig);
    let mut numbers = [0, 0];
    for turn in 0..20 {
        let number = 1 + turn * 4;
        // What is ahead waits for what the other brings.
        second.send(&write(number + 1));
        second.send(&write(number + 3).put(1, &[0xa2]));
        std::thread::sleep(Duration::from_millis(1));
        // Ordered: nothing that comes after is done before.
        first.send(&read(number).put(1, &[0xc2]));
        let heard = first.hear().unwrap();
        assert_eq!(heard.data, vec![number as u8 - 1; 512]);
        first.send(&read(number + 2));
        assert_eq!(first.hear().unwrap().opcode(), 0x25);
        let answers = [second.hear().unwrap(), second.hear().unwrap()];
        assert!(answers.iter().all(|answer| (answer.opcode(), answer.header[3]) == (0x21, 0)));
        let expected = answers.iter().map(|answer| answer.u32(28)).max().unwrap();
        assert_eq!(expected, number + 4);
        // Each connection counts its own answers.
        let now = [heard.u32(24), answers[0].u32(24).min(answers[1].u32(24))];
        assert!(turn == 0 || now == [numbers[0] + 2, numbers[1] + 2], "{now:?} after {numbers:?}");
        numbers = now;
    }
    // Behind, and beyond the window: passed over.
    first.send(&write(1));
    first.send(&write(81 + 500));
    assert_eq!(first.ask(&read(81)).opcode(), 0x25);
}

#[test]
fn data_comes_by_the_connection_that_brought_its_command() {
    let rig = rig("on");
    let [mut first, mut second] = two(&rig);
    let asked = second.ask(&command(1, 0xa0, 512, &[0x2a, 0, 0, 0, 0, 3, 0, 0, 1, 0]));
    assert_eq!((asked.opcode(), asked.u32(44)), (0x31, 512));
    let part = Pdu::new(0x05, 0x80).put_u32(16, 1).put(20, &asked.field::<4>(20)).with_data(vec![9; 512]);
    // Elsewhere nobody waits for it.
    first.send(&part);
    assert_eq!(first.ask(&command(2, 0x80, 0, &[0; 6])).header[3], 0);
    assert_eq!(rig.volume.read(3 * 512, 512).unwrap().to_vec(), vec![0; 512]);
    let done = second.ask(&part);
    assert_eq!((done.opcode(), done.header[3]), (0x21, 0));
    assert_eq!(rig.volume.read(3 * 512, 512).unwrap().to_vec(), vec![9; 512]);
    // A task can be ended by any connection.
    let again = second.ask(&command(3, 0xa0, 512, &[0x2a, 0, 0, 0, 0, 3, 0, 0, 1, 0]));
    assert_eq!(again.opcode(), 0x31);
    let ended = first.ask(&Pdu::new(0x42, 0x81).put_u32(16, 50).put_u32(20, 3));
    assert_eq!((ended.opcode(), ended.header[2]), (0x22, 0));
}

#[test]
fn connections_leave_and_join_and_a_broken_one_ends_the_session() {
    let rig = rig("on");
    let [mut first, mut second] = two(&rig);
    assert_eq!(Peer::joining(&rig, first.handle, 2).1, 0x0206);
    assert_eq!(Peer::joining(&rig, first.handle + 1, 2).1, 0x020a);
    let log_out = |number: u16, connection: u16| {
        Pdu::new(0x46, 0x81).put_u32(16, 99).put(20, &connection.to_be_bytes()).put_u32(24, number.into())
    };
    // The second takes leave of the session by the first.
    let left = first.ask(&log_out(1, 1));
    assert_eq!((left.opcode(), left.header[2], second.hear()), (0x26, 0, None));
    assert_eq!(first.ask(&log_out(1, 1)).header[2], 1, "there is no such connection any more");
    // Another joins, and is replaced by one of its own number.
    let (mut third, status) = Peer::joining(&rig, first.handle, 5);
    assert_eq!((status, third.ask(&read(1)).opcode()), (0, 0x25));
    let (mut fourth, status) = Peer::joining(&rig, first.handle, 5);
    assert_eq!((status, third.hear(), fourth.ask(&read(2)).opcode()), (0, None, 0x25));
    assert_eq!(first.ask(&read(3)).opcode(), 0x25);
    let own = fourth.ask(&log_out(4, 5));
    assert_eq!((own.header[2], fourth.hear()), (0, None));
    // One that waits for its turn ends with the session, and the session with one that breaks.
    let (mut fifth, status) = Peer::joining(&rig, first.handle, 6);
    assert_eq!(status, 0);
    fifth.send(&read(9));
    drop(first);
    assert_eq!(fifth.hear(), None);
    let [mut first, mut second] = two(&rig);
    assert_eq!(first.ask(&Pdu::new(0x46, 0x80).put_u32(16, 9)).opcode(), 0x26);
    assert_eq!((first.hear(), second.hear()), (None, None));
}
