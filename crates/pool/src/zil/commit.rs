//! The commit pipeline: many callers, few blocks, fewer flushes.
//!
//! There is no log thread. Whoever commits looks whether its records are written already or under
//! way; if not, and nobody is filling a block at this moment, it leads: takes what everybody has
//! left in the queue, as much as the open block takes, and carries it to disk. The others wait for
//! the block that covers them.
//!
//! A lone caller leads at once and pays one write and one flush. When callers are many,
//! [`PARTLY_FILLED`] bursts may be under way at a time, one being written while another is flushed;
//! what arrives meanwhile gathers for the next, so blocks grow with the load and the time the
//! device takes, without any timer. A queue that fills a whole block need not wait for that, and
//! one that fills several is a *burst* of blocks, written side by side with one flush behind them
//! all: were each flushed by itself, 128 KiB a flush would be the most that a log device takes.
//! Flushes are shared further down, with the logs of the other datasets.

use std::collections::VecDeque;
use std::sync::{Arc, MutexGuard};

use dmu::{DmuError, Tx};
use env::lock;
use ondisk::zil::record::{LrWrite, stamp};
use ondisk::zil::{CHAIN_SIZE, ZilChain};
use ondisk::{BlkPtr, Dva};
use stdx::trail::{self, Span};

use super::chain::Chain;
use super::queue::{Itx, Ticket, What};
use super::{PlaceStats, State, SyncMode, Zil};

/// Bursts under way at once though the queue does not fill a block.
const PARTLY_FILLED: usize = 2;
/// Bursts under way at once.
const IN_FLIGHT: usize = 8;
/// Blocks of a burst at the most.
const BURST: usize = 8;
/// Room of the first block of a chain, in bytes.
const FIRST_BLOCK: usize = 32 << 10;
/// Stretches of records of which it is kept which disk they waited for; who waits so long after
/// is not told.
const TOLD: usize = 64;
/// Which word of a log block's checksum is its place in the chain.
pub(super) const SEQUENCE: usize = 3;

/// Bursts on their way to disk.
#[derive(Default)]
pub(super) struct Pipeline {
    /// Somebody has taken records from the queue and not yet a place in `flying`.
    filling: bool,
    /// In the order of the chain.
    flying: VecDeque<Flying>,
    /// Records up to this number are durable.
    done: u64,
    /// The last durable group.
    pub synced: u64,
    /// Commits that wait, and are looked at.
    followed: usize,
    /// What made records durable that such commits may wait for, oldest first.
    closed: VecDeque<Closed>,
}

/// Records that became durable together: behind the first number, up to the last.
struct Closed {
    behind: u64,
    upto: u64,
    /// The guid of the leaf vdev that the last of their bursts waited for longest.
    vdev: u64,
}

/// A burst of blocks.
struct Flying {
    /// Of the last of them.
    bp: BlkPtr,
    /// The order is written up to here with it.
    upto: u64,
    landed: bool,
}

impl Pipeline {
    /// Records up to this number are durable.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Nothing is under way.
    pub fn is_idle(&self) -> bool {
        !self.filling && self.flying.is_empty()
    }

    /// A burst came to its end, of which this is the last block; it and those behind it count as
    /// far as all before do. `slowest`: the leaf vdev that it waited for longest, where that is
    /// known.
    fn land(&mut self, bp: &BlkPtr, broken: bool, slowest: Option<u64>) {
        let behind = self.done;
        if let Some(flying) = self.flying.iter_mut().find(|flying| flying.bp == *bp) {
            flying.landed = true;
        }
        while self.flying.front().is_some_and(|front| front.landed) {
            if let Some(front) = self.flying.pop_front()
                && !broken
            {
                self.done = front.upto;
            }
        }
        // Whoever waits has waited for this burst last, in whichever of those his records are.
        if let Some(vdev) = slowest.filter(|_| self.done > behind) {
            if self.closed.len() == TOLD {
                self.closed.pop_front();
            }
            self.closed.push_back(Closed { behind, upto: self.done, vdev });
        }
    }

    /// The leaf vdev that this record waited for, where that is known.
    fn slowest(&self, record: u64) -> Option<u64> {
        let has = |closed: &&Closed| closed.behind < record && record <= closed.upto;
        self.closed.iter().find(has).map(|closed| closed.vdev)
    }
}

impl State {
    pub(super) fn is_usable(&self) -> bool {
        let synced = self.pipeline.synced;
        self.chain.as_ref().is_some_and(|chain| chain.is_usable(synced))
    }

