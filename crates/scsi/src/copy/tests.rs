//! Copies between two units in memory: what is copied, what is refused with which sense, and what
//! is told of it afterwards.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use engine_api::{Error, Seek, Volume, VolumeId};
use model::MemVolume;

use crate::{Answer, Data, Identity, LogicalUnit, Nexus, Status, Target};

const BLOCKS: u64 = 4096;
const VOLUME_BLOCK: usize = 8192;

struct Rig {
    volumes: [Arc<MemVolume>; 2],
    target: Target,
    port: Nexus,
}

fn rig() -> Rig {
    let volume = |number: u64| {
        let id = VolumeId { pool_guid: 1, dataset_guid: number };
        MemVolume::new(id, (BLOCKS * 512) as usize, VOLUME_BLOCK)
    };
    let volumes = [volume(0), volume(1)];
    let unit = |number: u16| {
        let identity = Identity { id: 7 + u128::from(number), serial: format!("{number}"), name: "v".into() };
        (
            number,
            LogicalUnit::open(volumes[usize::from(number)].clone(), identity)
                .expect("its reservations are known"),
        )
    };
    let target = Target::new("iqn.t".into(), Vec::new(), BTreeMap::from([unit(0), unit(1)]));
    let port = Nexus::new("iqn.a,i,0x01", 1);
    for unit in target.units() {
        unit.join(&port, Weak::<()>::new());
        // It has that to say first.
        unit.begin(&target, &port, &[0; 6], &[]);
    }
    Rig { volumes, target, port }
}

impl Rig {
    fn named(&self, lun: u64, kind: usize) -> Vec<u8> {
        let name = &self.target.unit(lun << 48).unwrap().identity.names()[kind];
        let mut unit = vec![0; 32];
        unit[0] = 0xe4;
        (unit[4], unit[5], unit[7]) = (name.code_set, name.kind, name.name.len() as u8);
        unit[8..8 + name.name.len()].copy_from_slice(&name.name);
        unit[30] = 2;
        unit
    }

    fn run(&self, cdb: &[u8], list: &[u8]) -> Answer {
        self.target.execute(&self.port, 0, cdb, list)
    }

    fn copy(&self, list: &[u8]) -> Result<(), (u8, u16)> {
        let mut cdb = [0; 16];
        cdb[0] = 0x83;
        cdb[10..14].copy_from_slice(&(list.len() as u32).to_be_bytes());
        let answer = self.run(&cdb, list);
        match answer.sense {
            Some(sense) => Err((sense.key, sense.code)),
            None => {
                assert_eq!((answer.status, answer.taken), (Status::Good, list.len()));
                Ok(())
            }
        }
    }

    /// State, segments, bytes.
    fn status(&self, list: u8) -> Option<(u8, u8, u32)> {
        let answer = self.run(&[0x84, 0, list, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0], &[]);
        let Data::Bytes(bytes) = answer.data else { return None };
        assert_eq!((bytes.len(), bytes[7]), (12, 0));
        Some((bytes[4], bytes[6], u32::from_be_bytes([bytes[8], bytes[9], bytes[10], bytes[11]])))
    }
}

fn segment(units: (u16, u16), blocks: u16, from: u64, to: u64) -> Vec<u8> {
    let mut bytes = vec![0x02, 0, 0, 24];
    bytes.extend([units.0.to_be_bytes(), units.1.to_be_bytes()].concat());
    bytes.extend([0, 0]);
    bytes.extend(blocks.to_be_bytes());
    bytes.extend([from.to_be_bytes(), to.to_be_bytes()].concat());
    bytes
}

fn list(head: (u8, u8), units: &[Vec<u8>], segments: &[Vec<u8>]) -> Vec<u8> {
    let (units, segments) = (units.concat(), segments.concat());
    let mut bytes = vec![0; 16];
    (bytes[0], bytes[1]) = (head.0, head.1 << 3);
    bytes[2..4].copy_from_slice(&(units.len() as u16).to_be_bytes());
    bytes[8..12].copy_from_slice(&(segments.len() as u32).to_be_bytes());
    [bytes, units, segments].concat()
}

#[test]
fn what_is_copied_is_there_and_told_once() {
    let rig = rig();
    rig.volumes[0].write(0, &[3; 64 * 512], engine_api::Stable::Unstable).unwrap();
    rig.volumes[1].write(0, &[9; 256 * 512], engine_api::Stable::Unstable).unwrap();
    let units = [rig.named(0, 0), rig.named(1, 1)];
    let segments = [segment((0, 1), 128, 0, 64), segment((0, 0), 16, 0, 4080)];
    rig.copy(&list((5, 0), &units, &segments)).unwrap();
    let [from, to] = &rig.volumes;
    assert_eq!(to.read(63 * 512, 1024).unwrap().to_vec(), [[9; 512], [3; 512]].concat());
    assert_eq!(to.seek(128 * 512, Seek::Data).unwrap(), 192 * 512, "a hole stays one");
    assert_eq!(from.read(4095 * 512, 512).unwrap().to_vec(), [3; 512]);
    assert_eq!((rig.status(5), rig.status(5)), (Some((1, 2, 144 * 512)), None));
    // Nobody is to be told, or there is no name to ask by.
    rig.copy(&list((6, 2), &units, &segments)).unwrap();
    rig.copy(&list((0, 3), &units, &segments)).unwrap();
    assert_eq!((rig.status(6), rig.status(0)), (None, None));
    // What fails on the way is told as well.
    to.fail(Some(Error::NoSpace));
    assert_eq!(
        rig.copy(&list((7, 0), &units, &[segments[1].clone(), segments[0].clone()])),
        Err((0x7, 0x2707))
    );
    assert_eq!(rig.status(7), Some((2, 1, 16 * 512)));
}

