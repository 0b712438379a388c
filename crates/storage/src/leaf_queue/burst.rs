//! A burst: what one carrier takes to the disk at once.

use env::{AlignedBuf, Clock, Disk, DiskError, DiskIo, IoClass, Nanos};

use super::{Answer, Request, Transfer};
use crate::counters::Counters;

const BY_INDEX: [IoClass; 6] = [
    IoClass::SyncRead,
    IoClass::SyncWrite,
    IoClass::AsyncRead,
    IoClass::AsyncWrite,
    IoClass::Scrub,
    IoClass::Trim,
];

/// Groups of neighbouring I/Os; each group is one I/O of the disk.
pub struct Burst {
    pub class: usize,
    groups: Vec<Group>,
}

struct Group {
    members: Vec<Request>,
    answers: Vec<Answer>,
}

impl Group {
    fn offset(&self) -> u64 {
        self.members[0].offset
    }

    fn bytes(&self) -> usize {
        self.members.iter().map(|request| request.transfer.len()).sum()
    }

    fn is_write(&self) -> bool {
        self.members[0].transfer.is_write()
    }

    /// For a read, which answers its members from it.
    fn memory(&self) -> Option<AlignedBuf> {
        (!self.is_write()).then(|| AlignedBuf::scratch(self.bytes()))
    }

    /// Of a write, from where they are.
    fn payloads(&self) -> Vec<&[u8]> {
        self.members.iter().filter_map(|request| request.transfer.payload()).collect()
    }

    fn io<'a>(&self, read: &'a mut Option<AlignedBuf>, write: &'a [&'a [u8]], class: IoClass) -> DiskIo<'a> {
        match (read, write) {
            (Some(buf), _) => DiskIo::read(self.offset(), buf, class),
            (None, [payload]) => DiskIo::write(self.offset(), payload, class),
            (None, payloads) => DiskIo::gather(self.offset(), payloads, class),
        }
    }

    /// Counts waiting and sizes.
    fn tally(&self, class: usize, start: Nanos, now: Nanos, counters: &Counters) {
        let tallies = &counters.tallies;
        let is_write = self.is_write();
        for request in &self.members {
            tallies.total[usize::from(is_write)].record(now.since(request.since).0);
            tallies.queued[class].record(start.since(request.since).0);
        }
        let sizes = if self.members.len() > 1 { &tallies.joined } else { &tallies.alone };
        sizes[class].record(self.bytes() as u64);
    }

    /// One answer a member. If a joined I/O failed, its members are tried alone: one bad sector
    /// spoils only its own.
    fn settle(
        &mut self,
        disk: &dyn Disk,
        class: IoClass,
        result: Result<(), DiskError>,
        read: Option<AlignedBuf>,
    ) {
        if self.members.len() == 1 {
            self.answers.push(result.map(|()| read));
            return;
        }
        let mut at = 0;
        for request in &self.members {
            let len = request.transfer.len();
            self.answers.push(match (&request.transfer, result) {
                (Transfer::Write(_), Ok(())) => Ok(None),
                (Transfer::Read(_), Ok(())) => {
                    let all = read.as_ref().expect("a read has memory");
                    Ok(Some(AlignedBuf::from_slice(&all[at..at + len])))
                }
                (Transfer::Write(payload), Err(_)) => {
                    disk.write_at(request.offset, payload.bytes(), class).map(|()| None)
                }
                (Transfer::Read(_), Err(_)) => {
                    let mut own = AlignedBuf::scratch(len);
                    disk.read_at(request.offset, &mut own, class).map(|()| Some(own))
                }
            });
            at += len;
        }
    }
}

impl Burst {
    pub fn new(class: usize) -> Burst {
        Burst { class, groups: Vec::new() }
    }

    pub fn push(&mut self, members: Vec<Request>) {
        self.groups.push(Group { members, answers: Vec::new() });
    }

    /// I/Os of the disk.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// I/Os of callers.
    pub fn requests(&self) -> usize {
        self.groups.iter().map(|group| group.members.len()).sum()
    }

    /// Does it, and counts it.
    pub fn submit(&mut self, disk: &dyn Disk, clock: &dyn Clock, counters: &Counters) {
        let class = BY_INDEX[self.class];
        let start = clock.now();
        let mut reads: Vec<Option<AlignedBuf>> = self.groups.iter().map(Group::memory).collect();
        let writes: Vec<Vec<&[u8]>> = self.groups.iter().map(Group::payloads).collect();
        let mut ios = Vec::with_capacity(self.groups.len());
        for ((group, read), write) in self.groups.iter().zip(&mut reads).zip(&writes) {
            ios.push(group.io(read, write, class));
        }
        disk.submit(&mut ios);
        let results: Vec<_> = ios.iter().map(|io| io.result).collect();
        for ((group, result), read) in self.groups.iter_mut().zip(results).zip(reads) {
            group.settle(disk, class, result, read);
            let now = clock.now();
            let took = now.since(start);
            group.tally(self.class, start, now, counters);
            for (request, answer) in group.members.iter().zip(&group.answers) {
                let len = request.transfer.len() as u64;
                let result = answer.as_ref().map(|_| ()).map_err(|error| *error);
                counters.record(request.transfer.is_write(), request.offset + len, len, took, result);
            }
        }
    }

    /// Tells the callers that there will be no answers.
    pub fn break_off(self) {
        for request in self.groups.into_iter().flat_map(|group| group.members) {
            request.completion.break_off();
        }
    }

    /// Tells the callers.
    pub fn answer(self) {
        for group in self.groups {
            for (request, answer) in group.members.into_iter().zip(group.answers) {
                request.completion.finish(request.slot, answer);
            }
        }
    }
}
