//! What is measured, as data: parts of groups of rows.
//!
//! Not every product of block size, order, durability and number of writers, but what a storage
//! administrator would ask: copying, the small random I/O of virtual machines and databases, many
//! small files. The rows of a group run one after the other on each contender before it is the next
//! one's turn.

use load::{Blocks, Crowd, Work};
use std::time::Duration;

/// Bytes of the file that is written and read: less than any contender's cache.
pub const SIZE: u64 = 512 << 20;
/// Most files made at a time, so that the fast ones do not have to search larger folders.
const FILES: u64 = 20_000;
/// Connections that the writers of small files share.
const CONNECTIONS: usize = 8;

/// What its tables are about, and who takes part.
pub struct Part {
    pub name: &'static str,
    pub title: &'static str,
    pub place: Place,
    pub groups: &'static [Group],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Nfs,
    Local,
}

/// What has to be there before a group begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Before {
    Nothing,
    /// No file: it is written anew.
    NoFile,
    /// The whole file.
    File,
    /// Likewise; ours made of small records, as one sets it for virtual machines and databases.
    FileOfSmallRecords,
}

pub struct Group {
    pub before: Before,
    pub rows: &'static [Row],
}

pub struct Row {
    pub name: &'static str,
    pub work: Work,
    pub writers: usize,
    pub connections: usize,
    /// The ratio to the first peer that is to be reached.
    pub goal: Option<f64>,
    /// It lasts so many times as long as others: what is put off must come within its time.
    spans: u32,
}

impl Row {
    pub fn crowd(&self, span: Duration) -> Crowd {
        Crowd::new(self.writers, span * self.spans).over(self.connections)
    }

    /// Whether bytes say more than operations.
    pub fn is_stream(&self) -> bool {
        match self.work {
            Work::Write { blocks, .. } | Work::Read { blocks } => blocks.block >= 64 << 10,
            _ => false,
        }
    }

    const fn goal(self, ratio: f64) -> Row {
        Row { goal: Some(ratio), ..self }
    }

    /// Long enough, by default, for a transaction group of ours to be closed (after five seconds)
    /// and written out.
    const fn long(self) -> Row {
        Row { spans: 6, ..self }
    }

    const fn over(self, connections: usize) -> Row {
        Row { connections, ..self }
    }
}

const fn row(name: &'static str, work: Work, writers: usize) -> Row {
    Row { name, work, writers, connections: 1, goal: None, spans: 1 }
}

const fn in_order(block: u32) -> Blocks {
    Blocks { block, size: SIZE, is_random: false }
}

const fn at_random(block: u32) -> Blocks {
    Blocks { block, size: SIZE, is_random: true }
}

const fn write(block: u32) -> Work {
    Work::Write { blocks: in_order(block), is_sync: false }
}

const fn write_stable(block: u32) -> Work {
    Work::Write { blocks: in_order(block), is_sync: true }
}

const fn read(block: u32) -> Work {
    Work::Read { blocks: in_order(block) }
}

const fn read_anywhere(block: u32) -> Work {
    Work::Read { blocks: at_random(block) }
}

const fn write_anywhere(block: u32, is_sync: bool) -> Work {
    Work::Write { blocks: at_random(block), is_sync }
}

const fn fresh(rows: &'static [Row]) -> Group {
    Group { before: Before::NoFile, rows }
}

const fn on_file(rows: &'static [Row]) -> Group {
    Group { before: Before::File, rows }
}

const fn on_records(rows: &'static [Row]) -> Group {
    Group { before: Before::FileOfSmallRecords, rows }
}

const fn names(rows: &'static [Row]) -> Group {
    Group { before: Before::Nothing, rows }
}

const K4: u32 = 4 << 10;
const K64: u32 = 64 << 10;
const M1: u32 = 1 << 20;