#[test]
fn what_makes_no_sense_copies_nothing() {
    let rig = rig();
    rig.volumes[0].write(0, &[3; 512], engine_api::Stable::Unstable).unwrap();
    let (own, good) = ([rig.named(0, 0)], [segment((0, 0), 1, 0, 8)]);
    let with = |change: &dyn Fn(&mut [u8])| {
        let mut unit = own[0].clone();
        change(&mut unit);
        list((1, 0), &[unit], &good)
    };
    let of = |segments: &[Vec<u8>]| list((1, 0), &own, segments);
    let changed = |at: usize, byte: u8| {
        let mut bad = good[0].clone();
        bad[at] = byte;
        of(&[good[0].clone(), bad])
    };
    let (unreachable, parameter) = ((0xa, 0x0804), (0x5, 0x2600));
    let cut = |len: usize| of(&good)[..len].to_vec();
    let mut inline = of(&good);
    inline[15] = 1;
    inline.push(0);
    for (what, list, sense) in [
        ("half a header", cut(15), (0x5, 0x1a00)),
        ("half a unit", cut(47), (0x5, 0x1a00)),
        ("half a segment", cut(75), (0x5, 0x1a00)),
        ("data in line", inline, (0x5, 0x260b)),
        ("too many units", list((1, 0), &vec![own[0].clone(); 9], &good), (0x5, 0x2606)),
        ("too many segments", of(&vec![good[0].clone(); 17]), (0x5, 0x2608)),
        ("too much", list((1, 0), &vec![own[0].clone(); 9], &vec![good[0].clone(); 17]), (0x5, 0x1a00)),
        ("a port's name", with(&|unit| unit[0] = 0xe0), (0x5, 0x2607)),
        ("a short port's name", list((1, 0), &[vec![0xe0; 20]], &good), (0x5, 0x2607)),
        ("a short unit", list((1, 0), &[own[0][..20].to_vec()], &good), parameter),
        ("longer blocks", with(&|unit| unit[30] = 16), parameter),
        ("nobody", with(&|unit| unit[1] = 0x20), unreachable),
        ("a tape", with(&|unit| unit[1] = 1), (0xa, 0x0d03)),
        ("somebody else", with(&|unit| unit[9] ^= 1), unreachable),
        ("a name too long", with(&|unit| unit[7] = 255), unreachable),
        ("from a tape", changed(0, 0x03), (0x5, 0x2609)),
        ("a short segment", changed(3, 20), parameter),
        ("no such unit", changed(5, 1), unreachable),
        ("past the end", changed(26, 0x10), (0xa, 0x0000)),
        ("a reserved use of the identifier", self::list((1, 1), &own, &good), parameter),
        ("an identifier that is not to be used", self::list((1, 3), &own, &good), parameter),
    ] {
        assert_eq!(rig.copy(&list), Err(sense), "{what}");
        assert_eq!(rig.status(1), None, "{what}");
    }
    assert_eq!(rig.volumes[0].read(8 * 512, 512).unwrap().to_vec(), [0; 512]);
    rig.copy(&[]).unwrap();
}

#[test]
fn what_others_have_reserved_is_out_of_reach() {
    let rig = rig();
    let units = [rig.named(0, 0), rig.named(1, 0)];
    let other = Nexus::new("iqn.b,i,0x02", 1);
    let mine = rig.target.unit(1 << 48).unwrap();
    mine.join(&other, Weak::<()>::new());
    rig.target.execute(&other, 1 << 48, &[0; 6], &[]);
    // Its key stands in one place to be registered, in another to reserve.
    for (action, kind, at) in [(0, 0, 15), (1, 1, 7)] {
        let mut keys = [0; 24];
        keys[at] = 1;
        let cdb = [0x5f, action, kind, 0, 0, 0, 0, 0, 24, 0];
        assert_eq!(rig.target.execute(&other, 1 << 48, &cdb, &keys).status, Status::Good);
    }
    // Write exclusive: it can be read.
    rig.copy(&list((0, 3), &units, &[segment((1, 0), 8, 0, 0)])).unwrap();
    assert_eq!(rig.copy(&list((0, 3), &units, &[segment((0, 1), 8, 0, 0)])), Err((0xa, 0x0804)));
    rig.volumes[0].set_readonly(true);
    assert_eq!(rig.copy(&list((0, 3), &units, &[segment((1, 0), 8, 0, 0)])), Err((0x7, 0x2700)));
}

#[test]
fn limits_are_told_in_both_places() {
    let rig = rig();
    let answer = rig.run(&[0x84, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0], &[]);
    let Data::Bytes(told) = answer.data else { panic!("{answer:?}") };
    assert_eq!(
        (told.len(), told[3], &told[8..12], &told[43..]),
        (46, 42, &[0, 8, 0, 16][..], &[2, 0x02, 0xe4][..])
    );
    let answer = rig.run(&[0x12, 1, 0x8f, 1, 0, 0], &[]);
    let Data::Bytes(page) = answer.data else { panic!("{answer:?}") };
    let mut kinds = Vec::new();
    let mut at = 4;
    while at < page.len() {
        kinds.push(u16::from_be_bytes([page[at], page[at + 1]]));
        at += 4 + usize::from(u16::from_be_bytes([page[at + 2], page[at + 3]]));
    }
    assert_eq!((at, kinds), (page.len(), vec![0x0001, 0x0004, 0x0008, 0x000c, 0x8001]));
}
