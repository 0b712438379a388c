//! Reading: the cache, then each copy until one is whole; bad copies are rewritten from the good
//! one.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use codec::Salt;
use env::waits::Waited;
use env::{AlignedBuf, IoClass, lock};
use ondisk::object_type::ObjectType;
use ondisk::{BlkPtr, CompressKind, Dva, Endian};
use stdx::patience::is_hurried;
use stdx::trail::{self, Source, Span};

use super::moved::Place;
use crate::arc::{Arrival, Ask, Key};
use crate::flight::{Flight, VerifyEach, write_io};
use crate::policy::{Keep, is_metadata};
use crate::unflushed::Unflushed;
use crate::vdev::open::Tree;
use crate::vdev::{Io, Op};
use crate::{Block, Payload, ReadError, Storage, WriteError};

type Fetched = Result<AlignedBuf, ReadError>;

/// What a read is for.
#[derive(Clone, Copy)]
struct Wish {
    class: IoClass,
    keep: Keep,
    is_prefetch: bool,
}

impl Storage {
    /// The block, verified and decompressed. A hole is as many zeros as its pointer says. Where all
    /// disks that have it are gone, the pool may be suspended, and this waits with it
    /// ([`crate::suspend`]).
    ///
    /// Whoever follows a clean pointer outside syncing context holds an [`Storage::epoch`] from
    /// before it read the pointer until this returns.
    pub fn read(&self, bp: &BlkPtr, class: IoClass) -> Result<Arc<Block>, ReadError> {
        self.read_many(std::slice::from_ref(bp), class, Keep::ALL).remove(0)
    }

    /// As [`Storage::read`], all issued together and decoded on all processors; answers in the
    /// order asked. `keep` says what of the blocks may be kept.
    pub fn read_many(
        &self,
        bps: &[BlkPtr],
        class: IoClass,
        keep: Keep,
    ) -> Vec<Result<Arc<Block>, ReadError>> {
        self.read_for(bps, Wish { class, keep, is_prefetch: false })
    }

    /// The bytes of blocks as they are stored, `psize` of each, verified; answers in the order
    /// asked. Never called for holes and embedded data.
    pub(crate) fn read_as_stored(&self, bps: &[BlkPtr], class: IoClass) -> Vec<Result<Vec<u8>, ReadError>> {
        let wanted: Vec<&BlkPtr> = bps.iter().collect();
        let fetched = self.fetch(&self.tree(), &wanted, class).into_iter();
        let cut = |(fetched, bp): (Fetched, &BlkPtr)| {
            let bytes = fetched?;
            bytes.get(..bp.psize() as usize).map(<[u8]>::to_vec).ok_or(ReadError::Corrupt)
        };
        fetched.zip(bps).map(cut).collect()
    }

    /// Brings blocks into the cache, but those that another is bringing there. `is_followed`:
    /// whoever waits for one is told for which leaf vdev he does.
    pub(crate) fn read_ahead(&self, bps: &[BlkPtr], keep: Keep, is_followed: bool) {
        let key = |bp: &BlkPtr| Key::of(self.pool_guid(), bp);
        let underway = self.ahead().set_out(bps.iter().filter_map(key), is_followed);
        let mine = |bp: &&BlkPtr| key(bp).is_some_and(|key| underway.has(&key));
        let bps: Vec<BlkPtr> = bps.iter().filter(mine).copied().collect();
        let read = || drop(self.read_for(&bps, Wish { class: IoClass::AsyncRead, keep, is_prefetch: true }));
        let Some(slowest) = &underway.slowest else { return read() };
        if let ((), Some(waited)) = trail::slowest(read) {
            slowest.store(waited.vdev, Relaxed);
        }
    }

