//! What hypervisors and databases do to logical units, as profiles by name: the classic ones of
//! VMware's I/O Analyzer, and 4 KiB anywhere at three depths.

use std::collections::HashMap;
use std::sync::Barrier;
use std::time::Instant;

use stdx::prng::Prng;

use crate::drive::{Done, together};
use crate::initiator::{BLOCK, Initiator, Unit, cdb};
use crate::{Blocks, Crowd, Fail, Outcome, Payload, Places};

/// How a profile writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Plain,
    /// Durable when it is answered (FUA).
    Through,
    /// By COMPARE AND WRITE, of what has been there: zeroes.
    Compare,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    pub name: &'static str,
    pub about: &'static str,
    /// Bytes of one operation.
    pub block: u32,
    /// Of a hundred operations so many read.
    pub reads: u64,
    pub how: How,
    pub is_random: bool,
    /// Operations at a time, all connections together.
    pub depth: usize,
}

const fn profile(name: &'static str, about: &'static str, block: u32, reads: u64, depth: usize) -> Profile {
    Profile { name, about, block, reads, how: How::Plain, is_random: true, depth }
}

impl Profile {
    const fn in_order(self) -> Profile {
        Profile { is_random: false, ..self }
    }

    const fn how(self, how: How) -> Profile {
        Profile { how, ..self }
    }
}

const K4: u32 = 4 << 10;

pub const PROFILES: [Profile; 12] = [
    profile("4k-read-1", "4 KiB random read, 1 in flight", K4, 100, 1),
    profile("4k-read-32", "4 KiB random read, 32 in flight", K4, 100, 32),
    profile("4k-read-128", "4 KiB random read, 128 in flight", K4, 100, 128),
    profile("4k-write-1", "4 KiB random write, 1 in flight", K4, 0, 1),
    profile("4k-write-32", "4 KiB random write, 32 in flight", K4, 0, 32),
    profile("4k-write-128", "4 KiB random write, 128 in flight", K4, 0, 128),
    profile("4k-fua-64", "4 KiB random write with FUA, 64 in flight", K4, 0, 64).how(How::Through),
    profile("4k-ats-32", "4 KiB random COMPARE AND WRITE, 32 in flight", K4, 0, 32).how(How::Compare),
    profile("sql-64k", "64 KiB random, 66 % reads, 32 in flight", 64 << 10, 66, 32),
    profile("max-iops", "512 B sequential read, 32 in flight", 512, 100, 32).in_order(),
    profile("max-throughput", "512 KiB sequential read, 16 in flight", 512 << 10, 100, 16).in_order(),
    profile("max-write-throughput", "512 KiB sequential write, 16 in flight", 512 << 10, 0, 16).in_order(),
];

impl Profile {
    pub fn writes(&self) -> bool {
        self.reads < 100
    }

    /// Does it to the first `size` bytes of units of one target, in turn. Of the crowd only the
    /// connections, the span and the turn count.
    pub fn run(&self, units: &[Unit], size: u64, crowd: &Crowd) -> Result<Outcome, Fail> {
        let connections = crowd.connections.clamp(1, self.depth);
        together(connections, |connection, start| {
            let worker = Worker { profile: self, units, size, crowd, connection, connections };
            worker.run(start)
        })
    }

    /// Writes the first `size` bytes of a unit: with data that nothing can compress, or with
    /// zeroes.
    pub fn fill(&self, unit: &Unit, size: u64) -> Result<(), Fail> {
        const PART: usize = 1 << 20;
        let mut initiator = Initiator::log_in(unit)?;
        let (payload, zeroes) = (Payload::new(PART as u32, 1), vec![0; PART]);
        for part in 0..size.div_ceil(PART as u64) {
            let data = if self.how == How::Compare { &zeroes } else { payload.block(part, PART as u32) };
            let at = part * PART as u64;
            let len = (size - at).min(PART as u64) as usize;
            initiator.write(unit, at, &data[..len])?;
        }
        Ok(())
    }
}

/// What one connection does.
struct Worker<'a> {
    profile: &'a Profile,
    units: &'a [Unit],
    size: u64,
    crowd: &'a Crowd,
    connection: usize,
    connections: usize,
}

impl Worker<'_> {
    fn places(&self) -> Places {
        let Profile { block, is_random, .. } = *self.profile;
        let blocks = Blocks { block, size: self.size, is_random };
        let mut places = blocks.places(true, self.crowd.seed(self.connection));
        // Each goes through the unit from a place of its own.
        places.next = places.blocks * self.connection as u64 / self.connections as u64;
        places
    }

    fn log_in(&self) -> Result<Initiator, Fail> {
        let (first, others) = self.units.split_first().ok_or("no unit is named")?;
        let mut initiator = Initiator::log_in(first)?;
        others.iter().try_for_each(|unit| initiator.greet(unit))?;
        Ok(initiator)
    }

    fn run(&self, start: &Barrier) -> Result<Done, Fail> {
        let profile = self.profile;
        let compares = profile.how == How::Compare;
        let ready = self.log_in();
        let payload = Payload::new(profile.block, self.connection);
        let zeroes = vec![0; 2 * profile.block as usize];
        start.wait();
        let mut initiator = ready?;
        let depth = profile.depth / self.connections
            + usize::from(self.connection < profile.depth % self.connections);
        let (mut places, mut dice) = (self.places(), Prng::new(self.crowd.seed(self.connection) ^ 0xd1ce));
        let data = |number: u64| if compares { &zeroes[..] } else { payload.block(number, profile.block) };
        // By tag: which operation it is, and when it began.
        let mut flying: HashMap<u32, (u64, Instant)> = HashMap::with_capacity(depth);
        let (mut done, mut number, begun) = (Done::default(), 0u64, Instant::now());
        loop {
            let is_over = begun.elapsed() >= self.crowd.span;
            while !is_over && flying.len() < depth && initiator.has_room() {
                let at = places.next().unwrap_or(0) * u64::from(profile.block);
                let unit = &self.units[number as usize % self.units.len()];
                let (now, len) = (Instant::now(), u64::from(profile.block));
                let tag = if dice.below(100) < profile.reads {
                    initiator.send(unit, &cdb(0x88, 0, at, len), &[], profile.block as usize)?
                } else if compares {
                    let mut compare = cdb(0x89, 0, at, 0);
                    compare[13] = (len / BLOCK) as u8;
                    initiator.send(unit, &compare, data(number), 0)?
                } else {
                    let through = if profile.how == How::Through { 0x08 } else { 0 };
                    initiator.send(unit, &cdb(0x8a, through, at, len), data(number), 0)?
                };
                flying.insert(tag, (number, now));
                number += 1;
            }
            if flying.is_empty() {
                break;
            }
            let of = |tag: u32| flying.get(&tag).map_or(&[][..], |(number, _)| data(*number));
            let ended = initiator.receive(of, |_| {})?;
            let (_, sent) = flying.remove(&ended.tag).ok_or("an answer to nothing")?;
            done.latencies.push(sent.elapsed());
            done.bytes += u64::from(profile.block);
        }
        done.took = begun.elapsed();
        Ok(done)
    }
}
