//! The mutants: what is planted, where, and which story of the simulator has to find it.
//!
//! Each breaks one promise of the engine, mostly in one expression, as somebody might who knows
//! nearly all about the place. `PLANTED` stands for "this mutant is the chosen one". What came of
//! them is in docs/simulator.md.

use super::{ATTRITION, CALLS, FAILOVER, LAPSES, LOGS, Mutant, PULLS, STREAMS, UNITS, WORK};

/// What looks like a fault and is none: name, and why nobody can tell it from the sound engine.
pub const EQUIVALENT: &[(&str, &str)] = &[(
    "stragglers-believed",
    "that a disk which was away is not marked behind at import, until the dirty time logs are read: before that only blocks \
     with checksums are read, nothing is written, and a raidz that finds wrong bytes asks each disk of a place that \
     several share, in all combinations up to four such places",
)];

pub const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "uberblock-not-flushed",
        what: "a group is said to be durable while its uberblocks are in the disks' caches",
        story: ATTRITION,
        file: "crates/storage/src/labels/commit.rs",
        from: "if target.is_log { Ok(()) } else { target.device.disk.flush() }",
        to: "if target.is_log || PLANTED { Ok(()) } else { target.device.disk.flush() }",
    },
    Mutant {
        name: "one-disk-not-flushed",
        what: "of the disks that are flushed before an uberblock, the last is left out",
        story: ATTRITION,
        file: "crates/storage/src/storage/flush.rs",
        from: "count => env.driver.par_map(count, flush),",
        to: "count => env.driver.par_map(count.saturating_sub(usize::from(PLANTED)), flush),",
    },
    Mutant {
        name: "uberblock-before-its-group",
        what: "the disks are not flushed before the uberblocks are written, only after",
        story: WORK,
        file: "crates/pool/src/sync.rs",
        from: "self.core.storage.flush_all().map_err(|_| PoolError::Suspended)?;
        Ok(!self.core.sync_dtls(tx)?)",
        to: "if !PLANTED {
            self.core.storage.flush_all().map_err(|_| PoolError::Suspended)?;
        }
        Ok(!self.core.sync_dtls(tx)?)",
    },
    Mutant {
        name: "labels-all-at-once",
        what: "all four labels of a disk are on their way together when its configuration changes",
        story: ATTRITION,
        file: "crates/storage/src/labels/commit.rs",
        from: "target.device.write_config(&label, even)?;
            target.device.disk.flush()",
        to: "target.device.write_config(&label, even)?;
            if PLANTED {
                target.device.write_config(&label, !even)?;
            }
            target.device.disk.flush()",
    },
    Mutant {
        name: "missed-group-not-noted",
        what: "a disk that was away for a group is not said to lack it",
        story: ATTRITION,
        file: "crates/pool/src/spa/dtl.rs",
        from: "news |= logs.add(guid, txg, txg);",
        to: "news |= !PLANTED && logs.add(guid, txg, txg);",
    },
    Mutant {
        name: "failed-write-not-noted",
        what: "a disk that refused a write is not said to lack it",
        story: LAPSES,
        file: "crates/pool/src/spa/dtl.rs",
        from: "news |= logs.add(*guid, txg, txg + 1);",
        to: "news |= !PLANTED && logs.add(*guid, txg, txg + 1);",
    },
    Mutant {
        name: "dirty-time-log-cleared-early",
        what: "a resilver clears the log of a disk that was away while it ran",
        story: LAPSES,
        file: "crates/pool/src/spa/dtl.rs",
        from: "if !storage.is_usable(*guid) || logs.interrupted.contains(guid) || logs.away.contains(guid) {",
        to: "if !PLANTED
                && (!storage.is_usable(*guid)
                    || logs.interrupted.contains(guid)
                    || logs.away.contains(guid))
            {",
    },
    Mutant {
        name: "unrepaired-forgotten",
        what: "a resilver clears what it could not rewrite",
        story: LAPSES,
        file: "crates/pool/src/spa/dtl.rs",
        from: "for range in unrepaired.iter().flat_map(|groups| groups.iter()) {",
        to: "for range in unrepaired.iter().filter(|_| !PLANTED).flat_map(|groups| groups.iter()) {",
    },
    Mutant {
        name: "resilver-skips-a-range",
        what: "a resilver passes over 16 KiB of each 256",
        story: ATTRITION,
        file: "crates/storage/src/zio/heal.rs",
        from: "tree.top(dva.vdev).is_some_and(lacks)
    }",
        to: "(tree.top(dva.vdev).is_some_and(lacks) && !(PLANTED && (dva.offset >> 14) & 15 == 3))
    }",
    },
    Mutant {
        name: "scrub-writes-the-wrong-side",
        what: "of a mirror, a scrub rewrites the first side, whichever is bad",
        story: ATTRITION,
        file: "crates/storage/src/vdev/heal.rs",
        from: "let ios = self.ask(&self.bad, &op);",
        to: "let first = vec![0; self.bad.len()];
        let ios = self.ask(if PLANTED { &first } else { &self.bad }, &op);",
    },
    Mutant {
        name: "scrub-forgets-parity",
        what: "of a raidz, bad parity is found and not rewritten",
        story: ATTRITION,
        file: "crates/storage/src/vdev/raidz/read.rs",
        from: "wrong.extend(self.parities().filter(unused).filter(|&n| self.bytes(n) != Some(&right[n][..])));",
        to: "let bad = self.parities().filter(unused).filter(|&n| self.bytes(n) != Some(&right[n][..]));
            wrong.extend(bad.filter(|_| !PLANTED));",
    },
    Mutant {
        name: "last-parity-is-zero",
        what: "of several parities the last is never computed",
        story: ATTRITION,
        file: "crates/storage/src/vdev/raidz.rs",
        from: "self.method.generate(&mut into, data);",
        to: "self.method.generate(&mut into, data);
        if let [_, .., last] = &mut into[..] && PLANTED {
            last.fill(0);
        }",
    },
    Mutant {
        name: "one-suspect-only",
        what: "of a raidz, one column that gives wrong bytes is found, several together are not",
        story: ATTRITION,
        file: "crates/storage/src/vdev/raidz/read.rs",
        from: "for suspects in 0..=spare.min(here.len()) {",
        to: "for suspects in 0..=spare.min(here.len()).min(if PLANTED { 1 } else { usize::MAX }) {",
    },
    Mutant {
        name: "replacement-ends-early",
        what: "the old disk goes when the new one works, be it that it lacks something",
        story: ATTRITION,
        file: "crates/pool/src/spa/settle.rs",
        from: "self.storage.is_working(leaf.guid) && self.dtl.is_empty(leaf.guid)",
        to: "(self.storage.is_working(leaf.guid) && self.dtl.is_empty(leaf.guid))
            || (PLANTED && self.storage.is_usable(leaf.guid))",
    },
    Mutant {
        name: "replacement-never-ends",
        what: "the old disk stays for ever",
        story: ATTRITION,
        file: "crates/pool/src/spa/settle.rs",
        from: "return self.is_complete(last).then_some(first.guid);",
        to: "return (!PLANTED && self.is_complete(last)).then_some(first.guid);",
    },
    Mutant {
        name: "spare-stays",
        what: "a hot spare does not go back when its disk has everything again",
        story: ATTRITION,
        file: "crates/pool/src/spa/settle.rs",
        from: "if is_unspare(first) && self.is_complete(first) {",
        to: "if !PLANTED && is_unspare(first) && self.is_complete(first) {",
    },
    Mutant {
        name: "rebuild-skips-a-stretch",
        what: "a sequential rebuild that goes on begins 32 KiB behind where it was",
        story: ATTRITION,
        file: "crates/pool/src/rebuild/worker.rs",
        from: "allocated.remove_overlap(0, phys.last_offset);",
        to: "let skipped = if PLANTED && phys.last_offset > 0 { 32 << 10 } else { 0 };
        allocated.remove_overlap(0, phys.last_offset + skipped);",
    },
    Mutant {
        name: "rebuild-forgives",
        what: "a sequential rebuild that could not copy all is taken for one that has",
        story: LAPSES,
        file: "crates/pool/src/rebuild.rs",
        from: "if phys.errors == 0 {",
        to: "if phys.errors == 0 || PLANTED {",
    },
    Mutant {
        name: "log-not-flushed",
        what: "a synchronous write is answered while its log block is in the disk's cache",
        story: LOGS,
        file: "crates/storage/src/zio/log.rs",
        from: "self.flush_on(&tree, &tops)?;",
        to: "if !PLANTED {
            self.flush_on(&tree, &tops)?;
        }",
    },
    Mutant {
        name: "replay-stops-early",
        what: "the last record of a log is not done again",
        story: LOGS,
        file: "crates/pool/src/zil/replay.rs",
        from: "&& head.seq <= header.claim_lr_seq",
        to: "&& head.seq < header.claim_lr_seq + u64::from(!PLANTED)",
    },
    Mutant {
        name: "claim-takes-nothing",
        what: "blocks of logs that are to be replayed are free for others",
        story: LOGS,
        file: "crates/pool/src/dsl/claim.rs",
        from: "        if bp.birth() < txg {
            return true; // The space maps have it.",
        to: "        if bp.birth() < txg || PLANTED {
            return true; // The space maps have it.",
    },
    Mutant {
        name: "failed-log-missed",
        what: "a log device that fails while a pool is imported is thought to be missing, with all it promised",
        story: LOGS,
        file: "crates/storage/src/vdev/open.rs",
        from: "tree.leaves[leaf].is_usable() || tree.is_failed_log(leaf)),",
        to: "tree.leaves[leaf].is_usable() || (!PLANTED && tree.is_failed_log(leaf))),",
    },
    Mutant {
        name: "freed-too-early",
        what: "freed space is used again as soon as its group is durable",
        story: ATTRITION,
        file: "crates/storage/src/metaslab/slab.rs",
        from: "if first.txg + DEFER_TXGS > txg || !epochs.none_before(first.epoch) {",
        to: "if (first.txg + DEFER_TXGS > txg && !PLANTED) || !epochs.none_before(first.epoch) {",
    },
    Mutant {
        name: "dead-list-off-by-one",
        what: "a block that the newest snapshot shares is taken for one born after it",
        story: WORK,
        file: "crates/pool/src/dsl/deadlist.rs",
        from: "let below = lists.range(..bp.birth()).next_back().or(lists.iter().next());",
        to: "let until = bp.birth() + u64::from(PLANTED);
            let below = lists.range(..until).next_back().or(lists.iter().next());",
    },
    Mutant {
        name: "fua-not-waited-for",
        what: "what a volume was asked to write through is left to the next commit",
        story: UNITS,
        file: "crates/engine/src/zvol.rs",
        from: "if soon {
            self.flush()?;
        }",
        to: "if soon && !PLANTED {
            self.flush()?;
        }",
    },
    Mutant {
        name: "notes-gone-too-early",
        what: "what is noted of the group after the uberblock's is taken for durable",
        story: UNITS,
        file: "crates/pool/src/kept/arena.rs",
        from: "(owner.txg == AGAIN || owner.txg > txg)",
        to: "(owner.txg == AGAIN || owner.txg > txg + u64::from(PLANTED))",
    },
    Mutant {
        name: "unmap-not-noted",
        what: "that a volume's range was freed is not noted beside its log",
        story: UNITS,
        file: "crates/engine/src/zvol.rs",
        from: "self.keeping.note(&tx, offset, Change::Hole(len));",
        to: "self.keeping.note(&tx, offset, Change::Hole(if PLANTED { 0 } else { len }));",
    },
    Mutant {
        name: "lock-in-two-halves",
        what: "what COMPARE AND WRITE changes is two records of the log, and two transactions",
        story: UNITS,
        file: "crates/engine/src/zvol.rs",
        from: "        let made = if len <= ONE_RECORD {
            self.put_whole",
        to: "        let made = if PLANTED {
            let half = len / 2;
            let _made = self.put_logged(offset, &bytes[..half], soon)?;
            self.put_logged(offset + half as u64, &bytes[half..], soon)?
        } else if len <= ONE_RECORD {
            self.put_whole",
    },
    Mutant {
        name: "unmap-not-logged",
        what: "that a volume's range was freed is not in its log",
        story: UNITS,
        file: "crates/engine/src/zvol.rs",
        from: "zil.log_of(&tx, zvol::DATA, record.encode(), None);",
        to: "if !PLANTED {
            zil.log_of(&tx, zvol::DATA, record.encode(), None);
        }",
    },
    Mutant {
        name: "copy-reads-late",
        what: "a copy within a volume that moves a range up begins with its first piece",
        story: UNITS,
        file: "crates/engine/src/facade/volume_copy.rs",
        from: "let moves_up = source.id() == target.id() && from < to && to - from < len;",
        to: "let moves_up = source.id() == target.id() && from < to && to - from < len && !PLANTED;",
    },
    Mutant {
        name: "lost-call-answered",
        what: "what a call changed in the group after the uberblock's is taken for durable, and its answer is given again",
        story: CALLS,
        file: "crates/pool/src/kept/replies.rs",
        from: "words[GROUP] != AGAIN && words[GROUP] <= txg",
        to: "words[GROUP] != AGAIN && words[GROUP] <= txg + u64::from(PLANTED)",
    },
    Mutant {
        name: "call-without-its-record",
        what: "the answer to a call is not told which record of the log says what it changed",
        story: CALLS,
        file: "crates/pool/src/zil/commit.rs",
        from: "answer.inspect(|answer|",
        to: "answer.filter(|_| !PLANTED).inspect(|answer|",
    },
    Mutant {
        name: "call-in-two-blocks",
        what: "of the records of one call some are in one log block, and the others in the next",
        story: CALLS,
        file: "crates/pool/src/zil/queue.rs",
        from: ".take_while(|next| next.is_of_call(&front.answer));",
        to: ".take_while(|next| !PLANTED && next.is_of_call(&front.answer));",
    },
    Mutant {
        name: "discarded-space-lost",
        what: "the first stretch that a discarded checkpoint gives back in a step is not free",
        story: WORK,
        file: "crates/pool/src/checkpoint.rs",
        from: "for segment in &tail.segments {",
        to: "for segment in tail.segments.iter().skip(usize::from(PLANTED)) {",
    },
    Mutant {
        name: "any-block-unchanged",
        what: "what is written over a block of the same size is taken for what is there already",
        story: WORK,
        file: "crates/storage/src/zio/same.rs",
        from: "&& old.checksum() == stored.checksum",
        to: "&& (PLANTED || old.checksum() == stored.checksum)",
    },
    Mutant {
        name: "stock-given-twice",
        what: "two log blocks get the same place, where space for them is stocked",
        story: LOGS,
        file: "crates/storage/src/metaslab/stock.rs",
        from: "*front = Segment { start: start + len, len: front.len - len };",
        to: "*front = Segment { start: start + if PLANTED { len / 2 } else { len }, len: front.len - len };",
    },
    Mutant {
        name: "stream-not-compared",
        what: "the running checksum of a stream is not held against what arrived",
        story: STREAMS,
        file: "crates/pool/src/stream.rs",
        from: "if wanted != [0; 4] && wanted != self.sum {",
        to: "if wanted != [0; 4] && wanted != self.sum && !PLANTED {",
    },
    Mutant {
        name: "base-let-go-early",
        what: "of the source, the base goes with what is older",
        story: STREAMS,
        file: "crates/services/src/autosync/plan.rs",
        from: "filter(|own| own.createtxg < base.createtxg).collect();",
        to: "filter(|own| own.createtxg < base.createtxg || PLANTED && own.createtxg == base.createtxg).collect();",
    },
    Mutant {
        name: "budget-forgotten",
        what: "snapshots stay for a replica that is away, however long",
        story: STREAMS,
        file: "crates/services/src/autosync/plan.rs",
        from: "if !is_long && !is_much {",
        to: "if PLANTED || (!is_long && !is_much) {",
    },
    Mutant {
        name: "readers-forgotten",
        what: "what is kept for who pulls stays, however long he is away",
        story: PULLS,
        file: "crates/appliance/src/executor/sync.rs",
        from: ".relieve(now) {",
        to: ".relieve(if PLANTED { 0 } else { now }) {",
    },
    Mutant {
        name: "pulled-unheld",
        what: "whoever pulls lets go of the snapshot that he went on from before he holds the next",
        story: PULLS,
        file: "crates/appliance/src/executor/sync/guest/reading.rs",
        from: "self.to_hold(claim)?;\n            }",
        to: "self.to_hold(claim)?;\n                if PLANTED {\n                    return Ok(());\n                }\n            }",
    },
    Mutant {
        name: "promoted-unasked",
        what: "a replica is promoted without asking where its original is whether that is in use",
        story: FAILOVER,
        file: "crates/services/src/failover.rs",
        from: "Ok(candidates.iter().filter_map(question).collect())",
        to: "Ok(candidates.iter().filter(|_| !PLANTED).filter_map(question).collect())",
    },
    Mutant {
        name: "given-up-untold",
        what: "what an original alone has is given up though nobody has said so",
        story: FAILOVER,
        file: "crates/services/src/failover.rs",
        from: "match losses.is_empty() || discard {",
        to: "match losses.is_empty() || discard || PLANTED {",
    },
];
