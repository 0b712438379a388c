//! Virtual devices: a tree that says which bytes of which disks make a block, and its leaves, the
//! disks.
//!
//! An I/O on a vdev becomes a [`Cursor`], a small state machine. It is stepped with the answers to
//! what it asked for and says what it wants next: more I/O on its children, all at once, or
//! nothing, because it knows the outcome. A cursor is pure geometry: it never touches a disk, waits
//! or locks; [`crate::flight`] does that for it. Disks themselves are opened, opened anew, measured
//! and flushed by [`open`] and [`leaf`], which transfer no block. A disk that is being replaced or
//! stood in for is a mirror here, whose new side is behind.
//!
//! Offsets are those of DVAs: byte 0 lies behind the front labels. A child of a mirror has its
//! parent's offsets, one of a raidz those of its columns.
//!
//! Source: module/zfs/vdev_mirror.c, vdev_missing.c, vdev_root.c.

pub mod config;
pub mod dtl;
mod heal;
pub mod leaf;
mod mirror;
pub mod open;
pub mod raidz;
pub mod report;
pub mod status;

use std::sync::Arc;

use env::{AlignedBuf, IoClass};

use crate::{IoError, Payload};
use leaf::Leaf;
use raidz::Raidz;

/// One I/O on a vdev.
#[derive(Clone)]
pub struct Io {
    pub op: Op,
    /// In bytes from the start of the vdev's allocatable space.
    pub offset: u64,
    pub class: IoClass,
    /// Whether a vdev may rewrite a bad copy with what it read elsewhere and found good.
    pub repair: bool,
}

/// Lengths are whole sectors of the top-level vdev.
#[derive(Clone)]
pub enum Op {
    Read(usize),
    Write(Payload),
    /// As a read, but every copy and all parity is looked at; what is bad, and what lies on leaves
    /// that lack blocks of this birth, is rewritten from what is good.
    Heal {
        len: usize,
        birth: u64,
    },
    /// A write of what should have been there: counted as repaired on a leaf, or remembered as
    /// lacking if it fails.
    Repair {
        payload: Payload,
        birth: u64,
    },
    /// A repair of those leaves alone that lack blocks of this birth.
    Supply {
        payload: Payload,
        birth: u64,
    },
}

/// An I/O that a cursor wants done on one of its children.
pub struct ChildIo {
    /// Index among the children.
    pub child: usize,
    /// Not the child, but this one of its own.
    pub side: Option<usize>,
    pub io: Io,
    /// The child is to read all that was asked of the parent, so that the checksum judges its
    /// answer alone.
    pub whole: bool,
}

/// The outcome: of a read the bytes, of a write nothing.
pub type Done = Result<Option<AlignedBuf>, IoError>;

/// What a cursor wants next.
pub enum Step {
    /// Issue all at once, come back with the answers in this order.
    Issue(Vec<ChildIo>),
    /// These children gave wrong bytes, by index; to be counted. Come back at once, without
    /// answers.
    Blame(Vec<usize>),
    Finish(Done),
}

/// Says whether bytes that were read are the right ones.
pub type Verify<'a> = &'a (dyn Fn(&[u8]) -> bool + Sync);

/// An I/O on its way through an interior vdev. First stepped with no answers.
pub trait Cursor: Send {
    /// `done` are the answers to the last `Issue`. A child's answer to a `whole` read was verified
    /// already.
    fn step(&mut self, done: Vec<Done>, verify: Verify<'_>) -> Step;
}

/// A node of the tree.
pub struct Vdev {
    pub guid: u64,
    pub kind: Kind,
    pub children: Vec<Arc<Vdev>>,
}

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A disk, by its index in the tree's list of leaves.
    Leaf(usize),
    /// All children hold the same bytes: a mirror, and what is `replacing` or `spare` in the
    /// configuration.
    Mirror,
    Raidz(Raidz),
    /// Something not there: every I/O fails.
    Missing,
    /// A top-level vdev that was removed; nothing can point here.
    Hole,
    /// A top-level vdev whose blocks were moved to others; pointers to them still name it. See
    /// [`crate::zio::moved`].
    Indirect,
}