    /// Waits for those that are being read ahead.
    fn wait_for_ahead(&self, bps: &[BlkPtr], waits: bool) {
        let keys = || bps.iter().filter_map(|bp| Key::of(self.pool_guid(), bp));
        if self.ahead().has_any(keys()) {
            let begun = waits.then(|| self.read_waits.begin(&*self.env().clock));
            let now = || self.env().clock.now().0;
            trail::during(Span::Disk, now, || self.ahead().wait_for(self.env(), keys()));
            begun.inspect(|&begun| self.read_waits.end(begun, &*self.env().clock));
        }
    }

    fn read_for(&self, bps: &[BlkPtr], wish: Wish) -> Vec<Result<Arc<Block>, ReadError>> {
        if !self.may_read(bps.len()) {
            return vec![Err(ReadError::Suspended); bps.len()];
        }
        let mut losses = self.losses();
        let mut answers = self.read_once(bps, wish);
        loop {
            // Of disks that were opened anew meanwhile an error says nothing: they were asked for
            // what is to be recalled.
            let before = std::mem::replace(&mut losses, self.losses());
            let is_void =
                |error: ReadError| losses != before && (error.may_pass() || error == ReadError::Checksum);
            let failed: Vec<usize> = (0..bps.len())
                .filter(|&n| answers[n].as_ref().is_err_and(|error| is_void(*error) || self.awaits(*error)))
                .collect();
            if failed.is_empty() || wish.is_prefetch {
                return answers;
            }
            if losses == before && self.wait_resumed(WriteError::Io).is_err() {
                if is_hurried() && self.suspension().is_waiting() {
                    failed.into_iter().for_each(|n| answers[n] = Err(ReadError::Suspended));
                }
                return answers;
            }
            let again: Vec<BlkPtr> = failed.iter().map(|&n| bps[n]).collect();
            for (n, read) in failed.into_iter().zip(self.read_once(&again, wish)) {
                answers[n] = read;
            }
        }
    }

    fn read_once(&self, bps: &[BlkPtr], wish: Wish) -> Vec<Result<Arc<Block>, ReadError>> {
        let waits = !wish.is_prefetch && wish.class == IoClass::SyncRead;
        if !wish.is_prefetch {
            self.wait_for_ahead(bps, waits);
        }
        let mut answers: Vec<Option<Result<Arc<Block>, ReadError>>> =
            bps.iter().map(|bp| self.at_hand(bp, wish.keep, wish.is_prefetch, false)).collect();
        let missing: Vec<usize> = (0..bps.len()).filter(|&n| answers[n].is_none()).collect();
        trail::came_from(Source::Cache, bps.len() - missing.len());
        if !missing.is_empty() {
            trail::came_from(Source::Disk, missing.len());
            let entered = trail::is_followed().then(|| trail::enter(self.env().clock.now().0));
            let _epoch = self.epoch();
            let tree = self.tree();
            let begun = waits.then(|| self.read_waits.begin(&*self.env().clock));
            let wanted: Vec<&BlkPtr> = missing.iter().map(|&n| &bps[n]).collect();
            let cells: Vec<_> = self
                .fetch_anywhere(&tree, &wanted, wish.class)
                .into_iter()
                .map(|fetched| Mutex::new((Some(fetched), None)))
                .collect();
            self.env().driver.par_map(cells.len(), &|n| {
                let cell = &mut *lock(&cells[n]);
                let fetched = cell.0.take().expect("each is decoded once");
                cell.1 = Some(fetched.and_then(|bytes| decode(wanted[n], bytes)));
            });
            for (n, cell) in missing.into_iter().zip(cells) {
                let block =
                    cell.into_inner().expect("a panic has been passed on").1.expect("all were decoded");
                answers[n] =
                    Some(block.map(|block| {
                        self.remember_as(&bps[n], Arc::new(block), wish.keep, wish.is_prefetch)
                    }));
            }
            begun.inspect(|&begun| self.read_waits.end(begun, &*self.env().clock));
            if let Some(entered) = entered {
                trail::leave(Span::Disk, entered, self.env().clock.now().0);
            }
        }
        answers.into_iter().map(|answer| answer.expect("all are answered")).collect()
    }

