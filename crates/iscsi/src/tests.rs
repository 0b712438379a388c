//! Parsers and what hangs on them.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use sockets::Budget;
use stdx::prng::Prng;

use crate::binary::{bytes, hex};
use crate::chap::{Chap, Round, response};
use crate::gather::{Gatherer, Wrong};
use crate::guard::Guard;
use crate::keys::Keys;
use crate::limits::{GUARDED, PENALTY, SEGMENT, TRIES};
use crate::md5::md5;
use crate::parameters::Parameters;
use crate::pdu::initiator::{Command, DataOut};
use crate::pdu::{Digests, NONE, Pdu, PduError};
use crate::seal::{sealed, unsealed, without_secrets};
use crate::share::{Credentials, parse};

/// RFC 1321 A.5.
#[test]
fn digests_are_md5s() {
    let of = |text: &str| hex(&md5(text.as_bytes()));
    assert_eq!(of(""), "0xd41d8cd98f00b204e9800998ecf8427e");
    assert_eq!(of("message digest"), "0xf96b697d7cb7938d525a2f31aaf161d0");
    let long = "1234567890".repeat(8);
    assert_eq!(of(&long), "0x57edf4a22be3c955ac49da2e2107b67a");
    assert_eq!(response(1, "secret", b"challenge"), md5(b"\x01secretchallenge"));
}

#[test]
fn binary_values_come_in_hex_and_base_64() {
    assert_eq!(bytes("0x00fF"), Some(vec![0, 255]));
    assert_eq!(bytes("0bAP8="), Some(vec![0, 255]));
    for bad in ["", "0", "0x1", "0xgg", "0b*", "00", "\u{e9}x00"] {
        assert_eq!(bytes(bad), None, "{bad}");
    }
}

