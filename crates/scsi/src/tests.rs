//! A unit over a volume in memory: what commands do, what is refused with which sense, who is let
//! through.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use engine_api::{Error, Volume, VolumeId};
use model::MemVolume;
use stdx::prng::Prng;

use crate::{Answer, Begun, Data, Identity, LogicalUnit, Nexus, Sense, Status, Target, TargetPort, Tasks};

const BLOCKS: u64 = 4096;
const VOLUME_BLOCK: usize = 8192;

struct Rig {
    volume: Arc<MemVolume>,
    target: Target,
    ports: [Nexus; 2],
}

fn rig() -> Rig {
    let id = VolumeId { pool_guid: 0x1122_3344_5566, dataset_guid: 0x77 };
    let volume = MemVolume::new(id, (BLOCKS * 512) as usize, VOLUME_BLOCK);
    let unit = open(&volume).expect("its reservations are known");
    let ports = [Nexus::new("iqn.a,i,0x01", 1), Nexus::new("iqn.b,i,0x02", 1)];
    joined(Rig { volume, target: target(unit), ports })
}

fn open(volume: &Arc<MemVolume>) -> Result<Arc<LogicalUnit>, Error> {
    let identity = Identity { id: 0x77, serial: "0077".into(), name: "tank/v".into() };
    LogicalUnit::open(volume.clone(), identity)
}

/// Both ports have a session, and have heard that it is new.
fn joined(rig: Rig) -> Rig {
    for (place, port) in rig.ports.iter().enumerate() {
        rig.target.unit(0).unwrap().join(port, Weak::<()>::new());
        assert_eq!(rig.by(place, &[0; 6], &[]).sense, Some(Sense::new(0x6, 0x2900)));
    }
    rig
}

/// It is reached through two ports.
fn target(unit: Arc<LogicalUnit>) -> Target {
    let port = |id: u16| TargetPort { id, name: format!("iqn.t,t,0x{id:04x}") };
    Target::new("iqn.t".into(), vec![port(1), port(7)], BTreeMap::from([(0, unit)]))
}

impl Rig {
    fn by(&self, port: usize, cdb: &[u8], out: &[u8]) -> Answer {
        self.target.execute(&self.ports[port], 0, cdb, out)
    }

    #[track_caller]
    fn good(&self, cdb: &[u8], out: &[u8]) -> Vec<u8> {
        let answer = self.by(0, cdb, out);
        assert_eq!((answer.status, answer.sense), (Status::Good, None), "{cdb:02x?}");
        bytes(answer)
    }

    #[track_caller]
    fn refused(&self, cdb: &[u8], out: &[u8]) -> (u8, u16) {
        let answer = self.by(0, cdb, out);
        assert_eq!(answer.status, Status::CheckCondition, "{cdb:02x?}");
        let Sense { key, code, .. } = answer.sense.unwrap();
        (key, code)
    }
}

fn bytes(answer: Answer) -> Vec<u8> {
    match answer.data {
        Data::Nothing => Vec::new(),
        Data::Bytes(bytes) => bytes,
        Data::Read(read) => read.to_vec(),
    }
}

/// A CDB of 16 bytes with flags, an address and a length.
fn long(code: u8, flags: u8, lba: u64, blocks: u32) -> [u8; 16] {
    let mut cdb = [0; 16];
    (cdb[0], cdb[1]) = (code, flags);
    cdb[2..10].copy_from_slice(&lba.to_be_bytes());
    cdb[10..14].copy_from_slice(&blocks.to_be_bytes());
    cdb
}

fn short(code: u8, flags: u8, lba: u32, blocks: u16) -> [u8; 10] {
    let mut cdb = [0; 10];
    (cdb[0], cdb[1]) = (code, flags);
    cdb[2..6].copy_from_slice(&lba.to_be_bytes());
    cdb[7..9].copy_from_slice(&blocks.to_be_bytes());
    cdb
}

#[test]
fn what_is_to_be_stable_ends_when_that_is_so_and_the_rest_at_once() {
    let rig = rig();
    let begin = |flags, lba| rig.target.begin(&rig.ports[0], 0, &long(0x8a, flags, lba, 1), &[7; 512]);
    assert!(matches!(begin(0, 0), Begun::Ended(_)));
    let begun = begin(0x08, 1);
    // Others read it already.
    assert_eq!(rig.good(&long(0x88, 0, 0, 2), &[]), [7; 1024]);
    assert!(matches!(begun, Begun::Promised(..)));
    assert_eq!(begun.end().status, Status::Good);
    let answer = Answer { status: Status::Good, sense: None, data: Data::Nothing, taken: 512 };
    let broken = Begun::Promised(answer, Box::new(|| Err(Error::NoSpace))).end();
    assert_eq!((broken.status, broken.taken), (Status::CheckCondition, 0));
    assert!(matches!(begin(0x08, BLOCKS), Begun::Ended(refused) if refused.status == Status::CheckCondition));
}

