//! Versions of the machine's state in a pool that an administrator chose, so that a lost system
//! disk costs nothing.
//!
//! ```text
//!   keeper ──▶ vault ──▶ file system POOL/.cistern, in process and past all mounts
//!     └────▶ stage ──▶ folder `restore` of the state ──▶ the next start puts it in place
//! ```
//! What a version has is the machine's own and made by people: the database of accounts, the
//! certificate of HTTPS with its key, and the choice of the pool. Nothing else of the state folder:
//! `pools`, `mounts` and `zpool.cache` tell which disks this machine had and what was mounted. An
//! import finds that out again, and must not for a pool that has moved to another machine. `hostid`
//! names one machine and no other. `jobs` tells what a program has done, which the next machine has
//! not. Backups are copies. Tunables and what is logged last no longer than the program.
//!
//! Invariants:
//! - Nothing is written into a pool before somebody chose it.
//! - A version is there whole or not at all, whenever the program is killed.
//! - What becomes of the pool harms neither data services nor the machine's own files. What failed
//!   is told, and tried again.
//! - What is in the file system may come from anybody: it is checked before it is used, and before
//!   it is used an administrator is told what it would change.
//! - A copy of the file system in another pool is only data.

mod choice;
mod keeper;
mod retention;
mod stage;
mod vault;

pub use keeper::Keeper;
pub use stage::take as take_staged;