pub const PARTS: &[Part] = &[
    Part {
        name: "nfs",
        title: "NFSv3: streams and random I/O, made durable by a COMMIT at the end",
        place: Place::Nfs,
        groups: &[
            fresh(&[row("write 1 MiB, 1 in flight", write(M1), 1).goal(1.0)]),
            fresh(&[row("write 1 MiB, 16 in flight", write(M1), 16).goal(1.0)]),
            fresh(&[row("write 64 KiB, 1 in flight", write(K64), 1).goal(1.0)]),
            fresh(&[row("write 64 KiB, 16 in flight", write(K64), 16).goal(1.0)]),
            on_file(&[row("read 1 MiB, 1 in flight", read(M1), 1).goal(1.0)]),
            on_file(&[row("read 1 MiB, 16 in flight", read(M1), 16).goal(1.0)]),
            on_file(&[row("read 64 KiB, 1 in flight", read(K64), 1).goal(1.0)]),
            on_file(&[row("read 64 KiB, 16 in flight", read(K64), 16).goal(1.0)]),
            on_file(&[row("random read 4 KiB, 1 in flight", read_anywhere(K4), 1).goal(1.0)]),
            on_file(&[row("random read 4 KiB, 16 in flight", read_anywhere(K4), 16).goal(1.0)]),
            on_file(&[row("random write 4 KiB, 16 in flight", write_anywhere(K4, false), 16)]),
        ],
    },
    Part {
        name: "sync",
        title: "NFSv3: synchronous writes, each FILE_SYNC",
        place: Place::Nfs,
        groups: &[
            fresh(&[row("write 1 MiB, 1 in flight", write_stable(M1), 1)]),
            fresh(&[row("write 64 KiB, 16 in flight", write_stable(K64), 16)]),
            on_file(&[row("random write 4 KiB, 1 in flight", write_anywhere(K4, true), 1).goal(1.5).long()]),
            on_file(&[row("random write 4 KiB, 16 in flight", write_anywhere(K4, true), 16)
                .goal(1.5)
                .long()]),
            on_file(&[row("random write 4 KiB, 64 in flight", write_anywhere(K4, true), 64)
                .goal(1.5)
                .long()]),
            on_records(&[row("the same, 16 KiB records, 1", write_anywhere(K4, true), 1).goal(1.5).long()]),
            on_records(&[row("the same, 16 KiB records, 16", write_anywhere(K4, true), 16).goal(1.5).long()]),
            on_records(&[row("the same, 16 KiB records, 64", write_anywhere(K4, true), 64).goal(1.5).long()]),
            names(&[row("append 512 B, 1 writer", Work::Append { block: 512 }, 1)]),
            names(&[row("append 512 B, 8 writers", Work::Append { block: 512 }, 8).over(CONNECTIONS)]),
            names(&[row("append 512 B, 64 writers", Work::Append { block: 512 }, 64).over(CONNECTIONS)]),
            names(&[row("append 512 B, 400 writers", Work::Append { block: 512 }, 400).over(CONNECTIONS)]),
        ],
    },
    Part {
        name: "files",
        title: "NFSv3: small files",
        place: Place::Nfs,
        groups: &[
            names(&[
                row("create, 1 in flight", Work::Create { files: FILES }, 1).goal(1.0),
                row("stat, 1 in flight", Work::Stat { files: FILES }, 1).goal(1.0),
                row("unlink, 1 in flight", Work::Unlink { files: FILES }, 1).goal(1.0),
            ]),
            names(&[
                row("create, 16 in flight", Work::Create { files: FILES }, 16).goal(1.0),
                row("stat, 16 in flight", Work::Stat { files: FILES }, 16).goal(1.0),
                row("unlink, 16 in flight", Work::Unlink { files: FILES }, 16).goal(1.0),
            ]),
            names(&[row("file of 512 B, stable, 1 writer", Work::SmallFile { bytes: 512 }, 1)]),
            names(&[row("file of 512 B, stable, 400 writers", Work::SmallFile { bytes: 512 }, 400)
                .over(CONNECTIONS)]),
        ],
    },
    Part {
        name: "local",
        title: "A local mount (ours through FUSE) beside file systems of the kernel",
        place: Place::Local,
        groups: &[
            fresh(&[row("write 1 MiB, then fsync", write(M1), 1)]),
            fresh(&[row("write 64 KiB, then fsync", write(K64), 1)]),
            fresh(&[row("write 1 MiB, O_DSYNC", write_stable(M1), 1)]),
            fresh(&[row("write 64 KiB, O_DSYNC", write_stable(K64), 1)]),
            on_file(&[row("read 1 MiB", read(M1), 1)]),
            on_file(&[row("random read 4 KiB, 1 reader", read_anywhere(K4), 1)]),
            on_file(&[row("random read 4 KiB, 8 readers", read_anywhere(K4), 8)]),
            on_file(&[row("random write 4 KiB, then fsync", write_anywhere(K4, false), 1)]),
            on_file(&[row("random write 4 KiB, O_DSYNC, 1 writer", write_anywhere(K4, true), 1).long()]),
            on_file(&[row("random write 4 KiB, O_DSYNC, 8 writers", write_anywhere(K4, true), 8).long()]),
            on_file(&[row("random write 4 KiB, O_DSYNC, 64 writers", write_anywhere(K4, true), 64).long()]),
            names(&[row("append 512 B, O_DSYNC, 1 writer", Work::Append { block: 512 }, 1)]),
            names(&[row("append 512 B, O_DSYNC, 8 writers", Work::Append { block: 512 }, 8)]),
            names(&[row("append 512 B, O_DSYNC, 64 writers", Work::Append { block: 512 }, 64)]),
            names(&[row("append 512 B, O_DSYNC, 400 writers", Work::Append { block: 512 }, 400)]),
            names(&[
                row("create", Work::Create { files: FILES }, 1),
                row("stat", Work::Stat { files: FILES }, 1),
                row("unlink", Work::Unlink { files: FILES }, 1),
            ]),
            names(&[row("file of 512 B, fsync, 400 writers", Work::SmallFile { bytes: 512 }, 400)]),
        ],
    },
];

/// Of the named parts, those over NFS and those on a local mount.
pub fn split(names: &[String]) -> (Vec<&'static Part>, Vec<&'static Part>) {
    PARTS
        .iter()
        .filter(|part| names.iter().any(|name| name == part.name))
        .partition(|part| part.place == Place::Nfs)
}
