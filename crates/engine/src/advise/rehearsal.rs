//! What a load's requests would take besides the device, found out by playing it on a pool in
//! memory.
//!
//! Nothing that is counted beside slow disks tells that. Such a load lets the processors sleep
//! between two requests; waking them, and threads on them, and running from cold caches is then
//! most of what a request takes besides the disk, and most of it is not paid where the device
//! answers at once: processors stay awake, and one wake-up serves several. So the load, as it was
//! counted (what, how large, how many at a time), is played twice on this machine, by a client of a
//! server over a pool in memory: with a device as slow as the one there is, and with one as quick
//! as the one in question. A [`Stage`] does that; it belongs to the program, for it takes servers
//! and clients.

use std::fmt::Debug;

use env::Nanos;

/// A load to be played, and the device it waits for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scene {
    pub load: Load,
    /// Operations at a time.
    pub callers: usize,
    /// Until a log block is durable, or a read is answered.
    pub device: Nanos,
    /// The device answers one after the other, as a disk's arm does.
    pub in_turn: bool,
}

/// What one operation is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Load {
    /// A synchronous write of so many bytes.
    Write { bytes: u32 },
    /// A new file, and a synchronous write of so many bytes to it: two waits.
    SmallFile { bytes: u32 },
    /// A read of so many bytes anywhere in a file of which memory holds this share.
    Read { bytes: u32, in_memory: f64 },
}

/// How it went. Nanoseconds for each wait for the device.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Played {
    /// Of a caller's time, what was not the device's.
    pub rest: f64,
    /// A processor's, of client and server.
    pub work: f64,
}

/// Who can play. It takes a second or two, and during that what it needs of processors.
pub trait Stage: Send + Sync + Debug {
    /// `None` where that fails.
    fn play(&self, scene: &Scene) -> Option<Played>;
}

/// A load played with the device that there is, and with another.
#[derive(Clone, Copy, Default, Debug)]
pub struct Rehearsed(Option<(Played, Played)>);

/// So much more than in the rehearsal may be chance: only what is beyond belongs to the load alone.
const CHANCE: f64 = 1.25;

impl Rehearsed {
    pub fn new(before: Played, after: Played) -> Rehearsed {
        Rehearsed(Some((before, after)))
    }

    /// Plays both; nothing is known without a stage.
    pub fn of(stage: Option<&dyn Stage>, now: &Scene, then: &Scene) -> Rehearsed {
        Rehearsed(stage.and_then(|stage| Some((stage.play(now)?, stage.play(then)?))))
    }

    pub fn is_known(&self) -> bool {
        self.0.is_some()
    }

    /// What becomes of a caller's time besides the device. Where this load takes more than the
    /// rehearsed one (its clients think, or are far away), the difference stays.
    pub fn rest(&self, now: f64) -> f64 {
        self.0.map_or(now, |(before, after)| after.rest + (now - CHANCE * before.rest).max(0.0))
    }

    /// What becomes of the processors' time: it shrinks as the rehearsed load's does.
    pub fn work(&self, now: f64) -> f64 {
        self.0.map_or(now, |(before, after)| now * (after.work / before.work.max(1.0)).min(1.0))
    }

    /// Names for what was rehearsed.
    pub fn figures(&self) -> Vec<(&'static str, f64)> {
        let Some((before, after)) = self.0 else { return Vec::new() };
        vec![
            ("rehearsed_rest_before_nanos", before.rest),
            ("rehearsed_rest_nanos", after.rest),
            ("rehearsed_processor_before_nanos", before.work),
            ("rehearsed_processor_nanos", after.work),
        ]
    }
}
