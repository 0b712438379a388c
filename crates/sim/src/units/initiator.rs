//! An initiator: draws commands, sends them to units, and notes what it asked and was told.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, Weak};

use env::{Clock, Nanos, lock};
use scsi::{Answer, Data, Nexus, Status, Target};
use stdx::prng::Prng;

use super::journal::{Extent, Journal, Kind, LOCKED, SECTOR};
use crate::disk::SimDisks;
use crate::workload::Done;

/// Sectors of a unit.
pub const SECTORS: u64 = (3 << 20) / SECTOR as u64;
pub const UNITS: usize = 2;
/// Sectors of a transfer at the most, and of a segment that is copied.
const TRANSFER: u64 = 700;
const SEGMENT: u64 = 5_000;
/// Sectors of WRITE ATOMIC at the most: more than one record of a log has.
const ATOMIC: u64 = 2 << 10;
const FUA: u8 = 0x08;
const MISCOMPARE: u8 = 0xe;

/// Where locks are, on each unit: across blocks of all sizes, too.
pub fn locks() -> Vec<Extent> {
    let places = [(5, 1), (6, 8), (30, 4)];
    (0..UNITS)
        .flat_map(|unit| places.into_iter().map(move |(lba, blocks)| Extent { unit, lba, blocks }))
        .collect()
}

/// What a sector of this value has in it. Some can be compressed.
pub fn sector(value: u64) -> [u8; SECTOR] {
    let mut bytes = [0; SECTOR];
    for (n, word) in (0..).zip(bytes.chunks_mut(8)) {
        let is_noise = n > 0 && value / 64 % 2 == 1;
        let mixed =
            if is_noise { (value + n).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) } else { value };
        word.copy_from_slice(&mixed.to_le_bytes());
    }
    bytes
}

/// The values of sectors.
pub fn values(bytes: &[u8]) -> Result<Vec<u64>, String> {
    let value = |bytes: &[u8]| {
        let value = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
        if bytes == sector(value) { Ok(value) } else { Err(format!("a sector of {value} is torn")) }
    };
    bytes.chunks(SECTOR).map(value).collect()
}

/// What all initiators share.
pub struct Shared<'a> {
    pub target: &'a Target,
    pub journal: &'a Mutex<Journal>,
    pub disks: &'a SimDisks,
    pub clock: &'a dyn Clock,
    pub pool: &'a dyn engine_api::Pool,
    /// Whether every end of a write is a promise.
    pub is_always: bool,
    /// An EXTENDED COPY is under way. What several make of each other nobody could say.
    pub is_copying: &'a AtomicBool,
    pub verbose: bool,
}

/// See the module.
pub struct Initiator<'a> {
    shared: &'a Shared<'a>,
    nexus: Nexus,
    prng: Prng,
}

/// A command.
struct Command {
    unit: usize,
    /// All that it does, at the same time.
    kinds: Vec<Kind>,
    cdb: Vec<u8>,
    out: Vec<u8>,
    promises: bool,
}

/// A CDB of 16 bytes with a place and a length.
fn cdb(code: u8, flags: u8, extent: Extent) -> Vec<u8> {
    let mut cdb = vec![0; 16];
    (cdb[0], cdb[1]) = (code, flags);
    cdb[2..10].copy_from_slice(&extent.lba.to_be_bytes());
    cdb[10..14].copy_from_slice(&(extent.blocks as u32).to_be_bytes());
    cdb
}