impl Vdev {
    /// The state machine for an I/O; not for leaves.
    pub fn cursor(&self, io: Io, leaves: &[Arc<Leaf>]) -> Box<dyn Cursor> {
        match self.kind {
            Kind::Mirror => match io.op {
                Op::Heal { len, birth } => Box::new(heal::cursor(self, io, len, birth, leaves)),
                _ => Box::new(mirror::cursor(self, io, leaves)),
            },
            Kind::Raidz(raidz) => raidz.cursor(self, io, leaves),
            Kind::Missing | Kind::Hole | Kind::Indirect => Box::new(NotThere),
            Kind::Leaf(_) => unreachable!("a leaf's I/O goes to its queue"),
        }
    }

    /// The disks here that get something of what is written at `offset`, each with the place and
    /// the bytes.
    pub fn spread(self: &Arc<Vdev>, offset: u64, payload: &Payload) -> Vec<(Arc<Vdev>, u64, Payload)> {
        match self.kind {
            Kind::Leaf(_) => vec![(self.clone(), offset, payload.clone())],
            Kind::Mirror => self.children.iter().flat_map(|child| child.spread(offset, payload)).collect(),
            Kind::Raidz(raidz) => {
                let parts = raidz.split(offset, payload).into_iter();
                parts.flat_map(|(at, part)| self.children[at.child].spread(at.offset, &part)).collect()
            }
            Kind::Missing | Kind::Hole | Kind::Indirect => Vec::new(),
        }
    }

    /// Whether those of the leaves that `has` likes have all the data between them.
    pub fn is_held(&self, has: &dyn Fn(usize) -> bool) -> bool {
        match self.kind {
            Kind::Leaf(leaf) => has(leaf),
            Kind::Mirror => self.children.iter().any(|child| child.is_held(has)),
            Kind::Raidz(raidz) => {
                let lacking = self.children.iter().filter(|child| !child.is_held(has)).count();
                lacking <= raidz.parity
            }
            Kind::Missing => false,
            Kind::Hole | Kind::Indirect => true,
        }
    }

    /// Whether data can be read here, with the leaf `without` taken away.
    pub fn is_readable(&self, leaves: &[Arc<Leaf>], without: Option<usize>) -> bool {
        self.is_held(&|leaf| without != Some(leaf) && leaves[leaf].is_usable())
    }

    /// Whether it can be read here from disks that missed nothing, with the leaf `without` taken
    /// away.
    pub fn is_whole(&self, leaves: &[Arc<Leaf>], without: Option<usize>) -> bool {
        self.is_held(&|leaf| without != Some(leaf) && leaves[leaf].is_whole())
    }

    /// Whether a disk here that can be written lacks a block of `len` bytes (whole sectors) at this
    /// place, of this birth.
    pub fn needs_resilver(&self, leaves: &[Arc<Leaf>], offset: u64, len: usize, birth: u64) -> bool {
        match self.kind {
            Kind::Leaf(leaf) => leaves[leaf].is_usable() && leaves[leaf].dtl.lacks(birth),
            Kind::Mirror => {
                self.children.iter().any(|child| child.needs_resilver(leaves, offset, len, birth))
            }
            Kind::Raidz(raidz) => raidz.needs_resilver(self, leaves, (offset, len), birth),
            Kind::Missing | Kind::Hole | Kind::Indirect => false,
        }
    }

    /// How much a read at `offset` would cost here; `None` where it would fail. Lower is better.
    pub fn load(&self, leaves: &[Arc<Leaf>], offset: u64) -> Option<u64> {
        match self.kind {
            Kind::Leaf(leaf) => leaves[leaf].load(offset),
            Kind::Mirror => self.children.iter().filter_map(|child| child.load(leaves, offset)).min(),
            Kind::Raidz(raidz) => raidz.load(self, leaves, offset),
            Kind::Missing | Kind::Hole | Kind::Indirect => None,
        }
    }

    /// Bytes that a block of `psize` bytes takes on this top-level vdev, whose sectors have
    /// `1 << ashift` bytes.
    pub fn asize(&self, ashift: u32, psize: u64) -> u64 {
        match self.kind {
            Kind::Raidz(raidz) => raidz.asize(psize),
            _ => psize.next_multiple_of(1 << ashift),
        }
    }

    /// Indexes of all leaves at and below this node.
    pub fn leaves(&self) -> Vec<usize> {
        match self.kind {
            Kind::Leaf(leaf) => vec![leaf],
            _ => self.children.iter().flat_map(|child| child.leaves()).collect(),
        }
    }
}

/// The cursor of what is not there.
struct NotThere;

impl Cursor for NotThere {
    fn step(&mut self, _done: Vec<Done>, _verify: Verify<'_>) -> Step {
        Step::Finish(Err(IoError::Unavailable))
    }
}
