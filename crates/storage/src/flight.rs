//! Where the geometry of vdevs meets the queues of disks.
//!
//! A [`Flight`] runs any number of I/Os on vdevs at once. In rounds: step every cursor, put what
//! they ask for into the disks' queues, wait for all answers, step again. A write is one round, a
//! read one round for each copy that turns out bad. Between [`Flight::take_off`] and
//! [`Flight::land`] the caller may compute; the disks' own threads carry on.
//!
//! Errors are counted where they occur. The queue counts disk errors. This module counts checksum
//! errors on the leaf vdev that returned the data; on RAID-Z the cursor tells which column was
//! wrong. A disk that has disappeared is faulted if the pool can do without it. A disk that returns
//! errors is reported ([`crate::vdev::report`]).

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use env::{Env, IoClass, Nanos};
use stdx::trail;

use crate::leaf_queue::{Answer, Completion, LeafQueue, Request, Transfer};
use crate::vdev::leaf::Leaf;
use crate::vdev::open::Tree;
use crate::vdev::report::{DiskReport, What};
use crate::vdev::status::VdevState;
use crate::vdev::{Cursor, Done, Io, Kind, Op, Step, Vdev, Verify};
use crate::{IoError, Payload};

/// Up to so many bytes the caller brings to the disk itself: that is quicker than waking another
/// thread.
const CARRIED: usize = 256 << 10;

/// I/Os on their way.
pub(crate) struct Flight<'t> {
    env: &'t Env,
    tree: &'t Tree,
    frames: Vec<Frame>,
    /// I/Os in the queues, of each frame.
    asked: Vec<usize>,
    completion: Arc<Completion>,
    queues: Vec<Arc<LeafQueue>>,
    /// The leaf of each I/O in the queues, where somebody looks at what this thread does.
    leaves: Vec<usize>,
    class: IoClass,
}

/// Judges the bytes of the `n`-th I/O of a flight.
pub(crate) type VerifyEach<'a> = &'a (dyn Fn(usize, &[u8]) -> bool + Sync);

impl<'t> Flight<'t> {
    /// Starts all. Each vdev number must be one of the tree's, as [`check`] makes sure.
    pub fn take_off(env: &'t Env, tree: &'t Tree, class: IoClass, ios: Vec<(u32, Io)>) -> Flight<'t> {
        let top = |vdev| &tree.top(vdev).expect("a checked vdev number").vdev;
        Flight::take_off_at(env, tree, class, ios.into_iter().map(|(vdev, io)| (top(vdev), io)).collect())
    }

    /// As [`Flight::take_off`], on any vdevs of the tree.
    pub fn take_off_at(
        env: &'t Env,
        tree: &'t Tree,
        class: IoClass,
        ios: Vec<(&Arc<Vdev>, Io)>,
    ) -> Flight<'t> {
        let (frames, asked, queues, leaves) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let completion = Completion::new(0);
        let mut flight = Flight { env, tree, frames, asked, completion, queues, leaves, class };
        let mut wanted = Vec::new();
        for (vdev, io) in ios {
            let before = wanted.len();
            let mut frame = Frame::new(vdev, io, true, tree, &mut wanted);
            frame.advance(tree, &mut std::iter::empty(), &|_| true, &mut wanted);
            flight.frames.push(frame);
            flight.asked.push(wanted.len() - before);
        }
        flight.issue(wanted);
        flight
    }

    /// Puts a round into the queues. What only the caller waits for it carries itself, so no worker
    /// is woken for it.
    fn issue(&mut self, wanted: Vec<LeafIo>) {
        let tree = self.tree;
        self.completion = Completion::new(wanted.len());
        let bytes: usize = wanted.iter().map(|io| io.transfer.len()).sum();
        self.leaves.clear();
        if trail::is_followed() {
            self.leaves.extend(wanted.iter().map(|io| io.leaf));
        }
        let mut by_leaf: Vec<Vec<Request>> = (0..tree.leaves.len()).map(|_| Vec::new()).collect();
        for (slot, io) in wanted.into_iter().enumerate() {
            let leaf = &tree.leaves[io.leaf];
            let reads_log = !io.transfer.is_write() && tree.is_failed_log(io.leaf);
            let usable = if leaf.is_usable() || reads_log { Ok(()) } else { Err(env::DiskError::Gone) };
            match usable.and_then(|()| leaf.locate(io.offset, io.transfer.len() as u64)) {
                Ok((_, offset)) => by_leaf[io.leaf].push(Request {
                    offset,
                    transfer: io.transfer,
                    class: self.class,
                    completion: self.completion.clone(),
                    slot,
                    since: Nanos(0),
                }),
                Err(error) => self.completion.finish(slot, Err(error)),
            }
        }
        self.queues.clear();
        let busy = by_leaf.into_iter().enumerate().filter(|(_, requests)| !requests.is_empty());
        for (leaf, requests) in busy {
            let queue = tree.leaves[leaf].queue().expect("a located leaf is open").clone();
            queue.push(requests);
            self.queues.push(queue);
        }
        let caller_waits = matches!(self.class, IoClass::SyncRead | IoClass::SyncWrite) || bytes <= CARRIED;
        for queue in self.queues.iter().skip(usize::from(caller_waits)) {
            queue.wake();
        }
    }

    /// Waits until all are done; verification is spread over the processors.
    pub fn land(mut self, verify: VerifyEach<'_>) -> Vec<Done> {
        while self.turn(verify) {}
        let tree = self.tree;
        self.frames.into_iter().map(|frame| frame.end(tree)).collect()
    }

    /// Waits for the round that is on its way, and puts the next one into the queues. False if
    /// there was none.
    pub fn turn(&mut self, verify: VerifyEach<'_>) -> bool {
        let guid = |slot: usize| self.leaves.get(slot).map(|&leaf| self.tree.leaves[leaf].guid);
        let answers = self.completion.wait_for_leaves(self.env, &self.queues, self.class, guid);
        if answers.is_empty() && self.frames.iter().all(Frame::is_done) {
            return false;
        }
        let wanted = self.advance(answers, verify);
        fault_bad_disks(self.tree);
        self.issue(wanted);
        true
    }

    fn advance(&mut self, answers: Vec<Answer>, verify: VerifyEach<'_>) -> Vec<LeafIo> {
        let (env, tree) = (self.env, self.tree);
        let mut answers = answers.into_iter();
        let work: Vec<_> = self
            .frames
            .drain(..)
            .zip(&self.asked)
            .map(|(frame, &asked)| {
                let mine: Vec<Answer> = answers.by_ref().take(asked).collect();
                std::sync::Mutex::new((frame, mine, Vec::new()))
            })
            .collect();
        let step = |n: usize| {
            let (frame, mine, wanted) = &mut *env::lock(&work[n]);
            let mine = &mut std::mem::take(mine).into_iter();
            frame.advance(tree, mine, &|bytes| verify(n, bytes), wanted);
        };
        if matches!(self.class, IoClass::AsyncWrite | IoClass::SyncWrite) {
            (0..work.len()).for_each(step); // There are no bytes to verify.
        } else {
            env.driver.par_map(work.len(), &step);
        }
        self.asked.clear();
        let mut all = Vec::new();
        for cell in work {
            let (frame, _, wanted) = cell.into_inner().expect("a panic has been passed on");
            self.frames.push(frame);
            self.asked.push(wanted.len());
            all.extend(wanted);
        }
        all
    }
}