#[test]
fn what_is_written_is_read_in_every_length_of_command() {
    let rig = rig();
    let mut data = vec![0; 2048];
    Prng::new(3).fill(&mut data);
    rig.good(&long(0x8a, 0x08, 9, 4), &data);
    assert_eq!(rig.good(&short(0x28, 0, 9, 4), &[]), data);
    assert_eq!(rig.good(&[0x08, 0, 0, 9, 4, 0], &[]), data);
    assert_eq!(rig.good(&[0xa8, 0, 0, 0, 0, 9, 0, 0, 0, 4, 0, 0], &[]), data);
    rig.good(&[0x0a, 0, 0, 0, 4, 0], &data);
    rig.good(&[0xaa, 0, 0, 0, 0, 20, 0, 0, 0, 4, 0, 0], &data);
    rig.good(&short(0x2a, 0, 100, 4), &data);
    for lba in [0, 20, 100] {
        assert_eq!(rig.good(&long(0x88, 0, lba, 4), &[]), data);
        rig.good(&long(0x8f, 0x02, lba, 4), &data);
    }
    // None means 256 blocks in the shortest, and none in the others.
    assert_eq!(rig.good(&[0x08, 0, 0, 0, 0, 0], &[]).len(), 256 * 512);
    assert_eq!(rig.good(&short(0x28, 0, 0, 0), &[]), [0_u8; 0]);
    rig.good(&short(0x35, 0, 0, 0), &[]);
}

#[test]
fn places_past_the_end_and_what_is_not_kept_are_refused() {
    let rig = rig();
    let past = (0x5, 0x2100);
    assert_eq!(rig.refused(&long(0x88, 0, BLOCKS - 1, 2), &[]), past);
    assert_eq!(rig.refused(&long(0x8a, 0, u64::MAX, 2), &[0; 1024]), past);
    assert_eq!(rig.refused(&long(0x88, 0, BLOCKS + 1, 0), &[]), past);
    let field = (0x5, 0x2400);
    assert_eq!(rig.refused(&long(0x88, 0x20, 0, 1), &[]), field);
    assert_eq!(rig.refused(&long(0x8a, 0x20, 0, 1), &[0; 512]), field);
    assert_eq!(rig.refused(&[0xff, 0, 0, 0, 0, 0], &[]), (0x5, 0x2000));
    assert_eq!(rig.refused(&[0x9e, 0x1f, 0, 0, 0, 0], &[]), field);
    rig.volume.set_readonly(true);
    assert_eq!(rig.refused(&short(0x2a, 0, 0, 1), &[0; 512]), (0x7, 0x2700));
    rig.volume.set_readonly(false);
    rig.volume.fail(Some(Error::NoSpace));
    assert_eq!(rig.refused(&short(0x2a, 0, 0, 1), &[0; 512]), (0x7, 0x2707));
    rig.volume.fail(Some(Error::Suspended));
    assert_eq!(rig.by(0, &short(0x2a, 0, 0, 1), &[0; 512]).status, Status::Busy);
}

#[test]
fn compare_and_write_writes_only_what_it_found() {
    let rig = rig();
    let mut cdb = long(0x89, 0, 5, 0);
    cdb[13] = 1;
    let both = |old: u8, new: u8| [vec![old; 512], vec![new; 512]].concat();
    rig.good(&cdb, &both(0, 1));
    let answer = rig.by(0, &cdb, &both(0, 2));
    assert_eq!((answer.status, answer.sense), (Status::CheckCondition, Some(Sense::miscompare(0))));
    let mut almost = both(1, 2);
    almost[300] = 9;
    assert_eq!(rig.by(0, &cdb, &almost).sense, Some(Sense::miscompare(300)));
    rig.good(&cdb, &both(1, 2));
    assert_eq!(rig.good(&short(0x28, 0, 5, 1), &[]), [2; 512]);
    rig.good(&long(0x8b, 0, 5, 1), &[0x81; 512]);
    assert_eq!(rig.good(&short(0x28, 0, 5, 1), &[]), [0x83; 512]);
}