    fn covers(&self, ticket: &Ticket) -> bool {
        self.pipeline.done >= ticket.number
            || self.pipeline.synced >= ticket.txg
            || (self.queue.is_empty() && self.pipeline.is_idle() && self.is_usable())
    }

    /// Whether somebody should fill the open block now.
    pub(super) fn wants_leader(&self) -> bool {
        let full = self.chain.as_ref().is_some_and(|chain| self.queue.bytes() >= chain.room());
        let most = if full { IN_FLIGHT } else { PARTLY_FILLED };
        !self.pipeline.filling && !self.queue.is_empty() && self.pipeline.flying.len() < most
    }
}

impl Zil {
    /// Makes durable what was done so far to an object, and all changes of names; `None` stands for
    /// all objects. The caller holds no lock and no transaction.
    pub fn commit(&self, object: Option<u64>) -> Result<(), DmuError> {
        self.ask(object).map_or(Ok(()), |ticket| self.keep(&ticket))
    }

    /// As [`Zil::commit`], but the waiting is left to whoever is given the promise.
    pub fn promise(self: &Arc<Zil>, object: Option<u64>) -> Promise {
        Promise { zil: self.clone(), ticket: self.ask(object) }
    }

    /// What a commit now would have to wait for.
    fn ask(&self, object: Option<u64>) -> Option<Ticket> {
        if self.mode() == SyncMode::Disabled {
            return None;
        }
        self.parts.stats.commits.add(1);
        let synced = self.parts.txgs.synced();
        let mut state = lock(&self.state);
        state.pipeline.synced = state.pipeline.synced.max(synced);
        let ticket = state.queue.ticket(object, synced);
        (ticket.txg > state.pipeline.synced).then_some(ticket)
    }

    fn keep(&self, ticket: &Ticket) -> Result<(), DmuError> {
        let (waits, clock) = (&self.parts.stats.waits, &*self.parts.env.clock);
        let begun = waits.begin(clock);
        let wait = || match trail::is_followed() {
            true => self.wait_followed(ticket),
            false => self.wait_for(ticket),
        };
        let done = trail::during(Span::Log, || clock.now().0, wait);
        waits.end(begun, clock);
        done
    }

    /// As [`Zil::wait_for`], where somebody looks at this thread: notes for which leaf vdev.
    fn wait_followed(&self, ticket: &Ticket) -> Result<(), DmuError> {
        let clock = &self.parts.env.clock;
        let begun = clock.now();
        let mut state = lock(&self.state);
        if state.covers(ticket) {
            return Ok(());
        }
        state.pipeline.followed += 1;
        drop(state);
        let done = self.wait_for(ticket);
        let mut state = lock(&self.state);
        state.pipeline.followed -= 1;
        if let Some(vdev) = state.pipeline.slowest(ticket.number).filter(|_| done.is_ok()) {
            trail::waited_for(vdev, clock.now().since(begun).0);
        }
        done
    }

    /// Waits until what a ticket stands for is durable, and does what nobody else does for that.
    fn wait_for(&self, ticket: &Ticket) -> Result<(), DmuError> {
        let mut state = lock(&self.state);
        loop {
            if ticket.txg <= state.pipeline.synced {
                return Ok(());
            }
            if ticket.needs_group || !state.is_usable() {
                drop(state);
                return self.commit_with_group(ticket);
            }
            if state.covers(ticket) {
                return Ok(());
            }
            if state.wants_leader() {
                state.pipeline.filling = true;
                let is_followed = state.pipeline.followed > 0;
                drop(state);
                self.lead(is_followed);
                state = lock(&self.state);
                continue;
            }
            let (seat, bell) = state.waiters.sit(ticket);
            state = self.parts.env.wait(&self.state, state, &bell, &mut |state| {
                state.covers(ticket) || state.wants_leader() || !state.is_usable()
            });
            state.waiters.leave(seat);
        }
    }

    /// The way that always works: wait for the group. It also starts a chain where there is none,
    /// so that the next commit need not come here.
    fn commit_with_group(&self, ticket: &Ticket) -> Result<(), DmuError> {
        self.parts.stats.fell_back.add(1);
        let txg = self.tend_chain().unwrap_or(0);
        let (waits, clock) = (&self.parts.stats.group_waits, &*self.parts.env.clock);
        let begun = waits.begin(clock);
        let done = self.parts.txgs.wait_synced(ticket.txg.max(txg));
        waits.end(begun, clock);
        done
    }

