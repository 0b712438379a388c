//! Peers that break the rules: what they are told, and that others are served.

use std::io::Write;

use super::*;

/// A login request, and what comes of it: the status, and whether the connection goes on.
fn request(flags: u8, pairs: &[&str]) -> Pdu {
    Pdu::new(0x43, flags).put(8, &[0x80, 0, 0, 0, 0, 1]).put_u32(24, 1).with_data(text(pairs))
}

/// The status of the last of some requests; `None`: the connection ended without a word.
fn status(rig: &Rig, requests: &[Pdu]) -> Option<u16> {
    let mut peer = Peer::connect(rig);
    let mut last = None;
    for request in requests {
        assert!(last.is_none_or(|status| status == 0), "{last:?} before the last");
        if request.write(&mut peer.stream, peer.digests).is_err() {
            return None;
        }
        last = Some(u16::from_be_bytes(peer.hear()?.field(36)));
    }
    last
}

#[test]
fn logins_that_break_the_rules_end() {
    let rig = rig("on");
    let with = |flags: u8, keys: &[&str]| request(flags, &[&NAMES[..], keys].concat());
    let one = |pdu: Pdu| status(&rig, &[pdu]);
    let initiator_error = Some(0x0200);
    let stay = with(0x04, &[]);
    assert_eq!(one(with(0x87, &["DataPDUInOrder=No", "X-a=1"])), Some(0));
    // Stages only go on, and only to such as there are.
    for flags in [0x85, 0x84, 0x86, 0x8c, 0xc7, 0x88] {
        assert_eq!(one(with(flags, &[])), initiator_error, "{flags:#x}");
    }
    assert_eq!(status(&rig, &[stay.clone(), request(0x81, &[])]), initiator_error);
    // Each key once; who comes may be said again, not somebody else.
    assert_eq!(one(with(0x87, &["MaxConnections=1", "MaxConnections=1"])), initiator_error);
    let again = |key: &str| status(&rig, &[stay.clone(), request(0x87, &[key])]);
    assert_eq!(
        status(&rig, &[with(0x04, &["ImmediateData=No"]), request(0x87, &["ImmediateData=No"])]),
        initiator_error
    );
    assert_eq!((again(NAMES[0]), again("InitiatorName=iqn.test:two")), (Some(0), initiator_error));
    // The same port, and the same connection.
    for (at, bytes) in [(8, &[0x80, 0, 0, 0, 0, 2][..]), (14, &[0, 1]), (20, &[0, 1])] {
        assert_eq!(status(&rig, &[stay.clone(), request(0x87, &[]).put(at, bytes)]), initiator_error, "{at}");
    }
    assert_eq!(one(with(0x87, &[]).put(14, &[0, 9])), Some(0x020a));
    assert_eq!(one(with(0x87, &[]).put(2, &[1, 1])), Some(0x0205));
    assert_eq!(one(with(0x87, &["SessionType=Idle"])), Some(0x0209));
    assert_eq!(one(request(0x87, &[])), Some(0x0207));
    assert_eq!(one(Pdu::new(0x40, 0x80)), initiator_error);
    // Texts that are none, too long, or have no end.
    let long = "K".repeat(64);
    for bad in ["MaxConnections", "=1", "\u{80}", &format!("{long}=1")] {
        assert_eq!(one(with(0x87, &[bad])), initiator_error, "{bad}");
    }
    let filler = |number: usize| format!("X-{number}={}", "v".repeat(4000));
    let unknown: Vec<String> = (0..250).map(|number| format!("X-{number}-{}=", "k".repeat(20))).collect();
    let unknown: Vec<&str> = unknown.iter().map(String::as_str).collect();
    assert_eq!(one(with(0x87, &unknown[..100])), Some(0));
    assert_eq!(one(with(0x87, &unknown)), initiator_error, "the answer would be too long");
    let endless = |rounds: usize, flags: u8| {
        let more = (0..rounds).map(|number| request(flags, &[&filler(number), &filler(number + 100)]));
        std::iter::once(with(flags, &[])).chain(more).collect::<Vec<Pdu>>()
    };
    assert_eq!(status(&rig, &endless(3, 0x44)), initiator_error, "one text");
    assert_eq!(status(&rig, &endless(32, 0x04)), initiator_error, "many texts");
    let far_too_long = with(0x87, &[]).with_data(vec![b'a'; 9000]);
    assert_eq!(one(far_too_long), None);
}

#[test]
fn secrets_cannot_be_guessed_by_many_at_once() {
    let rig = rig("user=me,secret=a_long_secret");
    let answer = |secret: &str| {
        let (mut peer, secret) = (Peer::connect(&rig), format!("CHAP_R=0x{secret}"));
        peer.login(0x81, &[&NAMES[..], &["AuthMethod=CHAP", "CHAP_A=5"]].concat());
        peer.send(&request(0x81, &["CHAP_N=me", &secret]));
        peer
    };
    // Each waits for a second until it hears that it failed.
    let guesses: Vec<Peer> = (0..12).map(|_| answer(&"00".repeat(16))).collect();
    let heard = guesses.into_iter().map(|mut peer| u16::from_be_bytes(peer.hear().unwrap().field(36)));
    let (failed, refused): (Vec<u16>, Vec<u16>) = heard.partition(|status| *status == 0x0201);
    assert!(
        (8..=9).contains(&failed.len()) && refused.iter().all(|status| *status == 0x0301),
        "{failed:?} {refused:?}"
    );
}