#[test]
fn what_is_atomic_comes_whole_and_within_the_limits_told() {
    let rig = rig();
    let atomic = |lba: u64, boundary: u16, blocks: u16| {
        let mut cdb = long(0x9c, 0, lba, 0);
        cdb[10..12].copy_from_slice(&boundary.to_be_bytes());
        cdb[12..14].copy_from_slice(&blocks.to_be_bytes());
        cdb
    };
    let limits = rig.good(&[0x12, 1, 0xb0, 0, 64, 0], &[]);
    let most = u32::from_be_bytes(limits[44..48].try_into().unwrap()) as u16;
    assert_eq!((most, &limits[48..64]), (2048, &[0; 16][..]));
    let data = vec![5; (usize::from(most) + 1) * 512];
    rig.good(&atomic(3, 0, most), &data[512..]);
    assert_eq!(rig.good(&short(0x28, 0, 2, most + 2), &[]), [&[0; 512], &data[512..], &[0; 512]].concat());
    rig.good(&atomic(3, 0, 0), &[]);
    let field = (0x5, 0x2400);
    assert_eq!(rig.refused(&atomic(0, 0, most + 1), &data), field);
    assert_eq!(rig.refused(&atomic(0, 8, 8), &data), field);
    assert_eq!(rig.refused(&atomic(0, 0, 8), &data[..7 * 512]), field, "a part of it is nothing");
    assert_eq!(rig.refused(&atomic(BLOCKS - 1, 0, 2), &data), (0x5, 0x2100));
}

#[test]
fn space_is_given_back_and_its_state_is_told() {
    let rig = rig();
    rig.good(&long(0x8a, 0, 0, 64), &[7; 64 * 512]);
    let status = |lba: u64| {
        let bytes = rig.good(&long(0x9e, 0x12, lba, 64), &[]);
        let one = &bytes[8..24];
        (u32::from_be_bytes([one[8], one[9], one[10], one[11]]), one[12])
    };
    assert_eq!(status(0), (64, 0));
    // Blocks 16 to 47: two of the volume's.
    let mut list = vec![0, 22, 0, 16, 0, 0, 0, 0];
    list.extend(16u64.to_be_bytes());
    list.extend(32u32.to_be_bytes());
    list.extend([0; 4]);
    let mut unmap = short(0x42, 0, 0, 24);
    rig.good(&unmap, &list);
    assert_eq!((status(0), status(16), status(48)), ((16, 0), (32, 1), (16, 0)));
    assert_eq!(rig.good(&short(0x28, 0, 16, 1), &[]), [0; 512]);
    unmap[8] = 7;
    assert_eq!(rig.refused(&unmap, &list), (0x5, 0x1a00));
    rig.good(&long(0x93, 0x08, 0, 16), &[0; 512]);
    assert_eq!(status(0), (48, 1));
    rig.good(&short(0x41, 0, 0, 16), &[5; 512]);
    assert_eq!(rig.good(&short(0x28, 0, 15, 1), &[]), [5; 512]);
    rig.good(&long(0x93, 0x09, 0, 16), &[]);
    assert_eq!(status(0).1, 1);
    assert_eq!(rig.refused(&long(0x93, 0, 0, 0), &[0; 512]), (0x5, 0x2400));
    // UNMAP does not make zeroes of what is none: it is written.
    rig.good(&long(0x93, 0x08, 4, 4), &[6; 512]);
    assert_eq!(rig.good(&short(0x28, 0, 7, 1), &[]), [6; 512]);
    assert_eq!(status(0).1, 0);
}

#[test]
fn a_wrong_option_is_named_by_its_place() {
    let rig = rig();
    // TEST UNIT READY has no service actions, MAINTENANCE IN has; there is no option 7.
    for (options, code) in [(2, 0x00), (1, 0xa3), (7, 0x00)] {
        let mut cdb = [0; 12];
        (cdb[0], cdb[1], cdb[2], cdb[3], cdb[9]) = (0xa3, 0x0c, options, code, 0xff);
        let sense = rig.by(0, &cdb, &[]).sense.unwrap().encode();
        assert_eq!((sense[2], &sense[12..]), (0x5, &[0x24, 0, 0, 0xca, 0, 2][..]), "{options} {code:02x}");
    }
}