    /// Begins a chain, or makes sure that one which has come to its end is settled; gives the group
    /// that does it. Without room for a chain there is none, and commits wait for groups.
    fn tend_chain(&self) -> Option<u64> {
        let tx = self.enter().ok()?;
        let mut state = lock(&self.state);
        match &state.chain {
            Some(chain) if chain.retiring => self.parts.objset.mark_dirty(&tx),
            Some(chain) => return Some(chain.since),
            None if state.unreplayed || !(self.parts.may_begin)() => return None,
            None => {
                let mut first = self.allocate(FIRST_BLOCK, &tx)?;
                let random = || self.parts.env.entropy.u64();
                let id = [random(), random(), self.parts.dataset, 1];
                first.set_checksum(ondisk::ChecksumKind::Zilog2, id);
                self.parts.objset.mark_dirty(&tx);
                state.chain = Some(Chain::new(first, tx.txg()));
            }
        }
        Some(tx.txg())
    }

    fn allocate(&self, size: usize, tx: &Tx) -> Option<BlkPtr> {
        let pool_can_spare = || (self.parts.pool_can_spare)(size as u64);
        self.parts.storage.allocate_log(size, tx.txg(), &pool_can_spare).ok()
    }

    /// A transaction that no amount of dirty data delays: what it is for makes data durable.
    fn enter(&self) -> Result<Tx, DmuError> {
        self.parts.txgs.enter_now().map(Tx::held)
    }

    /// Fills blocks, carries them to disk, and tells everyone. `filling` is set and is ours.
    /// `is_followed`: somebody who waits wants to know for which leaf vdev.
    fn lead(&self, is_followed: bool) {
        let (carried, slowest) = match is_followed {
            true => trail::slowest(|| self.carry()),
            false => (self.carry(), None),
        };
        let Some(Carried { bps, last, is_durable }) = carried else { return };
        let mut state = lock(&self.state);
        if let Some(chain) = &mut state.chain {
            bps.iter().for_each(|bp| chain.landed(bp, is_durable));
        }
        // A block that failed ends the chain there: nothing behind it counts, however well it
        // landed.
        let broken = state.chain.as_ref().is_none_or(|chain| chain.broken);
        state.pipeline.land(&last, broken, slowest.map(|waited| waited.vdev));
        self.tell(state);
    }

    /// Fills blocks and carries them to disk. `None`: there were none.
    fn carry(&self) -> Option<Carried> {
        let clock = &self.parts.env.clock;
        let begun = clock.now();
        let burst = self.burst();
        let last = burst.blocks.last().map(|(bp, _)| *bp)?;
        let stats = self.place_stats(&last);
        let bps: Vec<BlkPtr> = burst.blocks.iter().map(|(bp, _)| *bp).collect();
        // Blocks that were there before the log was written are flushed with it.
        let result = self.parts.storage.write_log(burst.blocks, &burst.tops, burst.losses);
        match &result {
            Ok(times) => {
                stats.write_nanos.add(times.write.0);
                stats.flush_nanos.add(times.flush.0);
            }
            Err(error) => {
                tracing::error!(dataset = self.parts.dataset, %error, "log write failed; waiting for the group instead");
            }
        }
        stats.bursts.add(1);
        stats.nanos.add(clock.now().since(begun).0);
        Some(Carried { bps, last, is_durable: result.is_ok() })
    }

    /// Fills the open block, and the next ones as long as the queue fills them too. Gives `filling`
    /// back, the burst having its place among those that fly.
    fn burst(&self) -> Burst {
        let mut burst = Burst { losses: self.parts.storage.losses(), ..Burst::default() };
        let mut upto = 0;
        loop {
            let load = self.load();
            let mut state = lock(&self.state);
            let more = match load {
                Some(load) => {
                    burst.blocks.push((load.bp, load.bytes));
                    burst.tops.extend(load.tops);
                    upto = load.upto;
                    let fills = |chain: &Chain| chain.room() > 0 && state.queue.bytes() >= chain.room();
                    burst.blocks.len() < BURST && state.chain.as_ref().is_some_and(fills)
                }
                None => {
                    if let Some(chain) = &mut state.chain {
                        chain.retiring = true;
                    }
                    false
                }
            };
            if !more {
                state.pipeline.filling = false;
                if let Some((bp, _)) = burst.blocks.last() {
                    state.pipeline.flying.push_back(Flying { bp: *bp, upto, landed: false });
                }
                self.tell(state); // The next burst can be filled.
                return burst;
            }
        }
    }