impl<'a> Initiator<'a> {
    pub fn new(shared: &'a Shared<'a>, number: usize, prng: Prng) -> Initiator<'a> {
        let nexus = Nexus::new(&format!("iqn.2026-01.org.example:host{number},i,0x1"), 1);
        for (number, unit) in shared.target.units().enumerate() {
            unit.join(&nexus, Weak::<()>::new());
            // It has to say that the session is new.
            shared.target.execute(&nexus, (number as u64) << 48, &[0; 6], &[]);
        }
        Initiator { shared, nexus, prng }
    }

    pub fn work(&mut self, commands: usize) -> Done {
        for _ in 0..commands {
            match self.prng.weighted(&[30, 10, 8, 8, 8, 10, 25, 20, 5, 2, 6]) {
                0 => self.write()?,
                1 => self.write_atomic()?,
                2 => self.fill()?,
                3 => self.fill_zeroes()?,
                4 => self.unmap()?,
                5 => self.copy()?,
                6 => self.exchange()?,
                7 => {
                    let extent = self.extent(TRANSFER);
                    self.read(extent)?;
                }
                8 => self.flush()?,
                9 => self.sync()?,
                _ => self.shared.clock.sleep(Nanos::from_millis(self.prng.below(3000))),
            }
        }
        Ok(())
    }

    /// All that units have.
    pub fn read_all(&mut self) -> Done {
        for lock in locks() {
            self.read(lock)?;
        }
        for unit in 0..UNITS {
            self.read(Extent { unit, lba: LOCKED, blocks: SECTORS - LOCKED })?;
        }
        Ok(())
    }

    fn unit(&mut self) -> usize {
        self.prng.below(UNITS as u64) as usize
    }

    /// Some sectors that are no locks; often few, and at a place where others are, too.
    fn extent(&mut self, most: u64) -> Extent {
        let most = *self.prng.pick(&[8, 8, 64, most]).expect("some");
        let blocks = self.prng.range(1, most);
        let room = SECTORS - LOCKED - blocks;
        let room = if self.prng.chance(1, 2) { room.min(300) } else { room };
        Extent { unit: self.unit(), lba: LOCKED + self.prng.below(room + 1), blocks }
    }

    /// Sends a command, and notes what it does as under way meanwhile.
    fn send(&mut self, command: Command) -> Result<(Answer, Vec<usize>), String> {
        let Command { unit, kinds, cdb, out, promises } = command;
        let promises = promises || self.shared.is_always;
        let at = self.shared.disks.taped();
        if self.shared.verbose {
            eprintln!(
                "  {at:>6} {} asks for {:02x} {kinds:?}, promised: {promises}",
                self.nexus.initiator, cdb[0]
            );
        }
        let begin = |journal: &mut Journal, kind| journal.begin(kind, promises, at);
        let calls: Vec<usize> = {
            let mut journal = lock(self.shared.journal);
            kinds.into_iter().map(|kind| begin(&mut journal, kind)).collect()
        };
        let answer = self.shared.target.execute(&self.nexus, (unit as u64) << 48, &cdb, &out);
        let at = self.shared.disks.taped();
        let has_lost = answer.sense.is_some_and(|sense| sense.key == MISCOMPARE) && cdb[0] == 0x89;
        if self.shared.verbose {
            eprintln!("  {at:>6} {} is told {:?} {:?}", self.nexus.initiator, answer.status, answer.sense);
        }
        let mut journal = lock(self.shared.journal);
        calls.iter().for_each(|call| journal.end(*call, at).lost = has_lost);
        if answer.status == Status::Good || has_lost {
            return Ok((answer, calls));
        }
        Err(format!("{:?} is refused: {:?} {:?}", journal.calls[calls[0]].kind, answer.status, answer.sense))
    }

    fn fresh(&self, count: u64) -> u64 {
        lock(self.shared.journal).fresh(count)
    }

    fn write(&mut self) -> Done {
        let extent = self.extent(TRANSFER);
        let first = self.fresh(extent.blocks);
        let out = (first..first + extent.blocks).flat_map(sector).collect();
        let is_verified = self.prng.chance(1, 8);
        let flags = if self.prng.chance(1, 2) { FUA } else { 0 };
        let (code, flags) = if is_verified { (0x8e, 0) } else { (0x8a, flags) };
        let (cdb, promises) = (cdb(code, flags, extent), is_verified || flags == FUA);
        self.send(Command { unit: extent.unit, kinds: vec![Kind::Write(extent, first)], cdb, out, promises })
            .map(drop)
    }

    /// WRITE ATOMIC, of what is one record of the log and of what is more.
    fn write_atomic(&mut self) -> Done {
        let extent = self.extent(ATOMIC);
        let first = self.fresh(extent.blocks);
        let out = (first..first + extent.blocks).flat_map(sector).collect();
        let promises = self.prng.chance(1, 2);
        let mut cdb = cdb(0x9c, if promises { FUA } else { 0 }, Extent { blocks: 0, ..extent });
        cdb[12..14].copy_from_slice(&(extent.blocks as u16).to_be_bytes());
        let kinds = vec![Kind::Atomic(extent, first)];
        self.send(Command { unit: extent.unit, kinds, cdb, out, promises }).map(drop)
    }

    /// WRITE SAME of a pattern.
    fn fill(&mut self) -> Done {
        let (extent, value) = (self.extent(TRANSFER), self.fresh(1));
        let (cdb, out) = (cdb(0x93, 0, extent), sector(value).to_vec());
        let kinds = vec![Kind::Fill(extent, value)];
        self.send(Command { unit: extent.unit, kinds, cdb, out, promises: false }).map(drop)
    }

    /// WRITE SAME of zeroes, with and without UNMAP, with and without data.
    fn fill_zeroes(&mut self) -> Done {
        let extent = self.extent(SEGMENT);
        let (no_data, unmap) = (u8::from(self.prng.chance(1, 2)), self.prng.below(2) as u8 * 0x08);
        let out = if no_data == 1 { Vec::new() } else { vec![0; SECTOR] };
        let (kinds, cdb) = (vec![Kind::Fill(extent, 0)], cdb(0x93, unmap | no_data, extent));
        self.send(Command { unit: extent.unit, kinds, cdb, out, promises: false }).map(drop)
    }

    fn unmap(&mut self) -> Done {
        let unit = self.unit();
        let extents: Vec<Extent> =
            (0..self.prng.range(1, 3)).map(|_| Extent { unit, ..self.extent(SEGMENT) }).collect();
        let len = 16 * extents.len() as u16;
        let mut out = [(len + 6).to_be_bytes(), len.to_be_bytes()].concat();
        out.extend([0; 4]);
        for extent in &extents {
            out.extend(extent.lba.to_be_bytes());
            out.extend((extent.blocks as u32).to_be_bytes());
            out.extend([0; 4]);
        }
        let [high, low] = (out.len() as u16).to_be_bytes();
        let kinds = extents.into_iter().map(|extent| Kind::Fill(extent, 0)).collect();
        let cdb = vec![0x42, 0, 0, 0, 0, 0, 0, high, low, 0];
        self.send(Command { unit, kinds, cdb, out, promises: false }).map(drop)
    }

    /// EXTENDED COPY of one or two segments, in and between units.
    fn copy(&mut self) -> Done {
        if self.shared.is_copying.swap(true, SeqCst) {
            return self.write();
        }
        let done = self.copy_alone();
        self.shared.is_copying.store(false, SeqCst);
        done
    }

    fn copy_alone(&mut self) -> Done {
        let mut units = Vec::new();
        for unit in 0..UNITS {
            units.extend(self.named(unit)?);
        }
        let (mut segments, mut kinds) = (Vec::new(), Vec::new());
        for _ in 0..self.prng.range(1, 2) {
            let to = self.extent(SEGMENT);
            let lba = LOCKED + self.prng.below(SECTORS - LOCKED - to.blocks + 1);
            let from = Extent { unit: self.unit(), lba, blocks: to.blocks };
            segments.extend([0x02, 0, 0, 24, 0, from.unit as u8, 0, to.unit as u8, 0, 0]);
            segments.extend((to.blocks as u16).to_be_bytes());
            [from.lba, to.lba].iter().for_each(|lba| segments.extend(lba.to_be_bytes()));
            kinds.push(Kind::Copy(from, to));
        }
        let mut out = vec![0; 16];
        (out[1], out[3], out[11]) = (0x18, units.len() as u8, segments.len() as u8);
        out.extend([units, segments].concat());
        let mut cdb = vec![0; 16];
        (cdb[0], cdb[13]) = (0x83, out.len() as u8);
        let unit = self.unit();
        self.send(Command { unit, kinds, cdb, out, promises: false }).map(drop)
    }

    /// A unit as EXTENDED COPY names it, by its NAA name.
    fn named(&self, unit: usize) -> Result<Vec<u8>, String> {
        let page = [0x12, 1, 0x83, 0, 255, 0];
        let answer = self.shared.target.execute(&self.nexus, (unit as u64) << 48, &page, &[]);
        let Data::Bytes(page) = answer.data else { return Err("a unit has no names".into()) };
        let mut rest = page.get(4..).unwrap_or_default();
        while let [code_set, kind, _, len, after @ ..] = rest {
            let (name, after) = after.split_at_checked(usize::from(*len)).ok_or("a name is cut short")?;
            if kind & 0x3f == 3 {
                let mut named = vec![0; 32];
                named[0] = 0xe4;
                (named[4], named[5], named[7], named[30]) = (*code_set, 3, *len, 2);
                named[8..8 + name.len()].copy_from_slice(name);
                return Ok(named);
            }
            rest = after;
        }
        Err("a unit has no NAA name".into())
    }

    /// Tries to take a lock, as it is found, or as it was some time ago.
    fn exchange(&mut self) -> Done {
        let lock = *self.prng.pick(&locks()).expect("some");
        let old = self.read(lock)?[0];
        if self.prng.chance(1, 3) {
            self.shared.clock.sleep(Nanos::from_millis(self.prng.below(20)));
        }
        let new = self.fresh(1);
        let out = [old, new].iter().flat_map(|value| sector(*value).repeat(lock.blocks as usize)).collect();
        let promises = self.prng.chance(1, 2);
        let mut cdb = cdb(0x89, if promises { FUA } else { 0 }, Extent { blocks: 0, ..lock });
        cdb[13] = lock.blocks as u8;
        let kinds = vec![Kind::Exchange { lock, old, new }];
        self.send(Command { unit: lock.unit, kinds, cdb, out, promises }).map(drop)
    }

    fn read(&mut self, extent: Extent) -> Result<Vec<u64>, String> {
        let kinds = vec![Kind::Read(extent, Vec::new())];
        let command =
            Command { unit: extent.unit, kinds, cdb: cdb(0x88, 0, extent), out: Vec::new(), promises: false };
        let (answer, calls) = self.send(command)?;
        let Data::Read(read) = answer.data else { return Err("nothing is read".into()) };
        let found = values(&read.to_vec()).map_err(|why| format!("{extent:?}: {why}"))?;
        lock(self.shared.journal).calls[calls[0]].kind = Kind::Read(extent, found.clone());
        Ok(found)
    }

    /// SYNCHRONIZE CACHE.
    fn flush(&mut self) -> Done {
        let unit = self.unit();
        let cdb = cdb(0x91, 0, Extent { unit, lba: 0, blocks: 0 });
        let kinds = vec![Kind::Flush(vec![unit])];
        self.send(Command { unit, kinds, cdb, out: Vec::new(), promises: false }).map(drop)
    }

    /// `zpool sync`: an administrator's.
    fn sync(&mut self) -> Done {
        let disks = self.shared.disks;
        let call = lock(self.shared.journal).begin(Kind::Flush((0..UNITS).collect()), false, disks.taped());
        self.shared.pool.sync().map_err(|error| format!("sync: {error:?}"))?;
        lock(self.shared.journal).end(call, disks.taped());
        Ok(())
    }
}