/// Takes disks out of use that others can stand in for.
pub(crate) fn fault_bad_disks(tree: &Tree) {
    for (index, leaf) in tree.leaves.iter().enumerate() {
        let gone = leaf.counters.gone.load(Relaxed);
        if gone && leaf.is_usable() && tree.lose(index, VdevState::Faulted) {
            tracing::error!(path = leaf.path, guid = leaf.guid, "disk faulted: it is gone");
        }
        let missed = leaf.counters.missed_write.load(Relaxed);
        if missed && leaf.is_whole() && tree.miss(index) {
            tracing::error!(path = leaf.path, guid = leaf.guid, "disk is behind: it missed a write");
        }
    }
}

/// One I/O for a queue.
struct LeafIo {
    leaf: usize,
    offset: u64,
    transfer: Transfer,
}

/// An I/O on one vdev of the tree, and what it has asked of the vdevs below.
struct Frame {
    vdev: Arc<Vdev>,
    whole: bool,
    state: State,
    /// Disks that did not take what was to be written.
    refused: Vec<usize>,
}

enum State {
    /// In a disk's queue.
    OnDisk(Asked),
    Interior(Box<dyn Cursor>, Vec<Frame>),
    Done(Option<Done>),
}

impl Frame {
    fn new(vdev: &Arc<Vdev>, io: Io, whole: bool, tree: &Tree, wanted: &mut Vec<LeafIo>) -> Frame {
        let state = match vdev.kind {
            Kind::Leaf(leaf) => {
                let (transfer, repair) = match io.op {
                    Op::Read(len) | Op::Heal { len, .. } => (Transfer::Read(len), None),
                    Op::Write(payload) => (Transfer::Write(payload), None),
                    Op::Repair { payload, birth } | Op::Supply { payload, birth } => {
                        (Transfer::Write(payload), Some(birth))
                    }
                };
                let (size, is_write) = (transfer.len() as u64, transfer.is_write());
                wanted.push(LeafIo { leaf, offset: io.offset, transfer });
                State::OnDisk(Asked { leaf, offset: io.offset, size, is_write, repair })
            }
            _ => State::Interior(vdev.cursor(io, &tree.leaves), Vec::new()),
        };
        Frame { vdev: vdev.clone(), whole, state, refused: Vec::new() }
    }

    fn is_done(&self) -> bool {
        matches!(self.state, State::Done(_))
    }

