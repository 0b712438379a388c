//! A unit over a volume in memory: what commands do, what is refused with which sense, who is let through.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine_api::{Error, VolumeId};
use model::MemVolume;
use stdx::prng::Prng;

use crate::{Answer, Data, Identity, LogicalUnit, Port, Sense, Status, Target};

const BLOCKS: u64 = 4096;
const VOLUME_BLOCK: usize = 8192;

struct Rig {
    volume: Arc<MemVolume>,
    target: Target,
    ports: [Port; 2],
}

fn rig() -> Rig {
    let id = VolumeId { pool_guid: 0x1122_3344_5566, dataset_guid: 0x77 };
    let volume = MemVolume::new(id, (BLOCKS * 512) as usize, VOLUME_BLOCK);
    let identity = Identity { id: 0x77, serial: "0077".into(), name: "tank/v".into() };
    let unit = LogicalUnit::new(volume.clone(), identity);
    let ports: [Port; 2] = ["iqn.a,i,0x01".into(), "iqn.b,i,0x02".into()];
    ports.iter().for_each(|port| unit.join(port));
    Rig { volume, target: Target::new(BTreeMap::from([(0, unit)])), ports }
}

impl Rig {
    fn by(&self, port: usize, cdb: &[u8], out: &[u8]) -> Answer {
        self.target.execute(&self.ports[port], 0, cdb, out)
    }

    #[track_caller]
    fn good(&self, cdb: &[u8], out: &[u8]) -> Vec<u8> {
        let answer = self.by(0, cdb, out);
        assert_eq!((answer.status, answer.sense), (Status::Good, None), "{cdb:02x?}");
        match answer.data {
            Data::Nothing => Vec::new(),
            Data::Bytes(bytes) => bytes,
            Data::Read(read) => read.to_vec(),
        }
    }

    #[track_caller]
    fn refused(&self, cdb: &[u8], out: &[u8]) -> (u8, u16) {
        let answer = self.by(0, cdb, out);
        assert_eq!(answer.status, Status::CheckCondition, "{cdb:02x?}");
        let Sense { key, code, .. } = answer.sense.unwrap();
        (key, code)
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
    assert_eq!(rig.good(&short(0x28, 0, 0, 0), &[]), []);
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
}

#[test]
fn a_unit_says_what_it_is() {
    let rig = rig();
    let vital = |page: u8| rig.good(&[0x12, 1, page, 0, 0xff, 0], &[]);
    assert_eq!(vital(0)[4..], [0x00, 0x80, 0x83, 0x86, 0x8f, 0xb0, 0xb1, 0xb2]);
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

/// What a reservation of each type lets another port do: write, read; and whether that must be registered.
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
        let full = match rig.by(1, &[0x5e, 3, 0, 0, 0, 0, 0, 1, 0, 0], &[]).data {
            Data::Bytes(bytes) => bytes,
            other => panic!("{other:?}"),
        };
        assert_eq!((full[8 + 7], full[8 + 12], full[8 + 13]), (22, 1, 1), "type {kind}");
    }
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
        let identity = Identity { id: 0x77, serial: "0077".into(), name: "tank/v".into() };
        let unit = LogicalUnit::new(rig.volume.clone(), identity);
        rig.ports.iter().for_each(|port| unit.join(port));
        Rig {
            volume: rig.volume.clone(),
            target: Target::new(BTreeMap::from([(0, unit)])),
            ports: rig.ports.clone(),
        }
    };
    rig.good(&persistent(0, 0), &persistent_keys(0, 11));
    rig.good(&persistent(1, 5), &keys(11, 0));
    let rig = again(&rig);
    let capabilities = rig.good(&[0x5e, 2, 0, 0, 0, 0, 0, 0, 8, 0], &[]);
    assert_eq!(capabilities[2..4], [0x01, 0x81]);
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
    unit.leave(&rig.ports[0]);
    assert_eq!(rig.by(1, &[0; 6], &[]).status, Status::Good);
    unit.reset(&rig.ports[0]);
    assert_eq!(rig.by(1, &[0; 6], &[]).sense, Some(Sense::new(0x6, 0x2903)));
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