    /// As [`Storage::fetch`], from cache devices where they have a block, from the pool else.
    fn fetch_anywhere(&self, tree: &Tree, bps: &[&BlkPtr], class: IoClass) -> Vec<Fetched> {
        if !self.level2().is_active() {
            return self.fetch(tree, bps, class);
        }
        let mut answers: Vec<Option<Fetched>> = bps.iter().map(|_| None).collect();
        let salt = self.salt();
        let flight = self.level2().take_off(bps, class);
        let mut flying = flight.asked().peekable();
        let rest: Vec<usize> =
            (0..bps.len()).filter(|n| flying.next_if(|asked| asked == n).is_none()).collect();
        drop(flying);
        let fill = |answers: &mut Vec<Option<Fetched>>, rest: Vec<usize>| {
            let wanted: Vec<&BlkPtr> = rest.iter().map(|&n| bps[n]).collect();
            for (n, fetched) in rest.into_iter().zip(self.fetch(tree, &wanted, class)) {
                answers[n] = Some(fetched);
            }
        };
        if !rest.is_empty() {
            fill(&mut answers, rest);
        }
        let verify = |n: usize, bytes: &[u8]| {
            refuse(bps[n], salt.as_ref()).is_none() && is_good(bps[n], bytes, salt.as_ref())
        };
        for (n, bytes) in self.level2().land(flight, &verify) {
            answers[n] = Some(Ok(bytes));
        }
        let failed: Vec<usize> = (0..bps.len()).filter(|&n| answers[n].is_none()).collect();
        if !failed.is_empty() {
            fill(&mut answers, failed);
        }
        answers.into_iter().map(|answer| answer.expect("all are answered")).collect()
    }

    /// How readers waited for disks, cache devices included. A call for several blocks is one wait.
    pub fn read_waits(&self) -> Waited {
        self.read_waits.snapshot()
    }

    /// The block, if no disk is needed for it.
    pub fn cached(&self, bp: &BlkPtr) -> Option<Arc<Block>> {
        self.at_hand(bp, Keep::ALL, false, true)?.ok()
    }

    /// What can be said without a disk: holes, embedded data, nonsense, and what is cached.
    fn at_hand(
        &self,
        bp: &BlkPtr,
        keep: Keep,
        is_prefetch: bool,
        is_glance: bool,
    ) -> Option<Result<Arc<Block>, ReadError>> {
        if bp.validate().is_err() || bp.is_redacted() {
            return Some(Err(ReadError::Corrupt));
        }
        if bp.is_embedded() {
            return Some(embedded(bp).map(Arc::new));
        }
        if bp.is_hole() {
            return Some(Ok(Arc::new(Block::zeroed(bp.lsize() as usize))));
        }
        if bp.is_encrypted() {
            return Some(Err(ReadError::Unsupported));
        }
        let key = Key::of(self.pool_guid(), bp)?;
        let source = self.level2().source(bp, keep);
        let ask = Ask { is_metadata: is_metadata(bp), is_prefetch, is_glance, source };
        self.cache().look(&key, ask).map(Ok)
    }

    /// Keeps a block that was written, as far as its dataset wants that.
    pub(crate) fn remember(&self, bp: &BlkPtr, block: Arc<Block>, keep: Keep) {
        self.remember_as(bp, block, keep, false);
    }

    fn remember_as(&self, bp: &BlkPtr, block: Arc<Block>, keep: Keep, is_prefetch: bool) -> Arc<Block> {
        let is_metadata = is_metadata(bp);
        if let Some(key) = Key::of(self.pool_guid(), bp)
            && keep.primary.takes(is_metadata)
        {
            let source = self.level2().source(bp, keep).map(|bp| Box::new(*bp));
            let on_device = source.is_some() && self.level2().has(&key);
            self.cache().put(key, block.clone(), Arrival { is_metadata, is_prefetch, source, on_device });
        }
        block
    }

