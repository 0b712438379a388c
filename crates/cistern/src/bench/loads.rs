//! What is done to a share.

use std::time::{Duration, Instant};

use load::{Blocks, Crowd, Fail, Outcome, Share, Work};

/// Connections that many writers share.
const CONNECTIONS: usize = 8;
/// A copy: bytes of a write, writes in flight, bytes at the most.
const COPY_WRITE: u32 = 64 << 10;
const COPY_DEPTH: usize = 16;
const COPY_SIZE: u64 = 256 << 20;
/// Bytes of one random read, and of one read or write in order.
const READ: u32 = 16 << 10;
const STREAM: u32 = 64 << 10;
const STREAM_DEPTH: usize = 8;

/// One writer appends to a file, each write on stable storage before the next.
pub fn synchronous_writes(share: &Share, span: Duration) -> Result<Outcome, Fail> {
    share.run(Work::Append { block: 4096 }, &Crowd::new(1, span))
}

/// Many writers make small files: a CREATE, then one stable WRITE, then the next file. An operation
/// is a file.
pub fn small_files(share: &Share, writers: usize, span: Duration) -> Result<Outcome, Fail> {
    share.run(Work::SmallFile { bytes: 512 }, &Crowd::new(writers, span).over(CONNECTIONS))
}

/// A large file is written in order, several stable writes in flight; `settle` waits until the
/// disks have it, and that counts: with `sync=disabled` the answers promise nothing.
pub fn copy(share: &Share, span: Duration, settle: &dyn Fn() -> Result<(), Fail>) -> Result<Outcome, Fail> {
    let blocks = Blocks { block: COPY_WRITE, size: COPY_SIZE, is_random: false };
    let mut outcome = share.run(Work::Write { blocks, is_sync: true }, &Crowd::new(COPY_DEPTH, span))?;
    let start = Instant::now();
    settle()?;
    outcome.took += start.elapsed();
    Ok(outcome)
}

/// Writes a file of so many bytes.
pub fn fill(share: &Share, size: u64) -> Result<(), Fail> {
    let blocks = Blocks { block: STREAM, size, is_random: false };
    share.run(Work::Write { blocks, is_sync: true }, &Crowd::new(STREAM_DEPTH, Duration::MAX))?;
    Ok(())
}

/// Reads that file for so long, from its beginning to its end and again.
pub fn read_all(share: &Share, size: u64, span: Duration) -> Result<(), Fail> {
    let blocks = Blocks { block: STREAM, size, is_random: false };
    share.run(Work::Read { blocks }, &Crowd::new(STREAM_DEPTH, span))?;
    Ok(())
}

/// So many readers read anywhere in that file, each one block after the other; elsewhere in another
/// turn.
pub fn random_reads(
    share: &Share,
    size: u64,
    readers: usize,
    span: Duration,
    turn: u32,
) -> Result<Outcome, Fail> {
    let blocks = Blocks { block: READ, size, is_random: true };
    share.run(Work::Read { blocks }, &Crowd::new(readers, span).over(readers).in_turn(turn))
}