/// Why a PDU is rejected.
fn why(answer: &Pdu) -> u8 {
    assert_eq!((answer.opcode(), answer.data.len()), (0x3f, 48));
    answer.header[2]
}

#[test]
fn what_cannot_be_followed_is_rejected() {
    let rig = rig("on");
    let mut peer = Peer::named(&rig, "iqn.test:one");
    let mut ask = |pdu: Pdu| peer.ask(&pdu);
    assert_eq!(why(&ask(Pdu::new(0x50, 0x80))), 5, "SNACK");
    assert_eq!(why(&ask(Pdu::new(0x5c, 0x80))), 5, "no such PDU");
    assert_eq!(why(&ask(Pdu::new(0x44, 0xc0).put_u32(20, u32::MAX))), 9, "half a text");
    assert_eq!(why(&ask(Pdu::new(0x46, 0x87))), 9, "no such logout");
    // Data of a command that has none to send, and more than agreed.
    assert_eq!(why(&ask(command(1, 0x80, 0, &[0; 6]).with_data(vec![1; 512]))), 9);
    assert_eq!(why(&ask(write(2).put_u32(20, 17 << 20))), 9);
    assert_eq!(why(&ask(write(3).with_data(vec![0; 1024]))), 9);
    // Nothing to send, and nothing sent.
    assert_eq!(ask(command(4, 0xa0, 0, &[0x2a, 0, 0, 0, 0, 3, 0, 0, 0, 0])).header[3], 0);
    // Data in another order than agreed: the command ends, and so does no other.
    let asked = ask(command(5, 0xa0, 1024, &[0x2a, 0, 0, 0, 0, 3, 0, 0, 2, 0]));
    let other = ask(command(6, 0xa0, 512, &[0x2a, 0, 0, 0, 0, 9, 0, 0, 1, 0]));
    let part = |asked: &Pdu, number: u32, offset: u32| {
        let pdu = Pdu::new(0x05, 0x80).put_u32(16, asked.tag()).put(20, &asked.field::<4>(20));
        pdu.put_u32(36, number).put_u32(40, offset).with_data(vec![7; 512])
    };
    assert_eq!(why(&ask(part(&asked, 0, 512))), 4);
    let ended = peer.hear().unwrap();
    assert_eq!((ended.tag(), ended.header[3], &ended.data[2 + 12..2 + 14]), (5, 2, &[0x4b, 0][..]));
    peer.send(&part(&asked, 0, 0));
    assert_eq!(peer.ask(&part(&other, 0, 0)).header[3], 0);
    // A header with more headers behind it is a header.
    let mut wire = Vec::new();
    read(7).write(&mut wire, peer.digests).unwrap();
    wire[4] = 2;
    wire.splice(48..48, [0, 5, 1, 0, 9, 9, 9, 9]);
    peer.stream.write_all(&wire).unwrap();
    assert_eq!(peer.hear().unwrap().data, [0; 512]);
    assert_eq!(why(&peer.ask(&request(0x87, &NAMES))), 4, "a second login");
    assert_eq!(peer.hear(), None);
    let mut peer = Peer::named(&rig, "iqn.test:one");
    drop(write(1).with_data(vec![0; (256 << 10) + 1]).write(&mut peer.stream, peer.digests));
    assert!(!matches!(Pdu::read(&mut peer.stream, peer.digests, MOST), Ok(Some(_))), "too long");
    let mut peer = Peer::logged_in(&rig);
    let mut wire = Vec::new();
    write(1).write(&mut wire, peer.digests).unwrap();
    wire[52] ^= 1;
    peer.stream.write_all(&wire).unwrap();
    assert_eq!(why(&peer.hear().unwrap()), 2, "a data digest");
    assert_eq!(peer.hear(), None);
    // With a wrong header nobody knows what follows.
    let mut peer = Peer::logged_in(&rig);
    let mut wire = Vec::new();
    read(1).write(&mut wire, peer.digests).unwrap();
    wire[33] ^= 1;
    peer.stream.write_all(&wire).unwrap();
    assert_eq!(peer.hear(), None, "a header digest");
    assert_eq!(Peer::logged_in(&rig).ask(&read(1)).data, [0; 512], "others are served");
}

#[test]
fn commands_without_their_data_do_not_pile_up() {
    let rig = rig("on");
    let mut peer = Peer::named(&rig, "iqn.test:one");
    let begun = |number: u32| command(number, 0xa0, 512, &[0x2a, 0, 0, 0, 0, 3, 0, 0, 1, 0]);
    assert!((1..=256).all(|number| peer.ask(&begun(number)).opcode() == 0x31));
    let full = peer.ask(&begun(257));
    assert_eq!((full.opcode(), full.header[3]), (0x21, 0x28));
    let immediate = begun(0).put_u32(16, 999).put_u32(24, 258).put(0, &[0x41]);
    assert_eq!(why(&peer.ask(&immediate)), 6);
    assert_eq!(peer.ask(&Pdu::new(0x42, 0x82).put_u32(16, 50)).header[2], 0);
    assert_eq!(peer.ask(&begun(258)).opcode(), 0x31);
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
            if pdu.opcode() == 0x02 && pdu.flags() & 0x7f == 7 {
                // No nonsense: a cold reset ends the sessions of all, the next one's too if it is
                // just being made.
                pdu.header[1] ^= 1;
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
