//! The server over loopback: logins, discovery, commands, and peers that break the rules.

use std::io::Write;
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
    volume: Arc<MemVolume>,
}

fn rig(share: &str) -> Rig {
    let volume = MemVolume::new(VolumeId { pool_guid: 1, dataset_guid: 2 }, 4 << 20, 8192);
    let engine = MemEngine::new(Vec::new());
    let served = ServedVolume { dataset: "tank/v".into(), share: share.into(), volume: volume.clone() };
    engine.set_volumes(vec![served]);
    let config = ServerConfig { addr: "127.0.0.1:0".parse().unwrap(), random: Arc::new(|| 7) };
    Rig { server: Server::start(config, engine).unwrap(), volume }
}

struct Peer {
    stream: TcpStream,
    digests: Digests,
}

fn text(pairs: &[&str]) -> Vec<u8> {
    pairs.iter().flat_map(|pair| [pair.as_bytes(), &[0]].concat()).collect()
}

impl Peer {
    fn connect(rig: &Rig) -> Peer {
        let stream = TcpStream::connect(rig.server.addr()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Peer { stream, digests: Digests::default() }
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
        let answer = self.ask(&request.with_data(text(pairs)));
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
        peer
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
    let past = peer.ask(&command(3, 0xc0, 512, &[0x28, 0, 0, 1, 0, 0, 0, 0, 1, 0]));
    assert_eq!((past.opcode(), past.header[3], past.data[2 + 2] & 15), (0x21, 2, 5));
    let echo =
        peer.ask(&Pdu::new(0x40, 0x80).put_u32(16, 9).put_u32(20, u32::MAX).with_data(b"ping".to_vec()));
    assert_eq!((echo.opcode(), echo.data.as_slice()), (0x20, &b"ping"[..]));
    assert_eq!(peer.ask(&Pdu::new(0x46, 0x80).put_u32(16, 10)).opcode(), 0x26);
    assert_eq!(peer.hear(), None);
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
    let rig = rig("user=me,secret=a long secret,initiator=iqn.test:one");
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

/// Whatever peers send, others are served.
#[test]
fn peers_that_talk_nonsense_harm_nobody() {
    let rig = rig("on");
    let mut rng = Prng::new(99);
    for turn in 0..300 {
        let mut peer = if turn % 3 == 0 { Peer::connect(&rig) } else { Peer::logged_in(&rig) };
        for number in 1..8 {
            let mut pdu = Pdu::new(rng.below(128) as u8, rng.below(256) as u8);
            rng.fill(&mut pdu.header[8..]);
            if rng.chance(3, 4) {
                pdu = pdu.put(8, &[0; 8]).put_u32(24, number).put_u32(20, rng.below(70_000) as u32);
                pdu.header[0] = [0x01, 0x01, 0x02, 0x04, 0x05, 0x00][rng.below(6) as usize];
            }
            let mut data = vec![0; rng.below(600) as usize];
            rng.fill(&mut data);
            // It may have been cut off.
            if pdu.with_data(data).write(&mut peer.stream, peer.digests).is_err() {
                break;
            }
        }
        let mut noise = vec![0; rng.below(200) as usize];
        rng.fill(&mut noise);
        drop(peer.stream.write_all(&noise));
    }
    let mut peer = Peer::logged_in(&rig);
    // What others did may have to be heard first.
    let ready = (1..9).any(|number| peer.ask(&command(number, 0x80, 0, &[0; 6])).header[3] == 0);
    assert!(ready);
}
