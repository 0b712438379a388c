//! SCSI: logical units over volumes, for any transport.
//!
//! A transport collects what an initiator sends with a command and calls [`Target::execute`] with
//! the bytes of the command and of its data; back come a status, sense data, and data. So
//! everything here works on slices, without sockets, clocks or threads of its own.
//!
//! ```text
//!   Target ── lun ──▶ LogicalUnit ── volume ──▶ engine
//!                       └── registry, attentions, copies, transports: by nexus, a port of an initiator and one of the target
//!
//!   dispatch ─▶ block, copy, inquiry, log, mode, persistent, report, reservation: one file a family of commands
//!          └──▶ command ─▶ target ─▶ unit ─▶ registry, attention, copies ─▶ nexus, sense, codes
//! ```
//! Invariants:
//! - Any command and any parameter list gives an answer: decoding is total, and allocates no more
//!   than the limits of [`limits`].
//! - A command is refused by reservations before it looks at the volume.
//! - What is written with FUA, and all that was written before SYNCHRONIZE CACHE, is stable when
//!   the answer is given.
//! - `sense` is the one place where an engine error becomes sense data.
//!
//! Sources: SPC-4 r37, SBC-3 r36, SAM-5 r21 (drafts of T10).

mod attention;
mod block;
mod bytes;
pub mod codes;
mod command;
mod copies;
mod copy;
mod dispatch;
mod identity;
mod inquiry;
pub mod limits;
mod log;
mod mode;
mod nexus;
mod opcodes;
mod persistent;
mod registry;
mod report;
mod reservation;
mod room;
mod sense;
mod target;
mod tasks;
mod unit;

pub use command::{Answer, Begun, Data};
pub use identity::Identity;
pub use nexus::Nexus;
pub use sense::{Sense, Status};
pub use target::{Target, TargetPort};
pub use unit::{Ending, LogicalUnit, Tasks};

#[cfg(test)]
mod tests;