#[test]
fn who_knows_the_secret_is_who_they_say() {
    let mutual = Some(("we".to_owned(), "our own secret".to_owned()));
    let known = [Credentials { user: "me".into(), secret: "my long secret".into(), mutual }];
    let keys = |pairs: &[(&str, String)]| {
        Keys(pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
    };
    let begin = || match Chap::Begun.round(&keys(&[("CHAP_A", "7,5".into())]), &|| 7, &known) {
        Round::More(said, chap) => (bytes(said.get("CHAP_C").unwrap()).unwrap(), chap),
        _ => panic!("a challenge is what follows"),
    };
    let answer = |user: &str, secret: &str, theirs: &[u8]| {
        let (challenge, chap) = begin();
        let said = keys(&[
            ("CHAP_N", user.to_owned()),
            ("CHAP_R", hex(&response(7, secret, &challenge))),
            ("CHAP_I", "9".to_owned()),
            ("CHAP_C", hex(if theirs == b"ours" { &challenge } else { theirs })),
        ]);
        match chap.round(&said, &|| 7, &known) {
            Round::Done(said, user) => Some((user, said.get("CHAP_R").unwrap().to_owned())),
            _ => None,
        }
    };
    let proof = hex(&response(9, "our own secret", b"theirs"));
    assert_eq!(answer("me", "my long secret", b"theirs"), Some(("me".to_owned(), proof)));
    assert_eq!(answer("me", "another secret", b"theirs"), None);
    assert_eq!(answer("you", "my long secret", b"theirs"), None);
    // Our own challenge sent back would have us answer it.
    assert_eq!(answer("me", "my long secret", b"ours"), None);
    // What is sent for that can be looked up in a table made once.
    assert_eq!(answer("me", "my long secret", b""), None);
}

#[test]
fn each_side_has_a_secret_of_its_own() {
    let mutual = |user: &str, secret: &str| {
        parse(&format!("user=u,secret=twelve_letters,mutual_user={user},mutual_secret={secret}"))
    };
    assert!(mutual("v", "other_letters").is_ok());
    let same = mutual("v", "twelve_letters").unwrap_err();
    assert!(same.contains("another than the initiator's"), "{same}");
    for (user, secret) in [("", "other_letters"), ("v", "short"), ("v", "other letters")] {
        assert!(mutual(user, secret).is_err(), "{user} {secret}");
    }
    for part in ["mutual_user=v", "mutual_secret=other_letters"] {
        assert!(parse(&format!("user=u,secret=twelve_letters,{part}")).is_err(), "{part} alone");
    }
    let alone = parse("mutual_user=v,mutual_secret=other_letters").unwrap_err();
    assert!(alone.contains("nothing without a user"), "{alone}");
}

fn sample(rng: &mut Prng) -> Pdu {
    let mut pdu = Pdu::new(rng.below(64) as u8, rng.below(256) as u8);
    rng.fill(&mut pdu.header[8..]);
    let mut data = vec![0; rng.below(100) as usize];
    rng.fill(&mut data);
    pdu.with_data(data)
}

#[test]
fn what_is_written_is_read_and_what_is_changed_is_seen() {
    let mut rng = Prng::new(5);
    for turn in 0..2000 {
        let pdu = sample(&mut rng);
        let digests = Digests { header: turn % 2 == 0, data: turn % 3 == 0 };
        let mut wire = Vec::new();
        pdu.write(&mut wire, digests).unwrap();
        let read = Pdu::read(&mut &wire[..], digests, SEGMENT).unwrap().unwrap();
        assert!(Pdu::is_whole(&wire, digests) && !Pdu::is_whole(&wire[..wire.len() - 1], digests));
        assert_eq!(
            (read.opcode(), &read.header[8..], &read.data),
            (pdu.opcode(), &pdu.header[8..], &pdu.data)
        );
        let at = rng.below(wire.len() as u64) as usize;
        wire[at] ^= 1 << rng.below(8);
        match Pdu::read(&mut &wire[..], digests, SEGMENT) {
            Err(PduError::Header) => assert!(digests.header),
            Err(PduError::Data(_)) => assert!(digests.data),
            Ok(Some(_)) => assert!(!digests.header || (!digests.data && at >= 52)),
            Err(PduError::TooLong | PduError::Io(_)) => assert!(!digests.header || at >= 4),
            other => panic!("{other:?}"),
        }
        // Cut short, or random from the first byte on: an end, whatever it is.
        drop(Pdu::read(&mut &wire[..at], digests, SEGMENT));
        rng.fill(&mut wire);
        drop(Pdu::read(&mut &wire[..], digests, SEGMENT));
    }
}

#[test]
fn texts_are_bounded() {
    let keys = Keys::parse(b"A=1\0B=2=3\0\0").unwrap();
    assert_eq!(keys.0, [("A".to_owned(), "1".to_owned()), ("B".to_owned(), "2=3".to_owned())]);
    assert_eq!(Keys::parse(&keys.encode()), Some(keys));
    for bad in [&b"A\0"[..], b"=1\0", b"\xff=1\0", &b"A=1\0".repeat(1000), &[b'A'; 70_000]] {
        assert_eq!(Keys::parse(bad), None);
    }
}

#[test]
fn parameters_come_out_as_the_standard_says() {
    let mut ours = Parameters::default();
    let mut ask = |key: &str, value: &str| ours.negotiate(key, value);
    assert_eq!(ask("HeaderDigest", "CRC32C,None").as_deref(), Some("CRC32C"));
    assert_eq!(ask("DataDigest", "X-other,None").as_deref(), Some("None"));
    assert_eq!(ask("DataDigest", "X-other").as_deref(), Some("Reject"));
    assert_eq!(ask("MaxBurstLength", "16776192").as_deref(), Some("1048576"));
    assert_eq!(ask("FirstBurstLength", "0x200").as_deref(), Some("512"));
    assert_eq!(ask("FirstBurstLength", "1").as_deref(), Some("Reject"));
    assert_eq!(ask("InitialR2T", "No").as_deref(), Some("No"));
    assert_eq!(ask("ErrorRecoveryLevel", "2").as_deref(), Some("0"));
    assert_eq!(ask("MaxConnections", "65535").as_deref(), Some("8"));
    assert_eq!(ask("MaxRecvDataSegmentLength", "65536"), None);
    for wrong in ["0", "511", "16777216", "-1", "x", ""] {
        assert_eq!(ask("MaxRecvDataSegmentLength", wrong).as_deref(), Some("Reject"), "{wrong}");
        assert_eq!(ask("MaxBurstLength", wrong).as_deref(), Some("Reject"), "{wrong}");
    }
    for no_order in ["DataPDUInOrder", "DataSequenceInOrder"] {
        assert_eq!(ask(no_order, "No").as_deref(), Some("Yes"));
        assert_eq!(ask(no_order, "no").as_deref(), Some("Reject"));
    }
    assert_eq!(ask("TaskReporting", "FastAbort,RFC3720").as_deref(), Some("RFC3720"));
    assert_eq!(ask("TaskReporting", "FastAbort").as_deref(), Some("Reject"));
    assert_eq!(ask("X-com.example", "1").as_deref(), Some("NotUnderstood"));
    assert_eq!((ours.their_segment, ours.first_burst, ours.initial_r2t), (65536, 512, false));
    assert_eq!(ours.digests, Digests { header: true, data: false });
    let mut joining = Parameters::joining(&ours);
    assert_eq!((joining.their_segment, joining.first_burst, joining.max_connections), (8192, 512, 8));
    assert_eq!(joining.negotiate("FirstBurstLength", "1024").as_deref(), Some("Irrelevant"));
    assert_eq!(joining.negotiate("DataDigest", "CRC32C").as_deref(), Some("CRC32C"));
    assert_eq!((joining.first_burst, joining.digests.data), (512, true));
}

#[test]
fn the_first_burst_is_part_of_a_burst() {
    let mut ours = Parameters::default();
    let mut reply = Keys::default();
    for (key, value) in [("FirstBurstLength", "65536"), ("MaxBurstLength", "8192")] {
        reply.add(key, ours.negotiate(key, value).unwrap());
    }
    ours.settle(&mut reply);
    assert_eq!((ours.first_burst, reply.get("FirstBurstLength")), (8192, Some("8192")));
}

#[test]
fn guesses_take_time_from_wherever_they_come() {
    let (guard, now) = (Guard::default(), Instant::now());
    let from = |text: &str| text.parse::<IpAddr>().unwrap();
    let one = from("10.0.0.1");
    assert!((0..TRIES).all(|_| guard.admits(one, now)) && !guard.admits(one, now));
    assert!(!guard.admits(from("::ffff:10.0.0.1"), now) && guard.admits(from("10.0.0.2"), now));
    assert!(guard.admits(one, now + PENALTY) && !guard.admits(one, now + PENALTY));
    // A good one does not count.
    guard.proved(one);
    assert!(guard.admits(one, now + PENALTY) && !guard.admits(one, now + PENALTY));
    assert!((0..TRIES).all(|n| guard.admits(from(&format!("2001:db8::{n}")), now)));
    assert!(!guard.admits(from("2001:db8::ffff:1"), now) && guard.admits(from("2001:db8:0:1::1"), now));
    // What is remembered is bounded; who comes from very many places keeps nobody else out.
    let many = |number: u32| IpAddr::from((number + (11 << 24)).to_be_bytes());
    assert!((0..2 * GUARDED as u32).all(|number| guard.admits(many(number), now)));
    let last = many(2 * GUARDED as u32 - 1);
    assert!((1..TRIES).all(|_| guard.admits(last, now)) && !guard.admits(last, now));
}

fn write(tag: u32, expected_len: u32) -> Command {
    Command {
        is_immediate: false,
        is_final: true,
        reads: false,
        writes: true,
        is_ordered: false,
        lun: 0,
        tag,
        expected_len,
        cdb: [0; 16],
    }
}

#[test]
fn data_is_gathered_as_it_was_agreed() {
    let parameters =
        Parameters { first_burst: 1024, max_burst: 2048, initial_r2t: false, ..Parameters::default() };
    let mut gatherer = Gatherer::default();
    let begin = |gatherer: &mut Gatherer, command: Command, data: &[u8]| {
        let begun = gatherer.begin(command, data.to_vec(), None, &parameters);
        begun.map(|whole| whole.map(|whole| whole.data))
    };
    let take = |gatherer: &mut Gatherer, part: DataOut, data: &[u8]| {
        gatherer.data(&part, data, None, &parameters).map(|whole| whole.map(|whole| whole.data))
    };
    let peer = Arc::new(Budget::default()).peer(None, || {});
    let ask = |gatherer: &mut Gatherer| gatherer.requests(&parameters, |bytes| peer.try_take(bytes));
    assert_eq!(begin(&mut gatherer, write(1, 512), &[1; 512]), Ok(Some(vec![1; 512])));
    assert_eq!(begin(&mut gatherer, Command { is_final: false, ..write(2, 4096) }, &[1; 512]), Ok(None));
    assert_eq!(ask(&mut gatherer), []);
    let unasked = DataOut { is_final: true, tag: 2, transfer_tag: NONE, number: 0, offset: 512 };
    assert_eq!(take(&mut gatherer, unasked, &[2; 512]), Ok(None));
    // Without room nothing is asked for.
    assert_eq!(gatherer.requests(&parameters, |_| None), []);
    assert_eq!((gatherer.is_starved(), gatherer.awaits()), (Some(3072), false));
    let [first] = ask(&mut gatherer)[..] else { panic!() };
    assert_eq!((first.offset, first.len, first.number), (1024, 2048, 0));
    assert_eq!((gatherer.is_starved(), gatherer.awaits(), peer.held()), (None, true, 3072));
    let asked = |number, offset, is_final| DataOut {
        is_final,
        tag: 2,
        transfer_tag: first.transfer_tag,
        number,
        offset,
    };
    assert_eq!(take(&mut gatherer, asked(0, 1024, false), &[3; 1024]), Ok(None));
    let wrong = Err(Wrong("data out of order"));
    assert_eq!(take(&mut gatherer, asked(0, 2048, true), &[3; 1024]), wrong);
    assert_eq!(take(&mut gatherer, asked(1, 2048, true), &[3; 1024]), Ok(None));
    let [second] = ask(&mut gatherer)[..] else { panic!() };
    assert_eq!((second.offset, second.len, second.number), (3072, 1024, 1));
    let last = DataOut { transfer_tag: second.transfer_tag, ..asked(0, 3072, true) };
    assert!(take(&mut gatherer, last.clone(), &[4; 1025]).is_err(), "too much");
    let whole = take(&mut gatherer, last, &[4; 1024]).unwrap().unwrap();
    assert_eq!(
        whole,
        [[1; 512], [2; 512], [3; 512], [3; 512], [3; 512], [3; 512], [4; 512], [4; 512]].concat()
    );
    assert_eq!(peer.held(), 0);
    assert!(begin(&mut gatherer, write(3, 4096), &[1; 2000]).is_err());
    assert!(begin(&mut gatherer, write(3, u32::MAX), &[]).is_err());
}

#[test]
fn secrets_are_kept_and_not_shown() {
    let clear =
        "target=iqn.x:y,user=u,secret=a_long=secret\u{fc},mutual_user=v,mutual_secret=seventeen_letters";
    let kept = sealed(clear);
    assert!(!kept.contains("secret") && kept.contains(",user=u,sealed=0x"), "{kept}");
    assert_eq!(parse(&kept), parse(clear));
    assert_eq!(sealed(&kept), kept);
    assert_eq!((unsealed(&kept).as_str(), unsealed(clear).as_str()), (clear, clear));
    assert_eq!(unsealed("user=u,sealed=0x00"), "user=u,sealed=0x00", "nobody has sealed this");
    let shown = without_secrets(&kept);
    assert_eq!(shown, "target=iqn.x:y,user=u,sealed=********,mutual_user=v,mutual_sealed=********");
    let said = "zfs set shareiscsi=user=u,secret=123456789012,lun=0 tank/v";
    assert_eq!(without_secrets(said), "zfs set shareiscsi=user=u,secret=********,lun=0 tank/v");
    assert!(parse(&shown).is_err() && parse("user=u,secret=********").is_err(), "what is shown is no secret");
    assert!(parse("user=u,sealed=0x00112233445566778899aabbccddeeff0011").is_err());
}

#[test]
fn shares_say_who_sees_what() {
    assert_eq!(parse("off"), Ok(None));
    let on = parse("on").unwrap().unwrap();
    assert_eq!(on.target_of("tank/VM 1"), "iqn.2026-01.org.cistern:tank:vm-1");
    let share = parse("target=iqn.x:y,lun=3,initiator=iqn.a,user=u,secret=123456789012").unwrap().unwrap();
    assert_eq!((share.lun, share.target_of("tank/v").as_str()), (3, "iqn.x:y"));
    assert!(
        share.admits("iqn.a", Some("u")) && !share.admits("iqn.a", None) && !share.admits("iqn.b", Some("u"))
    );
    let behind = parse("group=7,group=2").unwrap().unwrap();
    assert_eq!(
        (behind.is_reached_by(2), behind.is_reached_by(1), share.is_reached_by(1)),
        (true, false, true)
    );
    for bad in [
        "lun=1",
        "group=0",
        "group=65536",
        "target=x",
        "target=iqn.X",
        "user=u",
        "user=u,secret=short",
        "lun=20000",
        "yes",
    ] {
        assert!(parse(bad).is_err(), "{bad}");
    }
}
