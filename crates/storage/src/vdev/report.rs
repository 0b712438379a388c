//! What goes wrong on disks, one error at a time, for whoever judges them: storage counts, and
//! gives up only what has vanished. Source: module/zfs/zfs_fm.c (what an ereport holds).

use std::collections::VecDeque;
use std::sync::Mutex;

use env::{DiskError, WorkerHandle, lock};

/// Reports kept until somebody takes them; more are dropped, for a thousand errors say what ten
/// thousand would.
const KEPT: usize = 1024;

/// What went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    Read(DiskError),
    Write(DiskError),
    /// The disk may have lost anything it took since the flush before.
    Flush(DiskError),
    /// The disk gave bytes, and not the right ones.
    Checksum,
}

impl What {
    /// What the disk said, if it did not lie.
    pub fn error(self) -> Option<DiskError> {
        match self {
            What::Read(error) | What::Write(error) | What::Flush(error) => Some(error),
            What::Checksum => None,
        }
    }
}

/// One error of one disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiskReport {
    /// Of the leaf.
    pub guid: u64,
    pub what: What,
    /// Bytes of the disk's space that can be allocated; 0 and 0 of a flush, and where it is not
    /// known.
    pub offset: u64,
    pub size: u64,
}

/// Reports on their way up.
#[derive(Default)]
pub struct Reports {
    kept: Mutex<VecDeque<DiskReport>>,
    reader: Mutex<Option<WorkerHandle>>,
}

impl Reports {
    pub fn add(&self, report: DiskReport) {
        let mut kept = lock(&self.kept);
        if kept.len() < KEPT {
            kept.push_back(report);
        }
        drop(kept);
        self.wake();
    }

    pub(crate) fn wake(&self) {
        let reader = lock(&self.reader).clone();
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// All that have come since the last call, oldest first.
    pub fn take(&self) -> Vec<DiskReport> {
        std::mem::take(&mut *lock(&self.kept)).into()
    }

    /// Who is woken when there is something to take.
    pub fn set_reader(&self, reader: WorkerHandle) {
        *lock(&self.reader) = Some(reader);
    }
}