    /// Wakes those for whom something has moved.
    pub(super) fn tell(&self, mut state: MutexGuard<'_, State>) {
        let bells = state.bells();
        drop(state);
        bells.iter().for_each(|bell| bell.notify_one());
        self.changed.notify_all();
    }

    /// Takes records from the queue into the open block. `None`: the chain must end, and what was
    /// taken goes the other way.
    fn load(&self) -> Option<Load> {
        loop {
            let (batch, mut cargo) = {
                let mut state = lock(&self.state);
                let wanted = state.queue.bytes();
                let chain = state.chain.as_ref()?;
                let (room, seq, log) = (chain.room(), chain.seq, chain.id());
                if room == 0 {
                    return None;
                }
                let (batch, upto) = state.queue.take(room);
                let newest = batch.iter().map(|itx| itx.txg).max().unwrap_or(0);
                (
                    batch,
                    Cargo { log, upto, wanted, seq, newest, tops: Vec::new(), bytes: vec![0; CHAIN_SIZE] },
                )
            };
            let newest = cargo.newest;
            let some = !batch.is_empty();
            let placed = self.place(batch, &mut cargo);
            if some && placed.as_ref().is_some_and(Vec::is_empty) {
                continue;
            }
            let load =
                placed.and_then(|batch| self.encode(batch, cargo)).and_then(|cargo| self.chain_up(cargo));
            if load.is_none() {
                lock(&self.state).queue.unlogged(newest);
            }
            return load;
        }
    }

    /// Writes the blocks that records are to lead to. A block whose group is closed already cannot
    /// be written ahead of it: from there on everything goes back, to be taken with its bytes.
    fn place(&self, batch: Vec<Itx>, cargo: &mut Cargo) -> Option<Vec<(Itx, Option<BlkPtr>)>> {
        let is_indirect = |itx: &Itx| matches!(itx.what, What::Indirect { .. });
        if !batch.iter().any(is_indirect) {
            return Some(batch.into_iter().map(|itx| (itx, None)).collect());
        }
        let tx = self.enter().ok()?;
        let mut wanted = Vec::new();
        let mut places: Vec<Option<usize>> = Vec::new();
        for itx in &batch {
            let What::Indirect { object, blkid, .. } = itx.what else {
                places.push(None);
                continue;
            };
            let dnode = (itx.txg == tx.txg()).then(|| self.parts.objset.hold(object).ok()).flatten();
            places.push(dnode.map(|dnode| {
                wanted.push((dnode, blkid));
                wanted.len() - 1
            }));
        }
        let written = dmu::write_early(&wanted, &tx).ok()?;
        drop(tx);
        cargo.tops =
            written.iter().flatten().flat_map(BlkPtr::dvas).filter(Dva::is_valid).map(|d| d.vdev).collect();
        cargo.tops.sort_unstable();
        cargo.tops.dedup();
        let mut placed = Vec::new();
        let mut rest = batch.into_iter().zip(places);
        while let Some((mut itx, place)) = rest.next() {
            let bp = place.and_then(|n| written[n]);
            if is_indirect(&itx) && bp.is_none() {
                itx.what = itx.what.fetched();
                let back = std::iter::once(itx).chain(rest.map(|(itx, _)| itx)).collect();
                cargo.upto = lock(&self.state).queue.put_back(back);
                break;
            }
            placed.push((itx, bp));
        }
        Some(placed)
    }

    /// The records as they go to disk; bytes of files are fetched here, with no lock held.
    fn encode(&self, batch: Vec<(Itx, Option<BlkPtr>)>, mut cargo: Cargo) -> Option<Cargo> {
        for (itx, place) in batch {
            let (txg, answer) = (itx.txg, itx.answer.clone());
            let Some(mut record) = self.record(itx, place).ok()? else { continue };
            cargo.seq += 1;
            answer.inspect(|answer| answer.logged(cargo.log, cargo.seq));
            stamp(&mut record, txg, cargo.seq);
            cargo.bytes.extend_from_slice(&record);
            self.parts.stats.records.add(1);
        }
        Some(cargo)
    }

