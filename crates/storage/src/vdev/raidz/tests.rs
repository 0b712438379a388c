use std::collections::{BTreeMap, BTreeSet};

use env::{DiskError, IoClass};
use stdx::prng::Prng;

use super::*;
use crate::IoError;
use crate::vdev::{Done, Step};

fn raidz(parity: usize, width: usize, ashift: u32) -> Raidz {
    Raidz { parity, width, ashift, method: Method::SCALAR }
}

#[test]
fn columns_lie_where_the_picture_has_them() {
    let five = raidz(2, 5, 9);
    let s = 512;
    assert_eq!(
        five.columns(0, 8 * s),
        [(0, 0, 3 * s), (1, 0, 3 * s), (2, 0, 3 * s), (3, 0, 3 * s), (4, 0, 2 * s)]
    );
    assert_eq!(five.columns(15 * 512, s), [(0, 3 * 512, s), (1, 3 * 512, s), (2, 3 * 512, s)]);
    assert_eq!(
        five.columns(18 * 512, 3 * s),
        [(3, 3 * 512, s), (4, 3 * 512, s), (0, 4 * 512, s), (1, 4 * 512, s), (2, 4 * 512, s)]
    );
}

#[test]
fn with_one_parity_it_changes_places_every_mib() {
    let first = |parity, offset| raidz(parity, 4, 12).columns(offset, 4096)[..2].to_vec();
    let at = |sector: u64| ((sector % 4) as usize, sector / 4 * 4096, 4096);
    assert_eq!(first(1, 0), [at(0), at(1)]);
    assert_eq!(first(1, 1 << 20), [at(257), at(256)]);
    assert_eq!(first(1, 2 << 20), [at(512), at(513)]);
    assert_eq!(first(2, 1 << 20), [at(256), at(257)]);
}

#[test]
fn sizes_include_parity_and_are_whole_groups() {
    for (parity, width, ashift, psize, asize) in [
        (1, 3, 12, 128 << 10, 192 << 10),
        (2, 5, 12, 128 << 10, 216 << 10),
        (3, 11, 12, 128 << 10, 176 << 10),
        (1, 3, 9, 512, 1024),
        (1, 3, 9, 1024, 2048),
        (2, 5, 9, 1025, 6 * 512),
        (3, 8, 12, 4096, 4 * 4096),
        (2, 6, 12, 20 << 10, 36 << 10),
    ] {
        assert_eq!(raidz(parity, width, ashift).asize(psize), asize, "raidz{parity} of {width}: {psize}");
    }
}

#[test]
fn columns_are_disjoint_and_inside_the_block() {
    let mut prng = Prng::new(1);
    for _ in 0..2000 {
        let parity = 1 + prng.below(3) as usize;
        let raidz = raidz(parity, parity + 1 + prng.below(9) as usize, 9);
        let (sector, len) = (prng.below(5000), 512 * (1 + prng.below(60) as usize));
        let mut seen = BTreeSet::new();
        let mut data = 0;
        for (n, place) in map::places(raidz, sector * 512, len).iter().enumerate() {
            data += if n < parity { 0 } else { place.len };
            for row in 0..(place.len / 512) as u64 {
                let at = (place.offset / 512 + row) * raidz.width as u64 + place.child as u64;
                let taken = raidz.asize(len as u64) / 512;
                assert!((sector..sector + taken).contains(&at), "{raidz:?} {sector} {len}: sector {at}");
                assert!(seen.insert(at), "{raidz:?} {sector} {len}: sector {at} twice");
            }
        }
        assert_eq!(data, len);
    }
}

/// What is the matter with a child.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ill {
    Away,
    /// Has missed the block.
    Behind,
    ReadError,
    Corrupt,
}

/// Children in memory, and what a cursor did to them.
struct Stage {
    raidz: Raidz,
    disks: Vec<Vec<u8>>,
    ill: Vec<Option<Ill>>,
    /// Second disks in places of children, whose word is had only when it is asked for.
    others: BTreeMap<usize, Vec<u8>>,
    reads: Vec<usize>,
    blamed: BTreeSet<usize>,
    written: BTreeSet<usize>,
}

const DISK: usize = 64 << 10;

impl Stage {
    fn new(raidz: Raidz) -> Stage {
        Stage {
            raidz,
            disks: vec![vec![0; DISK]; raidz.width],
            ill: vec![None; raidz.width],
            others: BTreeMap::new(),
            reads: Vec::new(),
            blamed: BTreeSet::new(),
            written: BTreeSet::new(),
        }
    }

    fn trust(&self) -> Vec<Trust> {
        let trust = |ill: &Option<Ill>| match ill {
            Some(Ill::Away) => Trust::None,
            Some(Ill::Behind) => Trust::Behind,
            _ => Trust::Whole,
        };
        self.ill.iter().map(trust).collect()
    }