    /// The outcome of all; where a write is done without some disks, they have to do without it.
    fn end(self, tree: &Tree) -> Done {
        if matches!(self.state, State::Done(Some(Ok(None)))) {
            self.refused.iter().for_each(|&leaf| tree.leaves[leaf].counters.refused.add());
        }
        self.into_done()
    }

    fn into_done(self) -> Done {
        match self.state {
            State::Done(Some(done)) => done,
            _ => panic!("an outcome is taken once, when it is there"),
        }
    }

    /// Takes the answers to what this frame asked for, in that order, and asks for more until it
    /// has to wait.
    fn advance(
        &mut self,
        tree: &Tree,
        answers: &mut dyn Iterator<Item = Answer>,
        verify: Verify<'_>,
        wanted: &mut Vec<LeafIo>,
    ) {
        match &mut self.state {
            State::Done(_) => {}
            State::OnDisk(asked) => {
                // Without an answer the I/O has only just been asked for.
                if let Some(answer) = answers.next() {
                    let done = judge(answer, asked, self.whole, tree, verify);
                    match asked.repair {
                        Some(birth) => tree.leaves[asked.leaf].note_repair(birth, asked.size, done.is_ok()),
                        None if asked.is_write && done.is_err() => self.refused.push(asked.leaf),
                        None => {}
                    }
                    self.state = State::Done(Some(done));
                }
            }
            State::Interior(cursor, kids) => {
                for kid in kids.iter_mut() {
                    kid.advance(tree, answers, verify, wanted);
                }
                while kids.iter().all(Frame::is_done) {
                    self.refused.extend(kids.iter().flat_map(|kid| &kid.refused));
                    let done = kids.drain(..).map(Frame::into_done).collect();
                    match cursor.step(done, verify) {
                        Step::Finish(done) => {
                            self.state = State::Done(Some(done));
                            return;
                        }
                        Step::Blame(children) => {
                            children.iter().for_each(|&child| blame_below(&self.vdev.children[child], tree));
                        }
                        Step::Issue(ios) => {
                            for child in ios {
                                let below = &self.vdev.children[child.child];
                                let below = child.side.map_or(below, |side| &below.children[side]);
                                let whole = self.whole && child.whole;
                                let mut kid = Frame::new(below, child.io, whole, tree, wanted);
                                kid.advance(tree, &mut std::iter::empty(), verify, wanted);
                                kids.push(kid);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// An I/O in a disk's queue.
#[derive(Clone, Copy)]
struct Asked {
    leaf: usize,
    offset: u64,
    size: u64,
    is_write: bool,
    /// Of a repair: the birth of the block.
    repair: Option<u64>,
}

/// Checks what a disk gave, and blames the disk for it.
fn judge(answer: Answer, asked: &Asked, whole: bool, tree: &Tree, verify: Verify<'_>) -> Done {
    let leaf = &tree.leaves[asked.leaf];
    let span = (asked.offset, asked.size);
    match answer {
        Ok(Some(bytes)) if whole && !verify(&bytes) => {
            blame(leaf, What::Checksum, span, tree);
            Err(IoError::Checksum)
        }
        Ok(done) => Ok(done),
        Err(env::DiskError::Gone) if !leaf.is_usable() => Err(IoError::Unavailable),
        Err(error) => {
            blame(leaf, if asked.is_write { What::Write(error) } else { What::Read(error) }, span, tree);
            Err(IoError::Disk(error))
        }
    }
}

/// Tells of an error; what the disk has not noticed itself is counted here.
fn blame(leaf: &Leaf, what: What, (offset, size): (u64, u64), tree: &Tree) {
    if what == What::Checksum {
        leaf.counters.checksum_errors.fetch_add(1, Relaxed);
    }
    tree.reports.add(DiskReport { guid: leaf.guid, what, offset, size });
}

/// Blames the disk below a vdev that is read first for wrong bytes.
fn blame_below(vdev: &Vdev, tree: &Tree) {
    let below = vdev.leaves().into_iter().map(|leaf| &tree.leaves[leaf]);
    if let Some(leaf) = below.max_by_key(|leaf| (leaf.is_whole(), leaf.is_usable())) {
        blame(leaf, What::Checksum, (0, 0), tree);
    }
}

/// Whether `len` bytes at `offset` lie inside the top-level vdev `vdev`, and its sector's log2.
pub(crate) fn check(tree: &Tree, vdev: u32, offset: u64, len: u64) -> Option<u32> {
    let top = tree.top(vdev)?;
    let end = offset.checked_add(top.asize_of(len))?;
    (end <= top.asize && top.vdev.kind != Kind::Hole).then_some(top.ashift)
}

/// A write of `payload` at a DVA's offset, with as many padding bytes as the vdev's sectors need.
pub(crate) fn write_io(ashift: u32, offset: u64, payload: &Payload, psize: u64, class: IoClass) -> Io {
    let len = psize.next_multiple_of(1 << ashift) as usize;
    let payload = if len <= payload.len() { payload.cut(len) } else { Payload::padded(payload.bytes(), len) };
    Io { op: Op::Write(payload), offset, class, repair: false }
}