    /// Whether these are the bytes that a pointer stands for.
    pub(crate) fn is_what(&self, bp: &BlkPtr, bytes: &[u8]) -> bool {
        let salt = self.salt();
        refuse(bp, salt.as_ref()).is_none() && is_good(bp, bytes, salt.as_ref())
    }

    /// The bytes of each block as stored, verified; at least `psize` of them.
    pub(crate) fn fetch(&self, tree: &Tree, bps: &[&BlkPtr], class: IoClass) -> Vec<Fetched> {
        let salt = self.salt();
        let mut answers: Vec<Option<Fetched>> =
            bps.iter().map(|bp| refuse(bp, salt.as_ref()).map(Err)).collect();
        for (n, bp) in bps.iter().enumerate() {
            if answers[n].is_none() && bp.is_gang() {
                answers[n] = Some(self.read_gang(tree, bp, class));
            }
        }
        let plain: Vec<usize> = (0..bps.len()).filter(|&n| answers[n].is_none()).collect();
        let copies: Vec<(Vec<Dva>, u64)> = plain
            .iter()
            .map(|&n| (bps[n].dvas().into_iter().filter(Dva::is_valid).collect(), bps[n].psize()))
            .collect();
        let verify = |n: usize, bytes: &[u8]| is_good(bps[plain[n]], bytes, salt.as_ref());
        for (&n, fetched) in plain.iter().zip(self.fetch_copies(tree, &copies, class, &verify)) {
            answers[n] = Some(fetched);
        }
        answers.into_iter().map(|answer| answer.expect("all are answered")).collect()
    }

    /// For each entry the first copy that `verify` likes, `len` bytes and padding. Bad copies
    /// before it are repaired.
    pub(crate) fn fetch_copies(
        &self,
        tree: &Tree,
        wanted: &[(Vec<Dva>, u64)],
        class: IoClass,
        verify: VerifyEach<'_>,
    ) -> Vec<Fetched> {
        self.try_copies(tree, wanted, (class, self.is_writable()), verify)
    }

    /// As [`Storage::fetch_copies`]; bad copies are repaired only if asked to.
    pub(super) fn try_copies(
        &self,
        tree: &Tree,
        wanted: &[(Vec<Dva>, u64)],
        (class, repair): (IoClass, bool),
        verify: VerifyEach<'_>,
    ) -> Vec<Fetched> {
        let mut jobs: Vec<Job> = wanted.iter().map(|(dvas, len)| Job::new(self, tree, dvas, *len)).collect();
        for (n, job) in jobs.iter_mut().enumerate() {
            job.good = job.recall(&self.unflushed).filter(|bytes| verify(n, bytes));
        }
        loop {
            for (n, job) in jobs.iter_mut().enumerate() {
                while let (true, Some(Place::Split(_, pieces))) = (job.is_open(), job.untried.last()) {
                    let bytes = self.fetch_split(tree, pieces, (class, None), &|bytes| verify(n, bytes));
                    job.take(bytes.map(Some));
                }
            }
            let turn: Vec<usize> = (0..jobs.len()).filter(|&n| jobs[n].is_open()).collect();
            if turn.is_empty() {
                break;
            }
            let ios = turn.iter().map(|&n| jobs[n].next_io(class, repair)).collect();
            let flight = Flight::take_off(self.env(), tree, class, ios);
            let done = flight.land(&|n, bytes| verify(turn[n], bytes));
            for (&n, done) in turn.iter().zip(done) {
                jobs[n].take(done.map_err(ReadError::from));
            }
        }
        if repair {
            self.repair(tree, &jobs);
        }
        jobs.into_iter().map(|job| job.good.ok_or(job.error)).collect()
    }

    /// Writes a block's bytes over each of these copies, whatever they have.
    pub(super) fn write_over(&self, tree: &Tree, copies: &[Dva], bytes: AlignedBuf) {
        let mut job = Job::new(self, tree, copies, bytes.len() as u64);
        job.bad = std::mem::take(&mut job.untried);
        job.good = Some(bytes);
        self.repair(tree, &[job]);
    }