    fn run(&mut self, mut cursor: Box<dyn Cursor>, verify: crate::vdev::Verify<'_>) -> Done {
        let mut done = Vec::new();
        loop {
            match cursor.step(std::mem::take(&mut done), verify) {
                Step::Finish(done) => return done,
                Step::Blame(children) => self.blamed.extend(children),
                Step::Issue(ios) => {
                    done = ios.into_iter().map(|io| self.child(io.child, io.side, io.io)).collect();
                }
            }
        }
    }

    fn child(&mut self, child: usize, side: Option<usize>, io: Io) -> Done {
        let at = io.offset as usize;
        match (io.op, self.ill[child]) {
            (_, Some(Ill::Away)) => panic!("a child that is away is not asked"),
            (Op::Read(_) | Op::Heal { .. }, Some(Ill::ReadError)) => Err(IoError::Disk(DiskError::Io(5))),
            (Op::Read(len) | Op::Heal { len, .. }, _) => {
                self.reads.push(child);
                let disk = if side == Some(1) { &self.others[&child] } else { &self.disks[child] };
                Ok(Some(AlignedBuf::from_slice(&disk[at..at + len])))
            }
            (Op::Write(payload) | Op::Repair { payload, .. } | Op::Supply { payload, .. }, _) => {
                self.written.insert(child);
                self.disks[child][at..at + payload.len()].copy_from_slice(payload.bytes());
                Ok(None)
            }
        }
    }

    fn io(&self, op: Op, offset: u64) -> Io {
        Io { op, offset, class: IoClass::SyncRead, repair: true }
    }

    fn write(&mut self, offset: u64, block: &[u8]) -> Done {
        let io = self.io(Op::Write(Payload::padded(block, 1)), offset);
        let cursor = Box::new(write::Write::new(self.raidz, io, &self.trust()));
        self.run(cursor, &|_| true)
    }

    fn read(&mut self, offset: u64, block: &[u8], thorough: bool) -> Done {
        let len = block.len();
        let io = self.io(if thorough { Op::Heal { len, birth: 7 } } else { Op::Read(len) }, offset);
        let shared: Vec<usize> = self.others.keys().copied().collect();
        let sides = |child: usize| if shared.contains(&child) { vec![0, 1] } else { Vec::new() };
        let cursor = Box::new(read::Read::new(self.raidz, io, len, &self.trust(), &sides, &|_| Due::Nothing));
        self.run(cursor, &|bytes| bytes == block)
    }

    /// Makes children ill, and what they have of the block wrong where that belongs to it.
    fn fall_ill(&mut self, ill: &[(usize, Ill)], offset: u64, len: usize) {
        for &(child, what) in ill {
            self.ill[child] = Some(what);
            for place in map::places(self.raidz, offset, len).iter().filter(|place| place.child == child) {
                let at = place.offset as usize;
                if what != Ill::ReadError {
                    self.disks[child][at..at + place.len].iter_mut().for_each(|byte| *byte = !*byte);
                }
            }
        }
    }
}

fn block(prng: &mut Prng, sectors: usize) -> Vec<u8> {
    (0..sectors * 512).map(|_| prng.below(256) as u8).collect()
}

/// Every choice of up to `most` children.
fn choices(width: usize, most: usize) -> Vec<Vec<usize>> {
    let some = (0..1usize << width).filter(|bits| bits.count_ones() as usize <= most);
    some.map(|bits| (0..width).filter(|n| bits & (1 << n) != 0).collect()).collect()
}

#[test]
fn a_healthy_read_asks_for_the_data_alone_and_a_degraded_one_for_as_much_parity() {
    let mut prng = Prng::new(2);
    let mut stage = Stage::new(raidz(2, 5, 9));
    let data = block(&mut prng, 9);
    assert!(stage.write(0, &data).is_ok());
    assert_eq!(stage.read(0, &data, false).unwrap().unwrap()[..], data[..]);
    assert_eq!(stage.reads, [2, 3, 4]);
    for (away, asked) in [
        (vec![0], vec![2, 3, 4]),
        (vec![3], vec![2, 4, 0]),
        (vec![2, 4], vec![3, 0, 1]),
        (vec![0, 2], vec![3, 4, 1]),
    ] {
        stage.reads.clear();
        stage.ill = vec![None; 5];
        away.iter().for_each(|&child| stage.ill[child] = Some(Ill::Away));
        assert_eq!(stage.read(0, &data, false).unwrap().unwrap()[..], data[..]);
        assert_eq!(stage.reads, asked, "without {away:?}");
    }
}