    /// Gives the open block its content and its successor.
    fn chain_up(&self, cargo: Cargo) -> Option<Load> {
        let Cargo { log: _, upto, wanted, seq, newest, tops, mut bytes } = cargo;
        let tx = self.enter().ok()?;
        let mut state = lock(&self.state);
        let chain = state.chain.as_mut()?;
        chain.seq = seq;
        let bp = chain.open()?.bp;
        let size = chain.next_size(wanted);
        let next = self.allocate(size, &tx).map(|mut next| {
            let mut id = bp.checksum();
            id[SEQUENCE] += 1;
            next.set_checksum(ondisk::ChecksumKind::Zilog2, id);
            next
        });
        self.parts.objset.mark_dirty(&tx);
        chain.advance(newest, next.map(|next| (next, tx.txg())));
        let header = ZilChain { next: next.unwrap_or(BlkPtr::HOLE), nused: bytes.len() as u64 };
        bytes[..CHAIN_SIZE].copy_from_slice(&header.encode());
        drop(state);
        self.parts.stats.blocks.add(1);
        let stats = self.place_stats(&bp);
        stats.count.add(1);
        stats.bytes.add((bytes.len() - CHAIN_SIZE) as u64);
        stats.written.add(bytes.len() as u64);
        stats.allocated.add(bp.lsize());
        Some(Load { bp, upto, bytes, tops })
    }

    /// The bytes of a record; `None` where it has lost its meaning because the file was removed or
    /// cut.
    fn record(&self, itx: Itx, place: Option<BlkPtr>) -> Result<Option<Vec<u8>>, DmuError> {
        let stats = &self.parts.stats;
        match (itx.what, place) {
            (What::Record(record), _) => Ok(Some(record)),
            (What::Copied { record, len }, _) => {
                stats.copied.add(1);
                stats.copied_bytes.add(len);
                Ok(Some(record))
            }
            (What::Indirect { object, offset, len, .. }, Some(bp)) => {
                stats.indirect.add(1);
                stats.indirect_bytes.add(len);
                Ok(Some(LrWrite { object, offset, length: len }.encode_indirect(0, &bp)))
            }
            (
                What::Write { object, generation, offset, len }
                | What::Indirect { object, generation, offset, len, .. },
                _,
            ) => {
                let source = lock(&self.source).as_ref().and_then(std::sync::Weak::upgrade);
                let data = source.ok_or(DmuError::Suspended)?.read(object, generation, offset, len)?;
                stats.fetched.add(1);
                stats.fetched_bytes.add(len);
                Ok(data.map(|data| LrWrite { object, offset, length: len }.encode_with(&data)))
            }
        }
    }

    fn place_stats(&self, bp: &BlkPtr) -> &PlaceStats {
        let stats = &self.parts.stats;
        if self.parts.storage.is_on_log(bp) { &stats.slog } else { &stats.normal }
    }

    /// Ends the chain: its blocks are freed, the header says that there is no log. What was
    /// promised is durable otherwise when this returns.
    pub fn retire(&self) -> Result<(), DmuError> {
        let mut state = lock(&self.state);
        let Some(chain) = &mut state.chain else { return Ok(()) };
        chain.retiring = true;
        state = self.parts.env.wait(&self.state, state, &self.changed, &mut |state| state.pipeline.is_idle());
        drop(state);
        let tx = self.enter()?;
        self.parts.objset.mark_dirty(&tx);
        let txg = tx.txg();
        drop(tx);
        self.parts.txgs.wait_synced(txg)
    }
}

/// A commit that was asked for: nothing is durable before it is kept.
#[must_use]
pub struct Promise {
    zil: Arc<Zil>,
    ticket: Option<Ticket>,
}

impl Promise {
    /// Waits. The caller holds no lock and no transaction.
    pub fn keep(self) -> Result<(), DmuError> {
        self.ticket.map_or(Ok(()), |ticket| self.zil.keep(&ticket))
    }
}

/// A burst that was carried to disk.
struct Carried {
    bps: Vec<BlkPtr>,
    last: BlkPtr,
    is_durable: bool,
}

/// What a block will hold.
struct Cargo {
    /// Which chain.
    log: u64,
    /// The order is written up to here with it.
    upto: u64,
    /// Bytes that would have been written, had there been room.
    wanted: usize,
    /// Number of the last record.
    seq: u64,
    /// The newest group of a record.
    newest: u64,
    /// Top-level vdevs that its records lead to.
    tops: Vec<u32>,
    bytes: Vec<u8>,
}

/// A block ready to be written.
struct Load {
    bp: BlkPtr,
    /// The order is written up to here with it.
    upto: u64,
    bytes: Vec<u8>,
    /// To be flushed too.
    tops: Vec<u32>,
}

/// Blocks that follow each other, ready to be written together.
#[derive(Default)]
struct Burst {
    /// Before anything of it was written.
    losses: u64,
    blocks: Vec<(BlkPtr, Vec<u8>)>,
    /// To be flushed too.
    tops: Vec<u32>,
}

#[cfg(test)]
mod tests;