#[test]
fn the_default_self_test_is_the_only_diagnostic() {
    let rig = rig();
    let diagnose = |flags: u8, len: u8| rig.by(0, &[0x1d, flags, 0, 0, len, 0], &vec![0; len.into()]);
    // With SELFTEST; with PF, or nothing, and no page; units may be taken offline for it.
    for flags in [0x04, 0x07, 0x14, 0x10, 0x00] {
        assert_eq!(diagnose(flags, 0).status, Status::Good, "{flags:02x}");
    }
    // Short and extended tests in the back- and foreground, and their end; codes that nobody
    // defined; pages.
    let others = [0x20, 0x40, 0x80, 0xa0, 0xc0, 0x60, 0xe0, 0x24].map(|flags| (flags, 0));
    for (flags, len) in others.into_iter().chain([(0x10, 4), (0x00, 4), (0x04, 4)]) {
        let sense = diagnose(flags, len).sense.unwrap();
        assert_eq!((sense.key, sense.code), (0x5, 0x2400), "{flags:02x} {len}");
    }
    // Who has reserved the unit is not disturbed.
    rig.good(&[0x16, 0, 0, 0, 0, 0], &[]);
    assert_eq!(rig.by(1, &[0x1d, 4, 0, 0, 0, 0], &[]).status, Status::ReservationConflict);
    assert_eq!(diagnose(0x04, 0).status, Status::Good);
}

#[test]
fn a_unit_says_what_it_is() {
    let rig = rig();
    let vital = |page: u8| rig.good(&[0x12, 1, page, 0, 0xff, 0], &[]);
    assert_eq!(vital(0)[4..], [0x00, 0x80, 0x83, 0x86, 0x88, 0x8f, 0xb0, 0xb1, 0xb2]);
    for page in &vital(0)[4..] {
        let bytes = vital(*page);
        assert_eq!((bytes[1], usize::from(bytes[3]) + 4), (*page, bytes.len()), "{page:02x}");
    }
    assert_eq!(rig.good(&[0x12, 0, 0, 0, 36, 0], &[])[8..16], *b"CISTERN ");
    let capacity = rig.good(&long(0x9e, 0x10, 0, 32), &[]);
    assert_eq!((&capacity[..8], capacity[13], capacity[14]), (&(BLOCKS - 1).to_be_bytes()[..], 4, 0xc0));
    let luns = rig.good(&[0xa0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0], &[]);
    assert_eq!((luns.len(), luns[3]), (16, 8));
    let elsewhere = rig.target.execute(&rig.ports[0], 1 << 48, &[0x12, 0, 0, 0, 36, 0], &[]);
    assert!(matches!(elsewhere.data, Data::Bytes(bytes) if bytes[0] == 0x7f));
    assert_eq!(rig.good(&[0x37, 0, 0x1d, 0, 0, 0, 0, 0, 32, 0], &[]), [0, 0x1d, 0, 0]);
    assert_eq!(rig.good(&[0xb7, 0x0d, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0], &[]), [0, 0x0d, 0, 0, 0, 0]);
    rig.volume.resize(1 << 20);
    assert_eq!(rig.refused(&[0; 6], &[]), (0x6, 0x2a09));
    rig.good(&[0; 6], &[]);
}

#[test]
fn write_protection_is_the_one_mode_that_changes() {
    let rig = rig();
    let page = rig.good(&[0x1a, 8, 0x0a, 0, 255, 0], &[]);
    let mut list = vec![0; 4];
    list.extend(&page[4..]);
    list[4 + 4] |= 0x08;
    rig.good(&[0x15, 0x10, 0, 0, 16, 0], &list);
    assert_eq!(rig.refused(&short(0x2a, 0, 0, 1), &[1; 512]), (0x7, 0x2700));
    assert_eq!(rig.by(1, &[0; 6], &[]).sense, Some(Sense::new(0x6, 0x2a01)));
    list[4 + 4] &= !0x08;
    rig.good(&[0x15, 0x10, 0, 0, 16, 0], &list);
    rig.good(&short(0x2a, 0, 0, 1), &[1; 512]);
    // Cut short, it changes nothing; only a head asks for nothing.
    list[4 + 4] |= 0x08;
    for len in (1..16).filter(|len| *len != 4) {
        let cut = &list[..usize::from(len)];
        assert_eq!(rig.refused(&[0x15, 0x10, 0, 0, len, 0], cut), (0x5, 0x1a00), "{len}");
    }
    rig.good(&short(0x2a, 0, 0, 1), &[1; 512]);
    list[4 + 2] |= 0x80;
    assert_eq!(rig.refused(&[0x15, 0x10, 0, 0, 16, 0], &list), (0x5, 0x2600));
}