#[test]
fn as_many_children_as_parities_may_be_ill_in_any_way() {
    let mut prng = Prng::new(3);
    for (parity, width) in [(1, 2), (1, 3), (1, 5), (2, 3), (2, 5), (3, 4), (3, 7)] {
        for ill in choices(width, parity) {
            for thorough in [false, true] {
                let sectors = 1 + prng.below(3 * width as u64) as usize;
                let (offset, data) = (512 * prng.below(40), block(&mut prng, sectors));
                let mut stage = Stage::new(raidz(parity, width, 9));
                assert!(stage.write(offset, &data).is_ok());
                stage.written.clear();
                let kinds = [Ill::Away, Ill::Behind, Ill::ReadError, Ill::Corrupt];
                let ill: Vec<_> = ill.iter().map(|&child| (child, *prng.pick(&kinds).unwrap())).collect();
                stage.fall_ill(&ill, offset, data.len());
                let what = format!("raidz{parity} of {width}, {sectors} at {offset}, {ill:?}, {thorough}");
                let read = stage.read(offset, &data, thorough).expect(&what).unwrap();
                assert!(read[..] == data[..], "{what}");
                // Only who gave wrong bytes is blamed, and in a thorough read all of them are.
                let columns = map::places(stage.raidz, offset, data.len());
                let with = |kind: Ill| {
                    let is = |child: usize| ill.contains(&(child, kind));
                    columns
                        .iter()
                        .map(|place| place.child)
                        .filter(|&child| is(child))
                        .collect::<BTreeSet<_>>()
                };
                let corrupt = with(Ill::Corrupt);
                assert!(stage.blamed.is_subset(&corrupt), "{what}: {:?} blamed", stage.blamed);
                assert!(!thorough || stage.blamed == corrupt, "{what}: {:?} blamed", stage.blamed);
                assert!(stage.written.iter().all(|child| ill.iter().any(|(ill, _)| ill == child)), "{what}");
                if thorough {
                    // Whoever is there has the right bytes now.
                    stage.ill.iter_mut().filter(|ill| **ill != Some(Ill::Away)).for_each(|ill| *ill = None);
                    (stage.blamed, stage.written) = Default::default();
                    assert!(stage.read(offset, &data, true).is_ok(), "{what}");
                    assert!(stage.blamed.is_empty() && stage.written.is_empty(), "{what}: not healed");
                }
            }
        }
    }
}

#[test]
fn beyond_parity_no_wrong_bytes_come() {
    let mut prng = Prng::new(4);
    for (parity, width) in [(1, 3), (2, 5), (3, 5)] {
        for ill in choices(width, width).into_iter().filter(|ill| ill.len() > parity) {
            let (offset, data) = (512 * prng.below(40), block(&mut prng, 3 * (width - parity)));
            let mut stage = Stage::new(raidz(parity, width, 9));
            assert!(stage.write(offset, &data).is_ok());
            let ill: Vec<_> = ill.iter().map(|&child| (child, Ill::Corrupt)).collect();
            stage.fall_ill(&ill, offset, data.len());
            assert!(matches!(stage.read(offset, &data, false), Err(IoError::Checksum)), "{ill:?}");
            assert_eq!(stage.blamed.len(), width, "nobody knows who it was");
        }
    }
}

#[test]
fn a_write_may_miss_as_many_columns_as_there_are_parities() {
    for (parity, width) in [(1, 3), (2, 5), (3, 4)] {
        for away in choices(width, width) {
            let mut stage = Stage::new(raidz(parity, width, 9));
            away.iter().for_each(|&child| stage.ill[child] = Some(Ill::Away));
            let data = vec![7; 512 * 12];
            let done = stage.write(0, &data);
            assert_eq!(done.is_ok(), away.len() <= parity, "{away:?}");
            if done.is_ok() {
                assert!(stage.read(0, &data, false).unwrap().unwrap()[..] == data[..]);
            }
        }
    }
}

#[test]
fn who_is_behind_is_asked_when_the_others_are_not_enough() {
    let mut prng = Prng::new(5);
    let data = block(&mut prng, 8);
    let mut stage = Stage::new(raidz(1, 3, 9));
    assert!(stage.write(0, &data).is_ok());
    // It is behind, but has this block.
    stage.ill[1] = Some(Ill::Behind);
    stage.ill[2] = Some(Ill::Away);
    assert!(stage.read(0, &data, false).unwrap().unwrap()[..] == data[..]);
}

#[test]
fn each_disk_of_a_place_is_asked_when_those_that_spoke_are_not_enough() {
    let mut prng = Prng::new(6);
    let data = block(&mut prng, 6);
    let mut stage = Stage::new(raidz(1, 4, 9));
    assert!(stage.write(0, &data).is_ok());
    // Two places whose spares alone have the block, and a third that does not.
    stage.others.insert(1, stage.disks[1].clone());
    stage.others.insert(2, stage.disks[2].clone());
    stage.fall_ill(&[(1, Ill::Behind), (2, Ill::Corrupt), (3, Ill::Corrupt)], 0, data.len());
    assert!(stage.read(0, &data, false).unwrap().unwrap()[..] == data[..]);
    assert_eq!(stage.blamed, BTreeSet::from([3]), "who spoke for place 2 is not known any more");
    // With one more that lacks it nothing helps.
    stage.fall_ill(&[(0, Ill::Corrupt)], 0, data.len());
    assert!(stage.read(0, &vec![5; data.len()], false).is_err());
}