    fn repair(&self, tree: &Tree, jobs: &[Job]) {
        let mut ios = Vec::new();
        for job in jobs {
            let Some(good) = job.good.as_ref().filter(|_| !job.bad.is_empty()) else {
                continue;
            };
            let payload = Payload::padded(&good[..job.len as usize], 1 << tree.max_ashift());
            for copy in &job.bad {
                match copy {
                    Place::Whole(dva, ashift) => {
                        tracing::warn!(vdev = dva.vdev, offset = dva.offset, "repairing a bad copy");
                        let io = write_io(*ashift, dva.offset, &payload, job.len, IoClass::AsyncWrite);
                        ios.push((dva.vdev, io));
                    }
                    Place::Split(vdev, pieces) => {
                        tracing::warn!(vdev, "repairing a bad copy in pieces");
                        ios.extend(split_writes(pieces, &payload));
                    }
                }
            }
        }
        if !ios.is_empty() {
            // Whether it worked shows in the disks' counters; the reader has its bytes.
            Flight::take_off(self.env(), tree, IoClass::AsyncWrite, ios).land(&|_, _| true);
        }
    }
}

/// One block on its way through its copies.
struct Job {
    /// Copies not tried yet; the next one last.
    untried: Vec<Place>,
    bad: Vec<Place>,
    len: u64,
    good: Option<AlignedBuf>,
    error: ReadError,
}

impl Job {
    fn new(storage: &Storage, tree: &Tree, dvas: &[Dva], len: u64) -> Job {
        let mut error = ReadError::Corrupt;
        let mut untried: Vec<Place> = Vec::with_capacity(dvas.len());
        for dva in dvas.iter().rev() {
            match storage.copy(tree, dva, len) {
                Ok(copy) => untried.push(copy),
                Err(why) => error = why,
            }
        }
        // A copy on a vdev that cannot be read comes last, which is first here. The sort is stable.
        let readable = |copy: &Place| {
            let (Place::Whole(Dva { vdev, .. }, _) | Place::Split(vdev, _)) = copy;
            tree.top(*vdev).is_some_and(|top| top.vdev.is_readable(&tree.leaves, None))
        };
        untried.sort_by_key(readable);
        Job { untried, bad: Vec::new(), len, good: None, error }
    }

    /// The bytes of one of the copies, if the disks may have lost them.
    fn recall(&self, unflushed: &Unflushed) -> Option<AlignedBuf> {
        let recalled = self.untried.iter().find_map(|copy| match copy {
            Place::Whole(dva, ashift) => {
                let len = self.len.next_multiple_of(1 << ashift) as usize;
                unflushed.recall(dva.vdev, dva.offset, len)
            }
            Place::Split(..) => None, // Nothing is written to removed vdevs.
        })?;
        Some(AlignedBuf::from_slice(recalled.bytes()))
    }

    fn is_open(&self) -> bool {
        self.good.is_none() && !self.untried.is_empty()
    }

    fn next_io(&self, class: IoClass, repair: bool) -> (u32, Io) {
        let Some(Place::Whole(dva, ashift)) = self.untried.last() else {
            unreachable!("an open job has a copy to try, and pieces were tried already");
        };
        let len = self.len.next_multiple_of(1 << ashift) as usize;
        (dva.vdev, Io { op: Op::Read(len), offset: dva.offset, class, repair })
    }

    fn take(&mut self, done: Result<Option<AlignedBuf>, ReadError>) {
        let tried = self.untried.pop().expect("it was just tried");
        match done {
            Ok(bytes) => self.good = bytes,
            Err(error) => {
                // "Wrong bytes" says more than "no bytes".
                if self.error != ReadError::Checksum {
                    self.error = error;
                }
                self.bad.push(tried);
            }
        }
    }
}