fn persistent(action: u8, kind: u8) -> [u8; 10] {
    [0x5f, action, kind, 0, 0, 0, 0, 0, 24, 0]
}

fn keys(key: u64, new: u64) -> Vec<u8> {
    let mut list = [key.to_be_bytes(), new.to_be_bytes()].concat();
    list.resize(24, 0);
    list
}

/// What a reservation of each type lets another port do: write, read; and whether that must be
/// registered.
#[test]
fn reservations_let_through_what_their_type_says() {
    let cases = [
        (1, false, true),
        (3, false, false),
        (5, true, true),
        (6, true, true),
        (7, true, true),
        (8, true, true),
    ];
    for (kind, registered_writes, registered_reads) in cases {
        let rig = rig();
        rig.good(&persistent(0, 0), &keys(0, 11));
        rig.good(&persistent(1, kind), &keys(11, 0));
        let tries = |rig: &Rig| {
            let write = rig.by(1, &short(0x2a, 0, 0, 1), &[1; 512]).status == Status::Good;
            let read = rig.by(1, &short(0x28, 0, 0, 1), &[]).status == Status::Good;
            (write, read)
        };
        assert_eq!(tries(&rig), (false, matches!(kind, 1 | 5 | 7)), "type {kind}, not registered");
        assert_eq!(rig.by(1, &persistent(0, 0), &keys(0, 22)).status, Status::Good);
        assert_eq!(tries(&rig), (registered_writes, registered_reads), "type {kind}, registered");
        // The other takes over, and this one hears of it.
        assert_eq!(
            rig.by(1, &persistent(4, 1), &keys(22, if kind >= 7 { 0 } else { 11 })).status,
            Status::Good
        );
        assert_eq!(rig.refused(&[0; 6], &[]), (0x6, 0x2a05), "type {kind}");
        assert_eq!(rig.by(0, &short(0x2a, 0, 0, 1), &[1; 512]).status, Status::ReservationConflict);
        let full = bytes(rig.by(1, &[0x5e, 3, 0, 0, 0, 0, 0, 1, 0, 0], &[]));
        assert_eq!((full[8 + 7], full[8 + 12], full[8 + 13]), (22, 1, 1), "type {kind}");
    }
}

/// Designators of page 83, from their second byte on, and what they say.
fn designators(page: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let (mut rest, mut found) = (&page[4..], Vec::new());
    while let [_, kind, _, len, after @ ..] = rest {
        let (name, after) = after.split_at((*len).into());
        found.push((*kind, name.to_vec()));
        rest = after;
    }
    found
}

