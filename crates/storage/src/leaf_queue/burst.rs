//! A burst: what one carrier takes to the disk at once.

use env::{AlignedBuf, Clock, Disk, DiskError, DiskIo, IoClass, Nanos};

use super::{Answer, Request, Transfer};
use crate::vdev::leaf::Counters;

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
    /// Memory of a read, or of a joined write.
    buf: Option<AlignedBuf>,
    result: Result<(), DiskError>,
    answers: Vec<Answer>,
}

impl Group {
    fn new(members: Vec<Request>) -> Group {
        let bytes = members.iter().map(|request| request.transfer.len()).sum();
        let joined = members.len() > 1;
        let buf = if !members[0].transfer.is_write() {
            Some(AlignedBuf::scratch(bytes))
        } else if joined {
            let parts: Vec<&[u8]> = members.iter().filter_map(|request| request.transfer.payload()).collect();
            Some(AlignedBuf::concat(&parts))
        } else {
            None
        };
        Group { members, buf, result: Ok(()), answers: Vec::new() }
    }

    fn io(&mut self, class: IoClass) -> DiskIo<'_> {
        let first = &self.members[0];
        match (&first.transfer, &mut self.buf) {
            (Transfer::Read(_), Some(buf)) => DiskIo::read(first.offset, buf, class),
            (Transfer::Write(_), Some(buf)) => DiskIo::write(first.offset, buf, class),
            (Transfer::Write(payload), None) => DiskIo::write(first.offset, payload.bytes(), class),
            (Transfer::Read(_), None) => unreachable!("a read has memory"),
        }
    }

    /// Counts waiting and sizes.
    fn tally(&self, class: usize, start: Nanos, now: Nanos, counters: &Counters) {
        let tallies = &counters.tallies;
        let is_write = self.members[0].transfer.is_write();
        for request in &self.members {
            tallies.total[usize::from(is_write)].record(now.since(request.since).0);
            tallies.queued[class].record(start.since(request.since).0);
        }
        let bytes: usize = self.members.iter().map(|request| request.transfer.len()).sum();
        let sizes = if self.members.len() > 1 { &tallies.joined } else { &tallies.alone };
        sizes[class].record(bytes as u64);
    }

    /// One answer a member. If a joined I/O failed, its members are tried alone: one bad sector spoils only its own.
    fn settle(&mut self, disk: &dyn Disk, class: IoClass) {
        let buf = self.buf.take();
        if self.members.len() == 1 {
            let read = buf.filter(|_| !self.members[0].transfer.is_write());
            self.answers.push(self.result.map(|()| read));
            return;
        }
        let mut at = 0;
        for request in &self.members {
            let len = request.transfer.len();
            self.answers.push(match (&request.transfer, self.result) {
                (Transfer::Write(_), Ok(())) => Ok(None),
                (Transfer::Read(_), Ok(())) => {
                    let all = buf.as_ref().expect("a read has memory");
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
        self.groups.push(Group { members, buf: None, result: Ok(()), answers: Vec::new() });
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
        for group in &mut self.groups {
            *group = Group::new(std::mem::take(&mut group.members));
        }
        let mut ios: Vec<DiskIo<'_>> = self.groups.iter_mut().map(|group| group.io(class)).collect();
        disk.submit(&mut ios);
        let results: Vec<_> = ios.iter().map(|io| io.result).collect();
        drop(ios);
        for (group, result) in self.groups.iter_mut().zip(results) {
            group.result = result;
            group.settle(disk, class);
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

    /// Tells the callers.
    pub fn answer(self) {
        for group in self.groups {
            for (request, answer) in group.members.into_iter().zip(group.answers) {
                request.completion.finish(request.slot, answer);
            }
        }
    }
}