/// Writes that put a block's bytes where its pieces lie.
fn split_writes(pieces: &[Dva], payload: &Payload) -> Vec<(u32, Io)> {
    let mut at = 0;
    let write = |dva: &Dva| {
        let len = dva.asize as usize;
        // The last piece ends with padding, of which the block has no bytes.
        let end = (at + len).min(payload.len());
        let part = Payload::padded(&payload.bytes()[at.min(end)..end], len);
        at += len;
        (dva.vdev, write_io(0, dva.offset, &part, dva.asize, IoClass::AsyncWrite))
    };
    pieces.iter().map(write).collect()
}

/// Why these bytes could not even be judged.
pub(super) fn refuse(bp: &BlkPtr, salt: Option<&Salt>) -> Option<ReadError> {
    match bp.checksum_kind() {
        Err(_) => Some(ReadError::Corrupt),
        Ok(kind) if kind.is_salted() && salt.is_none() => Some(ReadError::Unsupported),
        // The intent log reads its own blocks; nothing else checks itself.
        Ok(kind) if kind.is_embedded() => Some(ReadError::Unsupported),
        Ok(ondisk::ChecksumKind::Inherit | ondisk::ChecksumKind::On) => Some(ReadError::Corrupt),
        Ok(_) => None,
    }
}

/// Whether stored bytes match their pointer's checksum. Of blocks with a MAC only half of the sum
/// is there; a weak one is folded (`zio_checksum_error_impl`).
pub(super) fn is_good(bp: &BlkPtr, bytes: &[u8], salt: Option<&Salt>) -> bool {
    let kind = bp.checksum_kind_raw();
    let strong = bp.checksum_kind().is_ok_and(ondisk::ChecksumKind::is_dedup_strength);
    if kind == ondisk::ChecksumKind::Off as u8 || kind == ondisk::ChecksumKind::NoParity as u8 {
        return true;
    }
    let swap = bp.byteorder() == Endian::Big;
    let Ok(mut sum) = codec::checksum(kind, &bytes[..bp.psize() as usize], salt, swap) else { return false };
    let expected = bp.checksum();
    if bp.uses_crypt() && bp.object_type() != ObjectType::OBJSET {
        if !strong {
            sum[0] ^= sum[2];
            sum[1] ^= sum[3];
        }
        return sum[..2] == expected[..2];
    }
    sum == expected
}

/// Stored bytes to logical ones.
pub(super) fn decode(bp: &BlkPtr, bytes: AlignedBuf) -> Result<Block, ReadError> {
    let lsize = bp.lsize() as usize;
    match bp.compression().map_err(|_| ReadError::Corrupt)? {
        CompressKind::Off if bytes.len() == lsize => Ok(in_order(bp, Block::from_buf(bytes))),
        CompressKind::Off => {
            let logical = bytes.get(..lsize).ok_or(ReadError::Corrupt)?;
            Ok(in_order(bp, Block::from_slice(logical)))
        }
        kind => decompressed(bp, kind, &bytes[..bp.psize() as usize], lsize),
    }
}

fn embedded(bp: &BlkPtr) -> Result<Block, ReadError> {
    let embedded = bp.embedded().ok().flatten().ok_or(ReadError::Corrupt)?;
    decompressed(bp, embedded.compression, embedded.payload(), embedded.lsize as usize)
}

fn decompressed(bp: &BlkPtr, kind: CompressKind, stored: &[u8], lsize: usize) -> Result<Block, ReadError> {
    let mut block = Block::zeroed(lsize);
    codec::decompress(kind as u8, stored, &mut block).map_err(|_| ReadError::Corrupt)?;
    Ok(in_order(bp, block))
}

/// With its numbers little endian.
fn in_order(bp: &BlkPtr, mut block: Block) -> Block {
    if bp.byteorder() == Endian::Big {
        ondisk::byteswap::to_little(bp.object_type(), bp.level(), &mut block);
    }
    block
}

#[cfg(test)]
mod tests;