/// Each path says which it is; all of them are in one group, and one unit has them all.
#[test]
fn paths_are_told_apart() {
    let rig = rig();
    let through = |port: u16, cdb: &[u8]| {
        let nexus = Nexus { port, ..rig.ports[0].clone() };
        bytes(rig.target.execute(&nexus, 0, cdb, &[]))
    };
    let (first, other) = (through(1, &[0x12, 1, 0x83, 1, 0, 0]), through(7, &[0x12, 1, 0x83, 1, 0, 0]));
    let (first, other) = (designators(&first), designators(&other));
    assert_eq!(first[..2], other[..2], "the unit's own names");
    assert_eq!((&first[2], &other[2]), (&(0x94, vec![0, 0, 0, 1]), &(0x94, vec![0, 0, 0, 7])));
    assert_eq!((&other[3], &other[4]), (&(0x95, vec![0, 0, 0, 1]), &(0x98, b"iqn.t,t,0x0007\0\0".to_vec())));
    assert_eq!(other[5], (0xa8, b"iqn.t\0\0\0".to_vec()));
    assert_eq!(through(1, &[0x12, 0, 0, 0, 36, 0])[6], 0x10);
    let groups = through(1, &[0xa3, 0x0a, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(groups, [0, 0, 0, 16, 0, 1, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 7]);
    let ports = through(1, &[0x12, 1, 0x88, 1, 0, 0]);
    assert_eq!((ports.len(), ports[7], ports[4 + 12 + 20 + 3]), (4 + 2 * 32, 1, 7));
}

/// Who registers by one path is nobody by the other.
#[test]
fn reservations_are_of_paths() {
    let rig = rig();
    let other = Nexus { port: 7, ..rig.ports[0].clone() };
    rig.target.unit(0).unwrap().join(&other, Weak::<()>::new());
    rig.target.execute(&other, 0, &[0; 6], &[]);
    rig.good(&persistent(0, 0), &keys(0, 11));
    rig.good(&persistent(1, 3), &keys(11, 0));
    let read = |nexus: &Nexus| rig.target.execute(nexus, 0, &short(0x28, 0, 0, 1), &[]).status;
    assert_eq!((read(&rig.ports[0]), read(&other)), (Status::Good, Status::ReservationConflict));
    assert_eq!(rig.target.execute(&other, 0, &persistent(0, 0), &keys(0, 11)).status, Status::Good);
    let full = rig.good(&[0x5e, 3, 0, 0, 0, 0, 0, 1, 0, 0], &[]);
    let len = 24 + u32::from_be_bytes([full[28], full[29], full[30], full[31]]) as usize;
    let ids = [&full[8..], &full[8 + len..]].map(|one| (one[12], one[18], one[19]));
    assert_eq!(ids, [(1, 0, 1), (0, 0, 7)]);
}

/// A parameter list with TransportIDs of ports, and the command for it.
fn naming(action: u8, head: &[u8], named: &[&str]) -> ([u8; 10], Vec<u8>) {
    let ids =
        named.iter().flat_map(|port| crate::persistent::parameters::transport_id(port)).collect::<Vec<u8>>();
    let mut list = head.to_vec();
    let at = if action == 7 {
        20
    } else {
        list.extend([0; 4]);
        24
    };
    list[at..at + 4].copy_from_slice(&(ids.len() as u32).to_be_bytes());
    list.extend(ids);
    let mut cdb = persistent(action, 0);
    cdb[5..9].copy_from_slice(&(list.len() as u32).to_be_bytes());
    (cdb, list)
}

/// Key, holder, port of the target, and port of the initiator of all that are registered.
fn registered(rig: &Rig) -> Vec<(u8, u8, u8, String)> {
    let full = rig.good(&[0x5e, 3, 0, 0, 0, 0, 0, 16, 0, 0], &[]);
    let (mut rest, mut found) = (&full[8..], Vec::new());
    while !rest.is_empty() {
        let id = u32::from_be_bytes(rest[20..24].try_into().unwrap()) as usize;
        let name = String::from_utf8(rest[28..24 + id].to_vec()).unwrap();
        found.push((rest[7], rest[12], rest[19], name.trim_end_matches('\0').to_owned()));
        rest = &rest[24 + id..];
    }
    found
}

#[test]
fn ports_register_for_others_and_for_all_ports_of_the_target() {
    let rig = rig();
    let all = |key: u64, new: u64| {
        let mut list = keys(key, new);
        list[20] = 4;
        list
    };
    let [a, b] = ["iqn.a,i,0x01", "iqn.b,i,0x02"];
    let own = |key: u8| vec![(key, 0, 1, a.to_owned()), (key, 0, 7, a.to_owned())];
    rig.good(&persistent(0, 0), &all(0, 11));
    assert_eq!(registered(&rig), own(11));
    rig.good(&persistent(6, 0), &all(0, 12));
    assert_eq!(registered(&rig), own(12));
    rig.good(&persistent(0, 0), &all(12, 0));
    assert_eq!(registered(&rig), []);
    // Others by the names of their ports, and all of them or none.
    let mut specific = keys(0, 5);
    specific[20] = 8;
    let (cdb, list) = naming(0, &specific, &["iqn.c,i,0x3", "iqn.d,i,0x000000000004"]);
    let mut cut = list.clone();
    cut[28 + 3] = 8;
    assert_eq!(rig.refused(&cdb, &cut), (0x5, 0x2600));
    let mut device = naming(0, &specific, &["iqn.q"]);
    device.1[28] = 5;
    assert_eq!(rig.refused(&device.0, &device.1), (0x5, 0x2600), "nobody knows a port of it");
    assert_eq!(rig.refused(&cdb, &list[..list.len() - 1]), (0x5, 0x1a00));
    assert_eq!(rig.refused(&[&[0x5f, 6], &cdb[2..]].concat(), &list), (0x5, 0x2600));
    assert_eq!(registered(&rig), []);
    rig.good(&cdb, &list);
    let [c, d] = ["iqn.c,i,0x000000000003", "iqn.d,i,0x000000000004"];
    let three = [a, c, d].map(|name| (5, 0, 1, name.to_owned()));
    assert_eq!(registered(&rig), three);
    let mut again = list;
    again[7] = 5;
    assert_eq!(rig.refused(&cdb, &again), (0x5, 0x2400), "who is registered names nobody");
    // Who is known by a session is found by the name of the initiator.
    let mut device = naming(0, &specific, &["iqn.b"]);
    device.1[28] = 5;
    rig.good(&persistent(3, 0), &keys(5, 0));
    rig.good(&device.0, &device.1);
    assert_eq!(registered(&rig), [(5, 0, 1, a.to_owned()), (5, 0, 1, b.to_owned())]);
}

#[test]
fn a_reservation_is_handed_over() {
    let rig = rig();
    let [a, b] = ["iqn.a,i,0x01", "iqn.b,i,0x02"];
    let list = |new: u8, flags: u8, port: u8| {
        let mut list = keys(11, new.into());
        (list[17], list[19]) = (flags, port);
        list
    };
    // The name of a port is as in logins: with all digits.
    let to = |list: &[u8], name: &str| naming(7, list, &[name]);
    let (cdb, first) = to(&list(22, 0, 7), b);
    assert_eq!(rig.by(0, &cdb, &first).status, Status::ReservationConflict, "not registered");
    rig.good(&persistent(0, 0), &keys(0, 11));
    assert_eq!(rig.refused(&cdb, &first), (0x5, 0x2400), "nothing is reserved");
    rig.good(&persistent(1, 3), &keys(11, 0));
    for (list, name) in [(list(0, 0, 7), b), (list(22, 0, 9), b), (list(22, 0, 7), "iqn.x")] {
        let (cdb, list) = to(&list, name);
        assert_eq!(rig.refused(&cdb, &list), (0x5, 0x2600));
    }
    rig.good(&cdb, &first);
    let b = "iqn.b,i,0x000000000002".to_owned();
    assert_eq!(registered(&rig), [(11, 0, 1, a.to_owned()), (22, 1, 7, b.clone())]);
    assert_eq!(rig.by(0, &short(0x28, 0, 0, 1), &[]).status, Status::ReservationConflict);
    assert_eq!(rig.by(0, &cdb, &first).status, Status::ReservationConflict, "it is another's");
    rig.good(&persistent(4, 3), &keys(11, 22));
    let (cdb, away) = to(&list(33, 2, 1), &b);
    rig.good(&cdb, &away);
    assert_eq!(registered(&rig), [(33, 1, 1, b)]);
}

/// Who was shut out must not come in because nobody knows any more that he was.
#[test]
fn a_volume_whose_reservations_are_not_known_is_not_served() {
    let volume = rig().volume;
    let open = || open(&volume).map(drop);
    assert_eq!(open(), Ok(()));
    volume.fail(Some(Error::Corrupt { object: 1, block: 2 }));
    assert_eq!(open(), Err(Error::Corrupt { object: 1, block: 2 }));
    volume.fail(None);
    volume.set_note("cistern:reservations", "77 9=iqn.a 1=iqn.a").expect("noted");
    assert!(matches!(open(), Err(Error::Invalid(_))));
    volume.set_note("cistern:reservations", "").expect("noted");
    assert_eq!(open(), Ok(()));
}

/// With APTPL a new unit over the same volume knows all of it; without, nothing.
#[test]
fn reservations_outlive_the_loss_of_power_if_they_are_to() {
    let rig = rig();
    let persistent_keys = |key: u64, new: u64| {
        let mut list = keys(key, new);
        list[20] = 1;
        list
    };
    let again = |rig: &Rig| {
        let unit = open(&rig.volume).expect("its reservations are known");
        joined(Rig { volume: rig.volume.clone(), target: target(unit), ports: rig.ports.clone() })
    };
    rig.good(&persistent(0, 0), &persistent_keys(0, 11));
    rig.good(&persistent(1, 5), &keys(11, 0));
    let rig = again(&rig);
    let capabilities = rig.good(&[0x5e, 2, 0, 0, 0, 0, 0, 0, 8, 0], &[]);
    assert_eq!(capabilities[2..4], [0x0d, 0x81]);
    assert_eq!(rig.by(1, &short(0x2a, 0, 0, 1), &[1; 512]).status, Status::ReservationConflict);
    rig.good(&short(0x2a, 0, 0, 1), &[1; 512]);
    // What cannot be remembered does not happen.
    rig.volume.fail(Some(Error::Suspended));
    assert_eq!(rig.by(1, &persistent(0, 0), &persistent_keys(0, 22)).status, Status::Busy);
    rig.volume.fail(None);
    assert_eq!(rig.by(1, &short(0x2a, 0, 0, 1), &[1; 512]).status, Status::ReservationConflict);
    assert_eq!(rig.by(1, &persistent(0, 0), &keys(0, 22)).status, Status::Good);
    let rig = again(&rig);
    assert_eq!(rig.by(1, &short(0x2a, 0, 0, 1), &[1; 512]).status, Status::Good);
}

#[test]
fn who_writes_is_warned_before_there_is_no_space() {
    let rig = rig();
    rig.volume.set_capacity(1 << 20);
    let log = rig.good(&[0x4d, 0, 0x4c, 0, 0, 0, 0, 0, 64, 0], &[]);
    assert_eq!(log[4..], [0, 1, 3, 8, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 3, 8, 0, 0, 0, 0, 1, 0, 0, 0]);
    let page = rig.good(&[0x5a, 8, 0x1c, 2, 0, 0, 0, 0, 64, 0], &[]);
    assert_eq!((page.len(), &page[8..12], page[24..26].to_vec()), (32, &[0x5c, 2, 0, 20][..], vec![0x80, 1]));
    // A sixteenth is left, and the volume is larger than what there is.
    for at in 0..120_u64 {
        rig.good(&long(0x8a, 0, at * 16, 16), &[1; 16 * 512]);
    }
    let warning = (0x6, 0x3807);
    let first = (0..64_u64).find_map(|at| rig.by(0, &long(0x8a, 0, at * 16, 16), &[1; 16 * 512]).sense);
    assert_eq!(first.map(|sense| (sense.key, sense.code)), Some(warning));
    assert_eq!(rig.by(1, &[0; 6], &[]).sense.map(|sense| (sense.key, sense.code)), Some(warning));
    (0..130_u64).for_each(|at| drop(rig.good(&long(0x8a, 0, at % 64 * 16, 16), &[1; 16 * 512])));
}

#[test]
fn reserve_of_six_bytes_ends_with_its_session() {
    let rig = rig();
    rig.good(&[0x16, 0, 0, 0, 0, 0], &[]);
    assert_eq!(rig.by(1, &[0; 6], &[]).status, Status::ReservationConflict);
    assert_eq!(rig.by(1, &[0x17, 0, 0, 0, 0, 0], &[]).status, Status::Good);
    assert_eq!(rig.by(1, &short(0x28, 0, 0, 1), &[]).status, Status::ReservationConflict);
    let unit = rig.target.unit(0).unwrap();
    let (none, another): (Weak<dyn Tasks>, Arc<dyn Tasks>) = (Weak::<()>::new(), Arc::new(()));
    unit.leave(&rig.ports[0], &Arc::downgrade(&another));
    assert_eq!(rig.by(1, &[0; 6], &[]).status, Status::ReservationConflict, "that was not its session");
    unit.leave(&rig.ports[0], &none);
    assert_eq!(rig.by(1, &[0; 6], &[]).status, Status::Good);
    unit.join(&rig.ports[0], none);
    assert_eq!(rig.refused(&[0; 6], &[]), (0x6, 0x2900));
    unit.reset(&rig.ports[0]);
    for port in 0..2 {
        assert_eq!(rig.by(port, &[0; 6], &[]).sense, Some(Sense::new(0x6, 0x2903)), "of all paths");
    }
}

/// Whatever comes gives an answer.
#[test]
fn any_bytes_are_a_command_that_ends() {
    let (rig, mut rng) = (rig(), Prng::new(12));
    let codes: Vec<u8> = crate::opcodes::OPCODES.iter().map(|opcode| opcode.code).collect();
    for _ in 0..50_000 {
        let mut cdb = vec![0; rng.below(18) as usize];
        rng.fill(&mut cdb);
        if let Some(first) = cdb.first_mut()
            && rng.chance(9, 10)
        {
            *first = codes[rng.below(codes.len() as u64) as usize];
        }
        // Small numbers reach further.
        if rng.chance(2, 3) {
            cdb.iter_mut().skip(2).for_each(|byte| *byte = if rng.chance(1, 4) { *byte & 31 } else { 0 });
        }
        let mut out = vec![0; rng.below(2048) as usize];
        rng.fill(&mut out);
        let answer = rig.by(rng.below(2) as usize, &cdb, &out);
        assert_eq!(answer.status == Status::CheckCondition, answer.sense.is_some());
        assert!(answer.data.len() <= 8 << 20);
    }
}
